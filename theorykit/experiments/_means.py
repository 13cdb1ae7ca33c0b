"""Means of independent runs, with their intervals."""

import math
from typing import Any, NamedTuple

import numpy as np

from theorykit.common import exponents


class Mean(NamedTuple):
    """The mean of independent numbers, with its 95% t interval.

    **Fields:** `value`, `low`, `high`. `f"{mean:.2f}"` reads "0.12 [0.10, 0.15]".
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Any) -> "Mean":
        """Return the mean of numbers; the interval of a single one, or of NaN, is NaN.

        **Raises:** `ValueError` if there are none.
        """
        values = np.asarray(values).ravel()
        if not len(values):
            raise ValueError("a mean needs at least one number.")
        if len(values) == 1:
            return cls(float(values[0]), math.nan, math.nan)
        return cls(*exponents.mean(values, 0.95))

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"
