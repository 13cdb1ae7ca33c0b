"""Finite transformers: the reference network of the kernels, and those that the papers train."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Integer, Num

from theorykit.common.arguments import LARGEST, as_array, flag, one_of, real, shown, size, whole
from theorykit.common.precision import promoting
from theorykit.common.spelling import spelt
from theorykit.kernels.attention import Mechanism, mechanism
from theorykit.kernels.layers.finite import rotate as rotate
from theorykit.networks.nets.scales import (
    NORMS,
    PARAMETERISATIONS,
    Map,
    Source,
    as_function,
    checked_ids,
    count_parameters,
    embedding,
    sizes,
    source,
    weight_dtype,
)

Input = Num[Array | np.ndarray, "tokens *features"]
Mask = Bool[Array | np.ndarray, " tokens"]
Tokens = Float[Array, "tokens width"]
Visible = Bool[Array | np.ndarray, "tokens tokens"]
Angles = Float[Array, "tokens half"]
Offset = Integer[Array, ""] | int


@dataclass(frozen=True)
class BlockOptions:
    """Options of all blocks, as in `Transformer`; networks with equal ones share compiled code."""

    width: int
    heads: int
    head_size: int
    mlp: str | None
    mlp_width: int
    activation: Any
    norm: str | None
    residual: bool
    score_scale: float
    log_length: bool
    attention: Mechanism
    projection: bool
    scalars: tuple[float, float] | None
    parameterisation: str
    sigma_w: float
    sigma_b: float
    dtype: Any


class Attention(nnx.Module):
    """Attention with `heads` heads.

    Without `projection`, values have the width of a token and heads are averaged, as in the
    reference network. With it, values have the head size and W_O maps them back.
    """

    def __init__(self, options: BlockOptions, rngs: nnx.Rngs):
        """Draw the weights."""
        width, heads, size = options.width, options.heads, options.head_size
        kind, dtype = options.parameterisation, options.dtype
        draw = lambda shape, fan_in: Map(rngs, shape, fan_in, kind, dtype=dtype)
        self.query = draw((heads, width, size), width)
        self.key = draw((heads, width, size), width)
        self.value = draw((heads, width, size if options.projection else width), width)
        if options.projection:
            self.output = draw((heads, size, width), heads * size)
        if options.scalars is not None:
            a, b = options.scalars
            self.a = nnx.Param(jnp.full(heads, a, dtype))
            self.b = nnx.Param(jnp.full(heads, b, dtype))
        self.options = options

    def __call__(self, z: Tokens, visible: Visible | None, rotation: Angles | None) -> Tokens:
        """Return the attention output; `visible`: which tokens each token sees, None for all."""
        weights = self.weights(z, visible, rotation)
        v = jnp.einsum("td,hde->hte", z, self.value.effective())
        if self.options.projection:
            mixed = jnp.einsum("hac,hce->hae", weights, v)
            out = jnp.einsum("hae,hed->ad", mixed, self.output.effective())
        else:
            out = jnp.einsum("hac,hcd->ad", weights, v) / math.sqrt(self.options.heads)
        if self.options.scalars is not None:
            out = out + jnp.einsum("h,hac,cd->ad", self.b[...], weights, z)
        return out

    def weights(
        self, z: Tokens, visible: Visible | None, rotation: Angles | None
    ) -> Float[Array, "heads tokens tokens"]:
        """Return the attention weights."""
        options = self.options
        q = jnp.einsum("td,hde->hte", z, self.query.effective())
        k = jnp.einsum("td,hde->hte", z, self.key.effective())
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        size = options.head_size
        scale = options.score_scale / (
            size if options.parameterisation == "mup" else math.sqrt(size)
        )
        scores = options.attention.products(q, k)
        if options.scalars is not None:
            scores = scores + self.a[...][:, None, None] * (z @ z.T)
        scores = scale * scores
        if options.log_length:
            seen = z.shape[0] if visible is None else jnp.maximum(visible.sum(-1), 1)[:, None]
            scores = scores * jnp.log(jnp.asarray(seen, scores.dtype))
        # A row that sees nothing belongs to a padded token; its output is zero.
        allowed = jnp.ones(scores.shape[-2:], bool) if visible is None else jnp.asarray(visible)
        return options.attention.weights(scores, allowed)


class Block(nnx.Module):
    """Attention, then the MLP, with one linear map after the activation or the usual two."""

    def __init__(self, options: BlockOptions, rngs: nnx.Rngs):
        """Draw the weights of one block from `rngs`."""
        kind, dtype = options.parameterisation, options.dtype
        width, hidden = options.width, options.mlp_width
        self.attention = Attention(options, rngs)
        if options.mlp == "two":
            self.expand = Map(rngs, (width, hidden), width, kind, dtype=dtype)
            self.expand_bias = nnx.Param(jnp.zeros(hidden, dtype))
        if options.mlp is not None:
            fan_in = hidden if options.mlp == "two" else width
            self.linear = Map(rngs, (fan_in, width), fan_in, kind, dtype=dtype)
            bias = jax.random.normal(rngs.params(), (width,), dtype)
            self.bias = nnx.Param(bias if kind == "ntk" else jnp.zeros_like(bias))
        self.options = options

    @promoting
    def __call__(self, z: Tokens, visible: Visible | None, rotation: Angles | None) -> Tokens:
        """Return the tokens after the block."""
        options = self.options
        norm = NORMS[options.norm]
        skip = (lambda z, y: z + y) if options.residual else lambda z, y: y
        z = skip(z, self.attention(norm(z), visible, rotation))
        if options.mlp is None:
            return z
        h = norm(z)
        if options.mlp == "two":
            h = h @ self.expand.effective() + self.expand_bias[...]
        h = options.sigma_w * as_function(options.activation)(h) @ self.linear.effective()
        scale = options.sigma_b if options.parameterisation == "ntk" else 1.0
        return skip(z, h + scale * self.bias[...])


class Transformer(nnx.Module):
    """A finite transformer; its defaults are the reference network of the kernels.

    With `parameterisation="ntk"` the options are those of `kernels.InfiniteTransformer` plus
    `width`, `heads` and `head_size`; the covariance of its outputs and its empirical NTK tend to
    the kernels as all three grow. The other options are for the networks that the papers train.

    **Arguments:**

    - `features`: the size d of an input token; or `vocabulary`: inputs are token ids, which stand
      for one-hot vectors.
    - `width`, `heads`, `head_size`: D, H and d_k; the head size is width / heads if not given.
    - `depth`: number of blocks.
    - `mlp`: "one" linear map after the activation (capture paper, A.1), "two" with `mlp_width`
      hidden units (by default 4 width), or None.
    - `activation`: "relu", "erf", "gelu", "cos", "tanh" or "identity", or a function, such as a
      `kernels.activations.Activation`.
    - `norm`: None, "layer" or "rms", before each branch, without gain; `layer_norm=True` is
      `norm="layer"`. `final_norm`: one more before the readout (by default if there is a norm,
      except in the reference network).
    - `residual`: whether branches are added to their inputs.
    - `positions`: None; a number, the scale of learned positions (`"learned"` is 1); "rotary"; or
      "onehot", fixed unit vectors. `max_tokens`: the number of positions.
    - `random_offset`: whether training places each sample at a random offset among the positions.
    - `causal`: whether a token sees only itself and earlier ones.
    - `score_scale`: beta; `log_length`: whether logits are multiplied by the log of the number of
      visible tokens.
    - `attention`: "softmax" or "identity", or a mechanism of `kernels.attention`.
    - `projection`: whether values have the head size, with an output map W_O (by default, except in
      the reference network).
    - `scalars`: None, or the initial values of a and b, trained for each head, which turn W_K W_Q'
      into W_K W_Q' + a I and W_V W_O' into W_V W_O' + b I.
    - `parameterisation`: "ntk", "standard" or "mup", see `Map`.
    - `tied`: whether the readout is the transposed embedding.
    - `readout`: "last", "mean" or "tokens"; `outputs`: the number of outputs (per token).
    - `sigma_w`, `sigma_b`: the scales of the last map of the MLP and, in the reference network, of
      its bias.
    - `dtype`: of the weights. `rngs`: the source of the weights, or a seed.

    **Raises:** `ValueError` for an unknown option, heads that do not divide the width, an odd head
    size with rotary positions, or more one-hot positions than dimensions.
    """

    @spelt
    def __init__(
        self,
        *,
        width: int,
        heads: int,
        features: int | None = None,
        vocabulary: int | None = None,
        head_size: int | None = None,
        depth: int = 1,
        mlp: str | None = "one",
        mlp_width: int | None = None,
        activation: Any = "relu",
        norm: str | None = None,
        layer_norm: bool = False,
        final_norm: bool | None = None,
        residual: bool = False,
        positions: float | str | None = None,
        max_tokens: int = 64,
        random_offset: bool = False,
        causal: bool = False,
        score_scale: float = 1.0,
        log_length: bool = False,
        attention: str | Mechanism = "softmax",
        projection: bool | None = None,
        scalars: tuple[float, float] | None = None,
        parameterisation: str = "ntk",
        tied: bool = False,
        readout: str = "last",
        outputs: int = 1,
        sigma_w: float = 1.0,
        sigma_b: float = 0.0,
        dtype: Any = None,
        rngs: Source = 0,
    ):
        """Draw all weights."""
        as_function(activation)
        one_of("readout", readout, ("last", "mean", "tokens"))
        attends = mechanism(attention)
        one_of("mlp", mlp, ("one", "two", None))
        one_of("parameterisation", parameterisation, PARAMETERISATIONS)
        width, heads, outputs = size("width", width), size("heads", heads), size("outputs", outputs)
        head_size, features, vocabulary, mlp_width = sizes(
            head_size=head_size, features=features, vocabulary=vocabulary, mlp_width=mlp_width
        )
        max_tokens, depth = size("max_tokens", max_tokens), size("depth", depth, 0)
        for name, value in dict(
            layer_norm=layer_norm, residual=residual, random_offset=random_offset, causal=causal,
            log_length=log_length, tied=tied,
        ).items():  # fmt: skip
            flag(name, value)
        for name, maybe in dict(final_norm=final_norm, projection=projection).items():
            if maybe is not None:
                flag(name, maybe)
        for name, scale in dict(score_scale=score_scale, sigma_w=sigma_w, sigma_b=sigma_b).items():
            real(name, scale)
        if scalars is not None:
            if not isinstance(scalars, tuple | list) or len(scalars) != 2:
                raise ValueError(
                    f"scalars are two numbers, the initial a and b of a head, got {shown(scalars)}"
                )
            scalars = (real("a of scalars", scalars[0]), real("b of scalars", scalars[1]))
        norm = one_of("norm", "layer" if layer_norm else norm, NORMS)
        if (features is None) == (vocabulary is None):
            raise ValueError("a transformer takes features=d (vectors) or vocabulary=V (token ids)")
        if head_size is None:
            if width % heads:
                raise ValueError(
                    f"{heads} heads do not divide the width {width}; give head_size, or a width "
                    f"such as {heads * max(1, width // heads)}"
                )
            head_size = width // heads
        if isinstance(positions, str):
            one_of("positions", positions, ("learned", "rotary", "onehot"))
        elif positions is not None:
            real("positions", positions)
        positions = 1.0 if isinstance(positions, str) and positions == "learned" else positions
        positions = positions or None
        if positions == "rotary" and head_size % 2:
            raise ValueError(f"rotary positions rotate pairs, but head_size {head_size} is odd")
        if positions == "onehot" and max_tokens > width:
            raise ValueError(f"{max_tokens} one-hot positions do not fit into the width {width}")
        rngs, dtype = source(rngs), weight_dtype(dtype)
        reference = parameterisation == "ntk"
        options = self.options = BlockOptions(
            width=width,
            heads=heads,
            head_size=head_size,
            mlp=mlp,
            mlp_width=4 * width if mlp_width is None else mlp_width,
            activation=activation,
            norm=norm,
            residual=residual,
            score_scale=score_scale,
            log_length=log_length,
            attention=attends,
            projection=not reference if projection is None else projection,
            scalars=scalars,
            parameterisation=parameterisation,
            sigma_w=sigma_w,
            sigma_b=sigma_b,
            dtype=dtype,
        )
        self.width, self.depth, self.tied, self.outputs = width, depth, tied, outputs
        self.vocabulary = vocabulary
        self.readout, self.causal, self.positions = readout, causal, positions
        self.max_tokens, self.random_offset = max_tokens, random_offset
        self.final_norm = (norm is not None and not reference) if final_norm is None else final_norm
        rows = features or vocabulary or 0
        self.embedding = embedding(rngs, rows, width, parameterisation, vocabulary is None, dtype)
        if self.learned:
            self.position_table = nnx.Param(
                jax.random.normal(rngs.params(), (max_tokens, width), dtype)
            )
        self.blocks = nnx.List(Block(options, rngs) for _ in range(depth))
        if tied:
            if vocabulary is None or outputs not in (1, vocabulary):
                raise ValueError("a tied readout has one output per symbol of the vocabulary")
            self.outputs = vocabulary
        else:
            self.head = Map(
                rngs, (width, outputs), width, parameterisation, readout=True, dtype=dtype
            )

    @property
    def learned(self) -> bool:
        """Whether positions are learned."""
        return self.positions is not None and not isinstance(self.positions, str)

    @promoting
    def embed(self, x: Input, offset: Offset = 0) -> Tokens:
        """Return the tokens of one input, including positions."""
        x = self._checked(x, offset)
        t, table = x.shape[0], self.embedding.effective()
        z = jnp.asarray(x) @ table if self.vocabulary is None else table[x]
        if self.positions is None or self.positions == "rotary":
            return z
        if t > self.max_tokens:
            raise ValueError(
                f"an input of {t} tokens is longer than the {self.max_tokens} positions; "
                "make the network with a larger max_tokens"
            )
        if isinstance(self.positions, str):
            return z + jnp.eye(self.max_tokens, self.width, dtype=z.dtype)[offset + jnp.arange(t)]
        return z + self.positions * jax.lax.dynamic_slice_in_dim(
            self.position_table[...], offset, t
        )

    def _checked(self, x: Any, offset: Any = 0) -> Input:
        """Return an input as an array.

        **Raises:** `ValueError` for an input of another kind; ids can be checked only outside
        `jit`.
        """
        if self.vocabulary is not None:
            x = checked_ids(x, self.vocabulary)
            if x.ndim != 1:
                raise ValueError(
                    f"one input is a row of token ids, got shape {x.shape}; use vmap for a batch"
                )
        else:
            x, features = as_array("an input", x), self.embedding.weight.shape[0]
            if x.ndim != 2 or x.shape[1] != features:
                raise ValueError(
                    f"one input has the shape (T, {features}), got {x.shape}; use vmap for a batch"
                )
        if not x.shape[0]:
            raise ValueError("an input has at least one token, got none.")
        if isinstance(offset, jax.core.Tracer):
            return x
        room = self.max_tokens - x.shape[0]
        offset = whole("offset", offset, -LARGEST, LARGEST)
        if (self.learned or self.positions == "onehot") and not 0 <= offset <= max(room, 0):
            raise ValueError(
                f"{x.shape[0]} tokens in {self.max_tokens} positions can have offsets from 0 to "
                f"{room}, not {offset}"
            )
        return x

    def _mask(self, mask: Any, t: int) -> Mask | None:
        """Return a mask as an array.

        **Raises:** `ValueError` unless it has one truth value per token.
        """
        if mask is None:
            return None
        mask = as_array("mask", mask)
        if mask.dtype != bool or mask.shape != (t,):
            raise ValueError(
                f"mask holds one truth value for each of {t} tokens, got {mask.dtype} {mask.shape}."
            )
        return mask

    @promoting
    def rotation(self, t: int, offset: Offset = 0) -> Angles | None:
        """Return the angles of rotary positions, one per pair of entries of a head, or None."""
        if self.positions != "rotary":
            return None
        half = self.options.head_size // 2
        frequencies = 10_000.0 ** (-jnp.arange(half) / half)
        return (offset + jnp.arange(t))[:, None] * frequencies

    @promoting
    def visible(self, t: int, mask: Mask | None) -> Visible | None:
        """Return which tokens each token sees, or None if every token sees all."""
        seen = None if mask is None else mask[:, None] & mask[None, :]
        if self.causal:
            before = jnp.tril(jnp.ones((t, t), bool))
            seen = before if seen is None else seen & before
        return seen

    @promoting
    def hidden(self, x: Input, mask: Mask | None = None, offset: Offset = 0) -> Tokens:
        """Return the tokens before the readout, for one input (T, d) or (T,) ids."""
        z = self.embed(x, offset)
        mask = self._mask(mask, len(z))
        visible, rotation = self.visible(len(z), mask), self.rotation(len(z), offset)
        for block in self.blocks:
            z = block(z, visible, rotation)
        return NORMS[self.options.norm](z) if self.final_norm else z

    @promoting
    def attention_weights(
        self, x: Input, mask: Mask | None = None
    ) -> list[Float[Array, "heads tokens tokens"]]:
        """Return the attention weights of every block, for one input."""
        z, found = self.embed(x), []
        visible = self.visible(len(z), self._mask(mask, len(z)))
        rotation = self.rotation(len(z))
        for block in self.blocks:
            found.append(block.attention.weights(NORMS[self.options.norm](z), visible, rotation))
            z = block(z, visible, rotation)
        return found

    @promoting
    def read(self, z: Float[Array, "*tokens width"]) -> Float[Array, "*tokens outputs"]:
        """Return the readout of each token."""
        if self.tied:
            return z @ self.embedding.effective().T / math.sqrt(self.width)
        return z @ self.head.effective()

    @promoting
    def __call__(
        self, x: Input, mask: Mask | None = None, offset: Offset = 0
    ) -> Float[Array, "*tokens outputs"]:
        """Return the outputs (outputs,) of one input (T, d), or (T, outputs) with readout "tokens".

        `mask` (T,) is true at real tokens. Use `jax.vmap` for a batch.
        """
        z = self.hidden(x, mask, offset)
        mask = self._mask(mask, len(z))
        if self.readout == "last":
            last = -1 if mask is None else len(z) - 1 - jnp.argmax(mask[::-1])
            return self.read(z[last])
        out = self.read(z)
        if mask is None:
            return out.mean(0) if self.readout == "mean" else out
        if self.readout == "mean":
            return jnp.sum(out * mask[:, None], 0) / jnp.sum(mask)
        return out * mask[:, None]

    def parameters(self) -> int:
        """Return the number of trained parameters."""
        return count_parameters(self)

    def flops(self, tokens: int) -> int:
        """Return the multiply-adds of a forward pass on one input, times two.

        Only matrix products are counted, as in the capture paper, A.2; softmax, norms and
        activations are left out.
        """
        c, T, D = self.options, whole("tokens", tokens), self.width
        heads, size = c.heads, c.head_size
        value = size if c.projection else D
        attention = heads * (4 * T * D * size + 2 * T * D * value + 2 * T * T * (size + value))
        attention += 2 * T * heads * size * D if c.projection else 0
        attention += (2 + 2 * heads) * T * T * D if c.scalars is not None else 0
        wide = 2 * T * D * c.mlp_width
        mlp = {"one": 2 * T * D * D, "two": 2 * wide, None: 0}[c.mlp]
        rows = 1 if self.readout == "last" else T
        embed = 2 * T * D * self.embedding.weight.shape[0] if self.vocabulary is None else 0
        return embed + self.depth * (attention + mlp) + 2 * rows * D * self.outputs
