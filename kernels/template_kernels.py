"""Kernels of strings of tokens: the one-layer transformer of the template paper, and an MLP.

At the last token, [CLS], which is the same in all strings, a head's scores are Gaussian with a
covariance that symbols and positions add to one by one: `m(X) = X zeta + gamma p` with one normal
per symbol and one per position. A draw turns a string into the features

    phi_t = sum_i a_i [x_i = t]  for each symbol t,   psi_i = gamma a_i,   a = softmax(beta m),

and the kernel is the mean of their inner products. Positions are few, and their features make one
dense matrix product; of the symbols only those that many strings hold are dense. The others are
summed over the pairs of places that hold the same one. Normals depend on the key and the symbol, so
that matrices of different strings from one key are blocks of one Gram matrix.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from theorykit.common.arguments import as_array, between, function, size
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.kernels import activations, recursion
from theorykit.kernels.features import matrix, tiling, zeros
from theorykit.kernels.inputs import computed, known, number, widened
from theorykit.kernels.moments import Moments
from theorykit.kernels.progress import bar
from theorykit.kernels.recursion import State
from theorykit.kernels.result import Kernel

BLOCK = 2**23  # entries of a block of features
PLACES = 2**12  # pairs of places whose products are in cache at a time
DENSE = 24  # a place in a pair costs as much as this many multiply-adds of a matrix product


class TemplateMatrix(NamedTuple):
    """The matrix N of a set of templates (template paper, eqs. 11-12).

    **Fields:**

    - `matrix`: (r, r), entry (i, j) the kernel of templates i and j under maps without a common
      symbol.
    - `stderr`: (r, r) standard errors, or zeros for an exact kernel; None with one replicate.
    - `singular_values`: (r,), largest first.
    - `smallest`: an interval for the smallest one, by Weyl's inequality from confidence intervals
      of all entries at once; of width zero for an exact kernel.
    """

    matrix: Float[Array | np.ndarray, "templates templates"]
    stderr: Float[Array | np.ndarray, "templates templates"] | None
    singular_values: Float[np.ndarray, " templates"]
    smallest: tuple[float, float]


class Places(NamedTuple):
    """Where the tokens of a set of strings stand, laid out for `_replicate`.

    **Fields:**

    - `names`: (u,) ids of the symbols, padded; `tokens`: (n, k), their numbers.
    - `dense`: (h,) numbers of the symbols that have a feature of their own.
    - `alone`: (k,), 1 at positions that hold one symbol in all strings, and it stands nowhere else:
      its feature is that of the position.
    - `pairs`: (2, p) places `string * k + position` that hold the same symbol, each pair of strings
      once, padded.
    - `cells`: (3, tiles, c) the numbers of the pairs that each tile of the matrix holds, and the
      rows and columns there that they add to, beyond the tile's end for padding.
    """

    names: Integer[Array | np.ndarray, " symbols"]
    tokens: Integer[Array | np.ndarray, "strings length"]
    dense: Integer[Array | np.ndarray, " dense"]
    alone: Float[Array | np.ndarray, " length"]
    pairs: Integer[Array | np.ndarray, "2 pairs"]
    cells: Integer[Array | np.ndarray, "3 tiles cells"]


@highest
def template_attention(
    x: Integer[Array | np.ndarray, "strings1 length"],
    y: Integer[Array | np.ndarray, "strings2 length"] | None = None,
    beta: Any = 1.0,
    gamma: Any = 1.0,
    *,
    key: Any,
    draws: int = 1024,
    replicates: int = 8,
    progress: bool | None = None,
) -> Kernel:
    """Return K_attn of the template paper, eq. (4), between strings or of one set.

    It is what `InfiniteTransformer(activation="identity", positions=gamma)` computes at the last
    token, at the score scale beta / sqrt(1 + gamma^2) (appendix H), for any number of symbols.

    **Arguments:**

    - `x`: (P1, k) token ids, whole numbers from 0 to 2^32 - 1.
    - `y`: (P2, k); None means `x`, and an exactly symmetric, positive semidefinite matrix.
    - `beta`: inverse temperature; `gamma`: scale of the positions. Kernels can be differentiated in
      both; the tokens must be known.
    - `key`: JAX random key; every number follows from it. With one key, the kernels of x with x and
      with y are blocks of one Gram matrix.
    - `draws`: draws in each replicate; `replicates`: independent estimates that are averaged.
    - `progress`: as for `InfiniteTransformer`.

    **Returns:** `Kernel` with `nngp` (P1, P2) and its standard error, in the dtype of `beta` and
    `gamma` if they have one; computed in float32 at least.

    **Raises:** `ValueError` for arrays of another shape or kind; strings that do not end with the
    same token, or hold it elsewhere; counts below 1; a beta or gamma that is NaN or infinite.
    """
    return _estimate(x, y, beta, gamma, None, key, draws, replicates, progress)


@highest
def template_transformer(
    x: Integer[Array | np.ndarray, "strings1 length"],
    y: Integer[Array | np.ndarray, "strings2 length"] | None = None,
    beta: Any = 1.0,
    gamma: Any = 1.0,
    *,
    activation: Any = "cos",
    key: Any,
    draws: int = 1024,
    replicates: int = 8,
    progress: bool | None = None,
) -> Kernel:
    """Return K_trans of the template paper, eq. (4): K_attn carried through the MLP's activation.

    Each replicate is a nonlinear function of an average over draws, so the mean has a bias of order
    1 / draws, which the standard error does not show.

    **Arguments:**

    - `x`, `y`, `beta`, `gamma`, `key`, `draws`, `replicates`, `progress`: as for
      `template_attention`.
    - `activation`: a name, or an object with dual functions: `activations.Cos(b1, b2)` is the
      paper's cos(b1 t + b2).

    **Returns:** `Kernel` as `template_attention`, positive semidefinite where `y` is None.

    **Raises:** `ValueError` as `template_attention`, or for an unknown activation.
    """
    phi = activations.activation(activation)
    return _estimate(x, y, beta, gamma, phi, key, draws, replicates, progress)


@highest
def template_mlp(
    x: Integer[Array | np.ndarray, "strings1 length"],
    y: Integer[Array | np.ndarray, "strings2 length"] | None = None,
    *,
    activation: Any = "relu",
    depth: int = 1,
    sigma_w: float = 1.0,
    sigma_b: float = 0.0,
) -> Kernel:
    """Return NNGP and NTK of an infinitely wide MLP on the one-hot tokens of strings, exactly.

    An inner-product kernel (template paper, remark I.6): a function of the share of positions at
    which two strings agree, which is the first layer's covariance up to `sigma_w`, `sigma_b`.

    **Arguments:**

    - `x`, `y`: (P1, k), (P2, k) token ids, as for `template_attention`; no [CLS] is needed.
    - `activation`: a name or an object with dual functions; `depth`: hidden layers.
    - `sigma_w`, `sigma_b`: scale of weights and biases; their dtype, if they have one, is that of
      the kernels.

    **Raises:** `ValueError` for arrays of another shape or kind, an unknown activation, or a scale
    that is NaN or infinite.
    """
    phi = activations.activation(activation)
    depth = size("depth", depth)
    sigma_w = number("sigma_w", sigma_w)
    sigma_b = number("sigma_b", sigma_b)
    rows = _strings("x", x)
    columns = rows if y is None else _same_length(rows, _strings("y", y))
    (weight, bias), dtype = widened("sigma_w and sigma_b", sigma_w, sigma_b)
    share = _agreement(jnp.asarray(rows), jnp.asarray(columns), computed(dtype))
    k = weight**2 * share + bias**2
    one = weight**2 * jnp.ones((), share.dtype) + bias**2
    z = State(k, k, one, one)
    for _ in range(depth):
        z = recursion.mlp(z, phi, weight, bias)
    zero = jnp.zeros(z.nngp.shape, dtype)
    ntk = None if z.ntk is None else z.ntk.astype(dtype)
    return Kernel(z.nngp.astype(dtype), ntk, zero, zero)


@highest
def template_matrix(
    z: Integer[Array | np.ndarray, "templates length"],
    kernel: Callable[..., Kernel],
    *,
    confidence: float = 0.99,
) -> TemplateMatrix:
    """Return N of a set of templates (template paper, eqs. 11-12), and how singular it is.

    **Arguments:**

    - `z`: (r, k) templates: token ids, and -1, -2, ... for wildcards
      (`theorykit.subjects.templates.Distribution.codes()` makes them).
    - `kernel`: a function of two sets of strings that returns a `Kernel`, such as
      `lambda x, y: template_transformer(x, y, beta, gamma, key=key)`.
    - `confidence`: of the interval for the smallest singular value.

    **Raises:** `ValueError` for an array of another shape or kind; for templates that the kernel
    refuses; for a confidence that is not between 0 and 1, or a kernel without finite values.
    """
    from scipy.special import stdtrit

    z = np.asarray(as_array("templates", z))
    function("kernel", kernel, "a function of two sets of strings")
    if z.ndim != 2 or z.dtype.kind not in "iu" or 0 in z.shape:
        raise ValueError(f"templates are whole numbers (templates, k), got {z.dtype} {z.shape}")
    confidence = between("confidence", confidence)
    wildcards, first = max(0, -int(z.min())), max(-1, int(z.max())) + 1
    filled = [np.where(z < 0, start - 1 - z, z) for start in (first, first + wildcards)]
    found = kernel(*filled)
    if not isinstance(found, Kernel) or found.nngp is None:
        raise ValueError(f"kernel returns a `Kernel` with an nngp, got {type(found).__name__}")
    _require_finite(kernel=found.nngp)
    values = np.linalg.svd(np.asarray(found.nngp, float), compute_uv=False)
    if found.nngp_stderr is None:
        reach = np.inf
    elif found.draw == "exact":
        reach = 0.0
    else:
        tail = (1 - confidence) / 2 / z.shape[0] ** 2
        quantile = -stdtrit(found.replicates - 1, tail)
        reach = quantile * float(np.linalg.norm(np.asarray(found.nngp_stderr, float)))
    smallest = float(values[-1])
    interval = (float(max(0.0, smallest - reach)), float(smallest + reach))
    return TemplateMatrix(found.nngp, found.nngp_stderr, values, interval)


def _estimate(x, y, beta, gamma, phi, key, draws, replicates, progress) -> Kernel:
    """Return the mean over replicates of K_attn, or of K_trans where there is an activation."""
    rows = _strings("x", x)
    columns = rows if y is None else _same_length(rows, _strings("y", y))
    _require_cls(rows, columns)
    beta = number("beta", beta)
    gamma = number("gamma", gamma)
    (beta, gamma), dtype = widened("beta and gamma", beta, gamma)
    draws, replicates = size("draws", draws), size("replicates", replicates)
    key = as_key(key)
    n1 = len(rows)
    places = lay_out(rows if y is None else np.concatenate([rows, columns]), n1)
    n, k = places.tokens.shape
    features = n * (k + len(places.dense)) + places.pairs.shape[1] // 4
    blocks = -(-draws // max(1, BLOCK // features))
    each = -(-draws // blocks)
    one = partial(_replicate, places, key, beta, gamma, phi, n1, blocks, each)
    with bar("kernel", replicates, progress) as tick:
        found = Moments(tick(one(0)))
        tick.replicate()
        for r in range(1, replicates):
            found = found.add(tick(one(r)))
            tick.replicate()
    # Replicates are averaged in tiles of the upper half, and made a matrix once.
    whole = lambda k: None if k is None else _matrix(k, n, n1).astype(dtype)
    mean, stderr = whole(found.mean), whole(found.stderr())
    return Kernel(mean, None, stderr, None, blocks * each, replicates, "joint")


@partial(jax.jit, static_argnames=("phi", "n1", "blocks", "size"))
def _replicate(places: Places, key, beta, gamma, phi, n1: int, blocks: int, size: int, r):
    """Return the tiles of one estimate (n1, n2) from `blocks` times `size` draws."""
    dtype = beta.dtype
    n, k = places.tokens.shape
    panels, matched = tiling(n, n1)
    scale = jnp.sqrt(places.alone.astype(dtype) + gamma**2)
    for_symbols, for_positions = jax.random.split(jax.random.fold_in(key, r))
    draws = blocks * size
    normal = lambda key: lambda i: jax.random.normal(jax.random.fold_in(key, i), (draws,), dtype)
    zeta = jax.vmap(normal(for_symbols))(places.names)
    p = gamma * jax.vmap(normal(for_positions))(jnp.arange(k, dtype=jnp.uint32))
    zeta, p = (z.reshape(-1, blocks, size).transpose(1, 0, 2) for z in (zeta, p))

    def weights(tokens, zeta, p):
        return jax.nn.softmax(beta * (zeta[tokens] + p), 1)  # (n, k, B)

    def features(tokens, a):
        parts = [scale[:, None] * a]
        if places.dense.size:
            holds = (tokens[:, :, None] == places.dense).astype(dtype)
            parts.append(jnp.einsum("nkh,nkb->nhb", holds, a))
        return jnp.concatenate(parts, 1).reshape(len(tokens), -1)

    def block(b, total):
        gram, pairs, own = total
        cut = [places.tokens[i:j] for i, j in panels]
        a = [weights(tokens, zeta[b], p[b]) for tokens in cut]
        phis = [features(*both) for both in zip(cut, a, strict=True)]
        gram = [g + phis[i] @ phis[j].T for g, (i, j) in zip(gram, matched, strict=True)]
        every = jnp.concatenate(a)
        if places.pairs.size:
            at = every.reshape(n * k, size)
            few = places.pairs.reshape(2, -1, math.gcd(pairs.size, PLACES)).transpose(1, 0, 2)
            products = lambda ab: jnp.sum(at[ab[0]] * at[ab[1]], -1)
            pairs = pairs + jax.lax.map(products, few).reshape(-1)
        if n1 < n and phi is not None:
            same = places.tokens[:, :, None] == places.tokens[:, None, :]
            seen = same + gamma**2 * jnp.eye(k, dtype=dtype)
            own = own + jnp.einsum("nib,nij,njb->n", every, seen, every, optimize="optimal")
        return gram, pairs, own

    start = zeros(n, n1, dtype), jnp.zeros(places.pairs.shape[1], dtype), jnp.zeros(n, dtype)
    gram, pairs, own = jax.lax.fori_loop(0, blocks, recursion.again(block), start)
    tiles = [g / draws for g in _added(gram, pairs, places.cells)]
    if phi is None:
        return tiles
    if n1 == n:
        of = dict(zip(matched, tiles, strict=True))
        own = draws * jnp.concatenate([jnp.diagonal(of[i, i]) for i in range(len(panels))])
    var = [own[i:j] / draws for i, j in panels]
    dual = lambda tile, i, j: phi.dual(var[i][:, None], tile, var[j])
    return [dual(tile, i, j) for tile, (i, j) in zip(tiles, matched, strict=True)]


def _added(tiles: list[Any], values, cells) -> list[Any]:
    """Return the tiles of a matrix with values added to their cells; see `Places`."""
    if not values.size:
        return tiles
    each = zip(tiles, *cells, strict=True)
    return [
        tile.at[row, column].add(values[number], mode="drop") for tile, number, row, column in each
    ]


_matrix = jax.jit(matrix, static_argnames=("n", "n1"))


@partial(jax.jit, static_argnames="dtype")
def _agreement(
    x: Integer[Array, "strings1 length"], y: Integer[Array, "strings2 length"], dtype: Any
) -> Float[Array, "strings1 strings2"]:
    """Return the share of positions at which strings agree, (P1, P2)."""
    start = jnp.zeros((x.shape[0], y.shape[0]), dtype)
    add = lambda total, i: (total + (x[:, i, None] == y[None, :, i]), None)
    return jax.lax.scan(add, start, jnp.arange(x.shape[1]))[0] / x.shape[1]


def lay_out(strings: np.ndarray, n1: int) -> Places:
    """Return where the tokens of strings stand, for the kernels of the first n1 with the others.

    If n1 is the number of strings, all with all.
    """
    n, k = strings.shape
    names, tokens = np.unique(strings, return_inverse=True)
    tokens = tokens.reshape(n, k)
    in_rows = np.bincount(tokens[:n1].ravel(), minlength=len(names))
    both = n1 == n
    in_columns = in_rows if both else np.bincount(tokens[n1:].ravel(), minlength=len(names))
    constant = (tokens == tokens[0]).all(0)
    everywhere = np.bincount(tokens.ravel(), minlength=len(names))
    alone = constant & (everywhere[tokens[0]] == n)
    merged = np.zeros(len(names), bool)
    merged[tokens[0][alone]] = True
    often = in_rows * in_columns * DENSE > n1 * (n if both else n - n1)
    dense = np.flatnonzero(often & ~merged)
    pairs = _pairs(tokens, often | merged, n1)
    row, column = pairs // k
    return Places(
        names=_padded(names.astype(np.uint32), 0),
        tokens=tokens.astype(np.int32),
        dense=dense.astype(np.int32),
        alone=alone.astype(np.float32),
        pairs=np.stack([_padded(p, 0) for p in pairs]).astype(np.int32),
        cells=_cells(row, column, n, n1).astype(np.int32),
    )


def _pairs(tokens: np.ndarray, skip: np.ndarray, n1: int) -> Integer[np.ndarray, "2 pairs"]:
    """Return the places that hold the same symbol, of the row first."""
    n, k = tokens.shape
    flat = tokens.ravel()
    place = np.flatnonzero(~skip[flat])
    place = place[np.argsort(flat[place], kind="stable")]
    _, start, size = np.unique(flat[place], return_index=True, return_counts=True)
    # Each place of a symbol beside every place of it.
    own = np.repeat(size, size)
    first = np.repeat(place, own)
    within = np.arange(first.size) - np.repeat(np.cumsum(own) - own, own)
    second = place[np.repeat(np.repeat(start, size), own) + within]
    row, column = first // k, second // k
    keep = row <= column if n1 == n else (row < n1) & (column >= n1)
    return np.stack([first, second])[:, keep]


def _cells(
    row: Integer[np.ndarray, " pairs"], column: Integer[np.ndarray, " pairs"], n: int, n1: int
) -> Integer[np.ndarray, "3 tiles cells"]:
    """Return where pairs of strings are in the tiles of their matrix; see `Places`."""
    panels, matched = tiling(n, n1)
    first = np.array([start for start, _ in panels])
    i, j = (np.searchsorted(first, at, side="right") - 1 for at in (row, column))
    tiles = np.zeros((len(panels), len(panels)), int)
    tiles[tuple(zip(*matched, strict=True))] = np.arange(len(matched))
    tile = tiles[i, j]
    order, count = np.argsort(tile, kind="stable"), np.bincount(tile, minlength=len(matched))
    within = np.arange(tile.size) - np.repeat(np.cumsum(count) - count, count)
    cells = np.full((3, len(matched), _length(int(count.max()))), n)
    cells[0] = 0
    cells[:, tile[order], within] = np.stack(
        [np.arange(tile.size), row - first[i], column - first[j]]
    )[:, order]
    return cells


def _padded(values: np.ndarray, fill: int) -> np.ndarray:
    """Return the values padded to a length of `_length`."""
    return np.pad(values, (0, _length(values.size) - values.size), constant_values=fill)


def _length(size: int) -> int:
    """Return one of a few lengths that is no smaller, so that few shapes are compiled."""
    step = max(16, 1 << max(0, size.bit_length() - 2))
    return -(-size // step) * step


def _strings(name: str, x: Any) -> Integer[np.ndarray, "strings length"]:
    if isinstance(x, jax.core.Tracer):
        raise ValueError(f"{name} holds token ids, which must be known when a kernel is traced")
    x = as_array(name, x)
    ids = x.ndim == 2 and 0 not in x.shape and x.dtype.kind in "iu"
    if not ids or x.min() < 0:
        what = f"{x.dtype} in shape {x.shape}" + (", some negative" if ids else "")
        raise ValueError(f"{name} holds token ids (strings, k), at least 0; got {what}")
    if x.max() >= 2**32:  # names of random draws are 32 bits long
        raise ValueError(f"{name} holds token ids below 2^32, got {x.max()}")
    return x


def _require_finite(**scales: Any) -> None:
    for name, value in scales.items():
        if known(value) and not np.isfinite(as_array(name, value)).all():
            raise ValueError(f"{name} must be finite, but NaN or infinity was given")


def _same_length(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"strings of x and y have one length, got {x.shape[1]} and {y.shape[1]} tokens"
        )
    return y


def _require_cls(*sets: np.ndarray) -> None:
    cls = sets[0][0, -1]
    for x in sets:
        for wrong, what in (
            (x[:, -1] != cls, f"a last token that differs from the first string's, {cls}"),
            ((x[:, :-1] == cls).any(1), f"the token {cls} before its end too"),
        ):
            if wrong.any():
                raise ValueError(
                    "strings end with one [CLS] token that stands nowhere else, but the string "
                    f"{x[np.argmax(wrong)].tolist()} has {what}"
                )
