"""The action of words on the states of an automaton: the syntactic monoid."""

from collections.abc import Iterator

from theorykit.common.arguments import affordable, instance
from theorykit.networks.tasks._regular import Automaton, RegularLanguage

Element = tuple[int, ...]
"""The action of a word on the states of the minimal automaton."""

Word = tuple[int, ...]
"""A word, as indices into the alphabet."""

MOST = 10**6
"""The most numbers in all maps together: a few seconds."""


def monoid(language: RegularLanguage | Automaton) -> dict[Element, Word]:
    """Return the syntactic monoid, as maps of the states of the minimal automaton.

    **Arguments:** `language`: a regular language, or its minimal automaton.

    **Returns:** for each map the first of its shortest words, as indices of symbols; shorter words
    come first.

    **Raises:** `ValueError` if all maps together have more than 10^6 numbers.
    """
    automaton = _automaton(language)
    letters = _letters(automaton)
    found: dict[Element, Word] = {_identity(automaton): ()}
    waiting = list(found)
    for element in waiting:
        for symbol, letter in enumerate(letters):
            made = _then(element, letter)
            if made not in found:
                found[made] = (*found[element], symbol)
                waiting.append(made)
        affordable("the syntactic monoid", len(found) * len(element), MOST)
    return found


def by_length(language: RegularLanguage | Automaton) -> Iterator[dict[Element, Word]]:
    """Yield the maps of words of length 0, 1, 2, ..., each with one such word, until a set recurs.

    **Arguments:** `language`: a regular language, or its minimal automaton.

    **Raises:** `ValueError` if all maps of all lengths together have more than 10^6 numbers.
    """
    return _by_length(_automaton(language))


def _by_length(automaton: Automaton) -> Iterator[dict[Element, Word]]:
    letters = _letters(automaton)
    words: dict[Element, Word] = {_identity(automaton): ()}
    seen: set[frozenset[Element]] = set()
    numbers = 0
    while (of_one_length := frozenset(words)) not in seen:
        seen.add(of_one_length)
        numbers += len(words) * len(automaton.accept)
        affordable("the sets of maps of words of one length", numbers, MOST)
        yield words
        longer: dict[Element, Word] = {}
        for element, word in words.items():
            for symbol, letter in enumerate(letters):
                longer.setdefault(_then(element, letter), (*word, symbol))
        words = longer


def star_free(language: RegularLanguage) -> bool:
    """Return whether the language is star-free: the powers of every element become constant.

    Schützenberger (1965): the syntactic monoid is aperiodic.
    """
    return not any(_cycle(element) for element in monoid(language))


def in_ac0(language: RegularLanguage) -> bool:
    """Return whether the language is in AC0.

    Barrington, Compton, Straubing and Thérien (1992): for no length does the set of maps of words
    contain a nontrivial group. If it contains one, it contains the powers of an element of that
    group.
    """
    for words in by_length(language):
        for element in words:
            group = _cycle(element)
            if element in group and words.keys() >= set(group):
                return False
    return True


def _automaton(language: RegularLanguage | Automaton) -> Automaton:
    if isinstance(language, Automaton):
        return language
    return instance("language", language, RegularLanguage, "a tasks.RegularLanguage").automaton


def _letters(automaton: Automaton) -> list[Element]:
    return [tuple(column) for column in automaton.follow.T.tolist()]


def _identity(automaton: Automaton) -> Element:
    return tuple(range(len(automaton.accept)))


def _then(first: Element, second: Element) -> Element:
    return tuple(second[state] for state in first)


def _cycle(element: Element) -> list[Element]:
    """Return the group in which the powers of an element end, or nothing if it is trivial."""
    powers = [element]
    while (made := _then(powers[-1], element)) not in powers:
        powers.append(made)
    cycle = powers[powers.index(made) :]
    return cycle if len(cycle) > 1 else []
