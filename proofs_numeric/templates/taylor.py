"""Appendix F.1: derivatives of the attention kernel at zero."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, expectation, normal
from theorykit.kernels import template_derivative, template_expansion
from theorykit.kernels.template_derivatives import monomial
from theorykit.proofs_numeric.templates._powers import power_of
from theorykit.proofs_numeric.templates._table import TABLE


@claim(
    "templates.F1.table",
    ref="Appendix F.1",
    statement=r"c_1 = 1/k^2,\ c_2 = 8/k^2,\ c_{20} = 24/k^6,\ c_{16} = 48/k^4,\ "
    r"c_{25} = 17280/k^4",
)
def table():
    """Each derivative is a sum of exactly the monomials that are printed.

    The starred constants are as printed, for k = 2, 3, 4, 5: all but the last as functions of k. So
    is that of tr(XX'YY'), since it is one number over k^4. Control: the constant of the last row
    over k^5.
    """

    def row(case):
        beta, gamma, words, starred, number, power = case
        found = template_expansion(beta, gamma)
        printed = {monomial(word) for word in words.split(", ")}
        constant = found[monomial(starred)]
        at_k = lambda k: sum(
            c * Fraction(power_of(k, 9 + p), power_of(k, 9)) for p, c in constant.items()
        )
        values = [at_k(k) == Fraction(number, power_of(k, power)) for k in (2, 3, 4, 5)]
        return set(found) == printed and all(values)

    false = [*TABLE[:4], (*TABLE[4][:5], 5)]
    return exhaustive(predicate=row, universe=TABLE, control=dict(universe=false))


# A second route: the softmax as a power series of polynomials, averaged monomial by monomial ----


def added(*polynomials):
    """Return the sum of polynomials, dictionaries from exponents to coefficients."""
    total: dict = {}
    for polynomial in polynomials:
        for exponents, c in polynomial.items():
            total[exponents] = total.get(exponents, Fraction(0)) + c
    return total


def times(p, q, factor=1):
    """Return the product of two polynomials and a number."""
    total: dict = {}
    for (a, c), (b, d) in itertools.product(p.items(), q.items()):
        both = tuple(i + j for i, j in zip(a, b, strict=True))
        total[both] = total.get(both, Fraction(0)) + factor * c * d
    return total


def softmax_series(scores, order):
    """Return the coefficients of beta^n, n up to the order, of each softmax weight.

    From y' = y (m - sum_j y_j m_j): the scores m are polynomials.
    """
    k, zero = len(scores), tuple(0 for _ in next(iter(scores[0])))
    series = [[{zero: Fraction(1, k)}] for _ in scores]
    means = []
    for n in range(order):
        means.append(added(*(times(series[j][n], scores[j]) for j in range(k))))
        steps = []
        for i in range(k):
            parts = [times(series[i][n], scores[i])]
            parts += [times(series[i][n - l], means[l], -1) for l in range(n + 1)]
            steps.append(added(*parts))
        for i in range(k):
            series[i].append({e: c * Fraction(1, n + 1) for e, c in steps[i].items() if c})
    return series


def gaussian_mean(polynomial):
    """Return E of a polynomial in standard normals."""
    total = Fraction(0)
    for exponents, c in polynomial.items():
        if all(e % 2 == 0 for e in exponents):
            for e in exponents:
                for odd in range(1, e, 2):
                    c = c * odd
            total += c
    return total


def by_series(x, y, beta, gamma):
    """Return a derivative of the attention kernel at zero from the series of its softmaxes."""
    names = sorted({*x, *y})
    k = len(x)
    unit = lambda i: tuple(int(j == i) for j in range(len(names) + k))
    scores = lambda z: [
        {unit(names.index(c)): Fraction(1), unit(len(names) + i): Fraction(1)}
        for i, c in enumerate(z)
    ]
    first, second = softmax_series(scores(x), beta), softmax_series(scores(y), beta)
    total = Fraction(0)
    for i, j in itertools.product(range(k), repeat=2):
        for squares in (0, 2) if i == j else (0,):  # the value of a token, or gamma^2
            if squares == 0 and x[i] != y[j]:
                continue
            for n in range(beta + 1):
                whole = times(first[i][n], second[j][beta - n])
                of_gamma = {
                    e: c for e, c in whole.items() if sum(e[len(names) :]) == gamma - squares
                }
                total += gaussian_mean(of_gamma)
    for n in (*range(1, beta + 1), *range(1, gamma + 1)):
        total *= n
    return total


def pairs(length):
    """Return all pairs of strings of a length up to renaming their tokens."""
    found = []
    for both in itertools.product(range(2 * length), repeat=2 * length):
        if all(c <= max((*both[:i], -1)) + 1 for i, c in enumerate(both)):
            found.append((both[:length], both[length:]))
    return found


@claim(
    "templates.F1.table.series",
    ref="Appendix F.1",
    statement=r"\partial_\beta^i \partial_\gamma^j \kappa_{X,Y}(0, 0) = \sum_l c_l M_l(X, Y)",
)
def table_by_series():
    """The expansions give the derivatives of pairs of strings of two and three tokens.

    Against the power series of both softmaxes, averaged over the Gaussians monomial by monomial,
    in fractions; all pairs of length two up to the order (4, 2), some others. Control: the order
    (2, 0) for (2, 2).
    """
    orders = [row[:2] for row in TABLE]
    cases = [(x, y, *order) for order in orders[:4] for x, y in pairs(2)]
    cases += [(x, y, *orders[4]) for x, y in pairs(2)[::4]]
    some = [(x, y, *order) for order in orders[:4] for x, y in pairs(3)[::60]]

    def agrees(case):
        x, y, beta, gamma = case
        return template_derivative(x, y, beta, gamma) == by_series(x, y, beta, gamma)

    def off(case):
        x, y, beta, gamma = case
        return template_derivative(x, y, beta, 0) == by_series(x, y, beta, gamma)

    return exhaustive(predicate=agrees, universe=[*cases, *some], control=dict(predicate=off))


def softmax_features(x, y, beta, gamma, zeta, p):
    """Return s(X)' (X Y' + gamma^2 I) s(Y) in one draw: its mean is K_attn, eq. (4)."""
    first, second = (jax.nn.softmax(beta * (zeta[z] + gamma * p)) for z in (x, y))
    same = jnp.asarray(x)[:, None] == jnp.asarray(y)[None, :]
    return first @ (same + gamma**2 * jnp.eye(len(x))) @ second


@claim(
    "templates.F1.table.draws",
    ref="Appendix F.1",
    statement=r"\partial_\beta^i \partial_\gamma^j \kappa_{X,Y}(0, 0) = "
    r"\mathbb E\, \partial_\beta^i \partial_\gamma^j s^\top (X Y^\top + \gamma^2 I) s'",
)
def table_by_draws():
    """The expansions are the means of the derivatives of single draws, by autodiff.

    At (2, 2), strings of three tokens. Control: those of a pair with other repetitions.
    """
    x, y, other = np.array([0, 1, 0]), np.array([0, 2, 2]), np.array([2, 0, 2])
    value = lambda y: Fraction(template_derivative(x.tolist(), y.tolist(), 2, 2))

    def derivative(zeta, p):
        f = lambda beta, gamma: softmax_features(x, y, beta, gamma, zeta, p)
        twice = lambda f, i: jax.jacfwd(jax.jacfwd(f, i), i)
        return twice(twice(f, 0), 1)(0.0, 0.0)

    return expectation(
        statistic=derivative,
        draws=dict(zeta=normal("4"), p=normal("3")),
        each=64,
        value=value(y),
        batch=16,
        control=dict(value=value(other)),
    )
