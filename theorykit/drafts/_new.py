"""Write the folder of a new paper."""

import importlib.util
import keyword
import re
import shutil
from pathlib import Path

import jinja2

from theorykit import papers
from theorykit.common.version import __version__

FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "check.yml": ".github/workflows/check.yml",
    "paper.py": "src/{name}/__init__.py",
    "lemmas.py": "src/{name}/lemmas.py",
    "test_claims.py": "tests/test_claims.py",
}
"""The templates and their destinations."""


def new(name: str, where: str | Path = ".") -> Path:
    """Write a complete folder for a new paper, with claims and their tests.

    **Arguments:** `name`: of the folder, the package in it, and the paper; `where`: the parent
    folder.

    **Returns:** the folder.

    **Raises:** `ValueError` for an invalid name or that of a known paper, or a folder that already
    exists.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(
            "a paper's name is lower-case letters, digits and _, starting with a letter, as in "
            f"my_paper; not {name!r}."
        )
    if keyword.iskeyword(name) or name in {"test", "tests", "theorykit"}:
        raise ValueError(
            f"{name} already has a meaning in Python or in theorykit; choose another name."
        )
    if any(name == paper.id for paper in papers.known()):
        raise ValueError(f"there is already a paper {name}; choose another name.")
    folder = Path(where) / name
    if folder.exists():
        raise ValueError(f"{folder} already exists; choose another name, or remove it.")
    if _importable(name):
        raise ValueError(
            f"{name} is the name of an installed Python module, which the paper's package would "
            "hide; choose another name."
        )
    loader = jinja2.PackageLoader("theorykit.drafts")
    pages = jinja2.Environment(
        loader=loader, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    words = dict(name=name, title=name.replace("_", " ").capitalize(), version=__version__)
    try:
        for template, place in FILES.items():
            file = folder / place.format(name=name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(pages.get_template(f"{template}.jinja").render(words))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # do not leave half a folder
        raise
    return folder


def _importable(name: str) -> bool:
    """Return whether a module of this name is installed; a folder without code is none."""
    try:
        found = importlib.util.find_spec(name)
    except ValueError:  # a module that was made at run time
        return True
    return found is not None and found.origin is not None
