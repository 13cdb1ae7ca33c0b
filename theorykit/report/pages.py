"""Reports of a run for readers without a terminal: a web page, Markdown, LaTeX."""

from collections.abc import Sequence
from pathlib import Path

from theorykit.drafts import statements
from theorykit.report import _html, _latex, _markdown
from theorykit.report._content import content as content
from theorykit.runs import Run

__all__ = ["content", "html", "latex", "markdown"]


def html(run: Run, old: Run | None = None, patterns: Sequence[str] = ()) -> str:
    """Return one HTML page that needs nothing from elsewhere.

    **Arguments:** `run`, from `theorykit.runs.read_run`; `old`: a run to compare with; `patterns`:
    shell patterns of the ids to show, all of them without one.

    **Raises:** `ValueError` for a pattern that no result matches.
    """
    return _html.html(content(run, old, patterns))


def markdown(run: Run, old: Run | None = None, patterns: Sequence[str] = ()) -> str:
    """Return Markdown as code hosts show it, mathematics included; arguments as for `html`."""
    return _markdown.markdown(content(run, old, patterns))


def latex(
    run: Run,
    old: Run | None = None,
    patterns: Sequence[str] = (),
    draft: str | Path | None = None,
) -> str:
    r"""Return a part of a LaTeX document: errata, a table, and verdicts for margins.

    **Arguments:** as for `html`; `draft`: the main file of the document, whose labels `\verdict`
    then takes too, for the claims that `theorykit.drafts.coverage` finds for them.

    **Raises:** `ValueError` as `html`, or for a draft that cannot be read.
    """
    stated = () if draft is None else statements(draft)
    return _latex.latex(content(run, old, patterns), stated)
