"""Expressions of C-RASP[periodic, local] (limit paper, Definition 8).

An expression has a value at every position of a string: a truth value (`Boolean`) or an integer
(`Count`). The operations of the definition are the core. The paper's further notation (or, exists,
constants, other comparisons, the strict mask) has nodes of its own, so that a program prints as it
was written; `Program.core` expands it.
"""

import dataclasses
import numbers
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from theorykit.common.arguments import shown
from theorykit.common.deep import Deep, deep

Kind: TypeAlias = Literal["Boolean", "count"]


class ProgramError(ValueError):
    """A program that does not parse or is not well typed.

    **Fields:** `line` and `column`, from 1, if the program was text; else None.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None):
        self.line, self.column = line, column
        super().__init__(message if line is None else f"line {line}, column {column}: {message}")


class Expression:
    """The base class of expressions. `kind` is `"Boolean"` or `"count"`."""

    kind: Kind

    @property
    def parts(self) -> tuple["Expression", ...]:
        """The direct subexpressions."""
        return tuple(v for v in vars(self).values() if isinstance(v, Expression))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self is other or _spelled(self) == _spelled(other)

    def __hash__(self) -> int:
        return hash(_spelled(self))

    def __repr__(self) -> str:
        return deep(_shown(self))

    def __bool__(self) -> bool:
        raise ProgramError(
            "an expression is neither true nor false in Python: write &, | and ~ for `and`, `or` "
            "and `not`, and (1 <= A) & (A <= 3) for 1 <= A <= 3."
        )


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield all subexpressions and the expression itself, inner ones first."""
    waiting = [(expression, False)]
    while waiting:
        node, opened = waiting.pop()
        parts = () if opened else node.parts
        if parts:
            waiting.append((node, True))
            waiting.extend((part, False) for part in reversed(parts))
        else:
            yield node


def _spelled(expression: Expression) -> tuple:
    """Return an expression flattened to a tuple, equal for equal expressions only."""
    return tuple(
        (type(node), *(v for v in vars(node).values() if not isinstance(v, Expression)))
        for node in walk(expression)
    )


def _shown(expression: Expression) -> Deep[str]:
    """Return an expression as Python code."""
    written = []
    for name, value in vars(expression).items():
        text = (yield _shown(value)) if isinstance(value, Expression) else repr(value)
        written.append(f"{name}={text}")
    return f"{type(expression).__name__}({', '.join(written)})"


Node = TypeVar("Node")


@dataclass_transform(frozen_default=True)
def _node(cls: type[Node]) -> type[Node]:
    """Make a dataclass that compares, hashes and prints at any depth of nesting."""
    return dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)


@dataclasses.dataclass(frozen=True)
class Definition:
    """One line of a program: `name(i) := expression`."""

    name: str
    expression: Expression


class Boolean(Expression):
    """True or false at every position; combined with `&`, `|` and `~`."""

    kind: Kind = "Boolean"

    def __and__(self, other: "Boolean") -> "And":
        return And(self, other)

    def __or__(self, other: "Boolean") -> "Or":
        return Or(self, other)

    __rand__, __ror__ = __and__, __or__  # And and Or refuse Python values

    def __invert__(self) -> "Not":
        return Not(self)

    def then(self, yes: "Count | int", no: "Count | int") -> "If":
        """Return the conditional `self ? yes : no`."""
        return If(self, number(yes), number(no))


class Count(Expression):
    """An integer at every position; Python integers are converted.

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

    def __mul__(self, other: int) -> "Times":
        raise ProgramError("a factor comes before its count: 2 * A, not A * 2.")

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
    """Raise a `ProgramError` if a field is not an expression of the right kind."""
    for name, wanted in kinds.items():
        found = getattr(node, name)
        if not isinstance(found, wanted):
            what = f"a {found.kind}" if isinstance(found, Expression) else shown(found)
            need = {"Count": "count"}.get(wanted.__name__, wanted.__name__)
            where = type(node).__name__
            hint = "; equality is A.equals(B)" if isinstance(found, bool) else ""
            raise ProgramError(f"{where} needs a {need} as its {name}, not {what}{hint}.")


def _integer(what: str, value: Any) -> int:
    """Return a whole number, or raise a `ProgramError`."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not value % 1 == 0:
        raise ProgramError(f"{what} is a whole number, not {shown(value)}.")
    return int(value)


def _integers(what: str, values: Any) -> frozenset[int]:
    if not isinstance(values, Collection) or isinstance(values, str | bytes | Mapping):
        raise ProgramError(f"{what}s form a set of whole numbers, not {shown(values)}.")
    return frozenset(_integer(what, v) for v in values)


def _truth(what: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ProgramError(f"{what} is True or False, not {shown(value)}.")
    return bool(value)


# Definition 8 ----------------------------------------------------------------------------------


@_node
class Symbol(Boolean):
    """Q_symbol: whether the position holds this symbol."""

    symbol: str

    def __post_init__(self):
        if not isinstance(self.symbol, str):
            raise ProgramError(f"a symbol is text, not {shown(self.symbol)}.")


@_node
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


@_node
class Truth(Boolean):
    """The constant true (or, as sugar, false)."""

    value: bool = True

    def __post_init__(self):
        object.__setattr__(self, "value", _truth("a truth value", self.value))


@_node
class Not(Boolean):
    """The negation."""

    inner: Boolean

    def __post_init__(self):
        _expect(self, inner=Boolean)


@_node
class And(Boolean):
    """The conjunction."""

    left: Boolean
    right: Boolean

    def __post_init__(self):
        _expect(self, left=Boolean, right=Boolean)


COMPARISONS = ("<=", "<", ">=", ">", "=", "!=")


@_node
class Compare(Boolean):
    """A comparison of two counts; `<=` is the core, the others are sugar."""

    relation: str
    left: Count
    right: Count

    def __post_init__(self):
        _expect(self, left=Count, right=Count)
        if self.relation not in COMPARISONS:
            raise ProgramError(f"a comparison is one of {COMPARISONS}, not {self.relation!r}.")


@_node
class Counting(Count):
    """#[j <= i, psi(i, j)] body(j), the number of positions j <= i where the body holds.

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


@_node
class If(Count):
    """The conditional `condition ? yes : no`."""

    condition: Boolean
    yes: Count
    no: Count

    def __post_init__(self):
        _expect(self, condition=Boolean, yes=Count, no=Count)


@_node
class Add(Count):
    """The sum."""

    left: Count
    right: Count

    def __post_init__(self):
        _expect(self, left=Count, right=Count)


@_node
class Subtract(Count):
    """The difference."""

    left: Count
    right: Count

    def __post_init__(self):
        _expect(self, left=Count, right=Count)


@_node
class Integer(Count):
    """A constant; 1 is core, all others are sugar."""

    value: int

    def __post_init__(self):
        object.__setattr__(self, "value", _integer("a constant count", self.value))


@_node
class BooleanRef(Boolean):
    """The value of an earlier Boolean definition."""

    name: str


@_node
class CountRef(Count):
    """The value of an earlier count definition."""

    name: str


# Sugar -----------------------------------------------------------------------------------------


@_node
class Or(Boolean):
    """The disjunction: not (not left and not right)."""

    left: Boolean
    right: Boolean

    def __post_init__(self):
        _expect(self, left=Boolean, right=Boolean)


@_node
class Exists(Boolean):
    """Whether the body holds at some position counted: a counting >= 1 (appendix C.1.4)."""

    body: Boolean
    offsets: frozenset[int] | None = None
    strict: bool = False

    def __post_init__(self):
        made = self.counting()
        object.__setattr__(self, "offsets", made.offsets)
        object.__setattr__(self, "strict", made.strict)

    def counting(self) -> Counting:
        """Return the counting that is compared to 1."""
        return Counting(self.body, self.offsets, self.strict)


@_node
class Times(Count):
    """An integer multiple of a count: a repeated sum."""

    factor: int
    count: Count

    def __post_init__(self):
        object.__setattr__(self, "factor", _integer("a factor", self.factor))
        _expect(self, count=Count)


def number(value: Count | int) -> Count:
    """Return a count unchanged, or an integer as a constant."""
    return value if isinstance(value, Count) else Integer(value)
