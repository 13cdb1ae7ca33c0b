"""What would break it: tasks that differ little from one that has a program, and have none."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from theorykit.networks.tasks import Automaton, RegularLanguage
from theorykit.subjects import crasp

EDITS, SHOWN = 40, 3
"""Automata that are looked at, those that differ latest first, and how many are shown, at most."""


@dataclasses.dataclass(frozen=True)
class Neighbour:
    """A task without a program, near one that has one.

    **Fields:** `words`: what it is; `differs`: a shortest string on which the two differ, or None
    where that is any string with some symbol; `why`: why there is no program.
    """

    words: str
    differs: str | None
    why: str


def neighbours(task: object, alphabet: tuple[str, ...], positions: bool) -> list[Neighbour]:
    """Return tasks without a program, the nearest first.

    Of a regular language, the automata with one transition or one verdict changed. Of any task,
    its difference with PARITY of a symbol: with a program for both there would be one for PARITY.

    **Arguments:** `positions`: whether the task's own program has positional relations, so that a
    neighbour must have none even with them.
    """
    found = list[Neighbour]()
    if isinstance(task, RegularLanguage):
        found = _of_automaton(task, positions)
    if len(alphabet) > 1 and len(found) < SHOWN:
        symbol = alphabet[0]
        words = f"the same, but negated wherever the number of {symbol!r} is odd"
        why = f"A program for it, with one for the task, would give one for PARITY of {symbol}."
        found.append(Neighbour(words, symbol, why))
    return found


def _of_automaton(language: RegularLanguage, positions: bool) -> list[Neighbour]:
    automaton, alphabet = language.automaton, language.alphabet
    paths = _paths(automaton)
    written = lambda word: "".join(alphabet[n] for n in word) or "the empty string"
    edits = []
    for words, follow, accept in _edits(automaton, alphabet, lambda state: written(paths[state])):
        made = Automaton.minimal(follow, accept)
        differs = _first_difference(automaton, made)
        if differs is not None:
            edits.append((differs, words, made))
    edits.sort(key=lambda edit: -len(edit[0]))
    found = list[Neighbour]()
    for differs, words, made in edits[:EDITS]:
        why = crasp.impossible(made, alphabet)
        if why is None or why.proved == "nothing" or (positions and why.proved != "at all"):
            continue
        found.append(Neighbour(f"the same, but {words}", written(differs), str(why)))
        if len(found) == SHOWN:
            break
    return found


def _paths(automaton: Automaton) -> dict[int, tuple[int, ...]]:
    """Return a shortest word to each state."""
    found: dict[int, tuple[int, ...]] = {0: ()}
    waiting = [0]
    for state in waiting:
        for symbol, after in enumerate(automaton.follow[state].tolist()):
            if after not in found:
                found[after] = (*found[state], symbol)
                waiting.append(after)
    return found


def _edits(
    automaton: Automaton, alphabet: str, text: Callable[[int], str]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield automata with one verdict or one transition changed, and what was changed."""
    follow, accept = automaton.follow, automaton.accept
    for state in range(len(accept)):
        other = accept.copy()
        other[state] = not accept[state]
        yield (f"{text(state)}, with every string that ends in the same state, is "
               f"{'in' if other[state] else 'not in'} it", follow, other)  # fmt: skip
        for symbol, now in enumerate(follow[state].tolist()):
            for after in range(len(accept)):
                if after != now:
                    changed = follow.copy()
                    changed[state, symbol] = after
                    yield (f"{alphabet[symbol]} after {text(state)} goes to the state of "
                           f"{text(after)}", changed, accept)  # fmt: skip


def _first_difference(one: Automaton, other: Automaton) -> tuple[int, ...] | None:
    """Return a shortest word that one of them accepts, or None if there is none."""
    found: dict[tuple[int, int], tuple[int, ...]] = {(0, 0): ()}
    waiting = [(0, 0)]
    for pair in waiting:
        a, b = pair
        if one.accept[a] != other.accept[b]:
            return found[pair]
        for symbol in range(one.follow.shape[1]):
            after = int(one.follow[a, symbol]), int(other.follow[b, symbol])
            if after not in found:
                found[after] = (*found[pair], symbol)
                waiting.append(after)
    return None
