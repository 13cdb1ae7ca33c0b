"""Inequalities that are equalities somewhere in the box: proved, and their false neighbours not."""

from fractions import Fraction
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from jax.scipy.special import logsumexp

from theorykit.certify import enclose, exact, lipschitz_everywhere, prove
from theorykit.certify._box import read
from theorykit.certify._enclose import Program
from theorykit.certify._jets import JETS, Jet, ball_of, derivative, lifted, variable
from theorykit.certify._machine import Machine
from theorykit.certify._numbers import precision
from theorykit.certify._prove import _Search
from theorykit.certify._touch import Flat, Touches

ENDS = dict(x=(-2, 2), y=(-2, 2))
THIRDS = (np.full(3, -0.5), np.full(3, 0.5))


def entropy(p):
    return -p * jnp.log(p) - (1 - p) * jnp.log(1 - p)


def cosh(x):
    return (jnp.exp(x) + jnp.exp(-x)) / 2


# Both sides with room for a change of the right one, the box, and where they are equal.
TRUE = {
    "x log x": (lambda x, c: (x - 1, x * jnp.log(x) + c), dict(x=(0.5, 2)), "x = 1"),
    "cosh": (lambda x, c: (1.0, cosh(x) + c), dict(x=(-2, 2)), "x = 0"),
    "cosh to fourth order": (lambda x, c: (1 + x**2 / 2, cosh(x) + c), dict(x=(-2, 2)), "x = 0"),
    "cosh to sixth order": (
        lambda x, c: (1 + x**2 / 2 + x**4 / 24, cosh(x) + c), dict(x=(-1, 1)), "x = 0"),
    "sin to fifth order": (
        lambda x, c: (x - x**3 / 6, jnp.sin(x) + c), dict(x=(0, 1)), "x = 0"),
    "logsumexp": (
        lambda x, y, c: ((x + y) / 2 + jnp.log(2.0), logsumexp(jnp.stack([x, y])) + c),
        ENDS, "y = x"),
    "logsumexp of three": (
        lambda x, c: (x.mean() + jnp.log(3.0), logsumexp(x) + c),
        dict(x=THIRDS), "x[1] = x[0], x[2] = x[0]"),
    "4p(1 - p)": (lambda p, c: (4 * p * (1 - p), 1.0 + c), dict(p=(0, 1)), "p = 1/2"),
    "entropy": (
        lambda p, c: (entropy(p), jnp.log(2.0) + c), dict(p=("1/10", "9/10")), "p = 1/2"),
    "tanh at a face": (lambda x, c: (jnp.tanh(x), x + c), dict(x=(0, 2)), "x = 0"),
    "sin at a face": (lambda x, c: (jnp.sin(x), x + c), dict(x=(0, 3)), "x = 0"),
    "a square": (lambda x, y, c: (2 * x * y, x * x + y * y + c), ENDS, "y = x"),
    "exp beside its tangent": (lambda x, y, c: (x + y + 1, jnp.exp(x + y) + c), ENDS, "y = -x"),
    "means": (
        lambda x, y, c: (jnp.sqrt(x * y), (x + y) / 2 + c), dict(x=(0.5, 2), y=(0.5, 2)), "y = x"),
    "sigmoid": (
        lambda x, c: (jax.nn.sigmoid(x) * (1 - jax.nn.sigmoid(x)), exact("1/4") + c),
        dict(x=(-3, 3)), "x = 0"),
    "two points": (lambda x, c: (2 * x**2, x**4 + 1 + c), dict(x=(-2, 2)), "x = -1; x = 1"),
    "a third": (lambda x, c: (6 * x - 1, 9 * x**2 + c), dict(x=(-1, 1)), "x = 1/3"),
    "one of two entries": (
        lambda x, c: (jnp.stack([2 * x, x]), jnp.stack([x**2 + 1 + c, 3 + x])),
        dict(x=(-2, 2)), "x = 1"),
}  # fmt: skip


def at(name, c):
    sides, box, _ = TRUE[name]
    return prove(lambda **x: sides(**x, c=c), box, 1000)


@pytest.mark.parametrize("name", TRUE)
def test_what_touches_is_proved_and_said_where(name):
    found = at(name, 0.0)
    assert found.status == "proved", str(found)
    assert found.slack == 0.0
    where = TRUE[name][2]
    assert set(where.split("; ")) <= set(found.touching), found.touching
    assert str(found).endswith("; ".join(found.touching))


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("c", [-1e-3, -1e-9])
def test_false_neighbours_are_not_proved(name, c):
    found = at(name, c)
    assert found.status != "proved"
    assert c < -1e-6 or not any(w in found.touching for w in TRUE[name][2].split("; "))


def test_what_is_false_by_less_than_can_be_enclosed_is_not_proved():
    found = prove(lambda x: (2 * x, x**2 + exact(1 - Fraction(1, 2**200))), dict(x=(0, 2)), 200)
    assert found.status != "proved"


FALSE = {
    "a saddle": lambda x, y: (0.0 * x, x * y),
    "curved the wrong way along a line": lambda x, y: (x * x + y * y, 2 * x * y),
    "an inflection": lambda x, y: (0.0 * x, x**3 + 0 * y),
    "a kink that falls": lambda x, y: (jnp.abs(x - y), (x - y) ** 2),
    "a maximum that is the other entry": lambda x, y: (jnp.maximum(x, y), x + (x - y) ** 2),
    "a jump at the touching point": lambda x, y: (jnp.where(x > y, 0.5, 0.0), (x - y) ** 2),
    "a slope that is hidden": lambda x, y: (jax.lax.stop_gradient(x - y), (x - y) ** 2),
    "two kinks that make a line": (
        lambda x, y: (jnp.maximum(x - y, 0) - jnp.maximum(y - x, 0), (x - y) ** 2)),
    "touches in a smaller part only": lambda x, y: (x**4 + y**4, (x * x + y * y) / 4),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_what_only_seems_to_touch_is_not_proved(name):
    assert prove(FALSE[name], ENDS, 100).status != "proved"


def test_a_false_derivative_is_not_believed():
    @jax.custom_jvp
    def f(x):
        return x**3

    f.defjvp(lambda xs, ts: (xs[0] ** 3, 2 * xs[0] * ts[0]))
    assert prove(lambda x: (0.0 * x, f(x)), dict(x=(-1, 1)), 60).status != "proved"


def test_the_example_of_the_guide_prints_what_it_says(capsys):
    guide = (Path(__file__).parents[3] / "docs" / "certify.md").read_text()
    section = guide.split("## Equality inside the box")[1]
    code = section.split("```python\n")[1].split("```")[0]
    exec(code, {})
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert len(said) == 2
    assert capsys.readouterr().out.splitlines() == said


# The parts ---------------------------------------------------------------------------------


def touches(sides, box):
    whole, inner, shapes = read(box)
    search = _Search(sides, shapes, inner)
    return Touches(search.sides, shapes, whole), whole


POINT = Flat(0, (), (), (0,), (Fraction(0),), ((),))


@pytest.mark.parametrize(
    ("gap", "order"),
    [
        (lambda x: x + 1, 0), (lambda x: jnp.exp(x) - 1, 1), (lambda x: x * jnp.sin(x), 2),
        (lambda x: x - jnp.tanh(x), 3), (lambda x: jnp.cosh(x) - 1 - x * x / 2, 4),
        (lambda x: jnp.log1p(x) - x + x**2 / 2 - x**3 / 3, 4), (lambda x: x**5 + x**7, 5),
        (lambda x: jnp.maximum(x, -x), 1), (lambda x: jnp.maximum(x, 0) - jnp.maximum(-x, 0), 1),
        (lambda x: jnp.max(jnp.stack([x, -x, 2 * x])), 1),
    ],
)  # fmt: skip
def test_the_order_is_that_of_the_first_derivative_that_is_not_zero(gap, order):
    with precision(64):
        found, _ = touches(lambda x: (0.0, gap(x)), dict(x=(-1, 1)))
        assert found.order_of(POINT) == order


@pytest.mark.parametrize(("power", "sign", "side", "proved"), [
    (2, 1, (-1, 1), True), (2, -1, (-1, 1), False), (3, 1, (0, 1), True), (3, 1, (-1, 0), False),
    (3, -1, (-1, 0), True), (3, 1, (-1, 1), False), (1, 1, (0, 1), True), (1, 1, (-1, 1), False),
    (3, -1, (-1, 1), False), (1, -1, (-1, 1), False), (1, -1, (-1, 0), True),
])  # fmt: skip
def test_which_sign_of_the_derivative_is_enough(power, sign, side, proved):
    with precision(64):
        found, whole = touches(lambda x: (0.0, sign * x**power * jnp.exp(x / 64)), dict(x=side))
        assert found.order_of(POINT) == power
        assert found.rises(POINT, power, whole) == proved


def test_a_flat_that_is_not_beside_the_piece_proves_nothing():
    with precision(64):
        found, _ = touches(lambda x: (0.0, x**2), dict(x=(-1, 1)))
        far, _, _ = read(dict(x=(0.5, 1)))
        assert not found.rises(POINT, 2, far)


ORIGIN = Flat(0, (), (), (0, 1), (Fraction(0), Fraction(0)), ((), ()))
SQUARE = dict(x=(-1, 1), y=(-1, 1))


@pytest.mark.parametrize(
    ("form", "proved"),
    [
        (lambda x, y: x**2 + y**2, True), (lambda x, y: x**2 + 1.9 * x * y + y**2, True),
        (lambda x, y: x**2 - y**2, False), (lambda x, y: x**2 + 3 * x * y + y**2, False),
        (lambda x, y: x**2 + 2 * x * y + y**2, False), (lambda x, y: x**2 + y**4, False),
        (lambda x, y: -(x**2) - y**2, False), (lambda x, y: 10 * x**2 - y**2, False),
        (lambda x, y: -jnp.abs(x) - jnp.abs(y), False), (lambda x, y: x * y, False),
        (lambda x, y: x**2 + jnp.log(y + 2) ** 2, False), (lambda x, y: x**2 + jnp.log(y), False),
    ],
)  # fmt: skip
def test_two_variables_need_a_definite_second_derivative(form, proved):
    with precision(64):
        found, whole = touches(lambda x, y: (0.0, form(x, y)), SQUARE)
        assert found.rises(ORIGIN, 2, whole) == proved


@pytest.mark.parametrize(("c", "proved"), [(1.9, True), (2.1, False)])
def test_the_second_derivative_is_definite_on_the_whole_piece(c, proved):
    """At t = 0 it is, whatever c: the middle of the piece does not decide."""
    with precision(64):
        gap = lambda t, x, y: (0.0, x**2 + y**2 + c * t * x * y)
        found, whole = touches(gap, dict(t=(-1, 1)) | SQUARE)
        line = Flat(0, (), (0,), (1, 2), (Fraction(0),) * 2, ((Fraction(0),),) * 2)
        assert found.order_of(line) == 2
        assert found.rises(line, 2, whole) == proved


@pytest.mark.parametrize(
    ("gap", "order"),
    [(lambda x, y: x**2 + y**2, 2), (lambda x, y: x**2 + y, 1), (lambda x, y: y**2 + x, 1),
     (lambda x, y: x**2 + y**2 + 1, 0), (lambda x, y: x**3 + y**4, 2)],
)  # fmt: skip
def test_slopes_along_all_variables_are_asked_for(gap, order):
    with precision(64):
        found, _ = touches(lambda x, y: (0.0, gap(x, y)), SQUARE)
        assert found.order_of(ORIGIN) == order


@pytest.mark.parametrize(
    "gap",
    [lambda x: jnp.where(x > 0, x**2, 2 * x**2), lambda x: jnp.where(x > 0, 1.0, 0.0),
     lambda x: jax.scipy.special.erf(x) ** 2, lambda x: x**2 + jnp.log(x)],
)  # fmt: skip
def test_where_it_may_jump_or_has_no_form_no_derivative_is_zero(gap):
    with precision(64):
        found, _ = touches(lambda x: (0.0, gap(x)), dict(x=(-1, 1)))
        assert found.order_of(POINT) == 0


@pytest.mark.parametrize(
    "gap", [lambda u, x: jnp.where(u > 0, x, x**2), lambda u, x: 1 + x / (jnp.abs(u) - 0.5)]
)
def test_what_is_open_along_the_flat_is_not_passed_over(gap):
    with precision(64):
        found, _ = touches(lambda u, x: (0.0, gap(u, x)), dict(u=(-1, 1), x=(-1, 1)))
        line = Flat(0, (), (0,), (1,), (Fraction(0),), ((Fraction(0),),))
        assert found.order_of(line) == 0


@pytest.mark.parametrize("gap", [lambda u, x: x**2 + u + 1, lambda u, x: x**2 + u + jnp.abs(u)])
def test_what_is_equal_on_a_part_of_the_flat_only_is_not_equal(gap):
    with precision(64):
        found, _ = touches(lambda u, x: (0.0, gap(u, x)), dict(u=(-1, 1), x=(-1, 1)))
        line = Flat(0, (), (0,), (1,), (Fraction(0),), ((Fraction(0),),))
        assert found.order_of(line) == 0


@pytest.mark.parametrize(
    "gap",
    [lambda x: -jnp.abs(x), lambda x: jnp.log(x), lambda x: -jnp.sqrt(jnp.abs(x)),
     lambda x: jnp.abs(x) ** 1.5, lambda x: -jax.scipy.special.i0e(x)],
)  # fmt: skip
@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_derivative_that_is_not_known_proves_nothing(gap, order):
    with precision(64):
        found, whole = touches(lambda x: (0.0, gap(x)), dict(x=(-1, 1)))
        assert not found.rises(POINT, order, whole)


@pytest.mark.parametrize(
    ("gap", "box", "orders"),
    [
        (lambda x: x + x**2, dict(x=(0, 1)), [1]), (lambda x: x**2 + x**3, dict(x=(0, 1)), [2]),
        (lambda x: x**2 + 1, dict(x=(-1, 1)), []), (lambda x, y: x**2 + y**2, SQUARE, [2]),
        (lambda x, y: x**2 + y**2 + 1, SQUARE, []),
        (lambda x, y: x**2 + y**2 + x, dict(x=(0, 1), y=(-1, 1)), []),
    ],
)  # fmt: skip
def test_a_flat_is_kept_with_the_order_that_was_proved(gap, box, orders):
    with precision(64):
        found, whole = touches(lambda **at: (0.0, gap(**at)), box)
        assert found.look(whole, [0]) == bool(orders)
        assert [order for _, order in found.found] == orders


def test_a_flat_is_one_of_its_own_entry():
    with precision(64):
        found, whole = touches(
            lambda x: (jnp.zeros(2), jnp.stack([x**2, -(x**2)])), dict(x=(-1, 1))
        )
        found.found = [(POINT, 2)]
        assert found.prove(whole, [0])
        assert not found.prove(whole, [1])
        assert not found.prove(whole, [0, 1])


def test_a_flat_on_a_face_is_one_of_that_face():
    with precision(64):
        found, whole = touches(lambda x, y: (0.0, x**2 + y), SQUARE)
        found.found = [(Flat(0, ((1, Fraction(0)),), (), (0,), (Fraction(0),), ((),)), 2)]
        assert not found.prove(whole, [0])


def test_the_way_from_the_flat_is_looked_at(monkeypatch):
    """The line y = x leaves the piece at y = 1/2, and so does the way from it to (0, 1)."""
    with precision(64):
        found, _ = touches(lambda x, y: (0.0, (y - x) ** 2), dict(x=(0, 1), y=(0, 1)))
        piece, _, _ = read(dict(x=(0, 1), y=(0.5, 1)))
        seen = []
        gaps = Touches.gaps
        spy = lambda self, balls, *rest: seen.append(balls[1]) or gaps(self, balls, *rest)
        monkeypatch.setattr(Touches, "gaps", spy)
        line = Flat(0, (), (0,), (1,), (Fraction(0),), ((Fraction(1),),))
        assert found.rises(line, 2, piece)
        assert [bool(y.contains(arb(0)) and y.contains(arb(1))) for y in seen] == [True]


SMOOTH = [
    jnp.exp, jnp.expm1, jnp.log, jnp.log1p, jnp.sin, jnp.cos, jnp.tan, jnp.sinh, jnp.cosh,
    jnp.tanh, jax.nn.sigmoid, jnp.arcsin, jnp.arccos, jnp.arctan, jax.scipy.special.erf,
    jnp.sqrt, jax.lax.rsqrt, lambda x: x**3, lambda x: x**-2, lambda x: x**1.5,
    lambda x: 2.0**x, lambda x: x / (1 + x * x), lambda x: jnp.arctan2(x, 1 + x),
    lambda x: x * jnp.log(x), lambda x: jax.nn.softmax(jnp.stack([x, 2 * x * x, 0 * x]))[0],
    lambda x: logsumexp(jnp.stack([x, x * x, 0 * x])), lambda x: jnp.maximum(x, -1) ** 2,
    lambda x: jax.nn.log_softmax(jnp.stack([x, x * x]))[1],
]  # fmt: skip


def jets_of(f, ball, order):
    program = Program.trace(lambda x: jnp.asarray(f(x)), [jax.ShapeDtypeStruct((), np.float64)])
    x = np.empty((), dtype=object)
    x[()] = lifted(variable(ball, [1], order))
    (out,) = program.run(Machine(field=JETS, hull=True), [x])
    return out.item()


@pytest.mark.parametrize("f", SMOOTH)
@pytest.mark.parametrize("x", [0.3, 0.71])
def test_second_and_third_derivatives_are_jaxs(f, x):
    g = lambda x: jnp.asarray(f(x))
    with precision(128):
        jet = jets_of(f, arb(x), 3)
        for _ in range(3):
            jet, g = derivative(jet, 0), jax.grad(g)
            here = ball_of(jet)
            assert here.overlaps(enclose(g, x).array.item() * arb(1, 1e-14))
            assert here.rad() < 1e-25


@pytest.mark.parametrize("f", SMOOTH)
def test_second_derivatives_over_an_interval_cover_those_inside(f):
    with precision(64):
        jet = jets_of(f, arb(0.25).union(arb(0.75)), 2)
        second = ball_of(derivative(derivative(jet, 0), 0))
    inside = jax.vmap(jax.grad(jax.grad(lambda x: jnp.asarray(f(x)))))(jnp.linspace(0.25, 0.75, 41))
    assert float(second.lower()) <= float(inside.min()) + 1e-9
    assert float(second.upper()) >= float(inside.max()) - 1e-9


@pytest.mark.parametrize(
    "f", [jnp.abs, lambda x: jnp.maximum(x, 0.5 * x), lambda x: jnp.minimum(x, 2 * x),
          lambda x: jnp.clip(x, 0, 1), lambda x: jnp.maximum(x, 0) ** 2,
          lambda x: x * jnp.sign(x), lambda x: jnp.where(x > 0, x, -x)],
)  # fmt: skip
def test_at_a_kink_there_is_no_second_derivative(f):
    with precision(64):
        jet = jets_of(f, arb(0, 1), 2)
        first = derivative(jet, 0)
        assert first is None or derivative(first, 0) is None


def test_a_tie_of_two_functions_does_not_choose_one_of_their_slopes():
    """On y = x a maximum has the value of both, and any mean of their slopes."""
    with precision(64):
        found, _ = touches(lambda x, y: (x, jnp.maximum(x, y)), ENDS)
        flat = Flat(0, (), (0,), (1,), (Fraction(0),), ((Fraction(1),),))
        assert found.vanishes(flat, 0)
        assert not found.vanishes(flat, 1)


def test_duals_still_prove_lipschitz_constants():
    assert lipschitz_everywhere(lambda x: jnp.maximum(x, -x), dict(x=()), 1)
    assert not lipschitz_everywhere(lambda x: jnp.maximum(x, -x), dict(x=()), Fraction(999, 1000))


def test_a_jet_times_itself_keeps_what_it_knows():
    x = Jet(arb(0, 1), (arb(1),))
    assert (x * x).value.lower() >= 0
