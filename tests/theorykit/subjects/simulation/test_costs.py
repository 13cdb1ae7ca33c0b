"""What is refused as too large: each part of it counts."""

import numpy as np
import pytest

from theorykit.subjects import simulation

LETTERS = tuple(map(str, range(3000)))
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulation.random_one_layer(RNG, "ab", 5000, 1, 2),
        lambda: simulation.random_one_layer(RNG, "ab", 0, 3000, 2),
        lambda: simulation.random_one_layer(RNG, LETTERS, 0, 1, 2),
        lambda: simulation.random_one_layer(RNG, "ab", 0, 1, 100),
        lambda: simulation.random_two_layers(RNG, "ab", 2000, 3, 2),
        lambda: simulation.random_two_layers(RNG, LETTERS, 0, 1, 2),
        lambda: simulation.random_two_layers(RNG, "ab", 0, 5, 50),
    ],
)
def test_a_transformers_numbers(costs, call):
    made, (count, *_) = costs(call)
    assert count / 2 < made < 2 * count


def test_windows_have_suffixes_and_shares(costs):
    for symbols, tau in ((2, 40), (40, 2)):
        made, (count,) = costs(lambda s=symbols, t=tau: simulation.windows(np.zeros(9, int), s, t))
        assert made == count == 9 * (tau + 1 + symbols)
    for symbols, tau in ((2, 2**20), (2**20, 2)):
        with pytest.raises(ValueError, match=r"windows takes about 1\.7e10 numbers, more than"):
            simulation.path_average(lambda w, mu: mu[:1], np.zeros(9, int), symbols, tau)
