"""Programs and their runs as tables, for notebooks."""

from typing import Any

from theorykit.common import picture
from theorykit.subjects.crasp._compile import Compiled
from theorykit.subjects.crasp._interpret import Values
from theorykit.subjects.crasp._print import expression as printed
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search import words
from theorykit.subjects.crasp._syntax import Kind

MOST = 60
"""Positions of a run that are shown, at most."""


@picture.pieces.register
def _(program: Program) -> list[Any]:
    rows = [
        {"name": d.name, "definition": printed(d.expression), "in words": words(d.expression)}
        for d in program.definitions
    ]
    said = f"Over {' '.join(program.alphabet)}; {program.output} decides acceptance."
    return [picture.Words(said), picture.Rows(rows)]


@picture.pieces.register
def _(compiled: Compiled) -> list[Any]:
    rows = [
        {
            "operation": place.operation,
            "layer": place.layer or "",
            "part": place.part,
            "dimension": place.dimension,
        }
        for place in compiled.places.values()
    ]
    return [picture.Words(f"A Limit Transformer of {compiled.size}."), picture.Rows(rows)]


@picture.pieces.register
def _(values: Values) -> list[Any]:
    kinds = values.program.kinds
    rows = [
        {"position": i, "symbol": symbol}
        | {name: _shown(kind, values[name][i]) for name, kind in kinds.items()}
        for i, symbol in enumerate(("", *values.string))
    ]
    accepted = "accepted" if values[values.program.output][-1] else "not accepted"
    string = "".join(values.string[:MOST]) or "The empty string"
    left = "" if len(rows) <= MOST else f" The first {MOST} positions:"
    return [picture.Words(f"{string} is {accepted}.{left}"), picture.Rows(rows[:MOST])]


def _shown(kind: Kind, value: int) -> str:
    return str(value) if kind == "count" else "true" * bool(value)
