"""Definitions 5, 16, 50, Proposition 54, Lemma 56: the regularisers."""

import dataclasses
import itertools
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jax import random

from theorykit import claim
from theorykit.checks import construction, exhaustive, expectation, inequality, rate
from theorykit.checks.domains import inputs, reals
from theorykit.proofs_numeric.limit._drawn import drawn, each_head
from theorykit.subjects import limit

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
        return each_head(drawn(seed, context=5), lambda h: dataclasses.replace(h, phi=None))

    def splits(t):
        printed = sum(
            float(t.positions[0] @ h.K.T @ h.Q @ p) ** 2
            for l in t.layers for h in l.heads for p in t.positions
        )  # fmt: skip
        return math.isclose(limit.regularizer(t), limit.regularizer_minus(t) + printed)

    def padded(t):
        wide = lambda a: np.pad(a, [(0, 0), (0, 2)])
        head = lambda h: limit.Head(wide(h.K), wide(h.Q), np.pad(h.V, [(0, 2), (0, 2)]))
        layer = lambda l: limit.Layer(
            tuple(map(head, l.heads)), wide(l.A), np.pad(l.B, [(0, 2), (0, 0)]), l.b, l.heaviside
        )
        return dataclasses.replace(
            t, E=wide(t.E), positions=wide(t.positions), U=wide(t.U),
            layers=tuple(map(layer, t.layers)),
        )  # fmt: skip

    same = lambda t: math.isclose(limit.regularizer(t), limit.regularizer(padded(t)))
    infinite = lambda t: limit.regularizer_infinity(dataclasses.replace(t, context=None))
    wider = lambda t: infinite(t) == infinite(padded(t))
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
    falls="wording",
    consequence="A footnote: the least shift that fits is meant, not one more than the largest "
    "that does not.",
    mathematics=True,
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
    mathematics=True,
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
    mathematics=True,
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
