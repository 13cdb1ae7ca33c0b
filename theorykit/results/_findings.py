"""The parts of a finding: verdicts, evidence grades, witnesses and certificates."""

import enum
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic.dataclasses import dataclass

from theorykit.results._numbers import Count, Number


class Verdict(enum.StrEnum):
    """The verdict of a run on a claim."""

    holds = "holds"
    refuted = "refuted"
    inconclusive = "inconclusive"
    error = "error"


class Evidence(enum.IntEnum):
    """How strong the evidence is, weakest first: `Evidence.sampled < Evidence.searched`."""

    sampled = 1
    searched = 2
    fitted = 3
    trained = 4
    exhaustive = 5
    certified = 6

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


def _grade(value: Any) -> Evidence:
    if isinstance(value, Evidence):
        return value
    if not isinstance(value, str) or value not in Evidence.__members__:
        raise ValueError(f"evidence is one of {', '.join(Evidence.__members__)}, not {value!r}")
    return Evidence[value]


Grade = Annotated[
    Evidence,
    BeforeValidator(_grade),
    PlainSerializer(lambda grade: grade.name, return_type=str),
    WithJsonSchema({"enum": list(Evidence.__members__)}),
]
"""Evidence, by name in JSON."""


@dataclass(frozen=True)
class Witness:
    """An input, as numpy code that can be pasted, and the values of both sides there."""

    code: str
    lhs: Number | None = None
    rhs: Number | None = None

    def __str__(self) -> str:
        """Return it in a line."""
        sides = {"lhs": self.lhs, "rhs": self.rhs}
        values = ", ".join(f"{k} = {v:.6g}" for k, v in sides.items() if v is not None)
        code = re.sub(r"\n\s+", " ", self.code)  # an array may have several lines
        return "; ".join(code.splitlines()) + (f": {values}" if values else "")


class Scope(enum.StrEnum):
    """How much of the statement a certificate covers."""

    whole = "whole"
    sizes = "sizes"
    part = "part"
    point = "point"

    def words(self) -> str:
        """Return it in words, after "covers"."""
        return {
            "whole": "the whole statement",
            "sizes": "the statement at the tested sizes",
            "part": "a part of the statement",
            "point": "a point",
        }[self]

    def proved(self) -> str:
        """Return it in words, after "proved"; the same words everywhere."""
        return {
            "whole": "whole",
            "sizes": "at the tested sizes",
            "part": "in part",
            "point": "at a point",
        }[self]


class Falls(enum.StrEnum):
    """What a refutation of a printed statement affects."""

    statement = "statement"
    proof = "proof"
    wording = "wording"
    reading = "reading"

    def words(self) -> str:
        """Return it in words."""
        return {
            "statement": "the statement is false as printed",
            "proof": "a step or construction of the proof fails",
            "wording": "only the wording is wrong",
            "reading": "one reading of it is false",
        }[self]


@dataclass(frozen=True)
class Certificate:
    """Why no rounding can change the verdict.

    **Fields:** `how`, in a sentence; `where`, the point or box; `bits` of the balls, None for exact
    arithmetic; `lhs`, `rhs`, the enclosures of both sides at a point; `call`, the arguments that
    reproduce it, and `program`, two lines of Python that do so; `scope`, how much of the statement
    it covers, and `share`, which fraction, or None if that is not a number; `steps`, the proof line
    by line, if it has lines: normal forms, multipliers, squares.
    """

    how: str
    where: str = ""
    bits: Count | None = None
    lhs: str | None = None
    rhs: str | None = None
    call: str = ""
    program: str = ""
    scope: Scope = Scope.point
    share: Number | None = None
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in a line."""
        return f"{self.how} Covers {self.covers()}{': ' * bool(self.where)}{self.where}"

    def covers(self) -> str:
        """Return how much of the statement is covered, in words."""
        share = "" if self.share is None else f", {self.share:.2g} of its sizes and values"
        return self.scope.words() + share

    def refutes(self) -> str:
        """Return of what a refutation by it is certain, if that is less than the statement."""
        return self.scope.proved() if self.scope is Scope.sizes else ""

    def words(self) -> str:
        """Return what a claim that holds by it is said to be, and where."""
        share = "" if self.share is None else f" ({self.share:.2g} of its sizes and values)"
        return f"proved {self.scope.proved()}{share}: {self.where}"
