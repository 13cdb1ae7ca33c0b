"""Linear attention with the feature map elu + 1 (Katharopoulos et al., 2020)."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from theorykit.kernels.attention.base import Settled
from theorykit.kernels.attention.rows import Fixed
from theorykit.kernels.parameters import parameters


@parameters()
@dataclass(frozen=True)
class Linear(Settled):
    """`A_ac = phi(q_a) . phi(k_c) / sum_e phi(q_a) . phi(k_e)` with `phi = elu + 1`.

    With infinitely large heads the inner products concentrate: queries and keys are independent
    given the tokens, so phi(q_a) . phi(k_c) / d_k tends to m(S_aa) m(S_cc), with m(v) the mean of
    phi over N(0, v). The query cancels: **every token attends alike, by m(S_cc)**, and under layer
    norm uniformly. Weights do not move with the scores, so that the NTK has no score terms; see
    the derivation in docs/mathematics.md. The score scale, which would multiply both inner
    products, cancels as well.
    """

    def products(self, q, k):
        """Return inner products of features."""
        phi = lambda x: jax.nn.elu(x) + 1
        return jnp.einsum("...ae,...ce->...ac", phi(q), phi(k))

    def weights(self, scores, allowed):
        """Return the shares of the scores that are allowed."""
        scores = jnp.where(allowed, scores, 0.0)
        total = jnp.sum(scores, -1, keepdims=True)
        return scores / jnp.where(total == 0, 1.0, total)

    def settled(self, variances, allowed):
        """Return the shares of m of the variances."""
        return Fixed(self.weights(mean(variances), allowed))


def mean(variance: jax.Array) -> jax.Array:
    """Return E[elu(x) + 1] for x normal: 1/2 + sqrt(v / 2 pi) + exp(v / 2) Phi(-sqrt(v))."""
    none = variance <= 0
    root = jnp.where(none, 0.0, jnp.sqrt(jnp.where(none, 1.0, variance)))
    below = jnp.exp(variance / 2 + jax.scipy.special.log_ndtr(-root))
    return 0.5 + root / math.sqrt(2 * math.pi) + below
