"""Attention without a nonlinearity: the scores are the weights."""

from dataclasses import dataclass

import jax.numpy as jnp

from theorykit.kernels.attention.base import Exact
from theorykit.kernels.attention.rows import Fixed
from theorykit.kernels.parameters import parameters


@parameters()
@dataclass(frozen=True)
class Identity(Exact):
    """`A = scores`, without a softmax: NNGP and NTK in closed form (Hron et al., 2020).

    Here E[A1_ac A2_be] = beta^2 S_ab S_ce over the tokens that a row may see.
    """

    def weights(self, scores, allowed):
        """Return the scores that are allowed."""
        return jnp.where(allowed, scores, 0.0)

    def settled(self, variances, allowed):
        """Return 1 where a row may see a token, else 0."""
        seen = jnp.broadcast_to(allowed, jnp.broadcast_shapes(allowed.shape, variances.shape))
        return Fixed(seen.astype(variances.dtype))

    def closed(self, through, tokens, scale2, ntk):
        """Return NNGP and NTK: Q(V)_ab is the sum of S_ce V_ce over visible c, e."""
        s, w, s_rows = tokens.nngp, tokens.ntk, tokens.nngp_rows
        q_s = scale2 * through(s, s)
        out = s_rows * q_s
        if not ntk:
            return out, None
        w_rows = s_rows if tokens.ntk_rows is None else tokens.ntk_rows
        q_w = q_s if w is None else scale2 * through(s, w)
        return out, out + s_rows * q_w + (2 * s_rows + w_rows) * q_s + s_rows * q_w
