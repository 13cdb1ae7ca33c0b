"""Long strings, long programs, far distances and large moduli: fast and right, or refused."""

import re

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.subjects import crasp

FEW, MANY = 164, 3_000


def even_counts(terms):
    """Return a program that accepts 0, 2, ... a's, up to 2 (terms - 1)."""
    chain = " or ".join(f"n(i) = {2 * k}" for k in range(terms))
    return crasp.parse(f"alphabet: a b\nn(i) := #[j <= i] Q_a(j)\nL(i) := {chain}")


@pytest.fixture(scope="module")
def few():
    return even_counts(FEW)


@pytest.fixture(scope="module")
def many():
    return even_counts(MANY)


def test_a_million_symbols():
    p = crasp.load("dyck1")
    balanced = "()" * (5 * 10**5)
    assert p.accepts(balanced)
    assert not p.accepts(balanced[:-1] + "(")
    x = np.array(p.encode(balanced))
    at_the_end = lambda: crasp.evaluate(p, x, [p.output])[p.output][-1]
    assert at_the_end()  # compiled
    assert at_the_end()
    local = crasp.parse("alphabet: a b\nL(i) := (#[j <= i, i - j in {0, 7, 99999}] Q_a(j)) = 3")
    w = ["b"] * 10**5
    for k in (-1, -8, -100000):
        w[k] = "a"
    assert local.accepts("".join(w))
    assert not local.accepts("".join(w[1:]) + "b")


def test_the_interpreter_grows_with_the_string_and_not_with_its_square():
    p = crasp.parse(
        "alphabet: a b\nC(i) := #[j <= i] Q_a(j)\nD(i) := #[j <= i, i - j in {0, 3}] Q_a(j)\n"
        "L(i) := C(i) = 30000 and D(i) = 0"
    )
    w = "a" * 30000 + "b" * 70000
    found = crasp.interpret(p, w)
    assert found["L"][-1] == 1
    assert found["C"][30000] == 30000
    assert [i for i in (2, 30000, 30001, 30003, 30004) if found["D"][i] == 1] == [2, 30001, 30003]
    with pytest.raises(ValueError, match="all pairs of positions takes about 1"):
        crasp.models(w, crasp.formula(p))


@pytest.mark.parametrize("terms", [FEW, pytest.param(10_000, marks=pytest.mark.slow)])
def test_chains_are_as_long_as_they_are(terms):
    p = even_counts(terms)
    last = 2 * terms - 2
    counts = [0, 1, 6, 7, last, last + 1, last + 2]
    right = [k % 2 == 0 and k <= last for k in counts]
    assert p.accepts(["ab" * k for k in counts]).tolist() == right
    assert str(p).count(" or ") == terms - 1


def test_chains_are_values(few):
    assert crasp.parse(str(few)) == few
    assert hash(crasp.parse(str(few))) == hash(few)
    assert repr(few.definitions[1]).count("Or(") == FEW - 1
    assert even_counts(FEW - 1) != few


@pytest.mark.slow
def test_chains_are_compiled_and_refuted(few, many):
    compiled = crasp.compile(few)
    assert compiled.transformer.depth > 3 * (FEW - 1)
    assert compiled.accepts(["", "aba", "bab"]).tolist() == [True, True, False]
    found = crasp.refute(few, "parity")
    assert found.string.count("a") == 2 * FEW
    assert not found.accepted
    with pytest.raises(
        ValueError, match=r"takes about [\d.]+e9 parameters, more than the limit of 2\.6e8"
    ):
        crasp.compile(many)
    with pytest.raises(
        ValueError, match=r"pieces of linear functions, more than the limit of 3\.0e6"
    ):
        crasp.refute(many, "parity")


def test_chains_are_sentences():
    p = even_counts(40)
    sentence = crasp.formula(p)
    assert [crasp.models("a" * k + "b", sentence) for k in (0, 3, 4)] == [True, False, True]


def text(body):
    return crasp.parse(f"alphabet: a b\nL(i) := {body}")


LARGE = 10**9


def test_far_distances_lead_to_no_position():
    p = text(f"(#[j <= i, i - j in {{1, {LARGE}}}] Q_a(j)) >= 1")
    near = text("(#[j <= i, j = i - 1] Q_a(j)) >= 1")
    strings = ["", "a", "ab", "ba", "bab"]
    assert p.accepts(strings).tolist() == near.accepts(strings).tolist()
    x = np.array([[0, 1, 0]])
    assert crasp.evaluate(p, x)["L"].tolist() == crasp.evaluate(near, x)["L"].tolist()


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(0, 6), min_size=1), st.integers(0, 2**32))
def test_distances_beyond_the_string(offsets, seed):
    members = ", ".join(map(str, sorted(offsets)))
    p = text(f"(#[j <= i, i - j in {{{members}}}] Q_a(j)) = 1")
    strings = ["", "a", "ab", "aab", "abaab"]
    right = [crasp.interpreted(p, w) for w in strings]
    assert p.accepts(strings).tolist() == right
    x = np.full((len(strings), 5), -1)
    for row, w in zip(x, strings, strict=True):
        row[: len(w)] = p.encode(w)
    values = np.asarray(jax.jit(lambda x: crasp.evaluate(p, x, ["L"])["L"])(x))
    assert [bool(row[len(w)]) for row, w in zip(values, strings, strict=True)] == right


@pytest.mark.parametrize("modulus", [5, LARGE, 2**40, 10**30])
def test_large_moduli(modulus):
    p = text(f"i % {modulus} in {{2, 4, {modulus - 1}}}")
    right = [i % modulus in (2, 4, modulus - 1) for i in range(7)]
    assert p.accepts(["a" * i for i in range(7)]).tolist() == right
    assert crasp.evaluate(p, [0] * 6)["L"].tolist() == right
    h = {"x": "ab", "y": "ba"}
    q = crasp.inverse_image(p, h)
    strings = ["x", "xy", "xyx", "yyyyy"]
    assert (q.accepts(strings) == p.accepts(["".join(h[c] for c in w) for w in strings])).all()


@pytest.mark.parametrize(
    "body", [f"i % {LARGE} = 2", f"(#[j <= i, j = i - {LARGE}] Q_a(j)) >= 1", f"i % {10**40} = 7"]
)
def test_what_takes_too_long_is_refused(body):
    p = text(body)
    calls = [lambda: crasp.refute(p, "parity"), lambda: crasp.unpad(p, "b", "a"),
             lambda: crasp.compile(p)]  # fmt: skip
    calls += [lambda: crasp.formula(p)] * ("#" in body)
    for call in calls:
        with pytest.raises(
            ValueError, match=r"takes about [\d.,e]+ .*, more than the limit of .*\.$"
        ):
            call()


def test_constants_of_any_size():
    p = text(f"(#[j <= i] Q_a(j)) <= {2**1500}")
    assert crasp.interpreted(p, "aaa")
    with pytest.raises(ValueError, match="could exceed 2\\^31"):
        p.accepts("aaa")
    for call in (lambda: crasp.formula(p), lambda: text(f"(#[j <= i] Q_a(j)) <= {'9' * 5000}")):
        with pytest.raises(ValueError, match=r"parts, more than|at most 1000 digits, not 5000"):
            call()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("i % 3 = 5", "a residue modulo 3 lies between 0 and 2; no position has 5"),
        ("i % 3 in {0, 3}", "between 0 and 2; no position has 3"),
        ("A(i) * 2 = 4", "a factor comes before its count: `2 * A(...)`"),
        ("(#[j <= i] Q_a(j)) * 3 = 4", "`3 * #[...] ...`"),
    ],
)
def test_what_is_written_wrongly(body, says):
    with pytest.raises(crasp.ProgramError, match=r"line 3, column \d+: " + ".*" + re.escape(says)):
        crasp.parse(f"alphabet: a b\nA(i) := #[j <= i] Q_a(j)\nL(i) := {body}")


def test_factors_stand_in_front_in_python_too():
    a = crasp.Counting(crasp.Symbol("a"))
    with pytest.raises(crasp.ProgramError, match="2 \\* A, not A \\* 2"):
        a * 2


def test_large_alphabets_are_not_listed():
    p = crasp.parse("alphabet: " + " ".join(f"s{k}" for k in range(4000)) + "\nL(i) := Q_s7(i)")
    assert p.accepts(("s0", "s7"))
    calls = [lambda: p.accepts(("t",)), lambda: crasp.program(p.alphabet, L=crasp.Symbol("t")),
             lambda: crasp.parse(str(p).replace("Q_s7", "Q_t"))]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match=r"'t' is not .* \(of 4,000 symbols\)") as error:
            call()
        assert len(str(error.value)) < 200


def test_the_start_symbol_is_the_transformers():
    p = crasp.parse('alphabet: "$" a\nL(i) := Q_"$"(i)')
    assert p.accepts(["a$", "$a"]).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"the symbol '\$', with which inputs of transformers"):
        crasp.compile(p)


def test_counterexamples_say_who_accepts():
    always = text("true")
    assert str(crasp.refute(always, lambda w: bool(w))) == (
        "the empty string: the program accepts it, and it is not in the language"
    )
    found = crasp.refute(text("false"), lambda w: w == "ab")
    assert str(found) == "ab: the program rejects it, and it is in the language"


def test_acceptors_that_fail_are_named():
    with pytest.raises(ValueError, match=r"the acceptor fails on '': IndexError: .*the empty one"):
        crasp.refute(text("Q_a(i)"), lambda w: w[-1] == "b")


@pytest.mark.parametrize("given", [b"alphabet: a\nL(i) := true", None, 3])
def test_programs_are_text(given):
    with pytest.raises(ValueError, match="a program is text, got"):
        crasp.parse(given)


@pytest.mark.parametrize(
    "given", [(c for c in "ab"), None, 3, b"ab", [1, 2], ["a", None], {"a": 1}]
)
def test_strings_are_text_or_lists(given):
    p = text("Q_a(i)")
    for call in (p.accepts, crasp.compile(p).accepts):
        with pytest.raises(ValueError, match=r"text or a tuple of symbols.*\.$"):
            call(given)
