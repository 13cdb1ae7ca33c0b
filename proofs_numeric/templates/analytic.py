"""Appendix G: power series of softmax weights, and whether the attention kernel is analytic."""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, inequality, rate
from theorykit.checks.domains import inputs, interval, positive, reals
from theorykit.kernels import template_derivative

# Series of one variable, cut after the fifth power.

SERIES = inputs(a=reals("6"), b=reals("6"), r=interval(0, 1))


def absolute(a, r):
    """Return sum over n >= 1 of |a_n| r^n: the least tau_2 for tau_1 = r (Definition G.2)."""
    return jnp.sum(jnp.abs(a[1:]) * r ** np.arange(1, len(a)))


@claim(
    "templates.G.types.sum",
    ref="Lemma G.4",
    statement=r"f + g \text{ is of } (\min(\tau_1, \sigma_1), \tau_2 + \tau_2)\text{-type}",
    expect="refuted",
)
def sum_rule():
    """The absolute series of a sum is at most twice that of the first summand.

    A slip of the pen: it is tau_2 + sigma_2. Control: once.
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
)
def sum_rule_repaired():
    """It is at most the sum of both. Control: the larger one."""
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
)
def product_rule():
    """The rule for products. Control: without tau_2 sigma_2."""

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
)
def derivative_bound():
    """The bound of derivatives by type, at every order, 0 too.

    At order 0 a constant breaks it, whose type may be as small as one likes; the proof is for
    |mu| >= 1. Control: half the bound.
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
)
def derivative_bound_repaired():
    """From the first order on. Control: half the bound."""
    return inequality(
        lhs=lambda a, r: derivatives(a, 1),
        rhs=by_type(1),
        over=inputs(a=reals("6"), r=interval(0.1, 2)),
        control=dict(rhs=lambda a, r: by_type(1)(a, r) / 2),
    )


def logistic(u, order):
    """Return the Taylor coefficients of 1 / (1 + e^-u) around u, from s' = s (1 - s)."""
    s = [jax.nn.sigmoid(u)]
    for n in range(order):
        square = sum(s[i] * s[n - i] for i in range(n + 1))
        s.append((s[n] - square) / (n + 1))
    return jnp.stack(s)


RADIUS = 1 / (2 * math.e**2)


@claim(
    "templates.G6",
    ref="Lemma G.6",
    statement=r"\mathrm{smax}(\zeta)_j \text{ is of } (1 / (2 e^2), 1)\text{-type}",
    assumptions=["two logits"],
)
def softmax_type():
    """The absolute series of a softmax weight in the distance 1 / (2 e^2) is at most 1.

    Of two logits, in both at once, up to order 20. It is at most 0.035 there. Control: the radius
    pi / 2, at which the series of the logistic function ends.
    """
    lhs = lambda r: lambda u: absolute(logistic(u, 20), 2 * r)
    return inequality(
        lhs=lhs(RADIUS),
        rhs=lambda u: 1.0 + 0 * u,
        over=inputs(u=reals()),
        control=dict(lhs=lhs(np.pi / 2)),
    )


# Series of two variables, B = beta - beta_0 and G = gamma - gamma_0, as arrays of coefficients.

ORDER = 4


def multiplied(p, q):
    """Return the product with a series q of the terms B, G and B G, cut at the order in each."""
    shifted = lambda i, j: jnp.pad(p, ((i, 0), (j, 0)))[: ORDER + 1, : ORDER + 1]
    return sum(q[i, j] * shifted(i, j) for i, j in ((0, 1), (1, 0), (1, 1)))


def weight_series(beta, gamma, zeta, p):
    """Return the series of smax(beta zeta + beta gamma p)_1, two tokens, at (beta, gamma)."""
    z, d = zeta[0] - zeta[1], p[0] - p[1]
    inner = jnp.zeros((ORDER + 1, ORDER + 1))
    inner = inner.at[1, 0].set(z + gamma * d).at[0, 1].set(beta * d).at[1, 1].set(d)
    coefficients = logistic(beta * z + beta * gamma * d, ORDER)
    total = jnp.zeros_like(inner)
    for c in coefficients[::-1]:  # Horner
        total = multiplied(total, inner).at[0, 0].add(c)
    return total


def type_sum(beta, gamma, zeta, p, more, factor=1.0):
    """Return the absolute series at the radius of Lemma G.7, with |beta| + |gamma| + `more`."""
    size = jnp.abs(zeta).max() + (jnp.abs(beta) + jnp.abs(gamma) + more) * jnp.abs(p).max()
    r = jnp.minimum(1.0, factor * RADIUS / jnp.maximum(size, 1e-30))
    powers = r ** np.add.outer(np.arange(ORDER + 1), np.arange(ORDER + 1))
    a = jnp.abs(weight_series(beta, gamma, zeta, p)) * powers
    return a.sum() - a[0, 0]


SCORES = inputs(beta=reals(), gamma=reals(), zeta=reals("2"), p=reals("2"))


@claim(
    "templates.G7",
    ref="Lemma G.7",
    statement=r"\mathrm{smax}(\beta X \zeta + \beta \gamma p)_j \text{ is of } "
    r"(\min(1, 1 / (2 e^2 \|X \zeta\|_\infty + 2 e^2 (|\beta| + |\gamma|) \|p\|_\infty)), 1)"
    r"\text{-type}",
    expect="refuted",
)
def weight_type():
    """The absolute series in (beta, gamma) at the printed radius is at most 1.

    It is not: at beta = gamma = 0, zeta = 0 the radius is 1, and the function is a logistic one of
    beta gamma (p_1 - p_2), whose series diverges there once |p_1 - p_2| > pi. The type of
    beta X zeta + beta gamma p lacks the term beta gamma itself. Control: the radius times 10.
    """
    return inequality(
        lhs=lambda beta, gamma, zeta, p: type_sum(beta, gamma, zeta, p, 0.0),
        rhs=lambda beta: 1.0 + 0 * beta,
        over=SCORES,
        starts=16,
        control=dict(lhs=lambda beta, gamma, zeta, p: type_sum(beta, gamma, zeta, p, 0.0, 10.0)),
    )


@claim(
    "templates.G7.repaired",
    ref="Lemma G.7",
    statement=r"\dots (\min(1, 1 / (2 e^2 \|X \zeta\|_\infty + "
    r"2 e^2 (|\beta| + |\gamma| + 1) \|p\|_\infty)), 1)\text{-type}",
)
def weight_type_repaired():
    """With |beta| + |gamma| + 1 it is, up to the order 4 in each. Control: the radius times 30."""
    return inequality(
        lhs=lambda beta, gamma, zeta, p: type_sum(beta, gamma, zeta, p, 1.0),
        rhs=lambda beta: 1.0 + 0 * beta,
        over=SCORES,
        starts=16,
        control=dict(lhs=lambda beta, gamma, zeta, p: type_sum(beta, gamma, zeta, p, 1.0, 30.0)),
    )


@claim(
    "templates.G8.entry",
    ref="Lemma G.8, proof",
    statement=r"[X \tilde X^\top + \gamma^2 I]_{ij} \text{ is of } (1, \gamma)\text{-type}",
    expect="refuted",
)
def entry_type():
    """The absolute series of gamma^2 at the distance 1, 2 |gamma| + 1, is at most |gamma|.

    The proof prints gamma I; its C (1 + gamma^2) has room for what is right. Control: |gamma| / 2.
    """
    series = lambda gamma: jnp.stack([gamma**2, 2 * gamma, 1.0 + 0 * gamma])
    return inequality(
        lhs=lambda gamma: absolute(series(gamma), 1.0),
        rhs=lambda gamma: jnp.abs(gamma),
        over=inputs(gamma=reals()),
        control=dict(rhs=lambda gamma: jnp.abs(gamma) / 2),
    )


@claim(
    "templates.G8.entry.repaired",
    ref="Lemma G.8, proof",
    statement=r"[X \tilde X^\top + \gamma^2 I]_{ij} \text{ is of } (1, 2 + \gamma^2)\text{-type}",
)
def entry_type_repaired():
    """It is at most 2 + gamma^2, so that the lemma's C (1 + gamma^2) stands. Control: 1.9."""
    series = lambda gamma: jnp.stack([gamma**2, 2 * gamma, 1.0 + 0 * gamma])
    bound = lambda c: lambda gamma: c + gamma**2
    return inequality(
        lhs=lambda gamma: absolute(series(gamma), 1.0),
        rhs=bound(2.0),
        over=inputs(gamma=reals()),
        control=dict(rhs=bound(1.9)),
    )


def product_of_softmaxes(beta, gamma, zeta, other, p):
    """Return f of Lemma G.8 for the strings ab and ac."""
    first, second = (jax.nn.softmax(beta * z + beta * gamma * p) for z in (zeta, other))
    return first @ (jnp.diag(jnp.array([1.0, 0.0])) + gamma**2 * jnp.eye(2)) @ second


@claim(
    "templates.G9",
    ref="Lemma G.9",
    statement=r"|\partial_\beta^{k_1} \partial_\gamma^{k_2} f| \le C (1 + \gamma^2) \max(1, "
    r"(2 e^2 (\|X \zeta\|_\infty + \|\tilde X \tilde \zeta\|_\infty + (|\beta| + |\gamma|) "
    r"\|p\|_\infty))^{k_1 + k_2}) k_1! k_2!",
    expect="refuted",
)
def derivatives_bounded():
    """At beta = gamma = 0 and zeta = 0 the derivatives are bounded whatever p is.

    They are not: that in beta and gamma is proportional to p, for the strings ab and ac, while the
    bound is C. Control: a decreasing one.
    """
    zero = jnp.zeros(2)

    def measure(n):
        f = lambda beta, gamma: product_of_softmaxes(
            beta, gamma, zero, zero, n * jnp.array([1.0, -1.0])
        )
        return abs(jax.grad(lambda gamma: jax.grad(f)(0.0, gamma))(0.0))

    return rate(measure=measure, at=(1, 4, 16, 64), at_most=0.0, control=dict(at_most=-1.0))


@claim(
    "templates.G9.repaired",
    ref="Lemma G.9",
    statement=r"|\partial_\beta^{k_1} \partial_\gamma^{k_2} f| \le 11 k^2 (1 + \gamma^2) \max(1, "
    r"(2 e^2 (\|X \zeta\|_\infty + \|\tilde X \tilde \zeta\|_\infty + (|\beta| + |\gamma| + 1) "
    r"\|p\|_\infty))^{k_1 + k_2}) k_1! k_2!",
)
def derivatives_bounded_repaired():
    """With |beta| + |gamma| + 1 the bound follows from the types, with C = 11 k^2.

    First and second derivatives of f for the strings ab and ac. Control: C = 1 / 20.
    """

    def lhs(beta, gamma, zeta, other, p):
        f = lambda at: product_of_softmaxes(at[0], at[1], zeta, other, p)
        at = jnp.stack([beta, gamma])
        return jax.grad(f)(at), jax.hessian(f)(at)

    def rhs(C):
        def bound(beta, gamma, zeta, other, p):
            size = jnp.abs(zeta).max() + jnp.abs(other).max()
            size += (jnp.abs(beta) + jnp.abs(gamma) + 1) * jnp.abs(p).max()
            base = jnp.maximum(1.0, size / RADIUS)
            factorials = jnp.ones((2, 2)) + jnp.eye(2)
            return C * (1 + gamma**2) * base, C * (1 + gamma**2) * base**2 * factorials

        return bound

    return inequality(
        lhs=lambda **at: jax.tree.map(jnp.abs, lhs(**at)),
        rhs=rhs(44.0),
        over=inputs(beta=reals(), gamma=reals(), zeta=reals("2"), other=reals("2"), p=reals("2")),
        starts=16,
        control=dict(rhs=rhs(1 / 20)),
    )


@claim(
    "templates.G1.bound",
    ref="Lemma G.1, proof",
    statement=r"|\partial_\beta^{k_1} \partial_\gamma^{k_2} \kappa(\beta, \gamma)| \le "
    r"C (1 + \gamma^2) k_1! k_2! (C (|\beta| + |\gamma|)^{k_1 + k_2})",
    expect="refuted",
)
def kernel_derivatives_bounded():
    """At beta = gamma = 0, where the bound is 0, the derivatives of the kernel are 0.

    The table of F.1 says that they are not: at (2, 2), for aa and aa, it is 8 / k^2 tr XY' -
    8 / k^3 1'XY'1 = 0, but for ab and ab it is 2. The printed bound follows from that of Lemma
    G.9 only without the means of the norms of zeta and p. Control: derivatives that are 1.
    """
    zero = lambda shift: lambda pair: template_derivative(pair[:2], pair[3:], 2, 2) == shift
    return exhaustive(
        predicate=zero(0), universe=["aa aa", "ab ab"], control=dict(predicate=zero(1))
    )


def coefficients(order):
    """Return the even Taylor coefficients in beta at gamma = 0 of the kernel of ab with itself.

    kappa = E[s^2 + (1 - s)^2] = 1 - 2 E[s'(beta Z)], s the logistic function and Z ~ N(0, 2), in
    fractions.
    """
    s = [Fraction(1, 2)]
    for n in range(2 * order + 2):
        square = sum((s[i] * s[n - i] for i in range(n + 1)), Fraction(0))
        s.append((s[n] - square) * Fraction(1, n + 1))
    found = []
    for n in range(order + 1):
        mean = 1
        for i in range(1, 2 * n, 2):
            mean *= 2 * i  # E[Z^2n] = 2^n (2n - 1)!!
        found.append(-2 * (2 * n + 1) * s[2 * n + 1] * mean)
    found[0] += 1
    return found


@claim(
    "templates.G1.series",
    ref="Lemma G.1",
    statement=r"\kappa_{ab,ab}(\beta, 0) = 1 - 2 \mathbb E[\sigma'(\beta Z)],\ Z \sim N(0, 2)",
)
def kernel_series():
    """The coefficients used below are the derivatives of appendix F.1, up to the sixth.

    Control: Z ~ N(0, 1).
    """

    def agrees(scale):
        def predicate(n):
            value = template_derivative("ab", "ab", 2 * n, 0)
            for i in range(1, 2 * n + 1):
                value *= Fraction(1, i)
            for _ in range(n):
                value *= scale
            return value == coefficients(3)[n]

        return predicate

    return exhaustive(
        predicate=agrees(1), universe=range(4), control=dict(predicate=agrees(Fraction(1, 2)))
    )


@claim(
    "templates.G1.analytic",
    ref="Lemma G.1",
    statement=r"\kappa_{X, \tilde X} \text{ is analytic in } \mathbb R^2",
    expect="refuted",
)
def kernel_is_analytic():
    """The Taylor coefficients of the kernel at beta = 0 grow at most geometrically.

    They grow faster: for X = X~ = ab, gamma = 0, the ratio of neighbouring coefficients grows like
    n, since a softmax has a pole at the distance pi / |zeta_1 - zeta_2|, which comes as near as one
    likes. The series has radius 0: the kernel is smooth but not analytic at beta = 0. Lemma F.1
    survives: see the repair. Control: ratios that fall like 1 / n.
    """
    found = coefficients(64)
    ratio = lambda n: float(abs(found[n + 1] / found[n]))
    return rate(measure=ratio, at=(8, 16, 32, 63), at_most=0.0, control=dict(at_most=-1.0))


@functools.cache
def around(beta=1.0, radius=0.65, points=512, nodes=6001):
    """Return |Taylor coefficients| of E[s'(beta Z)] around beta > 0, by Cauchy's formula.

    E[s'(beta Z)] is the integral of s'(u) over the density of N(0, 2 beta^2), which is analytic in
    beta where Re(1 / beta^2) > 0.
    """
    circle = beta + radius * beta * np.exp(2j * np.pi * np.arange(points) / points)
    u = np.linspace(-40, 40, nodes)
    slope = 1 / (4 * np.cosh(u / 2) ** 2)
    density = np.exp(-(u[:, None] ** 2) / (4 * circle**2)) / (2 * np.sqrt(np.pi) * circle)
    values = slope @ density * (u[1] - u[0])
    orders = np.arange(points // 2)
    return np.abs(np.fft.fft(values)[orders] / points) * (radius * beta) ** (-orders)


@claim(
    "templates.G1.analytic.repaired",
    ref="Lemma G.1",
    statement=r"\kappa_{X, \tilde X} \text{ is analytic in } \beta \text{ for } \beta > 0 "
    r"\text{ and smooth at } \beta = 0",
)
def kernel_is_analytic_repaired():
    """Around beta = 1 the roots of the coefficients stay bounded: the radius is at least 0.5.

    Then a difference g_id - g_tau that vanished on a set of positive measure in beta, gamma > 0
    would vanish with all its derivatives at the corner, which stages F.2 to F.6 exclude. The
    density of the scores carries the dependence on beta; it is singular at |arg beta| = pi / 4.
    Control: roots that grow like n.
    """
    root = lambda n: around()[n] ** (1 / n)
    return rate(
        measure=root, at=(16, 24, 32), exponent=0.0, tolerance=0.35,
        control=dict(exponent=1.0),
    )  # fmt: skip
