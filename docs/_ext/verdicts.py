"""A page of verdicts for each paper: its statements in the paper's order, and what became of them.

Statements, places, what falls and what follows are the claims'. What a run found of them is in
`docs/data/verdicts.json`, which this command takes from a folder of `theorykit verify --run RUN`:

    python docs/_ext/verdicts.py RUN

The site's pages in `docs/referee` get their text when they are read.
"""

import functools
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from theorykit import papers
from theorykit.claims import Claim, in_order, installed
from theorykit.drafts import of_paper
from theorykit.results import Evidence, Falls, Result, Scope, Verdict
from theorykit.runs import Run, read_run

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
RECORD = HERE.parent / "data" / "verdicts.json"
PAGES, MARK = "referee/", re.compile(r"<!-- evidence: [^>]*-->")

LONGEST = 240
"""Witnesses with more characters than this are not on the page."""


@dataclass(frozen=True)
class Statement:
    """A claim of a paper beside what the recorded run found of it.

    **Fields:** `claim`; `found`, the record's entry, None without one of this statement; `repairs`.
    """

    claim: Claim
    found: dict[str, Any] | None
    repairs: list["Statement"] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """What links to it end in."""
        return re.sub(r"[^a-z0-9]+", "-", self.claim.id.lower())

    @property
    def verdict(self) -> str:
        """The run's verdict; the one that the claim expects where it was not run."""
        return self.found["verdict"] if self.found else self.claim.expect.value

    @property
    def grade(self) -> str:
        """The evidence, and how much is proved."""
        if self.found is None:
            return f"as recorded; {self.claim.tier} tier"
        return _graded(self.found["evidence"], self.found["proved"])

    @property
    def fell(self) -> bool:
        """Whether it was refuted."""
        return self.verdict == Verdict.refuted


def _graded(evidence: str, proved: str) -> str:
    return f"{evidence}, proved {proved}" if proved else evidence


def recorded(result: Result) -> dict[str, Any]:
    """Return what the record keeps of a result."""
    outcome = result.outcome
    proof = outcome.certificate if result.verdict == Verdict.holds else None
    false = outcome.certificate if result.verdict == Verdict.refuted else None
    graded = [str(outcome.evidence or ""), false.refutes() if false else ""]
    witness = outcome.witness.code if outcome.witness else ""
    is_shown = len(witness) <= LONGEST and not witness.startswith(
        "#"
    )  # which only repeats the note
    return dict(
        statement=result.statement,
        verdict=result.verdict.value,
        evidence=", ".join(filter(None, graded)),
        proved=proof.scope.proved() if proof else "",
        found=result.found,
        note=result.note,
        witness=witness if is_shown else "",
    )


def record(run: Run) -> str:
    """Return what the pages show of a run as JSON, one line for each claim."""
    about = json.dumps(dict(header=run.header, machines=run.machines))
    claims = (f"{json.dumps(r.id)}: {json.dumps(recorded(r))}" for r in run.results)
    return f'{about[:-1]}, "claims": {{\n' + ",\n".join(claims) + "\n}}\n"


@functools.cache
def read() -> dict[str, Any]:
    """Return the record of the repository."""
    return json.loads(RECORD.read_text())


def statements(paper: str) -> list[Statement]:
    """Return a paper's statements in its order, each with its repairs."""
    found = {}
    for claim in sorted((c for c in installed() if c.paper == paper), key=in_order):
        known = read()["claims"].get(claim.id)
        is_same = known is not None and known["statement"] == claim.statement
        found[claim.id] = Statement(claim, known if is_same else None)
    for one in found.values():
        if one.claim.repairs in found:
            found[one.claim.repairs].repairs.append(one)
    return [one for one in found.values() if one.claim.repairs not in found]


def sections(of: list[Statement]) -> Iterator[tuple[str, list[Statement]]]:
    """Yield the parts of a paper, each with its statements."""
    for title, part in itertools.groupby(of, _section):
        yield title, list(part)


def _section(statement: Statement) -> str:
    _, kind, letter, numbers, _ = in_order(statement.claim)
    if kind == 0:
        return f"Section {numbers[0]}"
    if kind == 2:
        return f"Appendix {letter}"
    return "Numbered through the paper" if kind == 1 else "Figures, tables and equations"


def plain(text: str) -> str:
    """Return text that Markdown shows as it is, with what stands between backticks as code."""
    parts = " ".join(text.split()).split("`")
    shown = (p if i % 2 else re.sub(r"([|*_<\[\]$])", r"\\\1", p) for i, p in enumerate(parts))
    return "`".join(shown)


def assumed(text: str) -> str:
    """Return an assumption, LaTeX where it has a command, as Markdown."""
    return f"${text}$" if "\\" in text else plain(text)


def page(paper: papers.Paper) -> str:
    """Return a paper's page."""
    of = statements(paper.id)
    every = [*of, *(r for one in of for r in one.repairs)]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= dict(plain=plain, assumed=assumed)
    return environment.get_template("verdicts.md.jinja").render(
        paper=paper,
        count=len(every),
        verdicts=_counted(Counter(one.verdict for one in every)),
        stated=of_paper(paper, [one.claim for one in every]),
        kinds=[
            (kind, [one for one in of if one.fell and one.claim.falls == kind]) for kind in Falls
        ],
        sections=list(sections(of)),
        record=read(),
    )


def evidence() -> str:
    """Return a table of the claims that hold, by what the verdict rests on."""
    found = [one for one in read()["claims"].values() if one["verdict"] == Verdict.holds]
    grades = Counter((one["evidence"], one["proved"]) for one in found)
    proofs = ["", *(scope.proved() for scope in (Scope.part, Scope.sizes, Scope.whole))]
    lines = ["| evidence | claims |", "|---|---|"]
    for grade, proved in itertools.product(reversed(Evidence), reversed(proofs)):
        if count := grades[grade.name, proved]:
            lines.append(f"| {_graded(grade.name, proved)} | {count} |")
    return "\n".join(lines)


def _counted(verdicts: Counter[str]) -> str:
    said = {"holds": "hold", "refuted": "are refuted", "inconclusive": "are undecided"}
    return ", ".join(f"{verdicts[v]} {said.get(v, v)}" for v in Verdict if verdicts[v])


def fill(app: "Sphinx", name: str, source: list[str]) -> None:
    """Replace what a paper's file says by its page, and the mark of the evidence by its table."""
    if name.startswith(PAGES):
        (paper,) = (p for p in papers.known() if p.id == name.removeprefix(PAGES))
        front = source[0].split("---\n", 2)[1]
        source[0] = f"---\n{front}---\n\n{page(paper)}"
    source[0] = MARK.sub(lambda found: evidence(), source[0])


def _is_made(name: str) -> bool:
    return name.startswith(PAGES) or name == "certify"


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the hooks."""
    app.connect("source-read", fill)
    # What the pages are made of is not in their files, so they are read in every build.
    app.connect("env-get-outdated", lambda app, env, *_: [n for n in env.found_docs if _is_made(n)])
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    RECORD.write_text(record(read_run(sys.argv[1])))
