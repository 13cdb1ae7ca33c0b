"""Kernels against a plain implementation that is given the same normals: to rounding, not noise."""

import functools
from typing import NamedTuple

import jax
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer, draws
from theorykit.kernels.pairs import ranks

from .tiers import tiers

pytestmark = pytest.mark.usefixtures("x64")

KEY, DRAWS, REPLICATES = jax.random.key(3), 4, 3
RNG = np.random.default_rng(0)
X, X2 = RNG.normal(size=(3, 3, 2)), RNG.normal(size=(2, 3, 2))
MASK = np.array([[True, True, True], [True, True, False], [True, True, True]])


class Both(NamedTuple):
    """NNGP and NTK between all tokens of a set, (n, T, n, T) each."""

    s: np.ndarray
    w: np.ndarray


def softmax(scores, sees):
    e = np.exp(scores) * sees
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def attention(k, a, beta):
    """Return the kernels of `sum_c A_ac v_c` over draws a (N, n, T, T), from its derivatives."""
    n, t = k.s.shape[:2]
    s_out, w_out = np.zeros((2, n, t, n, t))
    slope = np.einsum("Niac,ck->Niack", a, np.eye(t)) - a[..., None] * a[..., None, :]
    mean = functools.partial(np.einsum, optimize=True)
    for i in range(n):
        for j in range(n):
            s, w, one, two = k.s[i, :, j], k.w[i, :, j], a[:, i], a[:, j]
            values = lambda v, one=one, two=two: mean("Nac,ce,Nbe->ab", one, v, two) / len(one)
            # What a change of the scores (a, k) and (b, l) does to the outputs a and b.
            moved = mean("Nack,ce,Nbel->abkl", slope[:, i], s, slope[:, j]) / len(one)
            by = lambda rows, keys, moved=moved: rows * mean("abkl,kl->ab", moved, keys)
            queries_and_keys = 2 * by(s, s)
            below = by(w, s) + by(s, w)  # by way of queries, by way of keys
            s_out[i, :, j] = values(s)
            w_out[i, :, j] = values(s) + values(w) + beta**2 * (queries_and_keys + below)
    return Both(s_out, w_out)


def variances(s):
    return np.einsum("iaia->ia", s)


def normed(k):
    r = 1 / np.sqrt(np.maximum(variances(k.s), 1e-300)) * (variances(k.s) > 0)
    scale = r[:, :, None, None] * r
    return Both(k.s * scale, k.w * scale)


def erf_mlp(k, sigma_w, sigma_b):
    """E erf(u) erf(v) = 2 / pi arcsin(2 s / sqrt((1 + 2 p) (1 + 2 q))), by Williams (1997)."""
    p = 1 + 2 * variances(k.s)
    size = p[:, :, None, None] * p
    s = sigma_w**2 * 2 / np.pi * np.arcsin(2 * k.s / np.sqrt(size)) + sigma_b**2
    slope = 4 / np.pi / np.sqrt(size - 4 * k.s**2)
    return Both(s, s + sigma_w**2 * slope * k.w)


def transformer(net, x, mask, normals, form):
    """Return the kernels after the readout, of one replicate of a set of inputs."""
    n, t, d = x.shape
    f = x / np.sqrt(d)
    if net.positions:
        eye = np.stack([np.eye(t) * m[:, None] for m in mask])
        f = np.concatenate([f, net.positions * eye], -1)
    s = np.einsum("iar,jbr->iajb", f, f)
    k = Both(s, s)
    sees = mask[:, :, None] & mask[:, None, :] & (np.tri(t, dtype=bool) | (not net.causal))
    for layer in range(net.depth):
        h = normed(k) if net.layer_norm else k
        if form == "conditional":
            u = normals(layer, (2, t, t))
            blocks = h.s[0, :, 0], h.s[0, :, 1], h.s[1, :, 1]
            scores = net.score_scale * np.asarray(draws.conditional(*blocks, u))
        else:
            if layer and form == "pairwise":
                f = in_turn(h.s)
            elif layer:
                f = np.asarray(draws.factor(h.s.reshape(n * t, n * t))[0]).reshape(n, t, -1)
            elif net.layer_norm:
                f = f / np.maximum(np.linalg.norm(f, axis=-1, keepdims=True), 1e-300)
            u = normals(layer, (f.shape[-1],) * 2)
            scores = net.score_scale * np.einsum("iar,Nrq,icq->Niac", f, u, f)
        y = attention(h, softmax(scores, sees), net.score_scale)
        y = Both(y.s + k.s, y.w + k.w) if net.residual else y
        m = erf_mlp(normed(y) if net.layer_norm else y, net.sigma_w, net.sigma_b)
        k = Both(m.s + y.s, m.w + y.w) if net.residual else m
        real = mask[:, :, None, None] & mask
        k = Both(k.s * real, k.w * real)
    k = Both(k.s, k.s + k.w)  # the readout's weights
    if net.readout == "tokens":
        return k
    share = mask / mask.sum(1, keepdims=True)
    if net.readout == "last":
        share = np.eye(t)[[np.flatnonzero(m)[-1] for m in mask]]
    return Both(*(np.einsum("ia,iajb,jb->ij", share, v, share) for v in k))


def in_turn(s):
    """Return the factor of a pair, of the first input and then of what it leaves of the second."""
    root = lambda k: np.asarray(draws.factor(k)[0])
    first = root(s[0, :, 0])
    across = s[1, :, 0] @ np.linalg.pinv(first).T
    second = np.concatenate([across, root(s[1, :, 1] - across @ across.T)], 1)
    return np.stack([np.pad(first, ((0, 0), (0, len(first)))), second])


def plainly(net, x, x2, mask, form):
    """Return every replicate's NNGP and NTK, drawn from the keys that the product draws from."""
    found = []
    for r in range(REPLICATES):
        key = jax.random.fold_in(KEY, r)
        if form != "joint":  # layers of pairs are numbered below the key of the last
            key = jax.random.fold_in(key, net.depth - 1)

        def normals(layer, shape, key=key):
            of_layer = jax.random.fold_in(jax.random.fold_in(key, layer), 0)
            return np.asarray(jax.random.normal(of_layer, (DRAWS, *shape), float))

        both = x if x2 is None else np.concatenate([x, x2])
        every = np.concatenate([mask, np.ones((len(both) - len(x), mask.shape[1]), bool)])
        if form == "joint":
            k = transformer(net, both, every, normals, form)
            found.append(k if x2 is None else Both(*(v[: len(x), ..., len(x) :] for v in k)))
            continue
        assert x2 is not None
        pairs = np.empty((2, len(x), len(x2)))
        for i in range(len(x)):
            for j in range(len(x2)):
                at = [i, len(x) + j]
                if ranks(both * every[..., None])[at[0]] > ranks(both * every[..., None])[at[1]]:
                    at = at[::-1]
                k = transformer(net, both[at], every[at], normals, form)
                pairs[:, i, j] = k.s[0, 1], k.w[0, 1]
        found.append(Both(*pairs))
    return found


# Network, its draws, whether there is a second set, rounding (of factors, where they are computed).
# A second layer is not normed: among equal variances rounding would choose the factor's pivots.
CASES = {
    "features": (dict(readout="last"), "joint", False, 1e-12),
    "features, causal": (
        dict(readout="last", causal=True, layer_norm=True, residual=True), "joint", True, 1e-12,
    ),
    "positions": (dict(readout="last", positions=0.6), "joint", False, 1e-12),
    "joint": (dict(readout="mean", residual=True), "joint", False, 1e-12),
    "joint, causal": (dict(readout="mean", causal=True, layer_norm=True), "joint", True, 1e-12),
    "joint, two layers": (
        dict(readout="last", depth=2, causal=True, residual=True), "joint", False, 1e-8,
    ),
    "pairs": (dict(readout="mean", residual=True), "pairwise", True, 1e-12),
    "pairs, causal": (dict(readout="last", causal=True, layer_norm=True), "pairwise", True, 1e-12),
    "pairs, two layers": (dict(readout="mean", depth=2, causal=True), "pairwise", True, 1e-8),
    "conditional": (dict(readout="mean"), "conditional", True, 1e-8),
}  # fmt: skip


@pytest.mark.parametrize("name", tiers(CASES, CASES.keys() - {"features", "joint", "pairs"}))
def test_every_replicate_is_the_plain_one(name):
    """Means, and standard errors as numpy has them of the plain replicates."""
    options, form, rectangular, rounding = CASES[name]
    scales = dict(activation="erf", score_scale=1.4, sigma_w=1.3, sigma_b=0.3)
    net = InfiniteTransformer(**scales, **options)
    x2 = X2 if rectangular else None
    found = net(X, x2, mask1=MASK, key=KEY, draws=DRAWS, replicates=REPLICATES, draw=form)
    plain = plainly(net, X, x2, MASK, form)
    for field, values in (("nngp", [k.s for k in plain]), ("ntk", [k.w for k in plain])):
        error = np.std(values, axis=0, ddof=1) / np.sqrt(REPLICATES)
        at = dict(rtol=rounding, atol=rounding)
        np.testing.assert_allclose(getattr(found, field), np.mean(values, axis=0), **at)
        np.testing.assert_allclose(getattr(found, f"{field}_stderr"), error, **at)
        assert error.max() > 1e-2
