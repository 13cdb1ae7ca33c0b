"""What is to be done, in a form that another process can do it, and what is said of it."""

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
"""How often a task is tried whose process dies."""

MOST_MEMORY = 1.5e9
"""Bytes of resident memory above which compiled functions are let go between tasks."""

Progress = Callable[[float], None]
Said = Callable[[str, Any], None]
"""Called with a task's id and what is new of it.

The share that is done, a float; what came of it; a `Failure`, which is all that will come; or an
exception, which ends the run.
"""


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that numbers depend on, of this process."""
    return {"theorykit": __version__, **{n: importlib.metadata.version(n) for n in ("jax", "flax")}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """Something to be done once, in whichever process; it carries its seed, and can be pickled.

    **Fields:** `id`, by which it is known while it runs; `family`: who has done one of its tasks
    has often computed what the others need; `longest`: the seconds after which it is taken to hang;
    `versions` of the process that asks.
    """

    id: str
    family: str = ""
    longest: float = 6 * 3600.0
    versions: dict[str, str] = dataclasses.field(default_factory=versions)

    def do(self, progress: Progress) -> Any:
        """Do it, and return what came of it. What is raised but a `Mismatch` is tried again."""
        raise NotImplementedError


def perform(task: Task, progress: Progress = lambda share: None, tried: str = "") -> Any:
    """Do a task in this process.

    **Arguments:** `tried`: another for each try; Dask takes two calls with equal arguments for one.

    **Raises:** `Mismatch` if this process has other versions of what numbers depend on.
    """
    one_thread()
    for name, here in versions().items():
        if (asked := task.versions.get(name)) != here:
            raise Mismatch(
                f"the process that does the work has {name} {here}, the one that asks {asked}; "
                "install the same in both."
            )
    return task.do(progress)


class Mismatch(ValueError):
    """The process that is to do the work has other code than the one that asks."""


class Gone(ValueError):
    """The executor is shut down, or its cluster is lost: whatever is left cannot be done there."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why nothing came of a task, in a sentence, and the seconds that it took to find out."""

    why: str
    seconds: float = 0.0


class Place(Protocol):
    """Where tasks are done."""

    def begin(self, tasks: Sequence[Any], say: Said) -> None:
        """Take tasks, and return at once; what comes of each is said, from any thread."""

    def close(self) -> None:
        """Start nothing more, and end what can be ended."""


class Seldom:
    """Hand progress on a few times a second at most."""

    def __init__(self, say: Progress):
        self._say, self._next = say, 0.0

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.2
            self._say(float(share))


def let_go() -> None:
    """Drop compiled functions once they take much memory; they are of no use to other tasks."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return
    if pages * 4096 > MOST_MEMORY:
        import jax

        jax.clear_caches()
