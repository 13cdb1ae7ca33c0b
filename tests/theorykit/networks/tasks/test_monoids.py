import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorykit.networks.tasks import (
    LANGUAGES,
    Automaton,
    RegularLanguage,
    _monoids,
    by_length,
    in_ac0,
    monoid,
    star_free,
)


def test_the_monoid_of_ab_star_is_the_brandt_monoid():
    # 1, ab, ba, a, b and 0
    assert len(monoid(RegularLanguage("(ab)*", "(ab)*", "ab"))) == 6


def test_groups_are_their_own_syntactic_monoid():
    assert len(monoid(LANGUAGES["parity"])) == 2
    assert len(monoid(LANGUAGES["tomita5"])) == 4
    assert len(monoid(LANGUAGES["tomita6"])) == 3


def test_a_large_monoid_is_refused(monkeypatch):
    language = RegularLanguage("x", "(a|b)*a(a|b){5}", "ab")
    assert star_free(language)
    assert in_ac0(language)
    monkeypatch.setattr(_monoids, "MOST", 10**3)
    for ask in (star_free, in_ac0):
        with pytest.raises(ValueError, match="takes about"):
            ask(language)


@pytest.mark.parametrize(
    ("pattern", "star", "ac0"),
    [
        ("(a|b)*", True, True),
        ("(ab)*", True, True),
        ("(a(ab)*b)*", True, True),
        ("(aa)*", False, True),  # its words of odd length cannot act as the identity
        ("((a|b)(a|b))*", False, True),
        ("b*(ab*ab*)*", False, False),
        ("(b*ab*ab*ab*)*", False, False),
        ("(a(a|b)|ba)*", False, True),
    ],
)
def test_known_languages(pattern, star, ac0):
    language = RegularLanguage(pattern, pattern, "ab")
    if pattern == "(a(a|b)|ba)*":
        star = star_free(language)  # only AC0 is known without the monoid: no group at one length
    assert star_free(language) == star
    assert in_ac0(language) == ac0


@pytest.mark.parametrize("name", ["tomita4", "d3", "012_02"])
def test_each_map_has_a_shortest_word_that_does_it(name):
    follow = LANGUAGES[name].automaton.follow
    for moves, word in monoid(LANGUAGES[name]).items():
        states = np.arange(len(follow))
        for symbol in word:
            states = follow[states, symbol]
        assert tuple(states) == moves
    lengths = [len(word) for word in monoid(LANGUAGES[name]).values()]
    assert lengths == sorted(lengths)
    first = {}
    for n, words in enumerate(by_length(LANGUAGES[name])):
        assert {len(word) for word in words.values()} == {n}
        for moves in words:
            first.setdefault(moves, n)
    assert first == {moves: len(word) for moves, word in monoid(LANGUAGES[name]).items()}


@given(st.data())
def test_a_minimal_automaton_is_that_of_the_language(data):
    """It accepts the same words, and no two of its states have the same ones to come."""
    states = data.draw(st.integers(1, 6))
    row = st.lists(st.integers(0, states - 1), min_size=2, max_size=2)
    follow = np.array(data.draw(st.lists(row, min_size=states, max_size=states)))
    accept = np.array(data.draw(st.lists(st.booleans(), min_size=states, max_size=states)))
    made = Automaton.minimal(follow, accept)
    words = [[n >> k & 1 for k in range(m)] for m in range(7) for n in range(2**m)]

    def read(follow, accept, word, state=0):
        for symbol in word:
            state = follow[state, symbol]
        return bool(accept[state])

    for word in words:
        assert read(made.follow, made.accept, word) == read(follow, accept, word)
    ahead = {
        tuple(read(made.follow, made.accept, word, state) for word in words)
        for state in range(len(made.accept))
    }
    assert len(ahead) == len(made.accept)
