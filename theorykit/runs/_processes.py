"""Claims in processes of this machine, one at a time in each.

A claim that kills its process, fills its memory or never ends costs itself, and nothing else: it is
tried once more in a new process, and then is an `error`.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from theorykit.runs._places import TRIES, Failure, Said
from theorykit.runs._task import Mismatch, Seldom, Task, let_go, perform

LONGEST: Mapping[str, float] = {"fast": 20 * 60, "slow": 6 * 3600}
"""Seconds after which a claim of this tier is taken to hang."""

ONE_THREAD = {"NPROC": "1"}
"""What XLA takes for the number of cores. With more it shares some sums among its threads."""

NEEDED = 3 * 2**30
"""Bytes of memory without which no further process is started by default."""

SHARE = 0.85
"""The share of the machine's memory that all processes together may use."""


def cores() -> int:
    """Return how many cores this process may use."""
    with contextlib.suppress(AttributeError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int | None:
    """Return the bytes of memory that this process may use, None where that is not known."""
    found = []
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" is no limit
            found.append(int(Path(file).read_text()))
    return min(found, default=None)


def default_jobs() -> int:
    """Return as many processes as there are cores, or as the memory allows."""
    held = memory()
    return max(1, min(cores(), cores() if held is None else int(SHARE * held // NEEDED)))


class Processes:
    """Up to `jobs` spawned processes, each with its share of the memory.

    Each computes in one thread, so that a result does not depend on the machine's cores.
    """

    def __init__(
        self,
        jobs: int,
        longest: Mapping[str, float] = LONGEST,
        most_memory: int | None = None,
    ):
        held = memory()
        if most_memory is None and held is not None:
            most_memory = int(SHARE * held / jobs)
        self.jobs, self.longest, self.most_memory = jobs, longest, most_memory
        self._stop = threading.Event()
        self._thread = threading.Thread()

    def begin(self, tasks: Sequence[Task], say: Said) -> None:
        """Start on tasks; what comes of them is said in another thread."""
        args = (tasks, say)
        self._thread = threading.Thread(target=self._manage, args=args, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End what runs."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _manage(self, tasks: Sequence[Task], say: Said) -> None:
        waiting = _Waiting(tasks)
        busy: list[_Process] = []
        idle: list[_Process] = []
        died: Counter[str] = Counter()
        try:
            while not self._stop.is_set() and (waiting or busy):
                while waiting and len(busy) < self.jobs:
                    process = idle.pop() if idle else self._start()
                    process.give(waiting.next(process.family))
                    say(process.task.id, 0.0)
                    busy.append(process)
                wait([w for p in busy for w in (p.connection, p.child.sentinel)], timeout=0.5)
                for process in list(busy):
                    for said in process.heard():
                        say(process.task.id, said)
                    why = process.why_ended(self.longest, self.most_memory)
                    if why:
                        busy.remove(process)
                        process.end()
                        died[process.task.id] += 1
                        if died[process.task.id] < TRIES:
                            waiting.again(process.task)
                        else:
                            say(process.task.id, Failure(why, process.seconds))
                    elif process.done:
                        busy.remove(process)
                        idle.append(process)
        finally:
            for process in busy + idle:
                process.end()

    def _start(self) -> "_Process":
        with _environment(ONE_THREAD):
            return _Process(self.most_memory)


class _Waiting:
    """Tasks that nobody runs yet; a process stays with a family of claims while there are any."""

    def __init__(self, tasks: Sequence[Task]):
        self._families: dict[str, list[Task]] = {}
        self._taken: set[str] = set()
        for task in tasks:
            self._families.setdefault(task.family, []).append(task)

    def __len__(self) -> int:
        return sum(map(len, self._families.values()))

    def next(self, family: str | None) -> Task:
        """Return the next task for a process that had this family before."""
        left = {name: tasks for name, tasks in self._families.items() if tasks}
        if family not in left:
            fresh = [name for name in left if name not in self._taken]
            family = fresh[0] if fresh else max(left, key=lambda name: len(left[name]))
        self._taken.add(family)
        return left[family].pop(0)

    def again(self, task: Task) -> None:
        self._families[task.family].insert(0, task)


class _Process:
    """One process, and the claim that it runs."""

    def __init__(self, most_memory: int | None):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.child = context.Process(target=_serve, args=(other, most_memory), daemon=True)
        self.child.start()
        other.close()
        self.family: str | None = None
        self.done = True

    def give(self, task: Task) -> None:
        self.task, self.family, self.done = task, task.family, False
        self._began = time.monotonic()
        with contextlib.suppress(OSError):  # it died while it was idle: `why_ended` says so
            self.connection.send(task)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def heard(self) -> Iterator[Any]:
        """Yield what it has said since."""
        with contextlib.suppress(EOFError, OSError):
            while not self.done and self.connection.poll():
                said = self.connection.recv()
                self.done = not isinstance(said, float)
                yield said

    def why_ended(self, longest: Mapping[str, float], most_memory: int | None) -> str:
        """Say why its claim will have no result, "" while it may."""
        if self.done:
            return ""
        if not self.child.is_alive():
            code = self.child.exitcode or 0
            how = (
                f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            )
            may = "" if most_memory is None else f" It may use {most_memory / 2**30:.1f} GiB."
            return f"The process that ran it ended {TRIES} times, {how}.{may}"
        limit = longest[self.task.tier]
        if self.seconds > limit:
            return f"It did not end within {limit / 60:.3g} minutes, {TRIES} times."
        return ""

    def end(self) -> None:
        self.child.kill()
        self.child.join()
        self.connection.close()


def _serve(connection: Connection, most_memory: int | None) -> None:
    """Run the claims that come in, in a process of their own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _bound(most_memory)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        start = time.monotonic()
        try:
            said: Any = perform(task, Seldom(connection.send))
        except Mismatch as error:
            said = error
        except BaseException as error:
            said = Failure(str(error) or type(error).__name__, time.monotonic() - start)
        connection.send(said)
        let_go()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _bound(most_memory: int | None) -> None:
    """Keep this process within its memory, where the system can."""
    if most_memory is None:
        return
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most_memory, most_memory))


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Return a scope in which processes start with these variables, but for those set already."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
