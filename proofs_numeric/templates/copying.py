"""Section 4 and appendix J: copying unseen symbols fails, unless a head may pass them through."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp

from theorykit import claim
from theorykit.checks import exhaustive, rate
from theorykit.proofs_numeric.templates._one_token import (
    HEADS,
    RATE,
    SEEN,
    SYMBOLS,
    network,
    weights,
)


def test_slope(m, n, gamma2, rates, kernel):
    """Return dL_test / dt at t = 0 in the limit: n training symbols of m, none of them tested.

    **Arguments:** `gamma2`: gamma^2; `rates`: learning rates of O, V, P, E over the factors that
    make them of order one; `kernel`: sum of the printed limits, given delta_ij and delta_xx'.
    """
    total = Fraction(0)
    tested = m - 1
    for x in range(n):
        for i, j in itertools.product(range(m), repeat=2):
            left = Fraction(1, m) - (i == x)
            right = Fraction(1, m) - (j == tested)
            total -= left * right * kernel(i == j, x == tested, gamma2, rates)
    return total * Fraction(1, n)


def plain_kernel(same, hit, gamma2, rates):
    """Return eta_O K_O + eta_V K_V + eta_P K_P + eta_E K_E in the limit."""
    O, V, P, E = rates
    return same * ((O + V) * (hit + gamma2) + P * gamma2 + E * (2 * hit + gamma2))


CASES = [
    (m, n, gamma2, rates)
    for m in (2, 3, 5)
    for n in range(1, m)
    for gamma2 in (0, 1, 4)
    for rates in ((1, 0, 0, 0), (0, 1, 2, 0), (1, 1, 1, 1))
]
slope = lambda case: test_slope(case[0], case[1], case[2], case[3], plain_kernel)


@claim(
    "templates.J2.limit",
    ref="Theorems 4.1 and J.2",
    statement=r"\partial \mathcal L_{\mathrm{test}} / \partial t |_{t=0} \to 0",
    expect="refuted",
    falls="statement",
    consequence="With positions and a fixed alphabet the limit is above 0; the purpose of the "
    "theorem, that the test loss does not fall, stands.",
    mathematics=True,
)
def test_loss_stays():
    """In the limit the test loss does not change at first.

    With positions it rises: the proof itself ends at C / m with C proportional to gamma^2, which
    is not o(1) at a fixed number of symbols m. Control: it falls.
    """
    return exhaustive(
        predicate=lambda case: slope(case) == 0,
        universe=CASES,
        control=dict(predicate=lambda case: slope(case) < 0),
    )


@claim(
    "templates.J2.limit.repaired",
    ref="Theorems 4.1 and J.2",
    statement=r"\partial \mathcal L_{\mathrm{test}} / \partial t |_{t=0} \to "
    r"\tfrac{\gamma^2}{m} (\eta_O + \eta_V + \eta_P + \eta_E) \ge 0",
    mathematics=True,
)
def test_loss_does_not_fall():
    """The test loss does not fall: it rises by gamma^2 / m times the sum of the rates.

    Control: 2 eta_E.
    """
    return exhaustive(
        predicate=rises_by(1),
        universe=CASES,
        telling=lambda case: case[2] and case[3][3],
        control=dict(predicate=rises_by(2)),
    )


def rises_by(E):
    """Return the predicate: the slope is gamma^2 / m times the rates, the last one E times."""
    return lambda case: (
        slope(case) == Fraction(case[2], case[0]) * (sum(case[3][:3]) + E * case[3][3])
    )


@claim(
    "templates.J2.limit.last_line",
    ref="Theorem J.2, proof",
    statement=r"\partial \mathcal L_{\mathrm{test}} / \partial t |_{t=0} \to \tfrac Cm,\ "
    r"C = \gamma^2 (\eta_V + \eta_O + \eta_P + 2 \eta_E)",
    expect="refuted",
    falls="wording",
    consequence="The limit of K_E printed before has 2 in front of delta only, so C "
    "has eta_E once; its sign does not change.",
    mathematics=True,
)
def last_line():
    """The proof's last line, with rates over the factors that make them of order one.

    Control: 3 eta_E.
    """
    return exhaustive(predicate=rises_by(2), universe=CASES, control=dict(predicate=rises_by(3)))


@claim(
    "templates.J2.limit.last_line.repaired",
    ref="Theorem J.2, proof",
    statement=r"C = \gamma^2 (\eta_V + \eta_O + \eta_P + \eta_E)",
    mathematics=True,
)
def last_line_repaired():
    """With eta_E once, where all four rates are above 0. Control: as printed."""
    return exhaustive(
        predicate=rises_by(1),
        universe=[case for case in CASES if case[3][3]],
        telling=lambda case: case[2],
        control=dict(predicate=rises_by(2)),
    )


def loss(theta, x, gamma):
    """Return the cross entropy of copying the token x."""
    return -jax.nn.log_softmax(network(theta, x, gamma))[x]


def training_slope(rates, width=48, networks=128, gamma=0.7):
    """Return the measure: -dL_train / dt at t = 0 against heads, whose rates depend on them."""

    def measure(key, heads):
        def one(key):
            theta = weights(key, width, heads)
            train = lambda theta: sum(loss(theta, x, gamma) for x in range(SEEN)) / SEEN
            slopes = jax.grad(train)(theta)
            return sum(eta * jnp.sum(slopes[g] ** 2) for g, eta in rates(heads).items())

        return jax.lax.map(one, jax.random.split(key, networks)).mean()

    return measure


GROWTH = dict(at=(2, 4, 8), replicates=8, batch=1, tolerance=0.3)


@claim(
    "templates.J2.rates",
    ref="Theorem J.2, proof",
    statement=r"\eta_O = O(1/H),\ \eta_V = O(d_{\mathrm{emb}} / d_{\mathrm{head}}),\ "
    r"\eta_P, \eta_E = O(1) \Rightarrow \partial \mathcal L_{\mathrm{train}} / \partial t = O(1)",
    expect="refuted",
    falls="proof",
    consequence="The theorem is about all rates for which the training loss changes at order one; "
    "for V, P and E these are also of order 1 / H.",
    tier="slow",
    mathematics=True,
)
def printed_rates():
    """At these rates the slope of the training loss stays bounded as heads are added.

    With d_emb = d_head = 48 and 2 to 8 heads. It grows in proportion to them. Control: it falls.
    """
    printed = lambda heads: dict(O=1 / heads, V=1.0, P=1.0, E=1.0)
    return rate(measure=training_slope(printed), at_most=0.0, control=dict(at_most=-1.0), **GROWTH)


@claim(
    "templates.J2.rates.repaired",
    ref="Theorem J.2, proof",
    statement=r"\eta_O, \eta_V, \eta_P, \eta_E = O(1 / H),\ d_{\mathrm{emb}} = d_{\mathrm{head}} "
    r"\Rightarrow \partial \mathcal L_{\mathrm{train}} / \partial t = O(1)",
    tier="slow",
    mathematics=True,
)
def rates_repaired():
    """With all four rates of order 1 / H, the slope stays bounded. Control: as printed."""
    equal = lambda heads: dict.fromkeys("OVPE", 1 / heads)
    printed = lambda heads: dict(O=1 / heads, V=1.0, P=1.0, E=1.0)
    return rate(
        measure=training_slope(equal), at_most=0.0,
        control=dict(measure=training_slope(printed)), **GROWTH,
    )  # fmt: skip


@claim(
    "templates.J3.rate",
    ref="Theorem J.3, proof",
    statement=r"\eta_b = \Omega(H):\ |\partial \mathcal L_{\mathrm{train}} / \partial t| = O(1)",
    expect="refuted",
    falls="wording",
    consequence="The rate must be of order 1 / H, as the proof says one line earlier; the theorem "
    "stands.",
    tier="slow",
    mathematics=True,
)
def rate_of_b():
    """At eta_b = H the slope of the training loss is bounded. It is of order H^2.

    Control: it falls.
    """
    return rate(
        measure=training_slope(lambda heads: dict(b=float(heads)), gamma=0.0), at_most=0.0,
        control=dict(at_most=-1.0), **GROWTH,
    )  # fmt: skip


@claim(
    "templates.J3.rate.repaired",
    ref="Theorem J.3, proof",
    statement=r"\eta_b = 1 / H:\ |\partial \mathcal L_{\mathrm{train}} / \partial t| = O(1)",
    tier="slow",
    mathematics=True,
)
def rate_of_b_repaired():
    """At eta_b = 1 / H the slope of the training loss is bounded. Control: at eta_b = 1."""
    return rate(
        measure=training_slope(lambda heads: dict(b=1 / heads), gamma=0.0), at_most=0.0,
        control=dict(measure=training_slope(lambda heads: dict(b=1.0), gamma=0.0)), **GROWTH,
    )  # fmt: skip


@claim(
    "templates.J2.outputs",
    ref="Appendix J.2",
    statement=r"\mathrm{Var} f_{\mathrm{attn}}(X; \theta^0) = O(1 / d_{\mathrm{emb}}) "
    r"\text{ as } d_{\mathrm{emb}}, d_{\mathrm{head}}, H \to \infty",
    expect="refuted",
    falls="reading",
    consequence="The variance is H / d_emb, so that the outputs vanish, as the proof needs, if "
    "heads grow more slowly than the width.",
    tier="slow",
    mathematics=True,
)
def outputs_vanish():
    """With as many heads as dimensions the variance falls like 1 / n. In fact it does not fall.

    The paper leaves open how the heads grow. Control: like n^(-2).
    """
    return rate(measure=variance(lambda n: n), exponent=-1.0, control=dict(exponent=-2.0), **WIDTHS)


@claim(
    "templates.J2.outputs.repaired",
    ref="Appendix J.2",
    statement=r"\mathrm{Var} f_{\mathrm{attn}}(X; \theta^0) = O(H / d_{\mathrm{emb}})",
    tier="slow",
    mathematics=True,
)
def outputs_vanish_repaired():
    """With two heads the variance of the outputs falls like 1 / n. Control: with n heads."""
    return rate(
        measure=variance(lambda n: 2), exponent=-1.0,
        control=dict(measure=variance(lambda n: n)), **WIDTHS,
    )  # fmt: skip


WIDTHS = dict(at=(4, 8, 16), replicates=6, batch=1, tolerance=0.3)


def variance(heads):
    """Return the measure: the mean square of the outputs at the start."""

    def measure(key, n):
        one = lambda key: jnp.mean(network(weights(key, n, heads(n)), 0, 0.0)[1:] ** 2)
        return jax.lax.map(one, jax.random.split(key, 256)).mean()

    return measure


def first_slope(key, n, rates, gamma=0.0):
    """Return dL_test / dt at t = 0 of one network, with learning rates per group, times 1 / H."""
    theta = weights(key, n)
    train = lambda theta: sum(loss(theta, x, gamma) for x in range(SEEN)) / SEEN
    test = lambda theta: loss(theta, SYMBOLS - 1, gamma)
    one, two = jax.grad(train)(theta), jax.grad(test)(theta)
    return -sum(rate * jnp.sum(one[g] * two[g]) / HEADS for g, rate in rates.items())


def spread(rates, limit=0.0, networks=64):
    """Return the measure: root mean square distance of the first slope to a limit."""

    def measure(key, n):
        found = jax.lax.map(lambda k: first_slope(k, n, rates), jax.random.split(key, networks))
        return jnp.sqrt(((found - limit) ** 2).mean())

    return measure


@claim(
    "templates.J2.copy_fails",
    ref="Theorems 4.1 and J.2",
    statement=r"\gamma = 0:\ \partial \mathcal L_{\mathrm{test}} / \partial t |_{t=0} = "
    r"O(d_{\mathrm{emb}}^{-1/2}) \text{ at } \eta_O, \eta_V, \eta_E = 1 / H",
    mathematics=True,
    tier="slow",
)
def copying_fails():
    """Without positions the first slope of the test loss vanishes like n^(-1/2), as n grows.

    With d_emb = d_head = n. Control: like 1 / n.
    """
    plain = dict(O=1.0, V=1.0, E=1.0)
    return rate(
        measure=spread(plain), at_most=-0.5, control=dict(at_most=-1.0),
        **RATE,
    )  # fmt: skip


@claim(
    "templates.J3.copy_works",
    ref="Theorems 4.2 and J.3",
    statement=r"-\partial \mathcal L_{\mathrm{test}} / \partial t |_{t=0} \to "
    r"H \eta_b (1 - 1/m)^2",
    mathematics=True,
    tier="slow",
)
def copying_works():
    """With b trained at the rate 1 / H the test loss falls at (1 - 1/m)^2, up to n^(-1/2).

    The paper has eta_b of order H in place of 1 / H; with H the training loss would not be O(1).
    Control: the limit 1.
    """
    limit = -((1 - 1 / SYMBOLS) ** 2)
    return rate(
        measure=spread(dict(b=1.0), limit), exponent=-0.5,
        control=dict(measure=spread(dict(b=1.0), -1.0)), **RATE,
    )  # fmt: skip
