"""What objects look like in a notebook, described: words, code, tables, lines, matrices.

A subpackage registers with `pieces` what its objects look like, but not how that is drawn. The
top-level package, which knows all subpackages, says what draws it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Words:
    """A sentence or two."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines that are shown as they are."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table.

    **Fields:** `rows`: name -> cell, the same names in each.
    """

    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Lines:
    """Lines of points (x, y) in one plot.

    **Fields:** `caption`, the sentence below; `x`, what the horizontal axis is; `lines`; `band`,
    points (x, low, high) of a band behind them; `logarithmic`, whether the vertical axis is.
    """

    caption: str
    x: str
    lines: Sequence[Sequence[tuple[float, float]]]
    band: Sequence[tuple[float, float, float]] = ()
    logarithmic: bool = False


@dataclass(frozen=True)
class Matrix:
    """A matrix, drawn as a square for each entry.

    **Fields:** `caption`, the sentence below; `values`, an array (rows, columns).
    """

    caption: str
    values: Any


@functools.singledispatch
def pieces(thing: Any) -> list[Any]:
    """Return what to show of an object: pieces, or anything that a report can draw itself."""
    return [thing]


draw: Callable[[list[Any]], str] | None = None
"""Draws pieces as HTML; the package sets it."""


def html(thing: Any) -> str | None:
    """Return an object as HTML, None if nothing draws it: every `_repr_html_` is this function."""
    return None if draw is None else draw(pieces(thing))
