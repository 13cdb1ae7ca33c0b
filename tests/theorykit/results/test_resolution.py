"""Where each resolution is fine, coarse and poor, and how it reads, by hand."""

import math

import pytest

from theorykit import results
from theorykit.results import Certificate, Resolution, Scope, Stored, Unit


@pytest.mark.parametrize(
    ("ratio", "factor", "grade"),
    [
        (0.5, 2, "fine"),
        (1.0, 1, "fine"),
        (2.0, 1, "fine"),  # a violation that rounding explains
        (1 / 100, 100, "fine"),
        (1 / 101, 101, "coarse"),
        (1 / 999, 999, "coarse"),
        (1 / 1001, 1001, "poor"),
        (0.0, math.inf, "poor"),
        (-3.0, math.inf, "poor"),
        (None, math.inf, "poor"),
    ],
)
def test_a_bound(ratio, factor, grade):
    found = results.of_bound(ratio)
    assert (found.unit, found.grade) == (Unit.factor, grade)
    assert found.value == pytest.approx(factor, rel=1e-12)
    assert ("any share of rhs" in found.poor) == math.isinf(factor)


@pytest.mark.parametrize(
    ("relative", "grade", "says"),
    [
        (1e-9, "fine", ""),
        (0.009, "fine", ""),
        (0.02, "coarse", ""),
        (0.1, "coarse", ""),
        (0.11, "poor", "by 11% of either side"),
        (9.0, "poor", "by 900% of"),
        (10.0, "poor", "by either side many times over"),
    ],
)
def test_an_identity(relative, grade, says):
    found = results.of_identity(relative)
    assert (found.unit, found.value, found.grade) == (Unit.relative, relative, grade)
    assert says in found.poor


@pytest.mark.parametrize(
    ("distance", "grade"), [(0.1, "fine"), (0.11, "coarse"), (0.99, "coarse"), (1.0, "poor")]
)
def test_an_exponent(distance, grade):
    found = results.of_exponent(distance)
    assert (found.unit, found.value, found.grade) == (Unit.exponent, distance, grade)


@pytest.mark.parametrize(
    ("distance", "predicted", "poor"),
    [
        (1.9, 2.0, False),
        (2.0, 2.0, False),
        (2.1, 2.0, True),
        (2.1, -2.0, True),
        (2.1, 0.0, False),  # there is no such scale
        (math.inf, math.inf, False),
        (math.inf, 2.0, True),
    ],
)
def test_a_value(distance, predicted, poor):
    found = results.of_value(distance, predicted)
    assert (found.unit, found.value, bool(found.poor)) == (Unit.absolute, distance, poor)
    assert results.of_value(distance, predicted, "For a reason.").poor == "For a reason."


@pytest.mark.parametrize(
    ("least", "largest", "count", "poor"),
    [
        (1.0, 2.0, 9, False),
        (1.0, 1.0011, 9, False),
        (1.0, 1.0009, 9, True),  # as 1000 (1 + x) <= 1e6, written with a difference
        (1e-9, 1e-9, 9, True),
        (1.0, 1.0, 1, False),  # a number alone
        (0.0, 0.0, 9, False),
    ],
)
def test_a_sign(least, largest, count, poor):
    found = results.of_sign(least, largest, count)
    assert (found.unit, found.value, bool(found.poor)) == (Unit.absolute, least, poor)


@pytest.mark.parametrize(
    ("limit", "reached", "poor"),
    [
        (2.0, 1.0, False),
        (2000.0, 1.0, True),
        (1.0, 2000.0, True),
        (-1.0, -2000.0, True),
        (-2000.0, -1.0, True),
        (-2000.0, 1.0, True),  # of two signs, a limit far beyond what was measured
        (-1.0, 2000.0, False),  # near 0, as far as what was measured goes: a sign
        (0.0, 5.0, False),
        (5.0, 0.0, False),
    ],
)
def test_a_limit(limit, reached, poor):
    found = results.of_limit(3.0, limit, reached)
    assert (found.unit, found.value, bool(found.poor)) == (Unit.absolute, 3.0, poor)


@pytest.mark.parametrize(
    ("telling", "members", "poor"),
    [
        (0, 1, True),
        (1, 1, False),
        (1, 2, True),
        (2, 2, False),
        (1, 100, True),
        (2, 200, False),
        (9, 1000, True),
        (10, 1000, False),
        (None, 1000, False),
    ],
)
def test_members(telling, members, poor):
    """One in a hundred, and two where there are two."""
    found = results.of_members(3, 7, telling, members)
    assert (found.value, found.of, found.telling, bool(found.poor)) == (3, 7, telling, poor)


@pytest.mark.parametrize(
    ("unit", "value", "words", "place"),
    [
        (Unit.factor, 1.234, "1.23x", math.log10(1.234)),
        (Unit.factor, 10.0, "10x", 1),
        (Unit.factor, 9999.0, "1e+04x", math.log10(9999)),
        (Unit.factor, 20000.0, "2e+04x", math.log10(2e4)),
        (Unit.factor, math.inf, "anything", 99),
        (Unit.relative, 0.002, "2e-03", math.log10(0.002)),
        (Unit.relative, 0.01, "1.0%", -2),
        (Unit.relative, 0.0, "0e+00", -99),
        (Unit.absolute, 0.25, "\N{PLUS-MINUS SIGN}0.25", math.log10(0.25)),
    ],
)
def test_words_and_place(unit, value, words, place):
    found = Resolution(unit, value)
    assert found.words() == words
    assert found.place == pytest.approx(place)


@pytest.mark.parametrize(
    ("value", "of", "place"), [(3, 4, 0.25), (0, 0, 1), (1, 1, 0), (1, 2, 0.5)]
)
def test_members_lie_by_their_share(value, of, place):
    assert Resolution(Unit.members, value, of).place == place


def test_members_in_words():
    assert Resolution(Unit.members, 1200, 3000, 17).words() == "1,200 of 3,000, 17 telling"
    assert Resolution(Unit.members, 2, 3).words() == "2 of 3"


@pytest.mark.parametrize("scope", Scope)
def test_what_a_certificate_covers(scope):
    assert Certificate("how", scope=scope).covers() == scope.words()
    part = Certificate("how", scope=scope, share=0.25)
    assert part.covers() == f"{scope.words()}, 0.25 of its sizes and values"


def test_what_was_stored_is_an_attribute():
    found = Stored(content={"kind": "mine", "words": "so", "slope": 2.5})
    assert (found.slope, found.words()) == (2.5, "so")
    with pytest.raises(AttributeError, match="the kind 'mine' has no 'width'"):
        found.width  # noqa: B018
