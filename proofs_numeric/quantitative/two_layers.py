"""Section 5 and appendix B.2: two-layer transformers of infinite precision, Theorem 5.2."""

import dataclasses
import functools
import itertools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, inequality, rate
from theorykit.checks.domains import inputs, integers, positive, reals
from theorykit.common.keys import seed_of
from theorykit.subjects import limit, simulation

# Lemma B.2 ---------------------------------------------------------------------------------------


def quotient(A, B, gammas, i):
    """Return f(i) = sum_k A_k i^(-gamma_k) / sum_k B_k i^(-gamma_k)."""
    powers = i**-gammas
    return powers @ A / (powers @ B)


@claim(
    "quantitative.B2.ratio",
    ref="Lemma B.2",
    statement=r"\|f(i) - f(j)\| \le \delta^{-2} j^{-\gamma_2} "
    r"\left(\sum_k \|A_k\|\right) \left(\sum_k |B_k|\right),\ j < i",
    assumptions=[r"\sum_k B_k i^{-\gamma_k} \ge \delta, 0 = \gamma_1 < \gamma_2 < \dots"],
)
def ratio():
    """It holds, here for three powers and B > 0, delta = B_1. Control: with gamma_3 for gamma_2."""
    exponents = lambda gaps: jnp.concatenate([jnp.zeros(1), jnp.cumsum(gaps)])

    def lhs(A, B, gaps, j, more):
        f = lambda i: quotient(A, B, exponents(gaps), i)
        return jnp.sqrt(((f(1 + j + more) - f(1 + j)) ** 2).sum())

    def rhs(which):
        def bound(A, B, gaps, j):
            sizes = jnp.sqrt((A**2).sum(1)).sum() * B.sum()
            return (1 + j) ** -exponents(gaps)[which] * sizes / B[0] ** 2

        return bound

    return inequality(
        lhs=lhs,
        rhs=rhs(1),
        over=inputs(
            A=reals("3 2"), B=positive("3"), gaps=positive("2"), j=positive(), more=positive()
        ),
        starts=16,
        steps=60,
        control=dict(rhs=rhs(2)),
    )


# Lemma B.1 ---------------------------------------------------------------------------------------


@functools.lru_cache(512)
def drawn(seed):
    """Return a transformer, and (w, mu) with positions i > j, at random."""
    rng = np.random.default_rng(seed)
    symbols, tau = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    scale = float(rng.uniform(0.2, 1.2))
    f = simulation.random_two_layers(rng, "abcd"[:symbols], tau, scale=scale)
    w, mu = rng.integers(0, symbols, tau + 1), rng.dirichlet(np.full(symbols, 0.5))
    j = int(10 ** rng.uniform(0, 4))
    return f, w, mu, j + 1 + int(10 ** rng.uniform(0, 4)), j


SEEDS = dict(over=inputs(seed=integers(0, 10**6)), cases=200, traceable=False)


@claim(
    "quantitative.B1.first_layer",
    ref="Lemma B.1",
    statement=r"y_i^{(1)} = q_f(x_{i-\tau:i}, \mu(x_{\le i}), i)",
)
def first_layer():
    """The first layer is a function of suffix, shares and position: at every position of strings.

    Control: with the shares of the whole string.
    """

    def build(seed, whole=False):
        rng = np.random.default_rng(seed)
        f = simulation.random_two_layers(rng, "abc", tau=2)
        x = rng.integers(0, 3, 12)
        plain = limit.Layer((dataclasses.replace(f.layers[1].heads[0], V=0 * np.eye(4)),),
                            *limit.mlp(4))  # fmt: skip
        inside = dataclasses.replace(f, layers=(f.layers[0], plain), U=np.eye(4))
        w, mu = simulation.windows(x, 3, 2)
        mu = np.broadcast_to(mu[-1], mu.shape).copy() if whole else mu
        q = simulation.first_layer(f, w, mu, np.arange(1, 13))
        return float(abs(q - np.asarray(limit.forward(inside, jnp.array(x)))).max())

    return construction(
        build=build,
        has=lambda gap: gap < 1e-9,
        cases=range(4),
        control=dict(build=lambda seed: build(seed, True)),
    )


@claim(
    "quantitative.B1.norm",
    ref="Lemma B.1",
    statement=r"\|q_f\| \lesssim (1 + \sum_h \|V_{1,h}\|) (1 + \|B_1\| \|A_1\|) = G_f",
    expect="refuted",
)
def norm():
    """The bias is missing: width 1, Y = V = A = 0, B = 1, q = b and G = 1.

    Members are b; the constant in the bound is taken to be 10, and any other falls alike. Control:
    1/10.
    """
    value = lambda b: max(0, b)
    return exhaustive(
        predicate=lambda b: value(b) <= 10,
        universe=range(1, 100),
        control=dict(predicate=lambda b: 10 * value(b) <= 1),
    )


@claim(
    "quantitative.B1.norm.repaired",
    ref="Lemma B.1",
    statement=r"\|q_f\| \le (1 + \sum_h \|V_{1,h}\|) (1 + \|B_1\| \|A_1\|) + \|B_1\| \|b_1\|",
    assumptions=[r"\psi(0) = 0"],
)
def norm_repaired():
    """With the bias it is a bound. Control: a fifth of it."""

    def sides(seed):
        f, w, mu, i, _ = drawn(int(seed))
        return np.linalg.norm(simulation.first_layer(f, w, mu, np.array(i)))

    G = lambda seed: simulation.first_layer_constants(drawn(int(seed))[0])[0]
    return inequality(lhs=sides, rhs=G, **SEEDS, control=dict(rhs=lambda seed: G(seed) / 5))


def last_only(v, phi, i):
    """Return q - E for one head with V = v, KQ = 0, E_a = 1, E_b = -1, mu even, suffix a.

    (1 - i^(-phi)) v over i^(1 - phi) + 1 - i^(-phi), phi = 1 or 2.
    """
    power = Fraction(1, i if phi == 1 else i * i)
    far = Fraction(1) if phi == 1 else Fraction(1, i)
    return v * Fraction(1 - power, far + 1 - power)


@claim(
    "quantitative.B1.drift",
    ref="Lemma B.1",
    statement=r"\|q_f(w,\mu,i) - q_f(w,\mu,j)\| \lesssim (1 + \|B_1\|\|A_1\|) (\tau^2 + 1) "
    r"\min(i,j)^{-\gamma} \sum_h \exp(4 \|K_{1,h}^\top Q_{1,h}\|)",
    expect="refuted",
)
def drift():
    """The norm of V is missing on the right, and the left side grows with it.

    phi = 2, so gamma = 1, tau = 0, K^T Q = 0: H_f = 1. Members are V; the constant in the bound is
    taken to be 10. In fractions. Control: the constant 1/10.
    """
    gap = lambda v: abs(last_only(v, 2, 2) - last_only(v, 2, 1))
    return exhaustive(
        predicate=lambda v: gap(v) <= 10,
        universe=range(1, 100),
        control=dict(predicate=lambda v: 10 * gap(v) <= 1),
    )


@claim(
    "quantitative.B1.drift.repaired",
    ref="Lemma B.1",
    statement=r"\|q_f(w,\mu,i) - q_f(w,\mu,j)\| \le (1 + \|B_1\|\|A_1\|) (2 \tau + 3)^2 "
    r"\min(i,j)^{-\gamma} \sum_h \|V_{1,h}\| \exp(4 \|K_{1,h}^\top Q_{1,h}\|)",
)
def drift_repaired():
    """With |V| and an explicit constant it is a bound. Control: a 1000th of it."""

    def sides(seed):
        f, w, mu, i, j = drawn(int(seed))
        both = [simulation.first_layer(f, w, mu, np.array(k)) for k in (i, j)]
        return np.linalg.norm(both[0] - both[1])

    def bound(seed):
        f, *_, j = drawn(int(seed))
        H = simulation.first_layer_constants(f)[1]
        return H * j ** -simulation.positional_margin(f)

    return inequality(
        lhs=sides, rhs=bound, **SEEDS, control=dict(rhs=lambda seed: bound(seed) / 1000)
    )


@claim(
    "quantitative.5.1.margin",
    ref="Definition 5.1, Lemma B.1",
    statement=r"\gamma(f) = \min_h (\max \mathcal P_h - \max\{p \in \mathcal P_h : p \ne "
    r"\max \mathcal P_h\}),\ \mathcal P_h = \{\phi_{1,h}(i - t, i)\} \cup \{1\}: "
    r"q_f \text{ moves by } O(\min(i,j)^{-\gamma})",
    expect="refuted",
)
def margin():
    """With phi = 1 on the suffix the margin is infinite, and the first layer still moves as 1/i.

    i^phi - 1 has the exponent 0, which is not in P_h. Members are (i, j), j >= 2, where
    j^(-infinity) is 0. In fractions. Control: twice each position.
    """
    still = lambda i, j: last_only(1, 1, i) == last_only(1, 1, j)
    members = [(i, j) for j in range(2, 6) for i in range(j, 9)]
    return exhaustive(
        predicate=lambda m: still(*m),
        universe=members,
        control=dict(predicate=lambda m: still(2 * m[0], m[1])),
    )


@claim(
    "quantitative.5.1.margin.repaired",
    ref="Definition 5.1, Lemma B.1",
    statement=r"\mathcal P_h = \{\phi_{1,h}(i - t, i)\} \cup \{0, 1\}",
)
def margin_repaired():
    """With 0 among the values the margin is 1 there, and the drift is at most 1/j.

    In fractions. Control: at most 1/j^2.
    """
    gap = lambda i, j: abs(last_only(1, 1, i) - last_only(1, 1, j))
    members = [(i, j) for j in range(1, 12) for i in range(j, 40)]
    return exhaustive(
        predicate=lambda m: gap(*m) * m[1] <= 1,
        universe=members,
        control=dict(predicate=lambda m: gap(*m) * m[1] * m[1] * 4 <= 1),
    )


@claim(
    "quantitative.B1.slope",
    ref="Lemma B.1",
    statement=r"\|\nabla_\mu q_f\|_{op} \le 2 S \left(\sum_h \|V_{1,h}\| "
    r"\exp(4 \|K_{1,h}^\top Q_{1,h}\|)\right) (1 + \|B_1\| \|A_1\|) = L_f",
)
def slope():
    """A bound: differences along random directions of the simplex. Control: a 50th of it."""

    def sides(seed):
        f, w, mu, i, _ = drawn(int(seed))
        other = np.random.default_rng(int(seed)).dirichlet(np.full(len(mu), 0.5))
        near = mu + 1e-4 * (other - mu)
        both = [simulation.first_layer(f, w, v, np.array(i)) for v in (mu, near)]
        return np.linalg.norm(both[0] - both[1]) / np.linalg.norm(near - mu)

    L = lambda seed: simulation.first_layer_constants(drawn(int(seed))[0])[2]
    return inequality(lhs=sides, rhs=L, **SEEDS, control=dict(rhs=lambda seed: L(seed) / 50))


# Theorem 5.2 -------------------------------------------------------------------------------------


@claim(
    "quantitative.5.1.complexity",
    ref="App. B.2, end",
    statement=r"\|f(x) - f(z)\| \lesssim C(f) n^{-(1/3 \wedge \gamma(f))},\ C(f) \propto "
    r"\sum_h \|V_{1,h}\| \exp(4 \|K_{1,h}^\top Q_{1,h}\|)",
    expect="refuted",
)
def complexity():
    """Without attention in the first layer C(f) is 0, and f still depends on the shares of symbols.

    f is the share of a, by uniform attention in the second layer; x has 1 a among 11 symbols. No z
    of fewer symbols has that share. Members are N, the length up to which z may be. In fractions.
    Control: x with 1 a among 12, and z of one symbol.
    """
    return exhaustive(
        predicate=lambda N: reached(Fraction(1, 11), N),
        universe=range(1, 11),
        control=dict(predicate=lambda N: reached(Fraction(1, 12), 1)),
    )


def reached(share, N):
    """Whether a string of at most N symbols has a share of a."""
    return any(Fraction(a, n) == share for n in range(1, N + 1) for a in range(n + 1))


@functools.lru_cache(7)
def transformer(number, length):
    """Return f, a string of long blocks with exceptions, and f(x)."""
    f = simulation.random_two_layers(np.random.default_rng(number), "ab", tau=1)
    blocks = np.arange(length) * 6 // length % 2
    x = np.where(np.arange(length) % 5 == 0, 1 - blocks, blocks)
    return f, x, simulation.last_outputs(f, x)


@functools.lru_cache(512)
def subsets(seed, n, length=50_000):
    """Return |f(x) - f(z)| for a random subset z, and f."""
    f, x, goal = transformer(seed % 7, length)
    z = x[simulation.subset(np.random.default_rng(seed), length, n, 1)]
    return float(np.linalg.norm(goal - simulation.last_outputs(f, z))), f


@claim(
    "quantitative.5.1.complexity.repaired",
    ref="Definition 5.1, App. B.2",
    statement=r"\|f(x) - f(z)\| \le C(f) n^{-(1/3 \wedge \gamma(f))}",
)
def complexity_repaired():
    """With 1 + the sum, 1 + |A_1| |B_1|, the bias and the repaired margin it bounds the error.

    Random subsets at n = 1000; the bound is far away. Control: n^(-1/3) / 10 in its place.
    """

    def bound(seed):
        f = subsets(int(seed), 1000)[1]
        return simulation.complexity(f) * 1000 ** -min(1 / 3, simulation.positional_margin(f))

    return inequality(
        lhs=lambda seed: subsets(int(seed), 1000)[0],
        rhs=bound,
        over=inputs(seed=integers(0, 10**6)),
        cases=24,
        traceable=False,
        control=dict(rhs=lambda seed: 0.01),
    )


@claim(
    "quantitative.thm5.2",
    ref="Theorem 5.2",
    statement=r"\|f(x) - f(z)\| \lesssim C(f) n^{-(1/3 \wedge \gamma(f))}",
)
def theorem():
    """Errors of two-layer transformers on random subsets decay as n^(-1/3) on average.

    Seven transformers with gamma = 1/2 or 1, a string of long blocks, T = 50,000. Control: as
    n^(-1/2) at least.
    """

    def measure(key, n):
        seed = seed_of(key, 2**32)
        return np.mean([subsets((seed + 7919 * k) % 2**31, int(n))[0] for k in range(20)])

    return rate(
        measure=measure,
        at=(250, 1000, 4000),
        at_most=-1 / 3,
        tolerance=0.12,
        replicates=8,
        vectorize=False,
        control=dict(at_most=-1 / 2 - 0.12),
    )


@claim(
    "quantitative.thm5.2.averaged_power",
    ref="App. B.2",
    statement=r"\xi_\gamma(n) = \tfrac1n \sum_{j \le n} j^{-\gamma} \lesssim "
    r"n^{-(1/3 \wedge \gamma)}",
)
def averaged_power():
    """For gamma = 1/4, 1/3, 1/2, 1 and 3, with the constant 3/2. Control: with 1/2."""
    xi = lambda g, n: (np.arange(1, n + 1) ** -g).mean()
    within = lambda c: lambda m: xi(*m) <= c * m[1] ** -min(1 / 3, m[0])
    return exhaustive(
        predicate=within(1.5),
        universe=list(itertools.product((1 / 4, 1 / 3, 1 / 2, 1.0, 3.0), (1, 10, 100, 10_000))),
        control=dict(predicate=within(0.5)),
    )
