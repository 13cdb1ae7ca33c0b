"""A claim as something that another process can run: where to find it, and a seed."""

import dataclasses
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from theorykit.claims import Claim, Progress, load, one
from theorykit.common.version import __version__
from theorykit.runs._fingerprint import fingerprint

MOST_MEMORY = 1.5e9
"""Bytes of resident memory above which compiled functions are let go between claims."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What is sent.

    **Fields:** `id` of the claim; `file`, where it is, None for one of a known paper; `family`: who
    runs one of its claims has often computed what the others need; `tier`; `mark`, the claim's
    fingerprint; `seed`; `version` of theorykit.
    """

    id: str
    file: str | None
    family: str
    tier: str
    mark: str
    seed: int
    version: str = __version__

    @classmethod
    def of(cls, claim: Claim, mark: str, seed: int) -> "Task | None":
        """Return the task, None for a claim of a notebook or script: only this process has it."""
        module = claim.build.__module__
        if not claim.is_installed and (module == "__main__" or not claim.file.is_file()):
            return None
        file = None if claim.is_installed else str(claim.file)
        return cls(claim.id, file, module, claim.tier, mark, seed)


class Mismatch(ValueError):
    """The process that is to run a claim has another claim, or another theorykit."""


def perform(task: Task, progress: Progress = lambda share: None) -> dict[str, Any]:
    """Run a claim, and return its result as JSON.

    **Raises:** `Mismatch` if this process has another version of theorykit, or of the claim.
    """
    if task.version != __version__:
        raise Mismatch(
            f"the process that runs claims has theorykit {__version__}, the one that asks "
            f"{task.version}; install the same in both."
        )
    claim = one(task.id) if task.file is None else _loaded(task.file)[task.id]
    if fingerprint(claim) != task.mark:
        raise Mismatch(
            f"{task.id}, or code that it reaches, is another in the process that runs it: it was "
            "edited since, or another version is installed there."
        )
    return claim.run(task.seed, progress).json()


@functools.cache
def _loaded(file: str) -> dict[str, Claim]:
    """Return the claims of a file by id; loaded once, so that they share what they remember."""
    return {claim.id: claim for claim in load(file)}


class Seldom:
    """Hand progress on a few times a second at most."""

    def __init__(self, say: Callable[[float], None]):
        self._say, self._next = say, 0.0

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.2
            self._say(float(share))


def let_go() -> None:
    """Drop compiled functions once they take much memory; they are of no use to other claims."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return
    if pages * 4096 > MOST_MEMORY:
        import jax

        jax.clear_caches()
