"""Expressions and programs of C-RASP[periodic, local] (limit paper, Definition 8).

An expression has a value at every position of a string: a truth value (`Boolean`) or an integer
(`Count`). The operations of the definition are the core; what the paper adds as notation (or,
exists, constants, other comparisons, the strict mask) has nodes of its own, so that a program
prints as it was written, and `Program.expand` writes it out.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

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


class Boolean(Expression):
    """True or false at every position; combined by `&`, `|` and `~`."""

    kind: Kind = "Boolean"

    def __and__(self, other: "Boolean") -> "And":
        return And(self, other)

    def __or__(self, other: "Boolean") -> "Or":
        return Or(self, other)

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
            raise ProgramError(f"{where} needs a {need} as its {name}, not {what}.")


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
        if self.modulus < 1:
            raise ProgramError(f"a modulus is 1 or more, not {self.modulus}.")
        if not self.residues:
            raise ProgramError("a periodic relation needs a residue; `false` holds nowhere.")
        object.__setattr__(self, "residues", frozenset(r % self.modulus for r in self.residues))


@dataclasses.dataclass(frozen=True)
class Truth(Boolean):
    """The constant true (or, as sugar, false)."""

    value: bool = True


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
        if self.offsets is None:
            return
        object.__setattr__(self, "offsets", frozenset(self.offsets))
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
        self.counting()

    def counting(self) -> Counting:
        """Return the counting that is compared with 1."""
        return Counting(self.body, self.offsets, self.strict)


@dataclasses.dataclass(frozen=True)
class Times(Count):
    """A count an integer number of times: a repeated sum."""

    factor: int
    count: Count

    def __post_init__(self):
        _expect(self, count=Count)


def number(value: Count | int) -> Count:
    """Return a count as it is, an integer as a constant."""
    return value if isinstance(value, Count) else Integer(value)


# Programs --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Definition:
    """One line of a program: `name(i) := expression`."""

    name: str
    expression: Expression


@dataclasses.dataclass(frozen=True)
class Program:
    """A C-RASP[periodic, local] program: definitions in order over an alphabet.

    The last Boolean definition, at the last position, decides acceptance. Programs are values:
    equal if written the same, hashable, printed by `str` as text that parses back.

    **Raises:** `ProgramError` for a name used twice or before it is defined, a symbol outside the
    alphabet, or a program without a Boolean definition.
    """

    alphabet: tuple[str, ...]
    definitions: tuple[Definition, ...]

    def __post_init__(self):
        object.__setattr__(self, "alphabet", tuple(self.alphabet))
        object.__setattr__(self, "definitions", tuple(self.definitions))
        if len(set(self.alphabet)) < len(self.alphabet) or not all(self.alphabet):
            raise ProgramError(f"an alphabet has distinct symbols, not {self.alphabet}.")
        known: dict[str, Kind] = {}
        for d in self.definitions:
            if d.name in known:
                raise ProgramError(f"{d.name} is defined twice.")
            for node in walk(d.expression):
                self._check(d.name, node, known)
            known[d.name] = d.expression.kind
        if "Boolean" not in known.values():
            raise ProgramError("a program needs a Boolean definition, which decides acceptance.")

    def _check(self, name: str, node: Expression, known: Mapping[str, Kind]) -> None:
        if isinstance(node, Symbol) and node.symbol not in self.alphabet:
            symbols = " ".join(self.alphabet)
            raise ProgramError(f"{name}: {node.symbol!r} is not in the alphabet {symbols}.")
        if isinstance(node, BooleanRef | CountRef) and known.get(node.name) != node.kind:
            found = known.get(node.name)
            why = f"is a {found}, not a {node.kind}" if found else "is not defined before"
            raise ProgramError(f"{name}: {node.name} {why}.")

    @functools.cached_property
    def output(self) -> str:
        """The name of the definition that decides acceptance."""
        return next(d.name for d in reversed(self.definitions) if d.expression.kind == "Boolean")

    @functools.cached_property
    def kinds(self) -> dict[str, Kind]:
        """Whether each definition is a Boolean or a count."""
        return {d.name: d.expression.kind for d in self.definitions}

    @functools.cached_property
    def nodes(self) -> tuple[Expression, ...]:
        """All expressions of the program, inner ones before outer ones."""
        return tuple(node for d in self.definitions for node in walk(d.expression))

    @property
    def periodic(self) -> bool:
        """Whether a periodic relation is used."""
        return any(isinstance(node, Periodic) for node in self.nodes)

    @property
    def local(self) -> bool:
        """Whether a local relation is used."""
        return any(getattr(node, "offsets", None) is not None for node in self.nodes)

    @functools.cached_property
    def core(self) -> "Program":
        """The same program in the operations of Definition 8, one a definition."""
        from theorykit.crasp._expand import expand

        return expand(self)

    def encode(self, string: Iterable[str]) -> list[int]:
        """Return the place in the alphabet of each symbol of a string.

        **Raises:** `ValueError` for a symbol outside the alphabet.
        """
        places = {s: k for k, s in enumerate(self.alphabet)}
        try:
            return [places[s] for s in string]
        except KeyError as unknown:
            symbols = " ".join(self.alphabet)
            raise ValueError(f"{unknown} is not in the alphabet {symbols}.") from None

    def accepts(self, strings: Any) -> Any:
        """Return whether each string is accepted: `evaluate` at its last position.

        **Arguments:** `strings`: one string, which is text or a tuple of symbols (a bool comes
        back), or a list of strings (an array of bools comes back).
        """
        from theorykit.crasp._evaluate import accepts

        return accepts(self, strings)

    def __str__(self) -> str:
        from theorykit.crasp._print import show

        return show(self)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression's parts and itself, inner ones first."""
    for part in expression.parts:
        yield from walk(part)
    yield expression


def program(alphabet: Sequence[str], /, **definitions: Expression) -> Program:
    """Return a program from named expressions; the last Boolean one decides acceptance.

    Expressions may hold each other as Python values, or be named through `BooleanRef("name")` and
    `CountRef("name")`.
    """
    return Program(tuple(alphabet), tuple(Definition(n, e) for n, e in definitions.items()))
