"""Exponents: straight lines through logarithms, with intervals."""

import math
from typing import Any, NamedTuple

import numpy as np

CONFIDENCE = 0.99


class Exponent(NamedTuple):
    """A fitted exponent and its 99% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def slopes(sizes: Any, values: Any) -> np.ndarray:
    """Return the least-squares slope of log(value) over log(size) of each row of values."""
    x = np.log(np.asarray(sizes, float))
    x = x - x.mean()
    return np.log(np.asarray(values)) @ x / (x @ x)


def replicated(sizes: Any, values: Any) -> Exponent:
    """Return the mean slope over independent rows of values, with its t interval."""
    from scipy.special import stdtrit

    found = slopes(sizes, values)
    error = found.std(ddof=1) / math.sqrt(len(found))
    reach = float(stdtrit(len(found) - 1, (1 + CONFIDENCE) / 2) * error)
    mean = float(found.mean())
    return Exponent(mean, mean - reach, mean + reach)


def exact(sizes: Any, values: Any) -> Exponent:
    """Return the slope of values without noise; the interval spans those between neighbours."""
    slope = float(slopes(sizes, [values])[0])
    order = np.argsort(sizes)
    x, y = np.log(np.asarray(sizes, float))[order], np.log(np.asarray(values, float))[order]
    local = np.diff(y) / np.diff(x)
    return Exponent(slope, float(min(local.min(), slope)), float(max(local.max(), slope)))


def weighted(sizes: Any, values: Any, stderr: Any) -> Exponent:
    """Return the slope of values with known standard errors, which may differ.

    A line fitted to the logarithms, weighted by the squares of value / stderr. Where the line fits
    worse than the errors explain (chi-square above its degrees of freedom, as when a second order
    is still felt), the interval is widened by the root of their ratio. With fewer than two sizes
    nothing is known.
    """
    from scipy.special import ndtri

    if len(sizes) < 2:
        return Exponent(math.nan, -math.inf, math.inf)
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    w = (np.asarray(values, float) / np.asarray(stderr, float)) ** 2
    x = x - (w @ x) / w.sum()
    y = y - (w @ y) / w.sum()
    slope = float((w * x) @ y / ((w * x) @ x))
    freedom = len(x) - 2
    misfit = float(w @ (y - slope * x) ** 2) / freedom if freedom else 1.0
    reach = float(ndtri((1 + CONFIDENCE) / 2) * math.sqrt(max(1.0, misfit) / ((w * x) @ x)))
    return Exponent(slope, slope - reach, slope + reach)
