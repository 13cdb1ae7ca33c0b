"""Appendix G: power series of one variable, cut after the fifth power (Lemmas G.4 to G.6)."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, inequality
from theorykit.checks.domains import inputs, interval, positive, reals
from theorykit.proofs_numeric.templates._powers import power_of
from theorykit.proofs_numeric.templates._series import RADIUS, absolute

SERIES = inputs(a=reals("6"), b=reals("6"), r=interval(0, 1))


@claim(
    "templates.G.types.sum",
    ref="Lemma G.4",
    statement=r"f + g \text{ is of } (\min(\tau_1, \sigma_1), \tau_2 + \tau_2)\text{-type}",
    expect="refuted",
    falls="wording",
    consequence="The second term is meant to be sigma_2; nothing that uses the rule changes.",
    mathematics=True,
)
def sum_rule():
    """The absolute series of a sum is at most twice that of the first summand.

    A misprint: it is tau_2 + sigma_2. Control: once.
    """
    return inequality(
        lhs=lambda a, b, r: absolute(a + b, r),
        rhs=lambda a, b, r: absolute(a, r) + absolute(a, r),
        over=SERIES,
        control=dict(rhs=lambda a, b, r: absolute(a, r)),
    )


@claim(
    "templates.G.types.sum.repaired",
    ref="Lemma G.4",
    statement=r"f + g \text{ is of } (\min(\tau_1, \sigma_1), \tau_2 + \sigma_2)\text{-type}",
    mathematics=True,
)
def sum_rule_repaired():
    """The absolute series of a sum is at most the sum of both. Control: the larger one."""
    return inequality(
        lhs=lambda a, b, r: absolute(a + b, r),
        rhs=lambda a, b, r: absolute(a, r) + absolute(b, r),
        over=SERIES,
        control=dict(rhs=lambda a, b, r: jnp.maximum(absolute(a, r), absolute(b, r))),
    )


@claim(
    "templates.G.types.product",
    ref="Lemma G.4",
    statement=r"fg \text{ is of } (\min(\tau_1, \sigma_1), "
    r"\tau_2 \sigma_2 + \tau_2 |g| + |f| \sigma_2)\text{-type}",
    mathematics=True,
)
def product_rule():
    """The type of a product follows this rule. Control: without tau_2 sigma_2."""

    def bound(cross):
        def value(a, b, r):
            f, g = absolute(a, r), absolute(b, r)
            return cross * f * g + f * jnp.abs(b[0]) + jnp.abs(a[0]) * g

        return value

    return inequality(
        lhs=lambda a, b, r: absolute(jnp.convolve(a, b), r),
        rhs=bound(1.0),
        over=SERIES,
        control=dict(rhs=bound(0.0)),
    )


def composed(a, b):
    """Return the series of g(f), where b is the series of g around f(0) = a_0."""
    inner = a.at[0].set(0.0)
    total, power = jnp.zeros(16).at[0].set(b[0]), jnp.ones(1)
    for coefficient in b[1:]:
        power = jnp.convolve(power, inner)
        total = total.at[: len(power)].add(coefficient * power)
    return total


@claim(
    "templates.G.types.composition",
    ref="Lemma G.3",
    statement=r"g \circ f \text{ is of } (\min(\tau_1, (\sigma_1 \circ f) \tau_1 / \tau_2), "
    r"\sigma_2 \circ f)\text{-type}",
    mathematics=True,
)
def composition_rule():
    """The rule for compositions, of polynomials of degree three and five.

    Control: the radius min(tau_1, sigma_1).
    """

    def both(shrink):
        def lhs(a, b, r, s):
            radius = r * jnp.minimum(1.0, s / absolute(a, r)) if shrink else jnp.minimum(r, s)
            return absolute(composed(a, b), radius)

        return lhs

    return inequality(
        lhs=both(True),
        rhs=lambda a, b, r, s: absolute(b, s),
        over=inputs(a=reals("6"), b=reals("4"), r=positive(), s=positive()).map(
            lambda a, b, r, s: dict(a=a.at[1].add(0.1), b=b, r=r / (1 + r), s=s / (1 + s))
        ),
        tol=1e-8,
        control=dict(lhs=both(False)),
    )


def derivatives(a, first):
    """Return |n-th derivative| / n! from the order `first` on."""
    return jnp.abs(a[first:])


def by_type(first):
    """Return tau_2 / tau_1^n for the orders n from `first` on, with the least tau_2 for r."""
    return lambda a, r: absolute(a, r) / r ** np.arange(first, 6)


@claim(
    "templates.G5",
    ref="Lemma G.5",
    statement=r"|\partial^\mu f(\zeta_0)| \le \tau_2 \tau_1^{-|\mu|} \mu! "
    r"\text{ for any multi-index } \mu",
    expect="refuted",
    falls="wording",
    consequence="The order 0 is to be excluded, as the proof does; where Lemma G.9 needs it, |f| "
    "<= 1 + gamma^2 serves.",
    mathematics=True,
)
def derivative_bound():
    """The bound of derivatives by type, at every order, including 0.

    At order 0 a constant breaks it, since its type can be arbitrarily small; the proof is for |mu|
    >= 1. Control: half the bound.
    """
    return inequality(
        lhs=lambda a, r: derivatives(a, 0),
        rhs=by_type(0),
        over=inputs(a=reals("6"), r=interval(0.1, 2)),
        control=dict(rhs=lambda a, r: by_type(0)(a, r) / 2),
    )


@claim(
    "templates.G5.repaired",
    ref="Lemma G.5",
    statement=r"|\partial^\mu f(\zeta_0)| \le \tau_2 \tau_1^{-|\mu|} \mu!,\ |\mu| \ge 1",
    mathematics=True,
)
def derivative_bound_repaired():
    """The bound of derivatives holds from the first order on. Control: half the bound."""
    return inequality(
        lhs=lambda a, r: derivatives(a, 1),
        rhs=by_type(1),
        over=inputs(a=reals("6"), r=interval(0.1, 2)),
        control=dict(rhs=lambda a, r: by_type(1)(a, r) / 2),
    )


LOGITS = inputs(zeta=reals("3"))


def total(f, at, radius, order=3):
    """Return sum over 1 <= |mu| <= order of |a_mu| radius^|mu|, from the derivatives of f."""
    found, derivative = 0.0, f
    for n in range(1, order + 1):
        derivative = jax.jacfwd(derivative)
        found += jnp.abs(derivative(at)).sum() * radius**n / math.factorial(n)
    return found


def weight(zeta):
    """Return the first weight of a softmax."""
    return jax.nn.softmax(zeta)[0]


@claim(
    "templates.G6",
    ref="Lemma G.6",
    statement=r"\mathrm{smax}(\zeta)_j \text{ is of } (1 / (2 e^2), 1)\text{-type}",
    assumptions=["three logits"],
    mathematics=True,
)
def softmax_type():
    """The absolute series of a softmax weight in the distance 1 / (2 e^2) is at most 1.

    Of three logits, in all of them at once, up to order 3; what follows is below 1e-3. It is at
    most 0.035 there: 1 is generous, see below. Control: the bound 1 / 32.
    """
    return inequality(
        lhs=lambda zeta: total(weight, zeta, RADIUS),
        rhs=lambda zeta: 1.0 + 0 * zeta[0],
        over=LOGITS,
        starts=8,
        control=dict(rhs=lambda zeta: 1 / 32 + 0 * zeta[0]),
    )


@claim(
    "templates.G6.proof",
    ref="Lemma G.6, proof",
    statement=r"\mathrm{smax}(\zeta)_j = 1 / h \text{ is of } (1 / (2 e^2), 1 / h)\text{-type}",
    assumptions=["three logits"],
    mathematics=True,
)
def softmax_type_by_its_value():
    """The proof's last line before it uses 1 / h <= 1: the bound is the weight itself.

    Control: an eighth of it; the ratio is at most e^(2 radius) - 1, or 0.145.
    """
    return inequality(
        lhs=lambda zeta: total(weight, zeta, RADIUS),
        rhs=weight,
        over=LOGITS,
        starts=8,
        control=dict(rhs=lambda zeta: weight(zeta) / 8),
    )


def reciprocal(sign):
    """Return the predicate: the coefficients sign (-1)^k / y^(k+1) times y + (t - y) are 1."""

    def predicate(y):
        c = [sign * power_of(-1, k) * Fraction(1, power_of(y, k + 1)) for k in range(9)]
        return c[0] * y == 1 and all(c[k] * y + c[k - 1] == 0 for k in range(1, 9))

    return predicate


@claim(
    "templates.G6.series",
    ref="Lemma G.6, proof",
    statement=r"\tfrac1y = \sum_{k \ge 0} \tfrac{(-1)^{k+1}}{y_0^{k+1}} (y - y_0)^k",
    expect="refuted",
    falls="wording",
    consequence="The sign is that of -1 / y; the proof uses absolute values only.",
    mathematics=True,
)
def reciprocal_series():
    """The series of 1 / y around y_0 has the printed signs. It has the opposite ones.

    Control: the same at another scale.
    """
    return exhaustive(
        predicate=reciprocal(-1), universe=range(1, 6), control=dict(predicate=reciprocal(-2))
    )


@claim(
    "templates.G6.series.repaired",
    ref="Lemma G.6, proof",
    statement=r"\tfrac1y = \sum_{k \ge 0} \tfrac{(-1)^k}{y_0^{k+1}} (y - y_0)^k",
    mathematics=True,
)
def reciprocal_series_repaired():
    """With (-1)^k, this is the series of 1 / y. Control: as printed."""
    return exhaustive(
        predicate=reciprocal(1), universe=range(1, 6), control=dict(predicate=reciprocal(-1))
    )
