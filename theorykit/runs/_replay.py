"""Repeat what a certificate says: the sides of a claim at a point, or its proof."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.claims import Claim, float64, one
from theorykit.common.spelling import spelt


@dataclasses.dataclass(frozen=True)
class Replay:
    """Both sides of a claim, enclosed at a point. `str()` shows one entry of them.

    **Fields:** `lhs`, `rhs`: `certify.Balls`, one entry each; `entry`, which one is shown, counted
    from 1: None for the one that decides.
    """

    lhs: Any
    rhs: Any
    bits: int
    entry: int | None = None

    def __post_init__(self) -> None:
        count = len(self.lhs.array)
        if self.entry is not None and not 1 <= self.entry <= count:
            raise ValueError(f"the sides have entries 1 to {count}, not {self.entry}.")

    def __str__(self) -> str:
        from theorykit.certify import shown

        gaps = [float((a - b).lower()) for a, b in zip(self.lhs.array, self.rhs.array, strict=True)]
        apart = [
            max(g, float((b - a).lower()))
            for g, a, b in zip(gaps, self.lhs.array, self.rhs.array, strict=True)
        ]
        best = gaps if max(gaps, default=0.0) > 0 else apart
        entry = int(np.argmax(best)) if self.entry is None else self.entry - 1
        lhs, rhs = self.lhs.array[entry], self.rhs.array[entry]
        where = f" (entry {entry + 1} of {len(best)})" if len(best) > 1 else ""
        sign = ">" if lhs > rhs else "<" if lhs < rhs else "=" if lhs == rhs else None
        said = f"lhs {sign} rhs" if sign else "lhs and rhs overlap"
        return f"lhs = {shown(lhs)}\nrhs = {shown(rhs)}\n{said} at {self.bits} bits{where}"


@spelt
def replay(
    id: str | Claim,
    point: Mapping[str, Any] | None = None,
    *,
    bits: int = 128,
    entry: int | None = None,
    file: str | Path | None = None,
) -> Any:
    """Repeat a certificate: enclose both sides at a point, or prove the claim again.

    **Arguments:** `id`: a claim, or the id of one of a known paper or in `file`; `point`: its sizes
    and parameters by name, where floats stand for their exact values; without a point, the claim's
    proof is run; `entry`: the entry of both sides to show, counted from 1.

    **Raises:** `ValueError` for an unknown id, a point that does not fit, or a claim without a
    proof; `certify.NotCertifiable` if the sides cannot be enclosed.
    """
    claim = id if isinstance(id, Claim) else one(id, [file] if file else [])
    with float64():
        check = claim.build()
        if point is None:
            return _prove(claim, check)
        return Replay(*check.enclosed_at(point, bits), bits, entry)


def _prove(claim: Claim, check: Any) -> str:
    import jax

    from theorykit.checks import Trial

    proof = check.proof_alone(Trial(jax.random.key(0)))
    if proof is None:
        raise ValueError(f"{claim.id} has no proof to repeat; give the point to repeat it at.")
    said = f"{proof.verdict}, {proof.evidence.name}. {proof.note} {proof.unproved}"
    return f"{claim.id}: {' '.join(said.split())}"
