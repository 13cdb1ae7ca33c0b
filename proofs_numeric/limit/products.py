"""Definitions 4, 5, 43, 46, 50, Lemmas 48, 49, 56, Proposition 54: products and regularisers."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.proofs_numeric.limit._drawn import drawn
from theorykit.subjects import crasp, limit

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
    falls="wording",
    consequence="Biases and activation functions have to be given beside the products; nothing "
    "in the proofs changes.",
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
    falls="wording",
    consequence="The number of products with rows of A and columns of B grows with d; of those "
    "between positions, symbols and outputs, of which the sentence speaks, it does not.",
    mathematics=True,
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
    falls="statement",
    consequence="Products are periodic away from the end only; Lemma 52 and Theorem 7 use the "
    "lemma up to the last position.",
    mathematics=True,
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
        [Fraction(int(v), 2**p) for v in row]
        for row in np.asarray(rng.integers(-7, 8, shape)).tolist()
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
    falls="wording",
    consequence="A constant: 4 L p is too small for L = 1, where Lemma 49 has (4 + 2 L) p.",
)
def precision_bound():
    """With one layer, 4 L is less than the 4 + 2 L of Lemma 49. Control: 2 L p."""
    cases = [(L, seed) for L in (1, 2, 3) for seed in range(20)]
    within = lambda factor: lambda case: product_bits(*case) <= factor * case[0] * 2
    return exhaustive(predicate=within(4), universe=cases, control=dict(predicate=within(2)))
