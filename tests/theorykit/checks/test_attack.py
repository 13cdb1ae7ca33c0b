"""The attack's guards: where it may go, and what infinite slopes, NaN and infinities are to it."""

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import inequality
from theorykit.checks._attack import FARTHEST, attack
from theorykit.checks.domains import inputs, reals


def ends(trial, lhs, rhs, *starts, steps=40):
    """Return where the attack on lhs <= rhs over one real number was worst, from each start."""
    check = inequality(lhs=lhs, rhs=rhs, over=inputs(x=reals(())))
    sides = check.sides(check.over.settings()[0], trial)
    found = attack(sides, [{"x": np.array(float(s))} for s in starts], steps, check.floor)
    return [float(end["x"]) for end in found]


def test_it_climbs_and_goes_no_farther_than_the_farthest(trial):
    """The relative gap is flat where rhs is 0; the gap itself still points uphill."""
    found = ends(trial, lambda x: x, lambda x: 0.0, 30.0, -30.0, 1e6, -1e6, steps=200)
    assert found[0] == FARTHEST
    assert found[1] > -30
    assert all(abs(x) <= FARTHEST for x in found)


def test_from_an_infinite_slope_it_moves(trial):
    """The square of what a slope is cut to is finite, or the step would be 0."""
    (found,) = ends(trial, lambda x: jnp.sqrt(x), lambda x: 1.0, 0.0)
    assert found > 1


def test_a_nan_on_the_way_is_kept_for_the_caller(trial):
    (found,) = ends(trial, lambda x: jnp.where(x > 3, jnp.nan, x), lambda x: 5.0, 2.0)
    assert found > 3


def test_a_bound_that_becomes_infinite_is_no_violation(trial):
    bound = lambda x: jnp.where(x < -1, jnp.inf, 5.0)
    (found,) = ends(trial, lambda x: -x, bound, 0.0)
    assert -1 <= found < -0.4


def test_a_side_that_becomes_infinite_alone_is_one(trial):
    (found,) = ends(trial, lambda x: jnp.where(x < -1, jnp.inf, -x), lambda x: 5.0, 0.0)
    assert found < -1


def test_where_both_sides_are_infinite_nothing_is_found(trial):
    overflow = lambda x, side: jnp.where(x < -1, jnp.inf, side)
    (found,) = ends(trial, lambda x: overflow(x, -x), lambda x: overflow(x, 5.0), 0.0)
    assert -1 <= found < -0.4


@pytest.mark.parametrize("start", [-3.0, 0.5])
def test_the_worst_point_is_kept_not_the_last(trial, start):
    """The relative gap of 1 / (1 + (x - 1)^2) to 1 is largest at 1; momentum carries beyond."""
    (found,) = ends(trial, lambda x: 1 / (1 + (x - 1) ** 2), lambda x: 1.0, start, steps=60)
    assert found == pytest.approx(1.0, abs=0.1)


def test_a_step_uphill_after_one_down_is_not_the_best(trial):
    """A narrow peak at the start, and beyond it a gentle slope, that the first step leads to."""
    peak = lambda x: 1 + jnp.exp(-(((x - 1) / 0.05) ** 2)) + 0.01 * x
    (found,) = ends(trial, peak, lambda x: 1.0, 0.99)
    assert found == pytest.approx(0.99)
