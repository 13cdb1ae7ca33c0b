"""The tree of prefixes of the chosen strings, on which programs are compared."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Int, UInt64

from theorykit.subjects.crasp._syntax import Boolean, Periodic, Symbol

String = tuple[str, ...]

WORD = 64


class Sample:
    """A prefix-closed set of strings: one node per string, the empty one first.

    The value of an expression at position i depends on the first i symbols only, so its values at
    all positions of all strings are one value per node: a *behaviour*. Behaviours of Booleans are
    packed into words of 64 bits; those of counts are rows of small integers. Both are padded to
    `width`.
    """

    def __init__(self, strings: Iterable[Sequence[str]]):
        found: dict[String, None] = {(): None}
        for string in strings:
            whole = tuple(string)
            found.update(dict.fromkeys(whole[:n] for n in range(1, len(whole) + 1)))
        self.strings = tuple(sorted(found, key=len))
        self.node = {s: n for n, s in enumerate(self.strings)}
        self.size = len(self.strings)
        self.words = -(-self.size // WORD)
        self.width = WORD * self.words
        self.parent = np.array([0, *(self.node[s[:-1]] for s in self.strings[1:])])
        self.longest = len(self.strings[-1])
        self.full = self.pack(np.ones((1, self.size), bool))[0]

    def pack(self, rows: Bool[np.ndarray, "rows nodes"]) -> UInt64[np.ndarray, "rows words"]:
        """Return truth values at nodes as words; padding is added if needed."""
        padded = np.zeros((len(rows), self.width), bool)
        padded[:, : rows.shape[1]] = rows
        return self.packed(padded)

    def packed(self, rows: Bool[np.ndarray, "rows width"]) -> UInt64[np.ndarray, "rows words"]:
        """Return padded truth values as words, keeping the padding."""
        bits = np.packbits(rows.reshape(-1), bitorder="little")
        return bits.view("<u8").astype(np.uint64, copy=False).reshape(len(rows), self.words)

    def unpack(self, words: UInt64[np.ndarray, "rows words"]) -> Bool[np.ndarray, "rows nodes"]:
        """Return truth values at nodes."""
        octets = np.ascontiguousarray(words.astype("<u8", copy=False)).view(np.uint8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        return bits[:, : self.size].astype(bool)

    def leaf(self, e: Boolean) -> Bool[np.ndarray, " nodes"]:
        """Return the values of a Boolean that takes no operation."""
        match e:
            case Symbol(symbol):
                return np.array([s[-1:] == (symbol,) for s in self.strings])
            case Periodic(modulus, residues):
                return np.array([len(s) % modulus in residues for s in self.strings])
        return np.ones(self.size, bool)

    def count(
        self,
        holds: Bool[np.ndarray, "rows nodes"],
        distances: frozenset[int] | None,
        dtype: np.dtype,
    ) -> Int[np.ndarray, "rows width"]:
        """Return how often Booleans held on the path to each node, or at some distances from it."""
        here = np.ascontiguousarray(holds.T).astype(dtype)
        here[0] = 0  # position 0 is not counted
        found = np.zeros((self.width, len(holds)), dtype)
        if distances is None:
            for node in range(1, self.size):
                np.add(found[self.parent[node]], here[node], out=found[node])
        else:
            back = np.arange(self.size)  # the root is its own parent; nothing is counted there
            for distance in range(min(max(distances), self.longest) + 1):
                if distance in distances:
                    found[: self.size] += here[back]
                back = self.parent[back]
        return np.ascontiguousarray(found.T)
