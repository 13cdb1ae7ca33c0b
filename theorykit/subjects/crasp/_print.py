"""Programs to text, which parses back to the same program."""

import re
from collections.abc import Sequence

from theorykit.common.deep import Deep, deep
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
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
    Times,
    Truth,
)

POSITIONS = ("i", "j", "k", "l", "m", "n")
OPEN, OR, AND, NOT, COMPARE, SUM, TERM, ATOM = range(8)
"""How tightly an expression binds; an open one extends as far as possible."""


def show(alphabet: Sequence[str], definitions: Sequence[Definition]) -> str:
    """Return a program as text, one definition per line."""
    width = max(len(d.name) for d in definitions)
    lines = ["alphabet: " + " ".join(_bare(s) for s in alphabet), ""]
    for d in definitions:
        lines.append(f"{d.name}(i)".ljust(width + 3) + " := " + expression(d.expression))
    return "\n".join(lines) + "\n"


def expression(e: Expression, depth: int = 0) -> str:
    """Return an expression as text; `depth` is how many position variables enclose it."""
    return deep(_written(e, depth))[0]


def _written(e: Expression, depth: int) -> Deep[tuple[str, int]]:
    """Return the text and its binding strength."""
    here = _variable(depth)

    def inside(part: Expression, level: int) -> Deep[str]:
        text, binding = yield _written(part, depth)
        return text if binding >= level else f"({text})"

    match e:
        case Symbol(symbol):
            return f"Q_{_bare(symbol)}({here})", ATOM
        case Periodic(modulus, residues):
            return f"{here} % {modulus} {_members(residues)}", ATOM
        case Truth(value):
            return str(value).lower(), ATOM
        case BooleanRef(name) | CountRef(name):
            return f"{name}({here})", ATOM
        case Integer(value):
            return str(value), TERM
        case Not(inner):
            return f"not {(yield inside(inner, NOT))}", NOT
        case And(left, right):
            return f"{(yield inside(left, AND))} and {(yield inside(right, AND + 1))}", AND
        case Or(left, right):
            return f"{(yield inside(left, OR))} or {(yield inside(right, OR + 1))}", OR
        case Compare(relation, left, right):
            return f"{(yield inside(left, SUM))} {relation} {(yield inside(right, SUM))}", COMPARE
        case Add(left, right):
            return f"{(yield inside(left, SUM))} + {(yield inside(right, TERM))}", SUM
        case Subtract(left, right):
            return f"{(yield inside(left, SUM))} - {(yield inside(right, TERM))}", SUM
        case Times(factor, count):
            return f"{factor} * {(yield inside(count, TERM))}", TERM
        case If(condition, yes, no):
            branches = f"{(yield inside(yes, OR))} : {(yield inside(no, OR))}"
            return f"{(yield inside(condition, OR))} ? {branches}", OPEN
        case Exists():
            return (yield _counted("exists", e.counting(), depth)), OPEN
        case Counting():
            return (yield _counted("#", e, depth)), OPEN
    raise TypeError(f"{e!r} is not an expression of C-RASP.")


def _counted(sign: str, e: Counting, depth: int) -> Deep[str]:
    """Return a counting; its body extends as far as possible."""
    outer, inner = _variable(depth), _variable(depth + 1)
    mask = f"{inner} {'<' if e.strict else '<='} {outer}"
    if e.offsets is not None:
        first = min(e.offsets)
        single = f"{inner} = {outer}" + (f" - {first}" if first else "")
        several = f"{outer} - {inner} {_members(e.offsets)}"
        mask += f", {single if len(e.offsets) == 1 else several}"
    body, _ = yield _written(e.body, depth + 1)
    return f"{sign}[{mask}] {body}"


def _members(numbers: frozenset[int]) -> str:
    ordered = sorted(numbers)
    return f"= {ordered[0]}" if len(ordered) == 1 else f"in {{{', '.join(map(str, ordered))}}}"


def _variable(depth: int) -> str:
    return POSITIONS[depth] if depth < len(POSITIONS) else f"i{depth}"


def _bare(symbol: str) -> str:
    """Return a symbol, quoted unless it is a plain word."""
    if re.fullmatch(r"[A-Za-z0-9]\w*", symbol, re.ASCII):
        return symbol
    quoted = symbol.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
