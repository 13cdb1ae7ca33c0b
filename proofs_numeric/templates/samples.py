"""Claim D.2: most samples of a task share no symbol, and their kernel is that of its templates.

Any token-symmetric kernel is enough here. Ours is the exact one of incidences,
`K(x, y) = <XX', YY'> / k^2 + tr(XY') / k`.
"""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, rate
from theorykit.kernels import ridge
from theorykit.proofs_numeric.templates._powers import power_of
from theorykit.proofs_numeric.templates._ridge import IDEAL, same_different
from theorykit.subjects.templates import uniform_maps


def incidence_kernel(x, y, shift=0.0):
    """Return <XX', YY'> / k^2 + tr(XY') / k between strings (n, k) and (m, k), plus a constant."""
    k = x.shape[1]
    flat = lambda z: (z[:, :, None] == z[:, None, :]).reshape(len(z), -1).astype(float)
    agree = (x[:, None, :] == y[None, :, :]).mean(2)
    return flat(x) @ flat(y).T / k**2 + agree + shift


def idealised(key, n, symbols, decay):
    """Return |f_ideal - f| at an unseen αα, root mean square over data sets of n samples."""
    d = same_different(symbols)
    new = jnp.array([[2 * symbols, 2 * symbols]])

    def one(key):
        x, y, which = d.sample(key, n)
        regress = lambda K, v: ridge(K, y, v[None], ridge=decay).mean[0]
        found = regress(incidence_kernel(x, x), incidence_kernel(x, new)[:, 0])
        rows = jnp.asarray(IDEAL)[which]
        return (found - regress(rows[:, which], rows[:, 0])) ** 2

    return jnp.sqrt(jax.lax.map(one, jax.random.split(key, 16)).mean())


@claim(
    "templates.D2.ideal",
    ref="Claim D.2",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - \hat f(x)| \le "
    r"C / \lambda + C n / (\lambda \sqrt\rho),\quad \lambda = n / 10,\ \rho = n",
)
def ideal_is_near():
    """With lambda and rho proportional to n the mean square distance falls at least like n^(-1/2).

    It falls like 1 / n here: the bad pairs mostly cancel. Control: like n^(-2).
    """
    return rate(
        measure=lambda key, n: idealised(key, n, 2 * n, 0.1 * n), at=(16, 32, 64), at_most=-0.5,
        replicates=6, batch=1, control=dict(at_most=-2.0),
    )  # fmt: skip


@claim(
    "templates.D2.ideal.diversity",
    ref="Claim D.2",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - \hat f(x)| \le "
    r"C / \lambda + C n / (\lambda \sqrt\rho),\quad n, \lambda \text{ fixed}",
    tier="slow",
)
def ideal_is_near_with_diversity():
    """At 64 samples and a ridge of 25 it falls with the alphabet, at least like rho^(-1/2).

    Over 8 to 32 symbols; beyond, the first term is what is left. Control: like rho^(-2).
    """
    return rate(
        measure=lambda key, m: idealised(key, 64, m, 25.0), at=(8, 16, 32), at_most=-0.5,
        replicates=6, batch=1, control=dict(at_most=-2.0),
    )  # fmt: skip


def missed(K, n):
    """Return |f_ideal - f| if K of n samples of the template α have the token of the test.

    Labels are 1; the kernel is 1 between different tokens and 2 between equal ones; every other
    sample has its own token; lambda = n / 4, below tau = n.
    """
    hit = np.arange(n) < K
    gram = 1.0 + np.where(np.logical_and.outer(hit, hit), 1.0, np.eye(n))
    regress = lambda k, v: float(ridge(k, np.ones(n), v[None], ridge=n / 4).mean[0])
    return abs(regress(gram, 1.0 + hit) - regress(np.ones((n, n)), np.ones(n)))


@claim(
    "templates.D2.ideal.probability",
    ref="Claim D.2",
    statement=r"\text{with probability} \ge 1 - \exp(-c n):\ "
    r"\lambda |\hat f^{\mathrm{ideal}}(x) - \hat f(x)| \le C + C n / \sqrt\rho",
    expect="refuted",
    falls="statement",
    consequence="The bound holds with probability 1 - delta once log(1 / delta) / lambda is added "
    "to it, which the first term of Lemma D.1 covers.",
)
def rare_samples():
    """At rho = n^2, where the right side is 2 C, the left side is bounded where K samples fail.

    It grows in proportion to K, the number of samples that have the token of x, while K of them
    come with a probability above n^(-2 K), which is more than exp(-c n) for every c once n is
    large. So no C is large enough. Control: it falls.
    """
    return rate(
        measure=lambda K: 128 / 4 * missed(K, 128),
        at=(2, 4, 8, 16),
        at_most=0.0,
        control=dict(at_most=-1.0),
    )


@claim(
    "templates.D2.ideal.probability.repaired",
    ref="Claim D.2",
    statement=r"\text{with probability} \ge 1 - \delta:\ \lambda |\hat f^{\mathrm{ideal}}(x) - "
    r"\hat f(x)| \le C + C n / \sqrt\rho + C \log(1 / \delta)",
)
def rare_samples_repaired():
    """In that example it is at most (1 + K) / 6, and K <= 8 n / rho + log2(1 / delta).

    K from 0 to 32 of 128 samples; for K see the repair of eq. (19). Control: (1 + K) / 10.
    """
    within = lambda part: lambda K: 128 / 4 * missed(K, 128) <= (1 + K) / part
    return exhaustive(
        predicate=within(6),
        universe=(0, 2, 4, 8, 16, 32),
        control=dict(predicate=within(10)),
    )


def both_often(n, share):
    """Return the probability that each of two equally likely templates has share * n samples."""
    ways = sum(math.comb(n, j) for j in range(n + 1) if min(j, n - j) >= share * n)
    return Fraction(ways, 1 << n)


@claim(
    "templates.D2.represented",
    ref="Claim D.2, proof",
    statement=r"P[|I_j| \ge n \mu(z_j)\ \forall j] \ge 1 - \exp(-c n)",
    expect="refuted",
    falls="proof",
    consequence="The proof of Claim D.4 has n mu(z_j) / 2, with which the step is right.",
    mathematics=True,
)
def well_represented():
    """With two equally likely templates, both have half of the samples with probability 1 / 2.

    The numbers of samples add up to n, so all must hold with equality: the probability is 0 for odd
    n and falls like n^(-1/2) for even n. Control: more than half of the samples.
    """
    holds = lambda share: lambda n: both_often(n, share) >= Fraction(1, 2)
    return exhaustive(
        predicate=holds(Fraction(1, 2)),
        universe=range(8, 65, 8),
        control=dict(predicate=holds(Fraction(5, 8))),
    )


@claim(
    "templates.D2.represented.repaired",
    ref="Claim D.2, proof",
    statement=r"P[|I_j| \ge n \mu(z_j) / 2\ \forall j] \ge 1 - 2 \exp(-n / 8)",
    mathematics=True,
)
def well_represented_repaired():
    """With half of it the step is Hoeffding's, here exactly for two templates and n to 128.

    With a number just below exp(-1 / 8). Control: exp(-n / 4).
    """
    base = Fraction(8824, 10000)

    def holds(power):
        def predicate(n):
            return 1 - both_often(n, Fraction(1, 4)) <= 2 * power_of(base, power * n)

        return predicate

    return exhaustive(
        predicate=holds(1), universe=range(8, 129, 8), control=dict(predicate=holds(2))
    )


def overlaps(n, m, same):
    """Return the sum over i, i' and w, w' of P[s_i(w) = s_i'(w')], i = i' included or not.

    Uniform maps of α and β into m symbols.
    """
    maps = uniform_maps("αβ", range(m))
    apart = sum(
        (p * q for p, s in maps for q, t in maps for v in s for w in t if s[v] == t[w]), Fraction(0)
    )
    alone = sum((p for p, s in maps for v in s for w in s if s[v] == s[w]), Fraction(0))
    return n * (n - 1) * apart + same * n * alone


@claim(
    "templates.D2.pairs",
    ref="Claim D.2, proof",
    statement=r"\sum_{i, i' \in [n]} \sum_{w, w'} P[s_i(w) = s_{i'}(w')] \le C n^2 / \rho",
    expect="refuted",
    falls="wording",
    consequence="The sum is meant over i different from i', as P_1 counts pairs; the bound on its "
    "mean stands.",
)
def overlapping_pairs():
    """Two wildcards, m symbols, 2 samples: the sum is at most 8 n^2 / rho.

    The terms i = i' are n times the number of wildcards, whatever rho is. Control: 4 n^2 / rho.
    """
    bounded = lambda C: lambda m: overlaps(2, m, 1) <= C * 4 * Fraction(2, m)
    return exhaustive(
        predicate=bounded(8), universe=range(2, 25), control=dict(predicate=bounded(4))
    )


@claim(
    "templates.D2.pairs.repaired",
    ref="Claim D.2, proof",
    statement=r"\sum_{i \ne i'} \sum_{w, w'} P[s_i(w) = s_{i'}(w')] \le |\mathcal W| n^2 / \rho",
)
def overlapping_pairs_repaired():
    """Without the terms i = i' the bound holds, with C = 2 for two wildcards.

    The sum is 2 n (n - 1) / rho. Control: C = 1.
    """
    bounded = lambda C: (
        lambda case: overlaps(case[0], case[1], 0) <= C * case[0] * case[0] * Fraction(2, case[1])
    )
    return exhaustive(
        predicate=bounded(2),
        universe=[(n, m) for n in (2, 3, 8, 64) for m in range(2, 9)],
        control=dict(predicate=bounded(1)),
    )


@claim(
    "templates.D2.hoeffding",
    ref="Claim D.2, eq. (19)",
    statement=r"P_2 = |\{i : s_i(\mathcal W) \cap (\mathcal R \cup \{x_j\}) \ne \emptyset\}| \le "
    r"C n / \rho \text{ with probability} \ge 1 - \exp(-c n)",
    expect="refuted",
    falls="proof",
    consequence="The bound on the number of bad samples needs log(1 / delta) more, and so does "
    "Claim D.2; Lemma D.1 has room for that.",
    mathematics=True,
)
def few_bad_samples():
    """For the template α and rho = n^2 the probability of P_2 > 10 n / rho falls faster than n^-5.

    It falls like 1 / n: that of one sample with the token of x, which exceeds the bound as soon as
    rho > 10 n. Hoeffding's inequality has no multiplicative form at means below one. Control:
    faster than n^-6.
    """
    probability = lambda n: -jnp.expm1(n * jnp.log1p(-1.0 / n**2))
    return rate(
        measure=probability, at=(16, 64, 256, 1024), at_most=-5.0, control=dict(at_most=-6.0)
    )


def binomial_tail(n, m, bound):
    """Return P[B > bound] for B of n trials with the probability 1 / m."""
    total = Fraction(0)
    for j in range(n + 1):
        if j > bound:
            ways = math.comb(n, j)
            for _ in range(n - j):
                ways *= m - 1
            total += ways
    below = 1
    for _ in range(n):
        below *= m
    return total * Fraction(1, below)


@claim(
    "templates.D2.hoeffding.repaired",
    ref="Claim D.2, eq. (19)",
    statement=r"P_2 \le C (n / \rho + \log(1 / \delta)) \text{ with probability} \ge 1 - \delta",
    mathematics=True,
)
def few_bad_samples_repaired():
    """P_2 <= 8 n / rho + log2(1 / delta) with probability 1 - delta, by Chernoff.

    Exactly, for the template α, n up to 16 and delta = 2^-j. Control: n / rho + log2 / 8.
    """

    def bounded(times, share):
        def predicate(case):
            n, m, j = case
            return binomial_tail(n, m, Fraction(times * n, m) + j * share) <= Fraction(1, 1 << j)

        return predicate

    cases = [(n, m, j) for n in (4, 8, 16) for m in (2, 4, 16, 64, 256) for j in range(9)]
    return exhaustive(
        predicate=bounded(8, Fraction(1)),
        universe=cases,
        control=dict(predicate=bounded(1, Fraction(1, 8))),
    )
