"""What a report says of a run, whichever form it takes."""

import ast
import dataclasses
import fnmatch
import functools
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theorykit.common.spelling import nearest
from theorykit.common.trees import parse
from theorykit.drafts import about
from theorykit.results import (
    Certificate,
    Evidence,
    Falls,
    Figure,
    Resolution,
    Result,
    Scope,
    Tightness,
    Unit,
    Verdict,
    Witness,
)
from theorykit.runs import Asked, Run

MEANING = {
    Verdict.holds: (
        "not broken within the budget, although its control was; a near neighbour "
        "would have been broken too"
    ),
    Verdict.refuted: "broken, with a witness",
    Verdict.inconclusive: "the control survived, the resolution is poor, or the data do not decide",
    Verdict.error: "could not be evaluated",
}

GRADES = {
    Evidence.certified: "exact or ball arithmetic: no rounding can change the verdict",
    Evidence.exhaustive: "every member of a finite universe was checked",
    Evidence.trained: "networks trained over several seeds, with an interval",
    Evidence.fitted: "an exponent fitted to measurements, with its interval",
    Evidence.searched: "a gradient attack from many starts",
    Evidence.sampled: "structured and random cases, or a test at a stated error probability",
}
"""What each evidence grade means, strongest first."""


UNITS = {
    Unit.factor: "how much the right side can shrink before some point violates it",
    Unit.relative: "the smallest change of either side that would have been noticed",
    Unit.absolute: "the smallest shift of the prediction, up or down, that would have been refuted",
    Unit.exponent: "the smallest shift of the exponent, up or down, that would have been refuted",
    Unit.members: "how many members refute the false neighbour, of those it was tried on",
}
"""What the number of a resolution is, by its unit."""

FALLS = {
    Falls.statement: "the numbered statement is false as printed",
    Falls.proof: (
        "a step or a construction fails; the statement itself stands, or is not known to be false"
    ),
    Falls.wording: "an index, a sign, an excluded edge, an informal sentence read literally",
    Falls.reading: "formulas that had to be reconstructed, or a sentence with two meanings",
}
"""What each kind of refutation means."""

PROOFS = tuple(s.proved() for s in (Scope.whole, Scope.sizes, Scope.part))
"""How much of what holds is proved."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One claim as a report shows it.

    **Fields:** `result`; `asked`, what the run folder says of the claim, None if nothing; `seed`
    of the run; `changes` since the run it is compared with, in words, None without one.
    """

    result: Result
    asked: Asked | None = None
    seed: int | None = None
    changes: tuple[str, ...] | None = None

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.result.id

    @property
    def anchor(self) -> str:
        """What links to this claim end in."""
        return "claim-" + self.id

    @property
    def words(self) -> str:
        """The statement in words."""
        return self.asked.words if self.asked else ""

    @property
    def assumptions(self) -> list[str]:
        """LaTeX or words, each."""
        return self.asked.assumptions if self.asked else []

    @property
    def tier(self) -> str:
        """The claim's tier, "" if the run does not say."""
        return self.asked.tier if self.asked else ""

    @property
    def repairs(self) -> str | None:
        """The id of the printed claim that this one repairs."""
        if self.asked is not None:
            return self.asked.repairs
        return self.id.removesuffix(".repaired") if self.id.endswith(".repaired") else None

    @property
    def evidence(self) -> str:
        """The evidence's name, "" if there is none."""
        return self.result.outcome.evidence.name if self.result.outcome.evidence else ""

    @property
    def found(self) -> str:
        """What the check ends with, in words."""
        return self.result.found

    @property
    def resolution(self) -> Resolution | None:
        """How small a change of the statement would have been noticed."""
        return self.result.outcome.resolution

    @property
    def noticed(self) -> str:
        """The resolution in words, "" if there is none."""
        return "" if self.resolution is None else self.resolution.words()

    @property
    def coarseness(self) -> str:
        """What sorts claims by their resolution: unit by unit, from fine to coarse."""
        found = self.resolution
        return "9" if found is None else f"{list(Unit).index(found.unit)} {400 + found.place:08.3f}"

    @property
    def proof(self) -> str:
        """How much of what holds is proved, one of `PROOFS`, or ""."""
        certificate = self.certificate
        if certificate is None or self.result.verdict != Verdict.holds:
            return ""
        return certificate.scope.proved()

    @property
    def graded(self) -> str:
        """The evidence, with what it proves, or of what it is certain."""
        reach = self.proof
        if self.certificate is not None and self.result.verdict == Verdict.refuted:
            reach = self.certificate.refutes()
        return f"{self.evidence}, {reach}" if reach else self.evidence

    @property
    def falls(self) -> Falls | None:
        """What falls where a statement is refuted, None if the claim does not say."""
        return self.result.falls

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, in a sentence or two."""
        return self.result.reason

    @property
    def ran(self) -> str:
        """Which of the project's public functions the check ran, in words."""
        if self.result.ran:
            return ", ".join(self.result.ran)
        if self.result.mathematics:
            return "none of theorykit's own functions: the claim is about mathematics alone"
        if self.result.verdict == Verdict.error:
            return ""
        return (
            "none of theorykit's own functions, although the claim is not marked as being about "
            "mathematics alone"
        )

    @property
    def figure(self) -> Figure | None:
        """What there is to draw."""
        measured = self.result.outcome.measured
        return measured.figure() if measured is not None else None

    @property
    def witness(self) -> Witness | None:
        """The input that refutes it."""
        return self.result.outcome.witness

    @property
    def certificate(self) -> Certificate | None:
        """Why no rounding can change the verdict."""
        return self.result.outcome.certificate

    @property
    def places(self) -> Mapping[str, Witness]:
        """Further inputs to show, each under what it is."""
        measured = self.result.outcome.measured
        return measured.places if measured is not None else {}

    @property
    def source(self) -> str:
        """The claim in Python."""
        source = self.asked.source if self.asked else None
        return textwrap.dedent(source or "").rstrip()

    @property
    def control(self) -> str:
        """What the control puts in the place of the claim, in Python; "" if not written there."""
        return _keyword(self.source, "control")

    @property
    def command(self) -> str:
        """The command that repeats the verdict."""
        words = ["theorykit", "verify", self.id]
        words += [self.asked.file] if self.asked and self.asked.file else []
        words += [] if self.tier in ("", "fast") else ["--tier", self.tier]
        words += [] if self.seed is None else ["--seed", str(self.seed)]
        return shlex.join(words)


@dataclasses.dataclass(frozen=True)
class Content:
    """A run as a report shows it.

    **Fields:** `run`; `entries`, ordered by id; `old`, the run it is compared with; `gone`, ids
    that only that one knows.
    """

    run: Run
    entries: list[Entry]
    old: Run | None = None
    gone: tuple[str, ...] = ()

    @property
    def results(self) -> list[Result]:
        """The results that are shown."""
        return [e.result for e in self.entries]

    @property
    def bounds(self) -> list[tuple[Entry, float]]:
        """The claims that are drawn as a share of their bound, with it."""
        figures = [(e, e.figure) for e in self.entries]
        return [(e, f.ratio) for e, f in figures if isinstance(f, Tightness)]

    @property
    def explained(self) -> list[Entry]:
        """What a table is too short for.

        Every refutation, then every other verdict that has a reason, then what holds without the
        proof that it might have had.
        """
        undecided = (Verdict.inconclusive, Verdict.error)
        of = lambda *verdicts: [e for e in self.entries if e.result.verdict in verdicts]
        unproved = [e for e in of(Verdict.holds) if e.result.outcome.unproved]
        return [*of(Verdict.refuted), *of(*undecided), *unproved]

    @property
    def resolved(self) -> list[Entry]:
        """The claims that have a resolution."""
        return [e for e in self.entries if e.resolution is not None]

    @property
    def fallen(self) -> list[tuple[Falls, int]]:
        """How many refutations there are of each kind, of those that there are."""
        found = Counter(e.falls for e in self.entries)
        return [(kind, found[kind]) for kind in Falls if found[kind]]

    @property
    def unlabelled(self) -> int:
        """How many refutations say nothing of their kind."""
        return self.count(verdict="refuted") - sum(n for _, n in self.fallen)

    @functools.cached_property
    def errata(self) -> list[tuple[Entry, list[Entry]]]:
        """Each statement that fell, with its repairs."""
        fallen = [e for e in self.entries if e.result.verdict == Verdict.refuted]
        return [(e, [r for r in self.entries if r.repairs == e.id]) for e in fallen]

    @property
    def moved(self) -> list[Entry]:
        """What differs from the run it is compared with."""
        return [e for e in self.entries if e.changes]

    @property
    def unexpected(self) -> list[Entry]:
        """Claims whose verdict is another than the recorded one."""
        return [e for e in self.entries if e.result.moved]

    @property
    def problems(self) -> list[str]:
        """Sentences on what is missing or cannot be read, in either run, or sets them apart."""
        said = list(self.run.problems)
        if self.old is not None:
            name = self.old.name
            said += [f"In {name}, the run it is compared with: {p}" for p in self.old.problems]
            now, then = (r.header.get("seed") for r in (self.run, self.old))
            if now != then:
                known = ["an unknown seed" if s is None else f"seed {s}" for s in (now, then)]
                said.append(f"The run has {known[0]}, but {name} has {known[1]}.")
        return said

    @property
    def machines(self) -> list[str]:
        """What the run ran on, one line per machine."""
        return [_machine(m) for m in self.run.machines]

    @property
    def papers(self) -> list[str]:
        """The papers, by name."""
        return sorted({e.result.paper for e in self.entries})

    @functools.cached_property
    def stated(self) -> list[tuple[str, list[tuple[str, list[Entry]]]]]:
        """By paper, of those that list their statements: each, and what is here about it."""
        made = []
        for paper in self.papers:
            here = [e for e in self.entries if e.result.paper == paper]
            found = about(paper, [e.result.ref for e in here])
            if found:
                made.append((paper, [(n, [here[k] for k in at]) for n, at in found.items()]))
        return made

    def count(self, **fields: str) -> int:
        """Return how many results have this `paper`, `verdict`, `evidence`, `tier`, ...."""
        return sum(fields.items() <= self._kinds[e.id].items() for e in self.entries)

    @functools.cached_property
    def _kinds(self) -> dict[str, dict[str, str]]:
        return {
            e.id: {
                "paper": e.result.paper,
                "verdict": e.result.verdict.value,
                "evidence": e.evidence,
                "tier": e.tier,
                "proof": e.proof,
                "falls": e.falls or "",
                "resolution": "" if e.resolution is None else e.resolution.grade.value,
            }
            for e in self.entries
        }

    @property
    def headline(self) -> str:
        """How many of each verdict there are, as a reader would say it."""
        said = {
            Verdict.holds: ("holds", "hold"),
            Verdict.refuted: ("fell", "fell"),
            Verdict.inconclusive: ("is undecided", "are undecided"),
            Verdict.error: ("could not be tried", "could not be tried"),
        }
        parts = [f"{n} {said[v][n != 1]}" for v, n in self.counts]
        claims = "claim" if self.counts and self.counts[0][1] == 1 else "claims"
        return ", ".join(parts).replace(" ", f" {claims} ", 1) or "No claim was tried"

    @property
    def summary(self) -> str:
        """One line that counts verdicts, those that moved, and those that ran what is here."""
        parts = [f"{n} {_verb(v, n)}" for v, n in self.counts]
        moved = len(self.unexpected)
        end = f"; {moved} moved from the recorded verdict" if moved else "; all as recorded"
        count = "1 claim" if len(self.entries) == 1 else f"{len(self.entries)} claims"
        said = f"{count}: {', '.join(parts)}{end}." if parts else "No claim was tried."
        ran = sum(bool(r.ran) for r in self.results)
        if ran:
            said += f" {ran} ran theorykit's own functions."
        return said + self._kinds_of_refutation + self._proofs

    @property
    def _kinds_of_refutation(self) -> str:
        named = [f"{n} {_counted(kind, n)}" for kind, n in self.fallen]
        named += [f"{self.unlabelled} not labelled"] if self.unlabelled and named else []
        return f" What fell: {', '.join(named)}." if named else ""

    @property
    def _proofs(self) -> str:
        counted = [(how, self.count(proof=how)) for how in PROOFS]
        said = "; ".join(f"{how}: {n}" for how, n in counted)
        return f" Proved {said}." if any(n for _, n in counted) else ""

    @property
    def counts(self) -> list[tuple[Verdict, int]]:
        """How many of each verdict there are, of those that there are."""
        found = Counter(r.verdict for r in self.results)
        return [(v, found[v]) for v in Verdict if found[v]]


def _verb(verdict: Verdict, count: int) -> str:
    """Return the verdict as so many claims have it."""
    return "hold" if verdict == Verdict.holds and count != 1 else verdict.value


def _counted(kind: Falls, count: int) -> str:
    """Return the kind of refutation as a noun."""
    return kind.value + "s" * (count > 1)


def content(run: Run, old: Run | None = None, patterns: Sequence[str] = ()) -> Content:
    """Return what a report of a run says.

    **Arguments:** `old`: a run to compare with; `patterns`: shell patterns of the ids to show,
    all of them without one.

    **Raises:** `ValueError` for a pattern that no result matches.
    """
    results = _matching(run.results, patterns)
    before = {r.id: r for r in old.results} if old is not None else {}
    entries = [
        Entry(
            result,
            run.claims.get(result.id),
            run.header.get("seed"),
            None if old is None else changes(before.get(result.id), result),
        )
        for result in results
    ]
    known = {r.id for r in run.results} | run.claims.keys()
    gone = [r.id for r in _matching(before.values(), patterns, strict=False) if r.id not in known]
    return Content(run, entries, old, tuple(gone))


def changes(was: Result | None, now: Result) -> tuple[str, ...]:
    """Return what a reader would call different between two results of a claim, in words."""
    if was is None:
        return ("new",)
    seen = [
        ("", was.verdict.value, now.verdict.value),
        ("evidence ", _grade(was), _grade(now)),
        ("control ", was.control or "none", now.control or "none"),
        ("", was.found or "nothing", now.found or "nothing"),
        ("statement ", was.statement, now.statement),
    ]
    return tuple(
        "statement changed" if what == "statement " else f"{what}{a} → {b}"
        for what, a, b in seen
        if a != b
    )


def code(witness: Witness) -> str:
    """Return a witness as Python that can be pasted."""
    imports = "import numpy as np\n\n" if "np." in witness.code else ""
    sides = [
        f"# {name} = {value}"
        for name, value in (("lhs", witness.lhs), ("rhs", witness.rhs))
        if value is not None
    ]
    return imports + "\n".join([witness.code, *sides])


def _machine(fields: Mapping[str, Any]) -> str:
    cores, python = fields.get("cores"), fields.get("python")
    said = [
        fields.get("processor"),
        f"{cores} cores" if cores else None,
        fields.get("system"),
        f"Python {python}" if python else None,
        fields.get("date"),
    ]
    return ", ".join(str(s) for s in said if s)


def _grade(result: Result) -> str:
    return result.outcome.evidence.name if result.outcome.evidence else "none"


def _matching(
    results: Iterable[Result], patterns: Sequence[str], strict: bool = True
) -> list[Result]:
    found = list(results)
    for pattern in patterns if strict else ():
        if not any(fnmatch.fnmatchcase(r.id, pattern) for r in found):
            meant = nearest(pattern, [r.id for r in found])
            raise ValueError(f"no result of the run matches {pattern!r}.{meant}")
    if not patterns:
        return found
    return [r for r in found if any(fnmatch.fnmatchcase(r.id, p) for p in patterns)]


def _keyword(source: str, name: str) -> str:
    """Return the source of the keyword argument of this name; "" if there is none."""
    try:
        tree = parse(source)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name:
            found = ast.get_source_segment(source, node.value, padded=True)
            return textwrap.dedent(found or "")
    return ""
