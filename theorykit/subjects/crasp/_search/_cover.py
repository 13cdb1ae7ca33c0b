"""Programs joined from known Booleans: the smallest conjunctions and disjunctions found.

A conjunction is right if each part holds wherever the target does and some part fails at every
other node; this is a set cover. Pairs are tried in turn, and larger sets greedily, so the result
need not be the smallest.
"""

import dataclasses

import numpy as np
from jaxtyping import Int, UInt64

from theorykit.subjects.crasp._search._sample import Sample

Words = UInt64[np.ndarray, "rows words"]
Row = UInt64[np.ndarray, " words"]

PAIRS = 10**8
"""The most pairs of parts that are tried."""


@dataclasses.dataclass(frozen=True)
class Joined:
    """Booleans joined by `and`, or by `or`.

    **Fields:** `parts`: 2 n for the Boolean of row n, 2 n + 1 for its negation; `every`: whether
    they are joined by `and`; `size`: the total number of operations.
    """

    parts: tuple[int, ...]
    every: bool
    size: int


def joined(
    sample: Sample, words: Words, sizes: Int[np.ndarray, " rows"], target: Row, care: Row
) -> Joined | None:
    """Return a small conjunction or disjunction that equals the target wherever it matters."""
    found = []
    for every, goal in ((True, target), (False, ~target & sample.full)):
        cover = _Cover(sample, words, sizes, goal, care)
        for parts in (cover.pair(), cover.greedy()):
            if parts is not None:
                size = int(sum(cover.sizes[k] + 1 for k in parts)) - 1
                signed = tuple(int(cover.signed[k]) ^ (not every) for k in parts)
                found.append(Joined(signed, every, size))
    return min(found, key=lambda j: j.size, default=None)


class _Cover:
    """Booleans that hold wherever the target does, with the other nodes at which they fail."""

    def __init__(self, sample: Sample, words: Words, sizes: np.ndarray, target: Row, care: Row):
        self.sample, self.all = sample, ~target & care
        fails, signed, found = [], [], []
        for sign in (0, 1):
            x = words if sign == 0 else ~words & sample.full
            fit = np.flatnonzero(~(~x & target & care).any(1))
            fails.append(~x[fit] & self.all)
            signed.append(2 * fit + sign)
            found.append(sizes[fit])
        rows, self.signed = np.concatenate(fails), np.concatenate(signed)
        self.sizes = np.concatenate(found)
        order = np.argsort(self.sizes, kind="stable")
        order = order[rows[order].any(1)]
        _, first = np.unique(rows[order], axis=0, return_index=True)
        keep = order[np.sort(first)]
        self.fails, self.signed, self.sizes = rows[keep], self.signed[keep], self.sizes[keep]

    def possible(self) -> bool:
        """Return whether all of them together suffice."""
        return bool(len(self.fails)) and bool(
            (np.bitwise_or.reduce(self.fails, 0) == self.all).all()
        )

    def pair(self) -> tuple[int, ...] | None:
        """Return the smallest one or two that suffice."""
        if not self.possible():
            return None
        times = np.zeros(self.sample.size, int)
        for start in range(0, len(self.fails), 2**16):
            times += self.sample.unpack(self.fails[start : start + 2**16]).sum(0)
        hardest = np.where(self.sample.unpack(self.all[None])[0], times, len(self.fails) + 1)
        bit = self.sample.pack(np.arange(self.sample.size)[None] == hardest.argmin())[0]
        best: tuple[int, tuple[int, ...]] | None = None
        first = np.flatnonzero((self.fails & bit).any(1))[: max(1, PAIRS // len(self.fails))]
        for k in first.tolist():
            if best and self.sizes[k] >= best[0]:
                break
            left = self.all & ~self.fails[k]
            if not left.any():
                best = (int(self.sizes[k]), (k,))
                break
            others = np.flatnonzero(~(left & ~self.fails).any(1))  # smallest first
            if len(others):
                total = int(self.sizes[k] + self.sizes[others[0]] + 1)
                if best is None or total < best[0]:
                    best = total, (k, int(others[0]))
        return best[1] if best else None

    def greedy(self) -> tuple[int, ...] | None:
        """Return a set that suffices, greedily: each adds the most failing nodes for its size."""
        if not self.possible():
            return None
        left, chosen = self.all.copy(), list[int]()
        while left.any():
            gain = np.bitwise_count(self.fails & left).sum(1) / (self.sizes + 1)
            chosen.append(int(gain.argmax()))
            left &= ~self.fails[chosen[-1]]
        for k in sorted(chosen, key=lambda k: -self.sizes[k]):
            others = [m for m in chosen if m != k]
            if others and (np.bitwise_or.reduce(self.fails[others], 0) == self.all).all():
                chosen = others
        return tuple(sorted(chosen))
