"""Sigmoid attention."""

from dataclasses import dataclass
from typing import Any

import jax

from theorykit.kernels.attention.base import Elementwise
from theorykit.kernels.inputs import number
from theorykit.kernels.parameters import parameters


@parameters("bias")
@dataclass(frozen=True)
class Sigmoid(Elementwise):
    """`a_c = 1 / (1 + exp(-s_c - bias))`: tokens do not compete.

    **Fields:** `bias`, a real scalar; -log T makes weights of T tokens about as large as softmax's.
    """

    bias: Any = 0.0

    def __post_init__(self):
        number("bias", self.bias)

    def function(self, score):
        """Return the logistic function."""
        return jax.nn.sigmoid(score + self.bias)
