"""The command line: `theorykit verify`, `list`, `show`, `report`, `experiment` and so on."""

import contextlib
import dataclasses
import enum
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from theorykit import report
from theorykit.claims import TierWarning, float64, in_order, known_ids, one, select
from theorykit.common.compiled import keep_compiled
from theorykit.common.errors import explain
from theorykit.common.folders import write_atomically
from theorykit.common.interrupts import heard
from theorykit.common.node import one_thread
from theorykit.papers import PaperWarning
from theorykit.places import connected, default_jobs
from theorykit.results import Result
from theorykit.runs import (
    Run,
    as_json,
    fingerprint,
    header,
    read_run,
    recall,
    run_selected,
    schema,
)

INTERRUPTED = 130  # what shells expect after Ctrl-C

app = typer.Typer(
    help="Check theory about transformers by computation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


class Size(enum.StrEnum):
    """How large an experiment is."""

    cpu = "cpu"
    paper = "paper"


def complete_id(incomplete: str) -> list[str]:
    """Return the ids of claims, and files of claims here, that begin like this, for the shell."""
    files = [str(file) for file in Path().glob(f"{incomplete}*.py")]
    return [word for word in [*files, *known_ids()] if word.startswith(incomplete)]


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATTERN or FILE]...",
        help="Ids, with * and ?; or files of claims.",
        autocompletion=complete_id,
    ),
]


Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="How many processes; by default as many as cores and memory allow."
    ),
]
On = Annotated[
    str | None,
    typer.Option(metavar="CLUSTER", help="dask:ADDRESS, or slurm[:jobs=N,time=...,partition=...]."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random numbers.")]
RunFolder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep results in this folder, and resume a run that stopped."),
]
JsonFile = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write results here as JSON (- is stdout)."),
]
HtmlFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write index.html into this folder.")
]
Cache = Annotated[bool, typer.Option(help="Keep compiled code, so that the next run is faster.")]


class Tier(enum.StrEnum):
    """Which claims to run, by how long they take."""

    fast = "fast"
    slow = "slow"
    all = "all"


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
        with connected(on, message) as executor, report.Live(total) as live:

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
    for file, page in ((markdown, pages.markdown), (latex, pages.latex)):
        if file is not None:
            write_text(page(*asked), file)
    if html is markdown is latex is None:
        report.console().print(report.terminal(found))
    for problem in found.problems:
        message(problem)
    return 0


@app.command("experiment")
def _experiment(
    paper: Annotated[str | None, typer.Argument(metavar="[PAPER]")] = None,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]")] = None,
    size: Annotated[
        Size, typer.Option(help="cpu: minutes on two cores; paper: the size in the paper.")
    ] = Size.cpu,
    seed: Seed = 0,
    run: RunFolder = None,
    jobs: Jobs = None,
    on: On = None,
    together: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="How many seeds train side by side as one task; by default all.",
        ),
    ] = None,
    cache: Cache = True,
) -> int:
    """Run an experiment of a paper again; without a name, list them."""
    prepare(cache, jobs, on)  # before JAX is imported
    from theorykit import experiments

    out = report.console()
    if paper is None or name is None:
        out.print(report.experiments(experiments.experiments(paper)))
        return 0
    chosen = experiments.find(paper, name)
    err = report.console(stderr=True)
    say = lambda line: err.print(line, markup=False)
    say(f"{paper} {name}, {size.value}, seed {seed}: {chosen.words} Compiling comes first.")
    setting = experiments.Setting(size.value, seed, run, say, together)
    with stoppable(run), connected(on, say) as executor:
        most = default_jobs() if jobs is None else jobs
        here = None if executor is not None else most
        found = chosen.run(setting, jobs=here, executor=executor)
    out.print(report.rows(found.rows))
    out.print()
    out.print(found.summary, markup=False)
    if run is not None:
        out.print(f"{run / 'finding.json'}, {run / 'figure.png'}", markup=False)
    return 0


@app.command("predict")
def _predict(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="A name, a regular expression, or a Python file."),
    ],
    alphabet: Annotated[
        str | None, typer.Option(help="The symbols; by default those of the expression.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=0, max=40, help="Search all programs of up to this many operations.")
    ] = 7,
    train: Annotated[
        bool, typer.Option("--train", help="Train networks, and compare them with the prediction.")
    ] = False,
    seed: Seed = 0,
    run: RunFolder = None,
    html: HtmlFolder = None,
) -> int:
    """Say whether a transformer will learn a task at all lengths, and what that rests on."""
    from theorykit import predict

    a_folder(html)
    err = report.console(stderr=True)
    say = lambda line: err.print(line, markup=False, style="dim")
    with stoppable(run):
        made = predict.predict(
            task, alphabet=alphabet, most=most, train=train, seed=seed, folder=run, say=say
        )
    page = predict.page(made)
    report.console().print(report.terminal_page(page))
    if html is not None:
        write_page(report.html_page(page), html)
    return 0


@app.command("audit")
def _audit(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATTERN or FILE]...",
            help="Names of functions or ids of claims, with * and ?; or files of claims.",
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Keep results in this folder, and resume an audit that stopped."
        ),
    ] = Path("audit"),
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many faults to plant; by default all."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    budget: Annotated[
        float | None, typer.Option(min=0.0, metavar="MINUTES", help="Stop after this many minutes.")
    ] = None,
    tests: Annotated[Path, typer.Option(metavar="DIR", help="The folder of tests.")] = Path(
        "tests"
    ),
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="A run folder: also run the claims that ran the function there."
        ),
    ] = None,
    equivalent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A TOML file of faults that change nothing.")
    ] = None,
    json_file: JsonFile = None,
) -> int:
    """Plant small faults in functions, one at a time; exit 0 if tests or claims notice them all."""
    from theorykit.audit import audit

    writable(json_file)
    names = patterns or ["theorykit.*"]
    files = [n for n in names if n.endswith(".py")]
    err = report.console(stderr=True)
    with stoppable(folder):
        found = audit(
            [n for n in names if n not in files] or ["theorykit.*"],
            sample=sample,
            seed=seed,
            budget=budget,
            folder=folder,
            tests=tests,
            run=run,
            files=files,
            equivalent=equivalent,
            say=lambda line: err.print(line, markup=False),
        )
    out = report.console(stderr=json_file == "-")
    out.print(report.rows(found.rows))
    for miss in found.missed:
        out.print(f"\n{miss.fault.place}  {miss.fault.kind}, missed", markup=False)
        out.print(miss.fault.diff(), markup=False)
    for problem in found.problems:
        message(problem)
    if found.left:
        message(f"{found.left} faults are not planted yet; the same command continues.")
    write_json(found.json(), json_file)
    return int(bool(found.missed))


@app.command("new")
def _new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the paper and of its folder.")
    ],
) -> int:
    """Write a folder for the claims of a paper of your own, with tests and a workflow."""
    from theorykit.drafts import new

    folder = new(name)
    print(f"{folder}: start with {folder / name / 'lemmas.py'}")
    print(f"theorykit verify {folder / name / 'lemmas.py'} tries its claims.")
    return 0


@app.command("coverage")
def _coverage(
    draft: Annotated[Path, typer.Argument(metavar="DRAFT.tex", help="The draft's main file.")],
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
    from theorykit.drafts import coverage

    if not names:
        raise ValueError(
            "name the claims too: a pattern, such as 'my_paper.*', or a file of claims."
        )
    writable(json_file)
    found = coverage(draft, select(names), record, accept)
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


@app.command("bench")
def _bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Benchmarks to run; by default all."),
    ] = None,
    folder: Annotated[
        Path, typer.Option(metavar="DIR", help="The repository's folder of benchmarks.")
    ] = Path("benchmarks"),
    listed: Annotated[bool, typer.Option("--list", help="List them, and run none.")] = False,
    json_file: JsonFile = None,
) -> int:
    """Run benchmarks, and compare them with the last run on this machine."""
    from theorykit.bench import bench, benchmarks

    writable(json_file)
    out = report.console(stderr=json_file == "-")
    if listed:
        known = benchmarks(folder)
        out.print(report.rows([{"benchmark": n, "measures": what} for n, what in known.items()]))
        return 0
    err = report.console(stderr=True)
    found = bench(names or [], folder, lambda line: err.print(line, markup=False))
    out.print(report.rows([row.cells() for row in found]))
    write_json({"rows": [dataclasses.asdict(row) for row in found]}, json_file)
    return 0


@app.command("schema")
def _schema() -> int:
    """Print the JSON schema of a run's results."""
    write_json(schema(), "-")
    return 0


def prepare(cache: bool, jobs: int | None, on: str | None) -> None:
    """Settle what processes inherit: one thread each, and where what is compiled is kept."""
    if jobs is not None and on is not None:
        raise ValueError("give --jobs or --on, not both: a cluster has its own processes.")
    one_thread()
    if cache:
        keep_compiled()


def writable(file: str | None) -> None:
    """Raise before hours of work if the results could not be written after it."""
    if file is None or file == "-":
        return
    path = Path(file)
    if path.is_dir():
        raise ValueError(f"{file} is a folder; name a file.")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"{file} cannot be written: no writable folder {path.parent}.")


def a_folder(path: Path | None) -> None:
    """Raise before the work is done if a page cannot be written into a folder of that name."""
    if path is not None and path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; name a folder for the page.")


def write_page(page: str, folder: Path) -> None:
    """Write a page as index.html into a folder, which is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "index.html", page)


def write_json(content: dict[str, Any], file: str | None) -> None:
    """Write strict JSON to a file or, for "-", to stdout."""
    if file is None:
        return
    write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", file)


def write_text(text: str, file: str) -> None:
    """Write to a file or, for "-", to stdout."""
    if file == "-":
        sys.stdout.write(text)
    else:
        write_atomically(Path(file), text)


def continued(folder: Path | None) -> str:
    """Return how what was interrupted can go on, if a folder keeps it."""
    again = shlex.join(["theorykit", *sys.argv[1:]])
    return f"to continue: {again}" if folder else "with --run DIR it could be continued"


@contextlib.contextmanager
def stoppable(folder: Path | None) -> Iterator[None]:
    """Return a scope in which Ctrl-C ends the command with a sentence; `folder` keeps the work."""
    try:
        yield
    except KeyboardInterrupt:
        message(f"interrupted; {continued(folder)}")
        raise typer.Exit(INTERRUPTED) from None


def message(sentence: str) -> None:
    """Say one sentence on stderr."""
    print(f"theorykit: {sentence}", file=sys.stderr)


@contextlib.contextmanager
def _said_plainly() -> Iterator[None]:
    """Return a scope in which what is left out, papers and claims, is one sentence on stderr."""
    with warnings.catch_warnings():
        as_before = warnings.showwarning

        def show(warning: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, PaperWarning | TierWarning):
                message(str(warning))
            else:
                as_before(warning, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _usage(error: Any) -> str:
    """Return what is wrong with the call, as the parser says it, in plain words."""
    said = error.format_message().replace("Value error, ", "")
    given = re.search(r"input_value=('[^']*')", str(error.__cause__))
    if given is not None:
        said = said.replace("Input should be", f"{given[1]} should be")
    said = re.sub(r"should be a valid (integer|number), unable to .*", r"is not a valid \1", said)
    said = re.sub(r" \(Possible options: (.*)\)", r". Did you mean \1?", said)
    where = getattr(getattr(error, "ctx", None), "command_path", "theorykit")
    stop = "" if said.endswith((".", "?")) else "."
    return f"{said}{stop} `{where} --help` shows what there is."


def main() -> None:
    """Run the command line; every usage error is one sentence and exit code 2."""
    status: Any
    try:
        with _said_plainly(), heard():
            status = app(standalone_mode=False, prog_name="theorykit")
    except (ValueError, OSError) as error:  # an OSError names its file
        message(str(error))
        status = 2
    except (KeyboardInterrupt, typer.Abort):  # the parser makes the one of the other
        message("interrupted")
        status = INTERRUPTED
    except Exception as error:
        # The command-line parser's own errors, whichever package they come from.
        if not hasattr(error, "format_message"):
            raise
        message(_usage(error))
        status = 2
    sys.stdout.flush()
    sys.stderr.flush()
    # A claim may still be computing in a thread after Ctrl-C; there is nothing to wait for.
    os._exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
