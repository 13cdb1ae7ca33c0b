"""The questions that programs answer: which strings are right."""

import abc
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int8

from theorykit.common.arguments import shown
from theorykit.networks.tasks import RegularLanguage
from theorykit.subjects.crasp._search._sample import String

Truths = Int8[np.ndarray, "strings outputs"]
"""1 or 0 where the truth is known, else -1."""

SYMBOLS = 40
"""The most symbols in an alphabet; with more of them no program of useful size is found."""

SHORT, LONG, LONGEST = 5000, 1000, 80
"""The numbers of short and long strings on which a program is tried, and the largest length."""


class Question(abc.ABC):
    """A question to a program.

    **Fields:** `name`; `alphabet`; `outputs`: the outputs that need a program, `("L",)` for a
    language; `everywhere`: whether the truth is known for every string.
    """

    name: str
    alphabet: tuple[str, ...]
    outputs: tuple[str, ...] = ("L",)
    everywhere = False

    @abc.abstractmethod
    def truths(self, strings: Sequence[String]) -> Truths:
        """Return the known truth for each string."""

    @abc.abstractmethod
    def short(self) -> list[String]:
        """Return the short strings to try, shorter ones first."""

    def long(self, rng: np.random.Generator) -> list[String]:
        """Return random strings to try, shorter ones first."""
        return []

    def near(self, strings: Sequence[String], rng: np.random.Generator) -> list[String]:
        """Return strings similar to these whose truth is also known."""
        return []

    def said(self, short: Sequence[String], long: Sequence[String]) -> str:
        """Say on what a program was tried."""
        return f"{len(short):,} labelled strings"


class Language(Question):
    """The strings that an acceptor accepts."""

    everywhere = True

    def __init__(self, name: str, alphabet: Sequence[str], accepts: Callable[[Sequence[String]],
                 Any]):  # fmt: skip
        self.name, self.alphabet, self._accepts = name, few(tuple(alphabet)), accepts
        self._known: dict[String, int] = {}
        strings = self.short()
        if not (self.truths(strings) == 1).any():
            raise ValueError(
                f"{name} has no word among all strings of up to {len(strings[-1])} symbols; a "
                "program for the empty language is `false`."
            )

    def truths(self, strings: Sequence[String]) -> Truths:
        """Return whether each string is in the language."""
        new = [s for s in dict.fromkeys(strings) if s not in self._known]
        if new:
            self._known.update(zip(new, np.asarray(self._accepts(new), np.int8), strict=True))
        return np.array([self._known[s] for s in strings], np.int8).reshape(-1, 1)

    def short(self) -> list[String]:
        """Return all strings, in order, up to some length."""
        return up_to(self.alphabet, SHORT)

    def long(self, rng: np.random.Generator) -> list[String]:
        """Return random strings, powers, words of the language, and mutations of these."""
        short = self.short()
        inside = [s for s, holds in zip(short, self.truths(short)[:, 0], strict=True) if holds]
        symbols = self.alphabet
        pick = lambda strings: strings[int(rng.integers(len(strings)))]
        found: list[String] = []
        for k in range(LONG):
            n = int(rng.integers(4, LONGEST + 1))
            if k % 4 == 0:
                odds = rng.dirichlet(np.ones(len(symbols)))
                made = tuple(symbols[c] for c in rng.choice(len(symbols), n, p=odds))
            elif k % 4 < 3 and (word := self.word(rng, n)) is not None:
                made = word
            else:
                u, v, w = pick(inside), pick(short[: len(short) // 8 + 2]), pick(inside)
                made = u + v * (n // max(len(v), 1)) + w if k % 2 else u * (n // max(len(u), 1)) + w
            found.append(changed(made, symbols, rng) if k % 3 else made)
        return sorted(dict.fromkeys(found), key=len)

    def near(self, strings: Sequence[String], rng: np.random.Generator) -> list[String]:
        """Return a mutation of each string."""
        return [changed(s, self.alphabet, rng) for s in strings]

    def word(self, rng: np.random.Generator, length: int) -> String | None:
        """Return a random word of the language of this length, if there is a way to draw one."""
        return None

    def said(self, short: Sequence[String], long: Sequence[String]) -> str:
        """Say on what a program was tried."""
        return (
            f"all {len(short):,} strings of up to {len(short[-1])} symbols and {len(long):,} "
            f"random ones of up to {len(long[-1]) if long else 0}"
        )


class Regular(Language):
    """A regular language, by its automaton."""

    def __init__(self, language: RegularLanguage):
        self.language = language
        if not language.automaton.live[0]:
            raise ValueError(
                f"{language.name} is the empty language, since no word matches "
                f"{shown(language.pattern)}; a program for it is `false`."
            )
        self.name, self.alphabet = language.name, few(tuple(language.alphabet))
        self._known = {}
        self._accepts = lambda strings: language.accepts(["".join(s) for s in strings])
        self._ends: list[np.ndarray] = [language.automaton.accept]

    def word(self, rng: np.random.Generator, length: int) -> String | None:
        """Return a word; at each step all possible symbols are equally likely."""
        automaton = self.language.automaton
        while len(self._ends) <= length:
            self._ends.append(self._ends[-1][automaton.follow].any(1))
        if not self._ends[length][0]:
            return None
        state, word = 0, []
        odds = rng.dirichlet(np.ones(automaton.follow.shape[1]), len(automaton.follow))
        for left in range(length - 1, -1, -1):
            may = odds[state] * self._ends[left][automaton.follow[state]]
            may = may if may.sum() else self._ends[left][automaton.follow[state]].astype(float)
            chosen = int(rng.choice(len(may), p=may / may.sum()))
            word.append(self.alphabet[chosen])
            state = int(automaton.follow[state, chosen])
        return tuple(word)


def changed(string: String, symbols: Sequence[str], rng: np.random.Generator) -> String:
    """Return a string with a symbol replaced, symbols permuted, or a part repeated."""
    start, end = sorted(int(n) for n in rng.integers(0, len(string) + 1, 2))
    left, part, right = string[:start], string[start:end], string[end:]
    match int(rng.integers(5)):
        case 0:
            symbol = symbols[int(rng.integers(len(symbols)))]
            return left + (symbol,) * int(rng.integers(3)) + string[start + 1 :]
        case 1:
            return left + tuple(part[k] for k in rng.permutation(len(part))) + right
        case 2:
            order = dict(zip(symbols, rng.permutation(len(symbols)), strict=True))
            return left + tuple(sorted(part, key=lambda s: order[s])) + right
        case 3 if 2 * len(part) + len(string) <= 2 * LONGEST:
            return left + part * 3 + right
    return left + right


def up_to(alphabet: Sequence[str], most: int) -> list[String]:
    """Return all strings up to the largest length at which there are at most `most`."""
    found: list[String] = [()]
    for n in itertools.count(1):
        if (len(found) + len(alphabet) ** n > most and n > 1) or n > LONGEST:
            return found
        found += itertools.product(alphabet, repeat=n)
    raise AssertionError  # unreachable


def few(symbols: Sequence[Any]) -> Any:
    """Return symbols.

    **Raises:** `ValueError` if there are too many.
    """
    if len(symbols) > SYMBOLS:
        raise ValueError(
            f"an alphabet of {len(symbols):,} symbols is too large to search; use an instance of "
            f"the task with at most {SYMBOLS}."
        )
    return symbols
