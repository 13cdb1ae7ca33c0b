"""What takes long and leaves a folder: experiments, predictions, audits, benchmarks."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from theorykit import report
from theorykit.cli._app import Cache, HtmlFolder, Jobs, JsonFile, On, RunFolder, Seed, Size, app
from theorykit.cli._tools import (
    a_folder,
    message,
    prepare,
    stoppable,
    writable,
    write_json,
    write_page,
)
from theorykit.places import connected, default_jobs


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
    from theorykit.bench import Row, bench, benchmarks

    writable(json_file)
    out = report.console(stderr=json_file == "-")
    if listed:
        known = benchmarks(folder)
        out.print(report.rows([{"benchmark": n, "measures": what} for n, what in known.items()]))
        return 0
    err = report.console(stderr=True)
    found: list[Row] = []
    try:
        found.extend(bench(names or [], folder, lambda line: err.print(line, markup=False)))
    finally:  # also of those that ran before one failed, or before Ctrl-C
        if found:
            out.print(report.rows([row.cells() for row in found]))
            write_json({"rows": [dataclasses.asdict(row) for row in found]}, json_file)
    return 0
