"""The property testers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from theorykit.subjects import boolean
from theorykit.subjects.boolean._testers import spread


def test_spread_counts_placements():
    for balls, bins in [(3, 3), (4, 2), (5, 3)]:
        placed = list(itertools.product(range(bins), repeat=balls))
        odd = [sum(p.count(b) % 2 for b in range(bins)) for p in placed]
        for above in range(bins):
            assert spread(balls, bins, above) == Fraction(sum(o > above for o in odd), len(placed))


def test_degree_and_sparsity_are_found():
    f = boolean.random(12, 2, 4, seed=3)
    assert boolean.first_accepted(boolean.has_degree, f, 12) == 2
    assert boolean.first_accepted(boolean.has_sparsity, f, 12) == 4
    constant = lambda x: np.ones(len(x))
    assert boolean.has_degree(constant, 5, 0).accepted
    assert boolean.has_sparsity(constant, 5, 0).accepted


def test_a_large_constant_hides_nothing():
    f = lambda x: 1e5 + x.sum(1) % 2
    assert not boolean.has_degree(f, 10, 0).accepted
    assert not boolean.has_sparsity(f, 10, 0).accepted
    assert boolean.has_sparsity(f, 10, 1).accepted
    assert boolean.has_degree(lambda x: np.full(len(x), 0.1), 10, 0).accepted


def test_the_stated_queries_are_asked_for():
    asked = []

    def f(x):
        asked.append(len(x))
        return x.sum(1) % 2

    assert boolean.has_degree(f, 8, 2).queries == sum(asked) == boolean.degree_budget(8, 2).queries
    asked.clear()
    found = boolean.has_sparsity(f, 8, 2)
    assert found.queries == sum(asked) == boolean.sparsity_budget(2).queries
    assert found.miss <= 0.01


def test_noise_needs_a_tolerance():
    f = boolean.random(10, 2, 3, seed=0)
    noise = np.random.default_rng(0)
    noisy = lambda x: f(x) + 1e-3 * noise.standard_normal(len(x))
    assert not boolean.has_degree(noisy, 10, 2).accepted
    assert boolean.has_degree(noisy, 10, 2, tol=1e-3).accepted


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: boolean.has_degree(f, 3, 4), "degree is at most T = 3, got 4"),
        (lambda f: boolean.has_degree(f, 3, 1, miss=1.0), "between 0 and 1"),
        (lambda f: boolean.has_degree(f, 3, 1, tol=np.nan), "tol is a number of at least 0"),
        (lambda f: boolean.sparsity_budget(20, 5), "got 5; sparsity_budget takes the sparsity"),
        (lambda f: boolean.has_sparsity(f, 3, -1), "sparsity is a whole number"),
        (lambda f: boolean.has_sparsity(f, 3, 1, subspaces="all"), '"random" or "coordinates"'),
        (lambda f: boolean.has_degree(lambda x: x, 3, 1), "one number an input"),
        (lambda f: boolean.has_degree(lambda x: x[:, 0] / np.nan, 3, 1), "must be finite"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(boolean.parity(3))
    assert says in str(error.value)
