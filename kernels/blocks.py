"""One block of the network on a whole set of inputs, from joint draws."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from theorykit.kernels import activations, draws
from theorykit.kernels.attention import Tokens, mechanism
from theorykit.kernels.devices import varying
from theorykit.kernels.plan import BLOCK, Plan
from theorykit.kernels.recursion import (
    State,
    add,
    again,
    attend,
    average,
    between,
    drawn_rows,
    in_parts,
    layer_norm,
    mlp,
    steepness,
    visible,
)


def embedded(f0: Float[Array, "inputs tokens rank"], ntk: bool) -> State:
    """Return the (n, T, n, T) state after the embedding, from its factor (n, T, r)."""
    nngp = jnp.einsum("iar,jbr->iajb", f0, f0)
    var = jnp.sum(f0**2, -1)
    return State(nngp, nngp if ntk else None, var[:, :, None, None], var)


def normed(net: Any, z: State) -> State:
    """Return what a branch sees of the state `z`."""
    return layer_norm(z) if net.layer_norm else z


def normed_factor(
    net: Any, f0: Float[Array, "inputs tokens rank"]
) -> Float[Array, "inputs tokens rank"]:
    """Return the factor of what the first attention sees."""
    if not net.layer_norm:
        return f0
    var = jnp.sum(f0**2, -1, keepdims=True)
    return jnp.where(var <= 0, 0.0, f0 / jnp.sqrt(jnp.where(var <= 0, 1.0, var)))


def finish(net: Any, z: State, y: State) -> State:
    """Complete a block: residuals and MLP, after attention turned `z` into `y`."""
    phi = activations.activation(net.activation)
    y = add(z, y) if net.residual else y
    m = mlp(normed(net, y), phi, net.sigma_w, net.sigma_b)
    return add(y, m) if net.residual else m


def rows_of(net: Any, mask: Bool[Array, "inputs tokens"]) -> Int[Array, "inputs rows"]:
    """Return (n, R): the tokens whose output is wanted in the top block."""
    n, t = mask.shape
    if net.readout == "last":
        return (t - 1 - jnp.argmax(mask[:, ::-1], 1))[:, None]
    return jnp.broadcast_to(jnp.arange(t), (n, t))


def read(
    net: Any, z: State, m1: Bool[Array, " tokens"], m2: Bool[Array, " tokens"]
) -> tuple[Float[Array, "..."], Float[Array, "..."] | None]:
    """Apply the readout to the (R1, R2) tokens of a pair; its weights add the NNGP to the NTK."""
    if net.readout == "last":
        out = lambda k: k[0, 0]
    elif net.readout == "mean":
        share = lambda m: (m / m.sum()).astype(z.nngp.dtype)
        out = lambda k: share(m1) @ k @ share(m2)
    else:
        out = lambda k: jnp.where(m1[:, None] & m2, k, 0.0)
    return out(z.nngp), None if z.ntk is None else out(z.nngp + z.ntk)


def factor_of(
    h: State, factor: Float[Array, "inputs tokens r"] | None, rank: int | None
) -> tuple[Float[Array, "inputs tokens rank"], Float[Array, ""]]:
    """Return the factor (n, T, r) of a set's covariance and the trace it leaves out."""
    if factor is not None:
        return factor, jnp.zeros((), factor.dtype)
    n, t = h.nngp.shape[:2]
    flat, left = draws.factor(h.nngp.reshape(n * t, n * t), rank)
    return flat.reshape(n, t, -1), left


def own_steepness(net: Any, factor, mask, rows) -> Float[Array, " inputs"]:
    """Return `steepness` of each input of a set; `rows` (n, R) are the tokens that attend."""
    gram = jnp.einsum("iar,ibr->iab", factor, factor)
    var = jnp.take_along_axis(jnp.diagonal(gram, axis1=1, axis2=2), rows, 1)
    return steepness(mechanism(net.attention), net.score_scale, gram, var, mask)


def joint_block(
    net, z: State, factor, mask, key, plan: Plan, first: bool
) -> tuple[State, Array, Array]:
    """Carry the (n, T, n, T) state of the whole set through one block.

    **Arguments:**

    - `net`: the network.
    - `z`: the state that enters.
    - `factor`: (n, T, r) of what attention sees, or None to compute it.
    - `mask`: (n, T).
    - `key`: random key of this layer.
    - `plan`: draws and what is wanted.
    - `first`: whether NNGP and NTK are still equal.

    **Returns:** the state after the block, zero at padded tokens, the trace its factor left out,
    and the steepness of its attention for each input.
    """
    n, t = z.nngp.shape[:2]
    h = normed(net, z)
    factor, left = factor_of(h, factor, plan.rank)
    r = factor.shape[-1]
    attends = mechanism(net.attention)
    kept = attends.cost(t) if plan.ntk else 1
    count, size = plan.blocks(n * t * max(t * kept, r), BLOCK)
    source = draws.blocks(key, count, (size, r, r), factor.dtype, plan.sampler)
    layer = partial(
        attend,
        attends,
        h.nngp,
        None if first or not plan.ntk else h.ntk,
        tangent=plan.ntk,
        score_scale=net.score_scale,
        mask=mask,
        causal=net.causal,
        factor=factor,
    )
    zero = jnp.zeros_like(z.nngp)
    start = varying((zero, zero if plan.ntk else None), factor)
    nngp, ntk = average(lambda b: layer(source(b)), start, count)
    var = jnp.einsum("iaia->ia", nngp)
    z = finish(net, z, State(nngp, ntk, var[:, :, None, None], var))
    real = mask[:, :, None, None] & mask
    nngp, ntk = z.nngp * real, None if z.ntk is None else z.ntk * real
    var = jnp.einsum("iaia->ia", nngp)
    steep = own_steepness(net, factor, mask, jnp.broadcast_to(jnp.arange(t), (n, t)))
    return State(nngp, ntk, var[:, :, None, None], var), left, steep


def joint_top(net, z: State, factor, mask, pairs, key, plan: Plan, first: bool):
    """Top block from joint draws: the readouts of `pairs`, the trace left out, the steepness.

    Arguments as in `joint_block`; `pairs` are two arrays of indices.
    """
    attends = mechanism(net.attention)
    h = normed(net, z)
    factor, left = factor_of(h, factor, plan.rank)
    n, t, r = factor.shape
    rows = rows_of(net, mask)
    k = rows.shape[1]
    take = jax.vmap(lambda a, i: a[i])
    f_rows, allowed = take(factor, rows), take(visible(mask, net.causal), rows)
    kept = attends.cost(t) if plan.ntk else 1
    count, size = plan.blocks(n * k * max(t * kept, r), BLOCK)
    source = draws.blocks(key, count, (size, r, r), factor.dtype, plan.sampler)
    scale2 = jnp.asarray(net.score_scale, factor.dtype) ** 2

    def at_rows(kernel, i, j):
        return None if kernel is None else kernel[i, :, j][rows[i]][:, rows[j]]

    def step(rows1, rows2, i, j, ntk):
        w = None if first or not ntk else h.ntk
        tokens = Tokens(
            h.nngp[i, :, j],
            None if w is None else w[i, :, j],
            at_rows(h.nngp, i, j),
            at_rows(w, i, j),
        )
        return in_parts(attends, rows1, rows2, tokens, scale2, ntk)

    def block(b):
        a = drawn_rows(attends, factor, f_rows, source(b), net.score_scale, allowed, plan.ntk)
        own = lambda of: jnp.diagonal(step(of[0], of[0], of[1], of[1], False)[0])
        own = jax.lax.map(again(own), (a, jnp.arange(n)))
        return *between(partial(step, ntk=plan.ntk), a, *pairs), own

    zero = jnp.zeros((pairs[0].size, k, k), factor.dtype)
    start = zero, zero if plan.ntk else None, jnp.zeros((n, k), factor.dtype)
    nngp, ntk, var = average(block, varying(start, factor), count)

    def out(args):
        i, j, nngp, ntk = args
        y = State(on_diagonal(nngp, var[i], i == j), ntk, var[i][:, None], var[j])
        var1, var2 = z.var2[i][rows[i]][:, None], z.var2[j][rows[j]]
        before = State(at_rows(z.nngp, i, j), at_rows(z.ntk, i, j), var1, var2)
        return read(net, finish(net, before, y), mask[i], mask[j])

    values = jax.lax.map(again(out), (*pairs, nngp, ntk))
    return values, left, own_steepness(net, factor, mask, rows)


def on_diagonal(
    nngp: Float[Array, "rows1 rows2"],
    var: Float[Array, " rows1"],
    same: Bool[Array | np.ndarray, ""],
) -> Float[Array, "rows1 rows2"]:
    """Put the variances on the diagonal where both inputs of a pair are the `same`.

    They are equal but for rounding, which the angle of two equal tokens would magnify.
    """
    return jnp.where(same & jnp.eye(nngp.shape[0], nngp.shape[1], dtype=bool), var[:, None], nngp)
