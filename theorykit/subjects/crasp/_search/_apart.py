"""Two strings, one in the language and one not, that no small program tells apart."""

import itertools
from collections.abc import Iterator

from theorykit.subjects.crasp._search._bank import ClashError
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._maker import level
from theorykit.subjects.crasp._search._questions import Language, up_to
from theorykit.subjects.crasp._search._sample import Sample, String
from theorykit.subjects.crasp._search._space import Space

LONGEST = 120
"""The most symbols in a string."""

ROWS = 300_000
"""The most behaviours on two strings; there are few, since the strings are alike."""

PAIRS = 12
"""The most pairs that are tried."""


def untold(asked: Language, fragment: Fragment, size: int) -> tuple[String, String, int] | None:
    """Return two strings that no program of some size tells apart, and that size.

    Powers of short words are tried, and powers in which one symbol is changed. The pair returned is
    the one tried that needs the most operations, up to `size`.
    """
    best: tuple[String, String, int] | None = None
    for x, y in itertools.islice(_pairs(asked, fragment, size), PAIRS):
        same = _told(fragment, asked.alphabet, x, y, size)
        if best is None or same > best[2]:
            best = x, y, same
        if same >= size:
            break
    return best if best and best[2] >= 0 else None


def _told(fragment: Fragment, alphabet: tuple[str, ...], x: String, y: String, size: int) -> int:
    """Return the largest size up to `size` at which no program tells two strings apart."""
    sample = Sample([x, y])
    one, other = sample.node[x], sample.node[y]
    seed = 0
    while True:
        space, told = Space(fragment, alphabet, sample, size, seed), list[bool]()

        def see(words, made, told=told) -> None:
            bits = [words[:, n // 64] >> n % 64 & 1 for n in (one, other)]
            if (bits[0] != bits[1]).any():
                told.append(True)

        try:
            for n in range(size + 1):
                level(space, n, see, keep=n < size)
                if told:
                    return n - 1
                if len(space.booleans) + len(space.counts) > ROWS:
                    return n
            return size
        except ClashError:
            seed += 1


def _pairs(asked: Language, fragment: Fragment, size: int) -> Iterator[tuple[String, String]]:
    """Yield strings that look alike, one in the language and one not.

    They are consecutive powers of a word, and powers of a word followed by two symbols and then a
    run of one symbol. Words whose numbers of symbols are in no simple proportion come first: then
    every comparison of counts is settled before the two symbols and stays settled after them.
    """
    n = 4 + (size + 1) * max(1, *map(abs, fragment.constants))
    for u in up_to(asked.alphabet, 40)[1:]:
        power = u * max(2, min(n, LONGEST // len(u)))
        if _differ(asked, power, power + u):
            yield power, power + u
    runs: list[String] = [(), *((s,) * min(n, 20) for s in asked.alphabet)]
    for u, run in itertools.product(_generic(asked.alphabet), runs):
        start = u * max(2, LONGEST // len(u))
        for a, b in itertools.combinations(asked.alphabet, 2):
            x, y = ((*start, *two, *run) for two in ((a, b), (b, a)))
            if _differ(asked, x, y):
                yield x, y


def _generic(alphabet: tuple[str, ...]) -> Iterator[String]:
    """Yield words with one, two, four, ... copies of the symbols, in every order of the symbols."""
    for order in itertools.islice(itertools.permutations(alphabet[:4]), 6):
        yield tuple(s for k, s in enumerate(order) for _ in range(2**k))


def _differ(asked: Language, x: String, y: String) -> bool:
    one, other = asked.truths([x, y])[:, 0]
    return bool(one != other)
