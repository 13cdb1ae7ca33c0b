"""What a run looks like on a terminal: a table, then each refutation and each error."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from theorykit.claims import Claim
from theorykit.drafts import Coverage
from theorykit.report._content import Content, Entry
from theorykit.results import UNREADABLE, Certificate, Fineness, Result, Verdict, Witness

COLOURS = {
    Verdict.holds: "green",
    Verdict.refuted: "red",
    Verdict.inconclusive: "yellow",
    Verdict.error: "bold red",
}

FINENESS = {Fineness.fine: "", Fineness.coarse: "yellow", Fineness.poor: "bold yellow"}

MOST_LINES = 60
"""Longer witnesses are cut on the terminal; the JSON has them in full."""


def terminal(content: Content) -> RenderableType:
    """Return a run: its table, what the table is too short for, what moved, and one line."""
    parts: list[RenderableType] = [table(content.entries), *map(block, content.explained)]
    parts += [Text(""), Text(content.summary)]
    parts += [Text(f"{entry.id}: {'; '.join(entry.changes or ())}") for entry in content.moved]
    parts += [Text(f"{id}: gone") for id in content.gone]
    return Group(*parts)


def table(entries: Sequence[Entry]) -> Table:
    """Return the table of a run: one line per claim."""
    made = _columns(
        "claim", "verdict", "evidence", "tightness or estimate", "resolution", "control"
    )
    made.add_column("seconds", justify="right")
    for entry in entries:
        r = entry.result
        verdict = Text(r.verdict, COLOURS[r.verdict])
        if r.moved:
            verdict.append(f" (recorded: {r.expected})", "bold red")
        made.add_row(
            r.id,
            verdict,
            entry.graded,
            Text(entry.found),
            Text(entry.noticed, FINENESS[entry.resolution.grade] if entry.resolution else ""),
            Text(r.control or "none", "" if r.control == Verdict.refuted else "yellow"),
            f"{r.seconds:.1f}",
        )
    return made


def block(entry: Entry) -> RenderableType:
    """Return one claim with its statement, the reason of its verdict and its witness."""
    result = entry.result
    lines: list[RenderableType] = [
        Text(""),
        Text.assemble(
            (result.id, "bold"),
            "  ",
            (result.verdict.value, COLOURS[result.verdict]),
            "  ",
            result.ref,
        ),
        Text("  " + result.statement, "italic"),
    ]
    if entry.falls is not None:
        what = f"{entry.falls.words()}. {entry.result.consequence}".strip()
        lines.append(Text("  " + what[0].upper() + what[1:]))
    if entry.reason:
        lines.append(Text("  " + entry.reason))
    if entry.witness is not None:
        lines.append(Text(shown(entry.witness)))
    if entry.certificate is not None:
        lines.append(Text(certified(entry.certificate)))
    return Group(*lines)


def certified(certificate: Certificate) -> str:
    """Return a certificate as indented lines: what it says, and the program that repeats it."""
    at = f" ({certificate.bits} bits)" if certificate.bits else ""
    lines = [f"# certified: {certificate.how}{at}", f"# covers {certificate.covers()}"]
    if certificate.lhs is None and certificate.where:
        lines.append(f"# where: {certificate.where}")
    if certificate.lhs is not None:
        lines += [f"# lhs in {certificate.lhs}", f"# rhs in {certificate.rhs}"]
    lines += certificate.program.split("\n") if certificate.program else []
    return "\n".join("    " + line for line in lines)


def shown(witness: Witness) -> str:
    """Return a witness as indented lines that can be pasted into Python."""
    lines = witness.code.split("\n")
    if len(lines) > MOST_LINES:
        cut = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], f"# ... {cut} more lines; --json has them"]
    if witness.lhs is not None:
        lines.append(f"# lhs = {witness.lhs!r}")
        lines.append(f"# rhs = {witness.rhs!r}")
    return "\n".join("    " + line for line in lines)


def listing(claims: Sequence[Claim], last: Mapping[str, Any] | None = None) -> Table:
    """Return a table of claims, in their order; `last`: what was found last of each."""
    names = ("claim", "where", "tier", "expected", "in words")
    made = _columns(*names[:4], *([] if last is None else ["last"]), *names[4:])
    for c in claims:
        found = [] if last is None else [_verdict(last.get(c.id))]
        made.add_row(c.id, c.ref, c.tier, Text(c.expect, COLOURS[c.expect]), *found, c.words)
    return made


def _verdict(last: Mapping[str, Any] | None) -> Text:
    entry = _last_entry(last)
    if entry is None:
        return Text("not run yet")
    return Text(entry.result.verdict, COLOURS[entry.result.verdict])


def experiments(known: Sequence[Any]) -> Table:
    """Return the table of `theorykit experiment`."""
    made = _columns("paper", "experiment", "where", "in words")
    for e in known:
        made.add_row(e.paper, e.name, e.ref, e.words)
    return made


def covered(found: Coverage, last: Mapping[str, Any]) -> RenderableType:
    """Return the table of `theorykit coverage`; `last`: what was found last of each claim."""
    written = any(entry.stated.file for entry in found.entries)  # in a draft
    made = _columns("statement", *(["label", "where"] * written), "claims")
    for entry in found.entries:
        stated, said = entry.stated, Text()
        for claim in entry.claims:
            result = _last_entry(last.get(claim.id))
            verdict = result.result.verdict if result else None
            said.append("\n" * bool(said) + claim.id)
            said.append(f"  {verdict or 'not run yet'}", COLOURS[verdict] if verdict else "")
            if claim in entry.moved:
                said.append("  (the text has changed since)", "bold yellow")
        place = [stated.label, f"{stated.file}:{stated.line}"] * written
        made.add_row(stated.name, *place, said or "none")
    return Group(made, Text(""), Text(found.summary()))


def rows(found: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of rows with the same names."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in found[0] if found else ():
        made.add_column(name, justify="right")
    for row in found:
        made.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    return made


def claim_page(claim: Claim, check: str, last: dict[str, Any] | None) -> list[RenderableType]:
    """Return the page of `theorykit show`."""
    rows = [
        ("paper", f"{claim.paper}, {claim.ref}" if claim.ref else claim.paper),
        ("in words", claim.words),
        ("statement", claim.statement),
        *(("assuming", a) for a in claim.assumptions),
        ("repairs", claim.repairs or ""),
        ("falls", "" if claim.falls is None else claim.falls.words()),
        ("consequence", claim.consequence),
        ("no repair", claim.unrepaired),
        ("expected", claim.expect.value),
        ("tier", claim.tier),
        ("about", "mathematics alone" if claim.mathematics else ""),
        ("check", check),
        ("written in", claim.place),
    ]
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        if value:
            grid.add_row(name, Text(value))
    page: list[RenderableType] = [Text(claim.id, "bold"), grid, Text("")]
    source = claim.source()
    if source is not None:
        page.append(Syntax(source, "python", background_color="default", word_wrap=True))
    entry = _last_entry(last, claim)
    if last is None or entry is None:
        page.append(
            Text("no result for this claim in its present form; `theorykit verify` makes one")
        )
        return page
    head = last["header"]
    page += [
        Text(f"last result (version {head['version']}, seed {head['seed']}, {head['device']})"),
        table([entry]),
        block(entry),
    ]
    if entry.ran:
        page.append(Text(f"  Ran: {entry.ran}"))
    for name, place in entry.places.items():
        page += [Text(f"\n{name.lower()}"), Text(shown(place))]
    return page


def _last_entry(last: Mapping[str, Any] | None, claim: Claim | None = None) -> Entry | None:
    """Return the result that a user's cache keeps, None if another version wrote it."""
    try:
        result = Result.from_json(last["result"]) if last is not None else None
    except UNREADABLE:
        return None
    if result is None:
        return None
    return Entry(result if claim is None else claim.here(result))


def _columns(*names: str) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        made.add_column(name, overflow="fold")
    return made


def console(stderr: bool = False) -> Console:
    """Return a console; one that is not a terminal gets lines wide enough for the table."""
    # Asked of the stream: FORCE_COLOR, which Jupyter sets, makes no terminal of a pipe.
    wide: dict[str, Any] = dict(force_terminal=False, width=140)
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, highlight=False, **({} if terminal else wide))
