"""Appendix A.3: average error, Lemmas A.5 to A.8 and A.10."""

import functools
import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, expectation, inequality
from theorykit.checks.domains import inputs, integers, interval, reals, simplex
from theorykit.common.keys import generator
from theorykit.subjects import simulation

# Lemma A.5 ---------------------------------------------------------------------------------------

ODDS, PERIOD, DELTA, RHO = np.array([0.2, 0.3, 0.5]), 2, 0.1, 0.2
LENGTH = PERIOD * math.ceil(DELTA**-2 * math.log(2 * 3 * PERIOD / RHO))


def strings(key, length, tau=0, delta=DELTA):
    """Return the share of 50 random strings that are in the bulk."""
    rng = generator(key)
    x = rng.choice(3, (50, length), p=ODDS)
    return np.mean([simulation.in_bulk(row, ODDS, PERIOD, tau, delta) for row in x])


@claim(
    "quantitative.A5.bulk",
    ref="Lemma A.5",
    statement=r"T \ge \Delta \delta^{-2} \log \frac{2 |\Sigma| \Delta}{\rho} \Rightarrow "
    r"\mathbb P\left(\forall s, i: \left|\tfrac{n(s,i,x)}{T/\Delta} - p_s\right| \le "
    r"\delta\right) \ge 1 - \rho",
    assumptions=[r"\tau = 0,\ n \text{ counts all but the last token}"],
)
def bulk():
    """It holds with room: Hoeffding's inequality has exp(-2 c^2) where the proof takes exp(-c^2).

    Three symbols, Delta = 2, delta = 0.1, rho = 0.2. Control: a tenth of the length.
    """
    return expectation(
        statistic=lambda key: strings(key, LENGTH),
        at_least=1 - RHO,
        replicates=40,
        vectorize=False,
        control=dict(statistic=lambda key: strings(key, LENGTH // 10)),
    )


@claim(
    "quantitative.A5.bulk.suffix",
    ref="Lemma A.5, Definition A.1",
    statement=r"\text{the same for every } \tau < T",
    expect="refuted",
)
def bulk_suffix():
    """The suffix is not counted in n but in T: for tau near T the counts are all 0.

    It takes T >> tau / delta, which no hypothesis says. One symbol, p = 1, Delta = 1: members are
    (T, tau, 1/delta) with n = T - tau; the probability is 1 or 0. Control: delta = 0.
    """
    members = [(T, tau, d) for T in range(1, 40) for tau in range(0, T) for d in (2, 4)]
    inside = lambda m, d: Fraction(m[1], m[0]) <= d
    return exhaustive(
        predicate=lambda m: inside(m, Fraction(1, m[2])),
        universe=members,
        control=dict(predicate=lambda m: inside(m, 0)),
    )


@claim(
    "quantitative.A5.bulk.suffix.repaired",
    ref="Lemma A.5, Definition A.1",
    statement=r"\text{the same, for } \delta + \tau / T \text{ in place of } \delta",
    repairs="quantitative.A5.bulk.suffix",
)
def bulk_suffix_repaired():
    """The suffix costs at most tau / T, here 1/4. Control: delta alone."""
    tau = LENGTH // 4
    return expectation(
        statistic=lambda key: strings(key, LENGTH, tau, DELTA + tau / LENGTH),
        at_least=1 - RHO,
        replicates=40,
        vectorize=False,
        control=dict(statistic=lambda key: strings(key, LENGTH, tau)),
    )


# Lemmas A.6 to A.8 -------------------------------------------------------------------------------


def shares(p, u, t, size):
    """Return p mixed with the uniform, gamma, delta and n / T' = p + delta u, |u| <= 1.

    delta = t gamma / (2 S Delta), t in [0, 1], for S Delta = size.
    """
    p = (p + 1 / size) / 2
    gamma = p.min()
    delta = t * gamma / (2 * size)
    return p, gamma, delta, p + delta * u


@claim(
    "quantitative.A6",
    ref="Lemma A.6",
    statement=r"\|\tilde f^{\setminus \tau}(x) - \bar f(x)\| \le "
    r"\frac{3 M_f^V (|\Sigma| \Delta)^2 \delta}{\gamma}",
    assumptions=[r"x \in \mathrm{bulk}_T,\ |\Sigma| \Delta \delta / \gamma \le 1/2"],
)
def idealised():
    """The two averages of values of norm at most 1 differ by at most that; all pairs attended to.

    Loose by a factor |Sigma| Delta at least: the shares that are off by delta sum to 1. Control:
    an eighth of delta / gamma.
    """

    def lhs(p, u, t, v):
        p, _, _, n = shares(p, u, t, len(v))
        return jnp.abs(n @ jnp.tanh(v) / n.sum() - p @ jnp.tanh(v) / p.sum())

    def rhs(factor):
        def bound(p, u, t, v):
            _, gamma, delta, _ = shares(p, u, t, len(v))
            return factor(len(v)) * delta / gamma

        return bound

    return inequality(
        lhs=lhs,
        rhs=rhs(lambda size: 3 * size**2),
        over=inputs(
            p=simplex("S"), u=interval(-1, 1, "S"), t=interval(0, 1), v=reals("S"), S=(2, 4)
        ),
        starts=16,
        steps=60,
        control=dict(rhs=rhs(lambda size: 1 / 8)),
    )


@claim(
    "quantitative.A7",
    ref="Lemma A.7",
    statement=r"\|\tilde f(x) - \tilde f^{\setminus \tau}(x)\| \le "
    r"\frac{3 \tau \Delta M_f^V}{(\gamma - \delta) T}",
)
def suffix():
    """It holds for k <= tau attended suffix tokens and n >= (gamma - delta) T / Delta others.

    2 k / (n + k) is enough, without the step through 1 - 2 k / n. Members are (n, k), the prefix's
    average 1 and the suffix's -1, the extremes, with k = tau; fractions. Control: with 1 for 3.
    """
    gap = lambda n, k: abs(Fraction(n - k, n + k) - 1)
    within = lambda c: lambda m: gap(*m) <= Fraction(c * m[1], m[0])
    return exhaustive(
        predicate=within(3),
        universe=[(n, k) for n in range(1, 40) for k in range(0, 10)],
        control=dict(predicate=within(1)),
    )


@functools.lru_cache(1024)
def bulk_pair(seed):
    """Return |f(x) - f(z)| and the bound of Lemma A.8 for two strings of the bulk, one suffix."""
    rng = np.random.default_rng(seed)
    period, tau, symbols = int(rng.integers(1, 3)), int(rng.integers(0, 3)), 3
    f = simulation.random_one_layer(rng, "abc", tau, period)
    p, suffix = np.array([0.2, 0.3, 0.5]), rng.integers(0, symbols, tau + 1)
    N = 60 * int(rng.integers(4, 12))
    T = 4 * N
    both = []
    for length in (T, N):
        x = rng.choice(symbols, length, p=p)
        x[-tau - 1 :] = suffix
        both.append(x)
    table = [simulation.counts(x, symbols, period, tau) for x in both]
    away = [abs(n * period / len(x) - p[:, None]).max() for n, x in zip(table, both, strict=True)]
    delta = float(max(away))
    if delta >= 0.19:
        return 0.0, 1.0
    out = ["".join("abc"[s] for s in x) for x in both]
    gap = simulation.hard_output(f, out[0]) - simulation.hard_output(f, out[1])
    return (
        float(np.linalg.norm(gap)),
        simulation.bulk_error(f, symbols, period, tau, 0.2, delta, N),
    )


@claim(
    "quantitative.A8",
    ref="Lemma A.8",
    statement=r"\|f(x) - f(z)\| \le 6 M_f^V L_f^{MLP} \left(\frac{(|\Sigma| \Delta)^2 \delta}"
    r"{\gamma} + \frac{(\tau + 1) \Delta}{(\gamma - \delta) N}\right)",
    assumptions=[r"x, z \in \mathrm{bulk},\ \delta < \gamma"],
)
def bulk_strings():
    """Random strings with their smallest delta, random transformers; the suffix has tau + 1 tokens.

    delta < gamma makes every pair occur in both, without which A(x) = A(z) may fail. Control: a
    2,000th of the bound.
    """
    return inequality(
        lhs=lambda seed: bulk_pair(int(seed))[0],
        rhs=lambda seed: bulk_pair(int(seed))[1],
        over=inputs(seed=integers(0, 10**6)),
        cases=150,
        traceable=False,
        control=dict(rhs=lambda seed: bulk_pair(int(seed))[1] / 2000),
    )


# Lemma A.10 --------------------------------------------------------------------------------------


def averages(seed, length, key, count=40):
    """Return the mean of |f - g| over random strings of a length, for the pair of a seed."""
    rng = np.random.default_rng(seed)
    f, g = (simulation.random_one_layer(rng, "abc", 1, 2) for _ in range(2))
    x = generator(key).choice(list("abc"), (count, length), p=ODDS)
    rows = ["".join(row) for row in x]
    gap = lambda s: np.linalg.norm(simulation.hard_output(f, s) - simulation.hard_output(g, s))
    return np.mean([gap(s) for s in rows]), (f, g)


@claim(
    "quantitative.A10.average",
    ref="Lemma A.10, eq. (37)",
    statement=r"\|f - g\|_{T,\mathcal P} \le 2 \rho (M_f + M_g) + \|f - g\|_{N',\mathcal P} + "
    r"6 (M_f^V L_f^{MLP} + M_g^V L_g^{MLP}) \left(\frac{(|\Sigma|\Delta)^2 \delta}{\gamma} + "
    r"\frac{(\tau+1) \Delta}{(\gamma-\delta) N}\right)",
)
def transfer():
    """The difference of the averages at T and N' is at most the rest, for a random pair.

    delta = 0.1, rho = 0.2, gamma = 0.2, N = the lemma's, T = 2 N. The rest is far away. Control:
    f and g differ by less at T than half of what they do at N'.
    """
    N = LENGTH

    def difference(key, factor=1.0):
        a, b = jax.random.split(key)
        return averages(17, 2 * N, a)[0] - factor * averages(17, N, b)[0]

    _, (f, g) = averages(17, 8, jax.random.key(0), 1)
    M = simulation.output_bound(f) + simulation.output_bound(g)
    rest = sum(simulation.bulk_error(t, 3, PERIOD, 1, 0.2, DELTA, N) for t in (f, g))
    return expectation(
        statistic=difference,
        at_most=2 * RHO * M + rest,
        replicates=12,
        vectorize=False,
        control=dict(statistic=lambda key: difference(key, 0.5), at_most=0.0),
    )


@claim(
    "quantitative.A10.attended",
    ref="Lemma A.10",
    statement=r"\text{equal suffixes and residues} \Rightarrow A(\mathrm{sim}_N(x)) = A(x)",
    expect="refuted",
)
def attended():
    """Only if the same tokens occur in both: x = a b ... b, and the last tokens have no a.

    Hard attention prefers a. Both strings in the bulk with delta < gamma is enough, and that is all
    that is used. Members are strings and N. Control: no token is ever attended to.
    """
    top = lambda x: min(x[:-1]) if len(x) > 1 else None  # 0 is preferred to 1
    members = [
        (x, N) for n in range(3, 6) for x in itertools.product((0, 1), repeat=n)
        for N in range(2, n)
    ]  # fmt: skip
    return exhaustive(
        predicate=lambda m: top(m[0]) == top(m[0][-m[1] :]),
        universe=members,
        control=dict(predicate=lambda m: top(m[0]) is None),
    )


@claim(
    "quantitative.A10.attended.repaired",
    ref="Lemma A.10",
    statement=r"\text{every (token, residue) in the prefix of both} \Rightarrow "
    r"A(\mathrm{sim}_N(x)) = A(x)",
)
def attended_repaired():
    """Where all symbols occur in both prefixes. Control: where all occur in that of x."""
    top = lambda x: min(x[:-1]) if len(x) > 1 else None
    whole = lambda x: {0, 1} <= set(x[:-1])
    members = [
        (x, N) for n in range(3, 7) for x in itertools.product((0, 1), repeat=n)
        for N in range(2, n)
    ]  # fmt: skip
    last = lambda m: m[0][-m[1] :]
    same = lambda m: top(m[0]) == top(last(m))
    return exhaustive(
        predicate=lambda m: not (whole(m[0]) and whole(last(m))) or same(m),
        universe=members,
        control=dict(predicate=lambda m: not whole(m[0]) or same(m)),
    )
