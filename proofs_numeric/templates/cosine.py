"""Appendix E: the matrix after an MLP with a cosine is nonsingular."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, identity
from theorykit.checks.domains import inputs, interval
from theorykit.kernels.activations import Cos
from theorykit.proofs_numeric.templates._powers import power_of

# Polynomials in a, b, rho and C = cos(2c): dictionaries from four exponents to coefficients.


def odd_product(n):
    """Return 1 * 3 * ... * (n - 1), the mean of the n-th power of a standard normal; n even."""
    value = 1
    for i in range(1, n, 2):
        value *= i
    return value


def moment(i, j):
    """Return E[U^i V^j] as a dictionary from the powers of (a, b, rho) to integers (Isserlis)."""
    found = {}
    for l in range(min(i, j) + 1):
        if (i - l) % 2 == 0 and (j - l) % 2 == 0:
            ways = math.comb(i, l) * math.comb(j, l) * math.factorial(l)
            found[(i - l) // 2, (j - l) // 2, l] = ways * odd_product(i - l) * odd_product(j - l)
    return found


def series(n):
    """Return the coefficient of k^(2n) in E[cos(kU + c) cos(kV + c)].

    cos(kU + c) = cos c cos kU - sin c sin kU; odd moments vanish; cos^2 c = (1 + C) / 2.
    """
    total: dict = {}
    for i in range(2 * n + 1):
        j = 2 * n - i
        sign = power_of(-1, i // 2 + j // 2)
        number = Fraction(sign, 2 * math.factorial(i) * math.factorial(j))
        for powers, ways in moment(i, j).items():
            for C, side in ((0, 1), (1, 1 if i % 2 == 0 else -1)):
                at = (*powers, C)
                total[at] = total.get(at, Fraction(0)) + side * ways * number
    return {at: c for at, c in total.items() if c}


def closed_form(n, factor=2):
    """Return the coefficient of k^(2n) in e^(-k^2 (a+b) / 2) (e^(-k^2 rho) C + e^(k^2 rho)) / 2.

    **Arguments:** `factor`: what (a + b) is divided by.
    """
    total: dict = {}
    for l in range(n + 1):
        m = n - l
        for i in range(m + 1):
            number = Fraction(power_of(-1, m), 2 * power_of(factor, m))
            number *= Fraction(1, math.factorial(i) * math.factorial(m - i) * math.factorial(l))
            for C, side in ((0, 1), (1, power_of(-1, l))):
                at = (i, m - i, l, C)
                total[at] = total.get(at, Fraction(0)) + side * number
    return {at: c for at, c in total.items() if c}


@claim(
    "templates.E2",
    ref="Claim E.2",
    statement=r"\mathbb E[\cos(kU + c) \cos(kV + c)] = "
    r"\tfrac12 e^{-\frac12 k^2 (a + b)} (e^{-k^2 \rho} \cos(2c) + e^{k^2 \rho})",
    mathematics=True,
)
def cosines():
    """Both sides have the same power series in k, up to k^24, as polynomials in a, b, rho, cos 2c.

    Both are entire in k. Control: e^(-k^2 (a + b)).
    """
    return exhaustive(
        predicate=lambda n: series(n) == closed_form(n),
        universe=range(13),
        control=dict(predicate=lambda n: series(n) == closed_form(n, 1)),
    )


@claim(
    "templates.E2.quadrature",
    ref="Claim E.2",
    statement=r"\mathbb E[\cos(kU + c) \cos(kV + c)] = "
    r"\tfrac12 e^{-\frac12 k^2 (a + b)} (e^{-k^2 \rho} \cos(2c) + e^{k^2 \rho})",
    mathematics=True,
)
def cosines_by_quadrature():
    """The same by Gauss-Hermite quadrature in the plane. Control: cos(c) for cos(2c)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()

    def average(k, c, r, s, q):
        u = r * nodes[:, None]
        v = s * (q * nodes[:, None] + jnp.sqrt(1 - q**2) * nodes[None, :])
        return weights @ (jnp.cos(k * u + c) * jnp.cos(k * v + c)) @ weights

    def printed(turns):
        def value(k, c, r, s, q):
            rho = r * s * q
            both = jnp.exp(-(k**2) * rho) * jnp.cos(turns * c) + jnp.exp(k**2 * rho)
            return jnp.exp(-(k**2) * (r**2 + s**2) / 2) * both / 2

        return value

    return identity(
        lhs=average,
        rhs=printed(2),
        over=inputs(
            k=interval(0, 2), c=interval(-3, 3), r=interval(0, 1), s=interval(0, 1),
            q=interval(-1, 1),
        ),
        control=dict(rhs=printed(1)),
    )  # fmt: skip


def gram(seed, r=4):
    """Return K_1 between r inputs x and r inputs y, and their variances."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((2 * r, 2 * r)) / np.sqrt(2 * r)
    K = F @ F.T
    return K[:r, r:].copy(), np.diag(K)[:r].copy(), np.diag(K)[r:].copy()


def after(K, x, y, k, c):
    """Return N of eq. (20) with the activation cos(k t + c)."""
    with jax.enable_x64(True):
        return np.asarray(Cos(k, c).dual(x[:, None], K, y[None, :]))


def condition(K):
    """Whether eq. (21) holds: no other permutation has the sum of the identity."""
    r = range(len(K))
    others = [t for t in itertools.permutations(r) if t != tuple(r)]
    sums = np.array([K[list(r), list(t)].sum() for t in others])
    return bool((np.abs(sums - np.trace(K)) > 1e-9).all())


GRID = [(k, c) for k in (0.5, 1.0, 2.0, 3.0) for c in (0.3, 0.8, 1.1)]


def smallest(K, x, y):
    """Return the smallest relative singular value of N over a grid of (k, c)."""
    values = [np.linalg.svd(after(K, x, y, k, c), compute_uv=False) for k, c in GRID]
    return min(v[-1] / v[0] for v in values)


@claim(
    "templates.E1.invertible",
    ref="Lemmas 3.6 and E.1",
    statement=r"\sum_i K_1(x_i, y_i) \ne \sum_i K_1(x_i, y_{\tau(i)})\ \forall \tau \ne "
    r"\mathrm{id} \Rightarrow N \text{ nonsingular for almost every } (k, c)",
)
def invertible():
    """With random kernels, which meet eq. (21), N is nonsingular on a grid of (k, c).

    Control: two equal inputs, for which eq. (21) fails and two rows are equal.
    """

    def repeated(seed):
        K, x, y = gram(seed)
        K[1], x[1] = K[0], x[0]
        return K, x, y

    return construction(
        build=gram,
        has={
            "eq. (21)": lambda built: condition(built[0]),
            "N is nonsingular": lambda built: smallest(*built) > 1e-9,
        },
        cases=range(20),
        control=dict(build=repeated, has=lambda built: smallest(*built) > 1e-9),
    )


def determinants(scale):
    """Return the predicate: det N at c = pi / 4 is the sum over permutations, times scale(r)."""

    def predicate(member):
        r, k = member
        K, x, y = gram(r, r)
        places = range(r)
        value = 0.0
        for tau in itertools.permutations(places):
            sign = np.linalg.det(np.eye(r)[list(tau)])
            value += sign * np.exp(k**2 * K[list(places), list(tau)].sum())
        value *= scale(r) * np.exp(-(k**2) / 2 * (x.sum() + y.sum()))
        return abs(np.linalg.det(after(K, x, y, k, np.pi / 4)) / value - 1) < 1e-6

    return predicate


SIZES = [(r, k) for r in (2, 3, 4) for k in (1.0, 2.0, 3.0)]


@claim(
    "templates.E1.determinant",
    ref="Lemma E.1, proof",
    statement=r"f(k, \pi/4) = e^{-\frac{k^2}{2} \sum_i (K_1(x_i, x_i) + K_1(y_i, y_i))} "
    r"\sum_\tau \mathrm{sgn}(\tau) \exp(k^2 \sum_i K_1(x_i, y_{\tau(i)}))",
    expect="refuted",
    falls="wording",
    consequence="A factor 2^-r is missing, which does not affect where the determinant is 0.",
)
def determinant():
    """At c = pi / 4 the determinant of N is this sum. Control: twice it."""
    return exhaustive(
        predicate=determinants(lambda r: 1.0),
        universe=SIZES,
        control=dict(predicate=determinants(lambda r: 2.0)),
    )


@claim(
    "templates.E1.determinant.repaired",
    ref="Lemma E.1, proof",
    statement=r"f(k, \pi/4) = 2^{-r} e^{\dots} "
    r"\sum_\tau \mathrm{sgn}(\tau) \exp(k^2 \sum_i K_1(x_i, y_{\tau(i)}))",
)
def determinant_repaired():
    """With the factor 2^-r, the sum is det N, for two to four inputs. Control: as printed."""
    return exhaustive(
        predicate=determinants(lambda r: 0.5**r),
        universe=SIZES,
        control=dict(predicate=determinants(lambda r: 1.0)),
    )


@claim(
    "templates.E1.degenerate",
    ref="Lemma E.1",
    statement=r"\{(k, c) : \det N = 0\} \text{ is not empty}",
)
def degenerate():
    """There are (k, c) at which N is singular though eq. (21) holds, so "almost" is needed.

    At k = 0 all entries are cos^2 c. For the kernel here the determinant also changes its sign in
    c at k = 1. Control: c = pi / 4 alone, where it does not.
    """
    determinant = lambda built, k, c: np.linalg.det(after(built[0], built[1], built[2], k, c))

    def crosses(built, angles):
        signs = {np.sign(determinant(built, 1.0, c)) for c in angles}
        return {-1.0, 1.0} <= signs

    def build(seed):
        K = np.array([[-0.6, 0.3], [0.3, -0.6]])
        return K, np.ones(2), np.ones(2)

    zero = lambda built: abs(determinant(built, 0.0, 0.5)) < 1e-15 and condition(built[0])
    return construction(
        build=build,
        has=lambda built: zero(built) and crosses(built, np.linspace(0, np.pi / 2, 9)),
        cases=[0],
        complete=True,
        control=dict(has=lambda built: zero(built) and crosses(built, [np.pi / 4])),
    )
