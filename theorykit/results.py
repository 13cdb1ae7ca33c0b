"""What a check finds: verdicts, evidence grades, witnesses, and their JSON."""

import dataclasses
import enum
import math
from collections.abc import Mapping
from typing import Any

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading a damaged result may raise."""


class Verdict(enum.StrEnum):
    """What a run says of a claim."""

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


@dataclasses.dataclass(frozen=True)
class Witness:
    """An input, written as numpy that can be pasted back, and what both sides are there."""

    code: str
    lhs: Any = None
    rhs: Any = None

    def json(self) -> dict[str, Any]:
        """Return a strict-JSON object; a side that is not a number is left out."""
        return _without_none({"code": self.code, "lhs": _plain(self.lhs), "rhs": _plain(self.rhs)})


@dataclasses.dataclass(frozen=True)
class Certificate:
    """Why no rounding can change the verdict.

    **Fields:** `how`, in a sentence; `where`, the point or box that it is about; `bits` of the
    balls, None for exact arithmetic; `lhs`, `rhs`, the enclosures of both sides at a point;
    `call`, the arguments that repeat it, and `program`, two lines of Python that do.
    """

    how: str
    where: str = ""
    bits: int | None = None
    lhs: str | None = None
    rhs: str | None = None
    call: str = ""
    program: str = ""

    def json(self) -> dict[str, Any]:
        """Return a strict-JSON object without what is not there."""
        return _without_none(dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one check found, before its control is weighed.

    **Fields:** `verdict`; `evidence`, the grade of the method that was used; `cases`, how many
    inputs, members or replicates were tried; `note`, one sentence; `ratio`, the largest
    lhs / rhs seen, and `tightest`, where; `estimate` with `interval` for statistical checks,
    and `predicted`, between which the estimate should lie; `witness` of a refutation; `points`,
    the fitted (n, mean, standard error) of a rate; `certificate`, if the evidence is certified.
    """

    verdict: Verdict
    evidence: Evidence | None = None
    cases: int = 0
    note: str = ""
    ratio: float | None = None
    tightest: Witness | None = None
    estimate: float | None = None
    interval: tuple[float, float] | None = None
    predicted: tuple[float, float] | None = None
    witness: Witness | None = None
    points: tuple[tuple[float, float, float], ...] = ()
    certificate: Certificate | None = None


@dataclasses.dataclass(frozen=True)
class Result:
    """A claim's outcome, with the verdict of its control and the verdict that was expected.

    **Fields:** those of the claim and its outcome; `check`, one line that says what was tried.
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
    seconds: float = 0.0
    check: str = ""

    @property
    def moved(self) -> bool:
        """Whether the verdict is another than the recorded one."""
        return self.verdict != self.expected

    def json(self) -> dict[str, Any]:
        """Return a strict-JSON object: no NaN or infinity, and absent fields are absent."""
        found = self.outcome
        fields = {
            "id": self.id,
            "paper": self.paper,
            "ref": self.ref,
            "statement": self.statement,
            "verdict": self.verdict.value,
            "expected": self.expected.value,
            "evidence": found.evidence.name if found.evidence else None,
            "control": self.control.value if self.control else None,
            "ratio": _plain(found.ratio),
            "tightest": found.tightest.json() if found.tightest else None,
            "estimate": _plain(found.estimate),
            "interval": _plain(found.interval),
            "predicted": _plain(found.predicted),
            "points": _plain(found.points) or None,
            "cases": found.cases,
            "check": self.check or None,
            "certificate": found.certificate.json() if found.certificate else None,
            "note": self.note,
            "seconds": round(self.seconds, 3),
        }
        # These are always there, so that a reader can tell "none" from "forgotten".
        always = ("evidence", "control")
        return {
            **{k: v for k, v in fields.items() if v is not None or k in always},
            "witness": found.witness.json() if found.witness else None,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Result":
        """Return the result whose `json()` is `fields`.

        **Raises:** one of `UNREADABLE` for other fields.
        """
        outcome = Outcome(
            verdict=Verdict(fields["verdict"]),
            evidence=Evidence[fields["evidence"]] if fields.get("evidence") else None,
            cases=_count(fields["cases"]),
            ratio=_number(fields.get("ratio")),
            tightest=_witness(fields.get("tightest")),
            estimate=_number(fields.get("estimate")),
            interval=_between(fields.get("interval")),
            predicted=_between(fields.get("predicted")),
            witness=_witness(fields.get("witness")),
            points=tuple((_bound(n), _bound(m), _bound(s)) for n, m, s in fields.get("points", ())),
            certificate=_certificate(fields.get("certificate")),
        )
        return cls(
            id=_text(fields["id"]),
            paper=_text(fields["paper"]),
            ref=_text(fields["ref"]),
            statement=_text(fields["statement"]),
            expected=Verdict(fields["expected"]),
            verdict=Verdict(fields["verdict"]),
            control=Verdict(fields["control"]) if fields.get("control") else None,
            outcome=outcome,
            note=_text(fields["note"]),
            seconds=_seconds(fields["seconds"]),
            check=_text(fields.get("check", "")),
        )


def _plain(value: Any) -> Any:
    """Numbers and arrays as JSON numbers and lists; what JSON has no number for, as a string."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return repr(value)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _bound(value: Any) -> float:
    return float(value)  # reads "inf" and "nan" as well


def _between(ends: Any) -> tuple[float, float] | None:
    if not ends:
        return None
    low, high = ends
    return _bound(low), _bound(high)


def _witness(fields: Mapping[str, Any] | None) -> Witness | None:
    if fields is None:
        return None
    _text(fields["code"])
    return Witness(**fields)


def _certificate(fields: Mapping[str, Any] | None) -> Certificate | None:
    if not fields:
        return None
    for name, value in fields.items():
        _count(value) if name == "bits" else _text(value)
    return Certificate(**fields)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text is a string, got {type(value).__name__}.")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"a count is a whole number, got {type(value).__name__}.")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool | str) or not math.isfinite(value):
        raise TypeError(f"seconds are a finite number, got {value!r}.")
    return float(value)


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in fields.items() if v is not None}
