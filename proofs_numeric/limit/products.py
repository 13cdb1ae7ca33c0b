"""Definitions 4, 5, 43, 46, 50, Lemmas 48, 49, 56, Proposition 54: products and regularisers."""

import dataclasses
import itertools

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.proofs_numeric.limit._drawn import drawn, each_head
from theorykit.subjects import crasp, limit

# Definition 43 -----------------------------------------------------------------------------------


def sheared(t, seed, values=True):
    """Return a transformer with the same products: an invertible map of the residual stream.

    Its determinant is 1, so the inverse also has integer entries. Without `values`, V stays.
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
    repairs="limit.products.biases",
)
def products():
    """Parameters changed so that all products stay give the same outputs, exactly.

    Biases and activation functions, which are not products, are kept. Control: V unchanged.
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
    consequence="Biases and activation functions must be given besides the products; nothing "
    "in the proofs changes.",
)
def biases():
    """Biases b_l occur in no product function, and outputs depend on them.

    Control: the same biases, and another unembedding, which does occur in products.
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


def sizes(L=1, H=1, N=2, symbols=2, d=2):
    """Return a transformer of these sizes, with all columns of B and rows of A nonzero."""
    ones = lambda *shape: np.ones(shape)
    head = limit.Head(ones(d, d), ones(d, d), ones(d, d))
    layer = limit.Layer((head,) * H, ones(d, d), ones(d, d), ones(d), ones(d) > 0)
    names = ("$", *map(str, range(symbols - 1)))
    return limit.Transformer(names, ones(symbols, d), ones(N, d), (layer,) * L, ones(2, d), N)


def number_of_products(t, hidden):
    """Return the number of product functions, with or without the vectors of MLPs."""
    m = len(t.layers[0].b) * t.depth if hidden else 0
    outgoing, incoming = t.context + len(t.alphabet) + m, len(t.U) + m
    along = len(limit.paths(t))
    return t.depth * t.heads * (along * outgoing) ** 2 + along * incoming * outgoing


def depends(hidden, size):
    """Return the predicate: the number of products does not change with a size."""
    number = lambda **found: number_of_products(sizes(**found), hidden)
    return lambda m: number(**m) == number(**m | {size: m[size] + 1})


SIZES = [
    dict(zip(("L", "H", "N", "symbols", "d"), m, strict=True))
    for m in itertools.product((1, 2), (1, 2), (2, 5), (2, 3), (1, 4))
]


@claim(
    "limit.products.number",
    ref="Sec. 3.1, Definition 43",
    statement=r"|\{\alpha\}| + |\{\beta\}| \text{ does not depend on } d",
    expect="refuted",
    falls="wording",
    consequence="It is true of the products of positions, symbols and outputs, such as those "
    "displayed; those with columns of B and rows of A, which belong to the "
    "parameterisation, grow with d, until appendix F.4.1 leaves out the units that "
    "are zero.",
    mathematics=True,
)
def number():
    """The vectors include the columns of B_l and the rows of A_l, L d of each.

    Members are L, H, N, |Sigma| and d. Control: it does not depend on N.
    """
    return exhaustive(
        predicate=depends(True, "d"), universe=SIZES, control=dict(predicate=depends(True, "N"))
    )


@claim(
    "limit.products.number.repaired",
    ref="Sec. 3.1, eq. (5)",
    statement=r"\text{the number of products of } p_i,\ E_\sigma,\ U_\sigma "
    r"\text{ does not depend on } d",
)
def number_repaired():
    """Without the vectors of MLPs, the number does not depend on d. Control: nor on N."""
    return exhaustive(
        predicate=depends(False, "d"), universe=SIZES, control=dict(predicate=depends(False, "N"))
    )


def remark(layer):
    """Return the predicate: the third example of Remark 44, with K and Q of this layer.

    Members are seeds of transformers with three layers.
    """

    def predicate(seed):
        t = drawn(seed, depth=3)
        V = lambda l, h: t.layers[l - 1].heads[h - 1].V
        KQ = t.layers[layer - 1].heads[0].KQ
        v, w = t.E[1], t.E[2]
        written = v @ V(1, 2).T @ V(2, 1).T @ KQ @ V(1, 1) @ w
        return written == limit.alpha(t, 3, 1, ((1, 2), (2, 1)), ((1, 1),), v[None], w[None])[0, 0]

    return predicate


@claim(
    "limit.products.remark",
    ref="Remark 44",
    statement=r"\alpha_{3,h,\{V_{2,h'}, V_{1,h''}\},\{V_{1,g}\},E_\sigma,E_\tau} = "
    r"E_\sigma^T V_{1,h''}^T V_{2,h'}^T K_{2,h}^T Q_{2,h} V_{1,g} E_\tau",
    expect="refuted",
    falls="wording",
    consequence="An index in an example: the matrices are those of layer 3, as in Definition 43.",
)
def remark_printed():
    """A product of layer 3 has layer 3's K and Q, not layer 2's. Control: layer 1's."""
    return exhaustive(predicate=remark(2), universe=range(10), control=dict(predicate=remark(1)))


@claim(
    "limit.products.remark.repaired",
    ref="Remark 44",
    statement=r"\alpha_{3,h,\{V_{2,h'}, V_{1,h''}\},\{V_{1,g}\},E_\sigma,E_\tau} = "
    r"E_\sigma^T V_{1,h''}^T V_{2,h'}^T K_{3,h}^T Q_{3,h} V_{1,g} E_\tau",
)
def remark_repaired():
    """With layer 3's K and Q, the product is that of Definition 43. Control: with layer 2's."""
    return exhaustive(predicate=remark(3), universe=range(10), control=dict(predicate=remark(2)))


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


def by_definition(t, alphas=True):
    """Whether all product functions with positional encodings ignore the offset (Definition 46).

    One by one, along all sets of value matrices. Without `alphas`, the betas alone.
    """
    p, others = t.encodings(t.context), np.concatenate([t.E, *(l.B.T for l in t.layers)])
    readers = np.concatenate([*(l.A for l in t.layers), t.U])
    along = limit.paths(t)
    constant = lambda values: not np.ptp(values, axis=-1).any()
    diagonal = lambda G: all(constant(np.diagonal(G, k)) for k in range(1 - len(G), len(G)))
    betas = all(constant(limit.beta(t, s, readers, p)) for s in along)
    if not alphas:
        return betas
    pairs = [
        (l, h, first, second)
        for l, layer in enumerate(t.layers, 1) for h in range(1, len(layer.heads) + 1)
        for first, second in itertools.product(along, along)
    ]  # fmt: skip
    return betas and all(
        diagonal(limit.alpha(t, *of, p, p))
        and constant(limit.alpha(t, *of, p, others).T)
        and constant(limit.alpha(t, *of, others, p))
        for of in pairs
    )


def with_product(M, value=False):
    """Return a transformer of one layer, or two, where one K^T Q is M and nothing reads positions.

    Dimensions: a unit vector for each of four positions, the symbols, the output. With `value` the
    first layer carries positions to where the second layer's K finds them.
    """
    n, d = 4, 4 + 4 + 3
    unit = np.eye(d)
    carry = np.zeros((d, d))
    carry[4:8, :4] = np.eye(4)
    none = np.zeros((0, d))
    keys = np.pad(np.eye(len(M)), [(0, 0), (4 * value, d - len(M) - 4 * value)])
    queries = np.pad(np.array(M, float), [(0, 0), (0, d - len(M))])
    layers = [limit.Layer((limit.Head(keys, queries, np.zeros((d, d))),), *limit.mlp(d))]
    if value:
        layers.insert(0, limit.Layer((limit.Head(none, none, carry),), *limit.mlp(d)))
    return limit.Transformer(
        ("$", "a"), unit[8:10], unit[:n], tuple(layers), unit[10:], n, precision=2
    )


SHIFT, LONELY = np.eye(4, k=1), np.diag([1.0, 0, 0, 0])
ASYMMETRIC = np.pad(np.diag([1.0, 0, 0, 0]), [(0, 5), (0, 5)])
ASYMMETRIC[0, 0], ASYMMETRIC[2, 8] = 0, 1  # the third position as key, `$` as query


def member(case):
    """Return a transformer, and whether it is in Theta_n by Definition 46."""
    kind, what = case
    if kind == "product":
        t = with_product(*what)
    else:
        made = crasp.compile(crasp.load(what)).transformer
        t = limit.to_finite(made, 6) if kind == "translated" else naive(made, 6)
    return t


MEMBERS = [
    *(("translated", name) for name in COMPILED), *(("naive", name) for name in COMPILED[:2]),
    ("product", (np.eye(4),)), ("product", (SHIFT,)), ("product", (LONELY,)),
    ("product", (ASYMMETRIC,)), ("product", (ASYMMETRIC.T,)), ("product", (np.eye(4), True)),
    ("product", (LONELY, True)),
]  # fmt: skip
"""Lemma 47's translations, the naive ones, and single products that break it or do not."""


@claim(
    "limit.hypothesis_class",
    ref="Definitions 4, 46",
    statement=r"T \in \Theta_n \iff N(T) = n,\ \text{products with } p_i \text{ constant, with } "
    r"p_i, p_j \text{ functions of } j - i",
)
def hypothesis_class():
    """The membership test agrees with the definition, product by product.

    Tried on the translations of Lemma 47; on the naive ones, which break it for periodic encodings
    only; and on transformers in which a single product alpha breaks it: with two positions or with
    one, as key, as query or through a value matrix. Control: by the products beta alone.
    """

    def build(case, alphas=True):
        t = member(case)
        inside = limit.in_hypothesis_class(t, t.context)
        return inside, by_definition(t, alphas), limit.in_hypothesis_class(t, t.context + 1)

    return construction(
        build=build,
        has=lambda found: found[0] == found[1] and not found[2],
        telling=lambda found: not found[1],
        cases=MEMBERS,
        control=dict(build=lambda case: build(case, False)),
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
    """The product of p_1 and p_N is the only one at its distance: invariance says nothing about it.

    Rank 1, norms 1, precision 0, so Delta is at most the packing number of the proof, below 160; at
    N = 200 no Delta below 200 fits. The proof finds i < j with p_i near p_j, and so covers n < N -
    j only. Members are N. Control: Delta at most 1.
    """
    fits = lambda N, most: any(repeats(corner(N)[0], k) for k in range(1, min(most, N) + 1))
    holds = lambda most: lambda N: not corner(N)[1] or fits(N, most)
    return exhaustive(
        predicate=holds(PACKED),
        universe=[10, 100, 200],
        control=dict(predicate=holds(1)),
    )


def invariant_sequences(A, vectors, length):
    """Return sequences of encodings with products p_i^T A p_j that depend on j - i only, with A.

    These are all of that length with products, except that of the first and the last, not all
    equal.
    """
    form = {(u, v): int(np.array(u) @ A @ np.array(v)) for u in vectors for v in vectors}
    found: list[tuple] = [(v,) for v in vectors]
    for _ in range(length - 1):
        longer = [(*p, v) for p in found for v in vectors]
        found = [
            p for p in longer
            if all(form[p[i], p[-1]] == form[p[i - 1], p[-2]] for i in range(1, len(p)))
        ]  # fmt: skip
    return [(p, A) for p in found if len({form[p[0], v] for v in p[:-1]}) > 1]


def by_distance(member):
    """Return G(0), ..., G(N - 1) of Lemma 48, by the product functions."""
    p, A = np.array(member[0], float), np.array(member[1], float)
    d = len(A)
    head = limit.Head(np.eye(d), A, np.zeros((d, d)))
    layers = (limit.Layer((head,), *limit.mlp(d)),)
    t = limit.Transformer(("$",), np.zeros((1, d)), p, layers, np.eye(d), len(p))
    return limit.alpha(t, 1, 1, (), (), t.positions, t.positions)[0].tolist()


@claim(
    "limit.48.periodic.repaired",
    ref="Lemma 48",
    statement=r"G(n) = G(n + \Delta) \text{ for } n + \Delta + c < N,\ \Delta + c \le k "
    r"\text{ different } p_i",
    mathematics=True,
)
def periodic_repaired():
    """Away from the end it holds: with k different p_i, Delta + c <= k for some Delta >= 1 and c.

    All translation-invariant sequences of 12 encodings whose products are not all equal: of unit
    vectors, with A the identity or a cyclic shift; and of two unit vectors, with a first and a last
    encoding that may differ. Periods are 2, 3 and 4. Control: c = 0.
    """

    def holds(more):
        def predicate(member):
            k, G = len(set(member[0])), by_distance(member)
            return any(repeats(G, period, more * (k - period)) for period in range(1, k + 1))

        return predicate

    least = lambda G: min(k for k in range(1, len(G)) if repeats(G, k, 4))
    unit = np.eye(4, dtype=int)
    units = list(map(tuple, unit.tolist()))
    ends = [(1, 0, 1, 0), units[0], units[1], (0, 1, 0, 1)]
    special = np.outer(unit[0], unit[0]) + np.outer(unit[1], unit[1]) + np.outer(unit[2], unit[3])
    cases = [(unit, units, 12), (np.roll(unit, 1, 0), units, 12), (special, ends, 12)]
    members = [m for case in cases for m in invariant_sequences(*case)]
    return exhaustive(
        predicate=holds(1),
        universe=members,
        telling=lambda member: least(by_distance(member)) > 1,
        control=dict(predicate=holds(0)),
    )


def product_bits(L, seed, p=2):
    """Return the fractional bits of v^T (V ... V)^T K^T Q (V ... V) w with L matrices per side."""
    t = drawn(seed, depth=L, heads=1)
    rng = np.random.default_rng(seed)
    some = lambda *shape: rng.integers(-7, 8, shape) / 2**p
    head = lambda h: limit.Head(some(2, 3), some(2, 3), some(3, 3))
    t = dataclasses.replace(each_head(t, head), E=some(3, 3))
    path = tuple((l, 1) for l in range(1, L + 1))
    return limit.fractional_bits(limit.alpha(t, L, 1, path, path, t.E, t.E))


@claim(
    "limit.49.precision",
    ref="Lemma 49",
    statement=r"\text{products of parameters with } p \text{ fractional bits have } (4 + 2L) p",
    repairs="limit.49.precision.bound",
)
def precision():
    """A product of 2 L value matrices, K, Q and two vectors has (4 + 2 L) p bits.

    Control: (3 + 2 L) p.
    """
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
