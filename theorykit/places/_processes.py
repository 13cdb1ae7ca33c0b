"""Tasks in local processes, one at a time in each.

A task that kills its process, fills its memory or never ends harms nothing but itself: it is
retried once in a new process, and then it is a `Failure`.
"""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from theorykit.common.node import ONE_THREAD
from theorykit.places._task import TRIES, Exhausted, Failure, Said, Task
from theorykit.places._worker import PROGRAM

NEEDED = 3 * 2**30
"""Bytes of memory per process for the default number of processes."""

SHARE = 0.85
"""The share of the machine's memory available to all processes together."""


def cores() -> int:
    """Return the number of cores available to this process."""
    with contextlib.suppress(AttributeError):  # not available on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int | None:
    """Return the bytes of memory available to this process, or None if unknown."""
    found = []
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" means no limit
            found.append(int(Path(file).read_text()))
    return min(found, default=None)


def default_jobs() -> int:
    """Return the number of cores, or fewer if memory is short."""
    held = memory()
    return max(1, min(cores(), cores() if held is None else int(SHARE * held // NEEDED)))


class Processes:
    """Up to `jobs` processes, each with its share of the memory.

    Each computes in one thread, so results do not depend on the number of cores. An idle process
    waits for more tasks until the place is closed.
    """

    def __init__(self, jobs: int, most_memory: int | None = None):
        held = memory()
        if most_memory is None and held is not None:
            most_memory = int(SHARE * held / jobs)
        self.jobs, self.most_memory = jobs, most_memory
        self._waiting = Waiting()
        self._starting = threading.Lock()
        self._threads = 0
        self._running: dict[int, _Process] = {}

    def begin(self, tasks: Sequence[Task], say: Said) -> None:
        """Add tasks; their results are reported from other threads."""
        wanted = self._waiting.add(tasks, say)
        with self._starting:
            while self._threads < min(self.jobs, wanted):
                threading.Thread(target=self._work, args=(self._threads,), daemon=True).start()
                self._threads += 1

    def close(self) -> None:
        """Kill running tasks."""
        self._waiting.close()
        for process in self._running.copy().values():
            process.end()

    @property
    def _stopped(self) -> bool:
        return self._waiting.closed

    def _work(self, number: int) -> None:
        """Work through tasks, one process at a time."""
        family: str | None = None
        while (found := self._waiting.next(family)) is not None:
            task, say = found
            family = task.family
            try:
                self._try(number, task, say)
            except OSError as error:  # the system cannot start another process
                say(task.id, error)
            finally:
                self._waiting.done()
        process = self._running.pop(number, None)
        if process is not None:
            process.end()

    def _try(self, number: int, task: Task, say: Said) -> None:
        for tried in range(1, TRIES + 1):
            if number not in self._running:
                self._running[number] = _Process(self.most_memory)
            if self._stopped:
                return
            why = self._running[number].run(task, say)
            if self._stopped or not why:
                return
            seconds = self._running.pop(number).end()
            if tried == TRIES:
                say(task.id, Failure(why, seconds))


class _Process:
    """One process and its current task."""

    def __init__(self, most_memory: int | None):
        self._may = "" if most_memory is None else f" It may use {most_memory / 2**30:.1f} GiB."
        self._began = time.monotonic()
        self._child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(sys.path), str(most_memory or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**ONE_THREAD, **os.environ},
        )

    def run(self, task: Task, say: Said) -> str:
        """Run a task and forward its reports; return why it did not finish, or ""."""
        longest = task.longest
        self._began = time.monotonic()
        say(task.id, 0.0)
        late = threading.Timer(longest, self._child.kill)
        late.daemon = True
        late.start()
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            pickle.dump(task, self._child.stdin)
            self._child.stdin.flush()
            said = pickle.load(self._child.stdout)
            while isinstance(said, float):
                say(task.id, said)
                said = pickle.load(self._child.stdout)
        # A ValueError where the pipe is closed, by `end`, while it is read.
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            if time.monotonic() - self._began >= longest:
                return f"It did not end within {longest / 60:.3g} minutes, {TRIES} times."
            code = self._child.wait()
            by = code < 0 and f"by {signal.Signals(-code).name}"
            how = by or f"with exit code {code}"
            return f"The process that ran it ended {TRIES} times, {how}.{self._may}"
        finally:
            late.cancel()
        if isinstance(said, Exhausted):
            return f"{said.why.rstrip('.')}, {TRIES} times.{self._may}"
        say(task.id, said)
        return ""

    def end(self) -> float:
        """End the process and return the seconds since its last task began."""
        self._child.kill()
        with contextlib.suppress(OSError), self._child:  # closes the pipes and waits
            pass
        return time.monotonic() - self._began


class Waiting:
    """The queue of tasks; a process stays with one family of tasks while there are any."""

    def __init__(self) -> None:
        self._families: dict[str, list[tuple[Task, Said]]] = {}
        self._taken: set[str] = set()
        self._open = 0  # unfinished tasks
        self._news = threading.Condition()
        self.closed = False

    def add(self, tasks: Sequence[Task], say: Said) -> int:
        """Add tasks, and return the number of unfinished ones."""
        with self._news:
            for task in tasks:
                self._families.setdefault(task.family, []).append((task, say))
            self._open += len(tasks)
            self._news.notify_all()
            return self._open

    def next(self, family: str | None) -> tuple[Task, Said] | None:
        """Wait for the next task, preferably of this family; return None after `close`."""
        with self._news:
            self._news.wait_for(lambda: self.closed or any(self._families.values()))
            if self.closed:
                return None
            left = {name: tasks for name, tasks in self._families.items() if tasks}
            if family not in left:
                fresh = [name for name in left if name not in self._taken]
                family = fresh[0] if fresh else max(left, key=lambda name: len(left[name]))
            self._taken.add(family)
            return left[family].pop(0)

    def done(self) -> None:
        """Record that a task is done."""
        with self._news:
            self._open -= 1

    def close(self) -> None:
        """Hand out no more tasks."""
        with self._news:
            self.closed = True
            self._news.notify_all()
