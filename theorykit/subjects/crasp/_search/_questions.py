"""What is asked: which strings are right, of a language, a task, or of labelled strings."""

import abc
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Int8

from theorykit.common.arguments import as_alphabet, shown
from theorykit.common.errors import explain
from theorykit.networks.tasks import Algorithmic, RegularLanguage, Task
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._refute import asked
from theorykit.subjects.crasp._search._sample import String

Truths = Int8[np.ndarray, "strings outputs"]
"""1 or 0 where something is known of a string, else -1."""

SYMBOLS = 40
"""Symbols of an alphabet, at most; with more of them nothing of any size is found."""

SHORT, LONG, LONGEST = 5000, 1000, 80
"""Strings that a program is tried on: short ones, long ones, and how long these are, at most."""


class Question(abc.ABC):
    """What is asked of a program.

    **Fields:** `name`; `alphabet`; `outputs`: what a program is wanted for, `("L",)` for a
    language; `everywhere`: whether the truth is known for every string.
    """

    name: str
    alphabet: tuple[str, ...]
    outputs: tuple[str, ...] = ("L",)
    everywhere = False

    @abc.abstractmethod
    def truths(self, strings: Sequence[String]) -> Truths:
        """Return what is known of each string."""

    @abc.abstractmethod
    def short(self) -> list[String]:
        """Return the short strings to try, shorter ones first."""

    def long(self, rng: np.random.Generator) -> list[String]:
        """Return random strings to try, shorter ones first."""
        return []

    def near(self, strings: Sequence[String], rng: np.random.Generator) -> list[String]:
        """Return strings that are like these, of which the truth is known too."""
        return []

    def said(self, short: Sequence[String], long: Sequence[String]) -> str:
        """Say on what a program was tried."""
        return f"{len(short):,} labelled strings"


class Language(Question):
    """The strings that an acceptor accepts."""

    everywhere = True

    def __init__(self, name: str, alphabet: Sequence[str], accepts: Callable[[Sequence[String]],
                 Any]):  # fmt: skip
        self.name, self.alphabet, self._accepts = name, _few(tuple(alphabet)), accepts
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
        """Return all strings up to a length."""
        return up_to(self.alphabet, SHORT)

    def long(self, rng: np.random.Generator) -> list[String]:
        """Return random strings, powers, words of the language, and such with a change."""
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
        """Return a changed string for each of these."""
        return [changed(s, self.alphabet, rng) for s in strings]

    def word(self, rng: np.random.Generator, length: int) -> String | None:
        """Return a random word of the language of this length, if it is known how."""
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
        self.name, self.alphabet = language.name, _few(tuple(language.alphabet))
        self._known = {}
        self._accepts = lambda strings: language.accepts(["".join(s) for s in strings])
        self._ends: list[np.ndarray] = [language.automaton.accept]

    def word(self, rng: np.random.Generator, length: int) -> String | None:
        """Return a word, symbols being equally likely wherever they can come."""
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


class Labelled(Question):
    """Strings with labels, which may contradict each other where noise is allowed.

    **Fields:** `yes`, `no`: how often each string has either label.
    """

    def __init__(self, labels: Iterable[tuple[Sequence[str], Any]], alphabet: Any, noise: bool):
        self.name, self.yes, self.no = "labelled strings", {}, {}  # type: str, dict, dict
        for string, label in labels:
            if not isinstance(label, bool | np.bool_ | int) or label not in (0, 1):
                raise ValueError(f"the label of {shown(string)} is {shown(label)}, not True or "
                                 "False.")  # fmt: skip
            counts = self.yes if label else self.no
            counts[tuple(string)] = counts.get(tuple(string), 0) + 1
        both = [s for s in self.yes if s in self.no]
        if both and not noise:
            raise ValueError(
                f"the labels contradict each other: {''.join(both[0])!r} is labelled True and "
                "False; with agree=0.95, say, a twentieth of the labels may be wrong."
            )
        self.strings = sorted({**self.yes, **self.no}, key=len)
        if not self.strings:
            raise ValueError("no string is labelled; give some, as {string: True or False}.")
        seen = sorted({symbol for s in self.strings for symbol in s})
        self.alphabet = _few(tuple(seen or "a") if alphabet is None else as_alphabet(alphabet))
        if unknown := [symbol for symbol in seen if symbol not in self.alphabet]:
            raise ValueError(f"a labelled string has the symbol {unknown[0]!r}, which is not in "
                             f"the alphabet {' '.join(self.alphabet)}.")  # fmt: skip

    def truths(self, strings: Sequence[String]) -> Truths:
        """Return the label that each string has more often, and -1 for others."""
        known = lambda s: s in self.yes or s in self.no
        label = lambda s: int(self.yes.get(s, 0) >= self.no.get(s, 0)) if known(s) else -1
        return np.array([label(s) for s in strings], np.int8).reshape(-1, 1)

    def short(self) -> list[String]:
        """Return the labelled strings."""
        return self.strings


class Drawn(Question):
    """A task that is known by what it draws: the target after each prefix that was seen."""

    def __init__(self, task: Task, seed: int):
        self.name = repr(task)
        names = self._names(task)
        self._targets: dict[String, str] = {}
        seen: set[str] = set()
        for x, target, weight in drawn(task, seed):
            string = tuple(names(int(c)) for c in x)
            seen.update(string)
            ends = [len(x)] if target.ndim == 0 else range(1, len(x) + 1)
            for end, goal, counts in zip(ends, target.reshape(-1), weight.reshape(-1),
                                         strict=True):  # fmt: skip
                if counts:
                    self._hold(string[:end], names(int(goal)))
        self.alphabet = tuple(sorted(seen, key=lambda s: (len(s), s)))
        self.outputs = tuple(sorted(set(self._targets.values()), key=lambda s: (len(s), s)))
        self._place = {name: k for k, name in enumerate(self.outputs)}

    def _names(self, task: Task) -> Callable[[int], str]:
        if isinstance(task, Algorithmic):
            known = (*task.symbols, "SOS", "SEP", "EOS")
            _few(known)
            return lambda c: known[c]
        _few(range(task.options.get("vocabulary") or 1))
        return str

    def _hold(self, prefix: String, goal: str) -> None:
        known = self._targets.setdefault(prefix, goal)
        if known != goal:
            raise ValueError(
                f"{self.name} is not a function of the prefix: after {' '.join(prefix)} it asks "
                f"for {known} and, another time, for {goal}."
            )

    def truths(self, strings: Sequence[String]) -> Truths:
        """Return which output each string asks for, where that was seen."""
        found = np.full((len(strings), len(self.outputs)), -1, np.int8)
        for row, string in zip(found, strings, strict=True):
            if string in self._targets:
                row[:] = 0
                row[self._place[self._targets[string]]] = 1
        return found

    def short(self) -> list[String]:
        """Return the prefixes that were seen."""
        return sorted(self._targets, key=len)

    def said(self, short: Sequence[String], long: Sequence[String]) -> str:
        """Say on what a program was tried."""
        return f"{len(short):,} prefixes that the task drew, of up to {len(short[-1])} symbols"


def question(task: Any, alphabet: Any, noise: bool, seed: int) -> Question:
    """Return what is asked by a task, in any of its forms."""
    if isinstance(task, RegularLanguage):
        return Regular(task)
    if isinstance(task, Task):
        return Drawn(task, seed)
    if isinstance(task, Program):
        accepts = lambda strings: task.accepts(list(strings))
        return Language("the program's language", task.alphabet, accepts)
    if isinstance(task, Mapping):
        return Labelled(task.items(), alphabet, noise)
    if isinstance(task, Iterable) and not isinstance(task, str):
        pairs = list(task)
        wrong = [p for p in pairs if not isinstance(p, tuple) or len(p) != 2]
        if wrong:
            raise ValueError(f"labelled strings are pairs of a string and a label, not "
                             f"{shown(wrong[0])}.")  # fmt: skip
        return Labelled(pairs, alphabet, noise)
    if not callable(task):
        raise ValueError(
            "a task is a function of a string, a RegularLanguage, a task, a Program, or labelled "
            f"strings, not {shown(task)}."
        )
    if alphabet is None:
        raise ValueError('a function of a string needs an alphabet, such as alphabet="ab".')
    symbols = as_alphabet(alphabet)
    text = all(len(s) == 1 for s in symbols)
    answer = lambda strings: [asked(task, "".join(s) if text else s) for s in strings]
    return Language(getattr(task, "__name__", "the task"), symbols, answer)


def drawn(task: Task, seed: int) -> Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield tokens, targets and weights of examples of short and of some longer lengths."""
    lengths = [n for n in range(task.smallest, task.smallest + 9) if has(task, n)]
    lengths += [n for n in (16, 32, 64) if n > task.smallest + 9 and has(task, n)]
    if not lengths:
        raise ValueError(f"{task!r} has no examples of up to 64 symbols.")
    for n in lengths:
        keys = jax.random.split(jax.random.key(seed + n), 256 if n < 12 else 64)
        try:
            made = jax.jit(jax.vmap(lambda key, n=n: task.sample(key, n)))(keys)
        except Exception as error:
            said = explain(error)
            raise ValueError(f"the sampler of {task!r} fails at length {n}: {said}.") from error
        if isinstance(made.x, tuple) or made.x.ndim != 2 or made.x.dtype.kind not in "iu":
            raise ValueError(f"{task!r} has no symbols as inputs, so there is nothing that a "
                             "program could read.")  # fmt: skip
        if made.target.dtype.kind not in "iu" or made.target.ndim > 2:
            raise ValueError(f"{task!r} asks for numbers and not for symbols, which a program "
                             "cannot answer.")  # fmt: skip
        parts = [np.asarray(part) for part in (made.x, made.target, made.weight)]
        yield from zip(*parts, strict=True)


def has(task: Task, length: int) -> bool:
    """Return whether a task has examples of a length."""
    try:
        task.check(length)
    except ValueError:
        return False
    return True


def changed(string: String, symbols: Sequence[str], rng: np.random.Generator) -> String:
    """Return a string with another symbol, with some in another order, or with a part again."""
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
    """Return all strings up to the length at which there are more than so many."""
    found: list[String] = [()]
    for n in itertools.count(1):
        if (len(found) + len(alphabet) ** n > most and n > 1) or n > LONGEST:
            return found
        found += itertools.product(alphabet, repeat=n)
    raise AssertionError  # unreachable


def _few(symbols: Sequence[Any]) -> Any:
    if len(symbols) > SYMBOLS:
        raise ValueError(
            f"an alphabet of {len(symbols):,} symbols is too large to search; take an instance of "
            f"the task with at most {SYMBOLS}."
        )
    return symbols
