"""One-token readout at the speed of a matrix product.

When only the last token of the top layer is read, only one row `a` of the attention
matters, and a draw turns an input into a feature vector `phi = F^T a`: the NNGP is
`Phi Phi^T / N`. Right after the embedding, where NTK and NNGP are one, the query and key
part of the NTK is a Gram matrix too, of `F^T J F` with `J` the Jacobian of the weights in their
scores; for softmax, of `F^T (diag(a) - a a^T) F`.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from theorykit.kernels import draws
from theorykit.kernels.attention import Mechanism, mechanism
from theorykit.kernels.blocks import factor_of, finish, normed, own_steepness, rows_of
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import known
from theorykit.kernels.plan import Plan
from theorykit.kernels.recursion import State, again, scores, visible

PANELS = 8  # panels of a symmetric product: 9/16 of it is computed, in products of fair size
BLOCK = 2**24  # entries of a block of features: long products


def tiling(n: int, n1: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return panels of inputs (start, end), and the pairs of panels that are multiplied.

    If `n1` is n, all inputs with all, the upper half only; else the first `n1` with the rest.
    """
    if n1 < n:
        return [(0, n1), (n1, n)], [(0, 1)]
    k = min(PANELS, n)
    cuts = list(pairwise(n * i // k for i in range(k + 1)))
    return cuts, [(i, j) for i in range(k) for j in range(i, k)]


def zeros(n: int, n1: int, dtype: Any) -> list[Float[Array, "..."]]:
    """Return zeros for the sums over draws, one array per pair of panels."""
    panels, pairs = tiling(n, n1)
    size = lambda i: panels[i][1] - panels[i][0]
    return [jnp.zeros((size(i), size(j)), dtype) for i, j in pairs]


def matrix(tiles: list[Float[Array, "..."]], n: int, n1: int) -> Float[Array, "rows columns"]:
    """Return the matrix that the tiles make up."""
    if n1 < n:
        return tiles[0]
    panels, pairs = tiling(n, n1)
    of = dict(zip(pairs, tiles, strict=True))
    k = len(panels)
    # Symmetric to the last bit: what lies below the diagonal is copied from above it.
    own = lambda tile: jnp.triu(tile) + jnp.triu(tile, 1).T
    tile = lambda i, j: own(of[i, i]) if i == j else of[i, j] if i < j else of[j, i].T
    return jnp.block([[tile(i, j) for j in range(k)] for i in range(k)])


def features(
    attends: Mechanism,
    drawn: Float[Array, "inputs draws tokens"],
    f: Float[Array, "inputs tokens rank"],
    allowed: Bool[Array, "inputs tokens"],
    ntk: bool,
) -> tuple[Float[Array, "inputs features"], Float[Array, "inputs products"] | None]:
    """Return feature vectors of inputs in a block of B draws.

    **Arguments:**

    - `attends`: the mechanism, one that draws its scores.
    - `drawn`: (n, B, T) scores of the token read out.
    - `f`: (n, T, r) factor of the token covariance.
    - `allowed`: (n, T), the tokens it may see.
    - `ntk`: whether the features of the score part of the NTK are wanted.

    **Returns:** (n, B r), and (n, B k) or None; k is r (r + 1) / 2 where J is symmetric, else r^2.
    """
    n = f.shape[0]
    row = attends.rows(drawn, allowed[:, None], ntk)  # (n, B, T)
    phi = jnp.einsum("nbt,ntr->nbr", row.weights, f)
    if not ntk:
        return phi.reshape(n, -1), None
    return phi.reshape(n, -1), row.features(f, phi).reshape(n, -1)


def empty(n: int, n1: int, dtype: Any, ntk: bool) -> tuple:
    """Return zeros for the sums of NNGP, score part of the NTK (None without), and variances."""
    return zeros(n, n1, dtype), zeros(n, n1, dtype) if ntk else None, jnp.zeros(n, dtype)


def add_block(total: tuple, panel: Any, n: int, n1: int, ntk: bool) -> tuple:
    """Add a block of draws to the sums of NNGP, score part of the NTK, and variances.

    The first `n1` inputs are the rows, the others the columns; all are both if `n1` is n.
    `panel(i, j)` returns the `features` of inputs i to j - 1.
    """
    panels, pairs = tiling(n, n1)
    # Features panel by panel: arrays that stay in the allocator, and no slices of large ones.
    parts: list[Any] = [panel(i, j) for i, j in panels]
    add = lambda sums, k: [
        s + parts[i][k] @ parts[j][k].T for s, (i, j) in zip(sums, pairs, strict=True)
    ]
    gram, score, var = total
    var = var + jnp.concatenate([jnp.sum(phi**2, -1) for phi, _ in parts])
    return add(gram, 0), add(score, 1) if ntk else None, var


def means(total: tuple, draws: int, n: int, n1: int) -> tuple:
    """Return NNGP, score part of the NTK or None, and variances, (n,), from their sums."""
    gram, score, own = jax.tree.map(lambda a: a / draws, total)
    gram = matrix(gram, n, n1)
    own = jnp.diagonal(gram) if n1 == n else own
    return gram, None if score is None else matrix(score, n, n1), own


@partial(jax.jit, static_argnames=("n1", "ntk"), donate_argnames=("total",))
def accumulate(total: tuple, net: Any, f, f_row, allowed, u, n1: int, ntk: bool) -> tuple:
    """Add a block of draws to the sums; see `add_block`."""
    attends = mechanism(net.attention)

    def panel(i, j):
        drawn = scores(f[i:j], f_row[i:j, None], u, net.score_scale)[:, 0]
        return features(attends, drawn, f[i:j], allowed[i:j], ntk)

    return add_block(total, panel, f.shape[0], n1, ntk)


def feature_top(net: Any, z: Any, factor, mask, n1: int, key, plan: Plan, first: bool, tick):
    """Top block of a one-token readout: NNGP, NTK, the trace left out, and the steepness.

    **Arguments:**

    - `net`: the network.
    - `z`: (n, T, n, T) state that enters; with `first`, (n, T, r): the factor of the embedding.
    - `factor`: (n, T, r) of what attention sees, or None to compute it.
    - `mask`: (n, T).
    - `n1`: as in `accumulate`.
    - `key`: random key of the layer.
    - `plan`: draws and what is wanted.
    - `first`: whether the embedding comes right before.
    - `tick`: called with each block's sums.
    """
    if first:
        left = jnp.zeros((), factor.dtype)
        var = jnp.sum(z**2, -1)
    else:
        factor, left = factor_of(normed(net, z), factor, plan.rank)
        var = z.var2
    n, t, r = factor.shape
    last, on = rows_of(net, mask)[:, 0], jnp.arange(n)
    row, allowed = factor[on, last], visible(mask, net.causal)[on, last]
    kept = mechanism(net.attention).cost(t) if plan.ntk else 1
    count, size = plan.blocks(n * (max(r * r, t * kept) if plan.ntk else max(r, t)), BLOCK)
    source = draws.blocks(key, count, (size, r, r), factor.dtype, plan.sampler)

    def block(b, total):
        return accumulate(total, net, factor, row, allowed, source(b), n1, plan.ntk)

    total = empty(n, n1, factor.dtype, plan.ntk)
    if known(factor, key, net, mask):
        for b in range(count):
            total = tick(block(b, total))
    else:
        total = jax.lax.fori_loop(0, count, again(block), varying(total, factor))
    nngp, ntk = _finish(net, z, var, row, last, total, n1, count * size, first)
    return nngp, ntk, left, _steepness(net, factor, mask, last[:, None])


_steepness = jax.jit(own_steepness)


@partial(jax.jit, static_argnames=("n1", "draws", "first"))
def _finish(net, z, var, row, last, total, n1: int, draws: int, first: bool):
    gram, score, own = means(total, draws, last.size, n1)
    on = jnp.arange(last.size)
    one, two = (on, on) if n1 == on.size else (on[:n1], on[n1:])
    ntk = None
    if score is not None:
        # Right after the embedding: S_out + S_out + (3 S + S) o Q(S).
        ntk = 2 * gram + 4 * net.score_scale**2 * (row[one] @ row[two].T) * score
    y = State(gram, ntk, own[one][:, None], own[two])
    if first:
        s = z[one, last[one]] @ z[two, last[two]].T
    else:
        s = z.nngp[one[:, None], last[one][:, None], two, last[two]]
    w = None if ntk is None else s
    before = State(s, w, var[one, last[one]][:, None], var[two, last[two]])
    after = finish(net, before, y)
    return after.nngp, None if after.ntk is None else after.nngp + after.ntk
