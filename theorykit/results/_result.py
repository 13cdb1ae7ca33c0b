"""Outcomes and results, and the JSON of a result."""

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from theorykit.common import picture
from theorykit.results._findings import (
    Certificate,
    Evidence,
    Falls,
    Grade,
    Scope,
    Verdict,
    Witness,
)
from theorykit.results._measurement import Measured
from theorykit.results._numbers import Count, Seconds
from theorykit.results._resolution import Resolution

UNREADABLE = (ValueError, LookupError, TypeError, RecursionError)
"""Exceptions that reading a damaged result may raise."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check, before its control is considered.

    **Fields:** `verdict`; `evidence`, the grade of the method used; `cases`, the number of inputs,
    members or replicates tried; `note`, one sentence; `measured`, the final measurement, None if
    the check only counted; `witness` of a refutation; `certificate`, if the evidence is certified;
    `unproved`, why a requested proof failed, or what keeps an exhaustive check from being
    certified; `resolution`, the smallest change that would have been noticed in a statement that
    holds.
    """

    verdict: Verdict
    evidence: Grade | None = None
    cases: Count = 0
    note: str = ""
    measured: Measured | None = None
    witness: Witness | None = None
    certificate: Certificate | None = None
    unproved: str = ""
    resolution: Resolution | None = None

    def __str__(self) -> str:
        """Return it in a line."""
        graded = f" ({self.evidence})" if self.evidence is not None else ""
        return f"{self.verdict}{graded}{': ' * bool(self.note)}{self.note}"


@dataclass(frozen=True)
class Result:
    """A claim's outcome, with the verdict of its control and the verdict that was expected.

    **Fields:** those of the claim and its outcome; `check`, one line that says what was tried;
    `falls`, what falls if it is refuted, and `consequence`, what that means for the paper, in a
    sentence; `ran`, the dotted names of the project's public functions that the check ran;
    `mathematics`, whether the claim declares its statement to be pure mathematics.
    """

    id: str
    paper: str
    ref: str
    statement: str
    expected: Verdict
    verdict: Verdict
    control: Verdict | None
    outcome: Outcome
    note: str = ""
    seconds: Seconds = 0.0
    check: str = ""
    falls: Falls | None = None
    consequence: str = ""
    ran: tuple[str, ...] = ()
    mathematics: bool = False

    @property
    def proved(self) -> bool:
        """Whether the whole statement is proved, at all sizes."""
        certificate = self.outcome.certificate
        return (
            self.verdict == Verdict.holds
            and certificate is not None
            and certificate.scope is Scope.whole
        )

    @property
    def moved(self) -> bool:
        """Whether the verdict differs from the recorded one."""
        return self.verdict != self.expected

    @property
    def reason(self) -> str:
        """The note, and why there is no proof where one was possible."""
        return f"{self.note} {self.outcome.unproved}".strip()

    @property
    def found(self) -> str:
        """The result of the check in words: a proof, a measurement, or how much was tried."""
        outcome = self.outcome
        if outcome.evidence == Evidence.certified and self.verdict == Verdict.holds:
            return outcome.certificate.words() if outcome.certificate else "proved"
        if outcome.measured is not None:
            return outcome.measured.words()
        return f"{outcome.cases} case{'s' * (outcome.cases > 1)}" if outcome.cases else ""

    def __str__(self) -> str:
        """Return it in a line."""
        graded = f" ({self.outcome.evidence})" if self.outcome.evidence is not None else ""
        recorded = f", recorded: {self.expected}" if self.moved else ""
        found = f": {self.found}" if self.found else ""
        return f"{self.id} {self.verdict}{graded}{recorded}{found}"

    _repr_html_ = picture.html

    def json(self) -> dict[str, Any]:
        """Return a strict JSON object, without NaN or infinity; null means absent.

        The fields of the outcome and the claim are side by side; verdict and note are those of the
        result.
        """
        fields = _written().dump_python(self, mode="json")
        outcome = fields.pop("outcome")
        return {**fields, **{name: v for name, v in outcome.items() if name not in fields}}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Result":
        """Return the result whose `json()` is `fields`.

        **Raises:** one of `UNREADABLE` for invalid fields.
        """
        if "measured" not in fields:  # a line of an earlier layout would lose its numbers
            raise ValueError("a result has a field `measured`, null if there is nothing")
        return _written().validate_python({**fields, "outcome": fields})


class Results(list[Result]):
    """A list of results, in a notebook a table; `str()` has a line for each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    _repr_html_ = picture.html


@functools.cache
def _written() -> TypeAdapter[Result]:
    return TypeAdapter(Result)
