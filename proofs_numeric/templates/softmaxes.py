"""Appendix G: power series of softmax weights in beta and gamma (Lemmas G.7 to G.9).

Series of two variables, B = beta - beta_0 and G = gamma - gamma_0, are arrays of coefficients.
"""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import inequality, rate
from theorykit.checks.domains import inputs, positive, reals
from theorykit.proofs_numeric.templates._series import RADIUS, absolute, logistic

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


def radius(beta, gamma, zeta, p, more):
    """Return the radius of Lemma G.7, with |beta| + |gamma| + `more`."""
    size = jnp.abs(zeta).max() + (jnp.abs(beta) + jnp.abs(gamma) + more) * jnp.abs(p).max()
    return jnp.minimum(1.0, RADIUS / jnp.maximum(size, 1e-30))


def summed(series, r):
    """Return the absolute series in both variables at the distance r, without its constant."""
    powers = r ** np.add.outer(np.arange(len(series)), np.arange(len(series)))
    a = jnp.abs(series) * powers
    return a.sum() - a[0, 0]


def type_sum(beta, gamma, zeta, p, more, factor=1.0):
    """Return the absolute series of a weight at that radius, or a multiple of it."""
    r = jnp.minimum(1.0, factor * radius(beta, gamma, zeta, p, more))
    return summed(weight_series(beta, gamma, zeta, p), r)


def first_weight(beta, gamma, zeta, p):
    """Return smax(beta zeta + beta gamma p)_1."""
    return jax.nn.softmax(beta * zeta + beta * gamma * p)[0]


SCORES = inputs(beta=reals(), gamma=reals(), zeta=reals("2"), p=reals("2"))


@claim(
    "templates.G7",
    ref="Lemma G.7",
    statement=r"\mathrm{smax}(\beta X \zeta + \beta \gamma p)_j \text{ is of } "
    r"(\min(1, 1 / (2 e^2 \|X \zeta\|_\infty + 2 e^2 (|\beta| + |\gamma|) \|p\|_\infty)), 1)"
    r"\text{-type}",
    expect="refuted",
    falls="statement",
    consequence="The lemma holds with |beta| + |gamma| + 1 in place of |beta| + |gamma|, and "
    "what rests on it with it.",
    mathematics=True,
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
    r"2 e^2 (|\beta| + |\gamma| + 1) \|p\|_\infty)), \mathrm{smax}(\dots)_j)\text{-type}",
    mathematics=True,
)
def weight_type_repaired():
    """With |beta| + |gamma| + 1 it is, up to order 4 in each, with room to spare.

    The bound is the weight itself, as in the proof of Lemma G.6, and not just 1. Control: an eighth
    of it.
    """
    return inequality(
        lhs=lambda beta, gamma, zeta, p: type_sum(beta, gamma, zeta, p, 1.0),
        rhs=lambda beta, gamma, zeta, p: first_weight(beta, gamma, zeta, p),
        over=SCORES,
        starts=16,
        control=dict(rhs=lambda beta, gamma, zeta, p: first_weight(beta, gamma, zeta, p) / 8),
    )


@claim(
    "templates.G8.entry",
    ref="Lemma G.8, proof",
    statement=r"[X \tilde X^\top + \gamma I]_{ij} \text{ is of } (1, \gamma)\text{-type}",
    expect="refuted",
    falls="proof",
    consequence="The matrix has gamma^2, whose type is (1, 2 + gamma^2); the lemma's factor C (1 "
    "+ gamma^2) has room for it.",
    mathematics=True,
)
def entry_type():
    """The absolute series of gamma at the distance 1, which is 1, is at most gamma > 0.

    Control: gamma / 2.
    """
    series = lambda gamma: jnp.stack([gamma, 1.0 + 0 * gamma])
    return inequality(
        lhs=lambda gamma: absolute(series(gamma), 1.0),
        rhs=lambda gamma: gamma,
        over=inputs(gamma=positive()),
        control=dict(rhs=lambda gamma: gamma / 2),
    )


@claim(
    "templates.G8.entry.repaired",
    ref="Lemma G.8, proof",
    statement=r"[X \tilde X^\top + \gamma^2 I]_{ij} \text{ is of } (1, 2 + \gamma^2)\text{-type}",
    mathematics=True,
)
def entry_type_repaired():
    """The absolute series is at most 2 + gamma^2, so the lemma's C (1 + gamma^2) stands.

    Control: 1.9.
    """
    series = lambda gamma: jnp.stack([gamma**2, 2 * gamma, 1.0 + 0 * gamma])
    bound = lambda c: lambda gamma: c + gamma**2
    return inequality(
        lhs=lambda gamma: absolute(series(gamma), 1.0),
        rhs=bound(2.0),
        over=inputs(gamma=reals()),
        control=dict(rhs=bound(1.9)),
    )


def convolved(p, q):
    """Return the product of two series of two variables, cut at the order in each."""
    return jax.scipy.signal.convolve2d(p, q)[: ORDER + 1, : ORDER + 1]


def pair_series(beta, gamma, zeta, other, p):
    """Return the series of f of Lemma G.8 for the strings ab and ac."""
    one, two = weight_series(beta, gamma, zeta, p), weight_series(beta, gamma, other, p)
    both = convolved(one, two)
    rest = convolved((-one).at[0, 0].add(1.0), (-two).at[0, 0].add(1.0))
    square = jnp.zeros_like(one).at[0, :3].set(jnp.stack([gamma**2, 2 * gamma, 1.0 + 0 * gamma]))
    return both + convolved(both + rest, square)


PAIRS = inputs(beta=reals(), gamma=reals(), zeta=reals("2"), other=reals("2"), p=reals("2"))
PRINTED_RADII = (
    r"(\min(1, \tfrac{1}{2 e^2} \tfrac{1}{\|X \zeta\|_\infty + (|\beta| + |\gamma|%s) "
    r"\|p\|_\infty}, \tfrac{1}{2 e^2} \tfrac{1}{\|\tilde X \tilde \zeta\|_\infty + "
    r"(|\beta| + |\gamma|%s) \|p\|_\infty}), %s (1 + \gamma^2))"
)


@claim(
    "templates.G8",
    ref="Lemma G.8",
    statement=r"f \text{ is of type } " + PRINTED_RADII % ("", "", "C"),
    expect="refuted",
    falls="statement",
    consequence="The lemma holds with |beta| + |gamma| + 1, as Lemma G.7 does.",
    mathematics=True,
)
def product_type():
    """At beta = gamma = 0 and zeta = 0 the absolute series at the radius 1 is bounded in p.

    It is not, for the strings ab and ac: it grows like a power of p, beyond any C. Control: it
    falls.
    """
    zero = jnp.zeros(2)
    measure = lambda n: summed(pair_series(0.0, 0.0, zero, zero, n * jnp.array([1.0, -1.0])), 1.0)
    return rate(measure=measure, at=(4, 8, 16, 32), at_most=0.0, control=dict(at_most=-1.0))


@claim(
    "templates.G8.repaired",
    ref="Lemma G.8",
    statement=r"f \text{ is of type } " + PRINTED_RADII % (" + 1", " + 1", "12"),
    tier="slow",
    mathematics=True,
)
def product_type_repaired():
    """With |beta| + |gamma| + 1 it is, with C = 12 for strings of any length.

    A weight is of a type with its own value (Lemma G.7), so that its absolute series with the
    constant is at most twice the weight; weights sum to 1, and gamma^2 becomes at most
    (|gamma| + 1)^2. Here for ab and ac, up to the order 4 in each. Control: C = 0.8.
    """

    def lhs(beta, gamma, zeta, other, p):
        radii = [radius(beta, gamma, z, p, 1.0) for z in (zeta, other)]
        return summed(pair_series(beta, gamma, zeta, other, p), jnp.minimum(*radii))

    bound = lambda c: lambda gamma: c * (1 + gamma**2)
    return inequality(lhs=lhs, rhs=bound(12.0), over=PAIRS, starts=8, control=dict(rhs=bound(0.8)))


FIRST, SECOND = np.array([0, 1, 0]), np.array([0, 2, 2])
"""The strings aba and acc."""


def product_of_softmaxes(beta, gamma, zeta, other, p, x=FIRST, y=SECOND):
    """Return f of Lemma G.8 for two strings."""
    first = jax.nn.softmax(beta * zeta[x] + beta * gamma * p)
    second = jax.nn.softmax(beta * other[y] + beta * gamma * p)
    same = jnp.asarray(x[:, None] == y[None, :], float)
    return first @ (same + gamma**2 * jnp.eye(len(x))) @ second


@claim(
    "templates.G9",
    ref="Lemma G.9",
    statement=r"|\partial_\beta^{k_1} \partial_\gamma^{k_2} f| \le C (1 + \gamma^2) \max(1, "
    r"(2 e^2 (\|X \zeta\|_\infty + \|\tilde X \tilde \zeta\|_\infty + (|\beta| + |\gamma|) "
    r"\|p\|_\infty))^{k_1 + k_2}) k_1! k_2!",
    expect="refuted",
    falls="statement",
    consequence="The lemma holds with |beta| + |gamma| + 1; differentiation under the expectation "
    "is still justified.",
    mathematics=True,
)
def derivatives_bounded():
    """At beta = gamma = 0 and zeta = 0 the derivatives are bounded whatever p is.

    They are not: the one in beta and gamma is proportional to p, for the strings aba and acc, while
    the bound is C. Control: a decreasing one.
    """
    zero = jnp.zeros(3)

    def measure(n):
        p = n * jnp.array([1.0, -1.0, 0.0])
        f = lambda beta, gamma: product_of_softmaxes(beta, gamma, zero, zero, p)
        return abs(jax.grad(lambda gamma: jax.grad(f)(0.0, gamma))(0.0))

    return rate(measure=measure, at=(1, 4, 16, 64), at_most=0.0, control=dict(at_most=-1.0))


@claim(
    "templates.G9.repaired",
    ref="Lemma G.9",
    statement=r"|\partial_\beta^{k_1} \partial_\gamma^{k_2} f| \le 12 (1 + \gamma^2) \max(1, "
    r"(2 e^2 (\|X \zeta\|_\infty + \|\tilde X \tilde \zeta\|_\infty + (|\beta| + |\gamma| + 1) "
    r"\|p\|_\infty))^{k_1 + k_2}) k_1! k_2!",
    mathematics=True,
)
def derivatives_bounded_repaired():
    """With |beta| + |gamma| + 1 the bound follows from the types, with C = 12 at any length.

    f and its first and second derivatives for the strings aba and acc. Control: C = 0.9, which f
    itself breaks where both softmaxes are at the first position.
    """

    def lhs(beta, gamma, zeta, other, p):
        f = lambda at: product_of_softmaxes(at[0], at[1], zeta, other, p)
        at = jnp.stack([beta, gamma])
        return f(at), jax.grad(f)(at), jax.hessian(f)(at)

    def rhs(C):
        def bound(beta, gamma, zeta, other, p):
            size = jnp.abs(zeta[:2]).max() + jnp.abs(other[::2]).max()
            size += (jnp.abs(beta) + jnp.abs(gamma) + 1) * jnp.abs(p).max()
            base, scale = jnp.maximum(1.0, size / RADIUS), C * (1 + gamma**2)
            factorials = jnp.ones((2, 2)) + jnp.eye(2)
            return scale, scale * base, scale * base**2 * factorials

        return bound

    return inequality(
        lhs=lambda **at: jax.tree.map(jnp.abs, lhs(**at)),
        rhs=rhs(12.0),
        over=inputs(beta=reals(), gamma=reals(), zeta=reals("3"), other=reals("3"), p=reals("3")),
        starts=16,
        control=dict(rhs=rhs(0.9)),
    )
