"""Tasks that another process can run, and reports about them."""

import dataclasses
import functools
import importlib.metadata
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from theorykit.common.node import one_thread
from theorykit.common.version import __version__

TRIES = 2
"""The number of tries for a task whose process dies."""

MOST_MEMORY = 1.5e9
"""Bytes of resident memory above which compiled functions are dropped between tasks."""

Progress = Callable[[float], None]
Said = Callable[[str, Any], None]
"""Called with the id of a task and a report.

A report is the share that is done, a float; the result; a `Failure`, after which nothing follows;
or an exception, which ends the run.
"""


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions in this process on which numbers depend."""
    return {"theorykit": __version__, **{n: importlib.metadata.version(n) for n in ("jax", "flax")}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """Something to be done once, in any process; it carries its seed and can be pickled.

    **Fields:** `id`, its name while it runs; `family`: tasks of a family often share computations,
    which a process can reuse; `longest`: the seconds after which it counts as hung; `versions` in
    the process that asks.
    """

    id: str
    family: str = ""
    longest: float = 6 * 3600.0
    versions: dict[str, str] = dataclasses.field(default_factory=versions)

    def do(self, progress: Progress) -> Any:
        """Do it and return the result. Exceptions other than `Mismatch` lead to a retry."""
        raise NotImplementedError


def perform(task: Task, progress: Progress = lambda share: None, tried: str = "") -> Any:
    """Do a task in this process.

    **Arguments:** `tried`: different for each try, since Dask merges calls with equal arguments.

    **Raises:** `Mismatch` if this process has different versions of the packages on which numbers
    depend.
    """
    one_thread()
    for name, here in versions().items():
        if (asked := task.versions.get(name)) != here:
            raise Mismatch(
                f"the process that does the work has {name} {here}, the one that asks {asked}; "
                "install the same version in both."
            )
    return task.do(progress)


class Mismatch(ValueError):
    """The process that does the work has different code from the one that asks."""


class Gone(ValueError):
    """The executor is shut down or its cluster is lost, so the remaining work cannot run there."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why a task has no result, in a sentence, and the seconds that it took to find out."""

    why: str
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Exhausted:
    """What a task said when its process reached its bound of memory; another may do better."""

    why: str


class Place(Protocol):
    """A place where tasks run."""

    def begin(self, tasks: Sequence[Any], say: Said) -> None:
        """Accept tasks and return at once; results are reported from any thread."""

    def close(self) -> None:
        """Start nothing more, and stop what can be stopped."""


class Seldom:
    """Forward progress, at most a few times per second."""

    def __init__(self, say: Progress):
        self._say, self._next = say, 0.0

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.2
            self._say(float(share))


def let_go() -> None:
    """Drop compiled functions once they take much memory; other tasks do not need them."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return
    if pages * 4096 > MOST_MEMORY:
        import jax

        jax.clear_caches()
