"""What the syntactic monoid of a regular language says about it: star-free, in AC0."""

from theorykit.common.arguments import affordable, instance
from theorykit.networks.tasks._regular import RegularLanguage

Element = tuple[int, ...]
"""What a word does to the states of the minimal automaton."""


MOST = 10**7
"""Numbers of all maps together, at most: seconds."""


def monoid(language: RegularLanguage) -> set[Element]:
    """Return the syntactic monoid, as maps of the states of the minimal automaton."""
    letters = _letters(language)
    found = {tuple(range(len(language.automaton.accept)))}
    waiting = list(found)
    while waiting:
        element = waiting.pop()
        for letter in letters:
            made = _then(element, letter)
            if made not in found:
                found.add(made)
                waiting.append(made)
        affordable("the syntactic monoid", len(found) * len(element), MOST)
    return found


def star_free(language: RegularLanguage) -> bool:
    """Return whether the language is star-free: no power of an element goes round in a cycle.

    Schützenberger (1965): the syntactic monoid is aperiodic.
    """
    return not any(_cycle(element) for element in monoid(language))


def in_ac0(language: RegularLanguage) -> bool:
    """Return whether the language is in AC0.

    Barrington, Compton, Straubing and Thérien (1992): the words of no one length act as a set that
    holds a nontrivial group. If it holds one, it holds the powers of one of the group's elements.
    """
    letters = _letters(language)
    words = frozenset(letters)  # of one length
    seen: set[frozenset[Element]] = set()
    numbers = 0
    while words not in seen:
        seen.add(words)
        numbers += len(words) * len(letters[0])
        affordable("the sets of what words of one length do", numbers, MOST)
        for element in words:
            group = _cycle(element)
            if element in group and words.issuperset(group):
                return False
        words = frozenset(_then(element, letter) for element in words for letter in letters)
    return True


def _letters(language: RegularLanguage) -> list[Element]:
    instance("language", language, RegularLanguage, "a tasks.RegularLanguage")
    return [tuple(column) for column in language.automaton.follow.T.tolist()]


def _then(first: Element, second: Element) -> Element:
    return tuple(second[state] for state in first)


def _cycle(element: Element) -> list[Element]:
    """Return the group in which an element's powers end; nothing if it is trivial."""
    powers = [element]
    while (made := _then(powers[-1], element)) not in powers:
        powers.append(made)
    cycle = powers[powers.index(made) :]
    return cycle if len(cycle) > 1 else []
