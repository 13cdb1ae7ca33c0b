"""Where tokens come from, and where they are read."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from theorykit.common.arguments import number as one_number
from theorykit.common.arguments import one_of, size
from theorykit.kernels import draws
from theorykit.kernels.inputs import number
from theorykit.kernels.layers.base import Factored, Layer, Setting, TokenLayer, taken
from theorykit.kernels.parameters import parameters
from theorykit.kernels.recursion import State

READINGS = ("last", "mean", "tokens")


@parameters()
@dataclass(frozen=True)
class Embed(TokenLayer):
    """`x E / sqrt(d)`, of token ids (which stand for one-hot vectors) or of vectors.

    **Fields:** `vocabulary`, how many token ids there are, or `features`, the size of a vector.

    **Raises:** `ValueError` unless one of the two is given.
    """

    vocabulary: int | None = None
    features: int | None = None
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        if (self.vocabulary is None) == (self.features is None):
            raise ValueError("Embed takes vocabulary=V (token ids) or features=d (vectors)")
        size("vocabulary" if self.features is None else "features", self.columns)

    @property
    def columns(self) -> int:
        """The number d of features, or of token ids."""
        return self.features or self.vocabulary or 0

    def tokens(self, x: Any) -> Any:
        """Return ids as (n, T), which are laid out as one feature; vectors as they are."""
        return x if self.vocabulary is None else x[..., 0].astype(int)

    def cut(self, x: Any) -> Any:
        """Return inputs as ids or vectors, which they are here."""
        return x

    def enter(
        self,
        x: Num[Array | np.ndarray, "inputs tokens *features"],
        mask: Bool[Array, "inputs tokens"],
        dtype: Any,
    ) -> Factored:
        """Return the tokens of inputs, (n, T) ids or (n, T, d) vectors.

        The factor has d columns, or as many as there are tokens where that is less.
        """
        x, ids = jnp.asarray(x), self.vocabulary is not None
        n, t = x.shape[:2]
        if self.columns <= n * t:
            return self.alone(x, mask, dtype)
        flat, real = x.reshape(n * t, -1), mask.reshape(-1)
        gram = jnp.asarray(flat == flat.T if ids else flat @ flat.T, dtype) / self.columns
        f, _ = draws.factor(gram * (real[:, None] & real))
        return Factored(f.reshape(n, t, -1))

    def alone(
        self,
        x: Num[Array | np.ndarray, "inputs tokens *features"],
        mask: Bool[Array, "inputs tokens"],
        dtype: Any,
    ) -> Factored:
        """Return the tokens of inputs, each without a look at the others: d columns."""
        ids = self.vocabulary is not None
        f = jnp.asarray(x[..., None] == jnp.arange(self.columns) if ids else x, dtype)
        return Factored(f / math.sqrt(self.columns) * mask[..., None])

    def carry(self, z, at):
        """Return the state as it is: `enter` has made it."""
        return z

    def build(self, sizes, rngs):
        """Return the table."""
        from theorykit.kernels.layers import finite

        return finite.Embed(rngs, sizes, self.columns, self.vocabulary)


@parameters()
@dataclass(frozen=True)
class Patches(Embed):
    """`x E / sqrt(d)` of the patches of an image: squares of pixels, row by row.

    **Fields:** `size`, the pixels of a side; `channels`, of an image (height, width, channels).
    The number d of features is their product, `size` taken twice.

    **Raises:** `ValueError` for sizes below 1.
    """

    vocabulary: int | None = field(default=None, init=False, repr=False)
    features: int | None = field(default=None, init=False, repr=False)
    size: int
    channels: int = 3

    def __post_init__(self):
        side, channels = size("size", self.size), size("channels", self.channels)
        object.__setattr__(self, "features", side * side * channels)

    def cut(self, x: Num[Array | np.ndarray, "*inputs height width channels"]) -> Any:
        """Return (..., T, d) patches.

        **Raises:** `ValueError` for images that do not consist of whole patches.
        """
        *inputs, height, width, channels = x.shape if x.ndim > 2 else (0, 0, 0)
        if channels != self.channels or not height or height % self.size or width % self.size:
            raise ValueError(
                f"images have {self.channels} channels in their last axis, and sides that are "
                f"multiples of {self.size} before it, got shape {x.shape}"
            )
        down, across = height // self.size, width // self.size
        cells = x.reshape(*inputs, down, self.size, across, self.size, channels)
        return cells.swapaxes(-4, -3).reshape(*inputs, down * across, self.columns)

    def build(self, sizes, rngs):
        """Return the matrix."""
        from theorykit.kernels.layers import finite

        return finite.Embed(rngs, sizes, self.columns, None, self.cut)


class _Added(TokenLayer):
    """A vector for each position, from weights of its own, added to the tokens."""

    scale: Any

    @abstractmethod
    def products(self, tokens: int) -> Float[Array | np.ndarray, "tokens places"]:
        """Return the vectors, up to weights and scale, as (T, p) rows of norm 1."""

    def carry(self, z, at):
        """Return the state with the products of the vectors added."""
        table = jnp.asarray(self.products(at.mask.shape[1]), z.nngp.dtype)
        r1, r2 = at.tokens()
        same = self.scale**2 * (table @ table.T)[r1[:, :, None, None], r2]
        ntk = None if z.ntk is None else z.ntk + same
        return State(z.nngp + same, ntk, z.var1 + self.scale**2, z.var2 + self.scale**2)

    def through(self, z, at):
        """Return the wanted tokens; a factor gets columns for the positions."""
        if not isinstance(z, Factored) or at.rows is not None:
            return super().through(z, at)
        n, t, _ = z.f.shape
        table = self.scale * jnp.asarray(self.products(t), z.f.dtype)
        added = jnp.broadcast_to(table, (n, *table.shape)) * at.mask[..., None]
        share = z.share
        if share is not None:
            share = jnp.concatenate([share, jnp.ones(table.shape[-1], share.dtype)])
        return Factored(jnp.concatenate([z.f, added], -1), share)


@parameters("scale")
@dataclass(frozen=True)
class Positions(_Added):
    """Learned positions: a table of N(0, 1) entries times `scale`, added to the tokens.

    **Fields:** `scale`, a real scalar; `most`, the number of positions of a finite network.
    """

    scale: Any = 1.0
    most: int = 64

    def __post_init__(self):
        number("scale", self.scale)
        size("most", self.most)

    def products(self, tokens):
        """Return unit vectors."""
        return np.eye(tokens)

    def build(self, sizes, rngs):
        """Return the table."""
        from theorykit.kernels.layers import finite

        return finite.Positions(rngs, sizes, np.eye(self.most), float(self.scale))


@parameters("scale")
@dataclass(frozen=True)
class Sinusoids(_Added):
    """Fixed sinusoids (Vaswani et al., 2017, 3.5), mapped into the width, times `scale`.

    The vector of position t has the cosines and sines of t / base^(f / frequencies), divided by
    the root of their number: t and u have the product mean_f cos((t - u) / base^(f / frequencies)).
    They are mapped by weights that are trained, as a one-hot vector is by those of `Positions`.

    **Fields:** `scale`, a real scalar; `frequencies`, `base`, as above; `most`, the number of
    positions of a finite network.
    """

    scale: Any = 1.0
    frequencies: int = 16
    base: float = 10_000.0
    most: int = 64

    def __post_init__(self):
        number("scale", self.scale)
        size("frequencies", self.frequencies)
        size("most", self.most)
        one_number("base", self.base, "a positive number", lambda v: v > 0)

    def products(self, tokens):
        """Return the vectors."""
        turns = np.arange(self.frequencies) / self.frequencies
        angles = np.arange(tokens)[:, None] * float(self.base) ** -turns
        waves = np.concatenate([np.cos(angles), np.sin(angles)], -1)
        return waves / math.sqrt(self.frequencies)

    def build(self, sizes, rngs):
        """Return the map of the vectors."""
        from theorykit.kernels.layers import finite

        return finite.Positions(rngs, sizes, self.products(self.most), float(self.scale))


@parameters()
@dataclass(frozen=True)
class Pool(Layer):
    """Every token becomes the mean of the real tokens."""

    odd: ClassVar[bool] = True
    weights: ClassVar[tuple[str, ...]] = ()

    def through(self, z, at):
        """Return the wanted tokens, which are all alike."""
        share = at.mask / at.mask.sum(1, keepdims=True)
        if isinstance(z, Factored):
            pooled = jnp.einsum("ia,iar->ir", share.astype(z.f.dtype), z.f)
            same = z._replace(f=jnp.broadcast_to(pooled[:, None], z.f.shape) * at.mask[..., None])
            return same if at.rows is None else taken(same, at)
        share = share.astype(z.nngp.dtype)
        (one, two), (r1, r2) = at.sides(), at.tokens()
        own = jnp.einsum("ia,iaib,ib->i", share, z.nngp, share)

        def mean(k):
            if k is None:
                return None
            k = jnp.einsum("ia,iajb,jb->ij", share, k, share)[one[:, None], two]
            shape = one.size, r1.shape[1], two.size, r2.shape[1]
            return jnp.broadcast_to(k[:, None, :, None], shape)

        var1 = jnp.broadcast_to(own[one][:, None, None, None], (*r1.shape, 1, 1))
        return State(mean(z.nngp), mean(z.ntk), var1, jnp.broadcast_to(own[two][:, None], r2.shape))

    def build(self, sizes, rngs):
        """Return the mean."""
        from theorykit.kernels.layers import finite

        return finite.Pool()


@parameters()
@dataclass(frozen=True)
class Readout(TokenLayer):
    """`z w / sqrt(D)` at the last token, as the mean over tokens, or at all tokens.

    **Fields:** `reading`, "last", "mean" or "tokens"; `outputs`, how many outputs a finite network
    has; these are independent, and kernels are those of one.
    """

    reading: str = "last"
    outputs: int = 1
    fresh: ClassVar[bool] = True

    def __post_init__(self):
        one_of("reading", self.reading, READINGS)
        size("outputs", self.outputs)

    def rows(self, mask: Bool[Array, "inputs tokens"]) -> Int[Array, "inputs wanted"]:
        """Return the tokens that are read, (n, R)."""
        n, t = mask.shape
        if self.reading == "last":
            return (t - 1 - jnp.argmax(mask[:, ::-1], 1))[:, None]
        return jnp.broadcast_to(jnp.arange(t), (n, t))

    def carry(self, z, at):
        """Return the state after the weights of the readout."""
        return z._replace(ntk=None if z.ntk is None else z.nngp + z.ntk)

    def read(self, k: Float[Array, "rows wanted columns wanted"], at: Setting) -> Any:
        """Return what is read of kernels at the wanted tokens."""
        if self.reading == "last":
            return k[:, 0, :, 0]
        m1, m2 = (at.mask[side] for side in at.sides())
        if self.reading == "mean":
            s1, s2 = ((m / m.sum(1, keepdims=True)).astype(k.dtype) for m in (m1, m2))
            return jnp.einsum("ia,iajb,jb->ij", s1, k, s2)
        return jnp.where(m1[:, :, None, None] & m2, k, jnp.zeros((), k.dtype))

    def build(self, sizes, rngs):
        """Return the readout."""
        from theorykit.kernels.layers import finite

        return finite.Readout(rngs, sizes, self.outputs, self.reading)
