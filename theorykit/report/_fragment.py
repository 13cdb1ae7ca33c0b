"""Objects in a notebook: the report's pieces, without the page around them."""

import functools
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from theorykit.report._content import Content, Entry
from theorykit.results import Result, Results
from theorykit.runs import Run

BARE = """
& { padding: .2rem .6rem; border-radius: 8px; }
h1 { font-size: 1.5rem; margin: .6rem 0; } h2 { font-size: 1.2rem; margin: 1.2rem 0 .4rem; }
.copy { display: none; } pre { padding-right: 1rem; } .plot { max-width: 30rem; }
"""
"""What differs from a page: no script, less room, and nothing around it."""


def fragment(pieces: Sequence[Any]) -> str:
    """Return HTML for a cell's output.

    **Arguments:** `pieces`: of `theorykit.common.picture`, pages, results and lists of results.
    """
    from theorykit.report._html import render

    return render("fragment.html", pieces=[_known(piece) for piece in pieces], style=_style())


def _known(piece: Any) -> Any:
    match piece:
        case Result():
            return Entry(piece)
        case Results():
            return Content(Run.of(piece, {}), [Entry(result) for result in piece])
    return piece


@functools.cache
def _style() -> str:
    """Return the style of the pages for what is inside, and for nothing else of the notebook."""
    style = resources.files("theorykit.report").joinpath("templates/report.css").read_text("utf-8")
    own = re.sub(r":root|(?<![.\w])(?:html|body)(?= {)", "&", style)
    return f".theorykit {{\n{own}{BARE}}}"
