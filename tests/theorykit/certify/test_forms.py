"""Cauchy's inequality, the triangle's, and forms by their minors: true, and nearly true."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest
from flint import fmpq

from theorykit.certify import NotCertifiable, Work, exact, identical, letters, ordered
from theorykit.certify._forms import _by_entries, by_cauchy, by_minors, by_triangle
from theorykit.certify._quotients import Quotient
from theorykit.certify._ring import NONNEGATIVE, POSITIVE, REAL, Ring
from theorykit.certify._signs import certain

softmax = jax.nn.softmax
interval = letters((), low=Fraction(1, 20), high=Fraction(20))


def holds(sides, work=5_000_000, **shapes):
    try:
        return bool(ordered(sides, shapes, work=Work(work)))
    except NotCertifiable:
        return False


def cross(factor):
    """Return Lemma E.1's cross block, and a multiple of the largest entry."""

    def sides(s1, s2, V):
        A, B = softmax(s1), softmax(s2)
        centred = lambda p: jnp.diag(p) - jnp.outer(p, p)
        return jnp.abs(centred(A) @ V @ centred(B)).sum(), exact(factor) * jnp.abs(V).max()

    return sides


@pytest.mark.parametrize("T", [2, 3])
def test_the_cross_block_of_two_softmaxes(T):
    shapes = dict(s1=(T,), s2=(T,), V=(T, T))
    assert holds(cross(1), **shapes)
    assert holds(cross(Fraction(6, 5)), **shapes)
    assert not holds(cross(1 - Fraction(1, 10**6)), work=200_000, **shapes)


def test_the_mean_of_absolute_deviations_is_at_most_the_largest_entry():
    """One projection is enough; with another sign in it the sum is no projection."""

    def deviation(sign):
        def sides(s, v):
            A = softmax(s)
            return A @ jnp.abs(v + sign * (A @ v)), jnp.abs(v).max()

        return sides

    assert holds(deviation(-1), s=(3,), v=(3,))
    assert not holds(deviation(1), work=300_000, s=(3,), v=(3,))  # at v = 1 it is 2


def regression(factor):
    """Return a ridge predictor of two points, and a multiple of the bound of eq. (11)."""

    def sides(F, y, kappa):
        L = jnp.tril(F)
        G = L @ L.T
        alpha = jnp.linalg.solve(G[:2, :2] + kappa * jnp.eye(2), y)
        bound = jnp.linalg.norm(y) / (2 * jnp.sqrt(kappa)) * jnp.sqrt(G[2, 2])
        return jnp.abs(G[2, :2] @ alpha), exact(factor) * bound

    return sides


def test_the_ridge_predictor_of_two_points():
    shapes = dict(F=(3, 3), y=(2,), kappa=interval)
    assert holds(regression(1), **shapes)


@pytest.mark.slow
def test_no_smaller_constant_is_proved_for_the_ridge_predictor():
    shapes = dict(F=(3, 3), y=(2,), kappa=interval)
    assert not holds(regression(1 - Fraction(1, 10**6)), work=2_000_000, **shapes)


def test_one_norm_by_the_other():
    """|x|_1 <= sqrt(n) |x|_2, and the constant is the best."""
    sides = lambda c: lambda x: (jnp.abs(x).sum(), jnp.sqrt(exact(c)) * jnp.linalg.norm(x))
    assert holds(sides(3), x=(3,))
    assert not holds(sides(3 - Fraction(1, 10**9)), work=300_000, x=(3,))


def test_the_spectrum_of_a_function_of_a_matrix():
    """Eigenvalues are sorted by a product of which one factor is only known not to be negative."""

    def sides(power):
        def of(F, kappa):
            K = F @ F.T
            inverse = jnp.linalg.inv(K + kappa * jnp.eye(2))
            own = jnp.linalg.eigvalsh(K)
            wanted = jnp.sort(own / (own + kappa) ** power)
            return jnp.linalg.eigvalsh(inverse @ K @ inverse), wanted

        return of

    F = letters((2, 2), low=Fraction(0))  # a triangular factor, its diagonal not negative
    F[0, 1], F[1, 0] = 0, letters(()).item()
    assert identical(sides(2), dict(F=F, kappa=interval), work=Work(2_000_000))
    assert not identical(sides(1), dict(F=F, kappa=interval), work=Work(2_000_000))


# The rules alone --------------------------------------------------------------------------------


def ring(*signs):
    made = Ring([f"x{i}" for i in range(len(signs))], {}, Work(10_000_000))
    made.begin(dict(enumerate(signs)))
    return made


def moduli(made, polynomials):
    return [
        made.gens[made.letter("abs", p, f"{p}", f"|{p}|", NONNEGATIVE, p * p)] for p in polynomials
    ]


def test_cauchy_asks_for_weights_that_are_not_negative():
    made = ring(REAL, REAL, POSITIVE)
    x, y, r = made.gens[:3]
    a, b = moduli(made, [x, y])
    n = made.gens[made.letter("sqrt", None, "n", "n", NONNEGATIVE, 2 * (x**2 + y**2))]
    assert by_cauchy(made, n - a - b).rule == "cauchy"
    assert by_cauchy(made, r * n - r * a - r * b)
    assert by_cauchy(made, n - a - 2 * b) is None
    assert by_cauchy(made, -n - a - b) is None
    assert by_cauchy(made, n * fmpq(999999, 10**6) - a - b) is None


def test_the_triangle_asks_for_the_entries_of_the_maximum():
    made = ring(REAL, REAL, REAL)
    x, y, z = made.gens[:3]
    entries = [Quotient(made, m) for m in moduli(made, [x, y])]
    M = made.gens[made.letter("max", entries, "M", "M", NONNEGATIVE, None)]
    prove = lambda p: certain(made, p)
    (d,) = moduli(made, [2 * x - 3 * y])
    assert by_triangle(made, 5 * M - d, prove).rule == "triangle"
    assert by_triangle(made, M * fmpq(49, 10) - d, prove) is None
    (e,) = moduli(made, [x - z])  # z is no entry
    assert by_triangle(made, 99 * M - e, prove) is None
    (f,) = moduli(made, [x * y])  # not linear
    assert by_triangle(made, 99 * M - f, prove) is None


SHARES = {fmpq(1): True, fmpq(1, 2): True, fmpq(1001, 1000): False, fmpq(2): False,
          fmpq(-1001, 1000): False, fmpq(-2): False, fmpq(-1, 2): None}  # fmt: skip


@pytest.mark.parametrize("share", SHARES)
def test_a_projection_is_no_longer_than_what_is_projected(share):
    """With z = c y the sum of M^2 - z_k^2 is at least zero for |c| <= 1 only."""
    made = ring(REAL, REAL)
    u, v = made.gens[:2]
    entries = [u + v, u - v]  # no letters, whose signs could be turned
    M = made.gens[
        made.letter(
            "max", [Quotient(made, m) for m in moduli(made, entries)], "M", "M", NONNEGATIVE, None
        )
    ]
    inner = [share * y for y in entries]
    gap = made.reduced(sum((M * M - z * z for z in inner), made.constant(0)))
    found = _by_entries(made, gap, M, [made.constant(1)] * 2, inner)
    assert found is None or SHARES[share]
    assert found or not SHARES[share]


FORMS = list(itertools.product((-1, 0, 1, 2), (-2, -1, 0, 1), (-3, 0, 1, 3)))


@pytest.mark.parametrize("form", FORMS)
def test_two_minors_decide_as_the_eigenvalues_do(form):
    a, b, c = form
    made = ring(REAL, REAL)
    x, y = made.gens[:2]
    p = a * x * x + 2 * b * x * y + c * y * y
    found = by_minors(made, p, lambda q: certain(made, q))
    if p.degrees()[0] == p.degrees()[1] == 2:
        definite = a >= 0 and c >= 0 and a * c >= b * b
        assert bool(found) is definite


def test_three_minors_are_needed():
    made = ring(REAL, REAL, REAL)
    x, y, z = made.gens[:3]
    prove = lambda q: certain(made, q)
    square = x * x + y * y + z * z
    inside = 2 * (x * y + y * z + z * x)
    assert by_minors(made, square - inside * fmpq(1, 2), prove)
    assert by_minors(made, square + inside, prove)
    assert by_minors(made, square - inside * fmpq(501, 1000), prove) is None
    # Eigenvalues 5, -1 and -1: the trace and the determinant alone would let them pass.
    assert by_minors(made, 2 * (x + y + z) ** 2 - square, prove) is None
