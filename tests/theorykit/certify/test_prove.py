"""Branch and bound, the derivatives that it uses, and polynomial identities."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from theorykit.certify import NotCertifiable, enclose, exact, identical, prove
from theorykit.certify._elementwise import each
from theorykit.certify._enclose import Program
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine
from theorykit.certify._numbers import precision

ONES = np.ones(2)


@pytest.mark.parametrize(
    ("inequality", "box"),
    [
        (lambda x: (jnp.sin(x), x), dict(x=(0.1, 3))),
        (lambda x: (x - x**3, exact("0.385")), dict(x=(0, 1))),
        (lambda x: (jnp.log(x), x - 0.99), dict(x=("0.1", 5))),
        (lambda x, y: (2 * x * y, x**2 + y**2 + 0.02), dict(x=(-1, 1), y=(-1, 1))),
        (lambda x: (jnp.abs(x.sum()), jnp.abs(x).sum() + 1e-3), dict(x=(-ONES, ONES))),
        (lambda x: ([x, x**2], [x + 0.1, x + 0.1]), dict(x=(0, 1))),
        (lambda x: (jnp.maximum(x, -x), jnp.where(x > 0, x, -x) + 1), dict(x=(-1, 1))),
    ],
)
def test_what_is_true_with_room_is_proved(inequality, box):
    found = prove(inequality, box)
    assert found.status == "proved", str(found)
    assert found
    assert found.slack >= 0


def test_what_is_false_is_refuted_at_a_point_that_is_enclosed():
    found = prove(lambda x: (x - x**3, 0.38), dict(x=(0, 1)))
    assert found.status == "refuted"
    x = found.point["x"]
    assert Fraction(x) - Fraction(x) ** 3 > Fraction(0.38)
    assert found.lhs.lower > found.rhs.upper


def test_a_narrow_violation_is_found():
    # The maximum of x - x^3 is 2 / (3 sqrt 3); a bound below it by 1e-6 fails on 0.08% of [0, 1].
    bound = 2 / (3 * np.sqrt(3)) - 1e-6
    assert prove(lambda x: (x - x**3, bound), dict(x=(0, 1))).status == "refuted"
    assert prove(lambda x: (x - x**3, bound + 2e-6), dict(x=(0, 1))).status == "proved"


def test_an_equality_on_a_curve_is_left_undecided_and_said_where():
    square = lambda x, y: x**2 + y**2
    found = prove(
        lambda x, y: (2 * square(x, y), square(x, y) ** 2 + 1), dict(x=(-1, 1), y=(-1, 1)), 300
    )
    assert found.status == "undecided"
    assert 0 < found.share < 1
    inside = lambda point, p: all(low <= point[k] <= high for k, (low, high) in p.items())
    for t in np.linspace(-np.pi, np.pi, 23):  # equality holds on the circle
        point = dict(x=np.cos(t), y=np.sin(t))
        assert any(inside(point, piece) for piece in found.left)


def test_what_is_left_is_said_to_lie_in_a_small_box():
    # Equality at the root of a half, which is no fraction.
    found = prove(lambda x: (x * (jnp.sqrt(exact(2)) - x), 0.5), dict(x=(0, 1)), 20)
    low, high = found.within["x"]
    assert 0.6 < low < 0.5**0.5 < high < 0.8
    inside = lambda p: found.within["x"][0] <= p["x"][0] and p["x"][1] <= found.within["x"][1]
    assert all(map(inside, found.left))
    assert str(found).endswith(f"after 20 pieces, within x in [{low:.4g}, {high:.4g}]")


def test_monotone_variables_are_decided_on_a_face():
    # Equality at x = 0 only, which is a face of the box.
    found = prove(lambda x: (0.0, jnp.expm1(x)), dict(x=(0, 1)))
    assert (found.status, found.slack) == ("proved", 0.0)


def test_a_jump_is_not_taken_for_a_slope():
    """Derivatives of sign, where and floor are zero, yet the mean value form must not use that."""
    for f in (jnp.sign, lambda x: jnp.where(x > 0, 1.0, -1.0), lambda x: 2.0 * (x > 0) - 1):
        found = prove(lambda x, f=f: (f(x) + 0 * x, 0.5), dict(x=(-1, 0.25)))
        assert found.status == "refuted"
        assert found.point["x"] > 0


def test_stop_gradient_does_not_hide_a_slope():
    found = prove(lambda x: (jax.lax.stop_gradient(x), 0.5 + 0 * x), dict(x=(-1, 1)))
    assert found.status == "refuted"


def test_a_wrong_custom_derivative_does_not_either():
    @jax.custom_jvp
    def f(x):
        return x**2

    f.defjvp(lambda xs, ts: (xs[0] ** 2, 0.0 * ts[0]))
    assert prove(lambda x: (f(x), 0.5), dict(x=(-1, 1))).status == "refuted"


def test_what_cannot_be_enclosed_is_left():
    found = prove(lambda x: (1 / x - 1 / x, 1.0), dict(x=(-1, 1)), 20)
    assert found.status == "undecided"
    assert "denominator" in found.why or found.share > 0


FALSE = {
    "NaN in a later entry": (
        lambda x: (jnp.zeros(2), jnp.stack([5 + 0 * x, jnp.sqrt(x) - 0.5])), dict(x=(0, 1))),
    "pole in a later entry": (
        lambda x: (jnp.zeros(2), jnp.stack([5 + 0 * x, 1 / x])), dict(x=(-1, 1))),
    "NaN constant": (lambda x: (x, jnp.array([2.0, jnp.nan])), dict(x=(0, 1))),
    "branch cut": (lambda y: (2.0, jnp.arctan2(y, -1.0)), dict(y=(-1, 1))),
    "isnan": (lambda x: (0.0, jnp.where(jnp.isnan(jnp.log(x)), -1.0, 1.0)), dict(x=(-2, -1))),
    "NaN equals itself": (
        lambda x: (lambda s: (0.0, jnp.where(s >= s, 1.0, -1.0)))(jnp.sqrt(x)), dict(x=(-2, -1))),
    "sign of NaN": (lambda x: (-2.0, jnp.sign(jnp.log(x))), dict(x=(-2, -1))),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_or_undefined_is_not_proved(name):
    assert prove(*FALSE[name], 60).status != "proved"


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_box_is_the_one_that_was_given(bits):
    point = dict(x=(0.1, 0.1))
    assert prove(lambda x: (x, 0.1 - 1e-12), point, bits=bits).status != "proved"
    assert prove(lambda x: (x, 0.1), dict(x=(0, 0.1)), bits=bits).status != "refuted"
    third = dict(x=("1/3", "1/3"))
    assert prove(lambda x: (x, exact("1/3")), third, bits=bits).status != "refuted"
    large = dict(x=(2**70 + 1, 2**70 + 1))
    assert prove(lambda x: (x, float(2**70)), large, bits=bits).status == "refuted"


def test_a_point_that_is_no_float_is_a_fraction():
    narrow = dict(x=("1/3", Fraction(1, 3) + Fraction(1, 2**90)))
    found = prove(lambda x: (3 * x - 1 + 1e-40, 0.0 * x), narrow, bits=256)
    assert found.status == "refuted"
    assert isinstance(found.point["x"], Fraction)
    assert Fraction(1, 3) < found.point["x"] <= Fraction(1, 3) + Fraction(1, 2**90)


def test_a_primitive_without_slope_is_proved_by_its_enclosure():
    assert prove(lambda x: (jnp.exp2(x), 2.1), dict(x=(0, 1))).status == "proved"
    with pytest.raises(NotCertifiable, match="no rule"):
        prove(lambda x: (jnp.fft.fft(x).real, 9.0), dict(x=(np.zeros(2), np.ones(2))))


@pytest.mark.parametrize(
    ("box", "says"),
    [
        (dict(x=(1, 0)), "runs from 1 to 0"),
        (dict(x=(0, float("nan"))), "nan"),
        (dict(x=(0, float("inf"))), "inf"),
        ({}, "one interval per variable"),
        (dict(x=3), "two ends"),
        (dict(x=(np.zeros(0), np.zeros(0))), "no entries"),
    ],
)
def test_a_bad_box_is_refused(box, says):
    with pytest.raises(ValueError, match=says):
        prove(lambda x: (x, x + 1), box)


@pytest.mark.parametrize("budget", [0, -3, 1.5, True])
def test_a_bad_budget_is_refused(budget):
    with pytest.raises(ValueError, match="at least 1"):
        prove(lambda x: (x, x + 1), dict(x=(0, 1)), budget)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(inequality=(1, 2)), "inequality is a function"),
        (dict(progress=0.5), "progress is a function"),
        (dict(inequality=lambda x: (x, "x")), "a side is an array of"),
    ],
)
def test_what_is_no_inequality_is_refused(arguments, words):
    fine = dict(inequality=lambda x: (x, x + 1), box=dict(x=(0, 1)))
    with pytest.raises(ValueError, match=words):
        prove(**(fine | arguments))


def test_an_inequality_returns_two_sides():
    with pytest.raises(ValueError, match="two sides"):
        prove(lambda x: x, dict(x=(0, 1)))


FUNCTIONS = [
    jnp.exp, jnp.expm1, jnp.log, jnp.log1p, jnp.sin, jnp.cos, jnp.tan, jnp.sinh, jnp.cosh,
    jnp.tanh, jax.nn.sigmoid, jnp.arcsin, jnp.arccos, jnp.arctan, jax.scipy.special.erf,
    jax.scipy.special.erfc, jnp.sqrt, jax.lax.rsqrt, jnp.abs, lambda x: x**3, lambda x: x**-2,
    lambda x: x**1.5, lambda x: 2.0**x, lambda x: x / (1 + x * x), jax.nn.relu, jax.nn.gelu,
    lambda x: jnp.arctan2(x, 1 + x), lambda x: jnp.maximum(x, 0.2) * jnp.minimum(x, 0.9),
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [0.3, 0.71])
def test_slopes_are_derivatives(f, x):
    g = lambda x: jnp.asarray(f(x))
    program = Program.trace(g, [jax.ShapeDtypeStruct((), np.float64)])
    with precision(128):
        jets = each(lambda b: Jet(b, (arb(1),)), np.array(arb(x), dtype=object).reshape(()))
        (out,) = program.run(Machine(field=JETS, hull=True), [jets])
        jet = out.item()
        assert jet.value.overlaps(enclose(g, x).array.item())
        # JAX's derivative of erf has a constant that is a float.
        derivative = enclose(jax.grad(g), x).array.item()
        assert jet.slopes[0].overlaps(derivative * arb(1, 1e-15))
        assert jet.slopes[0].rad() < 1e-30


@pytest.mark.parametrize("f", FUNCTIONS)
def test_slopes_over_an_interval_cover_difference_quotients(f):
    low, high = 0.25, 0.75
    program = Program.trace(lambda x: jnp.asarray(f(x)), [jax.ShapeDtypeStruct((), np.float64)])
    with precision(64):
        wide = Jet(arb(low).union(arb(high)), (arb(1),))
        (out,) = program.run(
            Machine(field=JETS, hull=True), [np.array(wide, dtype=object).reshape(())]
        )
    jet = out.item()
    x = np.linspace(low, high, 41)
    y = np.asarray(jax.vmap(lambda x: jnp.asarray(f(x)))(jnp.asarray(x)))
    slopes = np.diff(y) / np.diff(x)
    assert float(jet.slopes[0].lower()) <= slopes.min() + 1e-9
    assert float(jet.slopes[0].upper()) >= slopes.max() - 1e-9
    assert float(jet.value.lower()) <= y.min() + 1e-12
    assert float(jet.value.upper()) >= y.max() - 1e-12


# Polynomials --------------------------------------------------------------------------------


def test_equal_polynomials():
    assert identical(lambda x, y: ((x + y) ** 2, x**2 + 2 * x * y + y**2), dict(x=(), y=()))
    assert identical(lambda A, B: ((A @ B).T, B.T @ A.T), dict(A=(2, 3), B=(3, 2)))
    assert identical(
        lambda A: (jax.grad(lambda A: jnp.trace(A @ A @ A))(A), 3 * (A @ A).T), dict(A=(3, 3))
    )


def test_polynomials_that_differ_by_little():
    assert not identical(lambda x: (x, x + 1e-300), dict(x=()))
    assert not identical(lambda x: (0.1 * x, exact("0.1") * x), dict(x=()))  # 0.1 is a float
    assert identical(lambda x: (x / 10, exact("0.1") * x), dict(x=()))


@pytest.mark.parametrize(
    "sides",
    [
        lambda x: (x * x / x, x),
        lambda x: (x / x, 1.0),
        lambda x: (x**-2 * x**2, 1.0),
        lambda x: (1 / (x + 1), 1.0),
        lambda x: (jnp.sqrt(x) ** 2, x),
        lambda x: (jnp.exp(jnp.log(x)), x),
    ],
)
def test_what_has_no_value_somewhere_is_not_proved(sides):
    with pytest.raises(NotCertifiable):
        identical(sides, dict(x=()))


@pytest.mark.parametrize("shape", [3, (-1,), "2", (0,)])
def test_a_shape_is_a_tuple_of_sizes(shape):
    with pytest.raises(ValueError, match="needs a shape"):
        identical(lambda x: (x, x), dict(x=shape))


@pytest.mark.parametrize("arguments", [(3, dict(x=())), (lambda x: (x, x), [("x", ())])])
def test_what_is_no_identity_is_refused(arguments):
    with pytest.raises(ValueError, match=r"identity is a function|shapes is a shape for each"):
        identical(*arguments)


def test_what_has_no_normal_form_is_named():
    with pytest.raises(NotCertifiable, match="floor"):
        identical(lambda x: (jnp.floor(x), x), dict(x=()))
    found = identical(lambda x: (exact("pi") * x, x), dict(x=()))
    assert found.why == "the sides differ by x*pi - x."


@pytest.mark.parametrize(
    "f",
    [jax.nn.sigmoid, jnp.tanh, lambda a: jax.nn.softmax(jnp.stack([a, 0.0 * a]))[0]],
)
def test_what_is_almost_one_is_below_one(f):
    """A corner decides by more bits, where 64 do not tell the sides apart."""
    found = prove(lambda a: (f(a), 1.0), dict(a=(-100, 100)))
    assert found.status == "proved"
    assert 0 <= found.slack < 1e-40
    below = prove(lambda a: (f(a), 1 - 2.0**-53), dict(a=(-100, 100)))
    assert below.status == "refuted"


def test_a_point_at_which_more_bits_do_not_tell_is_said():
    sides = lambda a: (jnp.arcsin(a) + jnp.arccos(a), exact("pi") / 2)
    found = prove(sides, dict(a=(0.25, 0.25)))
    assert found.status == "undecided"
    assert "no more bits tell them apart" in str(found)


@pytest.mark.parametrize("box", [dict(y=(0, 1)), dict(x=(0, 1), y=(0, 1))])
def test_a_function_of_other_variables_is_said(box):
    with pytest.raises(ValueError, match=r"inequality is called by name, with (y|x, y), but"):
        prove(lambda x: (x, 2.0), box)
