import itertools
import re

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import crasp


def words(alphabet, longest):
    return ["".join(w) for n in range(longest + 1) for w in itertools.product(alphabet, repeat=n)]


def drawn(seed, alphabet="ab", lines=6, **options):
    return crasp.random_program(np.random.default_rng(seed), alphabet, lines, **options)


seeds = st.integers(0, 10**6)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_text_parses_back(seed):
    p = drawn(seed)
    assert crasp.parse(str(p)) == p
    assert crasp.parse(str(p.core)) == p.core
    assert hash(crasp.parse(str(p))) == hash(p)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_core_has_one_operation_a_definition_and_the_same_meaning(seed):
    p = drawn(seed)
    assert p.core.core == p.core
    for d in p.core.definitions:
        assert all(
            isinstance(part, crasp.BooleanRef | crasp.CountRef) for part in d.expression.parts
        )
    strings = words("ab", 4)
    assert (p.accepts(strings) == p.core.accepts(strings)).all()


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_verdicts_are_the_interpreters(seed):
    p = drawn(seed)
    strings = words("ab", 5)[:: 1 + seed % 3]
    assert p.accepts(strings).tolist() == [crasp.interpreted(p, w) for w in strings]


@pytest.mark.parametrize("seed", range(3))
def test_values_are_the_interpreters_everywhere(seed):
    p = drawn(seed, lines=4)
    strings = words("ab", 3)[-8:]
    x = np.array([p.encode(w) for w in strings])
    values = jax.jit(lambda x: crasp.evaluate(p, x))(x)
    for k, w in enumerate(strings):
        right = crasp.interpret(p, w)
        for name in p.kinds:
            assert np.asarray(values[name])[k].tolist() == right[name]


def test_padding_and_blocks_change_nothing(monkeypatch):
    from theorykit.subjects.crasp import _run

    p = crasp.load("dyck1")
    strings = words("()", 6)
    together = p.accepts(strings)
    monkeypatch.setattr(_run, "BLOCK", 50)
    assert (p.accepts(strings) == together).all()
    assert p.accepts("(())") is True
    assert p.accepts(("(", ")", ")")) is False
    assert p.accepts([]).shape == (0,)
    for strings, longest in ((["", ""], 0), (["", "("], 1), ([], 0)):
        x, lengths = _run.pad(p.alphabet, strings)
        assert x.shape == (len(strings), longest)
        assert lengths.tolist() == [len(s) for s in strings]


def test_every_shipped_program_prints_and_parses():
    for name in crasp.library():
        p = crasp.load(name)
        assert crasp.parse(str(p)) == p
        assert crasp.source(name).startswith("--")


def test_python_and_text_build_the_same_program():
    opened, closed = crasp.Counting(crasp.Symbol("(")), crasp.Counting(crasp.Symbol(")"))
    built = crasp.program(
        "()", V=opened < closed, D=~crasp.Exists(crasp.BooleanRef("V")) & opened.equals(closed)
    )
    strings = words("()", 8)
    assert (built.accepts(strings) == crasp.load("dyck1").accepts(strings)).all()
    assert crasp.parse(str(built)) == built


def test_arithmetic_joins_integers():
    a = crasp.Counting(crasp.Symbol("a"))
    p = crasp.program(
        "ab", L=(2 * a - 1 + (crasp.Symbol("b").then(1, 0) - 3) >= 0 - a) | (5 - a < 1)
    )
    right = lambda w: 2 * w.count("a") - 4 + w.endswith("b") >= -w.count("a") or w.count("a") > 4
    assert p.accepts(words("ab", 6)).tolist() == [right(w) for w in words("ab", 6)]


def test_large_constants_stay_small_programs():
    p = crasp.parse("alphabet: a\nL(i) := (#[j <= i] Q_a(j)) >= 1000000")
    assert len(p.core.definitions) < 60
    assert crasp.pump(p, "a").threshold == 1_000_000


ERRORS = {
    "alphabet: 0 1\nC(i) := #[j <= i] Q_1(i)": (2, 23, "expected the position `j`, found `i`"),
    "alphabet: a\nP(i) := Q_b(i)": (2, 9, "'b' is not in the alphabet a"),
    "alphabet: a\n\nP(i) := Q_a(i) + 1": (3, 9, "expected a count, found a Boolean"),
    "alphabet: a\nC(i) := #[j <= i, j = 1] Q_a(j)": (2, 23, "expected a local relation"),
    "alphabet: a\nC(i) := #[j >= i] Q_a(j)": (2, 13, "programs look to the left only"),
    "alphabet: a\nP(i) := Q_a(i) and": (2, 19, "expected an expression, found the end"),
    "alphabet: a\nC(i) := 1": (2, 10, "a Boolean definition, which decides acceptance"),
    "P(i) := true": (1, 1, "expected `alphabet`"),
    "alphabet: a a\nP(i) := true": (1, 11, "distinct symbols"),
    "alphabet: a\nP(i) := R(i)": (2, 9, "R is not defined before this line"),
    "alphabet: a\nP(i) := true\nP(i) := true": (3, 1, "P is defined twice"),
    "alphabet: a\nP(i) := i % 0 = 0": (2, 13, "a modulus is 1 or more"),
    "alphabet: a\nP(i) := i % 2 < 1": (2, 15, "`= residue` or `in {residues}`"),
    "alphabet: a\nP(i) := exists[i <= i] true": (2, 16, "already a position variable"),
    "alphabet: a\nP(i) := #[j <= i] Q_a(j) = 2": (2, 19, "unless it is in parentheses"),
    "alphabet: a\nP(i) := Q_a(i) & true": (2, 16, "does not start a word or a sign"),
    "alphabet: a\nP(i) := Q_a(i) Q_a(i)": (2, 16, "expected the end of the line"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_where_and_what(text):
    line, column, message = ERRORS[text]
    with pytest.raises(crasp.ProgramError, match=f"line {line}, column {column}") as found:
        crasp.parse(text)
    assert message in str(found.value)
    assert (found.value.line, found.value.column) == (line, column)


@pytest.mark.parametrize("deep", ["(" * 2000 + "true" + ")" * 2000, "not " * 2000 + "true"])
def test_what_nests_too_deep_is_told_to_be_split(deep):
    with pytest.raises(crasp.ProgramError, match=r"line 2, column \d+: .* nest too deep"):
        crasp.parse(f"alphabet: a\nP(i) := {deep}")


def test_values_built_in_python_are_checked_too():
    a, count = crasp.Symbol("a"), crasp.Counting(crasp.Symbol("a"))
    with pytest.raises(crasp.ProgramError, match="And needs a Boolean as its right, not a count"):
        a & count
    with pytest.raises(crasp.ProgramError, match="'c' is not in the alphabet a b"):
        crasp.program("ab", P=crasp.Symbol("c"))
    with pytest.raises(crasp.ProgramError, match="Q is a count, not a Boolean"):
        crasp.program("ab", Q=count, P=crasp.BooleanRef("Q"))
    with pytest.raises(crasp.ProgramError, match="allows some distances"):
        crasp.Counting(a, frozenset({-1}))
    with pytest.raises(crasp.ProgramError, match="not by False; equality"):
        crasp.program("ab", P=count == 1)
    with pytest.raises(ValueError, match="'x' is not in the alphabet a b"):
        crasp.program("ab", P=a).accepts(["ax"])
    with pytest.raises(ValueError, match="no shipped program 'nothing'"):
        crasp.load("nothing")


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda a, A: 1 <= A <= 3, "write &, | and ~"),
        (lambda a, A: a and A > 1, "write &, | and ~"),
        (lambda a, A: a or A > 1, "write &, | and ~"),
        (lambda a, A: not a, "write &, | and ~"),
        (lambda a, A: (A == 1) & a, "equality is A.equals"),
        (lambda a, A: A >= 2.5, "a constant count is a whole number, not 2.5"),
        (lambda a, A: A + float("nan"), "a whole number, not nan"),
        (lambda a, A: A >= True, "a whole number, not True"),
        (lambda a, A: 2.5 * A >= 1, "a factor is a whole number, not 2.5"),
        (lambda a, A: a.then(1, "2") >= 1, "a whole number, not '2'"),
        (lambda a, A: crasp.Truth(1), "True or False, not 1"),
        (lambda a, A: crasp.Periodic(2, {0.5}), "a residue is a whole number, not 0.5"),
        (lambda a, A: crasp.Periodic(2.5, {0}), "a modulus is a whole number, not 2.5"),
        (lambda a, A: crasp.Exists(a, {0.5}), "a distance is a whole number, not 0.5"),
        (lambda a, A: crasp.Counting(a, 1) >= 1, "distances form a set"),
    ],
)
def test_python_values_that_are_no_expressions(build, says):
    a = crasp.Symbol("a")
    with pytest.raises(crasp.ProgramError, match=re.escape(says)):
        build(a, crasp.Counting(a))


def test_numpy_values_are_python_ones():
    a = crasp.Symbol("a")
    assert crasp.Truth(np.True_) == crasp.Truth()
    built = crasp.Counting(a, np.array([1]), np.True_) >= np.int64(2)
    assert crasp.parse(str(crasp.program("a", P=built))).definitions[0].expression == built


def test_symbols_are_numbered():
    p = crasp.program("ab", P=crasp.Symbol("a"))
    assert crasp.evaluate(p, [0, 1, -1])["P"].tolist() == [False, True, False, False]
    for x, says in (([0, 2], "not 2"), ([0.0], "not float64"), ([True], "not bool"), (0, "axis")):
        with pytest.raises(ValueError, match=says):
            crasp.evaluate(p, x)
    with pytest.raises(ValueError, match="not 4294967296"):
        crasp.evaluate(p, np.array([2**32]))


def test_signs_of_the_paper_are_read():
    text = "alphabet: a b\nP(i) := (\u2203[j \u2264 i] Q_a(j)) \u2228 \u00acQ_b(i) \u2227 \u22a4"
    plain = "alphabet: a b\nP(i) := (exists[j <= i] Q_a(j)) or not Q_b(i) and true"
    assert crasp.parse(text) == crasp.parse(plain)


def test_counts_beyond_int32_are_refused():
    p = crasp.parse("alphabet: a\nL(i) := 30000000 * (#[j <= i] Q_a(j)) >= 0")
    assert p.accepts("aa")
    with pytest.raises(ValueError, match="could exceed 2\\^31 at length 100"):
        p.accepts("a" * 100)


def test_own_files_load(tmp_path):
    path = tmp_path / "mine.crasp"
    path.write_text("alphabet: a\nP(i) := Q_b(i)\n")
    with pytest.raises(crasp.ProgramError, match=r"mine\.crasp, line 2"):
        crasp.load(path)
