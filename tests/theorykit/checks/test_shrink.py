import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.checks import _shrink, identity, inequality
from theorykit.checks._shrink import complexity, show_arrays, shrink
from theorykit.checks.domains import inputs, interval, positive
from theorykit.results import Verdict

anywhere = lambda case: True


def over(predicate):
    return lambda cases: np.array([bool(predicate(**c)) for c in cases])


@pytest.mark.parametrize(
    ("refutes", "smallest"),
    [
        (lambda x: x.sum() > 3, [4, 0, 0, 0]),
        (lambda x: (x > 0.5).all(), [1, 1, 1, 1]),
        (lambda x: x[2] < -10, [0, 0, -11, 0]),
        (lambda x: abs(x[0] - x[1]) > 1e-3, [1, 0, 0, 0]),
        (lambda x: True, [0, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_witness_is_found(refutes, smallest, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 9, 4)
    x[2] = {2: -abs(x[2]) * 7 - 10}.get(len(smallest) - 2 if smallest[2] < 0 else 0, x[2])
    assert refutes(x)
    found = shrink({"x": x}, over(refutes), anywhere)["x"]
    assert sorted(map(abs, found)) == sorted(map(abs, smallest))
    assert refutes(found)


@pytest.mark.parametrize("digits", range(4))
def test_all_numbers_become_short_together(digits):
    """Also where no number may change alone, in whatever argument it stands."""
    start = {"x": np.array([1.23456, 3.45612]), "y": np.array(7.65432)}
    short = lambda case: all((a == np.round(a, digits)).all() for a in case.values())
    near = lambda case: all(np.abs(case[k] - start[k]).max() < 10.0**-digits for k in start)
    found = shrink(start, lambda cases: np.array([short(c) and near(c) for c in cases]), anywhere)
    assert short(found)


def test_shrinking_stays_in_the_domain():
    inside = lambda case: bool((case["x"] >= 0.25).all())
    found = shrink({"x": np.array([0.7, 0.9])}, over(lambda x: x.sum() < 1.7), inside)
    assert inside(found)


def test_shrinking_ends_on_large_arrays():
    x = np.random.default_rng(0).standard_normal((64, 64))
    found = shrink({"x": x}, over(lambda x: x[3, 4] == -0.5 or x.std() > 0.1), anywhere)
    assert found["x"].shape == (64, 64)


def test_integers_stay_integers():
    found = shrink({"n": np.array(37)}, over(lambda n: n >= 7), anywhere)["n"]
    assert found.dtype.kind == "i"
    assert found == 7


@pytest.mark.parametrize(
    "value",
    [
        np.array(0.1),
        np.array([1 / 3, -0.0, 1e-300, 1e22]),
        np.random.default_rng(0).standard_normal((3, 40)),
        np.arange(2000.0),
        np.array([1, 2]),
        np.zeros((0, 3)),
    ],
)
def test_what_is_shown_can_be_pasted(value):
    scope: dict = {"np": np}
    exec("\n".join(show_arrays({"x": value})), scope)
    np.testing.assert_array_equal(scope["x"], value)
    assert np.asarray(scope["x"]).dtype == value.dtype


@pytest.mark.parametrize(
    ("simple", "other"),
    [
        ([0, 0, 9.5], [1, 1, 0]),  # fewer entries that are not zero
        ([7, 8, 9], [0.5, 1, 1]),  # fewer fractions
        ([88, 88, 88], [1, 1, 2]),  # fewer sizes
        ([3, -3, 3], [3, 3, 2]),
        ([9, 9, 9], [11, 11, 11]),  # fewer digits
        ([9, 9, 9], [-1, 1, 1]),  # fewer below zero
        ([1, 1, 1], [2, 2, 2]),  # smaller
        ([0, 1e300, 0], [0, 1, 1]),
    ],
)
def test_the_order_of_what_is_simple(simple, other):
    """An earlier part of the order counts whatever the later ones are."""
    assert complexity({"x": np.array(simple, float)}) < complexity({"x": np.array(other, float)})


def test_the_order_is_over_all_arguments():
    two = {"x": np.array([1.0]), "y": np.array([[-2.5, 0.0]])}
    assert complexity(two) == (2, 1, 3, 3, 1, 3.5)  # sizes 0, 1 and 2.5


@pytest.mark.parametrize("least", [2.5, 99.0])  # many moves, and none
@pytest.mark.parametrize(("tries", "work"), [(300, 10**9), (10**9, 300 * 100)])
def test_no_more_neighbours_are_looked_at_than_stated(monkeypatch, tries, work, least):
    """Nor more numbers in them: 300 points of 100 entries, and what is left of a batch of 64."""
    monkeypatch.setattr(_shrink, "MOST_TRIES", tries)
    monkeypatch.setattr(_shrink, "MOST_WORK", work)
    looked = []

    def refutes(cases):
        looked.extend(cases)
        return np.array([(c["x"] > least).all() for c in cases])

    shrink({"x": np.random.default_rng(0).uniform(5, 9, 100)}, refutes, anywhere)
    assert 100 < len(looked) < 300 + 64


@pytest.mark.parametrize(("tries", "work"), [(100, 10**9), (10**9, 100)])
def test_small_steps_end_too(monkeypatch, tries, work):
    """From 900 down by one: about ten neighbours a step."""
    monkeypatch.setattr(_shrink, "MOST_TRIES", tries)
    monkeypatch.setattr(_shrink, "MOST_WORK", work)
    found = shrink({"x": np.array(900.0)}, over(lambda x: x > 700), anywhere)["x"]
    assert 870 < found < 900


def test_it_moves_to_the_simplest_of_those_looked_at_together():
    """Zero is among the first neighbours, and none is simpler."""
    calls = []

    def refutes(cases):
        calls.append(len(cases))
        return np.ones(len(cases), bool)

    assert shrink({"x": np.array([3.5, 2.5])}, refutes, anywhere)["x"].tolist() == [0, 0]
    assert len(calls) == 1


def test_a_neighbour_at_which_a_side_fails_is_left_out_alone():
    """Not the others that were looked at with it."""

    def refutes(cases):
        if any((c["x"] == 0).any() for c in cases):
            raise ZeroDivisionError
        return np.array([bool((1 / c["x"] > 0).all()) for c in cases])

    found = shrink({"x": np.array([3.7, 2.2])}, refutes, anywhere)["x"]
    assert found.tolist() == [1, 1]


def test_it_ends_where_a_refuting_neighbour_is_no_simpler():
    seen = []

    def refutes(cases):
        seen.extend(complexity(c) for c in cases)
        return np.ones(len(cases), bool)

    found = shrink({"x": np.array([1.0, 0.0])}, refutes, anywhere)["x"]
    assert found.tolist() == [0, 0]
    assert max(seen) < complexity({"x": np.array([1.0, 0.0])})


# What inequalities and identities ask of a point before they move to it -------------------------


def nearly(x):
    """Return 1 + x, but 1.00000001 at 0: false by more than the tolerance, and nearly true."""
    return 1 + jnp.where(x == 0, 1e-8, x)


@pytest.mark.parametrize("check", [inequality, identity])
def test_a_witness_is_no_near_equality(trial, check):
    found = check(lhs=nearly, rhs=lambda x: 1.0, over=inputs(x=interval(0, 0.9))).test(trial)
    assert found.verdict == Verdict.refuted
    assert found.witness.lhs > 1.0005


@pytest.mark.parametrize("check", [inequality, identity])
def test_a_nan_is_no_witness(trial, check):
    """At tenths the side is NaN; only shrinking comes by, and passes on."""
    lhs = lambda x: jnp.where(jnp.abs(10 * x - jnp.round(10 * x)) < 1e-9, jnp.nan, x)
    over = inputs(x=interval(1.03, 1.9349))  # the end is the worst; 1.9 is simpler, and so is 1.93
    found = check(lhs=lhs, rhs=lambda x: 0.5, over=over).test(trial)
    assert found.verdict == Verdict.refuted
    assert found.witness.lhs == 1.93


@pytest.mark.parametrize("check", [inequality, identity])
def test_a_witness_lies_in_the_domain(trial, check):
    found = check(lhs=lambda x: x, rhs=lambda x: 0.5, over=inputs(x=interval(1.03, 1.87))).test(
        trial
    )
    assert 1.03 <= found.witness.lhs <= 1.87


def test_equal_entries_of_several_arguments_move_together(trial):
    found = inequality(
        lhs=lambda x, y: (1 + 1e-6) * jnp.sqrt(x * y),
        rhs=lambda x, y: (x + y) / 2,
        over=inputs(x=positive(), y=positive()),
    ).test(trial)
    assert found.witness.code == "x = 1.0\ny = 1.0"
