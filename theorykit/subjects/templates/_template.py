"""Templates: strings with wildcards, matching, and disjointness.

A template is a sequence of symbols. A lower-case Greek letter is a wildcard; a printable ASCII
character or □ is a token, and so is a name in brackets, such as `[CLS]`. Functions accept text or
sequences of symbols.
"""

import dataclasses
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from theorykit.common.arguments import flag, instance, real, shown

WILDCARDS = "αβγδεζηθικλμνξοπρστυφχψω"
"""The wildcards of templates that are written as strings."""
WILD = frozenset(WILDCARDS)
CLS = "[CLS]"
"""The last token of a string, where the output is read."""
FRESH = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
"""Tokens that a common string uses where neither template names one, then [0], [1], ..."""

Symbols = tuple[str, ...]
Label = float | str | None


def symbols(text: str) -> Symbols:
    """Return the symbols of a text, ignoring spaces.

    **Raises:** `ValueError` for an unknown character or a bracket that is not closed.
    """
    instance("a template", text, str, "text here")
    found: list[str] = []
    place = 0
    while place < len(text):
        character = text[place]
        end = place + 1
        if character == "[":
            end = text.find("]", place) + 1
            if not end:
                raise ValueError(f"the template {text!r} has a bracket that is never closed.")
        elif not (character in WILD or character == "□" or " " <= character <= "~"):
            raise ValueError(
                f"the template {text!r} has the unknown character {character!r}; a wildcard is a "
                "lower-case Greek letter, a token an ASCII character, □ or a name in brackets."
            )
        if character != " ":
            found.append(text[place:end])
        place = end
    return tuple(found)


def spelled(z: Any) -> Symbols:
    """Return the symbols of a text, a template or a tuple of symbols.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(z, str):
        return symbols(z)
    found = z.symbols if isinstance(z, Template) else z
    if not isinstance(found, tuple | list):
        raise ValueError(f"a template is text, a Template or a tuple of symbols, got {shown(z)}.")
    try:
        hash(tuple(found))
    except TypeError:
        raise ValueError(f"the symbols of a template are text, got {shown(z)}.") from None
    return tuple(found)


def wildcards(z: Any) -> Symbols:
    """Return the wildcards of a template, in order of appearance."""
    return tuple(dict.fromkeys(s for s in spelled(z) if s in WILD))


def tokens(z: Any) -> Symbols:
    """Return the regular tokens of a template, in order of appearance."""
    return tuple(dict.fromkeys(s for s in spelled(z) if s not in WILD))


def match(z: Any, x: Any) -> dict[str, Any] | None:
    """Return the substitution map from a template to a string, or None (Definition 2.1).

    It is injective, and no wildcard becomes a token of the template.

    **Arguments:** `z`: a template; `x`: a string, as text or a sequence of tokens.
    """
    z, x = spelled(z), spelled(x)
    if len(z) != len(x):
        return None
    found: dict[str, Any] = {}
    for symbol, token in zip(z, x, strict=True):
        if symbol in WILD:
            if found.setdefault(symbol, token) != token:
                return None
        elif symbol != token:
            return None
    image = list(found.values())
    if len(set(image)) < len(image) or set(image) & set(z):
        return None
    return found


def substitute(z: Any, s: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the string sub(z, s).

    **Raises:** `ValueError` if the map lacks a wildcard, is not injective, or uses a token of the
    template.
    """
    z = spelled(z)
    instance("s", s, Mapping, "a dictionary from wildcards to tokens")
    wanted = wildcards(z)
    missing = [w for w in wanted if w not in s]
    if missing:
        raise ValueError(f"the substitution map lacks the wildcard {missing[0]}.")
    image = [_token(s[w]) for w in wanted]
    for token in image:
        if image.count(token) > 1:
            raise ValueError(f"the substitution map is not injective: it uses {token!r} twice.")
        if token in z:
            raise ValueError(
                f"the substitution map uses {token!r}, which is a token of the template "
                f"{''.join(z)}."
            )
    return tuple(s[c] if c in WILD else c for c in z)


def _token(given: Any) -> Any:
    if not isinstance(given, Hashable):
        raise ValueError(f"a token is text or a number, got {shown(given)}.")
    return given


def common(z: Any, other: Any, alphabet: Iterable[Any] | None = None) -> tuple[Any, ...] | None:
    """Return a string that matches both templates, or None if they are disjoint (Definition 3.2).

    A string matches a template if it repeats exactly where the template does and has the template's
    tokens. So two templates share a string if they have the same pattern of repetitions and their
    tokens agree; where neither has a token, any other token will do.

    **Arguments:** `alphabet`: the source of other tokens, unbounded by default; if it has too few,
    the result is None.
    """
    z, other = spelled(z), spelled(other)
    if len(z) != len(other):
        return None
    taken = {*z, *other}
    if alphabet is not None:
        instance("the alphabet", alphabet, Iterable, "a list of tokens")
    else:
        alphabet = itertools.chain(FRESH, (f"[{n}]" for n in itertools.count()))
    fresh = (t for t in map(_token, alphabet) if t not in taken)
    named: dict[str, Any] = {}
    for a, b in zip(z, other, strict=True):
        if a not in WILD or b not in WILD:
            named[a] = a if a not in WILD else b
    for a in z:
        if a not in named:
            token = next(fresh, None)
            if token is None:
                return None
            named[a] = token
    x = tuple(named[a] for a in z)
    both = match(z, x) is not None and match(other, x) is not None
    return x if both else None


def disjoint(z: Any, other: Any) -> bool:
    """Whether no string matches both templates; `common` returns one that does."""
    return common(z, other) is None


def require_disjoint(templates: Sequence[Any]) -> None:
    """Check all pairs of templates.

    **Raises:** `ValueError` that shows two templates that are not disjoint and a string that
    matches both.
    """
    instance("templates", templates, (tuple, list), "a list of templates")
    for z, other in itertools.combinations(templates, 2):
        x = common(z, other)
        if x is not None:
            raise ValueError(
                f"the templates {''.join(spelled(z))} and {''.join(spelled(other))} are not "
                f"disjoint: {''.join(map(str, x))} matches both."
            )


@dataclasses.dataclass(frozen=True)
class Template:
    """A template and its label: a number, or a symbol of its own or of the alphabet.

    `Template.parse("αβα -> +1")` reads what `str` prints. A label that is a token is quoted: `"αb
    -> 'b'"`.
    """

    symbols: Symbols
    label: Label = None

    def __post_init__(self):
        named = isinstance(self.symbols, tuple | list) and all(
            isinstance(s, str) and s for s in self.symbols
        )
        if not named or not self.symbols:
            raise ValueError(
                f"a template has at least one symbol, each a text, got {shown(self.symbols)}; "
                "Template.parse reads one from text."
            )
        object.__setattr__(self, "symbols", tuple(self.symbols))
        if isinstance(self.label, str) and not self.label:
            raise ValueError("a label is a number, a symbol or None, got ''.")
        if self.label is not None and not isinstance(self.label, str):
            real("a label that is not a symbol", self.label)

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Return the template of a text, with or without `-> label`.

        **Raises:** `ValueError` for an unknown character, several lines, or a label that is neither
        a number nor a symbol.
        """
        instance("a template", text, str, "text here")
        if "\n" in text.strip():
            raise ValueError(
                f"{text!r} has several lines, but each text is one template; split it with "
                "templates(*text.splitlines())."
            )
        body, arrow, label = text.rpartition("->")
        if not arrow:
            return cls(_some(text))
        z = _some(body)
        return cls(z, _label(label.strip(), z, text))

    def __str__(self) -> str:
        body = "".join(self.symbols)
        if self.label is None:
            return body
        if isinstance(self.label, str):
            shown = self.label if self.label in WILD else f"'{self.label}'"
        else:
            label = self.label + 0  # avoids -0.0
            shown = ("" if label < 0 else "+") + repr(label).removesuffix(".0")
        return f"{body} -> {shown}"


def _some(text: str) -> Symbols:
    z = symbols(text.strip())
    if not z:
        raise ValueError(f"{text!r} has no symbols.")
    return z


def _label(label: str, z: Symbols, text: str) -> Label:
    if label in WILD:
        if label not in z:
            raise ValueError(
                f"the label of {text!r} is the wildcard {label}, which it does not contain."
            )
        return label
    if len(label) > 2 and label[0] == label[-1] == "'" and len(symbols(label[1:-1])) == 1:
        return label[1:-1]
    try:
        return float(label)
    except ValueError:
        raise ValueError(
            f"the label of {text!r} is a number, a wildcard or a token in quotes, not {label!r}."
        ) from None


def templates(*texts: str, cls: bool = False) -> tuple[Template, ...]:
    """Return the templates of several texts; with `cls`, each ends with [CLS]."""
    found, cls = tuple(Template.parse(text) for text in texts), flag("cls", cls)
    return with_cls(found) if cls else found


def with_cls(found: Iterable[Template]) -> tuple[Template, ...]:
    """Return the templates with [CLS] appended to those that lack it."""
    found = tuple(instance("templates", found, (tuple, list), "several, in a list"))
    for one in found:
        instance("a template", one, Template, "a Template")
    ends = lambda t: t.symbols if t.symbols[-1] == CLS else (*t.symbols, CLS)
    return tuple(dataclasses.replace(t, symbols=ends(t)) for t in found)
