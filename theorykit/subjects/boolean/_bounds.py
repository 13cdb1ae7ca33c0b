"""Norms and gradients of the construction in closed form; docs/sharper.md derives them."""

import math
from fractions import Fraction

from theorykit.subjects.boolean._design import SCALE, Design
from theorykit.subjects.boolean._functions import Parities
from theorykit.subjects.boolean._lookup import thresholds


def _design(f: Parities, T: int | None, scale: float) -> Design:
    return Design(f, getattr(f, "T", 1) if T is None else T, scale)


def squared_norms(f: Parities, T: int | None = None, *, scale: float = SCALE) -> dict[str, float]:
    """Return the squared Frobenius norm of each block of `transformer(f, T, scale=scale)`.

    With l = scale log(T + 1), p_i = c_i / C: W1 has l^2 s d; V1 1; F1 4 (d + 1); b the squared
    thresholds, (d + 1) (2 (2 d + 1) / (3 d) + 5 / (4 d^2)); F2 16 d^2 (floor(d / 2) + 1); W2 sum_i
    (l + log p_i)^2; v2 C^2. This is Theorem 10 with its formulas derived anew.
    """
    design = _design(f, T, scale)
    d, s = f.degree, len(f.sets)
    return dict(
        score1=design.strength * design.strength * s * d,
        value1=1.0,
        mlp_in=4.0 * (d + 1),
        bias=float((d + 1) * (Fraction(2 * (2 * d + 1), 3 * d) + Fraction(5, 4 * d * d))),
        mlp_out=16.0 * d**2 * (d // 2 + 1),
        score2=float((design.scores**2).sum()),
        value2=design.total * design.total,
    )


def gradient_bounds(f: Parities, T: int | None = None, *, scale: float = SCALE) -> dict[str, float]:
    """Return bounds on the squared gradient norm of each block, uniform over inputs.

    This is Theorem 14, derived anew with two terms that it leaves out. The columns of F2 that write
    on positions move the scores of the second attention, so they grow with log T. Some attention
    leaks to the positions beyond s, so the blocks of the first attention are small rather than
    zero.
    """
    design = _design(f, T, scale)
    d, s, n, C2 = f.degree, len(f.sets), design.T + 1, design.total * design.total
    leak, w = design.leakages[1], design.scores
    p = (1 - leak) * design.coefficients / design.total
    each = leak / (n - s)
    largest = max(float(p.max()), each)
    spread = float(p @ w**2 - (p @ w) ** 2)
    hidden = float(sum(max(1 - t, Fraction(0)) ** 2 for t in thresholds(d)))
    active = C2 * 16 * d**2 * (d // 2 + 1)
    steep = C2 * (2 * d * leak) ** 2
    return dict(
        score1=steep * 2 * (1 / 16 + 1 / (4 * n)),
        value1=steep * (1 + 1 / n),
        mlp_in=active,
        bias=active,
        mlp_out=C2 * hidden * (1 + float(w @ w) / 16 + spread / 4),
        score2=2 * C2 * (largest / 4 + 1 / 16),
        value2=float(p @ p) + (n - s) * each**2 + 1,
    )


def squared_norm(f: Parities, T: int | None = None, *, scale: float = SCALE) -> float:
    """Return |theta|^2 of the construction."""
    return math.fsum(squared_norms(f, T, scale=scale).values())


def trace_bound(f: Parities, T: int | None = None, *, scale: float = SCALE) -> float:
    """Return a bound on the trace at zero loss: twice that on the gradient (Theorem 5)."""
    return 2 * math.fsum(gradient_bounds(f, T, scale=scale).values())
