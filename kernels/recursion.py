"""The covariance recursion of a transformer, layer by layer.

The state of an infinitely wide network on a set of n inputs of T tokens is its token
covariance (NNGP) and tangent kernel (NTK), both of shape (n, T, n, T). `attend` carries
them through attention, `mlp` and `layer_norm` through what acts on single tokens.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from theorykit.common.precision import highest
from theorykit.kernels import draws as _draws
from theorykit.kernels.activations import Duals
from theorykit.kernels.attention import Mechanism, Tokens, mechanism
from theorykit.kernels.attention.rows import KEPT
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import widened
from theorykit.kernels.plan import parts

ASIDE = 4  # entries of a long list that one step of a loop works on


class State(NamedTuple):
    """Kernels between row and column tokens, with the variances of both.

    **Fields:**

    - `nngp`: (..., R1, R2) covariance, or (n, T, n, T) for a set.
    - `ntk`: tangent kernel of the same shape; `None` if not wanted.
    - `var1`, `var2`: variances of row and column tokens, to broadcast against `nngp`.
    """

    nngp: Float[Array, "..."]
    ntk: Float[Array, "..."] | None
    var1: Float[Array, "..."]
    var2: Float[Array, "..."]


def mlp(state: State, phi: Duals, sigma_w: Any, sigma_b: Any) -> State:
    """Carry a state through `sigma_w phi(z) W / sqrt(D) + sigma_b b` (capture paper, A.3)."""
    w2, b2 = sigma_w**2, sigma_b**2
    nngp = b2 + w2 * phi.dual(state.var1, state.nngp, state.var2)
    ntk = None
    if state.ntk is not None:
        slope = phi.dual_derivative(state.var1, state.nngp, state.var2)
        ntk = nngp + w2 * state.ntk * slope
    var1, var2 = (b2 + w2 * phi.dual(v, v, v) for v in (state.var1, state.var2))
    return State(nngp, ntk, var1, var2)


def layer_norm(state: State) -> State:
    """Carry a state through layer normalisation over the width: correlations."""
    (r1, one1), (r2, one2) = map(_unit, (state.var1, state.var2))
    ntk = None if state.ntk is None else state.ntk * r1 * r2
    return State(state.nngp * r1 * r2, ntk, one1, one2)


def _unit(var):
    """Return 1 / sqrt(var) and the variance after it, 1; both 0 where `var` is, NaN for NaN."""
    none = var <= 0
    root = jnp.where(none, 0.0, jax.lax.rsqrt(jnp.where(none, 1.0, var)))
    one = jnp.where(jnp.isnan(var), var, jnp.where(none, 0.0, 1.0))
    return root, one.astype(var.dtype)


def add(a: State, b: State) -> State:
    """Sum of two branches whose weights are independent."""
    ntk = None if a.ntk is None or b.ntk is None else a.ntk + b.ntk
    return State(a.nngp + b.nngp, ntk, a.var1 + b.var1, a.var2 + b.var2)


def visible(
    mask: Bool[Array | np.ndarray, "inputs tokens"], causal: bool
) -> Bool[Array, "inputs tokens tokens"]:
    """Return which tokens a token may see.

    **Arguments:**

    - `mask`: (n, T) booleans, false for padding.
    - `causal`: a token sees itself and what stands before it.

    **Returns:** (n, T, T) booleans; no row and no column of a padded token is visible.
    """
    t = mask.shape[-1]
    allowed = jnp.asarray(mask[:, :, None] & mask[:, None, :])
    return allowed & jnp.tril(jnp.ones((t, t), bool))[None] if causal else allowed


def steepness(
    attends: Mechanism,
    scale: Any,
    gram: Float[Array, "*batch tokens tokens"],
    rows: Float[Array, "*batch rows"],
    real: Bool[Array, "*batch tokens"],
) -> Float[Array, "*batch"]:
    """Return the largest standard deviation of what a mechanism saturates in, 0 if it does not.

    That is the difference of two scores of a row if only differences matter, and else a score.

    **Arguments:**

    - `attends`: the mechanism.
    - `scale`: the score scale beta.
    - `gram`: (..., T, T) covariance of an input's tokens.
    - `rows`: (..., R) variances of the tokens that attend.
    - `real`: (..., T), false at padding.
    """
    gram, rows = jax.lax.stop_gradient((gram, rows))
    if not attends.saturates:
        return jnp.zeros(rows.shape[:-1], rows.dtype)
    var = jnp.diagonal(gram, axis1=-2, axis2=-1)
    if not attends.invariant:
        most = jnp.where(real, var, 0.0).max(-1) * jnp.maximum(rows, 0.0).max(-1)
        return jnp.abs(jax.lax.stop_gradient(scale)) * jnp.sqrt(most)
    both = var[..., :, None] + var[..., None, :]
    apart = both - 2 * gram
    # Equal tokens, but for rounding, are not apart.
    apart = jnp.where(apart > 16 * jnp.finfo(gram.dtype).eps * both, apart, 0.0)
    apart = jnp.where(real[..., :, None] & real[..., None, :], apart, 0.0)
    most = jnp.sqrt(apart.max((-2, -1))) * jnp.sqrt(jnp.maximum(rows, 0.0).max(-1))
    return jnp.abs(jax.lax.stop_gradient(scale)) * most


@highest
def scores(
    f: Float[Array, "inputs tokens rank"],
    f_rows: Float[Array, "inputs rows rank_rows"],
    u: Float[Array | np.ndarray, "draws rank_rows rank"],
    scale: Any,
) -> Float[Array, "inputs rows draws tokens"]:
    """Return score draws `scale F_rows U F^T`.

    **Arguments:**

    - `f`: (n, T, r) factor of the token covariance.
    - `f_rows`: (n, R, q), that of the tokens that attend, which are some of these or others.
    - `u`: (N, q, r) normals.
    - `scale`: the score scale beta.

    **Returns:** (n, R, N, T).
    """
    return scores_of(f, f_rows, u.transpose(1, 0, 2), scale)


@highest
def scores_of(
    f: Float[Array, "inputs tokens rank"],
    f_rows: Float[Array, "inputs rows rank_rows"],
    u: Float[Array | np.ndarray, "rank_rows draws rank"],
    scale: Any,
) -> Float[Array, "inputs rows draws tokens"]:
    """Return `scores`, of normals in the order in which one product takes all draws."""
    n, r_rows, q = f_rows.shape
    _, draws, r = u.shape
    # One product over all draws: (n R, q) x (q, N r).
    query = f_rows.reshape(n * r_rows, q) @ u.reshape(q, draws * r)
    query = query.reshape(n, r_rows * draws, r)
    out = scale * jnp.einsum("nqr,ntr->nqt", query, f)
    return out.reshape(n, r_rows, draws, -1)


def drawn_rows(
    attends: Mechanism,
    f: Float[Array, "inputs tokens rank"],
    f_rows: Float[Array, "inputs rows rank"],
    u: Float[Array | np.ndarray, "draws rank rank"],
    scale: Any,
    allowed: Bool[Array, "inputs rows tokens"],
    slopes: bool,
) -> Any:
    """Return the rows of weights of a set of inputs in each draw: `Rows` of (n, R, N, T) arrays.

    Arguments as for `scores`; `allowed` says which tokens a row may see, and `slopes` whether their
    derivatives in the scores are wanted.
    """
    sees = allowed[:, :, None]
    if attends.exact:
        return attends.settled(jnp.sum(f**2, -1)[:, None, None], sees)
    return attends.rows(scores(f, f_rows, u, scale), sees, slopes)


@highest
def attend(
    attention: str | Mechanism,
    nngp: Float[Array | np.ndarray, "inputs tokens inputs tokens"],
    ntk: Float[Array | np.ndarray, "inputs tokens inputs tokens"] | None,
    u: Float[Array | np.ndarray, "draws rank rank"],
    *,
    tangent: bool = True,
    score_scale: Any = 1.0,
    mask: Bool[Array | np.ndarray, "inputs tokens"] | None = None,
    causal: bool = False,
    factor: Float[Array | np.ndarray, "inputs tokens rank"] | None = None,
) -> tuple[
    Float[Array, "inputs tokens inputs tokens"], Float[Array, "inputs tokens inputs tokens"] | None
]:
    """Carry the kernels of a set of inputs through one attention layer, with joint draws.

    **Arguments:**

    - `attention`: "softmax", "identity", or a mechanism, see `kernels.attention`.
    - `nngp`: (n, T, n, T) token covariance, positive semidefinite as an (n T, n T) matrix.
    - `ntk`: the NTK in the same shape; None where it equals `nngp`, as after an embedding.
    - `u`: (N, r, r) standard normals, r the columns of the factor (n T if it is not given).
    - `tangent`: whether the NTK is wanted too.
    - `score_scale`: beta.
    - `mask`: (n, T) booleans; all true if not given.
    - `causal`: whether a token sees only itself and what stands before it.
    - `factor`: (n, T, r) with `nngp = F F^T`; computed by pivoted Cholesky if not given.

    **Returns:** NNGP and NTK after the layer, means over the N draws, (n, T, n, T) each; the NTK is
    None unless `tangent`. In the dtype of the kernels and draws, computed in float32 at least.

    **Raises:** `ValueError` for anything but a mechanism, or complex numbers.
    """
    attends = mechanism(attention)
    given = [a for a in (nngp, u, ntk, factor) if a is not None]
    (s_in, u, *others), dtype = widened("kernels and draws", *given)
    w_in = None if ntk is None else others.pop(0)
    n, t = s_in.shape[:2]
    if factor is None:
        flat, _ = _draws.factor(s_in.reshape(n * t, n * t))
        f = flat.reshape(n, t, -1)
    else:
        f = others.pop()
    sees = visible(jnp.ones((n, t), bool) if mask is None else jnp.asarray(mask), causal)
    a = drawn_rows(attends, f, f, u, score_scale, sees, tangent)
    if not tangent and not attends.exact:
        # Features: S_out = Phi Phi^T / N with Phi = A F, one product for all pairs.
        phi = jnp.einsum("ianc,icr->ianr", a.weights, f).reshape(n * t, -1)
        return ((phi @ phi.T).reshape(n, t, n, t) / u.shape[0]).astype(dtype), None

    i, j = jnp.triu_indices(n)

    def pair(rows1, rows2, i, j):
        s = s_in[i, :, j]
        w = None if w_in is None else w_in[i, :, j]
        return in_parts(attends, rows1, rows2, Tokens(s, w, s, w), score_scale**2, tangent)

    s_out, w_out = between(pair, a, i, j)
    whole = lambda k: fill(k, n).astype(dtype)
    return whole(s_out), None if w_out is None else whole(w_out)


def in_parts(
    attends: Mechanism, rows1: Any, rows2: Any, tokens: Tokens, scale2: Any, ntk: bool
) -> tuple[Float[Array, "rows1 rows2"], Float[Array, "rows1 rows2"] | None]:
    """Return `attends.step`, over as many draws at a time as fit in cache."""
    r, n, t = rows1.weights.shape
    count = parts(n, 4 * r * t * attends.cost(t))
    if count == 1:
        return attends.step(rows1, rows2, tokens, scale2, ntk)
    cut = lambda k, p: jax.lax.dynamic_slice_in_dim(k, p * (n // count), n // count, 1)

    def part(p):
        one, two = (jax.tree.map(lambda k: cut(k, p), rows) for rows in (rows1, rows2))
        return attends.step(one, two, tokens, scale2, ntk)

    zero = jnp.zeros((r, rows2.weights.shape[0]), rows1.weights.dtype)
    return average(part, varying((zero, zero if ntk else None), rows1.weights), count)


def again(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop step of which only `KEPT` is kept for a gradient: the rest is recomputed.

    What a step works with has an entry for every draw, and all pairs of inputs together have more
    of them than memory holds.
    """
    policy = jax.checkpoint_policies.save_only_these_names(KEPT)
    return jax.checkpoint(step, prevent_cse=False, policy=policy)


def aside(f: Callable[[Any], Any], args: Any) -> Any:
    """Return `f` of each entry of its arguments, `ASIDE` of many in a step of a loop.

    They do not depend on each other, and a processor's cores take parts of different ones.
    """
    count = jax.tree.leaves(args)[0].shape[0]
    unroll = max(1, min(ASIDE, count // ASIDE))  # a step of more takes longer to compile
    return jax.lax.scan(lambda _, entry: (None, f(entry)), None, args, unroll=unroll)[1]


def between(step: Callable[..., Any], rows: Any, i: Any, j: Any) -> Any:
    """Return `step(rows of i, rows of j, i, j)` of pairs of inputs, given the `Rows` of all.

    Little of a step is kept for a gradient, see `again`.
    """
    # All rows enter twice, once for each input of a pair. What flows back into one of them is then
    # added in place by the compiler; the sum for both would be an array of all inputs in each step.
    pair = again(lambda rows1, rows2, i, j: step(at(rows1, i), at(rows2, j), i, j))
    return aside(lambda ij: pair(rows, rows, *ij), (i, j))


def at(rows: Any, i: Any) -> Any:
    """Return the `Rows` of one input."""
    return jax.tree.map(lambda k: k[i], rows)


def fill(upper: Float[Array, "pairs rows rows"], n: int) -> Float[Array, "{n} rows {n} rows"]:
    """Return the symmetric (n, R, n, R) array whose i <= j half is `upper` (pairs, R, R)."""
    i, j = jnp.triu_indices(n)
    r = upper.shape[1]
    on = jnp.arange(n)
    out = jnp.zeros((n, r, n, r), upper.dtype).at[i, :, j].set(upper)
    out = out.at[j, :, i].set(upper.transpose(0, 2, 1))
    diagonal = out[on, :, on]
    return out.at[on, :, on].set((diagonal + diagonal.transpose(0, 2, 1)) / 2)


def average(block: Any, zero: Any, count: int) -> Any:
    """Return the mean of `block(0), ..., block(count - 1)`, trees like `zero`."""

    def add_block(total, b):
        return jax.tree.map(lambda s, c: s + c / count, total, block(b)), None

    return jax.lax.scan(add_block, zero, jnp.arange(count))[0]
