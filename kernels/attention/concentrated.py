"""Attention with scores q . k / d_k in place of q . k / sqrt(d_k)."""

from dataclasses import dataclass, field

import jax.numpy as jnp

from theorykit.kernels.attention.base import Mechanism, Settled
from theorykit.kernels.attention.rows import Fixed
from theorykit.kernels.attention.softmax import Softmax
from theorykit.kernels.parameters import parameters


@parameters()
@dataclass(frozen=True)
class Concentrated(Settled):
    """A mechanism whose scores are divided by d_k and not by its root, as in muP.

    Query and key weights are independent, so that scores have mean zero, and by this scaling the
    variance S_aa S_cc / d_k. With infinitely large heads all scores are zero at initialisation:
    **softmax attention is uniform**, and other weights are those of zero scores. Score gradients
    vanish like 1 / d_k too, and with them the score terms of the NTK.

    **Fields:** `of`, the mechanism, one that draws its scores.

    **Raises:** `ValueError` for a mechanism that has no scores to draw.
    """

    of: Mechanism = field(default_factory=Softmax)

    def __post_init__(self):
        if not isinstance(self.of, Mechanism) or self.of.exact:
            raise ValueError(
                f"of is a mechanism that draws its scores, such as Softmax(), got {self.of!r}"
            )

    def products(self, q, k):
        """Return those of the mechanism, divided by the root of the head size."""
        return self.of.products(q, k) / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))

    def weights(self, scores, allowed):
        """Return those of the mechanism."""
        return self.of.weights(scores, allowed)

    def settled(self, variances, allowed):
        """Return the weights of scores that are all zero."""
        shape = jnp.broadcast_shapes(allowed.shape, variances.shape)
        return Fixed(self.of.weights(jnp.zeros(shape, variances.dtype), allowed))
