"""The shipped programs, readable text files in `crasp/programs/*.crasp`."""

import importlib.resources
from pathlib import Path

from theorykit.common.arguments import shown
from theorykit.subjects.crasp._parse import parse
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import ProgramError


def library() -> list[str]:
    """Return the names of the shipped programs."""
    return sorted(f.name.removesuffix(".crasp") for f in _folder().iterdir() if _is_program(f.name))


def load(name: str | Path) -> Program:
    """Return a shipped program by its name, or a program from a file of your own (a path).

    **Raises:** `ValueError` for an unknown name; `ProgramError` with the place in the file.
    """
    if isinstance(name, Path):
        return _parsed(name.read_text(encoding="utf-8"), str(name))
    return _parsed(source(name), f"{name}.crasp")


def source(name: str) -> str:
    """Return the text of a shipped program, with its comments.

    **Raises:** `ValueError` for an unknown name.
    """
    if not isinstance(name, str) or name not in library():
        raise ValueError(
            f"there is no shipped program {shown(name)}; there are {', '.join(library())}."
        )
    return (_folder() / f"{name}.crasp").read_text(encoding="utf-8")


def _folder():
    return importlib.resources.files("theorykit.subjects.crasp") / "programs"


def _is_program(name: str) -> bool:
    return name.endswith(".crasp")


def _parsed(text: str, where: str) -> Program:
    try:
        return parse(text)
    except ProgramError as error:
        error.args = (f"{where}, {error}",)
        raise
