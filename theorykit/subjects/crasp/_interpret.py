"""Definition 8 in plain Python, the oracle for all other evaluators."""

import itertools
from collections.abc import Sequence

from theorykit.common import picture
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


class Values(dict[str, list[int]]):
    """The value of every core operation at every position; in a notebook, a table.

    **Arguments:** `program`, `string`: what was run, and on what.
    """

    def __init__(self, program: Program, string: Sequence[str]) -> None:
        super().__init__()
        self.program, self.string = program, tuple(string)

    _repr_html_ = picture.html


def interpret(program: Program, string: Sequence[str]) -> Values:
    """Return the value of every core operation at every position of a string.

    Entry i of a list is the value at position i; positions count from 1. Entry 0 is the position
    before the string, which holds no symbol and has counted nothing; it decides the empty string.

    **Raises:** `ValueError` for a symbol outside the alphabet.
    """
    instance("program", program, Program, "a Program")
    program.encode(instance("a string", string, Sequence, "text or a sequence of symbols"))
    values = Values(program, string)
    for d in program.core.definitions:
        values[d.name] = _values(d.expression, string, values)
    return values


def interpreted(program: Program, string: Sequence[str]) -> bool:
    """Return whether the interpreter accepts a string."""
    return bool(interpret(program, string)[program.output][-1])


def _values(e: Expression, string: Sequence[str], values: dict[str, list[int]]) -> list[int]:
    """Return the values of one core operation at all positions, from those of earlier operations.

    Counts are accumulated, so time is linear in the length of the string, not quadratic.
    """
    places = range(len(string) + 1)
    match e:
        case Symbol(symbol):
            return [0, *(int(s == symbol) for s in string)]
        case Periodic(modulus, residues):
            return [int(i % modulus in residues) for i in places]
        case Truth() | Integer():
            return [1 for _ in places]
        case Not(BooleanRef(a)):
            return [1 - v for v in values[a]]
        case And(BooleanRef(a), BooleanRef(b)):
            return [v * w for v, w in zip(values[a], values[b], strict=True)]
        case Compare("<=", CountRef(a), CountRef(b)):
            return [int(v <= w) for v, w in zip(values[a], values[b], strict=True)]
        case Counting(BooleanRef(a), None):
            return list(itertools.accumulate(values[a][1:], initial=0))
        case Counting(BooleanRef(a), offsets):
            near = [k for k in offsets or () if k < len(string)]
            return [sum(values[a][i - k] for k in near if i - k >= 1) for i in places]
        case If(BooleanRef(p), CountRef(a), CountRef(b)):
            each = zip(values[p], values[a], values[b], strict=True)
            return [v if holds else w for holds, v, w in each]
        case Add(CountRef(a), CountRef(b)):
            return [v + w for v, w in zip(values[a], values[b], strict=True)]
        case Subtract(CountRef(a), CountRef(b)):
            return [v - w for v, w in zip(values[a], values[b], strict=True)]
    raise TypeError(f"{e!r} is not a core operation.")
