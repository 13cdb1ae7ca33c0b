"""The application, and options that several commands have."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from theorykit.claims import known_ids
from theorykit.common.version import __version__

INTERRUPTED = 130  # what shells expect after Ctrl-C

app = typer.Typer(
    help="Check theory about transformers by computation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        print(f"theorykit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_say_version, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    pass


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
