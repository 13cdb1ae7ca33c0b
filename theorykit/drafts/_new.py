"""Write the folder of a new paper."""

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
    "paper.py": "{name}/__init__.py",
    "lemmas.py": "{name}/lemmas.py",
    "test_claims.py": "tests/test_claims.py",
}
"""The templates, and where each goes."""


def new(name: str, where: str | Path = ".") -> Path:
    """Write a folder that works as it is: a paper with claims, and tests of them.

    **Arguments:** `name`: of the folder, of the package in it, and of the paper; `where`: the
    folder to write it in.

    **Returns:** the folder.

    **Raises:** `ValueError` for a name that will not do or that a known paper has, or a folder that
    is there already.
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
        shutil.rmtree(folder, ignore_errors=True)  # no half of a folder
        raise
    return folder
