"""Appendix A.3: strings with the expected counts, Lemmas A.6 to A.8."""

import functools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, inequality
from theorykit.checks.domains import inputs, integers, interval, reals, simplex
from theorykit.proofs_numeric.quantitative._strings import (
    attended,
    state,
    uniform,
    values,
    without_mlp,
)
from theorykit.subjects import limit, simulation


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
    mathematics=True,
)
def idealised():
    """Two averages of values of norm at most 1 differ by at most that, for any attended set.

    Loose by a factor |Sigma| Delta at least: the shares that are off by delta sum to 1. Control: an
    eighth of delta / gamma.
    """

    def lhs(p, u, t, v, a):
        p, _, _, n = shares(p, u, t, len(v))
        A = jnp.where(a > 0, 1.0, 0.0).at[0].set(1.0)  # what is attended to, the first at least
        v = jnp.tanh(v)
        return jnp.abs((A * n) @ v / (A * n).sum() - (A * p) @ v / (A * p).sum())

    def rhs(factor):
        def bound(p, u, t, v):
            _, gamma, delta, _ = shares(p, u, t, len(v))
            return factor(len(v)) * delta / gamma

        return bound

    return inequality(
        lhs=lhs,
        rhs=rhs(lambda size: 3 * size**2),
        over=inputs(
            p=simplex("S"), u=interval(-1, 1, "S"), t=interval(0, 1), v=reals("S"), a=reals("S"),
            S=(2, 4),
        ),
        starts=16,
        steps=60,
        control=dict(rhs=rhs(lambda size: 1 / 8)),
    )  # fmt: skip


@functools.lru_cache(1024)
def in_bulk(seed, short=0):
    """Return a random transformer without an MLP, a random string, gamma and its smallest delta.

    Often only part of the pairs is attended to. Counts are of all but the last tau + 1.
    """
    rng = np.random.default_rng(seed)
    symbols, period, tau = int(rng.integers(2, 4)), int(rng.integers(1, 3)), int(rng.integers(0, 3))
    f = without_mlp(simulation.random_one_layer(rng, "abc"[:symbols], tau, period))
    T = short or 1000 * symbols * period
    x = rng.integers(0, symbols, T)
    n = simulation.counts(x, symbols, f.period or 1, f.locality or 0)
    delta = float(abs(n * (f.period or 1) / T - 1 / symbols).max())
    return f, "".join("abc"[s] for s in x), 1 / symbols, delta


def sizes(f):
    """Return |Sigma| Delta, and M^V."""
    return len(f.alphabet) * (f.period or 1), np.linalg.norm(values(f), axis=-1).max()


def away(f, x):
    """Return the average over the prefix's attended tokens, and the same with p_s for counts."""
    n = attended(f, x)
    ideal = (n > 0) / max((n > 0).sum(), 1)  # p is uniform
    return np.tensordot(n, values(f), 2), np.tensordot(ideal, values(f), 2)


@claim(
    "quantitative.A6.strings",
    ref="Lemma A.6",
    statement=r"\|\tilde f^{\setminus \tau}(x) - \bar f(x)\| \le "
    r"\frac{3 M_f^V (|\Sigma| \Delta)^2 \delta}{\gamma}",
    assumptions=[r"x \in \mathrm{bulk}_T,\ |\Sigma| \Delta \delta / \gamma \le 1/2"],
)
def idealised_strings():
    """The same on random strings, for random transformers; p is uniform. Control: a 300th of it."""

    def most(seed, part=1.0):
        f, _, gamma, delta = in_bulk(int(seed))
        size, M = sizes(f)
        return part * 3 * M * size**2 * delta / gamma

    def within(seed):
        f, _, gamma, delta = in_bulk(int(seed))
        return sizes(f)[0] * delta / gamma <= 1 / 2

    return inequality(
        lhs=lambda seed: np.linalg.norm(np.subtract(*away(*in_bulk(int(seed))[:2]))),
        rhs=most,
        over=inputs(seed=integers(0, 10**6)).given(within),
        cases=60,
        traceable=False,
        control=dict(rhs=lambda seed: most(seed, 1 / 300)),
    )


@claim(
    "quantitative.A7",
    ref="Lemma A.7",
    statement=r"\|\tilde f(x) - \tilde f^{\setminus \tau}(x)\| \le "
    r"\frac{3 \tau \Delta M_f^V}{(\gamma - \delta) T}",
    assumptions=[r"\delta < \gamma"],
    mathematics=True,
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


@claim(
    "quantitative.A7.strings",
    ref="Lemma A.7",
    statement=r"\|\tilde f(x) - \tilde f^{\setminus \tau}(x)\| \le "
    r"\frac{3 \tau \Delta M_f^V}{(\gamma - \delta) T}",
    assumptions=[r"\delta < \gamma,\ A(x) \ne \emptyset,\ \text{a suffix of } \tau \text{ tokens}"],
)
def suffix_strings():
    """The suffix moves the output by at most this, on random strings of 60 symbols.

    Control: a tenth of it. tau in the bound is the number of tokens in the suffix, one more than
    the largest distance at which phi is not 0.
    """
    case = lambda seed: in_bulk(int(seed), 60)

    def most(seed, part=1.0):
        f, x, gamma, delta = case(seed)
        tokens, period = (f.locality or 0) + 1, f.period or 1
        return part * 3 * tokens * period * sizes(f)[1] / ((gamma - delta) * len(x))

    def within(seed):
        f, x, gamma, delta = case(seed)
        return delta < gamma and attended(f, x).any()

    return inequality(
        lhs=lambda seed: np.linalg.norm(state(*case(seed)[:2]) - away(*case(seed)[:2])[0]),
        rhs=most,
        over=inputs(seed=integers(0, 10**6)).given(within),
        cases=100,
        traceable=False,
        control=dict(rhs=lambda seed: most(seed, 1 / 10)),
    )


def before_the_last(N):
    """Return |f(x) - f(z)| and the bound of Lemma A.8, where phi(T - 1, T) = 1 and tau = 1.

    x = (ab)^2N aa and z = (ab)^N ba: counts are balanced, and the last token is the same.
    """
    f = uniform("ab", 2, np.eye(2), phi=limit.Local((0.0, 1.0)))
    x, z = "ab" * 2 * N + "aa", "ab" * N + "ba"
    away = [[s.count(c) / len(s) - 1 / 2 for c in "ab"] for s in (x[:-1], z[:-1])]
    gap = simulation.hard_output(f, x) - simulation.hard_output(f, z)
    delta = float(np.abs(away).max())
    return np.linalg.norm(gap), simulation.bulk_error(f, 2, 1, 0, 0.5, delta, len(z))


@claim(
    "quantitative.A8",
    ref="Lemma A.8",
    statement=r"x_{T-\tau+1:T} = z_{N-\tau+1:N} \Rightarrow \|f(x) - f(z)\| \le 6 M_f^V L_f^{MLP} "
    r"\left(\frac{(|\Sigma| \Delta)^2 \delta}{\gamma} + "
    r"\frac{\tau \Delta}{(\gamma - \delta) N}\right)",
    assumptions=[r"x, z \in \mathrm{bulk},\ \delta < \gamma,\ N \equiv T \pmod \Delta"],
    expect="refuted",
    falls="wording",
    consequence="phi(i - tau, i) may be nonzero, so that the common suffix has tau + 1 tokens; "
    "Lemma A.10 has longer common suffixes, and Theorem 4.2 stands.",
)
def bulk_strings():
    """The token tau positions back is not shared, and may have all of the attention.

    tau = 1, phi(T - 1, T) = 1, else uniform; balanced strings of a and b. Members are half the
    length of z. Control: half of the bound.
    """
    return inequality(
        lhs=lambda N: before_the_last(int(N))[0],
        rhs=lambda N: before_the_last(int(N))[1],
        over=inputs(N=integers(50, 500)),
        cases=20,
        traceable=False,
        control=dict(rhs=lambda N: before_the_last(int(N))[1] / 2),
    )


@functools.lru_cache(1024)
def bulk_pair(seed):
    """Return |f(x) - f(z)|, the bound of Lemma A.8 and delta, of two strings with one suffix.

    Every other transformer has two symbols, no encodings and no MLP, where the bound is nearer.
    """
    rng = np.random.default_rng(seed)
    period, tau, symbols = int(rng.integers(1, 3)), int(rng.integers(0, 3)), 3
    bare = seed % 2 == 1
    symbols, period = (2, 1) if bare else (symbols, period)
    f = simulation.random_one_layer(rng, "abc"[:symbols], tau, period)
    f = without_mlp(f) if bare else f
    p = np.full(2, 0.5) if bare else np.array([0.2, 0.3, 0.5])
    suffix = rng.integers(0, symbols, tau + 1)
    N = 60 * int(rng.integers(1 if bare else 4, 12))
    T = 4 * N
    both = []
    for length in (T, N):
        x = rng.choice(symbols, length, p=p)
        x[-tau - 1 :] = suffix
        both.append(x)
    table = [simulation.counts(x, symbols, period, tau) for x in both]
    away = [abs(n * period / len(x) - p[:, None]).max() for n, x in zip(table, both, strict=True)]
    delta = float(max(away))
    out = ["".join("abc"[s] for s in x) for x in both]
    gap = simulation.hard_output(f, out[0]) - simulation.hard_output(f, out[1])
    most = (
        simulation.bulk_error(f, symbols, period, tau, p.min(), delta, N)
        if delta < p.min()
        else np.inf
    )
    return float(np.linalg.norm(gap)), most, delta, p.min()


@claim(
    "quantitative.A8.repaired",
    ref="Lemma A.8",
    statement=r"x_{T-\tau:T} = z_{N-\tau:N} \Rightarrow \|f(x) - f(z)\| \le 6 M_f^V L_f^{MLP} "
    r"\left(\frac{(|\Sigma| \Delta)^2 \delta}{\gamma} + "
    r"\frac{(\tau + 1) \Delta}{(\gamma - \delta) N}\right)",
    assumptions=[r"x, z \in \mathrm{bulk},\ \delta < \gamma,\ N \equiv T \pmod \Delta"],
)
def bulk_strings_repaired():
    """Random strings with their smallest delta, random transformers; the suffix has tau + 1 tokens.

    delta < gamma makes every pair occur in both, without which A(x) = A(z) may fail. Control: a
    100th of the bound.
    """
    return inequality(
        lhs=lambda seed: bulk_pair(int(seed))[0],
        rhs=lambda seed: bulk_pair(int(seed))[1],
        over=inputs(seed=integers(0, 10**6)).given(
            lambda seed: bulk_pair(int(seed))[2] < bulk_pair(int(seed))[3]
        ),
        cases=150,
        traceable=False,
        control=dict(rhs=lambda seed: bulk_pair(int(seed))[1] / 100),
    )
