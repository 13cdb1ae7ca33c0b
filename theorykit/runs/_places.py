"""Where claims run: in threads of this process, or wherever an executor takes them.

A place has two methods. `begin` starts on what it is given and returns at once; what comes of each
claim is said, from any thread. `close` starts nothing more. Another place is `Processes`.
"""

import concurrent.futures
import dataclasses
import functools
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from theorykit.claims import Claim
from theorykit.runs._task import Mismatch, Seldom, Task, let_go, perform

TRIES = 2
"""How often a claim is tried whose process dies."""

AT_A_TIME = 2
"""Claims that run at once in one process: compilation leaves Python free, so two fill two cores."""

Said = Callable[[str, Any], None]
"""Called with a claim's id and what is new of it.

The share that is done, a float; its result, also as JSON; a `Failure`, which is all that will come;
or an exception, which ends the run.
"""


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a claim has no result, in a sentence, and the seconds that it took to find out."""

    why: str
    seconds: float = 0.0


class Threads:
    """Threads of this process. What is running when they are closed is left to itself."""

    def __init__(self, at_a_time: int):
        self._at_a_time = at_a_time
        self._stop = threading.Event()

    def begin(self, claims: Sequence[Claim], seed: int, say: Said) -> None:
        """Start on claims."""
        waiting: queue.SimpleQueue[Claim] = queue.SimpleQueue()
        for claim in claims:
            waiting.put(claim)

        def work() -> None:
            while not self._stop.is_set():
                try:
                    claim = waiting.get_nowait()
                except queue.Empty:
                    return
                say(claim.id, 0.0)
                try:
                    say(claim.id, claim.run(seed, Seldom(functools.partial(say, claim.id))))
                except BaseException as error:  # handed to the thread that waits
                    say(claim.id, error)
                let_go()

        for _ in range(min(self._at_a_time, len(claims))):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """Start no further claim."""
        self._stop.set()


class Elsewhere:
    """Any executor whose workers can import theorykit and what the claims are in."""

    def __init__(self, executor: concurrent.futures.Executor):
        if not callable(getattr(executor, "submit", None)):
            raise ValueError(
                f"the executor is a concurrent.futures.Executor, got {type(executor).__name__}."
            )
        self._executor = executor
        self._futures: dict[str, concurrent.futures.Future] = {}
        self._closed = False

    def begin(self, tasks: Sequence[Task], say: Said) -> None:
        """Hand over all tasks."""
        for task in tasks:
            self._submit(task, say, 1)

    def close(self) -> None:
        """Take back what has not started."""
        self._closed = True
        for future in list(self._futures.values()):
            future.cancel()

    def _submit(self, task: Task, say: Said, tries: int) -> None:
        try:
            future = self._executor.submit(perform, task)
        except Exception as error:  # it has been shut down, or has lost its workers
            say(task.id, Failure(f"The executor takes no claim: {error or type(error).__name__}."))
            return
        self._futures[task.id] = future
        future.add_done_callback(lambda done: self._done(done, task, say, tries))

    def _done(self, future: concurrent.futures.Future, task: Task, say: Said, tries: int) -> None:
        if self._closed:
            return
        if future.cancelled():
            say(task.id, Failure("The executor cancelled it."))
            return
        error = future.exception()
        if error is None:
            say(task.id, future.result())
        elif isinstance(error, Mismatch):
            say(task.id, error)
        elif tries < TRIES:
            self._submit(task, say, tries + 1)
        else:
            said = f"{type(error).__name__}: {error}"
            say(task.id, Failure(f"The executor could not run it, {TRIES} times: {said}"))
