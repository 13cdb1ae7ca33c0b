"""Random programs, for tests."""

from collections.abc import Sequence

import numpy as np

from theorykit.common.arguments import affordable, as_alphabet, as_rng, flag, whole
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    COMPARISONS,
    Boolean,
    BooleanRef,
    Compare,
    Count,
    Counting,
    CountRef,
    Definition,
    Exists,
    If,
    Integer,
    Periodic,
    Symbol,
    Times,
    Truth,
)


def random_program(
    rng: np.random.Generator,
    alphabet: Sequence[str],
    lines: int = 6,
    *,
    periodic: bool = True,
    local: bool = True,
    farthest: int = 3,
    largest: int = 3,
) -> Program:
    """Return a program with random definitions; the last one is Boolean.

    **Arguments:** `lines`: the number of definitions; `periodic`, `local`: which positional
    relations may occur; `farthest`: bounds local distances, and moduli by one more; `largest`:
    bounds constants and factors.

    **Raises:** `ValueError` for an empty alphabet, or numbers below 1 (`largest`: below 0).
    """
    rng, alphabet = as_rng(rng), as_alphabet(alphabet)
    farthest, largest = whole("farthest", farthest, 1, 10**6), whole("largest", largest, 0, 10**9)
    lines, periodic, local = whole("lines", lines), flag("periodic", periodic), flag("local", local)
    affordable("a random program", lines, 10**6, "definitions")
    return _Maker(rng, alphabet, periodic, local, farthest, largest).program(lines)


class _Maker:
    def __init__(self, rng, alphabet, periodic, local, farthest, largest):
        self.rng, self.alphabet, self.periodic, self.local = rng, alphabet, periodic, local
        self.farthest, self.largest = farthest, largest
        self.names: dict[str, list[str]] = {"Boolean": [], "count": []}

    def program(self, lines: int) -> Program:
        definitions = []
        for number in range(1, lines + 1):
            last = number == lines
            e = self.boolean(2) if last or self.chance(0.4) else self.count(2)
            name = f"{'P' if isinstance(e, Boolean) else 'C'}{number}"
            self.names[e.kind].append(name)
            definitions.append(Definition(name, e))
        return Program(self.alphabet, tuple(definitions))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one_of(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def boolean(self, depth: int) -> Boolean:
        """Return a Boolean, preferring earlier definitions so that programs get deep."""
        if self.names["Boolean"] and self.chance(0.3):
            return BooleanRef(self.one_of(self.names["Boolean"]))
        if depth == 0 or self.chance(0.15):
            return self.leaf()
        inner = lambda: self.boolean(depth - 1)
        kind = self.one_of(["not", "and", "or", "exists", "compare", "compare", "compare"])
        if kind == "compare":
            return Compare(self.one_of(COMPARISONS), self.count(depth - 1), self.count(depth - 1))
        if kind == "exists":
            return Exists(inner(), self.offsets(), self.chance(0.3))
        return {"not": lambda: ~inner(), "and": lambda: inner() & inner()}.get(
            kind, lambda: inner() | inner()
        )()

    def leaf(self) -> Boolean:
        if self.periodic and self.chance(0.4):
            modulus = int(self.rng.integers(2, self.farthest + 2))
            size = int(self.rng.integers(1, modulus))
            return Periodic(
                modulus, frozenset(self.rng.choice(modulus, size, replace=False).tolist())
            )
        if self.chance(0.1):
            return Truth(self.chance(0.5))
        return Symbol(self.one_of(self.alphabet))

    def count(self, depth: int) -> Count:
        if self.names["count"] and self.chance(0.35):
            return CountRef(self.one_of(self.names["count"]))
        if depth == 0 or self.chance(0.1):
            return self.constant() if self.chance(0.4) else Counting(self.leaf())
        inner = lambda: self.count(depth - 1)
        kind = self.one_of(["count", "count", "count", "if", "sum", "difference", "times"])
        match kind:
            case "count":
                return Counting(self.boolean(depth - 1), self.offsets(), self.chance(0.2))
            case "if":
                return If(self.boolean(depth - 1), inner(), inner())
            case "sum":
                return inner() + inner()
            case "difference":
                return inner() - inner()
        return Times(int(self.rng.integers(-self.largest, self.largest + 1)), inner())

    def constant(self) -> Integer:
        return Integer(int(self.rng.integers(-self.largest, self.largest + 1)))

    def offsets(self) -> frozenset[int] | None:
        if not self.local or self.chance(0.6):
            return None
        size = int(self.rng.integers(1, 3))
        return frozenset(self.rng.choice(self.farthest + 1, size, replace=False).tolist())
