"""Appendix B.1, Bounding (I) and (II): the displayed steps, in fractions.

Members have r = p q / (1 - p) and 1 - q - r >= 0.
"""

import math
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, rate
from theorykit.proofs_numeric.quantitative._powers import power


def rise(p, q):
    """Return r = p q / (1 - p)."""
    return Fraction(p * q, 1 - p)


def denominators():
    """Return (t - tau - 1, p, q) where p q (t - tau - 1) is below 1, and where it is above."""
    return [
        (m, Fraction(1, a), Fraction(1, b)) for m in (10, 80, 640) for a in (10, 20) for b in (2, 4)
    ]  # fmt: skip


def conditional_variance(m, p, q):
    """Return Var(|I and [m]| | m + 1 in I), from the kernel, both orders of i and j.

    The sum over i and j <= m of P(i in I, j in I) - P(i in I) P(j in I), all given m + 1 in I.
    """
    theta, one, ones = 1 - q - rise(p, q), Fraction(1), []
    for _ in range(m + 1):
        ones.append(one * (1 - p) + p)
        one = one * theta
    total = between = Fraction(0)  # between: the sum of P(j in I | i in I) over j < i
    for i in range(1, m + 1):
        total += ones[m + 1 - i] * (1 + 2 * between)
        between += ones[i]
    given = sum(ones[1:])
    return total - given * given


@claim(
    "quantitative.5.3.terms.denominator",
    ref="App. B.1, Bounding (II)",
    statement=r"\mathrm{Var}(|\mathcal I \cap [t]| \mid [t - \tau : t] \subset \mathcal I) \le "
    r"p q^{-1} (t - \tau - 1) + q^{-2}",
    expect="refuted",
    falls="proof",
    consequence="A factor 2, which the next lines absorb: Lemma 5.3 keeps its rate.",
    mathematics=True,
)
def denominator():
    """Pairs j > i were dropped, a factor of nearly 2; with 2 the rest goes through.

    Members are (t - tau - 1, p, q), in fractions. Control: half of it.
    """
    return exhaustive(
        predicate=variance_within(1),
        universe=denominators(),
        control=dict(predicate=variance_within(Fraction(1, 2))),
    )


@claim(
    "quantitative.5.3.terms.denominator.repaired",
    ref="App. B.1, Bounding (II)",
    statement=r"\ldots \le 2 (p q^{-1} (t - \tau - 1) + q^{-2})",
    mathematics=True,
)
def denominator_repaired():
    """Twice the printed expression bounds the conditional variance. Control: once."""
    return exhaustive(
        predicate=variance_within(2),
        universe=denominators(),
        control=dict(predicate=variance_within(1)),
    )


def variance_within(factor):
    """Return whether the conditional variance is at most factor (p m / q + 1 / q^2)."""

    def predicate(m):
        length, p, q = m
        bound = Fraction(p * length, q) + Fraction(1, q * q)
        return conditional_variance(*m) <= factor * bound

    return predicate


def overlaps():
    """Return (tau, d = j - i < tau, p, q)."""
    shares = [Fraction(1, 2), Fraction(1, 20)]
    ends = [Fraction(1, 20), Fraction(1, 4), Fraction(3, 4)]
    return [
        (tau, d, p, q) for tau in (1, 2, 3, 5) for d in range(1, tau + 1)
        for p in shares for q in ends
    ]  # fmt: skip


def overlap(condition):
    """Return whether |1 - 2 (1-q)^tau + (1-q)^(d+tau) / p| <= (1-q)^(d+tau) / p."""

    def predicate(m):
        tau, d, p, q = m
        a, b = power(1 - q, tau), Fraction(power(1 - q, d + tau), p)
        return not condition(a) or abs(1 - 2 * a + b) <= b

    return predicate


@claim(
    "quantitative.5.3.terms.overlap",
    ref="App. B.1, Bounding (I)",
    statement=r"j < i + \tau: |1 - 2(1-q)^\tau + p^{-1}(1-q)^{j-i+\tau}| \le "
    r"p^{-1}(1-q)^{j-i+\tau}",
    expect="refuted",
    falls="proof",
    consequence="Elsewhere tau q > 1/2 and the lemma's bound is trivial: Lemma 5.3 keeps its rate.",
    mathematics=True,
)
def overlapping():
    """The inequality holds only where (1 - q)^tau >= 1/2.

    In fractions. Control: where (1 - q)^tau <= 1/2.
    """
    return exhaustive(
        predicate=overlap(lambda a: True),
        universe=overlaps(),
        control=dict(predicate=overlap(lambda a: 2 * a <= 1)),
    )


@claim(
    "quantitative.5.3.terms.overlap.repaired",
    ref="App. B.1, Bounding (I)",
    statement=r"(1-q)^\tau \ge \tfrac12 \Rightarrow \ldots",
    assumptions=[r"\text{else } \tau q > \tfrac12 \text{ and the lemma's bound is trivial}"],
    mathematics=True,
)
def overlapping_repaired():
    """Where (1 - q)^tau >= 1/2 the inequality holds. Control: where (1 - q)^tau >= 1/4."""
    return exhaustive(
        predicate=overlap(lambda a: 2 * a >= 1),
        universe=overlaps(),
        control=dict(predicate=overlap(lambda a: 4 * a >= 1)),
    )


# Chebyshev's inequality ---------------------------------------------------------------------------


def chebyshev(factor):
    """Return whether 4 Var / E^2 is at most factor (p t / q + 1 / q^2) / (p t)^2.

    Of |I and [t]| given [t - tau : t] in I, with t - tau - 1 = m.
    """

    def predicate(member):
        m, p, q, tau = member
        theta, t = 1 - q - rise(p, q), m + tau + 1
        mean = tau + 1 + sum(p + (1 - p) * power(theta, i) for i in range(1, m + 1))
        bound = factor * (Fraction(p * t, q) + Fraction(1, q * q))
        return 4 * conditional_variance(m, p, q) * power(p * t, 2) <= bound * power(mean, 2)

    return predicate


TAILS = [(*m, tau) for m in denominators() if m[0] < 600 for tau in (0, 2)]


@claim(
    "quantitative.5.3.terms.chebyshev",
    ref="App. B.1, Bounding (II)",
    statement=r"\frac{4 \mathrm{Var}(|\mathcal I \cap [t]| \mid \cdot)}"
    r"{\mathbb E[|\mathcal I \cap [t]| \mid \cdot]^2} \le \frac{p q^{-1} t + q^{-2}}{p^2 t^2}",
    expect="refuted",
    falls="proof",
    consequence="The factor 4 was lost, and the 2 of the variance with it; the next line has room "
    "for both.",
    mathematics=True,
)
def chebyshev_step():
    """The factor 4 of Chebyshev's inequality is missing on the right.

    Control: half of the right side.
    """
    return exhaustive(
        predicate=chebyshev(1),
        universe=TAILS,
        control=dict(predicate=chebyshev(Fraction(1, 2))),
    )


@claim(
    "quantitative.5.3.terms.chebyshev.repaired",
    ref="App. B.1, Bounding (II)",
    statement=r"\ldots \le 8 \frac{p q^{-1} t + q^{-2}}{p^2 t^2}",
    mathematics=True,
)
def chebyshev_repaired():
    """With the factor 8, from Chebyshev's 4 and the variance's 2, the bound holds.

    Control: with 2.
    """
    return exhaustive(predicate=chebyshev(8), universe=TAILS, control=dict(predicate=chebyshev(2)))


# Covariances near the end -------------------------------------------------------------------------


def covariance(d, e, p, q):
    """Return E[(1(i in I) - p)(1(j in I) - p) | t - tau in I], d = i - j, e = t - tau - i."""
    theta = 1 - q - rise(p, q)
    i, j = (p + (1 - p) * power(theta, n) for n in (e, d + e))
    return i * (p + (1 - p) * power(theta, d)) - p * i - p * j + p * p


def covariance_within(bound):
    """Return whether it is at most a bound."""
    return lambda m: abs(covariance(*m)) <= bound(*m)


NEAR = [
    (d, e, Fraction(1, a), Fraction(1, b))
    for a in (2, 10, 100) for b in (2, 4, 10) for d in range(1, 12) for e in range(1, 40, 3)
]  # fmt: skip


@claim(
    "quantitative.5.3.terms.covariance",
    ref="App. B.1, Bounding (II)",
    statement=r"|\mathbb E[(\mathbf 1(i \in \mathcal I) - p)(\mathbf 1(j \in \mathcal I) - p) \mid "
    r"[t - \tau : t] \subset \mathcal I]| \le p (1 - q)^{i - j}",
    expect="refuted",
    falls="proof",
    consequence="Near t - tau it is (1-q)^(t-tau-j) instead, which adds 1/q to the numerator; the "
    "term 1/(q t) of the same sum covers that, and Lemma 5.3 keeps its rate.",
    mathematics=True,
)
def covariance_step():
    """Given that t - tau is in I, so are its neighbours, however small p is.

    (1-p)^2 (1-q-r)^(t-tau-j) was dropped. Control: half of the right side.
    """
    return exhaustive(
        predicate=covariance_within(lambda d, e, p, q: p * power(1 - q, d)),
        universe=NEAR,
        control=dict(predicate=covariance_within(lambda d, e, p, q: p * power(1 - q, d) / 2)),
    )


@claim(
    "quantitative.5.3.terms.covariance.repaired",
    ref="App. B.1, Bounding (II)",
    statement=r"\ldots \le (p + (1 - q)^{t - \tau - i}) (1 - q)^{i - j}",
    mathematics=True,
)
def covariance_repaired():
    """With the rest of the condition, (1 - q)^(t - tau - i), the bound holds.

    Control: half of it.
    """
    most = lambda part: lambda d, e, p, q: part * (p + power(1 - q, e)) * power(1 - q, d)
    return exhaustive(
        predicate=covariance_within(most(1)),
        universe=NEAR,
        control=dict(predicate=covariance_within(most(Fraction(1, 2)))),
    )


# The numerator ------------------------------------------------------------------------------------


def second_moment(t, p=0.1, q=0.2):
    """Return E |sum_{i <= t} Z_i|^2 given t + 1 in I, for a string of zeros and then ones."""
    theta, i = 1 - q - p * q / (1 - p), np.arange(1, int(t) + 1)
    ones = p + (1 - p) * theta ** (t + 1 - i)
    late = np.maximum(ones[:, None], ones)  # the later of the two is nearer to t + 1
    both = late * (p + (1 - p) * theta ** np.abs(i[:, None] - i))
    moments = both - p * ones[:, None] - p * ones + p * p
    sign = np.where(i <= t / 2, 1.0, -1.0)
    return sign @ moments @ sign / 2


SPANS = (500, 1000, 2000)


@claim(
    "quantitative.5.3.terms.numerator",
    ref="App. B.1, Bounding (II)",
    statement=r"\mathbb E \left[ \left\| \sum_{i=1}^t Z_i \right\|^2 \mid \cdot \right] \lesssim "
    r"\tau + 1 + \sqrt{p t / q}",
    expect="refuted",
    falls="wording",
    consequence="The square does not belong there; without it the line holds and is used.",
    mathematics=True,
)
def numerator():
    """The second moment grows like p t / q. From the kernel, tau = 0. Control: it is bounded."""
    return rate(measure=second_moment, at=SPANS, at_most=0.5, control=dict(at_most=0.0))


@claim(
    "quantitative.5.3.terms.numerator.repaired",
    ref="App. B.1, Bounding (II)",
    statement=r"\mathbb E \left[ \left\| \sum_{i=1}^t Z_i \right\| \mid \cdot \right] \le "
    r"\left( \mathbb E \| \ldots \|^2 \right)^{1/2} \lesssim \sqrt{p t / q}",
    mathematics=True,
)
def numerator_repaired():
    """The root of the second moment has exponent 1/2. Control: the second moment itself."""
    return rate(
        measure=lambda t: math.sqrt(second_moment(t)),
        at=SPANS,
        exponent=0.5,
        control=dict(measure=second_moment),
    )


# The sum over t -----------------------------------------------------------------------------------


def truncated(c, ratio, p=0.5):
    """Return sum_{t <= T} min(c / t, p), where T p / c is the ratio."""
    return np.minimum(c / np.arange(1, int(c * ratio / p) + 1), p).sum()


@claim(
    "quantitative.5.3.terms.sum",
    ref="App. B.1, Bounding (II)",
    statement=r"\sum_{t=1}^T \frac{\tau + 1 + q^{-1}}{t} \wedge p \lesssim "
    r"\tau + 1 + q^{-1} + \log(T p / (\tau + 1 + q^{-1}))",
    expect="refuted",
    falls="proof",
    consequence="The logarithm has the factor tau + 1 + 1/q, so (II) has L (tau + 1/q) log n / n "
    "in place of L log n / n: still below n^(-1/3), and Lemma 5.3 keeps its rate.",
    mathematics=True,
)
def sum_step():
    """With c = tau + 1 + 1/q = k and T p / c = 2^k the quotient of both sides grows like k.

    The quotient is measured. Control: it falls.
    """
    return rate(
        measure=lambda k: truncated(k, 2.0**k) / (k + k * math.log(2)),
        at=(4, 8, 16),
        at_most=0.0,
        control=dict(at_most=-1.0),
    )


@claim(
    "quantitative.5.3.terms.sum.repaired",
    ref="App. B.1, Bounding (II)",
    statement=r"\ldots \le (\tau + 1 + q^{-1}) (1 + \log(T p / (\tau + 1 + q^{-1})))",
    assumptions=[r"T p \ge \tau + 1 + q^{-1}"],
    mathematics=True,
)
def sum_repaired():
    """With the factor tau + 1 + 1/q the bound holds, with constant 1.

    Control: nine tenths of it.
    """
    within = lambda part: lambda m: truncated(*m) <= part * m[0] * (1 + math.log(m[1])) + 1e-9
    return exhaustive(
        predicate=within(1.0),
        universe=[(c, 2.0**k, p) for c in (1, 4, 20) for k in range(0, 11, 2) for p in (0.5, 0.05)],
        control=dict(predicate=within(0.9)),
    )
