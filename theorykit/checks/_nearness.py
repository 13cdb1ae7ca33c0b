"""How near two sides of an inequality come to each other, over all points that are tried."""

import numpy as np
from jaxtyping import Float

from theorykit.results import Resolution, of_bound, of_sign

Entries = Float[np.ndarray, "cases entries"]


class Nearness:
    """What the resolution of an inequality rests on.

    The factor by which rhs may be sharpened before a point falls is rhs / lhs where both are above
    0, and lhs / rhs where both are below. Where one side is 0 everywhere the statement is that the
    other has a sign, and what counts is how near to 0 it comes.
    """

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._nearest: float | None = None
        self._zero = [True, True]  # whether a side has been 0 so far
        self._least, self._largest, self._count = np.inf, 0.0, 0

    def see(self, left: Entries, right: Entries) -> None:
        """Look at both sides, entry by entry."""
        finite = np.isfinite(left) & np.isfinite(right)
        left, right = left[finite], right[finite]
        if not left.size:
            return
        self._zero = [z and not x.any() for z, x in zip(self._zero, (left, right), strict=True)]
        size = np.maximum(np.abs(left), np.abs(right))
        self._least = min(self._least, float(size.min()))
        self._largest = max(self._largest, float(size.max()))
        self._count += size.size
        # Sides that are nothing but rounding are near for no reason.
        counts = (size > 1e3 * self._floor) & (right != 0)
        left, right = left[counts], right[counts]
        with np.errstate(all="ignore"):
            near = np.where(right > 0, left / right, right / left)
        near = near[np.isfinite(near)]
        if near.size:
            self._nearest = max(
                float(near.max()), -np.inf if self._nearest is None else self._nearest
            )

    def resolution(self) -> Resolution:
        """Return how small a change of rhs would have been noticed."""
        if any(self._zero) and self._count:
            return of_sign(max(self._least, self._floor), self._largest, self._count)
        return of_bound(self._nearest)
