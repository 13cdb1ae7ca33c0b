"""What an attention mechanism is: weights from scores, in kernels and in finite networks alike.

A mechanism is a frozen dataclass, derived from one of these classes:

- `Elementwise`, where a weight is a function of its own score: define `function`;
- `Normalised`, where that is divided by its sum over the tokens seen: define `function`;
- `Settled`, where weights do not fluctuate when heads are large: define `settled`, and `weights`
  for finite networks;
- `Exact`, where the layer has another closed form: define `closed` too;
- `Mechanism`, for anything else: define `weights`. Its derivatives are then found by automatic
  differentiation, at T times the cost for T tokens.

Nothing else is needed. To make JAX differentiate in a field that is a real scalar, put
`@parameters("name")` above `@dataclass(frozen=True)`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from theorykit.common.precision import highest
from theorykit.common.spelling import Spelt
from theorykit.kernels.attention.rows import Fixed, General, Ratio, Separate, Tokens, step


class Mechanism(Spelt, ABC):
    """An attention: the weights of tokens, from the scores of the token that looks at them.

    **Fields** (of the class):

    - `exact`: the layer has a closed form, and needs no draws: `settled` is asked, not `rows`.
    - `invariant`: weights stay the same when a number is added to all scores of a row.
    - `saturates`: weights have a slope only where scores are nearly tied, if the mechanism is
      invariant, or near zero, if it is not; sharp attention then needs many draws.
    - `smooth`: weights have no kinks in their scores; where they have, the oracle uses other nodes.
    """

    exact: ClassVar[bool] = False
    invariant: ClassVar[bool] = False
    saturates: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    @abstractmethod
    def weights(
        self, scores: Float[Array, "*batch tokens"], allowed: Bool[Array, "..."]
    ) -> Float[Array, "*batch tokens"]:
        """Return the weights of (..., T) scores, zero where not `allowed`.

        A row of weights depends on that row of scores only, on those that are allowed, and JAX can
        differentiate it. `allowed` broadcasts against the scores.
        """

    def rows(
        self, scores: Float[Array, "*batch tokens"], allowed: Bool[Array, "..."], slopes: bool
    ) -> Any:
        """Return the weights, and how they move with the scores if `slopes` are wanted: `Rows`."""
        if not slopes:
            return Fixed(self.weights(scores, allowed))

        def row(s, see):
            """Return a row and its Jacobian: alone, so that it cannot depend on another."""
            return self.weights(s, see), jax.jacfwd(lambda s: self.weights(s, see))(s)

        t = scores.shape[-1]
        seen = jnp.broadcast_to(allowed, scores.shape).reshape(-1, t)
        a, jacobian = jax.vmap(row)(scores.reshape(-1, t), seen)
        return General(a.reshape(scores.shape), jacobian.reshape(*scores.shape, t))

    def settled(self, variances: Float[Array, "*batch tokens"], allowed: Bool[Array, "..."]) -> Any:
        """Return the `Rows` of an exact mechanism, given the variances of the tokens looked at.

        **Raises:** `ValueError` if it is not one.
        """
        raise ValueError(f"scores settle for an exact mechanism, but {self!r} draws them")

    def step(
        self,
        rows1: Any,
        rows2: Any,
        tokens: Tokens,
        scale2: Float[ArrayLike, ""],
        ntk: bool,
    ) -> tuple[Float[Array, "rows1 rows2"], Float[Array, "rows1 rows2"] | None]:
        """Return NNGP and NTK after the layer; see `rows.step`."""
        return step(rows1, rows2, tokens, scale2, ntk)

    def products(
        self, q: Float[Array, "*heads rows size"], k: Float[Array, "*heads tokens size"]
    ) -> Float[Array, "*heads rows tokens"]:
        """Return the scores of a finite network, before they are scaled by 1 / sqrt(size)."""
        return jnp.einsum("...ae,...ce->...ac", q, k)

    def cost(self, tokens: int) -> int:
        """Return the numbers that `rows` keeps for each score, in those of softmax."""
        return tokens


class Elementwise(Mechanism):
    """`a_c = g(s_c)`: tokens do not compete."""

    @abstractmethod
    def function(self, score: Float[Array, ""]) -> Float[Array, ""]:
        """Return g of one score."""

    def weights(self, scores, allowed):
        """Return g of the scores that are allowed."""
        return jnp.where(allowed, _each(self.function)(scores), 0.0)

    def rows(self, scores, allowed, slopes):
        """Return `Separate`: the slope of each weight is g' of its score."""
        a, b = _moved(self.function, scores, allowed)
        return Separate(a, b)

    def cost(self, tokens):
        """Return 1."""
        return 1


class Normalised(Mechanism):
    """`a_c = g(s_c) / (floor + sum_k g(s_k))`, the sum over the tokens that are seen.

    Where the sum is zero, so are the weights. Without a floor g must be bounded away from zero
    where it has a slope: the NTK is infinite otherwise.
    """

    floor: Any = 0.0

    @abstractmethod
    def function(self, score: Float[Array, ""]) -> Float[Array, ""]:
        """Return g of one score: at least 0."""

    def weights(self, scores, allowed):
        """Return the shares of g of the scores that are allowed."""
        g = jnp.where(allowed, _each(self.function)(scores), 0.0)
        return g / self._total(g)

    def rows(self, scores, allowed, slopes):
        """Return `Ratio`: g and g', both divided by the sum of g."""
        g, slope = _moved(self.function, scores, allowed)
        total = self._total(g)
        return Ratio(g / total, slope / total)

    def cost(self, tokens):
        """Return 2."""
        return 2

    def _total(self, g):
        total = self.floor + jnp.sum(g, -1, keepdims=True)
        return jnp.where(total == 0, 1.0, total)


class Exact(Mechanism):
    """A layer with a closed form, made of products `A1 V A2'` with matrices that are not random."""

    exact: ClassVar[bool] = True
    saturates: ClassVar[bool] = False

    @abstractmethod
    def settled(self, variances, allowed):
        """Return `Fixed`, the matrices A, given the variances of the tokens that are looked at."""

    @abstractmethod
    def closed(
        self,
        through: Callable[..., Float[Array, "..."]],
        tokens: Tokens,
        scale2: Float[ArrayLike, ""],
        ntk: bool,
    ) -> tuple[Float[Array, "..."], Float[Array, "..."] | None]:
        """Return NNGP and NTK after the layer, of as many inputs as `through` takes at a time.

        **Arguments:** `through`: a function of one or two fields among `tokens.nngp` and
        `tokens.ntk` that returns `A1 V A2'`, with V their elementwise product; the others as for
        `rows.step`.
        """

    @highest
    def step(self, rows1, rows2, tokens, scale2, ntk):
        """Return NNGP and NTK after the layer, of a pair of inputs."""
        a1, a2 = rows1.weights[:, 0], rows2.weights[:, 0]
        return self.closed(lambda *v: a1 @ math.prod(v) @ a2.T, tokens, scale2, ntk)


class Settled(Exact):
    """Weights that are numbers when heads are infinitely large: no draws, and no score gradients.

    The layer is then linear: `S_out = A1 S A2'`, and `A1 W A2'` is added for the NTK.
    """

    def closed(self, through, tokens, scale2, ntk):
        """Return what the weights make of NNGP and NTK."""
        out = through(tokens.nngp)
        if not ntk:
            return out, None
        return out, out + (out if tokens.ntk is None else through(tokens.ntk))


def _each(g: Any) -> Any:
    """Return g of every entry: of one number at a time, so that it cannot mix them."""
    return lambda scores: jax.vmap(g)(scores.ravel()).reshape(scores.shape)


def _moved(g, scores, allowed) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return g and its slope at the scores that are allowed, 0 at the others."""
    value, slope = jax.jvp(_each(g), (scores,), (jnp.ones_like(scores),))
    return jnp.where(allowed, value, 0.0), jnp.where(allowed, slope, 0.0)
