"""All behaviours of expressions, by how many operations they take."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Int, Shaped, UInt64

from theorykit.subjects.crasp._search._bank import Bank, ClashError, Keys
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
"""Expressions that are looked at together."""

LEAF, AND, AND_NOT, NOT_AND, OR, AT_MOST, AT_LEAST, EQUAL, EXISTS, COUNT, ADD, SUBTRACT, IF = range(
    13
)
"""The operations, as `made` has them. AND_NOT is A and not B, NOT_AND is not A and B."""

_AND = {AND: (0, 0), AND_NOT: (0, 1), NOT_AND: (1, 0)}
_COMPARED = {AT_MOST: "<=", AT_LEAST: ">=", EQUAL: "="}
_MIRRORED = {"<=": ">=", ">=": "<=", "=": "="}
_OPPOSITE = {"<=": ">", ">": "<=", ">=": "<", "<": ">=", "=": "!=", "!=": "="}

Words = UInt64[np.ndarray, "rows words"]
See = Callable[[Words, Callable[[np.ndarray], Int[np.ndarray, "rows 4"]]], None]
"""What is shown Booleans, and a function from their places to how they were made."""


@dataclasses.dataclass
class Level:
    """Where the expressions of one size and depth stand in the two banks."""

    booleans: slice
    counts: slice


class Space:
    """Expressions of a fragment by size, one for each behaviour on a sample.

    A Boolean stands for its negation as well, which costs nothing: its row is the one of the two
    that is false at the empty string. `level(size)` makes all of a size, from smaller ones.

    **Arguments:** `most`: the largest size that will be asked for; `seed`: of the keys.
    """

    def __init__(self, fragment: Fragment, alphabet: Sequence[str], sample: Sample, most: int,
                 seed: int = 0):  # fmt: skip
        self.fragment, self.sample = fragment, sample
        self.leaves = list(fragment.leaves(alphabet))
        self.constants = [Integer(c) for c in fragment.constants]
        self.depths = 1 if fragment.depth is None else fragment.depth + 1
        self.deeper = 0 if fragment.depth is None else 1
        largest = (most + 1) * max(sample.longest, *map(abs, fragment.constants), 1)
        self.dtype = np.dtype(next(d for d in (np.int8, np.int16, np.int32, np.int64)
                                   if largest <= np.iinfo(d).max))  # fmt: skip
        rng = np.random.default_rng(seed)
        odd = lambda n: rng.integers(0, 2**63, n, np.uint64) * np.uint64(2) + np.uint64(1)
        self.by_word, self.by_place = odd(sample.words), odd(sample.width)
        self.booleans = Bank(sample.words, np.uint64, self.depths)
        self.counts = Bank(sample.width, self.dtype, self.depths)
        self._held = np.zeros(0, np.uint64)
        self.levels: dict[tuple[int, int], Level] = {}
        self.sizes = 0  # levels below are made
        self.compared = 0

    # Keys ----------------------------------------------------------------------------------------

    def boolean_keys(self, words: Words) -> Keys:
        """Return a key for each Boolean: the one word that there is, or a mixture of several."""
        if self.sample.words == 1:
            return words[:, 0]
        mixed = (words * self.by_word).sum(1, dtype=np.uint64)
        return mixed ^ (mixed >> np.uint64(32))

    def keys_of_counts(self, rows: Shaped[np.ndarray, "rows width"]) -> Keys:
        """Return a key for each count, so that a sum has the sum of two keys."""
        found = np.zeros(len(rows), np.uint64)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK].astype(np.int64).view(np.uint64)
            found[start : start + BLOCK] = (part * self.by_place).sum(1, dtype=np.uint64)
        return found

    def hold_keys(self, start: int) -> None:
        """Hold the keys of counts from a row on."""
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

    def level(self, size: int, see: See, keep: bool = True) -> None:
        """Make all expressions of a size, and show each new Boolean.

        **Arguments:** `see`: is called with new Booleans, or where they are not kept with all;
        `keep`: whether larger ones will be made of these; else only Booleans are made.
        """
        for depth in range(self.depths):
            start = len(self.booleans), len(self.counts)
            maker = _Maker(self, depth, see, keep)
            maker.make(size)
            self.compared += maker.compared
            self.levels[size, depth] = Level(
                slice(start[0], len(self.booleans)), slice(start[1], len(self.counts))
            )
        if keep:
            self.sizes = size + 1

    def restore(self, size: int, depth: int, booleans: Words, booleans_made: np.ndarray,
                counts: np.ndarray, counts_made: np.ndarray) -> None:  # fmt: skip
        """Put a level back that was made before."""
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
        """Return a Boolean by how it was made, or its negation: that which is false at first."""
        op, a, b, _ = map(int, made)
        e: Boolean
        match op:
            case _ if op == LEAF:
                e = self.leaves[a]
            case _ if op in _AND:
                left, right = _AND[op]
                e = And(self.signed(2 * a + left), self.signed(2 * b + right))
            case _ if op == OR:
                e = Or(self.boolean(a), self.boolean(b))
            case _ if op in _COMPARED:
                e = compared(_COMPARED[op], self.count(a), self.count(b))
            case _:
                e = Exists(self.signed(a), self.fragment.masks[b])
        return negated(e) if self.at_start(e) else e

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

    def at_start(self, e: Boolean | Count) -> int:
        """Return the value of an expression at the empty string."""
        match e:
            case Integer(value):
                return value
            case Not(inner):
                return 1 - self.at_start(inner)
            case And(a, b):
                return self.at_start(a) & self.at_start(b)
            case Or(a, b):
                return self.at_start(a) | self.at_start(b)
            case Compare(relation, a, b):
                x, y = self.at_start(a), self.at_start(b)
                return {"<=": x <= y, ">=": x >= y, "=": x == y, "<": x < y, ">": x > y,
                        "!=": x != y}[relation]  # fmt: skip
            case Add(a, b):
                return self.at_start(a) + self.at_start(b)
            case Subtract(a, b):
                return self.at_start(a) - self.at_start(b)
            case If(p, a, b):
                return self.at_start(a if self.at_start(p) else b)
            case Exists() | Counting():
                return 0
        return int(self.sample.leaf(e)[0])  # type: ignore[arg-type]


def compared(relation: str, a: Count, b: Count) -> Compare:
    """Return a comparison, a constant to the right."""
    return Compare(_MIRRORED[relation], b, a) if isinstance(a, Integer) else Compare(relation, a, b)


def negated(e: Boolean) -> Boolean:
    """Return the negation of a Boolean, as it is written best."""
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
        """Yield the sizes and depths of two parts, of which one is as deep as may be."""
        for left in range(total + 1):
            for depths in itertools.product(range(self.space.depths), repeat=2):
                if max(depths) == self.depth:
                    yield left, total - left, depths

    # What is made --------------------------------------------------------------------------------

    def first(self) -> None:
        """Make what has no operation."""
        space = self.space
        rows = self.sample.pack(np.array([self.sample.leaf(e) for e in space.leaves]))
        self.booleans(rows, lambda k: _made(k, LEAF, k))
        values = np.array([[c.value] for c in space.constants], space.dtype).reshape(-1, 1)
        counts = np.zeros((len(values), self.sample.width), space.dtype)
        counts[:, : self.sample.size] = values
        self.count_rows(counts, space.keys_of_counts(counts), lambda k: _made(k, LEAF, k))

    def counted(self, size: int) -> None:
        """Count Booleans, and ask whether they ever held."""
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
        rows, full = self.space.booleans.rows, self.sample.full
        levels = [self.space.levels[s, d].booleans for s, d in zip((left, right), depths,
                                                                   strict=True)]  # fmt: skip
        for at, (a, b) in _blocks(*levels):
            x, y = rows.all[a][:, None], rows.all[b][None]
            for op, found in ((AND, x & y), (AND_NOT, x & ~y), (NOT_AND, ~x & y), (OR, x | y)):
                found = found.reshape(-1, self.sample.words)
                self.booleans(found & full, lambda k, at=at, op=op: _made(k, op, *at(k)))

    def comparisons(self, left: int, right: int, depths: tuple[int, int]) -> None:
        """Compare counts, and add them."""
        space, rows = self.space, self.space.counts.rows
        levels = [space.levels[s, d].counts for s, d in zip((left, right), depths, strict=True)]
        for at, (a, b) in _blocks(*levels):
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
        levels = [space.levels[s, d].counts for s, d in zip((left, right), depths, strict=True)]
        for at, (a, b) in _blocks(*levels):
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
                for at, (a, b) in _blocks(yes, no):
                    rows = space.counts.rows.all
                    found = np.where(held, rows[a][:, None], rows[b][None])
                    found = found.reshape(-1, sample.width)
                    made = lambda k, at=at, n=number: _made(k, IF, np.full(len(k), n), *at(k))
                    self.count_rows(found, space.keys_of_counts(found), made)

    # What is new ---------------------------------------------------------------------------------

    def booleans(self, words: Words, made: Callable) -> None:
        """Show Booleans, and keep those that are new."""
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
        """Keep counts that are new."""
        self.compared += len(rows)
        counts = self.space.counts
        counts.check(keys, self.depth, rows)
        new = counts.unknown(keys, self.depth)
        self.extend(keys[new], rows[new], made(new))

    def sums(self, keys: Keys, at: Callable, op: int) -> None:
        """Keep sums or differences that are new; rows are made for these only, and to check."""
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


def _blocks(left: slice, right: slice) -> Iterator[tuple[Callable, tuple[slice, slice]]]:
    """Yield blocks of pairs: which pair is at a place of the block, and the rows of each.

    Where both are the same rows, each pair comes once, apart from blocks on the diagonal.
    """
    wide = min(right.stop - right.start, BLOCK)
    if not wide:
        return
    tall = max(1, BLOCK // wide)
    for i in range(left.start, left.stop, tall):
        a = slice(i, min(i + tall, left.stop))
        for j in range(i if left == right else right.start, right.stop, wide):
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
