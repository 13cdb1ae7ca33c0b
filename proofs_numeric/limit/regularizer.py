"""Definitions 5, 16, 50, Proposition 54, Lemma 56: the regularisers."""

import dataclasses
import itertools
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jax import random

from theorykit import claim
from theorykit.checks import construction, exhaustive, expectation, inequality, normal
from theorykit.checks.domains import inputs, reals
from theorykit.proofs_numeric.limit._drawn import drawn, each_head
from theorykit.subjects import limit

# Definitions 5, 16, 50: the regularisers ---------------------------------------------------------


def spectral(M):
    """Return the largest singular value, by eigenvalues."""
    return math.sqrt(max(np.linalg.eigvalsh(M.T @ M).max(), 0.0))


def euclidean(v):
    """Return the root of the sum of squares."""
    return math.sqrt(sum(float(x) ** 2 for x in np.ravel(v)))


def parameter_bits(arrays):
    """Return the fractional bits that all entries fit into."""
    fits = lambda p: all((a * 2.0**p == np.floor(a * 2.0**p)).all() for a in arrays)
    return next(p for p in range(60) if fits(p))


def by_items(t, first=euclidean):
    """Return R(T) by Definition 5, item by item."""
    layers, heads = t.layers, [h for l in t.layers for h in l.heads]
    p_1, KQ = t.positions[0], [h.K.T @ h.Q for h in heads]
    return (
        len(layers) + max(len(l.heads) for l in layers)
        + parameter_bits(t.parameters) + t.precision
        + max(sum(np.linalg.eigvalsh(h.V.T @ h.V) > 1e-9) for h in heads)
        + max(map(spectral, KQ)) + max(spectral(h.V) for h in heads)
        + max(first(l.A) for l in layers) + max(euclidean(l.B) for l in layers) + spectral(t.U)
        + max(map(euclidean, t.positions)) + max(map(euclidean, t.E))
        + max(euclidean(l.b) for l in layers)
        + sum(float(p_1 @ M @ p) ** 2 for M in KQ for p in t.positions)
    )  # fmt: skip


def by_items_infinity(t, squared=True):
    """Return R_inf(T) by Definition 50, item by item; the period is the least one."""
    period = next(
        k for k in range(1, 13)
        if all((t.encodings(24)[i] == t.encodings(24)[i + k]).all() for i in range(24 - k))
    )  # fmt: skip
    far = lambda h: sum(abs(v) ** (2 if squared else 1) for v in h.phi.values[1:])
    return (
        t.depth + t.heads + t.E.shape[1]
        + parameter_bits(t.parameters) + t.precision
        + max(float(np.abs(a).max()) for a in t.parameters if a.size)
        + period + max(far(h) for l in t.layers for h in l.heads)
    )  # fmt: skip


def finite(seed):
    """Return a random transformer whose layers and heads differ in every item."""
    t = each_head(drawn(seed, context=5), lambda h: dataclasses.replace(h, phi=None))
    return dataclasses.replace(t, precision=1 + seed % 3)


@claim(
    "limit.regularizer",
    ref="Definitions 5, 16, eqs. (7), (8)",
    statement=r"R(T) = L + H + p + p + \max \mathrm{rank}\, V + \dots + "
    r"\sum_{l,h,j} |p_1^T K^T Q p_j|^2 = R_-(T) + \sum_{l,h,j} |p_1^T K^T Q p_j|^2",
)
def regularizer():
    """R is the sum of Definition 5's items, and R_- that without the last. Random transformers.

    Control: the spectral norm of A for its Frobenius norm.
    """

    def splits(t):
        last = sum(
            float(t.positions[0] @ h.K.T @ h.Q @ p) ** 2
            for l in t.layers for h in l.heads for p in t.positions
        )  # fmt: skip
        return math.isclose(limit.regularizer(t) - limit.regularizer_minus(t), last, abs_tol=1e-9)

    items = lambda first: lambda t: math.isclose(limit.regularizer(t), by_items(t, first))
    return construction(
        build=finite,
        has={"it is the sum": items(euclidean), "R_- is the rest": splits},
        cases=range(12),
        control=dict(has=items(spectral)),
    )


@claim(
    "limit.regularizer.width",
    ref="Definition 5",
    statement=r"d \text{ does not enter } R(T)",
)
def width_free():
    """Further dimensions of zeros change nothing. Control: for R_inf, which has the width in it."""

    def padded(t):
        wide = lambda a: np.pad(a, [(0, 0), (0, 2)])
        head = lambda h: limit.Head(wide(h.K), wide(h.Q), np.pad(h.V, [(0, 2), (0, 2)]), h.phi)
        layer = lambda l: limit.Layer(
            tuple(map(head, l.heads)), wide(l.A), np.pad(l.B, [(0, 2), (0, 0)]), l.b, l.heaviside
        )
        return dataclasses.replace(
            t, E=wide(t.E), positions=wide(t.positions), U=wide(t.U),
            layers=tuple(map(layer, t.layers)),
        )  # fmt: skip

    infinite = lambda t: limit.regularizer_infinity(dataclasses.replace(t, context=None))
    return construction(
        build=finite,
        has=lambda t: math.isclose(limit.regularizer(t), limit.regularizer(padded(t))),
        cases=range(6),
        control=dict(has=lambda t: math.isclose(infinite(t), infinite(padded(t)))),
    )


@claim(
    "limit.regularizer.infinity",
    ref="Definition 50",
    statement=r"R_\infty(T) = L + H + d + p + p + \max \|\cdot\|_\infty + \Delta + "
    r"\max_{l,h} \sum_{i \ge 1} |\phi_{l,h}(1, 1 + i)|^2",
)
def infinity():
    """R_inf is the sum of Definition 50's items, for random Limit Transformers of periods 1 to 4.

    Control: phi not squared.
    """

    def build(seed):
        t = dataclasses.replace(drawn(seed), context=None, precision=1 + seed % 3)
        return dataclasses.replace(t, positions=t.positions[: 1 + seed % 4])

    items = lambda squared: (
        lambda t: math.isclose(limit.regularizer_infinity(t), by_items_infinity(t, squared))
    )
    return construction(
        build=build, has=items(True), cases=range(12), control=dict(has=items(False))
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
    falls="wording",
    consequence="A footnote: the least shift that fits is meant, not one more than the largest "
    "that does not.",
    mathematics=True,
)
def period():
    """A sequence that is not constant is fitted only by multiples of the period.

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
    """The period of a Limit Transformer is the least shift that fits, and divides all others.

    Control: the first shift that fails.
    """
    fits = lambda p: [k for k in range(1, 13) if p[k % len(p) :] + p[: k % len(p)] == p]
    fails = lambda p: [k for k in range(1, 13) if k not in fits(p)] or [1]
    of = lambda p: (
        limit.Transformer(
            ("$",), np.zeros((1, 1)), np.array(p, float)[:, None], (), np.zeros((1, 1))
        ).period
    )
    divides = lambda least, p: least in fits(p) and all(k % least == 0 for k in fits(p))
    return exhaustive(
        predicate=lambda p: divides(of(p), p),
        universe=SEQUENCES,
        telling=lambda p: len(set(p)) > 1,
        control=dict(predicate=lambda p: divides(fails(p)[0], p)),
    )


# Proposition 54 and Lemma 56 ---------------------------------------------------------------------


def squared_products(A, p):
    """Return |p_i^T A p_j|^2 for i != j and for i = j."""
    form = p @ A @ p.T
    return jnp.stack([form[0, 1] ** 2, form[0, 0] ** 2])


@claim(
    "limit.54.initialisation",
    ref="Proposition 54, proof",
    statement=r"\mathbb E |p_i^T A p_j|^2 = \frac1d\ (i \ne j),\ \frac{d + 2}{d^2}\ (i = j)",
    mathematics=True,
)
def initialisation():
    """The two expectations at d = 8, for entries N(0, 1/d) of p and A = K^T Q.

    The proof's sum for i = j is 3 d + d^2 - d over d^3. Control: 3 / d for i = j.
    """
    share = Fraction(1, 8)
    return expectation(
        statistic=squared_products,
        draws=dict(A=normal("8 8", variance=share), p=normal("2 8", variance=share)),
        each=64,
        value=[share, Fraction(10, 64)],
        control=dict(value=[share, 3 * share]),
    )


@claim(
    "limit.54.initialisation.diagonal",
    ref="Proposition 54, proof",
    statement=r"\frac{d + 2}{d^2} < \frac3d,\ d \ge 2",
    mathematics=True,
)
def diagonal():
    """The bound for i = j holds for widths up to 200; at d = 1 it is an equality.

    Control: less than 1/d + 1/d^2.
    """
    term = lambda d: Fraction(d + 2, d * d)
    return exhaustive(
        predicate=lambda d: term(d) < Fraction(3, d),
        universe=range(2, 201),
        control=dict(predicate=lambda d: term(d) < Fraction(1, d) + Fraction(1, d * d)),
    )


def at_start(rng, N, L=2, H=2):
    """Return a transformer of width and context N as it is initialised, without MLPs."""
    some = lambda *shape: rng.standard_normal(shape) / math.sqrt(N)
    head = lambda: limit.Head(some(N, N), some(N, N), np.zeros((N, N)))
    layer = lambda: limit.Layer(tuple(head() for _ in range(H)), *limit.mlp(N))
    layers = tuple(layer() for _ in range(L))
    return limit.Transformer(("$",), np.zeros((1, N)), some(N, N), layers, some(1, N), N, None)


@claim(
    "limit.54.regularizer",
    ref="Proposition 54, eqs. (66), (68)",
    statement=r"\mathbb E \sum_{l,h} \sum_{j \le N} |p_1^T K^T Q p_j|^2 = "
    r"L H \left(\frac{N - 1}{d} + \frac{d + 2}{d^2}\right) = O(1),\ d = N",
)
def regularizer_at_start():
    """The term (8) of R at initialisation, d = N and L = H = 2, is 4 (1 + 2/d^2).

    The mean of `regularizer - regularizer_minus` over drawn transformers, at N = 4 and 8.
    Control: the width does not grow.
    """

    def term(N, seed):
        t = at_start(np.random.default_rng(seed), N)
        return limit.regularizer(t) - limit.regularizer_minus(t)

    def statistic(key):
        seed = int(random.randint(key, (), 0, 2**31 - 1))
        return np.array([np.mean([term(N, (seed, k)) for k in range(8)]) for N in (4, 8)])

    term_of = lambda N, d: 4 * ((N - 1) / d + (d + 2) / d**2)
    return expectation(
        statistic=statistic,
        value=np.array([term_of(4, 4), term_of(8, 8)]),
        replicates=32,
        vectorize=False,
        control=dict(value=np.array([term_of(4, 4), term_of(8, 4)])),
    )


@claim(
    "limit.56.nuclear",
    ref="Lemma 56, eq. (71)",
    statement=r"\|A\| \ge \frac{\|G\|_*}{n},\ G_{ij} = x_i^T A x_j,\ \|x_i\| = 1",
    mathematics=True,
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
