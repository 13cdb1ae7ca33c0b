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
        return _enclose(check, point, bits)


def _find(id: str, file: str | Path | None) -> Claim:
    known = {c.id: c for c in (select([str(file)]) if file else installed([id]))}
    if id not in known:
        raise ValueError(f"no claim has the id {id!r}; `theorykit list` shows their ids.")
    return known[id]


def _sides(check: Any, sizes: Mapping[str, Any]) -> Any:
    import jax

    from theorykit.checks import Trial
    from theorykit.checks._sides import Sides

    trial = Trial(jax.random.key(0))
    return Sides(check.lhs, check.rhs, check.over, sizes, 1, check.traceable, trial)


def _enclose(check: Any, point: Mapping[str, Any], bits: int) -> Replay:
    from theorykit.checks._certificates import enclosed

    if not hasattr(check, "lhs"):
        raise ValueError("only an identity or an inequality has two sides to enclose at a point.")
    wanted = [*check.over.sizes, *check.over.arguments]
    if set(point) != set(wanted):
        raise ValueError(
            f"the point needs {', '.join(wanted)}, not {', '.join(point) or 'nothing'}."
        )
    sizes = {name: point[name] for name in check.over.sizes}
    given = {}
    for name, domain in check.over.arguments.items():
        value = np.asarray(point[name])
        shape = domain.latent_shape(sizes)
        if value.shape != shape:
            raise ValueError(f"{name} needs the shape {shape}, not {value.shape}.")
        given[name] = value.astype(float) if domain.differentiable else value
    return Replay(*enclosed(_sides(check, sizes), given, bits), bits)


def _prove(claim: Claim, check: Any) -> str:
    import jax

    from theorykit.checks import Trial

    proof = check.proof_alone(Trial(jax.random.key(0)))
    if proof is None:
        raise ValueError(f"{claim.id} has no proof to repeat; give it a point.")
    said = f"{proof.verdict}, {proof.evidence.name}. {proof.note} {proof.unproved}"
    return f"{claim.id}: {' '.join(said.split())}"
