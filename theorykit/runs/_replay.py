"""Repeat what a certificate says: the sides of a claim at a point, or its proof."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.claims import Claim, float64, installed, select


@dataclasses.dataclass(frozen=True)
class Replay:
    """Both sides of a claim, enclosed at a point. `str()` shows the entry that decides.

    **Fields:** `lhs`, `rhs`: `certify.Balls`, an entry each.
    """

    lhs: Any
    rhs: Any
    bits: int

    def __str__(self) -> str:
        from theorykit.certify import shown

        gaps = [float((a - b).lower()) for a, b in zip(self.lhs.array, self.rhs.array, strict=True)]
        apart = [
            max(g, float((b - a).lower()))
            for g, a, b in zip(gaps, self.lhs.array, self.rhs.array, strict=True)
        ]
        best = gaps if max(gaps, default=0.0) > 0 else apart
        entry = int(np.argmax(best))
        lhs, rhs = self.lhs.array[entry], self.rhs.array[entry]
        sign = ">" if lhs > rhs else "<" if lhs < rhs else "and"
        where = f" (entry {entry})" if len(best) > 1 else ""
        return f"lhs = {shown(lhs)}\nrhs = {shown(rhs)}\nlhs {sign} rhs at {self.bits} bits{where}"


def replay(
    id: str,
    point: Mapping[str, Any] | None = None,
    *,
    bits: int = 128,
    file: str | Path | None = None,
) -> Any:
    """Repeat a certificate: enclose both sides at a point, or prove the claim again.

    **Arguments:** `id`: a claim of a known paper, or one in `file`; `point`: its sizes and
    parameters by name, floats being the exact numbers that they are; without one, the claim's
    proof is run.

    **Raises:** `ValueError` for an unknown id, a point that does not fit, or a claim without a
    proof; `certify.NotCertifiable` if the sides cannot be enclosed.
    """
    claim = _find(id, file)
    with float64():
        check = claim.build()
        if point is None:
            return _prove(claim, check)
        return Replay(*check.enclosed_at(point, bits), bits)


def _find(id: str, file: str | Path | None) -> Claim:
    known = {c.id: c for c in (select([str(file)]) if file else installed([id]))}
    if id not in known:
        raise ValueError(f"no claim has the id {id!r}; `theorykit list` shows their ids.")
    return known[id]


def _prove(claim: Claim, check: Any) -> str:
    import jax

    from theorykit.checks import Trial

    proof = check.proof_alone(Trial(jax.random.key(0)))
    if proof is None:
        raise ValueError(f"{claim.id} has no proof to repeat; give it a point.")
    said = f"{proof.verdict}, {proof.evidence.name}. {proof.note} {proof.unproved}"
    return f"{claim.id}: {' '.join(said.split())}"
