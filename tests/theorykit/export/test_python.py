"""Python predicates as Gallina: the text, and what is refused lest it mean something else."""

import functools
import itertools
import math
from fractions import Fraction

import pytest

from theorykit.export._python import Translation
from theorykit.export._terms import NotExportable
from theorykit.export._values import type_of, variable


def translated(predicate, *members):
    """Return the definitions of a predicate over such members."""
    made = Translation()
    made.define(predicate, "predicate", [variable("m", type_of(members))])
    return "\n".join(made.definitions)


def total(n, step):
    """Return a sum by a loop."""
    found = Fraction(0)
    for k in range(n):
        if k % 2 == 0:
            continue
        found += Fraction(k, step)
    return found


def test_a_loop_is_a_fold_and_a_helper_a_definition():
    text = translated(lambda m: total(m[0], 3) <= m[1], (1, Fraction(1, 2)))
    assert text == (
        "Definition total (n : Z) (step : Z) : Q :=\n"
        "  let found3 := fold_left (fun found k =>\n"
        "    if k mod 2 =? 0 then found else "
        "let found2 := (found + inject_Z k / inject_Z step)%Q in\n"
        "    found2) (range 0 n) 0%Q in\n"
        "  found3.\n"
        "Definition predicate '((m_0, m_1) : (Z * Q)) : bool :=\n"
        "  (total m_0 3%Z <=? m_1)%Q."
    )


def test_names_are_those_of_the_source():
    def predicate(m):
        width, share = m
        return width * share <= 1

    assert translated(predicate, (1, Fraction(1, 2))) == (
        "Definition predicate '((width, share) : (Z * Q)) : bool :=\n"
        "  (inject_Z width * share <=? 1)%Q."
    )


def test_lambdas_of_one_line_are_told_apart():
    inner = lambda part: lambda m: part * m <= 4 and (lambda n: n >= 0)(m)
    assert "2 * m <=? 4" in translated(inner(2), 1)
    first, second = (lambda m: m <= 1), (lambda m: m <= 2)
    assert "m <=? 1" in translated(first, 1)
    assert "m <=? 2" in translated(second, 1)


def test_a_closure_holds_what_it_held():
    within = lambda bound: lambda m: m <= bound
    assert "(inject_Z m <=? (1 # 3))%Q" in translated(within(Fraction(1, 3)), 1)


def calls_itself(n):
    """Return a factorial."""
    return 1 if n == 0 else n * calls_itself(n - 1)


def grown(n):
    """Append to a list that has two names."""
    found = [n]
    other = found
    found.append(1)
    return len(other)


def late(n):
    """Read a name after it was bound again."""
    read = lambda: n
    n = n + 1
    return read()


def unbound(n):
    """Read a name that only one branch binds."""
    if n > 0:
        total = n
    return total


def twice(n):
    """Walk an iterator twice."""
    pairs = zip(range(n), range(n), strict=True)
    return len(list(pairs)) + len(list(pairs))


def after(n):
    """Read a loop's variable after it."""
    found = k = 0
    for k in range(n):
        found = k
    return found + k


def early(n):
    """Return inside a loop."""
    for k in range(n):
        if k == 3:
            return 1
    return 0


TABLE = {1: 2}


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        (lambda m: calls_itself(m) > 0, "calls itself"),
        (lambda m: grown(m) == 2, "found grows while it may have two names"),
        (lambda m: late(m) == m + 1, "n, which is bound again"),
        (lambda m: unbound(m) == m, "total may not be bound"),
        (lambda m: twice(m) == m, "an iterator"),
        (lambda m: after(m) == m, "a loop binds k again"),
        (lambda m: early(m) == 0, "returns before its end"),
        (lambda m: m / 2 <= m, "gives a float"),
        (lambda m: m * 0.5 <= m, "floats"),
        (lambda m: TABLE[m] == 2, "a dict"),
        (lambda m: str(m) == "1", "builtins.str"),
        (lambda m: math.sqrt(m) <= m, "math.sqrt"),
        (lambda m: {m: 1}[m] == 1, "a dictionary"),
        (lambda m: (m or 3) == 3, "no truth values"),
        (lambda m: sum(itertools.accumulate(range(m))) >= 0, "accumulate"),
    ],
)
def test_what_would_mean_something_else_is_refused(predicate, said):
    with pytest.raises(NotExportable, match=said) as refused:
        translated(predicate, 1, 2)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("members", "type_"),
    [
        ([1, True], "Z"),
        ([True, False], "bool"),
        ([1, Fraction(1, 2)], "Q"),
        ([(1, 2), (3, Fraction(1))], ("prod", ("Z", "Q"))),
        ([(1, 2), (3,)], ("list", "Z")),
        ([(1, (2,)), (3, (4, 5))], ("prod", ("Z", ("list", "Z")))),
        ([[1], [2]], ("list", "Z")),
    ],
)
def test_the_type_of_members(members, type_):
    assert type_of(members) == type_


def test_members_that_are_no_numbers_are_refused():
    with pytest.raises(NotExportable, match="text"):
        type_of([("a", 1)])
    with pytest.raises(NotExportable, match="float"):
        type_of([1.5])


def test_a_cached_function_is_the_function():
    cached = functools.lru_cache(lambda n: n + 1)
    assert "cached (n : Z) : Z :=\n  n + 1." in translated(lambda m: cached(m) > m, 1)
