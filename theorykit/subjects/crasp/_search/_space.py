"""Expressions by number of operations, one per behaviour."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Shaped, UInt64

from theorykit.subjects.crasp._search._bank import Bank, Keys
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._sample import Sample
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    Boolean,
    Compare,
    Count,
    Counting,
    Exists,
    If,
    Integer,
    Not,
    Or,
    Subtract,
)

BLOCK = 2**17
"""Rows per batch."""

ROWS = 2**24
"""The most behaviours held, on 64 prefixes: two to four GiB."""

EXPRESSIONS = 10**8
"""The most expressions of one size that are compared, on 64 prefixes: minutes."""

LEAF, AND, AND_NOT, NOT_AND, OR, AT_MOST, AT_LEAST, EQUAL, EXISTS, COUNT, ADD, SUBTRACT, IF = range(
    13
)
"""The operation codes in `made`. AND_NOT is A and not B, NOT_AND is not A and B."""

_AND = {AND: (0, 0), AND_NOT: (0, 1), NOT_AND: (1, 0)}
_COMPARED = {AT_MOST: "<=", AT_LEAST: ">=", EQUAL: "="}
_MIRRORED = {"<=": ">=", ">=": "<=", "=": "="}
_OPPOSITE = {"<=": ">", ">": "<=", ">=": "<", "<": ">=", "=": "!=", "!=": "="}

Words = UInt64[np.ndarray, "rows words"]


@dataclasses.dataclass
class Level:
    """The rows of the expressions of one size and depth in the two banks."""

    booleans: slice
    counts: slice


class Space:
    """Expressions of a fragment by size, one per behaviour on a sample.

    A Boolean also stands for its negation, which is free: its row is that of whichever is false at
    the empty string.

    **Arguments:** `most`: the largest size that will be requested; `seed`: for the keys.
    """

    def __init__(self, fragment: Fragment, alphabet: Sequence[str], sample: Sample, most: int,
                 seed: int = 0):  # fmt: skip
        self.fragment, self.sample = fragment, sample
        self.alphabet = tuple(alphabet)
        self.leaves = list(fragment.leaves(alphabet))
        self.constants = [Integer(c) for c in fragment.constants]
        self.depths = 1 if fragment.depth is None else fragment.depth + 1
        self.deeper = 0 if fragment.depth is None else 1
        largest = (most + 1) * max(sample.longest, *map(abs, fragment.constants), 1)
        self.dtype = np.dtype(next(d for d in (np.int8, np.int16, np.int32, np.int64)
                                   if largest <= np.iinfo(d).max))  # fmt: skip
        rng = np.random.default_rng(seed)
        odd = lambda n: rng.integers(0, 2**63, n, np.uint64) * np.uint64(2) + np.uint64(1)
        self.by_word, self.by_half = odd(sample.words), odd(sample.words)
        self.by_place = odd(sample.width)
        self.booleans = Bank(sample.words, np.uint64, self.depths)
        self.counts = Bank(sample.width, self.dtype, self.depths)
        self._held = np.zeros(0, np.uint64)
        self.levels: dict[tuple[int, int], Level] = {}
        self.sizes = 0  # levels below this are complete
        self.compared = 0

    # Keys ----------------------------------------------------------------------------------------

    def boolean_keys(self, words: Words) -> Keys:
        """Return a key for each Boolean: its word if there is only one, or a hash of several.

        An odd factor alone would leave the last bit of every word unchanged, and two such bits
        would cancel whatever the factors; so upper halves are mixed in before words are added.
        """
        if self.sample.words == 1:
            return words[:, 0]
        mixed = words * self.by_word
        mixed ^= mixed >> np.uint64(32)
        return (mixed * self.by_half).sum(1, dtype=np.uint64)

    def keys_of_counts(self, rows: Shaped[np.ndarray, "rows width"]) -> Keys:
        """Return a key for each count; keys are additive, like the counts."""
        found = np.zeros(len(rows), np.uint64)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK].astype(np.int64).view(np.uint64)
            found[start : start + BLOCK] = (part * self.by_place).sum(1, dtype=np.uint64)
        return found

    def hold_keys(self, start: int) -> None:
        """Store the keys of counts from a given row on."""
        new = self.keys_of_counts(self.counts.rows.all[start:])
        if len(self.counts) > len(self._held):
            bigger = np.zeros(2 * len(self.counts), np.uint64)
            bigger[:start] = self._held[:start]
            self._held = bigger
        self._held[start : len(self.counts)] = new

    @property
    def count_keys(self) -> Keys:
        """The keys of all counts."""
        return self._held[: len(self.counts)]

    # Levels --------------------------------------------------------------------------------------

    def too_large(self, size: int) -> bool:
        """Return whether a level exceeds the budget of time or memory."""
        held = len(self.booleans) + len(self.counts)
        words = self.sample.words
        return held * words > ROWS or self.cost(size) * words > EXPRESSIONS

    def cost(self, size: int) -> int:
        """Return the approximate number of expressions that a level compares."""
        booleans, counts = [0] * size, [0] * size
        for (at, _), level in self.levels.items():
            if at < size:
                booleans[at] += level.booleans.stop - level.booleans.start
                counts[at] += level.counts.stop - level.counts.start
        total = sum(4 * len(self.fragment.masks) * b for b in booleans[-1:])
        for left in range(size):
            right = size - 1 - left
            total += 2 * booleans[left] * booleans[right] + 2 * counts[left] * counts[right]
            if self.fragment.subtract:
                total += counts[left] * counts[right]
            if self.fragment.conditional:
                total += sum(
                    booleans[left] * counts[m] * counts[right - m] for m in range(right + 1)
                )
        return total

    def restore(self, size: int, depth: int, booleans: Words, booleans_made: np.ndarray,
                counts: np.ndarray, counts_made: np.ndarray) -> None:  # fmt: skip
        """Restore a level from a checkpoint."""
        before = len(self.booleans), len(self.counts)
        for bank, rows, made, start in (
            (self.booleans, booleans, booleans_made, before[0]),
            (self.counts, counts, counts_made, before[1]),
        ):
            bank.rows.extend(rows)
            bank.made.extend(made)
            keys = self.boolean_keys if bank is self.booleans else self.keys_of_counts
            bank.hold(keys(rows), depth, np.arange(start, len(bank), dtype=np.int32))
        self.hold_keys(before[1])
        self.levels[size, depth] = Level(
            slice(before[0], len(self.booleans)), slice(before[1], len(self.counts))
        )

    def sizes_of_booleans(self) -> Int[np.ndarray, " rows"]:
        """Return how many operations each Boolean takes."""
        found = np.zeros(len(self.booleans), int)
        for (size, _), level in self.levels.items():
            found[level.booleans] = size
        return found

    # Expressions ---------------------------------------------------------------------------------

    def boolean(self, number: int) -> Boolean:
        """Return the Boolean of a row."""
        return self.written(self.booleans.made.all[number])

    def written(self, made: Int[np.ndarray, " parts"]) -> Boolean:
        """Return the Boolean made in this way, or its negation, whichever is false at the root."""
        op, a, b, _ = map(int, made)
        if op == LEAF:
            leaf = self.leaves[a]
            return negated(leaf) if self.sample.leaf(leaf)[0] else leaf
        if op in _AND:
            left, right = _AND[op]
            return And(self.signed(2 * a + left), self.signed(2 * b + right))
        if op == OR:
            return Or(self.boolean(a), self.boolean(b))
        if op == EXISTS:
            return Exists(self.signed(a), self.fragment.masks[b])
        x, y = self.counts.rows.all[[a, b], 0]
        relation = _COMPARED[op]
        holds = {"<=": x <= y, ">=": x >= y, "=": x == y}[relation]
        e = compared(relation, self.count(a), self.count(b))
        return negated(e) if holds else e

    def count(self, number: int) -> Count:
        """Return the count of a row."""
        op, a, b, c = map(int, self.counts.made.all[number])
        if op == LEAF:
            return self.constants[a]
        if op == COUNT:
            return Counting(self.signed(a), self.fragment.masks[b])
        if op == ADD:
            return Add(self.count(a), self.count(b))
        if op == SUBTRACT:
            return Subtract(self.count(a), self.count(b))
        return If(self.boolean(a), self.count(b), self.count(c))

    def signed(self, number: int) -> Boolean:
        """Return the Boolean of a row n, 2 n, or its negation, 2 n + 1."""
        e = self.boolean(number // 2)
        return negated(e) if number % 2 else e


def compared(relation: str, a: Count, b: Count) -> Compare:
    """Return a comparison, with a constant on the right."""
    return Compare(_MIRRORED[relation], b, a) if isinstance(a, Integer) else Compare(relation, a, b)


def negated(e: Boolean) -> Boolean:
    """Return the negation of a Boolean, in its simplest form."""
    match e:
        case Not(inner):
            return inner
        case Compare(relation, a, b):
            return Compare(_OPPOSITE[relation], a, b)
        case And(Not(a), Not(b)):
            return Or(a, b)
        case Or(Not(a), Not(b)):
            return And(a, b)
    return Not(e)
