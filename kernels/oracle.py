"""Deterministic kernels of small cases, to float64: the ground truth of the tests.

Written apart from the recursion that it checks: every pair of tokens is one Gaussian integral over
its scores (over their differences, where only these matter), done by tensor Gauss-Hermite
quadrature where the dimension allows and by scrambled Sobol points elsewhere. Only the weights of a
mechanism are used: for the NTK, their Jacobian is found by automatic differentiation. Cost and
memory grow quickly: for a few inputs of two to four tokens.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Real

from theorykit.common.arguments import as_array, whole
from theorykit.common.precision import highest
from theorykit.kernels import blocks
from theorykit.kernels.attention import Mechanism, Settled, mechanism
from theorykit.kernels.inputs import Inputs, lay_out, wanted
from theorykit.kernels.recursion import State
from theorykit.kernels.result import Kernel

POINTS = 2**18  # most points of an integral

BELOW = 1e-5  # of the largest eigenvalue: below zero, that is an error of quadrature


def gaussian_points(
    dimension: int, order: int, points: int = POINTS, smooth: bool = True
) -> tuple[Float[np.ndarray, "nodes {dimension}"], Float[np.ndarray, " nodes"]]:
    """Return nodes (N, dimension) and weights (N,) for a standard normal expectation.

    **Arguments:**

    - `dimension`: of the integral; 0 gives the one empty node.
    - `order`: Gauss-Hermite nodes in each direction, where order^dimension <= points; otherwise
      `points * order / 32` Sobol points, rounded down to a power of two.
    - `points`: most nodes.
    - `smooth`: whether the integrand is smooth. If it has kinks, Gauss-Hermite sums converge slowly
      without showing it, so Sobol points are used in any dimension.
    """
    if dimension == 0:
        return np.zeros((1, 0)), np.ones(1)
    if smooth and order**dimension <= points:
        nodes, weights = np.polynomial.hermite_e.hermegauss(order)
        weights = weights / weights.sum()
        grid = np.stack(np.meshgrid(*[nodes] * dimension, indexing="ij"), -1)
        product = np.ones(1)
        for _ in range(dimension):
            product = np.multiply.outer(product, weights)
        return grid.reshape(-1, dimension), product.reshape(-1)
    from scipy.special import ndtri
    from scipy.stats import qmc

    log2 = int(np.log2(max(2, points * order / 32)))
    u = qmc.Sobol(dimension, scramble=True, rng=order).random_base2(log2)
    return ndtri(np.clip(u, 1e-16, 1 - 1e-16)), np.full(1 << log2, 0.5**log2)


@partial(jax.jit, static_argnames="attends")
def _jacobians(
    attends: Mechanism, scores: Float[ArrayLike, "draws tokens"]
) -> tuple[Float[Array, "draws tokens"], Float[Array, "draws tokens tokens"]]:
    row = lambda s: attends.weights(s, jnp.ones(s.shape, bool))
    return jax.vmap(lambda s: (row(s), jax.jacfwd(row)(s)))(scores)


def _weights(
    attends: Mechanism, scores: Float[np.ndarray, "draws tokens"]
) -> tuple[Float[np.ndarray, "draws tokens"], Float[np.ndarray, "draws tokens tokens"]]:
    """Return weights (N, T) and their Jacobians (N, T, T) in the scores."""
    n = len(scores)  # filled up to a power of two, so that few programs are compiled
    padded = np.pad(scores, [(0, (1 << (n - 1).bit_length()) - n), (0, 0)])
    with jax.enable_x64(True):
        a, jacobian = _jacobians(attends, padded)
    return np.asarray(a)[:n], np.asarray(jacobian)[:n]


def attention_step(
    nngp: Float[Array | np.ndarray, "inputs tokens inputs tokens"],
    ntk: Float[Array | np.ndarray, "inputs tokens inputs tokens"],
    *,
    attention: str | Mechanism = "softmax",
    score_scale: float = 1.0,
    mask: Bool[Array | np.ndarray, "inputs tokens"] | None = None,
    causal: bool = False,
    order: int = 24,
    resolve: bool = True,
) -> tuple[
    Float[np.ndarray, "inputs tokens inputs tokens"],
    Float[np.ndarray, "inputs tokens inputs tokens"],
]:
    """Carry token kernels of a set of inputs through one attention layer.

    **Arguments:**

    - `nngp`, `ntk`: (n, T, n, T) float64.
    - `attention`: "softmax", "identity", or a mechanism, see `kernels.attention`.
    - `score_scale`: beta.
    - `mask`: (n, T) booleans, true at real tokens.
    - `causal`: whether a token sees only itself and what stands before it.
    - `order`: see `gaussian_points`.
    - `resolve`: refuse scores that spread further than the nodes resolve.

    **Returns:** NNGP and NTK after the layer, (n, T, n, T), zero at padded tokens.

    **Raises:** `ValueError` for a covariance that is not positive semidefinite, wrong shapes or
    names; for scores that spread so far that the nodes miss their near ties.
    """
    nngp, ntk = (np.asarray(as_array(name, k), float) for name, k in (("nngp", nngp), ("ntk", ntk)))
    if nngp.ndim != 4 or nngp.shape != nngp.shape[:2] * 2 or ntk.shape != nngp.shape:
        raise ValueError(
            "nngp and ntk have one shape (inputs, tokens, inputs, tokens), "
            f"got {nngp.shape} and {ntk.shape}"
        )
    attends = mechanism(attention)
    if not jax.tree_util.all_leaves([attends]):
        attends = jax.tree.map(float, attends)
    if not (np.isfinite(ntk).all() and np.isfinite(score_scale)):
        raise ValueError(f"ntk and score_scale must be finite, got score_scale {score_scale!r}")
    whole("order", order)
    n, t = nngp.shape[:2]
    positive_semidefinite("nngp", nngp.reshape(n * t, n * t))
    mask = np.ones((n, t), bool) if mask is None else np.asarray(mask)
    if mask.shape != (n, t) or mask.dtype != bool:
        raise ValueError(f"mask holds booleans in shape {(n, t)}, got {mask.dtype} {mask.shape}")
    sees = mask[:, :, None] & mask[:, None, :]
    if causal:
        sees = sees & np.tril(np.ones((t, t), bool))
    if isinstance(attends, Settled):
        return _settled(attends, nngp, ntk, sees)
    out, tangent = np.zeros_like(nngp), np.zeros_like(nngp)
    tokens = [(i, a) for i in range(n) for a in range(t) if mask[i, a]]
    for p, (i, a) in enumerate(tokens):
        for j, b in tokens[: p + 1]:
            c, e = np.flatnonzero(sees[i, a]), np.flatnonzero(sees[j, b])
            # All scores of the two rows are jointly Gaussian (capture paper, eq. 7).
            who = np.concatenate([np.repeat(i, c.size), np.repeat(j, e.size)])
            row = np.concatenate([np.repeat(a, c.size), np.repeat(b, e.size)])
            col = np.concatenate([c, e])
            cov = nngp[who, row][:, who, row] * nngp[who, col][:, who, col]
            to = np.eye(col.size)
            if attends.invariant:  # only differences matter: one dimension less per row
                to[: c.size] -= to[0]
                to[c.size :] -= to[c.size]
            values, vectors = np.linalg.eigh(to @ cov @ to.T)
            keep = values > 1e-13 * max(values[-1], 1e-300)
            root = vectors[:, keep] * np.sqrt(values[keep])
            dimension = int(keep.sum())
            nodes, weights = gaussian_points(dimension, order, smooth=attends.smooth)
            if attends.saturates and resolve:
                parts = [root[: c.size], root[c.size :]]
                if attends.invariant:
                    parts = [k[:, None] - k for k in parts]
                spread = max(np.linalg.norm(part, axis=-1).max() for part in parts)
                _require_resolved(abs(score_scale) * spread, order, nodes)
            s, w = nngp[i][c][:, j][:, e], ntk[i][c][:, j][:, e]
            value = np.zeros(4)
            for part in range(0, len(weights), 2**14):
                drawn = score_scale * nodes[part : part + 2**14] @ root.T
                value += weights[part : part + 2**14] @ _integrand(attends, drawn, s, w, c.size)
            s_ab, w_ab = nngp[i, a, j, b], ntk[i, a, j, b]
            q_s, q_w = score_scale**2 * value[2:]
            out[i, a, j, b] = out[j, b, i, a] = value[0]
            tangent[i, a, j, b] = tangent[j, b, i, a] = (
                value[0] + value[1] + (2 * s_ab + w_ab) * q_s + s_ab * q_w
            )
    return out, tangent


def _settled(
    attends: Settled,
    nngp: Float[np.ndarray, "inputs tokens inputs tokens"],
    ntk: Float[np.ndarray, "inputs tokens inputs tokens"],
    sees: Bool[np.ndarray, "inputs tokens tokens"],
) -> tuple[np.ndarray, np.ndarray]:
    """Return NNGP and NTK after a layer whose weights do not depend on scores: it is linear."""
    with jax.enable_x64(True):
        a = np.asarray(attends.settled(np.einsum("iaia->ia", nngp)[:, None], sees).weights)
    carried = [np.einsum("iac,icje,jbe->iajb", a, k, a) for k in (nngp, ntk)]
    return carried[0], carried[0] + carried[1]


def _require_resolved(
    spread: float, order: int, nodes: Float[np.ndarray, "nodes dimension"]
) -> None:
    """Refuse scores whose near ties lie between the nodes.

    A logistic function of the deviation s has poles at i pi / s, so that Gauss-Hermite errors go
    like exp(-2 pi sqrt(order) / s); up to s = 0.9 sqrt(order) the change from two thirds of the
    order was seen to be larger than what is left of the error. With Sobol points, a hundred must
    have ties in two independent rows, given 2.39 / s of the points in each.
    """
    tensor = len(nodes) == order ** nodes.shape[1]
    most = 0.9 * np.sqrt(order) if tensor else max(0.239 * np.sqrt(len(nodes)), 0.9 * 32**0.5)
    if spread > most:
        raise ValueError(
            f"score differences have the standard deviation {spread:.3g}, but {len(nodes):,} nodes "
            f"see the near ties of scores up to {most:.2g}: take a smaller score_scale, an order "
            f"of {np.ceil((spread / 0.9) ** 2):.4g} where {POINTS:,} nodes allow it, or the "
            "network itself, by Monte Carlo"
        )


def _integrand(
    attends: Mechanism,
    scores: Float[np.ndarray, "draws both"],
    s: Float[np.ndarray, "t1 t2"],
    w: Float[np.ndarray, "t1 t2"],
    split: int,
) -> Float[np.ndarray, "draws 4"]:
    """Return (N, 4): A1 S A2', A1 W A2', and the score terms Q(S), Q(W) of two rows."""
    a1, j1 = _weights(attends, scores[:, :split])
    a2, j2 = _weights(attends, scores[:, split:])
    values = [np.einsum("nc,ce,ne->n", a1, k, a2, optimize=True) for k in (s, w)]
    moved = np.einsum("nck,ce,nel->nkl", j1, s, j2, optimize=True)
    return np.stack([*values, *(np.einsum("nkl,kl->n", moved, k) for k in (s, w))], -1)


def positive_semidefinite(name: str, matrix: Float[Array | np.ndarray, "n n"]) -> None:
    """Check a covariance.

    **Raises:** `ValueError` if it is not symmetric or has an eigenvalue below rounding, with that
    value.
    """
    matrix = np.asarray(matrix)
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} is a covariance of finite numbers, but it holds NaN or infinity")
    scale = np.abs(matrix).max()
    eps = np.finfo(matrix.dtype).eps if matrix.dtype.kind == "f" else np.finfo(float).eps
    slack = 100 * len(matrix) * eps * scale
    if np.abs(matrix - matrix.T).max() > slack:
        raise ValueError(f"{name} is a covariance, but it is not symmetric")
    smallest = np.linalg.eigvalsh(matrix)[0]
    if smallest < -slack:
        raise ValueError(
            f"{name} is a covariance, but it is not positive semidefinite: "
            f"its smallest eigenvalue is {smallest:.3g}"
        )


def _without_rounding(nngp: Float[np.ndarray, "n t n t"]) -> Float[np.ndarray, "n t n t"]:
    """Return a covariance whose eigenvalues below zero, as small as errors of quadrature, are 0."""
    n, t = nngp.shape[:2]
    values, vectors = np.linalg.eigh(nngp.reshape(n * t, n * t))
    if not -BELOW * values[-1] < values[0] < 0:
        return nngp
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return ((clipped + clipped.T) / 2).reshape(nngp.shape)


@highest
def kernel(
    network: Any,
    x1: Real[ArrayLike, "inputs1 tokens1 features"],
    x2: Real[ArrayLike, "inputs2 tokens2 features"] | None = None,
    *,
    get: tuple[str, ...] | str = ("nngp", "ntk"),
    mask1: Bool[ArrayLike, "inputs1 tokens1"] | None = None,
    mask2: Bool[ArrayLike, "inputs2 tokens2"] | None = None,
    order: int = 24,
) -> Kernel:
    """Return the kernels of an `InfiniteTransformer`, computed without random numbers.

    **Arguments:**

    - `network`: the network.
    - `x1`, `x2`, `get`, `mask1`, `mask2`: as for the network itself.
    - `order`: see `gaussian_points`.

    **Returns:** `Kernel` of float64 arrays, whatever the dtype of the inputs: other kernels are
    compared with them. In place of standard errors, the change from two thirds of `order` to
    `order`.

    **Raises:** `ValueError` as `attention_step`, and for complex inputs.
    """
    get = wanted(get)
    with jax.enable_x64(True):
        to_float = lambda name, x: None if x is None else np.asarray(as_array(name, x), float)
        inputs = lay_out(to_float("x1", x1), to_float("x2", x2), mask1, mask2)
        whole("order", order)
        fine = _recursion(network, inputs, order, True)
        coarse = _recursion(network, inputs, 2 * order // 3, False)
    change = [np.abs(f - c) for f, c in zip(fine, coarse, strict=True)]
    values = {"nngp": fine[0], "nngp_stderr": change[0]} if "nngp" in get else {}
    values |= {"ntk": fine[1], "ntk_stderr": change[1]} if "ntk" in get else {}
    return Kernel(**values, draw="oracle")


def _recursion(
    net: Any, inputs: Inputs, order: int, resolve: bool
) -> tuple[np.ndarray, np.ndarray]:
    x, mask, n1, *_ = inputs
    n, t, d = x.shape
    nngp = np.einsum("iac,jbc->iajb", x, x) / d
    real = mask[:, :, None, None] & mask
    nngp = (nngp + float(net.positions) ** 2 * np.eye(t)[None, :, None]) * real
    ntk = nngp

    def state(s, w):
        var = np.einsum("iaia->ia", s)
        return State(*map(jnp.asarray, (s, w, var[:, :, None, None], var)))

    for _ in range(net.depth):
        z = state(nngp, ntk)
        h: Any = blocks.normed(net, z)
        y = attention_step(
            _without_rounding(np.asarray(h.nngp)),
            h.ntk,
            attention=net.attention,
            score_scale=float(net.score_scale),
            mask=mask,
            causal=net.causal,
            order=order,
            resolve=resolve,
        )
        after = blocks.finish(net, z, state(*y))
        nngp, ntk = np.asarray(after.nngp) * real, np.asarray(after.ntk) * real
    i, j = (np.arange(n),) * 2 if n1 == n else (np.arange(n1), np.arange(n1, n))
    last = t - 1 - np.argmax(mask[:, ::-1], 1)
    share = mask / mask.sum(1, keepdims=True)

    def read(k):
        if net.readout == "last":
            return k[i[:, None], last[i][:, None], j, last[j]]
        if net.readout == "mean":
            return np.einsum("ia,iajb,jb->ij", share[i], k[i][:, :, j], share[j])
        t1, t2 = inputs.lengths
        k = np.pad(k, [(0, 0), (0, max(t1 - t, 0)), (0, 0), (0, max(t2 - t, 0))])
        return k[i, :t1][:, :, j, :t2]

    return read(nngp), read(nngp + ntk)
