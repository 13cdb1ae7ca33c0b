"""Exponents: log-log fits with confidence intervals."""

import math
from typing import Any, NamedTuple

import numpy as np

from theorykit.common.arguments import as_array, between, reals, shown

CONFIDENCE = 0.99


class Exponent(NamedTuple):
    """A fitted exponent and its 99% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def slopes(sizes: Any, values: Any) -> np.ndarray:
    """Return the least-squares slope of log(value) against log(size) for each row of values.

    **Raises:** `ValueError` for sizes that are not positive numbers or all the same, and for values
    that are not one real number per size.
    """
    x = _logarithms(sizes)
    if (x == x[0]).all():
        raise ValueError(f"a slope needs at least two different sizes, got {shown(sizes)}.")
    x = x - x.mean()
    return np.log(_beside("values", values, x)) @ x / (x @ x)


def mean(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Return the mean of two or more independent numbers, and the ends of its t interval.

    **Raises:** `ValueError` for anything else.
    """
    from scipy.special import stdtrit

    values, confidence = _row("values", values), between("confidence", confidence)
    if len(values) < 2:
        raise ValueError(f"an interval of a mean needs at least two numbers, got {len(values)}.")
    stderr = values.std(ddof=1) / math.sqrt(len(values))
    reach = float(stdtrit(len(values) - 1, (1 + confidence) / 2) * stderr)
    middle = float(values.mean())
    return middle, middle - reach, middle + reach


def replicated(sizes: Any, values: Any) -> Exponent:
    """Return the mean slope over independent rows of values, with its t interval."""
    return Exponent(*mean(slopes(sizes, values)))


def exact(sizes: Any, values: Any) -> Exponent:
    """Return the slope of noiseless values; the interval spans the slopes between neighbours."""
    values = _row("values", values)
    slope = float(slopes(sizes, values[None])[0])
    x = _logarithms(sizes)
    order = np.argsort(x)
    x, y = x[order], np.log(values)[order]
    local = np.diff(y) / np.diff(x)
    return Exponent(slope, float(min(local.min(), slope)), float(max(local.max(), slope)))


def of_squares(sizes: Any, squares: Any, stderr: Any) -> Exponent:
    """Return the exponent of quantities whose squares are estimated with these standard errors.

    The squares have their noise subtracted and may be negative, so c n^(2 p) is fitted to them
    directly; logarithms would drop those that are small by chance. The interval contains every p
    whose chi-square is at most 6.6 above the minimum. If even the best p fits worse than the errors
    explain (chi-square above its degrees of freedom, as when a second-order term still matters),
    the 6.6 is scaled up by their ratio. An infinite end means that the data do not bound the
    exponent there.

    **Raises:** `ValueError` for sizes that are not positive numbers, for anything but one real
    number per size, and for negative standard errors.
    """
    from scipy.special import ndtri

    p = np.arange(-6.0, 3.0005, 0.001)
    x = _logarithms(sizes)
    squares, stderr = _beside("squares", squares, x), _beside("stderr", stderr, x)
    if squares.ndim != 1 or stderr.ndim != 1 or (stderr < 0).any():
        raise ValueError(
            "squares and their standard errors are one row each, of numbers of at least 0."
        )
    w = 1 / stderr**2
    powers = np.exp(2 * p[:, None] * (x - x.mean()))
    scale = np.maximum(powers @ (w * squares), 0) / (powers**2 @ w)
    misfit = ((squares - scale[:, None] * powers) ** 2) @ w
    best = int(misfit.argmin())
    if len(x) < 2 or not math.isfinite(misfit[best]) or scale[best] == 0:
        return Exponent(math.nan, -math.inf, math.inf)
    freedom = max(1, len(x) - 2)
    reach = ndtri((1 + CONFIDENCE) / 2) ** 2 * max(1.0, misfit[best] / freedom)
    inside = p[misfit <= misfit[best] + reach]
    low = -math.inf if inside[0] == p[0] else float(inside[0])
    high = math.inf if inside[-1] == p[-1] else float(inside[-1])
    return Exponent(float(p[best]), low, high)


def _row(name: str, values: Any) -> np.ndarray:
    """Return real numbers in a row; NaN stays NaN."""
    found = np.asarray(as_array(name, values), float)
    if found.ndim != 1:
        raise ValueError(
            f"{name} is a one-dimensional array of numbers, got the shape {found.shape}."
        )
    return found


def _logarithms(sizes: Any) -> np.ndarray:
    """Return the logarithms of sizes, positive numbers in a row."""
    found = _row("sizes", reals("sizes", sizes))
    if not found.size or (found <= 0).any():
        raise ValueError(f"sizes are positive numbers, got {shown(sizes)}.")
    return np.log(found)


def _beside(name: str, values: Any, x: np.ndarray) -> np.ndarray:
    """Return real numbers with one entry per size in each row."""
    found = np.asarray(as_array(name, values), float)
    if found.shape[-1:] != x.shape:
        raise ValueError(
            f"{name} has one number for each of the {len(x)} sizes, got shape {found.shape}."
        )
    return found
