"""LaTeX as MathML, which browsers render without a script or a network."""

import functools
import re
import unicodedata
from xml.etree import ElementTree as xml

from latex2mathml.converter import convert
from markupsafe import Markup, escape

RENAMED = {
    r"\\arg\\(min|max)\b": r"\\mathrm{arg\,\1}",
    r"\\arg\b": r"\\mathrm{arg}",
    r":=": r"\\coloneqq ",
}
"""What the converter does not know, in terms of what it does."""

LETTERS = {
    "double-struck": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
    "script": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    "fraktur": ("MATHEMATICAL FRAKTUR", "BLACK-LETTER"),
    "bold": ("MATHEMATICAL BOLD", "MATHEMATICAL BOLD"),
    "monospace": ("MATHEMATICAL MONOSPACE", "MATHEMATICAL MONOSPACE"),
}
"""Alphabets that browsers take from Unicode: they ignore the attribute that asks for one."""

THINGS = ("∞", "∅", "⊤", "⊥")
ORDINARY = (*THINGS, *"∂∇′†‡∀∃∄¬")
"""What is no operator between two others, among the symbols that Unicode calls mathematical."""

NAMESPACE = "http://www.w3.org/1998/Math/MathML"

xml.register_namespace("", NAMESPACE)


@functools.lru_cache(maxsize=4096)
def mathml(tex: str, display: bool = False) -> Markup:
    """Return a `<math>` element, or the LaTeX itself as `<code>` where it cannot be converted.

    **Arguments:** `tex`: without dollar signs; `display`: on a line of its own.
    """
    asked = tex
    for old, new in RENAMED.items():
        asked = re.sub(old, new, asked)
    try:
        root = xml.fromstring(convert(asked, display="block" if display else "inline"))
    except Exception:  # whatever a parser of LaTeX may raise
        return _as_written(tex)
    for node in list(root.iter()):
        text = node.text or ""
        if _tag(node) == "mtext":  # the converter keeps the backslash of \$ in text
            text = node.text = re.sub(r"\\([$%#&_])", r"\1", text)
        if "\\" in text and text != "\\":
            return _as_written(tex)
        _set_letters(node)
        _set_operator(node)
    for node in list(root.iter()):
        _set_spaces(node)
    root.set("alttext", tex)
    return Markup(xml.tostring(root, encoding="unicode"))


SIGNS = {"&lt;=": "≤", "&gt;=": "≥", "-&gt;": "→", "+-": "±"}

SUBSCRIPT = re.compile(r"(?<![\w.&])([A-Za-z])_([A-Za-z0-9]+)(?![\w(])")
POWER = re.compile(r"\^(?:\(([^()]*)\)|(-?\w+))")


def sentence(text: str) -> Markup:
    """Return plain text as a page shows it: `code` between backticks, signs and indices set."""
    parts = str(escape(text)).split("`")
    if len(parts) % 2 == 0:
        return Markup("`".join(parts))
    return Markup("".join(f"<code>{p}</code>" if i % 2 else _set(p) for i, p in enumerate(parts)))


def _set(text: str) -> str:
    for written, sign in SIGNS.items():
        text = text.replace(written, sign)
    text = SUBSCRIPT.sub(r"<i>\1</i><sub>\2</sub>", text)
    return POWER.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", text)


def is_formula(text: str) -> bool:
    """Whether an assumption is LaTeX, not words: it has a command, or no word of three letters."""
    return "\\" in text or not re.search(r"(?<![\w.])[a-z]{3,}", text)


def _as_written(tex: str) -> Markup:
    return Markup('<code class="tex">{}</code>').format(tex)


def _tag(node: xml.Element) -> str:
    return node.tag.rpartition("}")[2]


def _set_letters(node: xml.Element) -> None:
    """Write letters of another alphabet as the characters that Unicode has for them."""
    names = LETTERS.get(node.get("mathvariant", ""))
    if names is None:
        return
    del node.attrib["mathvariant"]
    node.text = "".join(_letter(c, names) for c in node.text or "")


def _letter(character: str, names: tuple[str, str]) -> str:
    kind = {"Lu": "CAPITAL", "Ll": "SMALL", "Nd": "DIGIT"}.get(unicodedata.category(character))
    name = unicodedata.name(character, "").rpartition(" ")[2]
    for alphabet in names if kind else ():
        try:
            return unicodedata.lookup(f"{alphabet} {kind} {name}")
        except KeyError:
            continue
    return character


def _set_operator(node: xml.Element) -> None:
    """Tell operators from identifiers: browsers space by the element, not by the character."""
    text = node.text or ""
    is_name = text in THINGS or (text.isalpha() and len(text) > 1 and text != "mod")
    if _tag(node) == "mo" and is_name:
        node.tag = f"{{{NAMESPACE}}}mi"
    elif _tag(node) == "mi" and text == "~":
        node.tag, node.text = f"{{{NAMESPACE}}}mo", "∼"
    elif _tag(node) == "mi" and len(text) == 1 and text not in ORDINARY:
        if unicodedata.category(text) in ("Sm", "Po"):
            node.tag = f"{{{NAMESPACE}}}mo"
    elif _tag(node) == "mo" and text in ("|", "#", "/"):  # bars, counts and quotients stay close
        node.set("lspace", "0")
        node.set("rspace", "0")
    elif _tag(node) == "mover" and _tag(node[1]) == "mo":
        node.set("accent", "true")


def _set_spaces(node: xml.Element) -> None:
    """Set functions off by a thin space, as in  P log T."""
    if _tag(node) not in ("mrow", "math", "mstyle", "msqrt"):
        return
    children = list(node)
    for i in range(len(children) - 1, -1, -1):
        if not _is_function(children[i]):
            continue
        after = _tag(children[i + 1]) if i + 1 < len(children) else "mo"
        if after not in ("mo", "mspace", "mtext"):
            node.insert(i + 1, _thin_space())
        before = _tag(children[i - 1]) if i else "mo"
        closes = i and (children[i - 1].text or "") in (")", "]", "|")
        if closes or before not in ("mo", "mspace", "mtext"):
            node.insert(i, _thin_space())


def _is_function(node: xml.Element) -> bool:
    base = node[0] if _tag(node) in ("msub", "msup", "msubsup", "munder") else node
    text = base.text or ""
    return _tag(base) == "mi" and len(text) > 1 and text.isascii() and text.isalpha()


def _thin_space() -> xml.Element:
    return xml.Element(f"{{{NAMESPACE}}}mspace", width="0.167em")
