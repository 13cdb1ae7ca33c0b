"""Theorem 9: the parity of a count from the mean bit, with four hidden units per grid value.

Exact: in integers and fractions for exact arguments.
"""

from fractions import Fraction
from numbers import Real
from typing import Any

from theorykit.common.arguments import shown

MOST = 2**18 - 1
"""The largest degree of a lookup: it takes 2^20 units."""


def _size(d: int) -> None:
    """Raise a `ValueError` for a degree below 1, or one that takes more than 2^20 units.

    It uses integers only: claims that are proved exactly run it and say that nothing rounds.
    """
    if not isinstance(d, int) or d < 1:
        raise ValueError(f"d is a whole number of at least 1, got {d!r}.")
    if d > MOST:
        raise ValueError(
            f"the lookup takes {4 * (d + 1)} hidden units, more than {4 * (MOST + 1)}, "
            "the most allowed here."
        )


def thresholds(d: int) -> list[Fraction]:
    """Return the 4 (d + 1) thresholds t of units relu(z - t): k / d + (-3, -1, 1, 3) / (4 d)."""
    _size(d)
    return [Fraction(4 * k + o, 4 * d) for k in range(d + 1) for o in (-3, -1, 1, 3)]


def slopes(d: int) -> list[int]:
    """Return the output weights: 2 d (1, -1, -1, 1) at even k, zeros at odd k."""
    _size(d)
    signs = [[1, -1, -1, 1], [0] * 4]
    return [2 * d * sign for k in range(d + 1) for sign in signs[k % 2]]


def lookup(d: int, z: Any) -> Any:
    """Return the trapezoidal wave at a number z.

    It is 1 within 1 / (4 d) of k / d for even k, 0 within 1 / (4 d) for odd k, and linear between.
    """
    if not isinstance(z, Real):
        raise ValueError(f"z is a number, got {shown(z)}.")
    at: Any = z
    units = zip(thresholds(d), slopes(d), strict=True)
    return sum(w * max(at - t, 0) for t, w in units)
