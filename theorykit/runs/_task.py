"""A claim as something that another process can run: where to find it, and a seed."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from theorykit.claims import Claim, Progress, load, one
from theorykit.places import Mismatch, Task
from theorykit.runs._fingerprint import fingerprint

LONGEST: Mapping[str, float] = {"fast": 20 * 60.0, "slow": 6 * 3600.0}
"""Seconds after which a claim of this tier is taken to hang."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClaimTask(Task):
    """A claim to be run by another process; the claims of one module are a family.

    **Fields:** `id` of the claim; `file`, where it is, None for one of a known paper; `mark`, the
    claim's fingerprint; `seed`.
    """

    file: str | None
    mark: str
    seed: int

    @classmethod
    def of(cls, claim: Claim, mark: str, seed: int) -> "ClaimTask | None":
        """Return the task, None for a claim of a notebook or script: only this process has it."""
        module = claim.build.__module__
        if not claim.is_installed and (module == "__main__" or not claim.file.is_file()):
            return None
        return cls(
            id=claim.id,
            file=None if claim.is_installed else str(claim.file),
            family=module,
            longest=LONGEST[claim.tier],
            mark=mark,
            seed=seed,
        )

    def do(self, progress: Progress) -> dict[str, Any]:
        """Run the claim, and return its result as JSON.

        **Raises:** `Mismatch` if this process has another version of the claim.
        """
        claim = one(self.id) if self.file is None else _loaded(self.file)[self.id]
        if fingerprint(claim) != self.mark:
            raise Mismatch(
                f"{self.id}, or code that it reaches, differs in the process that runs it: it "
                "was edited in the meantime, or another version is installed there."
            )
        return claim.run(self.seed, progress).json()


@functools.cache
def _loaded(file: str) -> dict[str, Claim]:
    """Return the claims of a file by id; loaded once, so that they share their caches."""
    return {claim.id: claim for claim in load(file)}
