"""The distinct behaviours found so far: their rows, how each was made, and a hash table."""

import numpy as np
from jaxtyping import Int, Shaped, UInt64

Keys = UInt64[np.ndarray, " keys"]
Numbers = Int[np.ndarray, " keys"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class ClashError(Exception):
    """Two behaviours have the same key; other random keys would tell them apart."""


class Table:
    """A hash table from 64-bit keys to numbers, with open addressing and batched operations."""

    def __init__(self):
        self.held = 0
        self._make(2**12)

    def _make(self, size: int) -> None:
        self.keys, self.numbers = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
        self.shift, self.mask = np.uint64(64 - size.bit_length() + 1), size - 1

    def _home(self, keys: Keys) -> Numbers:
        return ((keys * GOLDEN) >> self.shift).astype(np.int64)

    def find(self, keys: Keys) -> Numbers:
        """Return the number of each key, and -1 for an unknown one."""
        found = np.full(len(keys), -1, np.int32)
        left, slot = np.arange(len(keys)), self._home(keys)
        while len(left):
            numbers, same = self.numbers[slot], self.keys[slot] == keys[left]
            hit = same & (numbers >= 0)
            found[left[hit]] = numbers[hit]
            further = ~same & (numbers >= 0)
            left, slot = left[further], slot[further] + 1 & self.mask
        return found

    def add(self, keys: Keys, numbers: Numbers) -> None:
        """Insert keys, which are all new and distinct."""
        if 2 * (self.held + len(keys)) > len(self.keys):
            there = self.numbers >= 0
            old = self.keys[there], self.numbers[there]
            self.held, size = 0, len(self.keys)
            while 4 * (len(old[0]) + len(keys)) > size:
                size *= 2
            self._make(size)
            self.add(*old)
        self.held += len(keys)
        slot = self._home(keys)
        while len(keys):
            free = self.numbers[slot] < 0
            self.keys[slot[free]], self.numbers[slot[free]] = keys[free], numbers[free]
            left = (self.keys[slot] != keys) | (self.numbers[slot] != numbers)
            keys, numbers, slot = keys[left], numbers[left], slot[left] + 1 & self.mask


class Rows:
    """An array that grows by rows."""

    def __init__(self, width: int, dtype: np.dtype | type):
        self.length, self._data = 0, np.zeros((256, width), dtype)

    def __len__(self) -> int:
        return self.length

    @property
    def all(self) -> Shaped[np.ndarray, "rows width"]:
        """The rows so far."""
        return self._data[: self.length]

    def extend(self, rows: Shaped[np.ndarray, "more width"]) -> None:
        """Add rows at the end."""
        needed = self.length + len(rows)
        if needed > len(self._data):
            bigger = np.zeros((max(needed, 2 * len(self._data)), rows.shape[1]), self._data.dtype)
            bigger[: self.length] = self.all
            self._data = bigger
        self._data[self.length : needed] = rows
        self.length = needed


MADE = 4
"""Numbers that say how a row was made: the operation, and up to three parts."""


class Bank:
    """Distinct behaviours, each with the least depth of counting at which it is found.

    `rows` are the behaviours, and `made` says how each was made. A behaviour found at depth d is
    known at all greater depths. Keys lead to a row; the rows themselves decide whether two
    behaviours are equal.
    """

    def __init__(self, width: int, dtype: np.dtype | type, depths: int):
        self.rows, self.made = Rows(width, dtype), Rows(MADE, np.int32)
        self.tables = [Table() for _ in range(depths)]

    def __len__(self) -> int:
        return len(self.rows)

    def unknown(self, keys: Keys, depth: int) -> Int[np.ndarray, " places"]:
        """Return the indices of the keys that are not known at a depth."""
        return np.flatnonzero(self.tables[depth].find(keys) < 0)

    def check(self, keys: Keys, depth: int, rows: Shaped[np.ndarray, "keys width"]) -> None:
        """Raise a `ClashError` if a known key belongs to another behaviour."""
        numbers = self.tables[depth].find(keys)
        known = numbers >= 0
        if (self.rows.all[numbers[known]] != rows[known]).any():
            raise ClashError

    def extend(
        self,
        keys: Keys,
        depth: int,
        rows: Shaped[np.ndarray, "keys width"],
        made: Int[np.ndarray, "keys parts"],
    ) -> None:
        """Add behaviours that are not known at a depth, without duplicates."""
        unique, first, place = np.unique(keys, return_index=True, return_inverse=True)
        if (rows[first][place] != rows).any():
            raise ClashError
        numbers = np.arange(len(self), len(self) + len(unique), dtype=np.int32)
        self.rows.extend(rows[first])
        self.made.extend(made[first])
        self.hold(unique, depth, numbers)

    def hold(self, keys: Keys, depth: int, numbers: Numbers) -> None:
        """Make rows known from a given depth."""
        for table in self.tables[depth:]:
            new = table.find(keys) < 0
            table.add(keys[new], numbers[new])
