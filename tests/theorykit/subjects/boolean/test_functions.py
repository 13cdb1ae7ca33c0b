"""Expansions, the transform and random functions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import boolean


@given(T=st.integers(0, 9), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_the_transform_is_the_matrix_of_signs_and_its_own_inverse(T, seed):
    table = np.random.default_rng(seed).integers(-9, 9, (2, 2**T)).astype(np.int32)
    both = np.bitwise_count(np.arange(2**T)[:, None] & np.arange(2**T)) % 2
    found = boolean.walsh_hadamard(table)
    np.testing.assert_array_equal(found, table @ (1 - 2 * both.astype(int)))
    np.testing.assert_array_equal(boolean.walsh_hadamard(found), 2**T * table)


def test_small_integers_do_not_wrap():
    found = boolean.walsh_hadamard(np.full(8, 100, np.int8))
    assert found.tolist() == [800, *[0] * 7]


def test_every_boolean_function_of_three_bits_is_its_expansion():
    for values in itertools.product((0.0, 1.0), repeat=8):
        np.testing.assert_allclose(boolean.expansion(values).table(), values, atol=1e-12)


@given(T=st.integers(1, 7), degree=st.integers(1, 7), s=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_an_expansion_gives_back_the_function(T, degree, s, seed):
    degree = min(degree, T)
    f = boolean.random(T, degree, min(s, len(list(itertools.combinations(range(T), degree)))), seed)
    g = boolean.expansion(f.table())
    assert (g.degree, g.sparsity) == (f.degree, f.sparsity) == (degree, len(f.sets))
    given = dict(zip(f.sets, f.coefficients, strict=True))
    assert given == pytest.approx(dict(zip(g.sets, g.coefficients, strict=True)))


def test_normalisation():
    f = boolean.random(8, 3, 5, seed=2, normalised="variance")
    assert f.table().var() == pytest.approx(1)
    g = boolean.random(8, 3, 5, seed=2)
    assert sum(c * c for c in g.coefficients) == pytest.approx(1)
    assert min(boolean.random(8, 3, 5, normalised=None).coefficients) > 0


def test_sums_that_the_integers_hold():
    table = np.array([2**30, -(2**30), 0, 1], np.int32)
    ones = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], object)
    with pytest.raises(ValueError, match="give it as floats"):
        boolean.walsh_hadamard(table)
    small = table // 2
    right = (ones @ small.astype(object)).tolist()
    assert boolean.walsh_hadamard(small).tolist() == right
    assert boolean.walsh_hadamard(table.astype(np.int64)).tolist() == (ones @ table).tolist()


def test_a_tiling_covers_each_bit_once():
    f = boolean.tiling(20, 3)
    assert f.sparsity == 6
    assert f.degree == 3
    assert sorted(sum(f.sets, ())) == list(range(18))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: boolean.walsh_hadamard(np.ones(6)), "2^T values, one for each input; got 6"),
        (lambda: boolean.expansion([1.0, np.nan]), "finite"),
        (lambda: boolean.expansion([1.0, 1j]), "a table is an array of real numbers, got"),
        (lambda: boolean.degree([1.0, 2.0], tol=np.nan), "at least 0, got nan"),
        (lambda: boolean.walsh_hadamard([True, False]), "signed numbers"),
        (lambda: boolean.walsh_hadamard(np.ones(4, np.uint8)), "not uint8"),
        (lambda: boolean.parity(3, (0.9,)), "a position is a whole number of at least 0, got 0.9"),
        (lambda: boolean.parity(3, "12"), "got '12'"),
        (lambda: boolean.parity(3, (True,)), "got True"),
        (lambda: boolean.parity(3)(np.array([0, 1, -1])), "bits are 0 and 1, got -1"),
        (lambda: boolean.random(4, 5, 1), "degree is at most T = 4, got 5"),
        (lambda: boolean.random(4, 2, 7), "there are 6 sets"),
        (lambda: boolean.random(4, 2, 3, normalised="mean"), "'norm', 'variance', None"),
        (lambda: boolean.tiling(4, 5), "at most T = 4"),
        (lambda: boolean.Parities(3, ((0, 3),), (1.0,)), "positions from 0 to 2"),
        (lambda: boolean.Parities(3, ((0,), (0,)), (1.0, 2.0)), "one is given twice"),
        (lambda: boolean.Parities(3, ((0,),), ()), "one coefficient"),
        (lambda: boolean.parity(3)(np.zeros((2, 4))), "3 bits"),
        (lambda: boolean.walsh_hadamard(np.full(4, 2**30, np.int32)), "reach 4.29e+09, beyond"),
        (lambda: boolean.walsh_hadamard(np.full(4, 2**62)), "beyond the largest int64"),
        (lambda: boolean.walsh_hadamard([None, 1]), "a table holds numbers, got [None]"),
        (lambda: boolean.expansion([1e308] * 4), "must be finite; "),
        (lambda: boolean.parity(10**12), "takes about 1.0e12 bits, more than the limit of 1.6e7"),
        (lambda: boolean.tiling(10**12, 2), "takes about 1.0e12 bits"),
        (lambda: boolean.random(10**12, 2, 1), "takes about 1.0e12 bits"),
        (
            lambda: boolean.Parities(3, (1, 2), (1.0, 2.0)),
            "a set is a list of positions 0 ... T - 1, got 1",
        ),
        (lambda: boolean.Parities(3, ((1,),), ("1",)), "a coefficient is a finite number, got '1'"),
        (lambda: boolean.Parities(3, ((1,),), (Fraction(10**400),)), "is a finite number"),
        (lambda: boolean.lookup(0, 0), "d is a whole number of at least 1, got 0"),
        (lambda: boolean.lookup(2.5, 0), "d is a whole number of at least 1, got 2.5"),
        (lambda: boolean.slopes(10**9), "takes 4000000004 hidden units"),
        (lambda: boolean.thresholds(-1), "at least 1, got -1"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call()
    assert says in str(error.value)
