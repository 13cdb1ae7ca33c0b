"""Inequalities by an end and a slope: Taylor polynomials, means, and false neighbours."""

from fractions import Fraction

import jax.numpy as jnp
import pytest

from theorykit.certify import NotCertifiable, ordered
from theorykit.certify._everywhere import Everywhere, letters

HALF_LINE = dict(low=Fraction(0))
ABOVE_ONE = dict(low=Fraction(1))
BELOW_ONE = dict(low=Fraction(0), high=Fraction(1), open=True)


def x(**known):
    return dict(x=letters((), **known))


# Both sides with a change c that makes them false, and the arguments.
TRUE = {
    "sinh": (lambda x, c: ((1 + c) * x, jnp.sinh(x)), x(**HALF_LINE)),
    "cosh": (lambda x, c: (1 + (1 + c) * x**2 / 2, jnp.cosh(x)), x()),
    "tanh": (lambda x, c: (jnp.tanh(x), (1 - c) * x), x(**HALF_LINE)),
    "tanh from below": (lambda x, c: (x - (1 - c) * x**3 / 3, jnp.tanh(x)), x(**HALF_LINE)),
    "log to the second order": (
        lambda x, c: (x - (1 - c) * x**2 / 2, jnp.log(1 + x)), x(**HALF_LINE)),
    "log to the third order": (
        lambda x, c: (jnp.log1p(x), x - x**2 / 2 + (1 - c) * x**3 / 3), x(**HALF_LINE)),
    "log and a fraction": (
        lambda x, c: ((2 + c) * x / (2 + x), jnp.log(1 + x)), x(**HALF_LINE)),
    "log and a root": (
        lambda x, c: (jnp.log(x), (1 - c) * (x - 1) / jnp.sqrt(x)), x(**ABOVE_ONE)),
    "log below one": (
        lambda x, c: (jnp.log(x), x - 1 - (1 + c) * (x - 1) ** 2 / 2), x(**BELOW_ONE)),
    "exp to the second order": (
        lambda x, c: (1 + x + (1 + c) * x**2 / 2, jnp.exp(x)), x(**HALF_LINE)),
    "exp to the third order": (
        lambda x, c: (1 + x + (1 + c) * x**2 / 2 + x**3 / 6, jnp.exp(x)), x()),
    "exp to the fifth order": (
        lambda x, c: (1 + x + x**2 / 2 + x**3 / 6 + x**4 / 24 + x**5 / 120 + c, jnp.exp(x)), x()),
    "exp from above": (
        lambda x, c: (jnp.exp(-x), 1 - x + (1 - c) * x**2 / 2), x(**HALF_LINE)),
    "softplus": (
        lambda x, c: (jnp.logaddexp(x, 0.0), jnp.log(2.0) + x / 2 + (1 - c) * x**2 / 8), x()),
    "exp of two": (
        lambda x, y, c: (1 + x + y + (1 + c) * (x + y) ** 2 / 2, jnp.exp(x + y)),
        dict(x=letters((), **HALF_LINE), y=letters((), **HALF_LINE))),
    "logarithmic mean": (
        lambda x, y, c: ((2 + c) * (x - y) / (x + y), jnp.log(x) - jnp.log(y)),
        dict(x=letters((), **ABOVE_ONE), y=letters((), **BELOW_ONE))),
    "divergence of two coins": (
        lambda x, c: (
            (2 + c) * (x - 0.5) ** 2, x * jnp.log(2 * x) + (1 - x) * jnp.log(2 * (1 - x))),
        x(low=Fraction(1, 2), high=Fraction(9, 10))),
}  # fmt: skip


def at(name, c):
    sides, shapes = TRUE[name]
    return proved(lambda **given: sides(**given, c=c), shapes)


def proved(sides, shapes):
    try:
        return ordered(sides, shapes)
    except NotCertifiable as error:
        return Everywhere(False, why=str(error))


@pytest.mark.parametrize("name", TRUE)
def test_what_does_not_fall_from_an_end_is_proved(name):
    found = at(name, 0.0)
    assert found, found.why
    assert any("not negative at" in line for line in found.lines)


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize("c", [1e-3, 2.0**-40])
def test_false_neighbours_are_not_proved(name, c):
    assert not at(name, c)


@pytest.mark.parametrize("name", ["sinh", "tanh", "exp to the second order", "exp from above"])
def test_on_the_other_side_of_the_end_it_is_false(name):
    sides, _ = TRUE[name]
    assert not proved(lambda x: sides(x, 0.0), x())
    assert not proved(lambda x: sides(x, 0.0), x(low=Fraction(-1)))
    assert not proved(lambda x: sides(x, 0.0), x(high=Fraction(1)))


def test_an_end_that_is_out_of_the_domain_is_not_used():
    """Where x + y > 0 the slope in x is not negative, but x = 0 is not there for each y."""
    up, any_ = letters((1,), **HALF_LINE), letters((1,))
    moved = lambda x, y: (jnp.log(1 + y**2), jnp.log(1 + (x + y) ** 2))
    assert not ordered(moved, dict(x=up, y=any_), totals=[[up[0], any_[0]]])
    case = lambda x, y: (moved(x, -y)[0], jnp.where(x >= y, *moved(x, -y)[::-1]))
    assert not proved(case, dict(x=letters((), **HALF_LINE), y=letters((), **HALF_LINE)))


def test_a_root_has_half_a_slope():
    up = x(low=Fraction(0), open=True)
    assert proved(lambda x: (jnp.log(1 + x), jnp.sqrt(x)), up)
    assert not proved(lambda x: (jnp.log(1 + x), 0.75 * jnp.sqrt(x)), up)  # 0.804... is needed


def test_what_is_negative_beside_a_logarithm_turns_the_sign():
    sides = lambda x: ((1 - x) * jnp.log(1 + x), 0 * x)
    assert not proved(sides, x(low=Fraction(0), high=Fraction(1, 2)))
    assert proved(lambda x: sides(x)[::-1], x(low=Fraction(0), high=Fraction(1, 2)))


def test_what_has_no_value_at_an_end_is_not_taken_from_there():
    up = x(low=Fraction(0), open=True)
    assert not proved(lambda x: (0 * x, jnp.log(x)), up)
    assert not proved(lambda x: (jnp.exp(-1 / x), 0 * x), up)


def test_functions_without_a_slope_prove_nothing():
    assert not proved(lambda x: (jnp.abs(x - 1) + jnp.exp(-x), 2 + 0 * x), x(**HALF_LINE))
    assert not proved(lambda x: (jnp.sin(5 * x), jnp.exp(x) - 1), x(**HALF_LINE))
