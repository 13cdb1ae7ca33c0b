"""Boxes and their pieces: exact ends for each variable, which can be halved."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from theorykit.certify._enclose import number_array
from theorykit.certify._numbers import ball, float_above, float_below
from theorykit.common.arguments import shown

Box = dict[str, tuple[Any, Any]]


@dataclasses.dataclass(frozen=True)
class Piece:
    """A part of the box: exact ends for each variable, and its share of the volume."""

    low: tuple[arb, ...]
    high: tuple[arb, ...]
    share: Fraction

    # An end that is not a float, such as a third, becomes an exact number just outside the box.

    def balls(self) -> list[arb]:
        return [a if a is b else a.union(b) for a, b in zip(self.low, self.high, strict=True)]

    def middle(self) -> list[arb]:
        return [between(a, b) for a, b in zip(self.low, self.high, strict=True)]

    def halves(self, i: int) -> "list[Piece]":
        cut = between(self.low[i], self.high[i])
        half = self.share / 2
        return [
            Piece(self.low, _with(self.high, i, cut), half),
            Piece(_with(self.low, i, cut), self.high, half),
        ]

    def face(self, i: int, low: bool) -> "Piece":
        end = self.low[i] if low else self.high[i]
        return Piece(_with(self.low, i, end), _with(self.high, i, end), self.share)


def fraction_of(x: arb) -> Fraction:
    """Return an exact number as a fraction."""
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def leaves_of(shapes: Mapping[str, tuple[int, ...]], numbers: Sequence[Any]) -> list[np.ndarray]:
    """Return the numbers as one array per variable."""
    made, start = [], 0
    for shape in shapes.values():
        array = np.empty(shape, dtype=object)
        flat = array.reshape(-1)
        for k in range(flat.size):
            flat[k] = numbers[start + k]
        start += flat.size
        made.append(array)
    return made


def named_ends(shapes: Mapping[str, tuple[int, ...]], piece: Piece) -> Box:
    """Return a piece as it could be given to `prove`, in floats rounded outward."""
    ends = zip(shapes, leaves_of(shapes, piece.low), leaves_of(shapes, piece.high), strict=True)
    return {k: (_floats(low, float_below), _floats(high, float_above)) for k, low, high in ends}


def between(low: arb, high: arb) -> arb:
    """Return an exact number between two, a float if there is one that is near the middle."""
    if low is high:
        return low
    middle = ((low + high) / 2).mid()
    near = arb(float(middle))
    return near if low < near < high else middle


def _floats(array: np.ndarray, of: Callable[[arb], float] = float) -> Any:
    made = np.array([of(v) for v in array.flat], dtype=float).reshape(array.shape)
    return made if array.shape else float(made)


def read(
    box: Mapping[str, tuple[Any, Any]],
) -> tuple[Piece, list[tuple[arb, arb]], dict[str, tuple]]:
    """Return the box as one piece, the part certainly inside it, and the variables' shapes."""
    if not isinstance(box, Mapping) or not box:
        raise ValueError(
            f"a box has one interval per variable, as in dict(x=(0, 1)), not {shown(box)}."
        )
    lows: list[arb] = []
    highs: list[arb] = []
    inner: list[tuple[arb, arb]] = []
    shapes = {}
    for name, pair in box.items():
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise ValueError(f"{name} needs two ends, (low, high), not {shown(pair)}.") from None
        low, high = (_end(name, e) for e in (low, high))
        low, high = np.broadcast_arrays(low, high)
        shapes[name] = low.shape
        for a, b in zip(low.flat, high.flat, strict=True):
            if a > b or not (a.is_finite() and b.is_finite()):
                raise ValueError(
                    f"the box is empty: {name} runs from {float(a):g} to {float(b):g}; "
                    "the lower end comes first."
                )
            inner.append((_ends(a)[1], _ends(b)[0]))
            same = a.is_exact() and b.is_exact() and a == b
            lows.append(_ends(a)[0])
            highs.append(lows[-1] if same else _ends(b)[1])
    if not lows:
        raise ValueError("the box is empty: its variables have no entries.")
    return Piece(tuple(lows), tuple(highs), Fraction(1)), inner, shapes


def _ends(x: arb) -> tuple[arb, arb]:
    """Return the ends of a ball; an exact number is its own, at any precision."""
    return (x, x) if x.is_exact() else (x.lower(), x.upper())


def _end(name: str, end: Any) -> np.ndarray:
    try:
        values = number_array(end)
    except ValueError as error:
        raise ValueError(f"an end of {name} is not a number: {error}") from None
    made = np.empty(values.shape, dtype=object)
    for where in np.ndindex(values.shape):
        made[where] = ball(values[where])
        if not isinstance(made[where], arb):
            raise ValueError(f"an end of {name} is complex: {made[where]}.")
    return made


def _with(ends: tuple[arb, ...], i: int, end: arb) -> tuple[arb, ...]:
    return (*ends[:i], end, *ends[i + 1 :])
