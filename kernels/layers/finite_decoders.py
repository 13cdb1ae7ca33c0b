"""Encoders and decoders at finite width: modules of `flax.nnx`."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array

from theorykit.common.precision import promoting
from theorykit.kernels.layers.finite import Attention, Input, Network, Real, Tokens


class EncoderDecoder(nnx.Module):
    """Layers of an encoder, and those of a decoder, which see the tokens that come out of them."""

    def __init__(self, encoder: Sequence[Any], decoder: Sequence[Any]):
        """Take the layers of both."""
        self.encoder, self.decoder = Network(encoder), Network(decoder)

    @promoting
    def __call__(self, x: tuple[Input, Input], mask: tuple[Any, Any] = (None, None)) -> Array:
        """Return the outputs of one pair of a source and a target."""
        memory = self.encoder.after(x[0], mask[0])
        return self.decoder.after(x[1], mask[1], memory)[0]


class CrossAttention(Attention):
    """Heads whose keys and values are of an encoder's tokens."""

    crosses = True

    def __call__(self, z: Tokens, mask: Real, memory: Any = None) -> Tokens:
        """Return the output of all heads together; `memory` is tokens and their mask."""
        source, real = memory
        q = jnp.einsum("td,hde->hte", z, self.query.effective())
        k = jnp.einsum("td,hde->hte", source, self.key.effective())
        scores = self.scale * self.of.products(q, k)
        return self.mixed(self.of.weights(scores, mask[:, None] & real), source)
