"""Normalised ReLU attention."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from theorykit.kernels.attention.base import Normalised
from theorykit.kernels.inputs import known, number
from theorykit.kernels.parameters import parameters


@parameters("floor")
@dataclass(frozen=True)
class NormalisedRelu(Normalised):
    """`a_c = max(s_c, 0) / (floor + sum_k max(s_k, 0))`; a row of negative scores is zero.

    **Fields:** `floor`, a positive scalar. At 0 the tangent kernel of an input with itself is
    infinite: two small positive scores, which have a probability of order r^2 to lie within r of
    zero, make slopes of order 1 / r, and the mean of 1 / r^2 is a logarithm that diverges.

    **Raises:** `ValueError` for a floor that is not positive.
    """

    floor: Any = 1.0
    saturates: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def __post_init__(self):
        number("floor", self.floor)
        if known(self.floor) and not self.floor > 0:
            raise ValueError(
                f"floor is a positive number, got {self.floor!r}; without a floor the NTK of "
                "normalised ReLU attention is infinite"
            )

    def function(self, score):
        """Return the positive part."""
        return jax.nn.relu(score)
