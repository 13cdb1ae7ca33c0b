"""Templates of the pages, and what all of them share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from theorykit.report import _content
from theorykit.results import Witness

if TYPE_CHECKING:
    import jinja2

_NAMES = {
    "grades": _content.GRADES,
    "proofs": _content.PROOFS,
    "meaning": _content.MEANING,
    "units": _content.UNITS,
    "kinds": _content.FALLS,
}

MOST_LINES = 200
"""Longer witnesses are cut on a page; the run folder has them in full."""


def template(
    name: str, filters: dict[str, Callable[..., Any]], **options: Any
) -> "jinja2.Template":
    """Return a template of this folder.

    **Arguments:** `filters`: how this kind of page sets text; `options`: of its environment.
    """
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("theorykit.report"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
    made.globals.update(**_NAMES, code=code)
    made.filters.update(filters)
    return made.get_template(name)


def code(witness: Witness) -> str:
    """Return a witness as Python that can be pasted, without the lines too many for a page."""
    text = _content.code(witness)
    lines = text.split("\n")
    if len(lines) <= MOST_LINES:
        return text
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], f"# ... {more} more lines, in results.jsonl"])
