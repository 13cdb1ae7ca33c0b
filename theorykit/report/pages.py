"""Reports of a run for readers without a terminal: a web page, Markdown, LaTeX."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from theorykit.report import _content, _plots
from theorykit.report._content import content as content
from theorykit.report._mathml import is_formula, mathml, sentence
from theorykit.report._terminal import summary
from theorykit.runs._folder import Run

if TYPE_CHECKING:
    import jinja2

__all__ = ["content", "html", "latex", "markdown"]

MOST_LINES = 200
"""Longer witnesses are cut on a page; the run folder has them in full."""


def html(run: Run, old: Run | None = None, patterns: Sequence[str] = ()) -> str:
    """Return one HTML page that needs nothing from elsewhere.

    **Arguments:** `run`, from `runfolder.read_run`; `old`: a run to compare with; `patterns`:
    shell patterns of the ids to show, all of them without one.

    **Raises:** `ValueError` for a pattern that no result matches.
    """
    return _rendered("report.html", run, old, patterns)


def markdown(run: Run, old: Run | None = None, patterns: Sequence[str] = ()) -> str:
    """Return Markdown as code hosts show it, mathematics included; arguments as for `html`."""
    return _rendered("report.md", run, old, patterns)


def latex(run: Run, old: Run | None = None, patterns: Sequence[str] = ()) -> str:
    """Return a part of a LaTeX document: errata and a table; arguments as for `html`."""
    return _rendered("report.tex", run, old, patterns)


def _rendered(template: str, run: Run, old: Run | None, patterns: Sequence[str]) -> str:
    made = _environment(template.endswith(".tex")).get_template(template)
    return made.render(content=content(run, old, patterns))


@functools.cache
def _environment(is_latex: bool) -> "jinja2.Environment":
    import jinja2

    braces: dict[str, Any] = dict(
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("theorykit.report"),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **(braces if is_latex else {}),
    )
    made.globals.update(
        grades=_content.GRADES,
        meaning=_content.MEANING,
        plot=_plots.plot,
        strip=_plots.strip,
        summary=summary,
        code=lambda witness: cut(_content.code(witness)),
    )
    made.filters.update(
        math=mathml,
        sentence=sentence,
        breakable=breakable,
        plain=plain,
        tex=tex,
        name=tex_name,
        ascii=ascii_only,
    )
    made.tests.update(formula=is_formula)
    return made


def cut(text: str) -> str:
    """Return text without the lines that are too many for a page."""
    lines = text.split("\n")
    if len(lines) <= MOST_LINES:
        return text
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], f"# ... {more} more lines; results.jsonl has them"])


def breakable(id: str) -> Markup:
    """Return an id that a browser may break between its parts."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(id))))


def plain(text: str) -> str:
    """Return text that Markdown shows as it is, with what stands between backticks as code."""
    parts = text.replace("\n", " ").split("`")
    if len(parts) % 2 == 0:
        parts = ["`".join(parts)]
    escaped = [p if i % 2 else re.sub(r"([|*_<~])", r"\\\1", p) for i, p in enumerate(parts)]
    return "`".join(escaped)


TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "→": r"\ensuremath{\to}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "−": r"\ensuremath{-}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    **{c: "\\" + c for c in "&%$#_"},
}
GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"


def tex(text: str) -> str:
    """Return plain text as LaTeX; a character that it has no name for becomes a question mark."""
    made = []
    for c in text.replace("<=", "≤").replace(">=", "≥"):
        if c in TEX:
            made.append(TEX[c])
        elif c in GREEK:
            size, letter = unicodedata.name(c).split()[1::2]
            name = {"LAMDA": "LAMBDA"}.get(letter, letter)
            name = name.capitalize() if size == "CAPITAL" else name.lower()
            made.append(rf"\ensuremath{{\{name}}}")
        else:
            made.append(c if c.isascii() else "?")
    return "".join(made)


def tex_name(id: str) -> str:
    """Return an id as LaTeX that may be broken between its parts."""
    return re.sub(r"(\.|\\_)", r"\1\\allowbreak{}", tex(id))


def ascii_only(text: str) -> str:
    r"""Return Python with `\u03b1` for what is not ASCII: in a string, it means the same."""
    return text.encode("ascii", "backslashreplace").decode()
