"""What a layer of a description is: one thing, read at infinite and at finite width."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from theorykit.kernels.plan import Plan
from theorykit.kernels.recursion import State


class Factored(NamedTuple):
    """Tokens to which only linear maps have been applied: NTK and NNGP are both `F F'`.

    **Fields:**

    - `f`: (n, T, r), zero at padding. It is small where an (n, T, n, T) covariance would not fit
      into memory, and r says how many normals a draw of scores takes.
    - `share`: (r,), which share of each column counts in the NTK, see `groups`; None: all of it.
    """

    f: Float[Array, "inputs tokens rank"]
    share: Float[Array, " rank"] | None = None

    def state(self) -> State:
        """Return the (n, T, n, T) state."""
        return _between(self, self.f, self.f, True)


class Setting(NamedTuple):
    """What the layers of one estimate share, and which tokens are needed.

    **Fields:**

    - `mask`: (n, T) booleans, true at real tokens.
    - `rows`: (n, R), the tokens wanted after the layer, between inputs that are rows and inputs
      that are columns; None: all tokens of all inputs, (n, T, n, T).
    - `n1`: inputs 0..n1-1 are rows and the others columns; all are both if it is n.
    - `key`: random key of the estimate; attention layers fold in their `number`.
    - `plan`: how many draws there are, and which kernels are wanted.
    - `number`: layers that draw scores and come before.
    - `notes`: a list to which attention layers append the trace that a factor left out, and how
      steep their attention is in each input, (n,).
    - `memory`: the tokens of an encoder, which those of a decoder may attend to.
    """

    mask: Bool[Array, "inputs tokens"]
    rows: Int[Array, "inputs wanted"] | None
    n1: int
    key: Any
    plan: Plan
    number: int
    notes: list[tuple[Any, Any]]
    memory: "Memory | None" = None

    def whole(self) -> "Setting":
        """Return the setting in which all tokens are wanted."""
        return self._replace(rows=None)

    def after(self, draws: int) -> "Setting":
        """Return the setting after so many layers that draw."""
        return self._replace(number=self.number + draws)

    def sides(self) -> tuple[Any, Any]:
        """Return the indices of the inputs that are rows, and of those that are columns."""
        n = self.mask.shape[0]
        on = jnp.arange(n)
        return (on, on) if self.rows is None or self.n1 == n else (on[: self.n1], on[self.n1 :])

    def tokens(self) -> tuple[Int[Array, "..."], Int[Array, "..."]]:
        """Return the indices of the wanted tokens, (n1, R) and (n2, R)."""
        n, t = self.mask.shape
        rows = jnp.broadcast_to(jnp.arange(t), (n, t)) if self.rows is None else self.rows
        one, two = self.sides()
        return rows[one], rows[two]


class Memory(NamedTuple):
    """The output tokens of an encoder.

    **Fields:** `z`, all of them; `mask`, (n, S), true at real ones.
    """

    z: State | Factored
    mask: Bool[Array, "inputs sources"]


class Sizes(NamedTuple):
    """What a finite network adds to a description.

    **Fields:** `width`, `heads`, `head_size`; `parameterisation`, "ntk", "standard" or "mup";
    `dtype` of the weights.
    """

    width: int
    heads: int
    head_size: int
    parameterisation: str
    dtype: Any


class Layer(ABC):
    """A map of tokens to tokens: how kernels go through it, and the module that it becomes.

    A layer is a frozen dataclass. A field that is to be differentiated in is named above it, by
    `@parameters("scale")` of `theorykit.kernels.parameters`. One that treats each token alone is a
    `TokenLayer`, which asks for less.

    **Fields** (of the class):

    - `fresh`: the output is a linear map, with weights of its own, of what the layer has computed.
      Then it is independent of its input given the input's covariance, and may be added to it.
    - `reads_gaussian`: the kernels are right only for Gaussian tokens, which linear maps produce.
      An activation and a layer norm are such layers.
    - `odd`: the output changes its sign with the input, so that a branch which ends with it may
      still be added.
    - `mixes`: tokens see other tokens.
    - `draws`: how many layers in it draw scores.
    - `weights`: names of its groups of weights, which are attributes of its module; "" stands for
      all of them, and () says that there are none.
    """

    fresh: ClassVar[bool] = False
    reads_gaussian: ClassVar[bool] = False
    odd: ClassVar[bool] = False
    mixes: ClassVar[bool] = True
    draws: ClassVar[int] = 0
    weights: ClassVar[tuple[str, ...]] = ("",)

    @abstractmethod
    def through(self, z: State | Factored, at: Setting) -> State | Factored:
        """Return the wanted tokens after the layer, from all tokens before it."""

    @abstractmethod
    def build(self, sizes: Sizes, rngs: Any) -> Any:
        """Return the layer of a finite network.

        **Arguments:** `sizes`; `rngs`, the `nnx.Rngs` that weights are drawn from.

        **Returns:** an `nnx.Module`, a function of (T, D) tokens and of a (T,) mask, true at real
        tokens.
        """

    def gaussian(self, before: bool) -> bool:
        """Return whether tokens are Gaussian after the layer, given whether they were before."""
        return self.fresh or before

    def own(self, z: State | Factored, out: State, at: Setting) -> dict[str, Any]:
        """Return what the layer's own `weights` add to the NTK, by their names.

        `z` is what enters and `out` what comes out.
        """
        return {"": self.through(untrained(z), at).ntk}  # type: ignore[union-attr]

    def each(self, made: Callable[["Layer", tuple], "Layer"], path: tuple) -> "Layer":
        """Return the layer with `made(part, path)` in place of each part that has no parts itself.

        A path is that of the part's module, in attribute names and numbers.
        """
        return made(self, path)


class TokenLayer(Layer):
    """A layer that treats each token alone."""

    mixes: ClassVar[bool] = False

    @abstractmethod
    def carry(self, z: State, at: Setting) -> State:
        """Return the state after the layer, whichever tokens it is of; padding does not matter."""

    def through(self, z, at):
        """Return the wanted tokens after the layer."""
        return self.carry(taken(z, at), at)

    def own(self, z, out, at):
        """Return what the layer's own weights add to the NTK, of the tokens that are in `z`."""
        return {"": self.carry(untrained(z), at).ntk}  # type: ignore[arg-type]


def taken(z: State | Factored, at: Setting) -> State:
    """Return the state of the wanted tokens, from all tokens."""
    if at.rows is None and isinstance(z, State):
        return z
    (one, two), (r1, r2) = at.sides(), at.tokens()
    if isinstance(z, Factored):
        return _between(z, z.f[one[:, None], r1], z.f[two[:, None], r2], at.plan.ntk)

    at_rows: Any = lambda k: None if k is None else k[one[:, None], r1][:, :, two[:, None], r2]
    var1, var2 = z.var2[one[:, None], r1], z.var2[two[:, None], r2]
    return State(at_rows(z.nngp), at_rows(z.ntk), var1[:, :, None, None], var2)


def _between(z: Factored, f1: Array, f2: Array, ntk: bool) -> State:
    nngp = jnp.einsum("iar,jbr->iajb", f1, f2)
    counted = nngp if z.share is None else jnp.einsum("iar,jbr->iajb", z.share * f1, f2)
    var1, var2 = (jnp.sum(f**2, -1) for f in (f1, f2))
    return State(nngp, counted if ntk else None, var1[:, :, None, None], var2)


def untrained(z: State | Factored) -> State | Factored:
    """Return tokens whose NTK is zero: those of weights that stay as they are."""
    if isinstance(z, Factored):
        return z._replace(share=jnp.zeros(z.f.shape[-1], z.f.dtype))
    return z if z.ntk is None else z._replace(ntk=jnp.zeros_like(z.ntk))


def hidden(z: State, mask: Bool[Array, "inputs tokens"]) -> State:
    """Return the state of all tokens, zero at the padded ones."""
    real = mask[:, :, None, None] & mask
    zero: Any = lambda k, on: None if k is None else jnp.where(on, k, jnp.zeros((), k.dtype))
    var = zero(z.var2, mask)
    return State(zero(z.nngp, real), zero(z.ntk, real), var[:, :, None, None], var)


def key_of(at: Setting) -> Any:
    """Return the random key of the next attention layer."""
    return jax.random.fold_in(at.key, at.number)
