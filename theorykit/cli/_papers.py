"""Papers: a new one, what of a draft has claims, and proofs for another kernel."""

from pathlib import Path
from typing import Annotated

import typer

from theorykit import papers, report
from theorykit.claims import select
from theorykit.cli._app import JsonFile, Names, app
from theorykit.cli._tools import message, stoppable, writable, write_json
from theorykit.runs import recall


@app.command("new")
def _new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the paper and of its folder.")
    ],
) -> int:
    """Write a folder for the claims of a paper of your own, with tests and a workflow."""
    from theorykit.drafts import new

    folder = new(name)
    claims = next(folder.rglob("lemmas.py"))
    print(f"{folder}: start with {claims}")
    print(f"theorykit verify {claims} tries its claims.")
    return 0


@app.command("coverage")
def _coverage(
    draft: Annotated[
        Path,
        typer.Argument(
            metavar="DRAFT.tex", help="The draft's main file, or a paper's name for its own list."
        ),
    ],
    names: Names = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Remember in this file which text each claim was written for."
        ),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Record the current text of each statement.")
    ] = False,
    json_file: JsonFile = None,
) -> int:
    """List the statements of a LaTeX draft with their claims; exit 1 if a text has changed."""
    from theorykit.drafts import coverage, of_paper

    paper = next((p for p in papers.known() if p.id == str(draft) and p.statements), None)
    if paper is None and not names:
        raise ValueError(
            "name the claims too: a pattern, such as 'my_paper.*', or a file of claims."
        )
    if paper and (record or accept):
        raise ValueError(f"{draft} is a paper's list, without texts that --record could keep.")
    writable(json_file)
    if paper:
        found = of_paper(paper, select(names or [f"{paper.id}.*"]))
    else:
        found = coverage(draft, select(names or []), record, accept)
    report.console(stderr=json_file == "-").print(report.covered(found, recall()))
    write_json(found.json(), json_file)
    return int(bool(found.moved))


@app.command("export")
def _export(
    names: Names = None,
    rocq: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write scripts for Rocq into this folder.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Run coqc on each script, and keep the assumptions that it prints."
        ),
    ] = False,
    control: Annotated[
        bool, typer.Option("--control", help="Write the controls, which Rocq should refuse.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            min=1.0, metavar="SECONDS", help="The most time that coqc may take per script."
        ),
    ] = 300.0,
    json_file: JsonFile = None,
) -> int:
    """Write proofs as scripts for Rocq; exit 1 if one that should be accepted is refused."""
    from theorykit.export import Row, export_all, summary

    if rocq is None:
        raise ValueError("name a folder for the scripts: --rocq DIR.")
    writable(json_file)
    claims = select(names or [])
    err = report.console(stderr=True)

    def say(row: Row) -> None:
        if len(claims) > 1:
            line = " ".join([row.state, row.id, row.why.removeprefix(row.id)])
            err.print(line.rstrip(), markup=False, highlight=False)

    with stoppable(rocq):
        rows = export_all(claims, rocq, control=control, checked=check, timeout=timeout, say=say)
    if len(rows) == 1 and rows[0].state == "not exportable":
        raise ValueError(rows[0].why)
    out = report.console(stderr=json_file == "-")
    out.print(report.rows(summary(rows)))
    for row in rows if len(rows) == 1 else []:
        message(" ".join([row.file, row.state, row.why]).rstrip())
    write_json({"proofs": [row.json() for row in rows]}, json_file)
    wrong = "accepted" if control else "refused"
    return int(any(row.state == wrong for row in rows))
