"""The sub-Gaussian constant of a loss, estimated from a sample."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Real

from theorykit.common.arguments import MANY, one_of, reals, whole


class Constant(NamedTuple):
    """A constant C, its standard error, the number of `losses`, and the t that attains it.

    `at` is 0 if the limit t -> 0, the variance, attains it.
    """

    value: float
    stderr: float
    losses: int
    at: float


def sub_gaussian(
    losses: Real[ArrayLike, "..."] | Sequence[float], tail: str = "both", points: int = 200
) -> Constant:
    """Return the least C with E exp(t (l - E l)) <= exp(t^2 C^2 / 2) for the empirical law.

    C^2 is the supremum of 2 log E exp(t (l - E l)) / t^2, which tends to the variance as t -> 0.
    This is a plug-in estimate: the standard error is that of the delta method, and losses rarer
    than 1 / count are not seen at all, so C is too small for a law that has such losses.

    **Arguments:** `losses`: of one network at many inputs, of any shape. `tail`: "both", as in
    appendix A, or "lower", t < 0: all that the bound needs, and for nonnegative losses at most
    sqrt(E l^2). `points`: of the grid of log t, which is then refined.

    **Raises:** `ValueError` for fewer than two losses, NaN or infinity, or another tail.
    """
    found = reals("a sample of losses", losses).ravel()
    if len(found) < 2:
        raise ValueError(f"a sample of losses has two numbers or more, got {len(found)}.")
    tail, points = one_of("tail", tail, ("both", "lower")), whole("points", points, 2, MANY)
    largest = float(np.abs(found).max())
    unit = 1.0 if largest < 1e150 else math.ldexp(1.0, math.frexp(largest)[1] - 1)
    if unit > 1:  # squares and sums would overflow
        value, stderr, count, at = sub_gaussian(found / unit, tail, points)
        return Constant(value * unit, stderr * unit, count, at / unit)
    z = found - found.mean()
    if not z.min() < 0 < z.max():  # the mean was rounded to one of the values
        z = z - z.mean()
    size = np.abs(z).max()
    if size == 0:
        return Constant(0.0, 0.0, len(z), 0.0)
    z = z / size
    variance = float((z**2).mean())
    signs = (-1.0, 1.0) if tail == "both" else (-1.0,)
    square, at = variance, 0.0
    for sign in signs:
        # Where t max z > 2 log n the ratio decreases: log E exp(t z) >= t max z - log n.
        grid = np.geomspace(1e-3, (2 * np.log(len(z)) + 10) / (sign * z).max(), points)
        values = np.array([_ratio(sign * t, z) for t in grid])
        best = int(values.argmax())
        ends = grid[max(best - 1, 0)], grid[min(best + 1, points - 1)]
        t, value = _refined(sign, ends, z)
        if value > square * (1 + 1e-9):
            square, at = value, sign * t
    influence = z**2 - variance
    if at:
        weight = np.exp(at * z)
        influence = 2 * (weight / weight.mean() - 1 - at * z) / at**2
    stderr = influence.std(ddof=1) / np.sqrt(len(z)) / (2 * np.sqrt(square))
    return Constant(float(size * np.sqrt(square)), float(size * stderr), len(z), float(at / size))


def _ratio(t: float, z: Float[np.ndarray, " losses"]) -> float:
    """Return 2 log E exp(t z) / t^2 for |z| <= 1 and E z = 0, to full precision at small t."""
    return float(2 * np.log1p(np.expm1(t * z).mean() - t * z.mean()) / t**2)


def _refined(
    sign: float, ends: tuple[float, float], z: Float[np.ndarray, " losses"]
) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(lambda t: -_ratio(sign * t, z), bounds=ends, method="bounded")
    return float(found.x), -float(found.fun)
