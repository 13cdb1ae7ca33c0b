"""Blocks of the network on pairs of inputs, each pair with its own factor.

In a pair the first input is drawn first, and the second given the first. What is drawn for the
first does not depend on the second, and pairs with the same first input share it. Which of two
inputs is the first depends on what they are, see `ranks`, so that an entry does not depend on where
they stand.
"""

from collections.abc import Callable
from functools import lru_cache, partial
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
    aside,
    at,
    average,
    scores_of,
    steepness,
    visible,
)

TOGETHER = 32  # most pairs in a group
FACTORS = 2**20  # entries of the covariances that are factorised at once


class Groups(NamedTuple):
    """Pairs of inputs, in groups of C that share m first inputs.

    **Fields:** `firsts`, the first inputs of each group; `whose`, which of these is in a pair;
    `seconds`, the second input of each pair.
    """

    firsts: Int[Array | np.ndarray, "*groups firsts"]
    whose: Int[Array | np.ndarray, "*groups pairs"]
    seconds: Int[Array | np.ndarray, "*groups pairs"]


def grouped(
    n1: int, rank: Int[Array, " inputs"], tokens: int
) -> tuple[Groups, Int[Array, " pairs"], Bool[Array, " pairs"]]:
    """Return all pairs i <= j of n inputs, or those of n1 rows with the others if n1 < n.

    Also returned are where each pair stands among those of all groups, in the order of rows,
    and whether its column is its first input. To make all groups of one size some pairs are
    there twice.

    **Arguments:** `rank`, which of two inputs is the first; see `ranks`.
    """
    n = rank.size
    most = min(TOGETHER, max(1, FACTORS // (2 * tokens) ** 2))
    if n1 == n:
        (firsts, whose, seconds), rows = _triangle(n, most)
        by_rank, (i, j) = jnp.argsort(rank), np.triu_indices(n)
        low, high = jnp.minimum(rank[i], rank[j]), jnp.maximum(rank[i], rank[j])
        place = jnp.asarray(rows)[low * n - low * (low - 1) // 2 + high - low]
        return Groups(by_rank[firsts], whose, by_rank[seconds]), place, rank[i] > rank[j]
    i, j = np.indices((n1, n - n1)).reshape(2, -1)
    swapped = rank[i] > rank[j + n1]
    first, second = jnp.where(swapped, j + n1, i), jnp.where(swapped, i, j + n1)
    cut = _cut(i.size, most)
    whose = np.broadcast_to(np.arange(cut.shape[1]), cut.shape)
    return Groups(first[cut], whose, second[cut]), jnp.arange(i.size), swapped


def ranks(x: Float[Array | np.ndarray, "inputs tokens features"]) -> Int[Array, " inputs"]:
    """Return an order of inputs that depends on what they are, not on where they stand.

    So equal inputs have equal kernels with all others, and an entry depends on its inputs alone.
    Padded tokens are zero.
    """
    _, t, d = x.shape
    # Inputs are told apart by one number each: a sum with weights that are in no simple relation.
    weights = np.cos(1.0 + np.sqrt(2.0) * np.arange(t)[:, None] + np.sqrt(3.0) * np.arange(d))
    number = jnp.sum(jax.lax.stop_gradient(x) * weights.astype(x.dtype), (1, 2))
    return jnp.argsort(jnp.argsort(number))


@lru_cache(maxsize=64)
def _triangle(n: int, most: int) -> tuple[Groups, Int[np.ndarray, " pairs"]]:
    """Return the pairs i <= j in groups, i first, and where each stands in the order of rows."""
    made: list[tuple[np.ndarray, ...]] = []
    cut = _cut(n + 1, most)
    for rows in ((i, n - 1 - i) for i in range((n + 1) // 2)):  # a long row goes with a short one
        number = np.repeat([0, 1], [n - i for i in rows])
        other = np.concatenate([np.arange(i, n) for i in rows])
        taken = cut % number.size
        made.append((np.broadcast_to(rows, (len(cut), 2)), number[taken], other[taken]))
    firsts, whose, seconds = map(np.vstack, zip(*made, strict=True))
    first = np.take_along_axis(firsts, whose, 1)
    place = np.empty(n * (n + 1) // 2, int)
    row = first * n - first * (first - 1) // 2 + seconds - first
    place[row.ravel()] = np.arange(row.size)
    return Groups(firsts, whose, seconds), place


def _cut(size: int, most: int) -> Int[np.ndarray, "groups pairs"]:
    """Return the numbers below `size` in groups of equal size, the first of them again at last."""
    count = -(-size // most)
    return np.arange(count * -(-size // count)).reshape(count, -1) % size


class Pair(NamedTuple):
    """The states of pairs of inputs: between 1 and 2, and of each with itself (no NTK there).

    Those of C pairs with m first inputs have a first axis of C, m and C.
    """

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
    """The tokens that attend, in C pairs with m first inputs.

    **Fields:** of first and of second inputs, `rows`, the numbers of R tokens, and `sees`, which
    tokens these may see; `whose`, the first input of each pair; `same`, whether the two inputs of a
    pair are the same.
    """

    rows: tuple[Int[Array, "firsts rows"], Int[Array, "pairs rows"]]
    sees: tuple[Bool[Array, "firsts rows tokens"], Bool[Array, "pairs rows tokens"]]
    whose: Int[Array | np.ndarray, " pairs"]
    same: Bool[Array | np.ndarray, " pairs"]


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


class _Input(NamedTuple):
    """An input where attention sees it: its factor or None, covariance, rows, and what they see."""

    f: Any
    own: Any
    rows: Any
    sees: Any


def attend_pairs(net: Any, plan: Plan, layer: Layer, h: Pair, f: Any, queries: Queries) -> Any:
    """Carry C pairs through attention; in the top block only rows, and only their variances.

    **Arguments:**

    - `net`: the network.
    - `plan`: what is wanted.
    - `layer`: the draws.
    - `h`: what attention sees.
    - `f`: factors of the covariance of both inputs' tokens: (m, T, q) of the first inputs, whose
      columns are the first q, and (C, T, r) of the second ones; None to draw by the conditional
      sampler, or for a mechanism that draws nothing.
    - `queries`: the tokens that attend.

    **Returns:** a `Pair`; in the top block the `State` between the two inputs.
    """
    attends = mechanism(net.attention)
    whose = queries.whose
    f1, f2 = (None, None) if f is None else f
    q = None if f is None else f[0].shape[-1]
    firsts = _Input(f1, h.z11.nngp, queries.rows[0], queries.sees[0])
    seconds = _Input(f2, h.z22.nngp, queries.rows[1], queries.sees[1])
    at_rows: Any = lambda k, r1, r2: None if k is None else k[r1][:, r2]
    s, w = h.z12.nngp, None if layer.first else h.z12.ntk
    scale2 = jnp.asarray(net.score_scale, s.dtype) ** 2

    def weights(u, it, drawn):
        """Return the `Rows` of an input in each draw; `drawn` gives them by another sampler."""
        sees = it.sees[:, None]
        if attends.exact:
            return attends.settled(jnp.diagonal(it.own), sees)
        if it.f is None:
            scores = net.score_scale * drawn()[:, it.rows].transpose(1, 0, 2)
        else:
            scores = scores_of(it.f[None], it.f[it.rows][None], u, net.score_scale)[0]
        return attends.rows(scores, sees, plan.ntk)

    def itself(a, it):
        """Return the kernel of an input with itself after the layer; in the top block variances."""
        if layer.top and not attends.exact:
            return jnp.einsum("anc,anc->a", a.weights @ it.own, a.weights) / a.weights.shape[1]
        rows = at_rows(it.own, it.rows, it.rows)
        whole = attends.step(a, a, Tokens(it.own, None, rows, None), scale2, False)[0]
        return jnp.diagonal(whole) if layer.top else whole

    def part(u):
        own = u if f is None else u[:q, :, :q]

        def first(it):
            drawn = lambda: draws.conditional(it.own, it.own, it.own, u)[:, 0]
            a = weights(own, it, drawn)
            return a, itself(a, it)

        a1, own1 = jax.lax.map(first, firsts)

        def pair(of):
            k, s, w, it = of
            drawn = lambda: draws.conditional(firsts.own[k], s, it.own, u)[:, 1]
            a2, rows = weights(u, it, drawn), (firsts.rows[k], it.rows)
            tokens = Tokens(s, w, at_rows(s, *rows), at_rows(w, *rows))
            return *attends.step(at(a1, k), a2, tokens, scale2, plan.ntk), itself(a2, it)

        return *aside(again(pair), (whose, s, w, seconds)), own1

    (m, rows), pairs = firsts.rows.shape, whose.size
    zero = jnp.zeros((pairs, rows, rows), s.dtype)
    own = (rows,) if layer.top else (rows, rows)
    ones = jnp.zeros((pairs, *own), s.dtype), jnp.zeros((m, *own), s.dtype)
    start = varying((zero, zero if plan.ntk else None, *ones), s)

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

    s, w, own2, own1 = average(block, start, layer.blocks)
    v1, v2 = (k if layer.top else jnp.diagonal(k, axis1=1, axis2=2) for k in (own1, own2))
    z12 = State(jax.vmap(on_diagonal)(s, v1[whose], queries.same), w, v1[whose][:, :, None], v2)
    if layer.top:
        return z12
    itself_too: Any = lambda k, v: State(k, None, v[:, :, None], v)
    return Pair(z12, itself_too(own1, v1), itself_too(own2, v2))


def pairwise(
    net, z: State | None, f0, mask, groups: Groups, key, plan: Plan, layers: int, form: str
):
    """Return the readouts of pairs after the last `layers` blocks, and how steep they were.

    **Arguments:**

    - `net`: the network.
    - `z`: (n, T, n, T) state of the set after joint layers; None: start from the embedding.
    - `f0`: (n, T, r) factor of the embedding.
    - `mask`: (n, T).
    - `groups`: the pairs.
    - `key`: random key; all pairs see the same normals.
    - `plan`: draws and what is wanted.
    - `layers`: number of blocks.
    - `form`: "pairwise" or "conditional".

    **Returns:** arrays that begin with the axes of `groups`.
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

    def state(ntk) -> Any:
        def of(i, j):
            if z is not None:
                w = z.ntk[i, :, j] if ntk and z.ntk is not None else None
                return State(z.nngp[i, :, j], w, z.var2[i][:, None], z.var2[j])
            s = f0[i] @ f0[j].T
            v1, v2 = (jnp.sum(f0[k] ** 2, -1) for k in (i, j))
            return State(s, s if ntk else None, v1[:, None], v2)

        return jax.vmap(of)

    def factors(h: Pair, group: Groups, layer: Layer):
        if form == "conditional":
            return None
        if layer.first and rank < 2 * t:
            return f_first[group.firsts], f_first[group.seconds]
        first = jax.vmap(lambda s: draws.Ordered.of(s)[0])(h.z11.nngp)
        then = jax.vmap(lambda k, s12, s22: at(first, k).then(s12, s22))
        return first.f, then(group.whose, h.z12.nngp, h.z22.nngp)

    def within(group: Groups):
        firsts, whose, j = group
        i = firsts[whose]
        sides = Pair((i, j), (firsts, firsts), (j, j))  # type: ignore[arg-type]
        on = Pair(state(plan.ntk)(i, j), state(False)(firsts, firsts), state(False)(j, j))
        steep = jnp.zeros((2, j.size), f0.dtype)
        take = jax.vmap(lambda k, r: k[r])
        for layer in stack:
            chosen = rows_all if layer.top else every
            rows = chosen[firsts], chosen[j]
            sees = tuple(take(sees_all[k], r) for k, r in zip((firsts, j), rows, strict=True))
            h = on.map(jax.vmap(partial(normed, net)))
            own = jnp.stack([h.z11.nngp[whose], h.z22.nngp])
            var = take(h.z11.var2, rows[0])[whose], take(h.z22.var2, rows[1])
            real = jnp.stack([mask[i], mask[j]])
            here = steepness(attends, net.score_scale, own, jnp.stack(var), real)
            steep = jnp.maximum(steep, here)
            queries = Queries(rows, sees, whose, i == j)
            y = attend_pairs(net, plan, layer, h, factors(h, group, layer), queries)
            if not layer.top:
                done = on.map(jax.vmap(partial(finish, net)), y)
                on = done.map(lambda z, of: jax.vmap(hide)(z, mask[of[0]], mask[of[1]]), sides)

        def out(z, y, r1, r2, m1, m2):
            at_rows: Any = lambda k: None if k is None else k[r1][:, r2]
            before = State(at_rows(z.nngp), at_rows(z.ntk), z.var1[r1], z.var2[r2])
            return read(net, finish(net, before, y), m1, m2)

        return *jax.vmap(out)(on.z12, y, rows[0][whose], rows[1], mask[i], mask[j]), steep.T

    return jax.lax.map(again(within), groups)
