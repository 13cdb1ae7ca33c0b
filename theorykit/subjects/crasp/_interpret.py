"""Definition 8 read aloud, in plain Python: what everything else is tested against."""

from collections.abc import Sequence

from theorykit.common.arguments import instance
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    BooleanRef,
    Compare,
    Counting,
    CountRef,
    Expression,
    If,
    Integer,
    Not,
    Periodic,
    Subtract,
    Symbol,
    Truth,
)


def interpret(program: Program, string: Sequence[str]) -> dict[str, list[int]]:
    """Return the value of every core operation at every position of a string.

    Entry i of a list is the value at position i; positions count from 1. Entry 0 is the position
    before the string, where no symbol is and nothing was counted: it decides the empty string.

    **Raises:** `ValueError` for a symbol outside the alphabet.
    """
    instance("program", program, Program, "a Program")
    program.encode(instance("a string", string, Sequence, "text or a sequence of symbols"))
    values: dict[str, list[int]] = {}
    for d in program.core.definitions:
        values[d.name] = [_value(d.expression, i, string, values) for i in range(len(string) + 1)]
    return values


def interpreted(program: Program, string: Sequence[str]) -> bool:
    """Return whether a string is accepted, by the interpreter."""
    return bool(interpret(program, string)[program.output][-1])


def _value(e: Expression, i: int, string: Sequence[str], values: dict[str, list[int]]) -> int:
    """Return the value of one core operation at position i, from those of earlier operations."""
    match e:
        case Symbol(symbol):
            return int(i > 0 and string[i - 1] == symbol)
        case Periodic(modulus, residues):
            return int(i % modulus in residues)
        case Truth() | Integer():
            return 1
        case Not(BooleanRef(a)):
            return 1 - values[a][i]
        case And(BooleanRef(a), BooleanRef(b)):
            return values[a][i] * values[b][i]
        case Compare("<=", CountRef(a), CountRef(b)):
            return int(values[a][i] <= values[b][i])
        case Counting(BooleanRef(a), offsets):
            psi = lambda j: offsets is None or i - j in offsets
            return sum(1 for j in range(1, i + 1) if psi(j) and values[a][j])
        case If(BooleanRef(p), CountRef(a), CountRef(b)):
            return values[a][i] if values[p][i] else values[b][i]
        case Add(CountRef(a), CountRef(b)):
            return values[a][i] + values[b][i]
        case Subtract(CountRef(a), CountRef(b)):
            return values[a][i] - values[b][i]
    raise TypeError(f"{e!r} is no core operation.")
