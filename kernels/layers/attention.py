"""Self-attention as a layer of a description."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import nnx

from theorykit.kernels import draws
from theorykit.kernels.attention import Mechanism, Tokens, mechanism
from theorykit.kernels.blocks import average
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import number
from theorykit.kernels.layers.base import Layer
from theorykit.kernels.layers.masks import as_mask, seen
from theorykit.kernels.layers.weights import Weight
from theorykit.kernels.parameters import parameters
from theorykit.kernels.plan import BLOCK
from theorykit.kernels.recursion import State, at, drawn_rows, fill


@parameters("scale")
@dataclass(frozen=True)
class Attention(Layer):
    """`sum_h A_h (z W_v) / sqrt(D H)`, with A the weights of scores `scale q k' / sqrt(d_k)`.

    **Fields:** `of`, the mechanism, by name or object; `scale`, of the scores; `mask`, None,
    "causal", or an object of `layers.masks`.
    """

    of: Any = "softmax"
    scale: Any = 1.0
    mask: Any = None
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        mechanism(self.of)
        number("scale", self.scale)
        as_mask(self.mask)

    def carry(self, z, at_):
        """Return the state after the layer, from joint draws of the whole set."""
        attends, plan = mechanism(self.of), at_.plan
        n, t = z.nngp.shape[:2]
        flat, _ = draws.factor(z.nngp.reshape(n * t, n * t), plan.rank)
        f = flat.reshape(n, t, -1)
        r = f.shape[-1]
        kept = attends.cost(t) if plan.ntk else 1
        count, size = (1, 1) if attends.exact else plan.blocks(n * t * max(t * kept, r), BLOCK)
        source = draws.blocks(at_.key, count, (size, r, r), f.dtype, plan.sampler)
        sees = seen(as_mask(self.mask), at_.mask)
        i, j = jnp.triu_indices(n)

        def block(b):
            rows = drawn_rows(attends, f, f, source(b), self.scale, sees, plan.ntk)

            def pair(ij):
                one, two = ij
                s = z.nngp[one, :, two]
                w = None if z.ntk is None else z.ntk[one, :, two]
                tokens = Tokens(s, w, s, w)
                return attends.step(at(rows, one), at(rows, two), tokens, self.scale**2, plan.ntk)

            s, w = jax.lax.map(pair, (i, j))
            return fill(s, n), None if w is None else fill(w, n)

        zero = jnp.zeros_like(z.nngp)
        nngp, ntk = average(block, varying((zero, zero if plan.ntk else None), f), count)
        var = jnp.einsum("iaia->ia", nngp)
        return State(nngp, ntk, var[:, :, None, None], var)

    def module(self, size, rngs):
        """Return the heads."""
        return _Attention(rngs, size, mechanism(self.of), float(self.scale), as_mask(self.mask))


class _Attention(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, size: Any, of: Mechanism, scale: float, mask: Any):
        shape = (size.heads, size.width, size.head_size)
        self.query, self.key = (Weight(rngs, shape, size.width) for _ in range(2))
        self.value = Weight(rngs, (size.heads, size.width, size.width), size.width)
        self.of, self.scale, self.mask = of, scale / math.sqrt(size.head_size), mask

    def __call__(self, z, mask):
        q, k, v = (
            jnp.einsum("td,hde->hte", z, weight()) for weight in (self.query, self.key, self.value)
        )
        weights = self.of.weights(self.scale * self.of.products(q, k), seen(self.mask, mask))
        return jnp.einsum("hac,hcd->ad", weights, v) / math.sqrt(len(v))
