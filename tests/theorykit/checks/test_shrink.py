import numpy as np
import pytest

from theorykit.checks._shrink import show_arrays, shrink

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
