"""Tasks run by an executor, wherever its workers are."""

import concurrent.futures
import pickle
import threading
import uuid
from collections.abc import Sequence
from typing import Any

from theorykit.places._task import TRIES, Failure, Gone, Mismatch, Said, Task, perform

HAS_TRIED = ("KilledWorker",)
"""Errors of executors that retry by themselves, by name, since Dask is not imported here."""


LACKS = (ImportError, AttributeError, pickle.UnpicklingError)
"""Errors of workers that lack the code, so that no other task could run there."""


class Elsewhere:
    """Any executor whose workers can import theorykit and what the tasks need."""

    def __init__(self, executor: concurrent.futures.Executor):
        if not callable(getattr(executor, "submit", None)):
            raise ValueError(
                f"the executor is a concurrent.futures.Executor, got {type(executor).__name__}."
            )
        self._executor = executor
        self._futures: dict[str, concurrent.futures.Future] = {}
        self._closed = threading.Event()

    def begin(self, tasks: Sequence[Task], say: Said) -> None:
        """Submit all tasks."""
        for task in tasks:
            self._submit(task, say, 1)

    def close(self) -> None:
        """Cancel tasks that have not started."""
        self._closed.set()
        for future in list(self._futures.values()):
            future.cancel()

    def _submit(self, task: Task, say: Said, tries: int) -> None:
        try:
            future = self._executor.submit(perform, task, tried=uuid.uuid4().hex)
        except Exception as error:  # it was shut down, or has lost its workers
            why = _in_a_line(error) or type(error).__name__
            if isinstance(self._executor, type):
                why = f"it is the class {self._executor.__name__}, and not one that was made of it"
            say(task.id, Gone(f"the executor accepts no more work: {why}."))
            return
        self._futures[task.id] = future
        future.add_done_callback(lambda done: self._done(done, task, say, tries))

    def _done(self, future: concurrent.futures.Future, task: Task, say: Said, tries: int) -> None:
        if self._closed.is_set():
            return
        self._futures.pop(task.id, None)  # and with it, what it holds
        if future.cancelled():
            say(task.id, Gone("the executor dropped work that it had accepted, or has gone."))
            return
        error = future.exception()
        if error is None:
            say(task.id, future.result())
        elif isinstance(error, Mismatch):
            say(task.id, error)
        elif type(error).__name__ in HAS_TRIED:
            say(task.id, Failure(f"The workers that ran it died: {_in_a_line(error)}."))
        elif isinstance(error, LACKS) or "deserializ" in str(error):  # as Dask's scheduler says
            say(
                task.id,
                Gone(f"the executor's processes cannot take the work: {_in_a_line(error)}."),
            )
        elif tries < TRIES:
            self._submit(task, say, tries + 1)
        else:
            said = f"{type(error).__name__}: {_in_a_line(error)}"
            say(task.id, Failure(f"The executor failed to run it, {TRIES} times: {said}"))


def _in_a_line(error: Any) -> str:
    return " ".join(str(error).split()).removesuffix(".")
