"""Definitions 4, 5, 43, 46, 50, Lemmas 48, 49, 56, Proposition 54: products and regularisers."""

import dataclasses
import itertools
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jax import random

from theorykit import claim, crasp, limit
from theorykit.checks import construction, exhaustive, expectation, inequality, rate
from theorykit.domains import inputs, reals
from theorykit.proofs_numeric.limit.transformer import drawn

# Definition 43 -----------------------------------------------------------------------------------


def sheared(t, seed, values=True):
    """Return a transformer with the same products: an invertible map of the residual stream.

    Its determinant is 1, so that the inverse has integers too. Without `values`, V stays.
    """
    rng = np.random.default_rng(seed)
    d = t.width
    lower = np.tril(rng.integers(-1, 2, (d, d)), -1) + np.eye(d)
    M = lower @ (np.triu(rng.integers(-1, 2, (d, d)), 1) + np.eye(d))
    back = np.round(np.linalg.inv(M))
    head = lambda h: dataclasses.replace(
        h, K=h.K @ back, Q=h.Q @ back, V=M @ h.V @ back if values else h.V
    )
    layer = lambda l: dataclasses.replace(
        l, heads=tuple(map(head, l.heads)), A=l.A @ back, B=M @ l.B
    )
    return dataclasses.replace(
        t, E=t.E @ M.T, positions=t.positions @ M.T, U=t.U @ back,
        layers=tuple(map(layer, t.layers)),
    )  # fmt: skip


@claim(
    "limit.products",
    ref="Definition 43, Lemma 53",
    statement=r"\alpha_{l,h,\mathcal S_1,\mathcal S_2,v,w},\ \beta_{\mathcal S,v,w} \text{ equal} "
    r"\Rightarrow T \equiv T'",
)
def products():
    """Parameters changed so that all products stay give the same outputs, exactly.

    With the biases and the activation functions, which are no products. Control: V left as it was.
    """

    def build(seed, values=True):
        t = drawn(seed, context=6)
        outputs = lambda t: limit.exact(t, ["abbab"]).outputs
        return outputs(t) == outputs(sheared(t, seed, values))

    return construction(
        build=build,
        has=bool,
        cases=range(10),
        control=dict(build=lambda seed: build(seed, False)),
    )


@claim(
    "limit.products.biases",
    ref="Sec. 3.1, Definition 43",
    statement=r"\text{the products specify the computation uniquely}",
    expect="refuted",
)
def biases():
    """Biases b_l occur in no product function, and outputs depend on them.

    Control: biases as they are, and another unembedding, which does occur.
    """

    def build(seed, bias=1.0, scale=1.0):
        t = drawn(seed, depth=1)
        shifted = lambda l: dataclasses.replace(l, b=l.b + bias)
        other = dataclasses.replace(t, layers=tuple(map(shifted, t.layers)), U=scale * t.U)
        return limit.exact(t, ["ab"]).outputs == limit.exact(other, ["ab"]).outputs

    return construction(
        build=build,
        has=bool,
        cases=range(5),
        control=dict(build=lambda seed: build(seed, 0.0, 2.0)),
    )


@claim(
    "limit.products.number",
    ref="Sec. 3.1, Definition 43",
    statement=r"|\{\alpha\}| + |\{\beta\}| \text{ does not depend on } d",
    expect="refuted",
)
def number():
    """The columns of B_l and the rows of A_l are among the vectors: there are L d of each.

    What does not depend on d is the number of those that are not zero, for bounded norms and
    precision (appendix F.4.1). Members are L, H, N, |Sigma| and d; counted are the alpha.
    Control: does not depend on N.
    """

    def alphas(L, H, N, S, d):
        vectors = N + S + L * d
        paths = math.prod([H + 1] * L)
        return L * H * (paths * vectors) * (paths * vectors)

    members = list(itertools.product((1, 2), (1, 2), (2, 5), (2, 3), (1, 4)))
    same = lambda m, k: alphas(*m) == alphas(*m[:k], m[k] + 1, *m[k + 1 :])
    return exhaustive(
        predicate=lambda m: same(m, 4),
        universe=members,
        control=dict(predicate=lambda m: same(m, 2)),
    )


# Definitions 4 and 46: the hypothesis class ------------------------------------------------------

COMPILED = ["aa_star", "contains_ab", "dyck1", "exists_a"]


def naive(t, context):
    """Return the simple translation that Lemma 47's proof warns of: encodings p_i and e_i."""
    d = t.width
    wide = lambda a: np.pad(a, [(0, 0), (0, context)])
    square = lambda a: np.pad(a, [(0, context), (0, context)])

    def head(h):
        K, Q = wide(h.K), wide(h.Q)
        if h.phi is not None:
            j = np.arange(1, context + 1)
            W = h.phi(j[:, None], j[None, :])
            K = np.concatenate([K, np.pad(np.eye(context), [(0, 0), (d, 0)])])
            Q = np.concatenate([Q, np.pad(W, [(0, 0), (d, 0)])])
        return limit.Head(K, Q, square(h.V))

    layer = lambda l: limit.Layer(
        tuple(map(head, l.heads)), wide(l.A), np.pad(l.B, [(0, context), (0, 0)]), l.b, l.heaviside
    )
    positions = np.concatenate([t.encodings(context), np.eye(context)], 1)
    layers = tuple(map(layer, t.layers))
    return limit.Transformer(
        t.alphabet, wide(t.E), positions, layers, wide(t.U), context, t.precision
    )


@claim(
    "limit.hypothesis_class",
    ref="Definitions 4, 46",
    statement=r"T \in \Theta_n \iff N(T) = n,\ \text{products with } p_i \text{ constant, with } "
    r"p_i, p_j \text{ functions of } j - i",
)
def hypothesis_class():
    """The membership test takes the translations of Lemma 47 and refuses the naive ones.

    The naive one breaks it for periodic encodings alone. Control: it refuses none.
    """

    def build(name):
        t = crasp.compile(crasp.load(name)).transformer
        inside = lambda found: limit.in_hypothesis_class(found, 6)
        return inside(limit.to_finite(t, 6)), inside(naive(t, 6)), t.period == 1

    return construction(
        build=build,
        has=lambda found: found[0] and found[1] == found[2],
        cases=COMPILED,
        control=dict(has=lambda found: found[0] and found[1]),
    )


# Definitions 5, 16, 50: the regularisers ---------------------------------------------------------


@claim(
    "limit.regularizer",
    ref="Definitions 5, 16, eqs. (7), (8)",
    statement=r"R(T) = R_-(T) + \sum_{l,h,j} |p_1^T K^T Q p_j|^2,\ d \text{ not in it}",
)
def regularizer():
    """R splits so, (8) is the printed sum, and further dimensions of zeros change nothing.

    Control: for R_inf, which has the width in it.
    """

    def build(seed):
        t = drawn(seed, context=5)
        t = dataclasses.replace(
            t, layers=tuple(
                dataclasses.replace(
                    l, heads=tuple(dataclasses.replace(h, phi=None) for h in l.heads)
                )
                for l in t.layers
            )
        )  # fmt: skip
        return t, naive(dataclasses.replace(t, context=None), 5)

    def splits(pair):
        t, _ = pair
        printed = sum(
            float(t.positions[0] @ h.K.T @ h.Q @ p) ** 2
            for l in t.layers for h in l.heads for p in t.positions
        )  # fmt: skip
        return math.isclose(limit.regularizer(t), limit.regularizer_minus(t) + printed)

    def padded(t, infinite=False):
        wide = lambda a: np.pad(a, [(0, 0), (0, 2)])
        head = lambda h: limit.Head(wide(h.K), wide(h.Q), np.pad(h.V, [(0, 2), (0, 2)]))
        layer = lambda l: limit.Layer(
            tuple(map(head, l.heads)), wide(l.A), np.pad(l.B, [(0, 2), (0, 0)]), l.b, l.heaviside
        )
        context = None if infinite else t.context
        return dataclasses.replace(
            t, E=wide(t.E), positions=wide(t.positions), U=wide(t.U), context=context,
            layers=tuple(map(layer, t.layers)),
        )  # fmt: skip

    same = lambda pair: math.isclose(limit.regularizer(pair[0]), limit.regularizer(padded(pair[0])))
    wider = lambda pair: (
        limit.regularizer_infinity(dataclasses.replace(pair[0], context=None))
        == limit.regularizer_infinity(padded(pair[0], True))
    )
    return construction(
        build=build,
        has={"it is the sum": splits, "the width is not in it": same},
        cases=range(6),
        control=dict(has=wider),
    )


SEQUENCES = [p for n in range(1, 5) for p in itertools.product((0, 1), repeat=n)]
"""One period of a sequence of encodings."""


def least_period(p):
    """Return the least Delta with p_i = p_(i + Delta)."""
    return min(k for k in range(1, len(p) + 1) if p[k:] + p[:k] == p)


@claim(
    "limit.regularizer.period",
    ref="Definition 50, footnote 11",
    statement=r"\Delta = 1 + \sup\{\Delta: p_i \not\equiv p_{i + \Delta}\}",
    expect="refuted",
)
def period():
    """Of a sequence that is not constant, no multiple of anything else but the period fits.

    So the supremum is infinite; here shifts up to 12 are looked at. Control: without the 1.
    """
    fails = lambda p: [k for k in range(1, 13) if p[k % len(p) :] + p[: k % len(p)] != p]
    formula = lambda p, one: one + max(fails(p), default=0)
    return exhaustive(
        predicate=lambda p: formula(p, 1) == least_period(p),
        universe=SEQUENCES,
        control=dict(predicate=lambda p: formula(p, 0) == least_period(p)),
    )


@claim(
    "limit.regularizer.period.repaired",
    ref="Definition 50",
    statement=r"\Delta = \min\{\Delta \ge 1: p_i \equiv p_{i + \Delta}\}",
)
def period_repaired():
    """The minimum is the period: it divides all others. Control: the first shift that fails."""
    fits = lambda p: [k for k in range(1, 13) if p[k % len(p) :] + p[: k % len(p)] == p]
    fails = lambda p: [k for k in range(1, 13) if k not in fits(p)] or [1]
    divides = lambda least, p: all(k % least == 0 for k in fits(p))
    return exhaustive(
        predicate=lambda p: divides(min(fits(p)), p),
        universe=SEQUENCES,
        control=dict(predicate=lambda p: divides(min(fails(p)) + 1, p)),
    )


# Lemmas 48 and 49 --------------------------------------------------------------------------------


def corner(N):
    """Return G of p_1 = (1, 0), p_N = (0, 1), all others 0, and A = e_1 e_2^T: rank 1."""
    p = [(1, 0)] + [(0, 0)] * (N - 2) + [(0, 1)]
    f = [[u[0] * v[1] for v in p] for u in p]
    invariant = all(f[i][j] == f[i + 1][j + 1] for i in range(N - 1) for j in range(i, N - 1))
    return f[0], invariant


def repeats(G, period, skip=0):
    """Whether G(n) = G(n + period) wherever n + period + skip < N."""
    return all(G[n] == G[n + period] for n in range(max(0, len(G) - period - skip)))


PACKED = 160
"""More than the (1 + 8 sqrt(2))^2 points of R^2, norm at most sqrt(2), that are 1/4 apart."""


@claim(
    "limit.48.periodic",
    ref="Lemma 48",
    statement=r"G(n) = G(n + \Delta) \text{ for } n + \Delta < N,\ \Delta \text{ bounded by rank, "
    r"precision and norms alone}",
    expect="refuted",
)
def periodic():
    """The product of p_1 and p_N is one of a kind: translation invariance says nothing of it.

    Rank 1, norms 1, precision 0, so Delta is at most the packing number of the proof, below 160;
    at N = 200 no Delta below 200 fits. The proof finds i < j with p_i near p_j and so speaks of
    n < N - j only. Members are N. Control: Delta at most 1.
    """
    fits = lambda N, most: any(repeats(corner(N)[0], k) for k in range(1, min(most, N) + 1))
    holds = lambda most: lambda N: not corner(N)[1] or fits(N, most)
    return exhaustive(
        predicate=holds(PACKED),
        universe=[10, 100, 200],
        control=dict(predicate=holds(1)),
    )


@claim(
    "limit.48.periodic.repaired",
    ref="Lemma 48",
    statement=r"G(n) = G(n + \Delta) \text{ for } n + \Delta + c < N,\ \Delta \text{ and } c "
    r"\text{ bounded by the number of different } p_i",
)
def periodic_repaired():
    """Away from the end it holds: with k different p_i, for Delta and c at most k.

    All sequences of 8 encodings from (0, 0), (1, 0), (0, 1) and (1, 1), with A = e_1 e_2^T,
    whose products are translation-invariant. Control: c = 0.
    """
    N = 8

    def holds(c):
        def predicate(p):
            kinds = len(set(p))
            G = [p[0][0] * v[1] for v in p]
            return any(repeats(G, k, c * kinds) for k in range(1, kinds + 1))

        return predicate

    pairs = list(itertools.product((0, 1), repeat=2))
    invariant = lambda p: all(
        p[i][0] * p[j][1] == p[i + 1][0] * p[j + 1][1]
        for i in range(N - 1) for j in range(i, N - 1)
    )  # fmt: skip
    members = [p for p in itertools.product(pairs, repeat=N) if invariant(p)]
    return exhaustive(predicate=holds(1), universe=members, control=dict(predicate=holds(0)))


def product_bits(L, seed, p=2):
    """Return the fractional bits of v^T (V ... V)^T K^T Q (V ... V) w with L matrices a side."""
    rng = np.random.default_rng(seed)
    some = lambda *shape: [
        [Fraction(int(v), 2**p) for v in row] for row in rng.integers(-7, 8, shape)
    ]
    times = lambda X, Y: [
        [sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*Y, strict=True)]
        for row in X
    ]
    found = some(1, 2)
    for _ in range(2 * L + 2):
        found = times(found, some(2, 2))
    value = times(found, some(2, 1))[0][0]
    return value.denominator.bit_length() - 1


@claim(
    "limit.49.precision",
    ref="Lemma 49",
    statement=r"\text{products of parameters with } p \text{ fractional bits have } (4 + 2L) p",
)
def precision():
    """With 2 L value matrices, K, Q and two vectors. Control: (3 + 2 L) p."""
    cases = [(L, seed) for L in (1, 2, 3) for seed in range(20)]
    within = lambda factors: lambda case: product_bits(*case) <= factors(case[0]) * 2
    return exhaustive(
        predicate=within(lambda L: 4 + 2 * L),
        universe=cases,
        control=dict(predicate=within(lambda L: 3 + 2 * L)),
    )


@claim(
    "limit.49.precision.bound",
    ref="Appendix F.4.2",
    statement=r"\text{parameters taken from product functions have precision} \le 4 L p",
    expect="refuted",
)
def precision_bound():
    """With one layer, 4 L is less than the 4 + 2 L of Lemma 49. Control: 2 L p."""
    cases = [(L, seed) for L in (1, 2, 3) for seed in range(20)]
    within = lambda factor: lambda case: product_bits(*case) <= factor * case[0] * 2
    return exhaustive(predicate=within(4), universe=cases, control=dict(predicate=within(2)))


# Proposition 54 and Lemma 56 ---------------------------------------------------------------------


def squared_products(d):
    """Return the statistic: mean |p_i^T A p_j|^2 for i != j and for i = j."""

    def statistic(key):
        keys = random.split(key, 2)
        p = random.normal(keys[0], (64, d)) / math.sqrt(d)
        A = random.normal(keys[1], (64, d, d)) / math.sqrt(d)
        q = jnp.roll(p, 1, 0)
        form = lambda u, v: jnp.einsum("nu,nuv,nv->n", u, A, v) ** 2
        return jnp.stack([form(p, q).mean(), form(p, p).mean()])

    return statistic


@claim(
    "limit.54.initialisation",
    ref="Proposition 54, proof",
    statement=r"\mathbb E |p_i^T A p_j|^2 = \frac1d\ (i \ne j),\ \frac{d + 2}{d^2}\ (i = j)",
)
def initialisation():
    """The two expectations at d = 8, for entries N(0, 1/d) of p and A = K^T Q.

    The proof's sum for i = j is 3 d + d^2 - d over d^3. Control: 3 / d for i = j.
    """
    return expectation(
        statistic=squared_products(8),
        value=np.array([1 / 8, 10 / 64]),
        replicates=64,
        control=dict(value=np.array([1 / 8, 3 / 8])),
    )


@claim(
    "limit.54.initialisation.diagonal",
    ref="Proposition 54, proof",
    statement=r"\frac{d + 2}{d^2} < \frac3d",
    expect="refuted",
)
def diagonal():
    """At d = 1 the two are equal. Control: 2 / d."""
    below = lambda c: lambda d: Fraction(d + 2, d * d) < Fraction(c, d)
    return exhaustive(predicate=below(3), universe=range(1, 50), control=dict(predicate=below(2)))


@claim(
    "limit.54.initialisation.diagonal.repaired",
    ref="Proposition 54, proof",
    statement=r"\frac{d + 2}{d^2} < \frac3d,\ d \ge 2",
)
def diagonal_repaired():
    """From d = 2 on it holds. Control: 2 / d."""
    below = lambda c: lambda d: Fraction(d + 2, d * d) < Fraction(c, d)
    return exhaustive(predicate=below(3), universe=range(2, 200), control=dict(predicate=below(2)))


@claim(
    "limit.54.regularizer",
    ref="Proposition 54",
    statement=r"\mathbb E \frac1N \sum_{l,h} \sum_{i \le j \le N} |p_i^T K^T Q p_j|^2 = O(1),\ "
    r"d = N",
)
def regularizer_at_start():
    """The sum, from the two expectations, does not grow with N = d; L = H = 2.

    Control: the width does not grow.
    """

    def total(N, d):
        N, d = int(N), int(d)
        off, on = Fraction(1, d), Fraction(d + 2, d * d)
        return float(4 * (Fraction(N * (N - 1), 2) * off + N * on) / N)

    return rate(
        measure=lambda N: total(N, N),
        at=(64, 256, 1024),
        exponent=0,
        tolerance=0.05,
        control=dict(measure=lambda N: total(N, 64)),
    )


@claim(
    "limit.56.nuclear",
    ref="Lemma 56, eq. (71)",
    statement=r"\|A\| \ge \frac{\|G\|_*}{n},\ G_{ij} = x_i^T A x_j,\ \|x_i\| = 1",
)
def nuclear():
    """The spectral norm is at least the nuclear norm of the Gram-like matrix, over n.

    Control: over n / 2.
    """

    def mean(A, X, share=1.0):
        X = X / jnp.maximum(jnp.linalg.norm(X, axis=1, keepdims=True), 1e-6)
        G = X @ A @ X.T
        return jnp.linalg.svd(G, compute_uv=False).sum() / (share * len(X))

    return inequality(
        lhs=mean,
        rhs=lambda A: jnp.linalg.svd(A, compute_uv=False)[0],
        over=inputs(A=reals("d d"), X=reals("n d"), n=(4,), d=(3,)),
        control=dict(lhs=lambda A, X: mean(A, X, 0.5)),
    )
