"""The report as a part of a LaTeX document."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorykit.drafts import Stated, refers
from theorykit.report._content import Content, Entry
from theorykit.report._templates import template

if TYPE_CHECKING:
    import jinja2

BRACES = dict(
    block_start_string="<%",
    block_end_string="%>",
    variable_start_string="<<",
    variable_end_string=">>",
    comment_start_string="<#",
    comment_end_string="#>",
)
"""The marks of a template in which braces are LaTeX's."""


def latex(content: Content, stated: Sequence[Stated] = ()) -> str:
    """Return errata and a table, to be read by a document that uses amsmath and longtable.

    **Arguments:** `stated`: the statements of that document.
    """
    return _template().render(content=content, stated=stated)


@functools.cache
def _template() -> "jinja2.Template":
    filters = {"tex": tex, "name": tex_name, "ascii": ascii_only}
    made = template("report.tex", filters, **BRACES)
    made.globals["verdicts"] = verdicts
    return made


def verdicts(content: Content, stated: Sequence[Stated] = ()) -> list[tuple[str, str]]:
    r"""Return what `\verdict{...}` may be given, ordered, and what it puts into the margin.

    A verdict is asked for by a claim's id, by a label or place that its `ref` names, or by the
    label of a statement of the document that it names by number; several claims of one place share
    a note.
    """
    found: dict[str, list[Entry]] = {}
    for entry in content.entries:
        ref = entry.result.ref
        labels = [s.label for s in stated if s.label and refers(ref, s)]
        for key in dict.fromkeys([entry.id, *_places(ref), *labels]):
            if re.fullmatch(r"[A-Za-z0-9_:./()+ -]+", key):
                found.setdefault(key, []).append(entry)
    return [(key, r" \newline ".join(map(_said, found[key]))) for key in sorted(found)]


def _places(ref: str) -> list[str]:
    """Return the parts of a reference that say where: labels, and words with a number."""
    parts = [part.strip() for part in re.split("[,;]", ref)]
    return [part for part in parts if ":" in part or re.search(r"[\w.] \S*\d", part)]


def _said(entry: Entry) -> str:
    falls = f"; {entry.falls.words()}" if entry.falls is not None else ""
    repaired = "repaired: " if entry.repairs is not None else ""
    graded = f" ({entry.graded}{falls})" if entry.graded else ""
    return rf"{repaired}\textbf{{{entry.result.verdict}}}{tex(graded)}"


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
    "±": r"\ensuremath{\pm}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    **{c: "\\" + c for c in "&%$#_"},
}
GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"


def tex(text: str) -> str:
    """Return plain text as LaTeX; a character that it has no name for becomes a question mark."""
    made = []
    text = re.sub(r"(?<!\w)-(?=\d)", "−", text)  # a line is not broken after a sign
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
