"""Observers that pick, from the Booleans enumerated, those that answer a question."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Int, UInt64

from theorykit.subjects.crasp._search._sample import Sample

Words = UInt64[np.ndarray, "rows words"]
Made = Callable[[np.ndarray], Int[np.ndarray, "rows 4"]]


class Goal:
    """A wanted Boolean, the nodes where it matters, and the first match.

    **Fields:** `target`, `care`: packed; `made`: how the match was made, or None; `negate`: whether
    its negation is meant.
    """

    def __init__(self, sample: Sample, truths: Int[np.ndarray, " nodes"]):
        self.target, self.care = sample.pack(np.stack([truths == 1, truths >= 0]))
        self.made: np.ndarray | None = None
        self.negate = False

    def see(self, words: Words, made: Made) -> None:
        """Process Booleans, each of which also stands for its negation."""
        if self.made is not None:
            return
        differ = (words ^ self.target) & self.care
        for negate, wrong in ((False, differ), (True, differ ^ self.care)):
            right = ~wrong.any(1)
            if right.any():
                self.made, self.negate = made(np.flatnonzero(right)[:1])[0], negate
                return


class Tally:
    """The Boolean with the fewest errors on labelled strings, some labels perhaps wrong.

    **Arguments:** `yes`, `no`: how often each node has each label. **Fields:** `errors`: the errors
    of the best so far.
    """

    def __init__(self, sample: Sample, yes: Sequence[int], no: Sequence[int]):
        ayes, noes = np.array(yes), np.array(no)
        self.floor = int(np.minimum(ayes, noes).sum())
        self.target = sample.pack((ayes > noes)[None])[0]
        margin = np.abs(ayes - noes)
        bits = range(int(margin.max(initial=1)).bit_length())
        self.planes = [sample.pack((margin >> b & 1 == 1)[None])[0] for b in bits]
        self.total = int(margin.sum())
        self.errors = self.floor + self.total + 1
        self.made: np.ndarray | None = None
        self.negate = False

    def see(self, words: Words, made: Made) -> None:
        """Count the errors of Booleans, and of their negations."""
        differ = words ^ self.target
        wrong = np.zeros(len(words), int)
        for bit, plane in enumerate(self.planes):
            wrong += np.bitwise_count(differ & plane).sum(1).astype(int) << bit
        for negate, errors in ((False, wrong), (True, self.total - wrong)):
            if len(errors) and errors.min() + self.floor < self.errors:
                self.errors = int(errors.min()) + self.floor
                self.made, self.negate = made(np.flatnonzero(errors == errors.min())[:1])[0], negate
