"""Appendix A.3: the tails of Lemma A.9, and the algebra of Theorem 4.2."""

import dataclasses
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, expectation, inequality, on_box, rate
from theorykit.checks.domains import inputs, interval
from theorykit.common.keys import generator
from theorykit.subjects import limit, simulation

# Lemma A.9 ---------------------------------------------------------------------------------------


@claim(
    "quantitative.A9.beta",
    ref="Lemma A.9",
    statement=r"B(\alpha, \beta) \ge 4^{-(\alpha + \beta)}",
    mathematics=True,
)
def beta():
    """It holds on [0.05, 30]^2, and is proved on [1/2, 3]^2. Control: 2^-(alpha + beta)."""
    log_beta = lambda a, b: jax.lax.lgamma(a) + jax.lax.lgamma(b) - jax.lax.lgamma(a + b)
    return inequality(
        lhs=lambda a, b: jnp.exp(-(a + b) * jnp.log(4.0)),
        rhs=lambda a, b: jnp.exp(log_beta(a, b)),
        over=inputs(a=interval(0.05, 30.0), b=interval(0.05, 30.0)),
        starts=16,
        steps=60,
        proof=on_box(a=(0.5, 3), b=(0.5, 3)),
        control=dict(lhs=lambda a, b: jnp.exp(-(a + b) * jnp.log(2.0))),
    )


@claim(
    "quantitative.A9.tail",
    ref="Lemma A.9",
    statement=r"x \sim \mathrm{Beta}(\alpha, \beta),\ t \le \tfrac12: \mathbb P(x \le t) \le "
    r"\tfrac{2}{\alpha} 4^{\alpha + \beta} t^\alpha",
    mathematics=True,
)
def tail():
    """It holds, and is loose: P <= 2 t^alpha / (alpha B). Control: (1/2) t^alpha."""
    cdf = lambda a, b, t: jax.scipy.special.betainc(a, b, t)
    return inequality(
        lhs=lambda a, b, t: cdf(a, b, t),
        rhs=lambda a, b, t: 2 / a * 4 ** (a + b) * t**a,
        over=inputs(a=interval(0.05, 8.0), b=interval(0.05, 8.0), t=interval(0.0, 0.5)),
        starts=0,
        cases=256,
        control=dict(rhs=lambda a, t: t**a / 2),
    )


@claim(
    "quantitative.A9.dirichlet",
    ref="Lemma A.9",
    statement=r"\mathbb P(\exists s: p_s < \gamma) \le \frac{2 |\Sigma|}{\alpha_0} 4^{\alpha^*} "
    r"\gamma^{\alpha_0}",
    mathematics=True,
)
def dirichlet():
    """It holds, here for alpha = (1/2, 1/2, 1/2) and gamma = 10^-5: about 0.0095 against 0.30.

    The bound is below 1 only for gamma below (alpha_0 / (2 |Sigma| 4^alpha*))^(1/alpha_0). Control:
    a fiftieth of it.
    """
    alpha, gamma = np.full(3, 0.5), 1e-5
    most = 2 * 3 / 0.5 * 4 ** alpha.sum() * gamma**0.5

    def share(key):
        return (generator(key).dirichlet(alpha, 20_000) < gamma).any(1).mean()

    return expectation(
        statistic=share,
        at_most=most,
        replicates=40,
        vectorize=False,
        control=dict(at_most=most / 50),
    )


# Theorem 4.2: exponents --------------------------------------------------------------------------

ALPHAS = [Fraction(a, b) for a in range(1, 7) for b in range(1, 5)]
"""Values of alpha_0."""

LETTERS = ("eps", "M", "Sigma", "Delta", "alpha_0", "16^(alpha*/alpha_0)")


def times(*powers):
    """Return the exponents of a product of monomials in LETTERS."""
    return tuple(sum(p[k] for p in powers) for k in range(len(LETTERS)))


def raised(powers, exponent):
    """Return the exponents of a power."""
    return tuple(exponent * v for v in powers)


def proof_length(a, target):
    """Return the exponents of N = Delta / delta^2 for an error of eps^target.

    gamma = (alpha_0 eps^target / (4^alpha* |Sigma| M))^(1/alpha_0),
    delta = eps^target gamma / (M (|Sigma| Delta)^2). 4^(alpha*/alpha_0) is 16^(.../2).
    """
    inside = (target, -1, -1, 0, 1, 0)
    gamma = times(raised(inside, Fraction(1, a)), (0, 0, 0, 0, 0, Fraction(-1, 2)))
    delta = times((target, -1, -2, -2, 0, 0), gamma)
    return times((0, 0, 0, 1, 0, 0), raised(delta, -2))


def printed_length(a, power):
    """Return the exponents of the theorem's expression, with eps^(-power (1 + 1/alpha_0))."""
    i = Fraction(1, a)
    return (-power * (1 + i), 2 + 2 * i, 4 + 2 * i, 5, -2 * i, 1)


@claim(
    "quantitative.thm4.2.algebra",
    ref="Theorem 4.2",
    statement=r"N_0 \text{ of the statement, } \propto \varepsilon^{-2 - 2/\alpha_0}, \text{ is "
    r"that of the proof for an error } O(\varepsilon^{1/2}), \text{ as desired}",
    expect="refuted",
    falls="wording",
    consequence="Theorem 4.2 is true as printed. Its proof gives more: the square root of that "
    "power of 1/eps is enough.",
    mathematics=True,
)
def algebra():
    """The proof has eps^(-1 - 1/alpha_0); the statement's N_0 is that for an error O(eps).

    Exponents of eps, M, |Sigma|, Delta, alpha_0 and 16^(alpha*/alpha_0), for many alpha_0, in
    fractions. Control: eps^(-3 - 3/alpha_0).
    """
    half = Fraction(1, 2)
    return exhaustive(
        predicate=lambda a: proof_length(a, half) == printed_length(a, 2),
        universe=ALPHAS,
        control=dict(predicate=lambda a: proof_length(a, half) == printed_length(a, 3)),
    )


@claim(
    "quantitative.thm4.2.algebra.repaired",
    ref="Theorem 4.2",
    statement=r"N_0 \propto 16^{\alpha^*/\alpha_0} L^{2+2/\alpha_0} |\Sigma|^{4+2/\alpha_0} "
    r"\Delta^5 / (\alpha_0^{2/\alpha_0} \varepsilon^{1+1/\alpha_0})",
    mathematics=True,
)
def algebra_repaired():
    """With eps^(-1 - 1/alpha_0), all exponents are those of the proof.

    Control: eps^(-2 - 2/alpha_0).
    """
    half = Fraction(1, 2)
    return exhaustive(
        predicate=lambda a: proof_length(a, half) == printed_length(a, 1),
        universe=ALPHAS,
        control=dict(predicate=lambda a: proof_length(a, half) == printed_length(a, 2)),
    )


@claim(
    "quantitative.thm4.2.algebra.conditional",
    ref="App. A.3, eq. (40)",
    statement=r"\text{error } O(\varepsilon) \text{ with } N \propto "
    r"\varepsilon^{-(2 + 2/\alpha_0)}",
    mathematics=True,
)
def conditional():
    """The last remark of the proof has the expression of the statement.

    Control: eps^(-1 - 1/alpha_0).
    """
    return exhaustive(
        predicate=lambda a: proof_length(a, 1) == printed_length(a, 2),
        universe=ALPHAS,
        control=dict(predicate=lambda a: proof_length(a, 1) == printed_length(a, 1)),
    )


@claim(
    "quantitative.thm4.2.algebra.suffix",
    ref="App. A.3",
    statement=r"\tau \Delta / ((\gamma - \delta) N) = O(\varepsilon^{1 + \alpha_0^{-1}/2})",
    mathematics=True,
)
def suffix_term():
    """The error of the suffix, 1 / (gamma N), has that exponent of eps. Control: 1 + 1/alpha_0."""
    half = Fraction(1, 2)
    power = lambda a: -Fraction(half, a) - proof_length(a, half)[0]
    return exhaustive(
        predicate=lambda a: power(a) == 1 + Fraction(half, a),
        universe=ALPHAS,
        control=dict(predicate=lambda a: power(a) == 1 + Fraction(1, a)),
    )


def averaged(eps, scale=1.0):
    """Return Theorem 4.2's length for f = g, ModPTask at p = 2 times a scale, alpha = (1, 1)."""
    f = limit.mod_p_task(2)
    f = dataclasses.replace(f, U=scale * f.U)
    return simulation.average_length(f, f, eps, (1.0, 1.0))


@claim(
    "quantitative.thm4.2.length",
    ref="App. A.3, end of the proof of Theorem 4.2",
    statement=r"\text{the proof, with its constants, needs } "
    r"N = \tilde O(\varepsilon^{-1 - \alpha_0^{-1}})",
)
def average_length():
    """The proof's length has exponent 2 in 1 / eps at alpha_0 = 1.

    Control: the statement's expression, as printed.
    """
    return rate(
        measure=lambda n: averaged(1 / n).length,
        at=(1e6, 1e8, 1e10),
        exponent=2.0,
        control=dict(measure=lambda n: averaged(1 / n).printed),
    )


SCALES = (10.0, 100.0, 1000.0)


@claim(
    "quantitative.thm4.2.markov",
    ref="App. A.3, eq. (39)",
    statement=r"\eta = \varepsilon^{1/2} \Rightarrow \text{the error is } O(\varepsilon^{1/2}) "
    r"\text{ with a constant that is free of } M_f + M_g",
    expect="refuted",
    falls="reading",
    consequence="The O in Theorem 4.2 holds with a factor M_f + M_g, although N_0 shows powers of "
    "L; with agreement within eps / (M_f + M_g)^2 the factor is not needed.",
)
def markov():
    """By the proof's (39), with its constants, f and g times R: the error is proportional to R.

    The term (M_f + M_g) eps / eta is the one that keeps M_f + M_g. Control: proportional to R^-1.
    """
    return rate(
        measure=lambda R: averaged(1e-6, R).error,
        at=SCALES,
        at_most=0.0,
        control=dict(at_most=-1.0),
    )


@claim(
    "quantitative.thm4.2.markov.repaired",
    ref="App. A.3, eq. (39)",
    statement=r"\|f - g\|_N \le \varepsilon / (M_f + M_g)^2 \Rightarrow \|f - g\|_T = "
    r"O(\varepsilon^{1/2}) \text{ with such a constant}",
)
def markov_repaired():
    """The error no longer grows with R. Control: agreement within eps / (M_f + M_g)."""
    size = lambda R: 2 * R * simulation.output_bound(limit.mod_p_task(2))
    error = lambda power: lambda R: averaged(1e-3 / size(R) ** power, R).error
    return rate(measure=error(2), at=SCALES, at_most=0.0, control=dict(measure=error(1)))
