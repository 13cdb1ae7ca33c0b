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
            right = Fraction(sum(o > above for o in odd), len(placed))
            assert spread(balls, bins, above)[balls] == right


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
        (lambda f: boolean.has_sparsity(f, 3, 1, subspaces="all"), "'coordinates', got 'all'."),
        (lambda f: boolean.has_degree(lambda x: x, 3, 1), "one number per input"),
        (lambda f: boolean.has_degree(lambda x: x[:, 0] / np.nan, 3, 1), "must be finite"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(boolean.parity(3))
    assert says in str(error.value)


def binomial_sums(f):
    """Return sum_x f(x) (-1)^|x and S| for every S, one by one."""
    inputs = list(itertools.product((0, 1), repeat=f.T))
    values = f(np.array(inputs))
    return [
        sum(v * (-1) ** sum(x[j] for j in S) for x, v in zip(inputs, values, strict=True))
        for k in range(f.T + 1)
        for S in itertools.combinations(range(f.T), k)
    ]


def test_the_constant_is_no_parity():
    f = boolean.Parities(5, ((), (0, 1), (2,)), (3.0, 1.0, -2.0))
    assert f.sparsity == 3
    assert sum(abs(v) > 1e-9 for v in binomial_sums(f)[1:]) == 2
    assert boolean.first_accepted(boolean.has_sparsity, f, 5) == 2


def test_sparsities_beyond_the_length_are_found():
    # Three bits say which of eight others is read: each of these has 8 parities.
    address = lambda x: x[np.arange(len(x)), 3 + x[:, :3] @ np.array([1, 2, 4])]
    table = address(boolean.bits(11).astype(int))
    right = sum(np.abs(boolean.spectrum(table))[1:] > 1e-12)
    assert right == 64
    assert boolean.first_accepted(boolean.has_sparsity, address, 11) == 64
    all_but = lambda x: x.all(1).astype(float)  # every one of the 2^T - 1
    assert boolean.first_accepted(boolean.has_sparsity, all_but, 4) == 15


def test_no_more_than_all_inputs_are_asked_for():
    f = boolean.random(12, 10, 6, seed=1)
    found = boolean.has_degree(f, 12, 9)
    assert (found.accepted, found.queries, found.miss) == (False, 2**12, 0.0)
    assert boolean.has_degree(f, 12, 10).accepted
    assert boolean.has_sparsity(f, 12, 6).accepted
    assert not boolean.has_sparsity(f, 12, 5).accepted
    few = boolean.has_sparsity(boolean.random(4, 2, 5, seed=0), 4, 5)
    assert (few.accepted, few.queries, few.miss) == (True, 16, 0.0)


def test_budgets_of_long_inputs():
    found = boolean.degree_budget(300, 3)
    worst = []
    for k in (4, 5, 6, 7):  # the recursion over sizes in exact fractions, one after the other
        chance, least = [Fraction(1)] + [Fraction(0)] * k, Fraction(1)
        for m in range(1, 301):
            chance = [
                (chance[j - 1] * (k - j + 1) if j else 0) / Fraction(k)
                + (chance[j + 1] * (j + 1) if j < k else 0) / Fraction(k)
                for j in range(k + 1)
            ]
            least = min(least, sum(chance[4:])) if m > 3 else least
        worst.append(1 - float(least))
    runs = [1 if p <= 0 else np.ceil(np.log(0.01) / np.log(p)) if p < 1 else np.inf for p in worst]
    queries = [n * 2**k for n, k in zip(runs, (4, 5, 6, 7), strict=True)]
    assert found.queries == min(queries)
    assert boolean.degree_budget(10**6, 3) == found


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: boolean.degree_budget(300, 200), "takes more than 2^200 values"),
        (lambda f: boolean.has_degree(f, 60, 25), "more than the limit of 2.6e8"),
        (
            lambda f: boolean.has_sparsity(f, 60, 10**5),
            "bits of inputs, more than the limit of 2.6e8",
        ),
        (lambda f: boolean.has_degree(3, 3, 1), "a function of bits, got 3"),
        (lambda f: boolean.has_degree(f, 3, 1, miss=None), "between 0 and 1, got None"),
        (lambda f: boolean.has_degree(f, 60, 1, tol="a"), "at least 0, got 'a'"),
    ],
)
def test_what_takes_too_long_is_refused(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call(boolean.parity(60))
    assert says in str(error.value)


@pytest.mark.parametrize("test", [boolean.has_degree, boolean.has_sparsity])
def test_what_is_refused_as_too_much_is_what_is_asked(costs, test):
    asked = []

    def f(x):
        asked.append(x.size)
        return x[:, 0].astype(float)

    _, counts = costs(lambda: test(f, 40, 2))
    assert sum(asked) <= max(counts) <= 2 * sum(asked)
    assert max(counts) % 40 == 0
