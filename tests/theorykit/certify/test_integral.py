import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy import integrate

from theorykit.certify import NotCertifiable, enclose, exact
from theorykit.certify._enclose import Program
from theorykit.certify._growth import Bound, growth
from theorykit.certify._integral import Analytic, integral
from theorykit.certify._numbers import objects
from theorykit.kernels.activations import NAMES

POINTS = [(1, Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 3), Fraction(-1, 5), 2)]


def relu(x):
    return jnp.maximum(x, 0)


def gelu(x):
    return x * (1 + jax.lax.erf(x / jnp.sqrt(exact(2)))) / 2


PHI = {"relu": relu, "erf": jax.lax.erf, "cos": jnp.cos, "gelu": gelu, "identity": lambda x: x}


@functools.cache
def dual(name, point, bits=56):
    k11, k12, k22 = point
    phi = PHI[name]
    return integral(lambda u, v: phi(u) * phi(v), ((k11, k12), (k12, k22)), bits=bits)


def closed(name, k11, k12, k22):
    """The dual functions, with the real number pi."""
    pi = exact("pi")
    if name == "relu":
        root = jnp.sqrt(k11 * k22)
        t = jnp.arccos(k12 / root)
        return root * (jnp.sin(t) + (pi - t) * jnp.cos(t)) / (2 * pi)
    if name == "erf":
        return 2 / pi * jnp.arcsin(2 * k12 / jnp.sqrt((1 + 2 * k11) * (1 + 2 * k22)))
    if name == "gelu":
        a, b = 1 + k11, 1 + k22
        inner = k11 * k22 - k12**2 * (1 - 1 / a - 1 / b)
        orthant = 0.25 + jnp.arcsin(k12 / jnp.sqrt(a * b)) / (2 * pi)
        return inner / (2 * pi * jnp.sqrt(a * b - k12**2)) + k12 * orthant
    return NAMES[name].dual(k11, k12, k22)  # no pi in it


def holds(balls, value):
    """Whether a ball contains a rational number, taken at a precision that makes it one."""
    value = Fraction(value)
    with ctx.workprec(1000):
        return balls.array.item().contains(arb(value.numerator) / value.denominator)


def overlap(x, y):
    return x.array.item().overlaps(y.array.item())


@pytest.mark.parametrize("point", POINTS, ids=["positive", "negative"])
@pytest.mark.parametrize("name", PHI)
def test_dual_activations_are_their_closed_forms(name, point):
    point = tuple(arb(k.numerator) / k.denominator for k in map(Fraction, point))
    truth = enclose(functools.partial(closed, name), *point)
    found = dual(name, POINTS[0] if point[1] > 0 else POINTS[1])
    assert overlap(found, truth)
    assert found.radius < 1e-15
    assert truth.radius < 1e-12
    shipped = enclose(NAMES[name].dual, *point)  # its pi is a float
    assert abs(float(shipped) - float(found)) < 2e-15


@pytest.mark.parametrize("name", ["relu", "gelu", "cos"])
def test_a_wrong_closed_form_does_not_overlap(name):
    point = [Fraction(k) for k in POINTS[0]]
    wrong = enclose(lambda *k: closed(name, *k) * (1 + 1e-9), *point)
    assert not overlap(dual(name, POINTS[0]), wrong)


@pytest.mark.parametrize("k", ["0.1", 2.0, Fraction(1, 3), 1e-10, 1e8])
def test_moments(k):
    k = Fraction(k)
    found = integral(lambda u: u**4, k)
    assert holds(found, 3 * k**2)
    assert found.radius < 1e-25 * float(3 * k**2)
    # |u|^3: a kink in the third derivative, and an incomplete moment.
    third = integral(lambda u: jnp.abs(u) ** 3, k)
    assert math.isclose(float(third), 4 * float(k) ** 1.5 / math.sqrt(2 * math.pi), rel_tol=1e-14)


def test_mixed_moment_is_isserlis():
    k11, k12, k22 = POINTS[1]
    found = integral(lambda u, v: u**2 * v**2, ((k11, k12), (k12, k22)), bits=64)
    assert holds(found, k11 * k22 + 2 * k12**2)
    assert found.radius < 1e-18


def test_fewer_bits_give_a_larger_ball_that_still_contains():
    truth = integral(relu, 1, bits=200)
    radii = []
    for bits in (16, 32, 64, 128):
        found = integral(relu, 1, bits=bits)
        assert found.array.item().contains(truth.array.item())
        radii.append(found.radius)
    assert sorted(radii, reverse=True) == radii
    assert radii[0] < 1e-3
    assert radii[-1] < 1e-37


def test_the_tail_is_in_the_radius():
    # A larger stated growth reaches further out, and both contain the truth.
    for stated in [(1, 1), (1000, 8), (1e-3, 40), None]:
        assert overlap(
            integral(relu, 1, growth=stated), enclose(lambda: 1 / jnp.sqrt(2 * exact("pi")))
        )


@pytest.mark.parametrize(
    ("f", "p"),
    [
        (lambda u: jnp.tanh(u), 0),
        (jax.nn.silu, 1),
        (lambda u: jax.nn.leaky_relu(u) ** 2, 2),
        (jax.nn.softplus, 1),
        (lambda u: jnp.abs(u) ** 1.5, 2),
        (lambda u: jnp.where(u > 0, 1.0, jnp.exp(-(u**2))), 0),
    ],
)
def test_one_dimension_against_scipy(f, p):
    k = 1.75
    with ctx.workprec(96):
        assert growth(Program.trace(f, [0.0]), 1)[1] == p
    g = jax.jit(f)
    weight = lambda u: float(g(u)) * math.exp(-u * u / (2 * k)) / math.sqrt(2 * math.pi * k)
    there = sum(integrate.quad(weight, *span, epsabs=1e-11)[0] for span in ((-20, 0), (0, 20)))
    found = integral(f, k, bits=56)
    assert math.isclose(float(found), there, abs_tol=1e-9)
    assert found.radius < 1e-14


@pytest.mark.parametrize(
    "f",
    [
        lambda u, v: jnp.tanh(u) * jnp.maximum(0.1 * v, v),
        lambda u, v: jnp.where(u > 0, v**2, jnp.sin(v)) + jnp.sign(u) * jnp.sign(v),
        lambda u, v: jnp.sqrt(1 + u**2 + v**2),
    ],
)
def test_the_plane_against_scipy(f):
    k = np.array([[1.0, -0.5], [-0.5, 1.5]])
    # Another route: the conditional expectation of v given u, on fixed nodes, kinks split.
    x, w = np.polynomial.legendre.leggauss(60)
    spread = math.sqrt(k[1, 1] - k[0, 1] ** 2 / k[0, 0])
    nodes = np.concatenate([6.0 * x - 6.0, 6.0 * x + 6.0])
    weights = 6.0 * np.concatenate([w, w])
    g = jax.jit(jax.vmap(f))

    def given(u):
        mean = k[0, 1] / k[0, 0] * u
        density = np.exp(-(((nodes - mean) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
        inner = weights * density @ np.asarray(g(np.full_like(nodes, u), nodes))
        return inner * math.exp(-u * u / 2) / math.sqrt(2 * math.pi)

    there = sum(
        integrate.quad_vec(given, *s, epsabs=1e-10, quadrature="gk21")[0] for s in ((-9, 0), (0, 9))
    )
    found = integral(f, k, bits=40)
    assert math.isclose(float(found), there, abs_tol=1e-7)
    assert found.radius < 1e-10


@pytest.mark.parametrize(
    ("covariance", "truth"),
    [
        (((2, 2), (2, 2)), 1),
        (((2, -2), (-2, 2)), 0),
        (((1, 0), (0, 0)), 0),
        (((0, 0), (0, 0)), 0),
        (((1, "1/3"), ("1/3", "1/9")), Fraction(1, 6)),
    ],
)
def test_degenerate_covariances(covariance, truth):
    found = integral(lambda u, v: relu(u) * relu(v), covariance)
    assert holds(found, truth)
    assert found.radius < 1e-25


def test_nearly_degenerate_covariances():
    rho = 1 - Fraction(1, 10**12)
    for sign in (1, -1):
        found = integral(
            lambda u, v: relu(u) * relu(v), ((1, sign * rho), (sign * rho, 1)), bits=96
        )
        assert overlap(found, enclose(functools.partial(closed, "relu"), 1, sign * rho, 1))
        assert found.radius < 1e-27
    # A singular matrix known to an error: both singular and regular ones lie in it.
    ball = arb(1, 1e-9)
    wide = integral(lambda u, v: relu(u) * relu(v), ((ball, ball), (ball, ball)))
    assert holds(wide, 0.5)
    assert wide.radius < 1e-3
    near = enclose(functools.partial(closed, "relu"), 1, 1 - Fraction(1, 10**9), 1)
    assert wide.array.item().contains(near.array.item())


@pytest.mark.parametrize("where", [1.0, "1/3"])
def test_breaks_are_listed_or_found(where):
    at = exact(where) if isinstance(where, str) else where
    jump = lambda u: (u > at).astype(float) * jnp.exp(-(u**2))
    root = lambda u: jnp.sqrt(jnp.abs(u - at))
    clipped = lambda u: jnp.minimum(at, u) ** 2
    for f in (jump, root, clipped):
        listed = integral(f, 1, breaks=(where,), bits=64)
        found = integral(f, 1, bits=64)
        assert overlap(listed, found)
        assert listed.radius < 1e-17
        assert found.radius < 1e-12


def test_orthant_probability():
    found = integral(lambda u, v: (u > 0) & (v > 0), ((1, "0.5"), ("0.5", 1)))
    assert holds(found, Fraction(1, 3))
    assert found.radius < 1e-27


@pytest.mark.parametrize(
    ("f", "z"),
    [
        (jnp.sqrt, -1),
        (jnp.log, -1),
        (jax.lax.rsqrt, -1),
        (lambda u: u**0.5, -1),
        (jnp.log1p, -2),
        (jnp.arcsin, 2),
        (jnp.arctan, 2j),
        (jnp.arcsinh, 2j),
        (jnp.arccosh, 0),
        (lambda u: (u > 0).astype(float), 0),
        (jnp.abs, 0),
        (jnp.sign, 0),
        (relu, 0),
    ],
)
def test_what_is_not_analytic_is_nan(f, z):
    program = Program.trace(f, [0.0])
    here = acb(arb(complex(z).real, 0.125), arb(complex(z).imag, 0.125))
    (out,) = program.run(Analytic(hull=True, analytic=True), [objects(here, ())])
    assert not acb(out.item()).is_finite()
    (out,) = program.run(Analytic(hull=True, analytic=True), [objects(acb(1.25, 0.01), ())])
    assert acb(out.item()).is_finite()


@pytest.mark.parametrize(
    ("f", "c", "p"),
    [
        (lambda u: u, 1, 1),
        (lambda u: 3 * u**2 - 2 * u + 1, 3, 2),
        (lambda u: u * jnp.sin(u) + jnp.cos(u), 1, 1),
        (lambda u: 7 + 0 * u, 7, 0),
        (lambda u: 1 / (1 + u**2), 1, 0),
        (lambda u: 1 / (2 + jnp.abs(u) ** 1.5), 1 / 2, 0),
        (lambda u: jax.lax.pow(u, 3.0), 1, 3),
        (lambda u: u * jax.lax.erfc(-u), 2, 1),
        (lambda u: relu(u) ** 3, 1, 3),
        (lambda u: jnp.clip(u, -2, 2) * u, 1, 2),
        (lambda u: jnp.log1p(u**2), 1, 2),
        (lambda u: jnp.sqrt(u**2 + 1), 1, 2),
        (lambda u: u / jnp.sqrt(1 + u**2), 1, 1),
        (lambda u: jnp.sum(jnp.stack([u, u**2]) ** 2), 1, 4),
    ],
)
def test_growth(f, c, p):
    with ctx.workprec(96):
        bound, degree = growth(Program.trace(f, [0.0]), 1)
    assert degree == p
    assert float(bound) == pytest.approx(c, rel=1e-12)
    u = np.linspace(-50, 50, 1001)
    assert (np.abs(jax.vmap(f)(u)) <= float(bound) * (1 + np.abs(u)) ** p + 1e-12).all()


def test_growth_in_two_arguments_is_in_their_norm():
    with ctx.workprec(96):
        c, p = growth(Program.trace(lambda u, v: u * v**2, [0.0, 0.0]), 2)
    assert (float(c), p) == (1, 3)


def test_what_is_unbounded_never_bounds():
    unbounded = Bound((arb.pos_inf(),), Bound.of(1).range + arb.pos_inf())
    for made in (0 * unbounded, unbounded + 1, Bound.of(2).union(unbounded)):
        assert made.range.finite or not all(a.is_finite() for a in made.coefficients)


@pytest.mark.parametrize(
    "f",
    [
        jnp.exp,
        jnp.sinh,
        jnp.log,
        jax.nn.elu,
        lambda u: 1 / u,
        lambda u: 1 / jnp.abs(u) ** 1.5,
        lambda u: 1 / (1 + jax.lax.pow(u, 3.0)),
    ],
)
def test_growth_must_be_stated(f):
    with pytest.raises(NotCertifiable, match=r"state growth=\(c, p\)"):
        integral(f, 1)


def test_a_stated_growth_serves():
    found = integral(jax.nn.elu, 1, growth=(1, 1))
    root = enclose(
        lambda: (
            jnp.exp(exact("1/2")) * jax.lax.erfc(1 / jnp.sqrt(exact(2))) / 2
            - exact("1/2")
            + 1 / jnp.sqrt(2 * exact("pi"))
        )
    )
    assert overlap(found, root)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (-1, "semidefinite, not -1"),
        (((1, 2), (2, 1)), r"semidefinite, not \(\(1, 2\)"),
        (((1, 0.5), (0.4, 1)), "symmetric"),
        (float("nan"), "nan"),
        (((1, 0), (0, float("inf"))), "inf"),
        ((1, 2, 3), "rows of two"),
        (np.eye(3), "rows of two"),
        ("one", "'one'"),
        (1j, "not a real number"),
        (arb(0, 1e-9), "certainly positive"),
    ],
)
def test_impossible_covariances_are_refused(covariance, message):
    with pytest.raises(ValueError, match=message):
        integral(lambda *xs: xs[0], covariance)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(bits=3), "16"),
        (dict(breaks=(1.0,)), "a break is at 0"),
        (dict(breaks=("x",)), "breaks are numbers"),
        (dict(breaks=(b for b in (0.0,))), "breaks are numbers"),
        (dict(f=lambda u, v: "u"), "arrays? of real numbers|array of"),
        (dict(growth=(-1, 1)), r"\(-1, 1\)"),
        (dict(growth=2), "pair"),
        (dict(f=lambda u: u), "function of 2 numbers"),
        (dict(f=lambda u, v: jnp.stack([u, v])), r"one number, not arrays of shapes \[\(2,\)\]"),
        (dict(f=lambda u, v: u + 1j), "real number"),
        (dict(f=lambda u, v: jnp.abs(u - v)), "where u or v is 0"),
        (dict(f=lambda u, v: u * jax.random.normal(jax.random.key(0))), "random"),
        (dict(f=lambda u, v: jnp.real(jnp.exp(1j * u))), "complex"),
    ],
)
def test_impossible_requests_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        integral(**{"f": lambda u, v: u, "covariance": ((1, 0), (0, 1)), "bits": 48} | given)


@pytest.mark.parametrize("f", [jnp.sqrt, lambda u: jnp.log(u) ** 2, lambda u: 1 / u])
def test_what_has_no_value_is_refused(f):
    with pytest.raises(NotCertifiable, match=r"converge|not real"):
        integral(f, 1, growth=(1, 1))


@pytest.mark.parametrize(
    ("f", "breaks", "value"),
    [
        (lambda u: jnp.maximum(jax.lax.rsqrt(u**2 - u + 1) - 1, 0), (0, 1), 0.0341),
        (lambda u: jnp.maximum(jnp.arccos(jnp.clip(u, -1, 1)), 0), (-1, 1), np.pi / 2),
        (lambda u: jnp.where(jax.lax.rsqrt(1 + u + u * u) < 0.7, 0.0, 1.0), (0,), None),
    ],
)
def test_falling_functions_do_not_lose_their_range(f, breaks, value):
    """A range with its ends exchanged decided comparisons that were open."""
    try:
        found = integral(f, 1, breaks=breaks, bits=40)
    except NotCertifiable:
        return
    assert found.upper > 0.01
    if value is not None:
        assert found.lower - 1e-4 < value < found.upper + 1e-4
