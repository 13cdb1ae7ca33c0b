"""Expressions of C-RASP[periodic, local] (limit paper, Definition 8).

An expression has a value at every position of a string: a truth value (`Boolean`) or an integer
(`Count`). The operations of the definition are the core; what the paper adds as notation (or,
exists, constants, other comparisons, the strict mask) has nodes of its own, so that a program
prints as it was written, and `Program.core` writes it out.
"""

import dataclasses
import numbers
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

Kind: TypeAlias = Literal["Boolean", "count"]


class ProgramError(ValueError):
    """A program that does not parse or does not type.

    **Fields:** `line` and `column`, from 1, where the program was text; else None.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None):
        self.line, self.column = line, column
        super().__init__(message if line is None else f"line {line}, column {column}: {message}")


class Expression:
    """What all expressions share. `kind` is `"Boolean"` or `"count"`."""

    kind: Kind

    @property
    def parts(self) -> tuple["Expression", ...]:
        """The expressions that this one is made of."""
        fields = (getattr(self, f.name) for f in dataclasses.fields(self))  # type: ignore[arg-type]
        return tuple(v for v in fields if isinstance(v, Expression))

    def __bool__(self) -> bool:
        raise ProgramError(
            "an expression is neither true nor false in Python: write &, | and ~ for `and`, `or` "
            "and `not`, and (1 <= A) & (A <= 3) for 1 <= A <= 3."
        )


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression's parts and itself, inner ones first."""
    for part in expression.parts:
        yield from walk(part)
    yield expression


@dataclasses.dataclass(frozen=True)
class Definition:
    """One line of a program: `name(i) := expression`."""

    name: str
    expression: Expression


class Boolean(Expression):
    """True or false at every position; combined by `&`, `|` and `~`."""

    kind: Kind = "Boolean"

    def __and__(self, other: "Boolean") -> "And":
        return And(self, other)

    def __or__(self, other: "Boolean") -> "Or":
        return Or(self, other)

    __rand__, __ror__ = __and__, __or__  # with a Python value, which And and Or refuse

    def __invert__(self) -> "Not":
        return Not(self)

    def then(self, yes: "Count | int", no: "Count | int") -> "If":
        """Return the conditional `self ? yes : no`."""
        return If(self, number(yes), number(no))


class Count(Expression):
    """An integer at every position; integers join in by themselves.

    `<=`, `<`, `>=` and `>` make a comparison; equality is `equals`, since `==` compares programs.
    """

    kind: Kind = "count"

    def __add__(self, other: "Count | int") -> "Add":
        return Add(self, number(other))

    def __radd__(self, other: int) -> "Add":
        return Add(number(other), self)

    def __sub__(self, other: "Count | int") -> "Subtract":
        return Subtract(self, number(other))

    def __rsub__(self, other: int) -> "Subtract":
        return Subtract(number(other), self)

    def __rmul__(self, other: int) -> "Times":
        return Times(other, self)

    def __le__(self, other: "Count | int") -> "Compare":
        return Compare("<=", self, number(other))

    def __lt__(self, other: "Count | int") -> "Compare":
        return Compare("<", self, number(other))

    def __ge__(self, other: "Count | int") -> "Compare":
        return Compare(">=", self, number(other))

    def __gt__(self, other: "Count | int") -> "Compare":
        return Compare(">", self, number(other))

    def equals(self, other: "Count | int") -> "Compare":
        """Return the comparison `self = other`."""
        return Compare("=", self, number(other))


def _expect(node: Expression, **kinds: type) -> None:
    """Raise a `ProgramError` where a field is no expression of its kind."""
    for name, wanted in kinds.items():
        found = getattr(node, name)
        if not isinstance(found, wanted):
            what = f"a {found.kind}" if isinstance(found, Expression) else repr(found)
            need = {"Count": "count"}.get(wanted.__name__, wanted.__name__)
            where = type(node).__name__
            hint = "; equality is A.equals(B)" if isinstance(found, bool) else ""
            raise ProgramError(f"{where} needs a {need} as its {name}, not {what}{hint}.")


def _integer(what: str, value: Any) -> int:
    """Return a whole number, or raise a `ProgramError`."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or value % 1 != 0:
        raise ProgramError(f"{what} is a whole number, not {value!r}.")
    return int(value)


def _integers(what: str, values: Any) -> frozenset[int]:
    if not isinstance(values, Iterable):
        raise ProgramError(f"{what}s are a set of whole numbers, not {values!r}.")
    return frozenset(_integer(what, v) for v in values)


def _truth(what: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ProgramError(f"{what} is True or False, not {value!r}.")
    return bool(value)


# Definition 8 ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Symbol(Boolean):
    """Q_symbol: whether the position holds this symbol."""

    symbol: str


@dataclasses.dataclass(frozen=True)
class Periodic(Boolean):
    """Whether the position, counted from 1, is one of `residues` modulo `modulus`."""

    modulus: int
    residues: frozenset[int]

    def __post_init__(self):
        object.__setattr__(self, "modulus", _integer("a modulus", self.modulus))
        if self.modulus < 1:
            raise ProgramError(f"a modulus is 1 or more, not {self.modulus}.")
        residues = _integers("a residue", self.residues)
        if not residues:
            raise ProgramError("a periodic relation needs a residue; `false` holds nowhere.")
        object.__setattr__(self, "residues", frozenset(r % self.modulus for r in residues))


@dataclasses.dataclass(frozen=True)
class Truth(Boolean):
    """The constant true (or, as sugar, false)."""

    value: bool = True

    def __post_init__(self):
        object.__setattr__(self, "value", _truth("a truth value", self.value))


@dataclasses.dataclass(frozen=True)
class Not(Boolean):
    """The negation."""

    inner: Boolean

    def __post_init__(self):
        _expect(self, inner=Boolean)


@dataclasses.dataclass(frozen=True)
class And(Boolean):
    """The conjunction."""

    left: Boolean
    right: Boolean

    def __post_init__(self):
        _expect(self, left=Boolean, right=Boolean)


COMPARISONS = ("<=", "<", ">=", ">", "=", "!=")


@dataclasses.dataclass(frozen=True)
class Compare(Boolean):
    """A comparison of two counts; `<=` is the core, the others are sugar."""

    relation: str
    left: Count
    right: Count

    def __post_init__(self):
        _expect(self, left=Count, right=Count)
        if self.relation not in COMPARISONS:
            raise ProgramError(f"a comparison is one of {COMPARISONS}, not {self.relation!r}.")


@dataclasses.dataclass(frozen=True)
class Counting(Count):
    """#[j <= i, psi(i, j)] body(j), the number of positions to the left where the body holds.

    **Arguments:** `offsets`: the distances i - j >= 0 that the local relation psi allows, or None
    for all; `strict`: count j < i only (sugar, Proposition 39).
    """

    body: Boolean
    offsets: frozenset[int] | None = None
    strict: bool = False

    def __post_init__(self):
        _expect(self, body=Boolean)
        object.__setattr__(self, "strict", _truth("strict", self.strict))
        if self.offsets is None:
            return
        object.__setattr__(self, "offsets", _integers("a distance", self.offsets))
        if not self.offsets or min(self.offsets) < 0:
            raise ProgramError(
                f"a local relation allows some distances i - j >= 0, not {sorted(self.offsets)}."
            )


@dataclasses.dataclass(frozen=True)
class If(Count):
    """The conditional `condition ? yes : no`."""

    condition: Boolean
    yes: Count
    no: Count

    def __post_init__(self):
        _expect(self, condition=Boolean, yes=Count, no=Count)


@dataclasses.dataclass(frozen=True)
class Add(Count):
    """The sum."""

    left: Count
    right: Count

    def __post_init__(self):
        _expect(self, left=Count, right=Count)


@dataclasses.dataclass(frozen=True)
class Subtract(Count):
    """The difference."""

    left: Count
    right: Count

    def __post_init__(self):
        _expect(self, left=Count, right=Count)


@dataclasses.dataclass(frozen=True)
class Integer(Count):
    """A constant; 1 is the core, all others are sugar."""

    value: int

    def __post_init__(self):
        object.__setattr__(self, "value", _integer("a constant count", self.value))


@dataclasses.dataclass(frozen=True)
class BooleanRef(Boolean):
    """The value of an earlier Boolean definition."""

    name: str


@dataclasses.dataclass(frozen=True)
class CountRef(Count):
    """The value of an earlier count definition."""

    name: str


# Sugar -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Or(Boolean):
    """The disjunction: not (not left and not right)."""

    left: Boolean
    right: Boolean

    def __post_init__(self):
        _expect(self, left=Boolean, right=Boolean)


@dataclasses.dataclass(frozen=True)
class Exists(Boolean):
    """Whether the body holds somewhere to the left: a counting of 1 or more (appendix C.1.4)."""

    body: Boolean
    offsets: frozenset[int] | None = None
    strict: bool = False

    def __post_init__(self):
        made = self.counting()
        object.__setattr__(self, "offsets", made.offsets)
        object.__setattr__(self, "strict", made.strict)

    def counting(self) -> Counting:
        """Return the counting that is compared with 1."""
        return Counting(self.body, self.offsets, self.strict)


@dataclasses.dataclass(frozen=True)
class Times(Count):
    """A count an integer number of times: a repeated sum."""

    factor: int
    count: Count

    def __post_init__(self):
        object.__setattr__(self, "factor", _integer("a factor", self.factor))
        _expect(self, count=Count)


def number(value: Count | int) -> Count:
    """Return a count as it is, an integer as a constant."""
    return value if isinstance(value, Count) else Integer(value)
