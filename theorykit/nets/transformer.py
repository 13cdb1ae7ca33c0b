"""The reference transformer at finite width: the network whose limit the kernels are."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

Array = Any
ACTIVATIONS = {
    "relu": jax.nn.relu,
    "erf": jax.scipy.special.erf,
    "gelu": lambda z: jax.nn.gelu(z, approximate=False),
    "cos": jnp.cos,
    "identity": lambda z: z,
}


def _weight(rngs: nnx.Rngs, *shape: int, dtype: Any) -> nnx.Param:
    return nnx.Param(jax.random.normal(rngs.params(), shape, dtype))


def _norm(z: Array) -> Array:
    centred = z - z.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-12)


class Block(nnx.Module):
    """Attention with `heads` heads, then one linear map after the activation.

    Every weight is N(0, 1); scales stand in the forward pass (NTK parameterisation).
    """

    def __init__(self, width: int, heads: int, head_size: int, config: dict, rngs: nnx.Rngs):
        """Draw the weights of one block from `rngs`."""
        dtype = config["dtype"]
        self.query = _weight(rngs, heads, width, head_size, dtype=dtype)
        self.key = _weight(rngs, heads, width, head_size, dtype=dtype)
        self.value = _weight(rngs, heads, width, width, dtype=dtype)
        self.linear = _weight(rngs, width, width, dtype=dtype)
        self.bias = _weight(rngs, width, dtype=dtype)
        self.config = config

    def attend(self, z: Array, visible: Array) -> Array:
        """Return the attention output for tokens (T, D); `visible` is (T, T)."""
        heads, width, head_size = self.query.shape
        root = math.sqrt(width)
        q, k, v = (jnp.einsum("td,hde->hte", z, w[...] / root) for w in self._maps())
        scores = self.config["score_scale"] * jnp.einsum("hae,hce->hac", q, k)
        scores = scores / math.sqrt(head_size)
        if self.config["attention"] == "identity":
            weights = jnp.where(visible, scores, 0.0)
        else:
            # A row that sees nothing belongs to a padded token: it puts out zero.
            weights = jax.nn.softmax(scores, -1, where=visible)
            weights = jnp.where(visible, weights, 0.0)
        return jnp.einsum("hac,hcd->ad", weights, v) / math.sqrt(heads)

    def _maps(self):
        return self.query, self.key, self.value

    def __call__(self, z: Array, visible: Array) -> Array:
        """Return the tokens (T, D) after the block."""
        norm = _norm if self.config["layer_norm"] else lambda z: z
        skip = (lambda z, y: z + y) if self.config["residual"] else lambda z, y: y
        z = skip(z, self.attend(norm(z), visible))
        h = ACTIVATIONS[self.config["activation"]](norm(z))
        h = self.config["sigma_w"] * h @ self.linear[...] / math.sqrt(h.shape[-1])
        return skip(z, h + self.config["sigma_b"] * self.bias[...])


class Transformer(nnx.Module):
    """A finite transformer in the parameterisation of `kernels.InfiniteTransformer`.

    The options are those of the infinite network, with `width`, `heads` and `head_size`
    added; the covariance of its outputs and its empirical NTK tend to the kernels as all
    three grow.

    Args:
      features: size d of an input token.
      width, heads, head_size: D, H and d_k.
      depth: number of blocks.
      activation: "relu", "erf", "gelu", "cos" or "identity".
      readout: "last", "mean" or "tokens".
      attention: "softmax" or "identity".
      causal, residual, layer_norm: as in `kernels.InfiniteTransformer`.
      score_scale, sigma_w, sigma_b, positions: as there.
      max_tokens: length of the table of learned positions (used where `positions` is not 0).
      outputs: number of outputs a token.
      dtype: dtype of the weights.
      rngs: source of the weights, or a seed.

    Raises:
      ValueError: for an unknown activation, readout or attention.
    """

    def __init__(
        self,
        *,
        features: int,
        width: int,
        heads: int,
        head_size: int,
        depth: int = 1,
        activation: str = "relu",
        readout: str = "last",
        attention: str = "softmax",
        causal: bool = False,
        residual: bool = False,
        layer_norm: bool = False,
        score_scale: float = 1.0,
        sigma_w: float = 1.0,
        sigma_b: float = 0.0,
        positions: float = 0.0,
        max_tokens: int = 64,
        outputs: int = 1,
        dtype: Any = None,
        rngs: nnx.Rngs | int = 0,
    ):
        """Draw all weights."""
        for name, value, known in (
            ("activation", activation, tuple(ACTIVATIONS)),
            ("readout", readout, ("last", "mean", "tokens")),
            ("attention", attention, ("softmax", "identity")),
        ):
            if value not in known:
                raise ValueError(f"{name} is one of {', '.join(map(repr, known))}, got {value!r}")
        rngs = nnx.Rngs(params=rngs) if isinstance(rngs, int) else rngs
        dtype = jnp.result_type(float) if dtype is None else dtype
        config = {
            "activation": activation,
            "attention": attention,
            "residual": residual,
            "layer_norm": layer_norm,
            "score_scale": score_scale,
            "sigma_w": sigma_w,
            "sigma_b": sigma_b,
            "dtype": dtype,
        }
        self.readout, self.causal, self.positions = readout, causal, positions
        self.embedding = _weight(rngs, features, width, dtype=dtype)
        if positions:
            self.position_table = _weight(rngs, max_tokens, width, dtype=dtype)
        self.blocks = nnx.List(Block(width, heads, head_size, config, rngs) for _ in range(depth))
        self.head = _weight(rngs, width, outputs, dtype=dtype)

    def hidden(self, x: Array, mask: Array | None = None) -> Array:
        """Return the tokens (T, D) before the readout, for one input (T, d)."""
        t = x.shape[0]
        z = x @ self.embedding[...] / math.sqrt(x.shape[-1])
        if self.positions:
            z = z + self.positions * self.position_table[:t]
        mask = jnp.ones(t, bool) if mask is None else mask
        visible = mask[:, None] & mask[None, :]
        if self.causal:
            visible &= jnp.tril(jnp.ones((t, t), bool))
        for block in self.blocks:
            z = block(z, visible)
        return z

    def __call__(self, x: Array, mask: Array | None = None) -> Array:
        """Return outputs (outputs,) of one input (T, d), or (T, outputs) with readout "tokens".

        `mask` (T,) is true at real tokens. Use `jax.vmap` for a batch.
        """
        z = self.hidden(x, mask)
        out = z @ self.head[...] / math.sqrt(z.shape[-1])
        mask = jnp.ones(x.shape[0], bool) if mask is None else mask
        if self.readout == "last":
            return out[x.shape[0] - 1 - jnp.argmax(mask[::-1])]
        if self.readout == "mean":
            return jnp.sum(out * mask[:, None], 0) / jnp.sum(mask)
        return out * mask[:, None]
