"""What commands share: settings that processes inherit, files, sentences, Ctrl-C."""

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from theorykit.cli._app import INTERRUPTED
from theorykit.common.compiled import keep_compiled
from theorykit.common.folders import write_atomically
from theorykit.common.node import one_thread


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
