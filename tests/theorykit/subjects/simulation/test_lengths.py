import dataclasses
import itertools

import numpy as np
import pytest

from theorykit.subjects import simulation


def pair(seed, tau=0, period=1, alphabet="ab"):
    rng = np.random.default_rng(seed)
    return [simulation.random_one_layer(rng, alphabet, tau, period) for _ in range(2)]


@pytest.mark.parametrize(("tau", "seed"), [(0, 17), (1, 32)])
def test_needed_length_by_all_strings(tau, seed):
    f, g = pair(seed, tau, 2)
    first = max(simulation.hard_length(t) for t in (f, g))
    found = simulation.needed_length(f, g, 0.05, 9)
    assert found.lengths[0] == max(first, tau + 1)
    for T, largest in zip(found.lengths, found.differences, strict=True):
        gaps = [
            np.linalg.norm(simulation.hard_output(f, x) - simulation.hard_output(g, x))
            for x in map("".join, itertools.product("ab", repeat=T))
        ]
        assert np.isclose(max(gaps), largest)
    upto = found.differences[: found.length - found.lengths[0] + 1].max()
    assert upto + 0.05 >= found.differences.max()


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_enough(seed):
    f, g = pair(seed)
    bound = simulation.training_length(f, g, 0.1)
    needed = simulation.needed_length(f, g, 0.1, 60)
    assert needed.length <= bound.length
    assert bound.error == 0.2


def test_needed_length_of_two_layers():
    rng = np.random.default_rng(0)
    f, g = (simulation.random_two_layers(rng, "ab", 1) for _ in range(2))
    found = simulation.needed_length(f, g, 0.1, 8)
    x = "abaababb"
    gap = np.linalg.norm(simulation.soft_output(f, x) - simulation.soft_output(g, x))
    assert gap <= found.differences[-1] + 1e-12
    assert simulation.training_length(f, g, 0.1).length > 1e3


def test_bounds_grow_as_they_say():
    f, g = pair(2)
    lengths = [simulation.training_length(f, g, e).length for e in (1e-3, 1e-4)]
    assert 90 < lengths[1] / lengths[0] < 110
    averages = [simulation.average_length(f, g, e, [2.0, 2.0]) for e in (1e-3, 1e-4)]
    ratio = averages[1].length / averages[0].length
    assert 10**1.5 < ratio < 10**1.7
    assert averages[1].error < averages[0].error


def test_what_no_float_holds_is_infinity():
    f, g = pair(0)
    for eps in (1e-160, 1e-310):
        assert simulation.training_length(f, g, eps).length == np.inf
    assert simulation.average_length(f, g, 1e-310, [2.0, 2.0]).length == np.inf
    assert simulation.average_length(f, g, 0.1, [1e-4, 600.0]).length == np.inf
    f, g = (simulation.random_two_layers(np.random.default_rng(0), "ab", 1) for _ in range(2))
    head = dataclasses.replace(f.layers[0].heads[0], Q=1e3 * f.layers[0].heads[0].Q)
    steep = dataclasses.replace(
        f, layers=(dataclasses.replace(f.layers[0], heads=(head,)), f.layers[1])
    )
    assert simulation.first_layer_constants(steep)[1:] == (np.inf, np.inf)
    assert simulation.complexity(steep) == np.inf
    assert simulation.training_length(steep, g, 0.1).length == np.inf


def test_bad_input():
    f, g = pair(0)
    with pytest.raises(ValueError, match="'b' has none"):
        simulation.average_length(f, g, 0.1, {"a": 1.0})
    with pytest.raises(ValueError, match=r"between 0 and 1, not '0.1'"):
        simulation.training_length(f, g, "0.1")
    with pytest.raises(ValueError, match="above 0, not 0"):
        simulation.average_length(f, g, 0.1, [1.0, 0.0])
    with pytest.raises(ValueError, match="as many parameters, not 3"):
        simulation.average_length(f, g, 0.1, [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        simulation.training_length(f, g, 2)
    with pytest.raises(ValueError, match="attention is hard from"):
        simulation.needed_length(f, g, 0.1, 1)
    with pytest.raises(ValueError, match="more than most=10"):
        simulation.needed_length(f, g, 0.1, 40, most=10)
