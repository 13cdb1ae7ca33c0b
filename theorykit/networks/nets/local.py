"""A trainable Limit Transformer: periodic encodings and local functions are weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Integer

from theorykit.common.arguments import one_of, shown, size
from theorykit.common.precision import promoting
from theorykit.common.spelling import spelt
from theorykit.networks.nets.scales import (
    PARAMETERISATIONS,
    Map,
    Source,
    as_function,
    checked_ids,
    count_parameters,
    embedding,
    sizes,
    source,
)

Ids = Integer[Array | np.ndarray, " tokens"]


@dataclass(frozen=True)
class LayerOptions:
    """Options shared by all layers; layers with equal options share compiled code."""

    width: int
    mlp_width: int
    activation: str
    parameterisation: str


class Layer(nnx.Module):
    """Heads of full size, each with a local function phi, and an MLP, both with residuals."""

    def __init__(self, heads: int, options: LayerOptions, reach: int | None, rngs: nnx.Rngs):
        """Draw the weights; `reach`: the largest distance with nonzero phi, or None for no phi."""
        d, hidden, kind = options.width, options.mlp_width, options.parameterisation
        draw = lambda shape, fan_in: Map(rngs, shape, fan_in, kind)
        self.query, self.key, self.value = (draw((heads, d, d), d) for _ in range(3))
        self.expand, self.linear = draw((d, hidden), d), draw((hidden, d), hidden)
        self.expand_bias = nnx.Param(jnp.zeros(hidden))
        self.options, self.reach = options, reach
        if reach is not None:
            self.phi = nnx.Param(jnp.zeros((heads, reach + 1)))

    def weights(
        self, y: Float[Array, "tokens width"], start: int
    ) -> Float[Array, "heads queries tokens"]:
        """Return attention weights of the queries from position `start` on."""
        T, d = y.shape
        q = jnp.einsum("td,hde->hte", y[start:], self.query.effective())
        k = jnp.einsum("td,hde->hte", y, self.key.effective())
        scale = d if self.options.parameterisation == "mup" else d**0.5
        a = jnp.einsum("hae,hce->hac", q, k) / scale
        back = jnp.arange(start, T)[:, None] - jnp.arange(T)[None, :]
        if self.reach is not None:
            near = (back >= 0) & (back <= self.reach)
            phi = jnp.where(near, self.phi[...][:, jnp.clip(back, 0, self.reach)], 0.0)
            a = a + jnp.log(jnp.arange(start, T) + 1.0)[:, None] * phi
        return jax.nn.softmax(a, -1, where=back >= 0)

    def __call__(
        self, y: Float[Array, "tokens width"], start: int = 0
    ) -> Float[Array, "queries width"]:
        """Return the tokens after the layer, from position `start` on."""
        v = jnp.einsum("td,hde->hte", y, self.value.effective())
        y = y[start:] + jnp.einsum("hac,hcd->ad", self.weights(y, start), v)
        h = y @ self.expand.effective() + self.expand_bias[...]
        return y + as_function(self.options.activation)(h) @ self.linear.effective()


class LocalTransformer(nnx.Module):
    """The trainable form of `limit.Transformer`: eq. (1) of the quantitative paper.

    Encodings are a table of `period` rows; logits of the first layer have log i phi(i - j) added,
    with phi learned for i - j up to `reach` and initialised to 0. So it takes inputs of any length,
    and positions have the same meaning at every length.

    **Arguments:**

    - `vocabulary`: the number of token ids.
    - `width`, `mlp_width`: d, which is also the head size, and the number of hidden units per MLP.
    - `heads`: the number of heads in each layer.
    - `period`: of the encodings, or None for none.
    - `reach`: tau, or None for no phi.
    - `outputs`: the number of outputs per token; `readout` is "tokens".
    - `activation`, `parameterisation`, `rngs`: as for `Transformer`.

    **Raises:** `ValueError` for an unknown option.
    """

    @spelt
    def __init__(
        self,
        *,
        vocabulary: int,
        width: int = 16,
        mlp_width: int = 256,
        heads: Sequence[int] = (1,),
        period: int | None = None,
        reach: int | None = None,
        outputs: int = 1,
        readout: str = "tokens",
        activation: str = "relu",
        parameterisation: str = "mup",
        rngs: Source = 0,
    ):
        """Draw all weights."""
        as_function(activation)
        one_of("parameterisation", parameterisation, PARAMETERISATIONS)
        one_of("readout", readout, ("tokens",))
        vocabulary, width, mlp_width, outputs, period = sizes(
            vocabulary=size("vocabulary", vocabulary),
            width=size("width", width),
            mlp_width=size("mlp_width", mlp_width),
            outputs=size("outputs", outputs),
            period=period,
        )
        if not isinstance(heads, Sequence) or isinstance(heads, str | bytes) or not heads:
            raise ValueError(f"heads has one number per layer, such as (1,), got {shown(heads)}.")
        heads = [size("heads of a layer", count) for count in heads]
        rngs, kind = source(rngs), parameterisation
        self.vocabulary, self.outputs, self.readout, self.period = (
            vocabulary, outputs, readout, period,
        )  # fmt: skip
        options = LayerOptions(width, mlp_width, activation, kind)
        dtype = jnp.result_type(float)
        self.embedding = embedding(rngs, vocabulary, width, kind, False, dtype)
        if period is not None:
            self.positions = embedding(rngs, period, width, kind, False, dtype)
        reaches = [None if reach is None else size("reach", reach, 0), *[None] * len(heads)]
        self.layers = nnx.List(
            Layer(count, options, far, rngs) for count, far in zip(heads, reaches, strict=False)
        )
        self.head = Map(rngs, (width, outputs), width, kind, readout=True)

    @promoting
    def embed(self, x: Ids) -> Float[Array, "tokens width"]:
        """Return y^(0) of token ids."""
        x = checked_ids(x, self.vocabulary)
        if x.ndim != 1:
            raise ValueError(
                f"one input is a row of token ids, got shape {x.shape}; use vmap for a batch"
            )
        y = self.embedding.effective()[x]
        if self.period is None:
            return y
        return y + self.positions.effective()[jnp.arange(1, len(x) + 1) % self.period]

    @promoting
    def __call__(self, x: Ids) -> Float[Array, "tokens outputs"]:
        """Return the outputs of one input; each depends on its token and earlier ones."""
        y = self.embed(x)
        for layer in self.layers:
            y = layer(y)
        return y @ self.head.effective()

    @promoting
    def last(self, x: Ids) -> Float[Array, " outputs"]:
        """Return the outputs at the last token only, which is cheaper."""
        y = self.embed(x)
        for number, layer in enumerate(self.layers, 1):
            y = layer(y, len(x) - 1 if number == len(self.layers) else 0)
        return (y @ self.head.effective())[-1]

    @promoting
    def attention(self, x: Ids) -> Float[Array, "heads tokens"]:
        """Return the first layer's attention weights at the last token."""
        return self.layers[0].weights(self.embed(x), len(x) - 1)[:, 0]

    def parameters(self) -> int:
        """Return the number of trained parameters."""
        return count_parameters(self)
