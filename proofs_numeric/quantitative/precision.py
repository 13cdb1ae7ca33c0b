"""Section 3.2: the logit margin, and when softmax at finite precision is a hard maximum."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, identity
from theorykit.checks.domains import inputs, reals
from theorykit.proofs_numeric.quantitative._powers import power
from theorykit.proofs_numeric.quantitative._strings import away, uniform
from theorykit.subjects import limit, simulation


def logits(f, x):
    """Return the logits of the last token as section 3.1 defines them, before they are scaled."""
    (head,), n = f.layers[0].heads, len(x)
    y = f.E[f.encode(x)] + f.encodings(n)
    far = n - np.arange(1, n + 1)
    return y @ head.K.T @ head.Q @ y[-1] + np.array([*head.phi.values, *[0.0] * n])[far]


def observed_transformer(seed):
    """Return a random transformer of three symbols, periods 1 to 3, tau 0 to 2."""
    rng = np.random.default_rng(seed)
    return simulation.random_one_layer(rng, "abc", seed % 3, 1 + seed // 3 % 3)


def observed(seed):
    """Return a random transformer, and the positive gaps between two logits that one token sees.

    All strings of up to four symbols.
    """
    f = observed_transformer(seed)
    gaps = [
        np.diff(np.unique(logits(f, x)))
        for n in range(1, 5)
        for x in itertools.product("abc", repeat=n)
    ]
    return f, np.concatenate(gaps)


def least(far):
    """Return whether gamma(f) is at most every gap, from near logits alone or from far ones too."""

    def at_most(built):
        f, gaps = built
        return simulation.logit_margin(f, far) <= gaps.min(initial=math.inf)

    return at_most


@claim(
    "quantitative.3.2.margin",
    ref="Sec. 3.2",
    statement=r"\mathcal A_{(y,i)} = \{A_{(y,i),(z,i-k)} + \phi(1, k+1) : k = 0, \dots, \tau\} "
    r"\text{ contains all attention logits of a token } y \text{ at } i,\ \gamma(f) \text{ their "
    r"least gap}",
    expect="refuted",
    falls="statement",
    consequence="The set must include tokens beyond tau, at all residues; with that gamma(f), "
    "both theorems of section 4 stand.",
)
def margin():
    """Tokens more than tau back have logits without phi, which are not in the set.

    So two visible logits can be closer than the gamma(f) of that set. Control: gaps are at most
    half of what they are.
    """
    halved = lambda seed: (observed(seed)[0], observed(seed)[1] / 2)
    return construction(
        build=observed, has=least(False), cases=range(27), control=dict(build=halved)
    )


@claim(
    "quantitative.3.2.margin.repaired",
    ref="Sec. 3.2",
    statement=r"\mathcal A_{(y,i)} \cup \{A_{(y,i),(z,j)} : j \in \mathbb Z / \Delta\} "
    r"\text{ contains them}",
)
def margin_repaired():
    """With the logits of tokens beyond tau gamma(f) is at most every gap. Control: without."""
    return construction(
        build=observed, has=least(True), cases=range(27), control=dict(has=least(False))
    )


MATRIX = dict(
    over=inputs(y=reals("d"), z=reals("d"), p=reals("d"), q=reals("d"), KQ=reals("d d"), d=(2, 3)),
)
"""Tokens y, the query, and z, the key, their encodings p and q, and K^T Q."""


@claim(
    "quantitative.3.2.matrix",
    ref="Sec. 3.2",
    statement=r"A_{(y,i),(z,j)} := (E_z + p_i)^\top K^\top Q (E_y + p_j) \text{ is the logit of "
    r"the query } (y, i) \text{ and the key } (z, j)",
    expect="refuted",
    falls="wording",
    consequence="p_i and p_j are exchanged; it matters in the definition alone.",
    mathematics=True,
)
def matrix():
    """The key z is at j, and the query y at i. Control: without encodings."""
    return identity(
        lhs=lambda y, z, p, q, KQ: (z + p) @ KQ @ (y + q),
        rhs=lambda y, z, p, q, KQ: (z + q) @ KQ @ (y + p),
        **MATRIX,
        control=dict(rhs=lambda y, z, KQ: z @ KQ @ y),
    )


@claim(
    "quantitative.3.2.matrix.repaired",
    ref="Sec. 3.2",
    statement=r"A_{(y,i),(z,j)} := (E_z + p_j)^\top K^\top Q (E_y + p_i)",
)
def matrix_repaired():
    """With p_i and p_j exchanged, A has the logits of section 3.1, for random transformers.

    Control: as printed.
    """

    def build(seed):
        f = observed_transformer(seed)
        return f, "".join(np.random.default_rng(seed).choice(list("abc"), 7))

    def has(swap):
        def equal(built):
            f, x = built
            (head,) = f.layers[0].heads
            E, p = f.E[f.encode(x)], f.encodings(7)
            key, query = (p[-1], p) if swap else (p, p[-1])
            A = np.einsum("jd,de,je->j", E + key, head.KQ, np.broadcast_to(E[-1], E.shape) + query)
            phi = np.array([*head.phi.values, *[0.0] * 7])[6 - np.arange(7)]
            return np.abs(A + phi - logits(f, x)).max() < 1e-9

        return equal

    return construction(build=build, has=has(False), cases=range(12), control=dict(has=has(True)))


def small():
    """Return logits A[y, i][z, j], phi(0) ... phi(tau) and strings, all of integers.

    Two symbols; Delta = 1 and 2 (40 random tables), tau = 0 or 1, strings of 2 to 5 symbols.
    """
    rng = np.random.default_rng(0)
    pairs = [(z, j) for z in (0, 1) for j in (0, 1)]
    one = [
        {(y, 0): {(z, 0): A[y][z] for z in (0, 1)} for y in (0, 1)}
        for A in itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
    ]
    two = [{a: {b: int(rng.integers(2)) for b in pairs} for a in pairs} for _ in range(24)]
    phis = [(0,), (1,), (0, 2), (1, 1)]
    strings = [w for n in range(2, 6) for w in itertools.product((0, 1), repeat=n)]
    return [(A, phi, x) for A in one + two for phi in phis for x in strings]


def logit_set(A, phi, y, i, far):
    """Return the set of logits of query (y, i): those at distance 0 ... tau, and those beyond."""
    period, row = len(A) // 2, A[y, i]
    near = {row[z, (i - k) % period] + v for z in (0, 1) for k, v in enumerate(phi)}
    return near | set(row.values()) if far else near


def seen_logits(A, phi, x):
    """Return the logits of the last token of x."""
    period, n = len(A) // 2, len(x)
    row = A[x[-1], (n - 1) % period]
    return [
        row[x[n - 1 - k], (n - 1 - k) % period] + (phi[k] if k < len(phi) else 0) for k in range(n)
    ]


def gaps(values):
    """Return the positive differences."""
    return [a - b for a in values for b in values if a > b]


def rounds_away(far, bits, spare=0):
    """Return whether N >= 2^(p/gamma) rounds all terms below the largest to zero, p = bits.

    N^gamma >= 2^p in integers; a term N^(a - a*) is at most 2^-p where N^(a* - a) >= 2^p.
    """

    def predicate(m):
        A, phi, x = m
        found = [d for y, i in A for d in gaps(logit_set(A, phi, y, i, far))]
        N, seen = len(x), seen_logits(A, phi, x)
        if found and power(N, min(found)) < power(2, bits - spare):
            return True  # the string is too short for the statement to speak of it
        return all(power(N, max(seen) - a) >= power(2, bits) for a in seen if a < max(seen))

    return predicate


@claim(
    "quantitative.3.2.hardmax",
    ref="Sec. 3.2",
    statement=r"N \ge 2^{p/\gamma(f)} \Rightarrow \text{softmax at } p \text{ bits is a hardmax}",
    expect="refuted",
    falls="statement",
    consequence="gamma(f) has to know the logits beyond tau; Theorems 4.1 and 4.2 stand with it.",
    mathematics=True,
)
def hardmax():
    """With gamma from the set as printed, terms of tokens beyond tau survive the rounding.

    With phi(0) = 1 and A = 0 the set has one element and gamma is infinite; but the last token's
    logit is 1 and all others' are 0, so that N^(-1) > 2^-p stays. Integers. Control: p + 4 bits
    are asked to vanish.
    """
    more = lambda m: rounds_away(False, 2)(m) and rounds_away(True, 6, 4)(m)
    return exhaustive(
        predicate=rounds_away(False, 2), universe=small(), control=dict(predicate=more)
    )


@claim(
    "quantitative.3.2.hardmax.repaired",
    ref="Sec. 3.2",
    statement=r"N \ge 2^{p/\gamma(f)} \Rightarrow \text{hardmax, with the repaired } \gamma",
    mathematics=True,
)
def hardmax_repaired():
    """With the repaired margin it is, where values of at most 2^-p become 0.

    Control: N >= 2^((p - 1)/gamma).
    """
    return exhaustive(
        predicate=rounds_away(True, 2),
        universe=small(),
        control=dict(predicate=rounds_away(True, 2, 1)),
        telling=lambda m: len({*seen_logits(*m)}) > 1,
    )


@claim(
    "quantitative.3.2.hardmax.weights",
    ref="Sec. 3.2",
    statement=r"N > 2^{(p+1)/\gamma(f)} \Rightarrow f(x) = "
    r"U(Y + B \psi(A Y + b)),\ Y = y_T + \text{mean of } V y_j \text{ over the largest logits}",
)
def hardmax_weights():
    """Random transformers, with rounding to the nearest, compute the uniform average.

    1 to 3 residues, tau 0 to 3, 1 or 2 bits; strings of exactly the length where attention becomes
    hard, and of three more symbols. Exact. Control: strings of a quarter of that.
    """

    def build(case, part=1):
        seed, more = case
        f = simulation.random_one_layer(np.random.default_rng(seed), "abc", seed % 4, 1 + seed % 3)
        f = dataclasses.replace(f, precision=1 + seed % 2)
        return away(f, seed, max(simulation.hard_length(f) // part, 4) + more)

    return construction(
        build=build,
        has=lambda gap: gap < 1e-9,
        cases=[(seed, more) for seed in range(8) for more in (0, 3)],
        control=dict(build=lambda case: build(case, 4)),
    )


def averaged(bits, x):
    """Return the average of the last layer's attention, in fractions, at so many bits."""
    t = dataclasses.replace(uniform("ab", 4, BLOCK), precision=bits)
    return limit.exact(t, [x]).outputs.fractions()[0, -1, 2:].tolist()


BLOCK = np.eye(4, k=-2)
"""The value matrix that copies a symbol of two to two further coordinates."""


def literally(bits, x):
    """Return the same average where each weight 1/N is rounded to 0 if it is at most 2^-p."""
    N = len(x)
    kept = power(2, bits) > N
    return [Fraction(x.count(s), N) if kept else Fraction(0) for s in "ab"]


SHORT = [
    (bits, "".join(x)) for bits in (1, 2, 3) for n in range(1, 7)
    for x in itertools.product("ab", repeat=n)
]  # fmt: skip
"""Numbers of bits, and strings."""


@claim(
    "quantitative.3.2.rounding",
    ref="Sec. 3.2",
    statement=r"\text{all quantities of absolute value} \le 2^{-p} \text{ are rounded to } 0 "
    r"\text{ during each intermediate computation}",
    expect="refuted",
    falls="reading",
    consequence="The terms of the softmax are rounded before they are divided by their sum, as "
    "the paragraph goes on to say; normalised weights must not be rounded.",
)
def rounding():
    """Read literally the attention weights are such quantities: on 2^p equal logits all vanish.

    Each weight is 1/N <= 2^-p, so attention returns 0 instead of the uniform average, exactly at
    the lengths of the theorems. Members are p and strings. Control: the average should be twice
    that.
    """
    twice = lambda m: [2 * v for v in literally(*m)]
    return exhaustive(
        predicate=lambda m: literally(*m) == averaged(*m),
        universe=SHORT,
        control=dict(predicate=lambda m: twice(m) == averaged(*m)),
    )


@claim(
    "quantitative.3.2.rounding.repaired",
    ref="Sec. 3.2",
    statement=r"\text{terms of the softmax, before they are divided by their sum, are rounded}",
)
def rounding_repaired():
    """Rounded before the division, uniform attention is the average at every length.

    Control: rounded after it.
    """
    mean = lambda x: [Fraction(x.count(s), len(x)) for s in "ab"]
    return exhaustive(
        predicate=lambda m: averaged(*m) == mean(m[1]),
        universe=SHORT,
        control=dict(predicate=lambda m: averaged(*m) == literally(*m)),
    )
