import math

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.common.arguments import (
    approximately,
    as_alphabet,
    as_floating,
    as_rng,
    integers,
    members,
    number,
    reals,
    seed_numbers,
    whole,
)


@pytest.mark.parametrize("given", [[1, 2], (1.0, 2.0), np.array([1, 2], np.int8), jnp.ones(2)])
def test_numbers_are_read_as_float64(given):
    found = reals("x", given)
    assert found.dtype == np.float64
    assert found.tolist() == list(given)


@pytest.mark.parametrize("given", [[1, 2], np.array([1, 2], np.uint64), jnp.array([1, 2]), []])
def test_integers_are_read_as_int64(given):
    assert integers("x", given).dtype == np.int64
    assert integers("x", given).tolist() == list(given)


@pytest.mark.parametrize("given", [[2, 3], (2, 3), {2, 3}, range(2, 4), np.arange(2, 4)])
def test_members_of_a_list(given):
    assert sorted(members("x", given, "numbers")) == [2, 3]
    assert sorted(seed_numbers(given)) == [2, 3]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: reals("x", [1.0, np.nan]), "x must be finite; 1 of 2 numbers are not."),
        (lambda: reals("x", [[1], [2, 3]]), "x is an array of real numbers, got [[1], [2, 3]]."),
        (lambda: reals("x", 10**30), "real numbers, got 1000000000000000000000000000000."),
        (lambda: reals("x", 1j), "real numbers, got 1j."),
        (lambda: whole("n", 0), "n is a whole number of at least 1, got 0."),
        (lambda: whole("n", 2, 3), "n is a whole number of at least 3, got 2."),
        (lambda: whole("n", 6, 3, 5), "n is a whole number from 3 to 5, got 6."),
        (lambda: whole("n", 1.5), "got 1.5."),
        (lambda: whole("n", True), "got True."),
        (lambda: whole("n", "3"), "got '3'."),
        (lambda: whole("n", math.inf), "got inf."),
        (lambda: number("x", True, "a number", bool), "x is a number, got True."),
        (lambda: number("x", [1.0], "a number", bool), "x is a number, got [1.0]."),
        (lambda: number("x", np.ones(1), "a number", bool), "x is a number, got array([1.])."),
        (lambda: number("x", "1", "a number", bool), "x is a number, got '1'."),
        (lambda: number("x", math.nan, "a number", bool), "x is a number, got nan."),
        (lambda: number("x", 1.0, "below 1", lambda v: v < 1), "x is below 1, got 1.0."),
        (lambda: integers("x", [0.5]), "x is an array of integers, got [0.5]."),
        (lambda: integers("x", [True]), "integers, got [True]."),
        (lambda: integers("x", np.array([2**63], np.uint64)), "integers, got array([922337203"),
        (lambda: as_alphabet("aa"), "distinct symbols, each of them text; got 'aa'."),
        (lambda: as_alphabet(["a", 1]), "got ['a', 1]."),
        (lambda: as_alphabet(()), "got ()."),
        (lambda: members("x", (i for i in (1, 2)), "numbers"), "x is a list of numbers, got <gen"),
        (lambda: members("x", b"ab", "numbers"), "x is a list of numbers, got b'ab'."),
        (lambda: members("x", {"a": 1}, "numbers"), "x is a list of numbers, got {'a': 1}."),
        (lambda: members("x", np.array(1), "numbers"), "x is a list of numbers, got array(1)."),
        (lambda: seed_numbers(i for i in (1, 2)), "seeds is a count from 1"),
        (
            lambda: as_rng(0),
            "rng is a numpy Generator, such as np.random.default_rng(seed), got 0.",
        ),
        (lambda: as_floating("dtype", int), "dtype is a floating dtype such as jnp.float32, got"),
        (lambda: as_floating("dtype", "q"), "got 'q'."),
    ],
)
def test_what_is_refused(call, says):
    with pytest.raises(ValueError, match=r"\.$") as error:
        call()
    assert says in str(error.value)


@pytest.mark.parametrize("given", [3, 3.0, np.int8(3), np.array(3), jnp.array(3)])
def test_a_whole_number_within_its_bounds(given):
    assert whole("n", given, 3, 3) == 3
    assert type(whole("n", given)) is int
    assert number("n", given, "3", lambda v: v == 3) == 3.0


@pytest.mark.parametrize("power", [6, 7, 30, 299, 301, 3000])
def test_large_numbers_in_a_few_digits(power):
    assert approximately(10**power) == f"1.0e{power}"
    assert approximately(36 * 10 ** (power - 1)) == f"3.6e{power}"
    assert approximately(10 ** (power + 1) - 1) == f"9.9e{power}"
    assert approximately(999_999) == "999,999"


def test_dtypes_by_name_and_by_default():
    assert as_floating("dtype", "bfloat16") == jnp.bfloat16
    assert as_floating("dtype", None) == jnp.result_type(float)
    assert as_alphabet(["a", "$"]) == ("a", "$")
