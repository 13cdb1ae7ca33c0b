import numpy as np
import pytest

from theorykit.subjects import simulation
from theorykit.subjects.simulation._one_layer import counts


def test_the_last_tokens():
    rng = np.random.default_rng(3)
    f, g = (simulation.random_one_layer(rng, "ab", 1, 3) for _ in range(2))
    x = "".join(rng.choice(list("ab"), 500))
    found = simulation.simulate_average(f, g, x, 100)
    z = found.string
    assert x.endswith(z)
    assert 100 <= len(z) < 103
    assert (len(x) - len(z)) % 3 == 0
    gap = simulation.hard_output(f, x) - simulation.hard_output(f, z)
    assert np.isclose(np.linalg.norm(gap), found.difference[0])


def test_differences_stay_below_lemma_a8():
    rng = np.random.default_rng(0)
    f, g = (simulation.random_one_layer(rng, "ab", 1, 1) for _ in range(2))
    x = "".join(rng.choice(list("ab"), 4000))
    found = simulation.simulate_average(f, g, x, 1000)
    for t, difference in zip((f, g), found.difference, strict=True):
        assert difference <= simulation.bulk_error(t, 2, 1, 1, 0.5, 0.05, 1000)


def test_in_bulk():
    x = np.array([0, 1] * 50)
    assert simulation.in_bulk(x, np.array([0.5, 0.5]), 1, 0, 0.02)
    assert not simulation.in_bulk(x, np.array([0.5, 0.5]), 2, 0, 0.02)
    assert counts(x, 2, 2, 0).tolist() == [[50, 0], [0, 49]]


def test_bad_input():
    f, g = (simulation.random_one_layer(np.random.default_rng(0), "ab", 2) for _ in range(2))
    with pytest.raises(ValueError, match="tau = 2 exceeds N = 2"):
        simulation.simulate_average(f, g, "ab" * 9, 2)
    with pytest.raises(ValueError, match="at most \\|x\\| = 4"):
        simulation.simulate_average(f, g, "abab", 5)
    with pytest.raises(ValueError, match=r"delta lies between 0 and gamma = 0.1, not 0.1"):
        simulation.bulk_error(f, 2, 1, 1, 0.1, 0.1, 9)
    with pytest.raises(ValueError, match="2 is not in the alphabet"):
        simulation.in_bulk(np.array([0, 2]), np.array([0.5, 0.5]), 1, 0, 0.1)
    with pytest.raises(ValueError, match="tau is a whole number of at least 0, got -1"):
        simulation.random_one_layer(np.random.default_rng(0), "ab", -1)
    with pytest.raises(ValueError, match="period is a whole number of at least 1, got 0"):
        simulation.random_one_layer(np.random.default_rng(0), "ab", 1, 0)


@pytest.mark.parametrize(
    ("p", "delta", "says"),
    [
        ([0.5, np.nan], 0.1, "probabilities, which sum to 1"),
        ([0.5, 0.4], 0.1, "probabilities, which sum to 1"),
        ([1.5, -0.5], 0.1, "probabilities, which sum to 1"),
        ([0.5, 0.5], -0.1, "delta is a finite number of at least 0, got -0.1"),
        ([0.5, 0.5], np.nan, "delta is a finite number of at least 0, got nan"),
    ],
)
def test_in_bulk_takes_probabilities(p, delta, says):
    with pytest.raises(ValueError, match=says):
        simulation.in_bulk(np.array([0, 1] * 50), np.array(p), 1, 0, delta)
