"""Programs that are found, or excluded: verified by the interpreter; noise, kills, bad input."""

import itertools
import re

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.networks.tasks import LANGUAGES, BinaryMajority, RegularLanguage, Sample
from theorykit.subjects import crasp
from theorykit.subjects.crasp._search import _possible

ab = crasp.Fragment(constants=(0, 1))


def words(alphabet, longest):
    return ["".join(w) for n in range(longest + 1) for w in itertools.product(alphabet, repeat=n)]


def after(s):
    """Whether a b comes after an a."""
    return re.search("a.*b", s) is not None


@pytest.mark.parametrize(
    ("task", "size"),
    [
        (lambda s: "a" in s, 1),
        (lambda s: s.count("a") > s.count("b"), 3),
        (lambda s: s.count("a") >= 2, 2),
        (after, 3),
    ],
)
def test_the_smallest_program_is_found(task, size):
    found = crasp.search(task, ab, alphabet="ab", most=size)
    assert (found.operations, found.excluded, found.smallest) == (size, size - 1, True)
    assert found.evidence == "exhaustive"
    assert crasp.operations(found.program) == size
    for string in words("ab", 7):
        assert crasp.interpreted(found.program, string) == task(string)
    assert found.explain()
    assert (found.compile().accepts(words("ab", 4)) == [task(s) for s in words("ab", 4)]).all()


def test_a_language_with_positions_is_found():
    found = crasp.search(LANGUAGES["aa_star"], crasp.Fragment(constants=(), periodic=(2,)), most=3)
    assert found.operations == 2
    assert all(crasp.interpreted(found.program, s) == LANGUAGES["aa_star"].accepts(s)
               for s in words("ab", 6))  # fmt: skip


def test_joined_programs_are_right_and_said_to_be_no_smallest():
    def language(s):
        return 1 <= s.count("a") <= 2 and s.count("b") >= 2

    found = crasp.search(language, alphabet="ab", most=3)
    assert (found.excluded, found.smallest, found.evidence) == (3, False, "searched")
    assert found.operations == crasp.operations(found.program) > 4
    assert all(crasp.interpreted(found.program, s) == language(s) for s in words("ab", 8))
    assert "operations; 3 are not enough" in str(found)
    alone = crasp.search(language, alphabet="ab", most=3, join=False)
    assert (alone.program, alone.excluded) == (None, 3)


@pytest.mark.parametrize("name", ["parity", "aa_star"])
def test_there_is_no_program_without_positions(name):
    found = crasp.search(LANGUAGES[name], most=5)
    assert (found.program, found.excluded, found.evidence) == (None, 5, "exhaustive")
    assert "There is no program" in str(found.impossible)
    x, y = found.apart
    assert found.untold == 5
    one, other = LANGUAGES[name].accepts(["".join(x), "".join(y)])
    assert one != other
    assert "no program with at most 5 operations" in str(found)
    with pytest.raises(ValueError, match="no program was found"):
        found.compile()


@pytest.mark.parametrize("row", crasp.table(2), ids=lambda row: row["task"])
def test_reasons_agree_with_table_2(row):
    found = crasp.impossible(LANGUAGES[row["task"]])
    if found is not None:
        assert found.proved != "nothing"
        assert row["no_positions"] == "no"
        assert row["positions"] == "no" or found.proved == "without periodic relations"


@pytest.mark.slow
def test_a_monoid_that_is_too_large_is_said_to_be():
    orders = RegularLanguage("x", "(a|b)*a(a|b){9}", "ab")
    found = crasp.impossible(orders)
    assert found.proved == "nothing"
    assert "was not examined" in found.words
    with pytest.raises(ValueError, match="2 symbols, and its alphabet has 3"):
        crasp.impossible(LANGUAGES["parity"].automaton, "abc")


@pytest.mark.parametrize("name", ["parity", "tomita5", "tomita6"])
def test_powers_that_no_program_follows_are_in_and_out_for_ever(name):
    language = LANGUAGES[name]
    x, u, v, z = (language.word(part) for part in _possible._group(language.automaton))
    assert len(u) == len(v)
    assert f"({u} " in str(crasp.impossible(language)).replace("((", "(")
    for m in (1, 2, 3):
        truth = language.accepts([x + (u + v * (m - 1)) * n + z for n in range(40)])
        assert len(set(truth[20:])) == 2


def test_a_search_stops_at_a_number_of_expressions():
    few = crasp.search(LANGUAGES["parity"], most=6, join=False, expressions=10_000)
    assert few.excluded < 6
    assert few.compared <= 10_000
    assert crasp.search(LANGUAGES["parity"], most=few.excluded).excluded == few.excluded


def test_a_task_has_a_program_for_each_output():
    found = crasp.search(BinaryMajority(), ab, most=4)
    ones = next(p for p in found.parts if p.output == "1")
    assert (ones.operations, ones.smallest) == (4, True)
    for string in words("01", 4)[1:]:
        if string.count("0") != string.count("1"):
            read = ("SOS", *string, "SEP")
            assert crasp.interpreted(ones.program, read) == (string.count("1") > len(string) / 2)


def labels(wrong):
    rng = np.random.default_rng(0)
    strings = list(dict.fromkeys("".join(rng.choice(list("ab"), 7)) for _ in range(60)))
    return [(s, (s.count("a") >= 2) != (k in wrong)) for k, s in enumerate(strings)]


def test_noise_trades_size_for_errors():
    pairs = labels({3, 17})
    found = crasp.search(pairs, crasp.Fragment(constants=(1, 2)), agree=0.95, most=3)
    errors = [t.errors for t in found.traded]
    assert errors == sorted(set(errors), reverse=True)
    for t in found.traded:
        said = [crasp.interpreted(t.program, s) for s, _ in pairs]
        assert t.errors == sum(a != b for a, (_, b) in zip(said, pairs, strict=True))
        assert t.operations == crasp.operations(t.program)
    wrong = sum(crasp.interpreted(found.program, s) != b for s, b in pairs)
    assert wrong <= 0.05 * len(pairs)


def test_a_search_that_was_killed_goes_on(tmp_path):
    language = RegularLanguage("(ab)*", "(ab)*", "ab")
    options = dict(fragment=ab, most=4, join=False)
    lines = []

    def kill(line):
        lines.append(line)
        if line.startswith("3 operations"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crasp.search(language, **options, folder=tmp_path, say=kill)
    again = []
    found = crasp.search(language, **options, folder=tmp_path, say=again.append)
    assert again[0].startswith("3 operations")
    whole = crasp.search(language, **options)
    assert (str(found), found.parts) == (str(whole), whole.parts)
    with pytest.raises(ValueError, match="belongs to a search with most 4"):
        crasp.search(language, ab, most=5, folder=tmp_path)


class Failing(BinaryMajority):
    def padded(self, key, length, size):
        raise RuntimeError("the disk is full")


class Undecided(BinaryMajority):
    """Hides the bits, so that the prefix does not say which symbol is asked for."""

    def padded(self, key, length, size):
        made = super().padded(key, length, size)
        return Sample(jnp.zeros_like(made.x), made.target, made.weight)


BAD = [
    (lambda: crasp.search(lambda s: False, alphabet="ab"), "no word among all strings"),
    (lambda: crasp.search(RegularLanguage("none", "()", "a"), most=-1), "most"),
    (lambda: crasp.search(lambda s: True), "needs an alphabet"),
    (lambda: crasp.search(lambda s: True, alphabet=[str(k) for k in range(1000)]),
     "1,000 symbols is too large"),
    (lambda: crasp.search(lambda s: 1 / 0, alphabet="ab"), "ZeroDivisionError|division"),
    (lambda: crasp.search({"ab": True, "ba": "no"}), "not True or False"),
    (lambda: crasp.search([("ab", True), ("ab", False)]), "contradict each other"),
    (lambda: crasp.search([("ab", True), ("ac", False)], alphabet="ab"), "symbol 'c'"),
    (lambda: crasp.search({}), "there are no labelled strings"),
    (lambda: crasp.search(["ab"]), "pairs of a string and a label"),
    (lambda: crasp.search(3), "a task is a function"),
    (lambda: crasp.search(lambda s: True, alphabet="ab", agree=0.9), "for labelled strings"),
    (lambda: crasp.search({"a": True}, agree=0), "a share above 0"),
    (lambda: crasp.search({"a": True}, "plain"), "a crasp.Fragment"),
    (lambda: crasp.search(Failing()), "the disk is full"),
    (lambda: crasp.search(Undecided()), "not a function of the prefix"),
    (lambda: crasp.Fragment(local=((),)), "needs one or more"),
    (lambda: crasp.Fragment(constants="ab"), "constants is a list of integers"),
    (lambda: crasp.Fragment(periodic=(1,)), "a modulus"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), BAD)
def test_bad_input_is_refused_in_a_sentence(call, said):
    with pytest.raises(ValueError, match=said) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_a_search_on_more_than_two_words_comes_to_an_end():
    assert crasp.search(LANGUAGES["d12"], most=7).excluded == 7


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("tomita7", 7), ("ab_d_bc", 12), ("d2", 14)])
def test_languages_of_table_2_are_found(name, size):
    found = crasp.search(LANGUAGES[name], most=7)
    assert found.operations <= size
    language = LANGUAGES[name]
    strings = words(language.alphabet, 10 if len(language.alphabet) == 2 else 5)
    assert (found.program.accepts(strings) == language.accepts(strings)).all()
