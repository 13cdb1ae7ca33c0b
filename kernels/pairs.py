"""Blocks of the network on one pair of inputs at a time, each pair with its own factor."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from theorykit.kernels import draws
from theorykit.kernels.attention import Tokens, mechanism
from theorykit.kernels.blocks import (
    finish,
    normed,
    normed_factor,
    on_diagonal,
    read,
    rows_of,
)
from theorykit.kernels.devices import varying
from theorykit.kernels.plan import PAIR_BLOCK, Plan, parts
from theorykit.kernels.recursion import (
    State,
    again,
    at,
    average,
    scores_of,
    steepness,
    visible,
)

FACTORS = 2**24  # entries that the factorisations of a group of pairs go through


class Pair(NamedTuple):
    """The states of inputs 1 and 2: between them, and of each with itself (no NTK there)."""

    z12: State
    z11: State
    z22: State

    def map(self, f: Any, *others: "Pair") -> "Pair":
        """Apply `f` to the three states."""
        return Pair(*(f(*states) for states in zip(self, *others, strict=True)))


def hide(z: State, m1: Array, m2: Array) -> State:
    """Zero the padded tokens of a state."""
    real = m1[:, None] & m2
    ntk = None if z.ntk is None else z.ntk * real
    return State(z.nngp * real, ntk, z.var1 * m1[:, None], z.var2 * m2)


class Queries(NamedTuple):
    """The tokens of a pair that attend.

    **Fields:** `rows`, for each input the numbers of R tokens; `sees`, (2, R, T), which tokens
    these may see; `same`, whether the two inputs are the same.
    """

    rows: tuple[Int[Array, " rows"], Int[Array, " rows"]]
    sees: Bool[Array, "2 rows tokens"]
    same: Bool[Array, ""]


class Layer(NamedTuple):
    """A layer's draws, the same for all pairs, and where it stands.

    **Fields:** `source`, which gives one of `blocks` blocks of draws, worked on in `parts`;
    `first`, whether NNGP and NTK are still equal; `top`, whether it is the last.
    """

    source: Callable[[Any], Float[Array, "..."]]
    blocks: int
    parts: int
    first: bool
    top: bool

    @staticmethod
    def drawn(
        attends: Any,
        tokens: int,
        shape: tuple[int, ...],
        plan: Plan,
        key: Any,
        dtype: Any,
        **where: bool,
    ) -> "Layer":
        """Return a layer whose draws are from `key`: (q, r) normals each, or (2, T, T)."""
        entries = 4 * tokens**2 * (attends.cost(tokens) if plan.ntk else 1)
        count, size = plan.blocks(entries, PAIR_BLOCK)
        laid = (lambda u: u.transpose(1, 0, 2)) if len(shape) == 2 else (lambda u: u)
        source = draws.blocks(key, count, (size, *shape), dtype, plan.sampler, laid)
        return Layer(source, count, parts(size, entries), **where)


def attend_pair(
    net: Any, plan: Plan, layer: Layer, h: Pair, f: Array | None, queries: Queries
) -> Any:
    """Carry a pair through attention; in the top block only its rows, and only their variances.

    **Arguments:**

    - `net`: the network.
    - `plan`: what is wanted.
    - `layer`: the draws.
    - `h`: what attention sees.
    - `f`: (2, T, r) factor of the covariance of both inputs' tokens; None to draw by the
      conditional sampler, or for a mechanism that draws nothing.
    - `queries`: the tokens that attend.

    **Returns:** a `Pair`; in the top block the `State` between the two inputs.
    """
    attends = mechanism(net.attention)
    r1, r2 = queries.rows
    at_rows: Any = lambda k: None if k is None else k[r1][:, r2]
    s, w = h.z12.nngp, None if layer.first else h.z12.ntk
    tokens = Tokens(s, w, at_rows(s), at_rows(w))
    scale2 = jnp.asarray(net.score_scale, s.dtype) ** 2
    own_s = h.z11.nngp, h.z22.nngp

    def weights(u):
        sees = queries.sees[:, :, None]
        if attends.exact:
            var = jnp.stack([h.z11.var2, h.z22.var2])
            return attends.settled(var[:, None, None], sees)
        if f is None:
            drawn = draws.conditional(own_s[0], s, own_s[1], u)
            drawn = jnp.stack([drawn[:, 0][:, r1], drawn[:, 1][:, r2]]).transpose(0, 2, 1, 3)
            drawn = net.score_scale * drawn
        else:
            rows = jnp.stack([f[0][r1], f[1][r2]])
            drawn = scores_of(f, rows, u, net.score_scale)
        return attends.rows(drawn, sees, plan.ntk)

    def itself(a, k, r):
        """Return the kernel of an input with itself after the layer; in the top block variances."""
        if layer.top and not attends.exact:
            return jnp.einsum("anc,anc->a", a.weights @ k, a.weights) / a.weights.shape[1]
        rows = k[r][:, r]
        whole = attends.step(a, a, Tokens(k, None, rows, None), scale2, False)[0]
        return jnp.diagonal(whole) if layer.top else whole

    def part(u):
        both = weights(u)
        one, two = at(both, 0), at(both, 1)
        own = [itself(a, k, r) for a, k, r in zip((one, two), own_s, (r1, r2), strict=True)]
        return *attends.step(one, two, tokens, scale2, plan.ntk), *own

    zero = jnp.zeros((r1.size, r2.size), s.dtype)
    ones = jnp.zeros(r1.size, s.dtype), jnp.zeros(r2.size, s.dtype)
    own = ones if layer.top else (zero, zero)
    start = varying((zero, zero if plan.ntk else None, *own), s)

    def block(b):
        if attends.exact:
            return part(None)
        u = layer.source(b)
        if layer.parts == 1:
            return part(u)
        axis = 0 if f is None else 1  # of the draws
        size = u.shape[axis] // layer.parts
        cut = lambda p: jax.lax.dynamic_slice_in_dim(u, p * size, size, axis)
        return average(lambda p: part(cut(p)), start, layer.parts)

    s, w, *own = average(block, start, layer.blocks)
    v1, v2 = own if layer.top else map(jnp.diagonal, own)
    z12 = State(on_diagonal(s, v1, queries.same), w, v1[:, None], v2)
    if layer.top:
        return z12
    return Pair(z12, State(own[0], None, v1[:, None], v1), State(own[1], None, v2[:, None], v2))


def pairwise(net, z: State | None, f0, mask, pairs, key, plan: Plan, layers: int, form: str):
    """Return the readouts of pairs after the last `layers` blocks, and how steep they were.

    **Arguments:**

    - `net`: the network.
    - `z`: (n, T, n, T) state of the set after joint layers; None: start from the embedding.
    - `f0`: (n, T, r) factor of the embedding.
    - `mask`: (n, T).
    - `pairs`: two arrays of indices.
    - `key`: random key; all pairs see the same normals.
    - `plan`: draws and what is wanted.
    - `layers`: number of blocks.
    - `form`: "pairwise" or "conditional".
    """
    n, t = mask.shape
    rows_all, sees_all = rows_of(net, mask), visible(mask, net.causal)
    every = jnp.broadcast_to(jnp.arange(t), (n, t))
    f_first = normed_factor(net, f0)
    rank = min(f0.shape[-1], 2 * t) if z is None else 2 * t
    attends = mechanism(net.attention)

    def layer(number: int) -> Layer:
        r = rank if number == 0 else 2 * t
        shape = (2, t, t) if form == "conditional" else (r, r)
        first, top = number == 0 and z is None, number == layers - 1
        own = jax.random.fold_in(key, number)
        return Layer.drawn(attends, t, shape, plan, own, f0.dtype, first=first, top=top)

    stack = [layer(number) for number in range(layers)]

    def state(i, j, ntk) -> State:
        if z is not None:
            w = z.ntk[i, :, j] if ntk and z.ntk is not None else None
            return State(z.nngp[i, :, j], w, z.var2[i][:, None], z.var2[j])
        s = f0[i] @ f0[j].T
        v1, v2 = (jnp.sum(f0[k] ** 2, -1) for k in (i, j))
        return State(s, s if ntk else None, v1[:, None], v2)

    def entering(i, j) -> Pair:
        return Pair(state(i, j, plan.ntk), state(i, i, False), state(j, j, False))

    def factor(on: Pair, i, j, layer: Layer):
        if form == "conditional":
            return None
        if layer.first and rank < 2 * t:
            return jnp.stack([f_first[i], f_first[j]])
        s11, s12, s22 = (normed(net, z).nngp for z in (on.z11, on.z12, on.z22))
        return draws.factor(jnp.block([[s11, s12], [s12.T, s22]]))[0].reshape(2, t, -1)

    def pair(i, j, f):
        on = entering(i, j)
        steep = jnp.zeros(2, f0.dtype)
        for layer in stack:
            chosen = rows_all if layer.top else every
            rows = chosen[i], chosen[j]
            sees = jnp.stack([sees_all[i][rows[0]], sees_all[j][rows[1]]])
            h = on.map(partial(normed, net))
            own = jnp.stack([h.z11.nngp, h.z22.nngp])
            var = jnp.stack([h.z11.var2[rows[0]], h.z22.var2[rows[1]]])
            here = steepness(attends, net.score_scale, own, var, jnp.stack([mask[i], mask[j]]))
            steep = jnp.maximum(steep, here)
            if layer is not stack[0]:
                f = factor(on, i, j, layer)
            y = attend_pair(net, plan, layer, h, f, Queries(rows, sees, i == j))
            if not layer.top:
                m1, m2 = mask[i], mask[j]
                done = on.map(partial(finish, net), y)
                on = Pair(hide(done.z12, m1, m2), hide(done.z11, m1, m1), hide(done.z22, m2, m2))
        at_rows: Any = lambda k: None if k is None else k[rows[0]][:, rows[1]]
        s, w = map(at_rows, on.z12[:2])
        before = State(s, w, on.z12.var1[rows[0]], on.z12.var2[rows[1]])
        return *read(net, finish(net, before, y), mask[i], mask[j]), steep

    def group(*pairs):
        # A factorisation is a long loop of small steps, taken for all pairs of a group at once.
        f = jax.vmap(lambda i, j: factor(entering(i, j), i, j, stack[0]))(*pairs)
        return jax.lax.map(again(lambda args: pair(*args)), (*pairs, f))

    return _in_groups(group, pairs, max(1, FACTORS // (2 * t) ** 3))


def _in_groups(f: Callable[..., Any], args: tuple[Any, ...], most: int) -> Any:
    """Return `f` of groups of at most `most` entries of its arguments, put together again.

    The last group is filled up with first entries. Nothing in a group is kept for a gradient.
    """
    size = args[0].shape[0]
    groups = -(-size // most)
    each = -(-size // max(1, groups))
    numbers = np.arange(groups * each).reshape(groups, each) % max(1, size)
    found = jax.lax.map(again(lambda group: f(*group)), jax.tree.map(lambda k: k[numbers], args))
    return jax.tree.map(lambda k: k.reshape(-1, *k.shape[2:])[:size], found)
