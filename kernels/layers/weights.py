"""Weights of finite networks, in the parameterisation of the kernels."""

import math

import jax
from flax import nnx
from jaxtyping import Array, Float


class Weight(nnx.Module):
    """Entries N(0, 1), divided by the root of the fan in where they act."""

    def __init__(self, rngs: nnx.Rngs, shape: tuple[int, ...], fan_in: int):
        """Draw them."""
        self.value = nnx.Param(jax.random.normal(rngs.params(), shape))
        self.scale = 1 / math.sqrt(fan_in)

    def __call__(self) -> Float[Array, "..."]:
        """Return what acts on tokens."""
        return self.value[...] * self.scale
