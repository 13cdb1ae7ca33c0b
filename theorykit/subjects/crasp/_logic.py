"""Two-variable majority logic (Definition 30), and programs as its formulas (Proposition 31).

Formulas are values; the two variables are `"x"` and `"y"`. Where the printed translation fails
(`proofs_numeric/limit/logic.py`), this one differs: a majority counts positions j <= i only, the
first position is the one that has no other before it, and a shift alternates the two variables.
"""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool

from theorykit.common.arguments import affordable, instance, shown
from theorykit.common.deep import Deep, deep
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
    """The conjunction of any number of formulas; the empty one is true."""

    parts: tuple["Formula", ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Exist:
    """There is a v."""

    v: str
    inner: "Formula"


@dataclasses.dataclass(frozen=True, eq=False)
class Maj:
    """Over all positions v and all parts, more than half hold."""

    v: str
    parts: tuple["Formula", ...]


Formula: TypeAlias = Holds | Mod | Less | Succ | No | All | Exist | Maj

TRUE: Formula = All(())
FALSE: Formula = No(TRUE)


def some(*parts: Formula) -> Formula:
    """Return a disjunction."""
    return No(All(tuple(No(p) for p in parts)))


def satisfies(word: Sequence[str], formula: Formula) -> Bool[np.ndarray, "n n"]:
    """Return where a formula holds, with x along rows and y along columns."""
    n = len(word)
    place = np.arange(1, n + 1)
    at = {"x": place[:, None], "y": place[None, :]}
    known: dict[int, np.ndarray] = {}

    def value(f: Formula) -> Deep[np.ndarray]:
        if id(f) not in known:
            known[id(f)] = np.broadcast_to((yield found(f)), (n, n))
        return known[id(f)]

    def values(parts: Sequence[Formula]) -> Deep[list[np.ndarray]]:
        all_values = []
        for part in parts:
            all_values.append((yield value(part)))
        return all_values

    def found(f: Formula) -> Deep[np.ndarray]:
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
                return ~(yield value(inner))
            case All(parts):
                each = yield values(parts)
                return np.asarray(functools.reduce(np.logical_and, each, np.array(True)))
            case Exist(v, inner):
                return np.asarray((yield value(inner)).any(_axis(v), keepdims=True))
            case Maj(v, parts):
                axis = _axis(v)
                each = yield values(parts)
                signs = [(2 * p.astype(int) - 1).sum(axis, keepdims=True) for p in each]
                return np.asarray(functools.reduce(np.add, signs, np.array(0)) > 0)
        raise ValueError(f"expected a formula of two-variable majority logic, got {shown(f)}.")
        yield

    return deep(value(formula))


def _axis(v: str) -> int:
    if v not in ("x", "y"):
        raise ValueError(f"the variables of a formula are x and y, got {shown(v)}.")
    return "xy".index(v)


def models(word: Sequence[str], formula: Formula) -> bool:
    """Whether a nonempty word satisfies a formula without free variables."""
    instance("a word", word, Sequence, "text or a sequence of symbols")
    if not word:
        raise ValueError("the translation is for nonempty words.")
    affordable("a formula at all pairs of positions", len(word) ** 2, 2**26)
    return bool(satisfies(word, formula)[0, 0])


def formula(program: Program) -> Formula:
    """Return a sentence that a nonempty word satisfies if and only if the program accepts it.

    **Raises:** `ValueError` for a program whose sentence is too long: a constant c takes c parts, a
    distance d takes d steps, and n local positions take 2^n cases.
    """
    instance("program", program, Program, "a Program")
    affordable("the sentence of this program", _parts(program), MOST, "parts")
    last = No(Exist("y", Less("x", "y")))
    return Exist("x", All((last, deep(_Translator(program).boolean(program.output, "x")))))


MOST = 10**6
"""The most parts of a sentence."""


def _parts(program: Program) -> int:
    """Return the approximate number of parts of the sentence."""
    cases: dict[str, int] = {}
    largest: dict[str, int] = {}  # bounds how often a counted Boolean is written, or 1
    total = 0
    for d in program.core.definitions:
        match d.expression:
            case Integer() | Counting(_, None):
                cases[d.name] = largest[d.name] = 1
            case Counting(_, offsets):
                far = sorted(offsets or ())
                cases[d.name], largest[d.name] = 2 ** min(len(far), 64), len(far)
                total += sum(far)
            case If(_, CountRef(a), CountRef(b)):
                cases[d.name] = cases[a] + cases[b]
                largest[d.name] = max(largest[a], largest[b])
            case Add(CountRef(a), CountRef(b)) | Subtract(CountRef(a), CountRef(b)):
                cases[d.name], largest[d.name] = cases[a] * cases[b], largest[a] + largest[b]
            case Compare("<=", CountRef(a), CountRef(b)):
                total += cases[a] * cases[b] * (largest[a] + largest[b])
            case Periodic(_, residues):
                total += len(residues)
        total += cases.get(d.name, 1)
    return total


@dataclasses.dataclass(frozen=True)
class _Case:
    """A count where a guard holds: an integer combination of countings, plus a constant."""

    guard: Formula
    counts: tuple[tuple[str, int], ...]
    constant: int


class _Translator:
    def __init__(self, program: Program):
        self.operations = {d.name: d.expression for d in program.core.definitions}
        self.formulas: dict[tuple[str, str], Formula] = {}

    def boolean(self, name: str, v: str) -> Deep[Formula]:
        """Return the formula of a Boolean operation with the free variable v."""
        if (name, v) not in self.formulas:
            self.formulas[name, v] = yield self.made(name, v)
        return self.formulas[name, v]

    def made(self, name: str, v: str) -> Deep[Formula]:
        match self.operations[name]:
            case Symbol(symbol):
                return Holds(symbol, v)
            case Periodic(modulus, residues):
                return some(*(Mod(modulus, r, v) for r in sorted(residues)))
            case Truth():
                return TRUE
            case Not(BooleanRef(a)):
                return No((yield self.boolean(a, v)))
            case And(BooleanRef(a), BooleanRef(b)):
                return All(((yield self.boolean(a, v)), (yield self.boolean(b, v))))
            case Compare("<=", CountRef(a), CountRef(b)):
                either: list[Formula] = []
                left, right = (yield self.cases(a, v)), (yield self.cases(b, v))
                for p, q in itertools.product(left, right):
                    either.append(All((p.guard, q.guard, (yield self.positive(p, q, v)))))
                return some(*either)
        raise TypeError(f"{name} is not a Boolean operation.")

    def positive(self, p: _Case, q: _Case, v: str) -> Deep[Formula]:
        """Return q - p + 1 > 0 as a majority over multiples of the counted Booleans."""
        total = dict(q.counts)
        for name, times in p.counts:
            total[name] = total.get(name, 0) - times
        w = OTHER[v]
        first = No(Exist(v, Less(v, w)))  # w is the first position, so it is counted once
        counted: list[tuple[Formula, int]] = [(first, q.constant - p.constant + 1)]
        for name, times in total.items():
            body = self.operations[name].parts[0].name  # type: ignore[attr-defined]
            counted.append(((yield self.boolean(body, w)), times))
        upto = No(Less(v, w))
        parts: list[Formula] = []
        for f, times in counted:
            f = All((f, upto))
            parts += [f, TRUE] * times if times > 0 else [No(f), FALSE] * -times
        return Maj(w, tuple(parts))

    def cases(self, name: str, v: str) -> Deep[list[_Case]]:
        """Return a count as cases, by the branches taken and the local positions that count."""
        match self.operations[name]:
            case Integer():
                return [_Case(TRUE, (), 1)]
            case Counting(_, None):
                return [_Case(TRUE, ((name, 1),), 0)]
            case Counting(BooleanRef(a), offsets):
                found = [_Case(TRUE, (), 0)]
                for d in sorted(offsets or ()):
                    there = yield self.shifted(a, d, v)
                    counted = [_Case(there, (), 1), _Case(No(there), (), 0)]
                    found = [_joined(p, q, 1) for p in found for q in counted]
                return found
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                guard = yield self.boolean(p, v)
                branches = (guard, (yield self.cases(a, v))), (No(guard), (yield self.cases(b, v)))
                return [
                    _Case(All((g, c.guard)), c.counts, c.constant)
                    for g, branch in branches
                    for c in branch
                ]
            case Add(CountRef(a), CountRef(b)) | Subtract(CountRef(a), CountRef(b)) as e:
                sign = 1 if isinstance(e, Add) else -1
                left, right = (yield self.cases(a, v)), (yield self.cases(b, v))
                return [_joined(p, q, sign) for p in left for q in right]
        raise TypeError(f"{name} is not a count operation.")

    def shifted(self, name: str, distance: int, v: str) -> Deep[Formula]:
        """Return whether a position `distance` before v exists and the Boolean holds there."""
        if distance == 0:
            return (yield self.boolean(name, v))
        w = OTHER[v]
        return Exist(w, All((Succ(w, v), (yield self.shifted(name, distance - 1, w)))))


def _joined(p: _Case, q: _Case, sign: int) -> _Case:
    total = dict(p.counts)
    for name, times in q.counts:
        total[name] = total.get(name, 0) + sign * times
    guard = All((p.guard, q.guard))
    return _Case(guard, tuple(total.items()), p.constant + sign * q.constant)
