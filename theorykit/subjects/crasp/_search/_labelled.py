"""Balanced samples of strings in and outside a language, by length, with all their prefixes."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int8

from theorykit.common.arguments import integers, whole
from theorykit.subjects.crasp._search._asked import question
from theorykit.subjects.crasp._search._questions import Language, Question
from theorykit.subjects.crasp._search._sample import String

KEPT = 64
"""The number of words per length from which longer ones are grown."""


def labelled(
    task: Any, lengths: Sequence[int], count: int = 64, *, alphabet: Any = None, seed: int = 0
) -> dict[int, list[tuple[String, Int8[np.ndarray, " prefixes"]]]]:
    """Return strings of each length, with the truth for each of their prefixes.

    Half of them are in the language, if enough words are known; half of the others differ little
    from words. If the language is given by an acceptor, words are grown from shorter ones.

    **Arguments:** `task`, `alphabet`, `seed`: as for `search`; `lengths`; `count`: strings per
    length.

    **Returns:** for each length that has a string: at most `count` strings, each with a row of 1
    and 0, from the empty prefix to the whole string; -1 where the truth is unknown.

    **Raises:** `ValueError` as `search`.
    """
    seed, count = whole("seed", seed, 0, 2**32 - 1), whole("count", count, 1, 10**5)
    wanted = sorted({whole("a length", n, 1, 1000) for n in integers("lengths", lengths).tolist()})
    asked, rng = question(task, alphabet, False, seed), np.random.default_rng(seed)
    if isinstance(asked, Language):
        found = _of_language(asked, wanted, count, rng)
    else:
        known = [s for s in asked.short() if s]
        found = {n: [s for s in known if len(s) == n][:count] for n in wanted}
    row = lambda s: (s, _prefixes(asked, s))
    return {n: [row(s) for s in strings] for n, strings in found.items() if strings}


def _prefixes(asked: Question, string: String) -> Int8[np.ndarray, " prefixes"]:
    if isinstance(asked, Language):
        return asked.truths([string[:n] for n in range(len(string) + 1)])[:, 0]
    row = np.full(len(string) + 1, -1, np.int8)
    row[-1] = asked.truths([string])[0, 0]
    return row


def _of_language(
    asked: Language, wanted: list[int], count: int, rng: np.random.Generator
) -> dict[int, list[String]]:
    found = dict[int, list[String]]()
    words: dict[int, list[String]] = {0: [()]}
    for n in range(1, wanted[-1] + 1):
        tried = _tried(asked, n, words, count if n in wanted else KEPT, rng)
        truth = asked.truths(tried)[:, 0]
        inside = [s for s, holds in zip(tried, truth, strict=True) if holds]
        words[n] = [inside[k] for k in rng.permutation(len(inside))[:KEPT]]
        if n not in wanted:
            continue
        near = list(dict.fromkeys(_replaced(asked, word, rng) for word in inside))
        outside = [s for s, holds in zip(tried, truth, strict=True) if not holds]
        close = [s for s, holds in zip(near, asked.truths(near)[:, 0], strict=True) if not holds]
        yes, no = _mixed(rng, inside), _mixed(rng, list(dict.fromkeys([*outside, *close])))
        half = max(count // 2, count - len(no))
        found[n] = yes[:half]
        found[n] += no[: count - len(found[n])]
    return found


def _tried(
    asked: Language, n: int, words: dict[int, list[String]], count: int, rng: np.random.Generator
) -> list[String]:
    """Return candidates of a length, some of which should be words."""
    symbols = asked.alphabet
    tried = [word for _ in range(count) if (word := asked.word(rng, n)) is not None]
    known = bool(tried)
    for _ in range(count):
        odds = rng.dirichlet(np.ones(len(symbols)))
        tried.append(tuple(symbols[c] for c in rng.choice(len(symbols), n, p=odds)))
    if not known:  # grown from shorter ones
        for more in (1, 2, 3):
            for word in words.get(n - more, ()):
                place = int(rng.integers(len(word) + 1))
                for put in itertools.islice(itertools.product(symbols, repeat=more), 32):
                    tried += [word[:place] + put + word[place:], word + put]
        for u in itertools.islice(itertools.product(symbols, repeat=min(n, 2)), 32):
            tried.append((u * n)[:n])
    return list(dict.fromkeys(tried))


def _replaced(asked: Language, word: String, rng: np.random.Generator) -> String:
    """Return a word with one symbol replaced, or with two symbols swapped."""
    a, b = (int(k) for k in rng.integers(len(word), size=2))
    made = list(word)
    if rng.random() < 0.5:
        made[a] = asked.alphabet[int(rng.integers(len(asked.alphabet)))]
    else:
        made[a], made[b] = made[b], made[a]
    return tuple(made)


def _mixed(rng: np.random.Generator, strings: list[String]) -> list[String]:
    return [strings[k] for k in rng.permutation(len(strings))]
