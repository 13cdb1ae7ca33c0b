"""Softmax attention."""

from dataclasses import dataclass
from typing import ClassVar

import jax

from theorykit.kernels.attention.base import Mechanism
from theorykit.kernels.attention.rows import Shares
from theorykit.kernels.parameters import parameters


@parameters()
@dataclass(frozen=True)
class Softmax(Mechanism):
    """`A = softmax(scores)` over the tokens that are seen."""

    invariant: ClassVar[bool] = True

    def weights(self, scores, allowed):
        """Return the softmax over allowed tokens; a row that may see none is zero."""
        return jax.nn.softmax(scores, -1, where=allowed)

    def rows(self, scores, allowed, slopes):
        """Return `Shares`: slopes are the weights themselves."""
        return Shares(self.weights(scores, allowed))

    def cost(self, tokens):
        """Return 1."""
        return 1
