"""All words over an alphabet."""

import itertools
from collections.abc import Iterable


def words(alphabet: Iterable[str], *lengths: int) -> list[str]:
    """Return all words of these lengths, one length after another, each in lexicographic order."""
    symbols = tuple(alphabet)
    return ["".join(w) for n in lengths for w in itertools.product(symbols, repeat=n)]
