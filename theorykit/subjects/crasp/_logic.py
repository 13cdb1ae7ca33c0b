"""Two-variable majority logic (Definition 30), and programs as its formulas (Proposition 31).

Formulas are values; the two variables are `"x"` and `"y"`. Where the printed translation fails
(`proofs_numeric/limit/logic.py`), this one differs: what a majority counts is kept to j <= i, the
first position is the one without another before it, and a shift alternates the two variables.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool

from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    BooleanRef,
    Compare,
    Counting,
    CountRef,
    If,
    Integer,
    Not,
    Periodic,
    Subtract,
    Symbol,
    Truth,
)

OTHER = {"x": "y", "y": "x"}


@dataclasses.dataclass(frozen=True, eq=False)
class Holds:
    """Q_symbol(v)."""

    symbol: str
    v: str


@dataclasses.dataclass(frozen=True, eq=False)
class Mod:
    """v = residue modulo `modulus`; positions count from 1."""

    modulus: int
    residue: int
    v: str


@dataclasses.dataclass(frozen=True, eq=False)
class Less:
    """v < w."""

    v: str
    w: str


@dataclasses.dataclass(frozen=True, eq=False)
class Succ:
    """v + 1 = w."""

    v: str
    w: str


@dataclasses.dataclass(frozen=True, eq=False)
class No:
    """The negation."""

    inner: "Formula"


@dataclasses.dataclass(frozen=True, eq=False)
class All:
    """The conjunction of any number; of none it is true."""

    parts: tuple["Formula", ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Exist:
    """There is a v."""

    v: str
    inner: "Formula"


@dataclasses.dataclass(frozen=True, eq=False)
class Maj:
    """Of all positions v and all parts, more hold than do not."""

    v: str
    parts: tuple["Formula", ...]


Formula: TypeAlias = Holds | Mod | Less | Succ | No | All | Exist | Maj

TRUE: Formula = All(())
FALSE: Formula = No(TRUE)


def some(*parts: Formula) -> Formula:
    """Return a disjunction."""
    return No(All(tuple(No(p) for p in parts)))


def satisfies(word: Sequence[str], formula: Formula) -> Bool[np.ndarray, "n n"]:
    """Return where a formula holds, x down and y across."""
    n = len(word)
    place = np.arange(1, n + 1)
    at = {"x": place[:, None], "y": place[None, :]}
    known: dict[int, np.ndarray] = {}

    def value(f: Formula) -> np.ndarray:
        if id(f) not in known:
            known[id(f)] = np.broadcast_to(found(f), (n, n))
        return known[id(f)]

    def found(f: Formula) -> np.ndarray:
        match f:
            case Holds(symbol, v):
                return np.asarray(np.array([s == symbol for s in word], bool)[at[v] - 1])
            case Mod(modulus, residue, v):
                return np.asarray(at[v] % modulus == residue % modulus)
            case Less(v, w):
                return np.asarray(at[v] < at[w])
            case Succ(v, w):
                return np.asarray(at[v] + 1 == at[w])
            case No(inner):
                return ~value(inner)
            case All(parts):
                return np.asarray(
                    functools.reduce(np.logical_and, map(value, parts), np.array(True))
                )
            case Exist(v, inner):
                return np.asarray(value(inner).any("xy".index(v), keepdims=True))
            case Maj(v, parts):
                axis = "xy".index(v)
                signs = [(2 * value(p).astype(int) - 1).sum(axis, keepdims=True) for p in parts]
                return np.asarray(functools.reduce(np.add, signs, np.array(0)) > 0)

    return value(formula)


def models(word: Sequence[str], formula: Formula) -> bool:
    """Whether a nonempty word satisfies a formula without free variables."""
    if not word:
        raise ValueError("the translation is for nonempty words.")
    return bool(satisfies(word, formula)[0, 0])


def formula(program: Program) -> Formula:
    """Return a sentence that a nonempty word satisfies if and only if the program accepts it."""
    last = No(Exist("y", Less("x", "y")))
    return Exist("x", All((last, _Translator(program).boolean(program.output, "x"))))


@dataclasses.dataclass(frozen=True)
class _Case:
    """A count where a guard holds: integer multiples of countings, and a constant."""

    guard: Formula
    counts: tuple[tuple[str, int], ...]
    constant: int


class _Translator:
    def __init__(self, program: Program):
        self.operations = {d.name: d.expression for d in program.core.definitions}
        self.formulas: dict[tuple[str, str], Formula] = {}

    def boolean(self, name: str, v: str) -> Formula:
        """Return the formula of a Boolean operation with the free variable v."""
        if (name, v) not in self.formulas:
            self.formulas[name, v] = self.made(name, v)
        return self.formulas[name, v]

    def made(self, name: str, v: str) -> Formula:
        match self.operations[name]:
            case Symbol(symbol):
                return Holds(symbol, v)
            case Periodic(modulus, residues):
                return some(*(Mod(modulus, r, v) for r in sorted(residues)))
            case Truth():
                return TRUE
            case Not(BooleanRef(a)):
                return No(self.boolean(a, v))
            case And(BooleanRef(a), BooleanRef(b)):
                return All((self.boolean(a, v), self.boolean(b, v)))
            case Compare("<=", CountRef(a), CountRef(b)):
                return some(
                    *(
                        All((p.guard, q.guard, self.positive(p, q, v)))
                        for p in self.cases(a, v)
                        for q in self.cases(b, v)
                    )
                )
        raise TypeError(f"{name} is no Boolean operation.")

    def positive(self, p: _Case, q: _Case, v: str) -> Formula:
        """Return q - p + 1 > 0, a majority over multiples of what is counted."""
        total = dict(q.counts)
        for name, times in p.counts:
            total[name] = total.get(name, 0) - times
        w = OTHER[v]
        first = No(Exist(v, Less(v, w)))  # w is the first position: it is counted once
        counted: list[tuple[Formula, int]] = [(first, q.constant - p.constant + 1)]
        for name, times in total.items():
            body = self.operations[name].parts[0].name  # type: ignore[attr-defined]
            counted.append((self.boolean(body, w), times))
        upto = No(Less(v, w))
        parts: list[Formula] = []
        for f, times in counted:
            f = All((f, upto))
            parts += [f, TRUE] * times if times > 0 else [No(f), FALSE] * -times
        return Maj(w, tuple(parts))

    def cases(self, name: str, v: str) -> list[_Case]:
        """Return a count as cases: which branches are taken, which local positions count."""
        match self.operations[name]:
            case Integer():
                return [_Case(TRUE, (), 1)]
            case Counting(_, None):
                return [_Case(TRUE, ((name, 1),), 0)]
            case Counting(BooleanRef(a), offsets):
                found = [_Case(TRUE, (), 0)]
                for d in sorted(offsets or ()):
                    there = self.shifted(a, d, v)
                    counted = [_Case(there, (), 1), _Case(No(there), (), 0)]
                    found = [_joined(p, q, 1) for p in found for q in counted]
                return found
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                guard = self.boolean(p, v)
                return [
                    _Case(All((g, c.guard)), c.counts, c.constant)
                    for g, branch in ((guard, a), (No(guard), b))
                    for c in self.cases(branch, v)
                ]
            case Add(CountRef(a), CountRef(b)):
                return [_joined(p, q, 1) for p in self.cases(a, v) for q in self.cases(b, v)]
            case Subtract(CountRef(a), CountRef(b)):
                return [_joined(p, q, -1) for p in self.cases(a, v) for q in self.cases(b, v)]
        raise TypeError(f"{name} is no count operation.")

    def shifted(self, name: str, distance: int, v: str) -> Formula:
        """Return whether there is a position `distance` before v, and the Boolean holds there."""
        if distance == 0:
            return self.boolean(name, v)
        w = OTHER[v]
        return Exist(w, All((Succ(w, v), self.shifted(name, distance - 1, w))))


def _joined(p: _Case, q: _Case, sign: int) -> _Case:
    total = dict(p.counts)
    for name, times in q.counts:
        total[name] = total.get(name, 0) + sign * times
    guard = All((p.guard, q.guard))
    return _Case(guard, tuple(total.items()), p.constant + sign * q.constant)
