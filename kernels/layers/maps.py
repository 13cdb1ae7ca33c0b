"""Feature maps: vectors of inputs whose products are the estimates of a kernel.

A draw of scores turns an input into the vector `F' a` of its weights `a` and its tokens `F`, and
what is linear in the tokens acts on such vectors as it acts on kernels. An activation is not
linear: its dual is the mean over hidden units, and a sample of them is again a vector (random
features, Rahimi and Recht, 2007). The NTK after an activation is an elementwise product of two
kernels, whose vectors would be of the product of both sizes, and is not made.
"""

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from theorykit.kernels import activations
from theorykit.kernels.attention import Identity, mechanism
from theorykit.kernels.attention.base import Settled
from theorykit.kernels.attention.rows import packed
from theorykit.kernels.layers.attention import Attention, Heads
from theorykit.kernels.layers.base import Factored, Layer, Setting
from theorykit.kernels.layers.pointwise import MLP, Activation, Dense, GatedMLP, RMSNorm
from theorykit.kernels.layers.tokens import Pool, Positions, Readout, Sinusoids

UNITS = 256  # hidden units that are drawn at a time
RANDOM = 2**31  # what keys of hidden units are folded with, from here on: attention counts from 0

Change = Callable[[Float[Array, "inputs tokens features"]], Float[Array, "inputs rows others"]]


class Mapped(NamedTuple):
    """Tokens as vectors.

    **Fields:** `nngp`, (n, R, m), of which the NNGP is the product; `ntk`, (n, R, k), the same for
    the NTK, or None where that is not wanted.
    """

    nngp: Float[Array, "inputs rows features"]
    ntk: Float[Array, "inputs rows others"] | None


Tokens = Factored | Mapped
"""`Factored` while NNGP and NTK are one, and scores can be drawn from the tokens as they are."""


@singledispatch
def through(layer: Any, z: Tokens, at: Setting) -> Tokens:
    """Return the wanted tokens after a layer, from all tokens before it.

    **Raises:** `ValueError` for a layer after which there are no useful vectors.
    """
    return carry(layer, taken(z, at), at)


@singledispatch
def carry(layer: Layer, z: Tokens, at: Setting) -> Tokens:
    """Return the tokens after a layer that treats each alone, whichever tokens these are."""
    raise ValueError(
        f"{type(layer).__name__} has no feature map; its kernels come from kernel() or kernels.gram"
    )


def taken(z: Tokens, at: Setting) -> Tokens:
    """Return the wanted tokens."""
    rows = at.rows
    if rows is None:
        return z
    return each(z, lambda k: jnp.take_along_axis(k, rows[:, :, None], 1))


def each(z: Tokens, change: Change) -> Tokens:
    """Return tokens to which a linear map without trained weights of its own has been applied."""
    if isinstance(z, Factored):
        return Factored(change(z.f))
    return Mapped(change(z.nngp), None if z.ntk is None else change(z.ntk))


def mapped(z: Tokens, at: Setting) -> Mapped:
    """Return tokens of which NNGP and NTK may differ from here on."""
    return Mapped(z.f, z.f if at.plan.ntk else None) if isinstance(z, Factored) else z


def joined(*parts: Any) -> Any:
    """Return concatenated vectors, whose product is the sum of products; None if one is None."""
    return None if any(p is None for p in parts) else jnp.concatenate(parts, -1)


def summed(states: Any, at: Setting) -> Mapped:
    """Return the sum of branches whose weights are independent."""
    nngp, ntk = zip(*(mapped(z, at) for z in states), strict=True)
    return Mapped(joined(*nngp), joined(*ntk))


# Linear layers ------------------------------------------------------------------------------------


@carry.register(Positions)
@carry.register(Sinusoids)
def _(layer, z, at):
    table = layer.scale * jnp.asarray(layer.products(at.mask.shape[1]))
    own = table[at.tokens()[0]]
    return each(z, lambda k: joined(k, own.astype(k.dtype)))


@carry.register
def _(layer: RMSNorm, z, at):
    var = jnp.sum(_vectors(z) ** 2, -1, keepdims=True)
    root = jnp.sqrt(jnp.where(var <= 0, 1.0, var))
    return each(z, lambda k: jnp.where(var <= 0, 0.0, k / root))


@carry.register
def _(layer: Dense, z, at):
    z = mapped(z, at)
    ones = jnp.ones((*z.nngp.shape[:2], 1), z.nngp.dtype)
    nngp = joined(layer.sigma_w * z.nngp, layer.sigma_b * ones)
    return Mapped(nngp, None if z.ntk is None else joined(nngp, layer.sigma_w * z.ntk))


@through.register
def _(layer: Pool, z, at):
    share = at.mask / at.mask.sum(1, keepdims=True)
    like = at.tokens()[0].shape

    def mean(k):
        pooled = jnp.einsum("ia,iam->im", share.astype(k.dtype), k)
        return jnp.broadcast_to(pooled[:, None], (*like, k.shape[-1]))

    return each(z, mean)


@carry.register
def _(layer: Readout, z, at):
    z = mapped(z, at)
    return Mapped(z.nngp, joined(z.nngp, z.ntk))


def read(layer: Readout, k: Float[Array, "inputs rows features"], at: Setting) -> Array:
    """Return the vectors of inputs, (n, m), from those of the wanted tokens."""
    if layer.reading == "last":
        return k[:, 0]
    return jnp.einsum("ia,iam->im", (at.mask / at.mask.sum(1, keepdims=True)).astype(k.dtype), k)


def _vectors(z: Tokens) -> Float[Array, "inputs tokens features"]:
    return z.f if isinstance(z, Factored) else z.nngp


# Attention ----------------------------------------------------------------------------------------


@through.register
def _(layer: Attention, z, at):
    attends = mechanism(layer.of)
    if isinstance(attends, Settled):
        heads = Heads.of(layer, Factored(_vectors(z)), at)
        weights = heads.weights(None, False).weights[:, :, 0]
        z = mapped(each(z, lambda k: jnp.einsum("iat,itm->iam", weights, k)), at)
        ntk = joined(z.nngp, z.ntk)
    elif not isinstance(z, Factored):
        raise ValueError(
            "scores have features only right after the embedding, positions and norms: after other "
            f"layers, those of {layer!r} are drawn from the covariance of all inputs; use kernel()"
        )
    elif isinstance(attends, Identity):
        z = _identity(layer, z, at)
        ntk = z.ntk
    elif attends.exact:
        raise ValueError(f"{attends!r} has no feature map; use kernel() or kernels.gram")
    else:
        z = _drawn(layer, z, at)
        ntk = z.ntk
    return Mapped(z.nngp, joined(ntk, z.nngp) if layer.projection else ntk)


def _identity(layer: Attention, z: Factored, at: Setting) -> Mapped:
    """Return the products of the tokens with the sum of f f' over those that they see."""
    heads = Heads.of(layer, z, at)
    seen = heads.weights(None, False).weights[:, :, 0]
    moment = jnp.einsum("iat,itp->iap", seen, packed(z.f[..., :, None] * z.f[..., None, :]))
    rows = _vectors(taken(z, at))
    nngp = layer.scale * rows[..., :, None] * moment[..., None, :]
    nngp = nngp.reshape(*rows.shape[:2], -1)
    # W = S before the layer, of which Q(S) is the only moment: S o Q(S) six times.
    return Mapped(nngp, math.sqrt(6.0) * nngp if at.plan.ntk else None)


def _drawn(layer: Attention, z: Factored, at: Setting) -> Mapped:
    """Return the vectors of all draws, divided by the root of their number."""
    if at.plan.ntk and layer.positions is not None:
        raise ValueError(
            "the NTK of attention with positions in its scores has no feature map: use "
            'get="nngp", Positions() in place of them, or kernel()'
        )
    heads = Heads.of(layer, z, at)
    source, count, size = heads.source(at)
    rows = _vectors(taken(z, at))

    def block(b):
        drawn = source(b)
        row = heads.attends.rows(heads.scores(drawn), heads.sees[:, :, None], at.plan.ntk)
        phi = jnp.einsum("iabt,itr->iabr", row.weights, z.f)
        if not at.plan.ntk:
            return phi, None
        one = lambda row, phi: row.features(z.f, phi)
        return phi, jax.vmap(one, in_axes=1, out_axes=1)(row, phi)

    phi, score = jax.lax.map(block, jnp.arange(count))  # (blocks, n, R, draws, ...)
    flat = lambda k: jnp.moveaxis(k, 0, 2).reshape(*rows.shape[:2], -1) / math.sqrt(count * size)
    nngp = flat(phi)
    if score is None:
        return Mapped(nngp, None)
    # W = S before the layer: S_out + S_out + (3 S + S) o Q(S), with the scale in Q.
    score = flat(score)
    products = (2 * layer.scale * rows[..., :, None] * score[..., None, :]).reshape(
        *rows.shape[:2], -1
    )
    return Mapped(nngp, joined(nngp, nngp, products))


# Activations --------------------------------------------------------------------------------------


@carry.register
def _(layer: Activation, z, at):
    if _linear(layer.function):
        return mapped(z, at)
    (first,) = _hidden(layer, layer.function, mapped(z, at), at, 1)
    return Mapped(first, None)


@carry.register
def _(layer: MLP, z, at):
    z = carry(Dense(), z, at) if layer.hidden else z
    return carry(
        Dense(layer.sigma_w, layer.sigma_b), carry(Activation(layer.activation), z, at), at
    )


@carry.register
def _(layer: GatedMLP, z, at):
    gate, value = _hidden(layer, layer.activation, mapped(z, at), at, 2)
    return Mapped(layer.sigma_w * gate * value * math.sqrt(gate.shape[-1]), None)


def _linear(activation: Any) -> bool:
    return isinstance(activations.activation(activation), activations.Identity)


def _hidden(layer: Layer, activation: Any, z: Mapped, at: Setting, maps: int) -> list[Array]:
    """Return the outputs of hidden units with N(0, 1) weights, divided by the root of their number.

    The first of the `maps` goes through the activation. All inputs meet the same weights.
    """
    phi, units = activations.activation(activation), at.plan.units
    if at.plan.ntk:
        raise ValueError(
            f"the NTK after {layer!r} is a product of kernels, which has no features of a useful "
            'size: use get="nngp", or the matrix itself, kernel() or kernels.gram'
        )
    if not isinstance(phi, activations.Activation):
        raise ValueError(
            f"{phi!r} is not a function, so no hidden units can be drawn; use kernel()"
        )
    if units is None:
        raise ValueError(
            f"{layer!r} is not linear, and has features of randomly drawn hidden units only: give "
            "their number, such as units=1024, or use kernel() or kernels.gram"
        )
    key = jax.random.fold_in(at.key, RANDOM + len(at.notes))
    at.notes.append((units, maps))
    m, dtype = z.nngp.shape[-1], z.nngp.dtype

    def block(b):
        weights = jax.random.normal(jax.random.fold_in(key, b), (maps, m, UNITS), dtype)
        first, *others = jnp.einsum("iam,gmu->giau", z.nngp, weights)
        return jnp.stack([phi(first), *others])

    out = jax.lax.map(block, jnp.arange(-(-units // UNITS)))  # (blocks, maps, n, R, UNITS)
    out = jnp.moveaxis(out, 0, 3).reshape(maps, *z.nngp.shape[:2], -1)[..., :units]
    return list(out / math.sqrt(units))
