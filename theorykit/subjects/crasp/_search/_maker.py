"""All expressions of a size, made from smaller ones."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Int

from theorykit.subjects.crasp._search._bank import ClashError, Keys
from theorykit.subjects.crasp._search._space import (
    ADD,
    AND,
    AND_NOT,
    AT_LEAST,
    AT_MOST,
    COUNT,
    EQUAL,
    EXISTS,
    IF,
    LEAF,
    NOT_AND,
    OR,
    SUBTRACT,
    Level,
    Space,
    Words,
)

BLOCK = 2**17
"""Expressions per batch."""

See = Callable[[Words, Callable[[np.ndarray], Int[np.ndarray, "rows 4"]]], None]
"""A callback that gets Booleans, and a function from their indices to how they were made."""


def level(space: Space, size: int, see: See, keep: bool = True) -> None:
    """Make all expressions of a size from all smaller ones, and show each new Boolean.

    **Arguments:** `see`: called with new Booleans, or with all Booleans if they are not kept;
    `keep`: whether larger expressions will be made from these; if not, only Booleans are made.
    """
    for depth in range(space.depths):
        start = len(space.booleans), len(space.counts)
        maker = _Maker(space, depth, see, keep)
        maker.make(size)
        space.compared += maker.compared
        space.levels[size, depth] = Level(
            slice(start[0], len(space.booleans)), slice(start[1], len(space.counts))
        )
    if keep:
        space.sizes = size + 1


class _Maker:
    """Makes the expressions of one size and depth of counting."""

    def __init__(self, space: Space, depth: int, see: See, keep: bool):
        self.space, self.depth, self.see, self.keep = space, depth, see, keep
        self.sample, self.compared = space.sample, 0

    def make(self, size: int) -> None:
        if size == 0:
            if self.depth == 0:
                self.first()
            return
        self.counted(size - 1)
        for left, right, depths in self.splits(size - 1):
            if (left, depths[0]) <= (right, depths[1]):
                self.conjunctions(left, right, depths)
                self.comparisons(left, right, depths)
            if self.space.fragment.subtract and self.keep:
                self.differences(left, right, depths)
        if self.space.fragment.conditional and self.keep:
            self.conditionals(size - 1)

    def splits(self, total: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield the sizes and depths of two parts, one of which has the greatest depth allowed."""
        for left in range(total + 1):
            for depths in itertools.product(range(self.space.depths), repeat=2):
                if max(depths) == self.depth:
                    yield left, total - left, (depths[0], depths[1])

    # What is made --------------------------------------------------------------------------------

    def first(self) -> None:
        """Make the expressions without operations."""
        space = self.space
        rows = self.sample.pack(np.array([self.sample.leaf(e) for e in space.leaves]))
        self.booleans(rows, lambda k: _made(k, LEAF, k))
        values = np.array([[c.value] for c in space.constants], space.dtype).reshape(-1, 1)
        counts = np.zeros((len(values), self.sample.width), space.dtype)
        counts[:, : self.sample.size] = values
        self.count_rows(counts, space.keys_of_counts(counts), lambda k: _made(k, LEAF, k))

    def counted(self, size: int) -> None:
        """Count Booleans, and test whether they ever held."""
        space, below = self.space, self.depth - self.space.deeper
        if below < 0:
            return
        level = space.levels[size, below].booleans
        for start in range(level.start, level.stop, BLOCK // 4):
            stop = min(start + BLOCK // 4, level.stop)
            held = self.sample.unpack(space.booleans.rows.all[start:stop])
            for negated_, (mask, distances) in itertools.product(
                (0, 1), enumerate(space.fragment.masks)
            ):
                counts = self.sample.count(held ^ bool(negated_), distances, space.dtype)
                number = lambda k, s=start, n=negated_: 2 * (s + k) + n
                made = lambda k, op, f=number, m=mask: _made(k, op, f(k), m)
                self.booleans(self.sample.packed(counts > 0), lambda k, made=made: made(k, EXISTS))
                if self.keep:
                    keys = space.keys_of_counts(counts)
                    self.count_rows(counts, keys, lambda k, made=made: made(k, COUNT))

    def conjunctions(self, left: int, right: int, depths: tuple[int, int]) -> None:
        """Join Booleans, negated or not."""
        space, rows, full = self.space, self.space.booleans.rows, self.sample.full
        first, second = (
            space.levels[at].booleans for at in zip((left, right), depths, strict=True)
        )
        for at, (a, b) in _blocks(first, second):
            x, y = rows.all[a][:, None], rows.all[b][None]
            for op, found in ((AND, x & y), (AND_NOT, x & ~y), (NOT_AND, ~x & y), (OR, x | y)):
                found = found.reshape(-1, self.sample.words)
                self.booleans(found & full, lambda k, at=at, op=op: _made(k, op, *at(k)))

    def comparisons(self, left: int, right: int, depths: tuple[int, int]) -> None:
        """Compare counts, and add them."""
        space, rows = self.space, self.space.counts.rows
        places = zip((left, right), depths, strict=True)
        first, second = (space.levels[at].counts for at in places)
        for at, (a, b) in _blocks(first, second):
            x, y = rows.all[a], rows.all[b]
            most = self.sample.packed((x[:, None] <= y[None]).reshape(-1, self.sample.width))
            least = self.sample.packed((x[:, None] >= y[None]).reshape(-1, self.sample.width))
            for op, found in ((AT_MOST, most), (AT_LEAST, least), (EQUAL, most & least)):
                self.booleans(found & self.sample.full,
                              lambda k, at=at, op=op: _made(k, op, *at(k)))  # fmt: skip
            if self.keep:
                keys = (space.count_keys[a][:, None] + space.count_keys[b][None]).reshape(-1)
                self.sums(keys, at, ADD)

    def differences(self, left: int, right: int, depths: tuple[int, int]) -> None:
        """Subtract counts."""
        space = self.space
        places = zip((left, right), depths, strict=True)
        first, second = (space.levels[at].counts for at in places)
        for at, (a, b) in _blocks(first, second, ordered=True):
            keys = (space.count_keys[a][:, None] - space.count_keys[b][None]).reshape(-1)
            self.sums(keys, at, SUBTRACT)

    def conditionals(self, total: int) -> None:
        """Choose between counts by a Boolean."""
        space, sample = self.space, self.sample
        sizes = itertools.product(range(total + 1), repeat=3)
        depths = list(itertools.product(range(space.depths), repeat=3))
        for (p, q, r), ds in itertools.product(sizes, depths):
            if p + q + r != total or max(ds) != self.depth:
                continue
            condition = space.levels[p, ds[0]].booleans
            yes, no = space.levels[q, ds[1]].counts, space.levels[r, ds[2]].counts
            for number in range(condition.start, condition.stop):
                held = np.zeros(sample.width, bool)
                held[: sample.size] = sample.unpack(space.booleans.rows.all[number][None])[0]
                for at, (a, b) in _blocks(yes, no, ordered=True):
                    rows = space.counts.rows.all
                    found = np.where(held, rows[a][:, None], rows[b][None])
                    found = found.reshape(-1, sample.width)
                    made = lambda k, at=at, n=number: _made(k, IF, np.full(len(k), n), *at(k))
                    self.count_rows(found, space.keys_of_counts(found), made)

    # What is new ---------------------------------------------------------------------------------

    def booleans(self, words: Words, made: Callable) -> None:
        """Show Booleans, and keep the new ones."""
        self.compared += len(words)
        true_first = (words[:, :1] & np.uint64(1)).astype(bool)
        words = np.where(true_first, words ^ self.sample.full, words)
        if not self.keep:
            self.see(words, made)
            return
        space = self.space
        keys = space.boolean_keys(words)
        if self.sample.words > 1:
            space.booleans.check(keys, self.depth, words)
        new = space.booleans.unknown(keys, self.depth)
        before = len(space.booleans)
        space.booleans.extend(keys[new], self.depth, words[new], made(new))
        if len(space.booleans) > before:
            fresh = space.booleans.made.all[before:]
            self.see(space.booleans.rows.all[before:], lambda k: fresh[k])

    def count_rows(self, rows: np.ndarray, keys: Keys, made: Callable) -> None:
        """Keep the new counts."""
        self.compared += len(rows)
        counts = self.space.counts
        counts.check(keys, self.depth, rows)
        new = counts.unknown(keys, self.depth)
        self.extend(keys[new], rows[new], made(new))

    def sums(self, keys: Keys, at: Callable, op: int) -> None:
        """Keep the new sums or differences; rows are computed only for these, and for checks."""
        self.compared += len(keys)
        counts = self.space.counts
        numbers = counts.tables[self.depth].find(keys)
        sign = 1 if op == ADD else -1

        def rows(k: np.ndarray) -> np.ndarray:
            a, b = at(k)
            return counts.rows.all[a] + sign * counts.rows.all[b]

        known, new = np.flatnonzero(numbers >= 0), np.flatnonzero(numbers < 0)
        if (counts.rows.all[numbers[known]] != rows(known)).any():
            raise ClashError
        self.extend(keys[new], rows(new), _made(new, op, *at(new)))

    def extend(self, keys: Keys, rows: np.ndarray, made: np.ndarray) -> None:
        space, before = self.space, len(self.space.counts)
        space.counts.extend(keys, self.depth, rows, made)
        if len(space.counts) > before:
            space.hold_keys(before)


def _blocks(
    left: slice, right: slice, ordered: bool = False
) -> Iterator[tuple[Callable, tuple[slice, slice]]]:
    """Yield blocks of pairs: a function from indices in the block to pairs, and the rows of each.

    If both sides have the same rows and order does not matter, the blocks below the diagonal are
    left out.
    """
    wide = min(right.stop - right.start, BLOCK)
    if not wide:
        return
    tall = max(1, BLOCK // wide)
    for i in range(left.start, left.stop, tall):
        a = slice(i, min(i + tall, left.stop))
        for j in range(i if left == right and not ordered else right.start, right.stop, wide):
            b = slice(j, min(j + wide, right.stop))

            def at(k: np.ndarray, a: slice = a, b: slice = b) -> tuple[np.ndarray, np.ndarray]:
                return a.start + k // (b.stop - b.start), b.start + k % (b.stop - b.start)

            yield at, (a, b)


def _made(k: np.ndarray, op: int, *parts: int | np.ndarray) -> Int[np.ndarray, "rows 4"]:
    found = np.zeros((len(k), 4), np.int32)
    found[:, 0] = op
    for place, part in enumerate(parts, 1):
        found[:, place] = part
    return found
