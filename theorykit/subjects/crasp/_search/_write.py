"""Expressions as programs with named lines, and lines in words."""

import re
from collections.abc import Mapping, Sequence

from theorykit.subjects.crasp._print import expression as printed
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    Boolean,
    BooleanRef,
    Compare,
    Counting,
    CountRef,
    Definition,
    Exists,
    Expression,
    If,
    Integer,
    Not,
    Or,
    Periodic,
    Subtract,
    Symbol,
    Truth,
)


def program(alphabet: Sequence[str], outputs: Mapping[str, Boolean]) -> Program:
    """Return a program in which each counting and each output has a name."""
    names: dict[Expression, str] = {}
    lines: list[Definition] = []

    def named(e: Expression, top: bool = False) -> Expression:
        parts = {k: named(v) if isinstance(v, Expression) else v for k, v in vars(e).items()}
        made = type(e)(**parts)
        if top or not isinstance(e, Counting | Exists):
            return made
        if made not in names:
            names[made] = f"{'C' if isinstance(e, Counting) else 'E'}{len(names) + 1}"
            lines.append(Definition(names[made], made))
        ref = CountRef if isinstance(e, Counting) else BooleanRef
        return ref(names[made])

    for output, e in outputs.items():
        lines.append(Definition(output, named(e, top=True)))
    return Program(tuple(alphabet), tuple(lines))


def inlined(program: Program) -> Boolean:
    """Return the last definition with all names expanded."""
    known: dict[str, Expression] = {}

    def inline(e: Expression) -> Expression:
        if hasattr(e, "name"):
            return known[e.name]
        parts = {k: inline(v) if isinstance(v, Expression) else v for k, v in vars(e).items()}
        return type(e)(**parts)

    for d in program.definitions:
        known[d.name] = inline(d.expression)
    return known[program.output]  # type: ignore[return-value]


def next_name(output: str, known: Sequence[str]) -> str:
    """Return the name of the definition for an output of a task."""
    if re.fullmatch(r"\w+", output, re.ASCII):
        return f"NEXT_{output}"
    return f"NEXT_{known.index(output)}th"


def line(d: Definition) -> str:
    """Return a line of a program."""
    return f"{d.name}(i) := {printed(d.expression)}"


def words(e: Expression) -> str:
    """Return the meaning of an expression at a position, in words."""
    match e:
        case Symbol(symbol):
            return f"the symbol is {symbol}"
        case Periodic(modulus, residues):
            some = " or ".join(map(str, sorted(residues)))
            return f"the position is {some} modulo {modulus}"
        case Truth(value):
            return "always" if value else "never"
        case Integer(value):
            return str(value)
        case BooleanRef(name):
            return f"{name} holds"
        case CountRef(name):
            return name
        case Not(BooleanRef(name)):
            return f"{name} does not hold"
        case Not(Symbol(symbol)):
            return f"the symbol is not {symbol}"
        case Not(inner):
            return f"it is not the case that {words(inner)}"
        case And(a, b):
            return f"{_bracket(a, Or)} and {_bracket(b, Or)}"
        case Or(a, b):
            return f"{words(a)} or {words(b)}"
        case Compare(relation, a, b):
            return f"{words(a)} {_RELATIONS[relation]} {words(b)}"
        case Add(a, b):
            return f"{words(a)} + {words(b)}"
        case Subtract(a, b):
            return f"{words(a)} - {words(b)}"
        case If(p, a, b):
            return f"({words(a)} if {words(p)}, else {words(b)})"
        case Counting(body, offsets):
            return f"the number of positions {_where(offsets)} where {words(body)}"
        case Exists(body, offsets):
            return f"at some position {_where(offsets)}, {words(body)}"
    return printed(e)


def _bracket(e: Expression, kind: type) -> str:
    return f"({words(e)})" if isinstance(e, kind) else words(e)


def _where(offsets: frozenset[int] | None) -> str:
    if offsets is None:
        return "so far"
    return f"{' or '.join(map(str, sorted(offsets)))} back"


_RELATIONS = {
    "<=": "is at most",
    "<": "is less than",
    ">=": "is at least",
    ">": "is more than",
    "=": "equals",
    "!=": "differs from",
}
