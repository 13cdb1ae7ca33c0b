r"""What LaTeX reads of a file: no comments, addresses, verbatim text or `\iffalse ... \fi`."""

import re
from collections.abc import Mapping
from pathlib import Path

_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*)"
    r"|\\verb\*?(?P<mark>[^A-Za-z\s*])[^\n]*?(?P=mark)"
    r"|\\newif\s*\\if[A-Za-z@]+"
    r"|(?P<address>\\(?:url|href|path|nolinkurl)\s*\{[^{}\n]*\})"  # in which % is no comment
    r"|\\begin\s*\{(?P<unread>comment|(?:B|L)?[vV]erbatim\*?|lstlisting|minted|filecontents\*?)\}"
    r".*?\\end\s*\{(?P=unread)\}"
    r"|\\(?P<name>[A-Za-z@]+)|\\.",
    re.DOTALL,
)
_NOT_CONDITIONS = re.compile(r"iff|ifthenelse|iftoggle|ifbool|ifblank|if(?:str|def|cs|num|dim).+")
"""Macros whose names begin like a condition, but which no `\\fi` ends."""
_PRIMITIVE = {"ifnum", "ifdim", "ifdefined", "ifcsname"}


def read(file: Path) -> str:
    """Return the text of a file.

    **Raises:** `ValueError` if there is none, or it is not text.
    """
    if not file.is_file():
        raise ValueError(f"{file} is a folder." if file.is_dir() else f"there is no file {file}.")
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} cannot be read as LaTeX: {error}.") from error


def visible(source: str, switches: Mapping[str, bool] | None = None) -> str:
    r"""Return a source with blanks for what LaTeX skips, so that every line keeps its number.

    **Arguments:** `switches`: the conditions that `\newif` made, and whether they are true. Where
    it is not known whether a condition is true, both branches are kept.
    """
    known = {"iffalse": False, "iftrue": True, **(switches or {})}
    made: list[str] = []
    nested: list[bool | None] = []  # of each open condition, whether this branch is read
    at = 0
    for token in _TOKEN.finditer(source):
        hidden = False in nested
        made.append(_blank(source[at : token.start()]) if hidden else source[at : token.start()])
        at, name = token.end(), token["name"] or ""
        truth: bool | None = None
        if name in known or _is_condition(name):
            truth = known.get(name)
            if name == "if" and (digits := re.match(r"\s*(\d)\s*(\d)?", source[at:])):
                truth = digits[1] == digits[2]  # \if0 ... \fi is a common way to leave out
                if not hidden:
                    made.append(_blank(token[0]))
                    hidden, at = True, at + digits.end()
                    made.append(_blank(source[token.end() : at]))
            nested.append(truth)
        elif name == "else" and nested:
            nested[-1] = None if nested[-1] is None else not nested[-1]
        elif name == "fi" and nested:
            truth = nested.pop()
        if at == token.end():
            unread = any(token[key] is not None for key in ("comment", "unread", "address"))
            skipped = hidden or unread or truth is not None or name == "else"
            made.append(_blank(token[0]) if skipped else token[0])
    rest = source[at:]
    return "".join([*made, _blank(rest) if False in nested else rest])


def _is_condition(name: str) -> bool:
    return name in _PRIMITIVE or (name.startswith("if") and not _NOT_CONDITIONS.fullmatch(name))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
