"""Claims: try to break them, list and show them, and report what was found."""

from pathlib import Path
from typing import Annotated

import typer

from theorykit import report
from theorykit.claims import float64, in_order, one, select
from theorykit.cli._app import (
    INTERRUPTED,
    Cache,
    HtmlFolder,
    Jobs,
    JsonFile,
    Names,
    On,
    RunFolder,
    Seed,
    Tier,
    app,
    complete_id,
)
from theorykit.cli._tools import (
    a_folder,
    continued,
    message,
    prepare,
    writable,
    write_json,
    write_page,
    write_text,
)
from theorykit.common.errors import explain
from theorykit.places import connected, default_jobs
from theorykit.results import Result
from theorykit.runs import (
    Live,
    Run,
    as_json,
    fingerprint,
    header,
    read_run,
    recall,
    run_selected,
    schema,
)


@app.command("verify")
def _verify(
    names: Names = None,
    tier: Annotated[
        Tier, typer.Option(help="Which claims to run, by how long they take.")
    ] = Tier.fast,
    seed: Seed = 0,
    json_file: JsonFile = None,
    run: RunFolder = None,
    jobs: Jobs = None,
    on: On = None,
    cache: Cache = True,
) -> int:
    """Try to break claims; exit 0 if every verdict is the recorded one, 1 if any moved."""
    writable(json_file)
    prepare(cache, jobs, on)
    claims = select(names or [], tier)
    total = len(claims)
    out = report.console(stderr=json_file == "-")
    found: list[Result] = []
    status = 0
    try:
        err = report.console(stderr=True)
        with connected(on, message) as executor, Live(total, err) as live:

            def keep(result: Result) -> None:
                found.append(result)
                live.finished(result, len(found))

            most = max(min(default_jobs() if jobs is None else jobs, total), 1)
            here = None if executor is not None else most
            run_selected(claims, seed, run, keep, live.progress, here, executor)
    except KeyboardInterrupt:
        status = INTERRUPTED
    found.sort(key=lambda r: r.id)
    head = header(seed)
    if found:
        out.print(report.terminal(report.content(Run.of(found, head))))
    write_json(as_json(head, found), json_file)
    if status:
        message(f"interrupted after {len(found)} of {total} claims; {continued(run)}")
        return status
    return int(any(r.moved for r in found))


@app.command("list")
def _list(
    names: Names = None,
    json_file: JsonFile = None,
) -> int:
    """List claims, in the order of their papers."""
    writable(json_file)
    claims = sorted(select(names or []), key=in_order)
    if json_file is None:
        report.console().print(report.listing(claims))
    else:
        write_json({"claims": [c.json() for c in claims]}, json_file)
    return 0


@app.command("show")
def _show(
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID or PATTERN",
            help="A claim's id; a pattern or a file of claims lists them in the paper's order.",
            autocompletion=complete_id,
        ),
    ],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Files of claims to look in.")
    ] = None,
) -> int:
    """Show one claim: statement, assumptions, check, control and last result; or list several."""
    if id.endswith(".py") or set(id) & set("*?["):
        listed = sorted(select([id, *(files or [])]), key=in_order)
        report.console().print(report.listing(listed, recall()))
        return 0
    claim = one(id, files or ())
    try:
        with float64():
            described = claim.build().tried()
    except Exception as error:
        described = f"cannot be built: {explain(error, claim.file, place=claim.place)}"
    out = report.console()
    last = recall().get(id)
    if last is not None and last.get("fingerprint") != fingerprint(claim):
        last = None  # of another file's claim, or of this one before it was edited
    for part in report.claim_page(claim, described, last):
        out.print(part)
    return 0


@app.command("report")
def _report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `verify --run` wrote.")],
    patterns: Annotated[
        list[str] | None, typer.Argument(metavar="[PATTERN]...", help="Ids, with * and ?.")
    ] = None,
    html: HtmlFolder = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write Markdown here (- is stdout).")
    ] = None,
    latex: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write LaTeX here: errata, and verdicts for margins."),
    ] = None,
    draft: Annotated[
        Path | None,
        typer.Option(metavar="TEX", help="The paper whose labels --latex is to know."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="OLD", help="An older run folder, to show what has changed since."),
    ] = None,
) -> int:
    """Report a run on the terminal, or as a web page, Markdown or LaTeX."""
    from theorykit.report import pages

    writable(markdown)
    writable(latex)
    a_folder(html)
    now = read_run(run)
    old = read_run(against) if against is not None else None
    asked = now, old, patterns or ()
    found = pages.content(*asked)
    if html is not None:
        write_page(pages.html(*asked), html)
    if draft is not None and latex is None:
        raise typer.BadParameter("--draft goes with --latex, whose margins its labels are for.")
    if markdown is not None:
        write_text(pages.markdown(*asked), markdown)
    if latex is not None:
        write_text(pages.latex(*asked, draft), latex)
    if html is markdown is latex is None:
        report.console().print(report.terminal(found))
    for problem in found.problems:
        message(problem)
    return 0


@app.command("schema")
def _schema() -> int:
    """Print the JSON schema of a run's results."""
    write_json(schema(), "-")
    return 0
