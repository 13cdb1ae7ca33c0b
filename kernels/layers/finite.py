"""The layers of descriptions at finite width: modules of `flax.nnx`.

Each maps (T, D) tokens and a (T,) mask, true at real tokens, to tokens. Weights are `Map`s, so that
one table says what the parameterisations are.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Num

from theorykit.common.arguments import function
from theorykit.common.precision import promoting
from theorykit.kernels import activations
from theorykit.kernels.attention import Mechanism
from theorykit.kernels.layers.base import Sizes
from theorykit.kernels.layers.masks import Mask, seen
from theorykit.kernels.weights import Map, centred, rms

Input = Num[Array | np.ndarray, "..."]
Tokens = Float[Array, "tokens width"]
Sources = Float[Array, "sources width"]
Real = Bool[Array, " tokens"]
Given = Bool[Array | np.ndarray, " tokens"]


def _map(rngs: nnx.Rngs, sizes: Sizes, shape: tuple[int, ...], fan_in: int, **how: Any) -> Map:
    return Map(rngs, shape, fan_in, sizes.parameterisation, dtype=sizes.dtype, **how)


def _input(rngs: nnx.Rngs, sizes: Sizes, rows: int, fan_in: int) -> Map:
    """Return a map into the width: its fan in does not grow, and muP leaves it as it is."""
    kind = "ntk" if sizes.parameterisation == "ntk" else "standard"
    return Map(rngs, (rows, sizes.width), fan_in, kind, dtype=sizes.dtype)


class Network(nnx.Module):
    """Layers one after the other, from an input to outputs."""

    def __init__(self, layers: Sequence[Any]):
        """Take the layers, the embedding first and the readout last."""
        self.layers = nnx.List(layers)

    @promoting
    def __call__(self, x: Input, mask: Given | None = None) -> Array:
        """Return the outputs of one input."""
        return self.after(x, mask)[0]

    def after(self, x: Input, mask: Given | None, memory: Any = None) -> tuple[Array, Real]:
        """Return the output of the last layer, given an encoder's tokens, and the tokens' mask."""
        first, *rest = self.layers
        z = first(x, mask)
        real = jnp.ones(len(z), bool) if mask is None else jnp.asarray(mask)
        for layer in rest:
            z = _run(layer, z, real, memory)
        return z, real


def _run(layer: Any, z: Any, mask: Real, memory: Any) -> Any:
    """Return the tokens after a layer; only those that ask for it get the encoder's tokens."""
    return layer(z, mask, memory) if getattr(layer, "crosses", False) else layer(z, mask)


class Serial(nnx.Module):
    """Layers one after the other."""

    crosses = True

    def __init__(self, layers: Sequence[Any]):
        """Take the layers."""
        self.layers = nnx.List(layers)

    def __call__(self, z: Tokens, mask: Real, memory: Any = None) -> Tokens:
        """Return the tokens after the last."""
        for layer in self.layers:
            z = _run(layer, z, mask, memory)
        return z


class Residual(nnx.Module):
    """`z + scale * branch(z)`."""

    crosses = True

    def __init__(self, branch: Any, scale: float):
        """Take the branch."""
        self.branch, self.scale = branch, scale

    def __call__(self, z: Tokens, mask: Real, memory: Any = None) -> Tokens:
        """Return the sum."""
        return z + self.scale * _run(self.branch, z, mask, memory)


class Parallel(nnx.Module):
    """The sum of branches."""

    crosses = True

    def __init__(self, branches: Sequence[Any]):
        """Take the branches."""
        self.branches = nnx.List(branches)

    def __call__(self, z: Tokens, mask: Real, memory: Any = None) -> Tokens:
        """Return the sum."""
        parts = (_run(branch, z, mask, memory) for branch in self.branches)
        return sum(parts, jnp.zeros((), z.dtype))


class Embed(nnx.Module):
    """A table of token ids, or a matrix for vectors."""

    def __init__(
        self, rngs: nnx.Rngs, sizes: Sizes, columns: int, vocabulary: int | None, cut: Any = None
    ):
        """Draw the weights; `cut` makes vectors of an input, if it is something else."""
        self.table, self.vocabulary = _input(rngs, sizes, columns, columns), vocabulary
        self.cut = cut

    def __call__(self, x: Any, mask: Given | None) -> Tokens:
        """Return the tokens of an input."""
        x, table = jnp.asarray(x), self.table.effective()
        x = x if self.cut is None else self.cut(x)
        return x @ table if self.vocabulary is None else table[x]


class Positions(nnx.Module):
    """Vectors of positions, mapped into the width and added."""

    def __init__(self, rngs: nnx.Rngs, sizes: Sizes, vectors: np.ndarray, scale: float):
        """Draw the weights."""
        self.map, self.scale = _input(rngs, sizes, vectors.shape[1], 1), scale
        self.vectors = tuple(map(tuple, vectors.tolist()))

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the tokens with positions."""
        if len(z) > len(self.vectors):
            raise ValueError(
                f"an input of {len(z)} tokens is longer than the {len(self.vectors)} positions; "
                "describe them with a larger `most`"
            )
        vectors = jnp.asarray(self.vectors[: len(z)], z.dtype)
        return z + self.scale * (vectors @ self.map.effective())


class Dense(nnx.Module):
    """`sigma_w z W / sqrt(D) + sigma_b b`."""

    def __init__(self, rngs: nnx.Rngs, sizes: Sizes, sigma_w: float, sigma_b: float):
        """Draw the weights."""
        width = sizes.width
        self.weight = _map(rngs, sizes, (width, width), width)
        self.bias = _input(rngs, sizes, 1, 1)
        self.sigma_w, self.sigma_b = sigma_w, sigma_b

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the mapped tokens."""
        out = self.sigma_w * (z @ self.weight.effective())
        return out + self.sigma_b * self.bias.effective()[0]


class Apply(nnx.Module):
    """An activation."""

    def __init__(self, activation: Any):
        """Take the function."""
        self.function = _function(activation)

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the function of each entry."""
        return self.function(z)


class MLP(nnx.Module):
    """One or two maps, an activation before the last."""

    def __init__(self, rngs: nnx.Rngs, sizes: Sizes, activation: Any, hidden: bool, *scales: float):
        """Draw the weights."""
        width = sizes.width
        self.first = _map(rngs, sizes, (width, width), width) if hidden else None
        self.last, self.function = Dense(rngs, sizes, *scales), _function(activation)

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the mapped tokens."""
        h = z if self.first is None else z @ self.first.effective()
        return self.last(self.function(h), mask)


class GatedMLP(nnx.Module):
    """Values times an activation of their gates."""

    def __init__(self, rngs: nnx.Rngs, sizes: Sizes, activation: Any, sigma_w: float):
        """Draw the weights."""
        width = sizes.width
        maps = [_map(rngs, sizes, (width, width), width) for _ in range(3)]
        self.gate, self.value, self.last = maps
        self.function, self.sigma_w = _function(activation), sigma_w

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the mapped tokens."""
        gated = self.function(z @ self.gate.effective()) * (z @ self.value.effective())
        return self.sigma_w * (gated @ self.last.effective())


class Norm(nnx.Module):
    """Tokens of mean square 1; if `centred`, their mean is subtracted first."""

    def __init__(self, centred: bool):
        """Say which norm."""
        self.centred = centred

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the normalised tokens."""
        return centred(z) if self.centred else rms(z)


class Pool(nnx.Module):
    """The mean of the real tokens, at every token."""

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the means."""
        mean = (z * mask[:, None]).sum(0) / mask.sum()
        return jnp.broadcast_to(mean, z.shape)


class Attention(nnx.Module):
    """Heads, each with values of the width, or of its own size with an output map behind."""

    def __init__(
        self,
        rngs: nnx.Rngs,
        sizes: Sizes,
        of: Mechanism,
        scale: float,
        mask: Mask | None,
        projection: bool,
        positions: Any,
    ):
        """Draw the weights."""
        heads, width, size = sizes.heads, sizes.width, sizes.head_size
        self.query, self.key = (_map(rngs, sizes, (heads, width, size), width) for _ in range(2))
        self.value = _map(rngs, sizes, (heads, width, size if projection else width), width)
        out = (heads, size, width)
        self.output = _map(rngs, sizes, out, heads * size) if projection else None
        self.of, self.scale, self.mask = of, scale / math.sqrt(size), mask
        self.positions = positions

    def weights(self, z: Tokens, mask: Real) -> Float[Array, "heads tokens tokens"]:
        """Return the weights of the heads."""
        q, k = (jnp.einsum("td,hde->hte", z, w.effective()) for w in (self.query, self.key))
        if self.positions is not None:
            q, k = self.positions.turned(q), self.positions.turned(k)
        scores = self.scale * self.of.products(q, k)
        if self.positions is not None:
            scores = scores + self.positions.shift(len(z), z.dtype)
        return self.of.weights(scores, seen(self.mask, mask))

    def __call__(self, z: Tokens, mask: Real) -> Tokens:
        """Return the output of all heads together."""
        return self.mixed(self.weights(z, mask), z)

    def mixed(self, weights: Float[Array, "heads tokens sources"], z: Sources) -> Tokens:
        """Return the values of tokens, weighted, of all heads together."""
        v = jnp.einsum("td,hde->hte", z, self.value.effective())
        if self.output is None:
            return jnp.einsum("hac,hcd->ad", weights, v) / math.sqrt(len(v))
        mixed = jnp.einsum("hac,hce->hae", weights, v)
        return jnp.einsum("hae,hed->ad", mixed, self.output.effective())


class Rotary(nnx.Module):
    """Queries and keys turned by the angles of their position."""

    def __init__(self, angles: np.ndarray):
        """Take the angle of one step, for each pair of entries."""
        self.angles = tuple(angles.tolist())

    def turned(self, x: Float[Array, "heads tokens size"]) -> Float[Array, "heads tokens size"]:
        """Return the turned queries or keys."""
        return rotate(x, jnp.arange(x.shape[1])[:, None] * jnp.asarray(self.angles, x.dtype))

    def shift(self, tokens: int, dtype: Any) -> Float[Array, ""]:
        """Return zero."""
        return jnp.zeros((), dtype)


class Sloping(nnx.Module):
    """A slope times the distance, subtracted by each head."""

    def __init__(self, slopes: np.ndarray):
        """Take the slopes of the heads."""
        self.slopes = tuple(slopes.tolist())

    def turned(self, x: Float[Array, "heads tokens size"]) -> Float[Array, "heads tokens size"]:
        """Return queries or keys as they are."""
        return x

    def shift(self, tokens: int, dtype: Any) -> Float[Array, "heads tokens tokens"]:
        """Return what is added to the scores."""
        far = abs(np.arange(tokens)[:, None] - np.arange(tokens))
        return -jnp.asarray(self.slopes, dtype)[:, None, None] * jnp.asarray(far, dtype)


class RelativeBias(Sloping):
    """A weight for each head and offset, added to the scores."""

    def __init__(self, rngs: nnx.Rngs, sizes: Sizes, most: int, scale: float):
        """Draw the weights."""
        shape = sizes.heads, 2 * most - 1
        kind = "ntk" if sizes.parameterisation == "ntk" else "standard"
        self.table = Map(rngs, shape, 1, kind, dtype=sizes.dtype)
        self.most, self.scale = most, scale

    def shift(self, tokens: int, dtype: Any) -> Float[Array, "heads tokens tokens"]:
        """Return what is added to the scores."""
        if tokens > self.most:
            raise ValueError(
                f"an input of {tokens} tokens is longer than the {self.most} of RelativeBias; "
                "describe it with a larger `most`"
            )
        offset = np.arange(tokens) - np.arange(tokens)[:, None] + self.most - 1
        return self.scale * self.table.effective()[:, offset]


class Readout(nnx.Module):
    """A map to outputs at the last token, as the mean over tokens, or at all tokens."""

    def __init__(self, rngs: nnx.Rngs, sizes: Sizes, outputs: int, reading: str):
        """Draw the weights."""
        width = sizes.width
        self.weight, self.reading = (
            _map(rngs, sizes, (width, outputs), width, readout=True),
            reading,
        )

    def __call__(self, z: Tokens, mask: Real) -> Float[Array, "*tokens outputs"]:
        """Return the outputs."""
        if self.reading == "last":
            z = z[len(z) - 1 - jnp.argmax(mask[::-1])]
            return z @ self.weight.effective()
        out = (z @ self.weight.effective()) * mask[:, None]
        return out.sum(0) / mask.sum() if self.reading == "mean" else out


@promoting
def rotate(
    x: Float[Array, "heads tokens size"], angles: Float[Array, "tokens half"]
) -> Float[Array, "heads tokens size"]:
    """Turn pairs of entries by the angles of their position, one for each pair."""
    first, second = jnp.split(x, 2, -1)
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    return jnp.concatenate([first * cos - second * sin, first * sin + second * cos], -1)


def _function(activation: Any) -> Any:
    example = "one that is a function too, such as an activations.Activation"
    return function(
        "the activation of a finite network", activations.activation(activation), example
    )
