"""Where tokens come from, and where they are read."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.common.arguments import one_of, size
from theorykit.kernels.inputs import number
from theorykit.kernels.layers.base import Layer, Setting
from theorykit.kernels.layers.weights import Weight
from theorykit.kernels.parameters import parameters
from theorykit.kernels.recursion import State

READINGS = ("last", "mean", "tokens")


@parameters()
@dataclass(frozen=True)
class Embed(Layer):
    """`x E / sqrt(d)`, of token ids (which stand for one-hot vectors) or of vectors.

    **Fields:** `vocabulary`, how many token ids there are, or `features`, the size of a vector.
    """

    vocabulary: int | None = None
    features: int | None = None
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        if (self.vocabulary is None) == (self.features is None):
            raise ValueError("Embed takes vocabulary=V (token ids) or features=d (vectors)")
        size("vocabulary or features", self.rows)

    @property
    def rows(self) -> int:
        """The number of rows of E."""
        return self.features if self.vocabulary is None else self.vocabulary  # type: ignore[return-value]

    def enter(self, x: Any, ntk: bool) -> State:
        """Return the state of inputs (n, T) of ids or (n, T, d) of vectors: `x x' / d`."""
        if self.vocabulary is None:
            nngp = jnp.einsum("iac,jbc->iajb", x, x) / self.rows
        else:
            nngp = (x[:, :, None, None] == x) / self.rows
        var = jnp.einsum("iaia->ia", nngp)
        return State(nngp, nngp if ntk else None, var[:, :, None, None], var)

    def carry(self, z, at):
        """Return the state as it is: `enter` has made it."""
        return z

    def module(self, size, rngs):
        """Return the table."""
        return _Embed(rngs, self.rows, size.width, self.vocabulary is not None)


class _Embed(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, rows: int, width: int, ids: bool):
        self.table, self.ids = Weight(rngs, (rows, width), rows), ids

    def __call__(self, x, mask):
        return self.table()[x] if self.ids else x @ self.table()


@parameters("scale")
@dataclass(frozen=True)
class Positions(Layer):
    """Learned positions: a table of N(0, 1) entries times `scale`, added to the tokens."""

    scale: Any = 1.0
    most: int = 64

    def __post_init__(self):
        number("scale", self.scale)
        size("most", self.most)

    def carry(self, z, at):
        """Return the state with `scale^2` added where two tokens have one position."""
        t, s2 = z.nngp.shape[1], self.scale**2
        same = s2 * jnp.eye(t, dtype=z.nngp.dtype)[None, :, None]
        ntk = None if z.ntk is None else z.ntk + same
        return State(z.nngp + same, ntk, z.var1 + s2, z.var2 + s2)

    def module(self, size, rngs):
        """Return the table."""
        return _Positions(rngs, self.most, size.width, float(self.scale))


class _Positions(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, most: int, width: int, scale: float):
        self.table = nnx.Param(jax.random.normal(rngs.params(), (most, width)))
        self.scale = scale

    def __call__(self, z, mask):
        return z + self.scale * self.table[...][: len(z)]


@parameters("scale")
@dataclass(frozen=True)
class Sinusoids(Layer):
    """Fixed sinusoids, mapped into the width by weights, times `scale`.

    The vector of position t has cos and sin of t / base^(f / frequencies), divided by the root of
    their number: position t and u have the product mean_f cos((t - u) / base^(f / frequencies)).
    """

    scale: Any = 1.0
    frequencies: int = 16
    base: float = 10_000.0

    def __post_init__(self):
        number("scale", self.scale)
        size("frequencies", self.frequencies)

    def table(self, t: int) -> np.ndarray:
        """Return (t, 2 frequencies) vectors of norm 1."""
        turns = np.arange(t)[:, None] * self.base ** (
            -np.arange(self.frequencies) / self.frequencies
        )
        return np.concatenate([np.cos(turns), np.sin(turns)], -1) / math.sqrt(self.frequencies)

    def carry(self, z, at):
        """Return the state with the products of the vectors added."""
        table = self.scale * jnp.asarray(self.table(z.nngp.shape[1]), z.nngp.dtype)
        same = (table @ table.T)[None, :, None]
        ntk = None if z.ntk is None else z.ntk + same
        return State(z.nngp + same, ntk, z.var1 + self.scale**2, z.var2 + self.scale**2)

    def module(self, size, rngs):
        """Return the map of the vectors."""
        return _Sinusoids(rngs, self, size.width)


class _Sinusoids(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, of: Sinusoids, width: int):
        self.map = Weight(rngs, (2 * of.frequencies, width), 1)
        self.table, self.scale = of.table, float(of.scale)

    def __call__(self, z, mask):
        return z + self.scale * jnp.asarray(self.table(len(z)), z.dtype) @ self.map()


@parameters()
@dataclass(frozen=True)
class Readout(Layer):
    """`z w / sqrt(D)` at the last token, as the mean over tokens, or at all tokens.

    **Fields:** `reading`, "last", "mean" or "tokens"; `outputs`, how many numbers.
    """

    reading: str = "last"
    outputs: int = 1
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        one_of("reading", self.reading, READINGS)
        size("outputs", self.outputs)

    def carry(self, z, at):
        """Return the state after the weights of the readout, at all tokens."""
        return z._replace(ntk=None if z.ntk is None else z.nngp + z.ntk)

    def read(self, kernel: Any, at: Setting) -> Any:
        """Return what is read of (n, T, n, T) kernels."""
        if self.reading == "tokens":
            return kernel
        t = at.mask.shape[1]
        if self.reading == "mean":
            share = (at.mask / at.mask.sum(1, keepdims=True)).astype(kernel.dtype)
        else:
            last = t - 1 - jnp.argmax(at.mask[:, ::-1], 1)
            share = (jnp.arange(t) == last[:, None]).astype(kernel.dtype)
        return jnp.einsum("ia,iajb,jb->ij", share, kernel, share)

    def module(self, size, rngs):
        """Return the readout."""
        return _Readout(rngs, size.width, self.outputs, self.reading)


class _Readout(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, width: int, outputs: int, reading: str):
        self.weight, self.reading = Weight(rngs, (width, outputs), width), reading

    def __call__(self, z, mask):
        out = z @ self.weight()
        if self.reading == "last":
            return out[len(z) - 1 - jnp.argmax(mask[::-1])]
        out = out * mask[:, None]
        return out.sum(0) / mask.sum() if self.reading == "mean" else out
