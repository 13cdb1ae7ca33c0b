"""Many pieces of a box at once: their enclosures, and what to look at next, in arrays of floats.

What is proved here is proved: ends are rounded outward. What is not is left to balls, which have
more bits and know more.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from jaxtyping import Bool, Float, Int

from theorykit.certify._box import Piece, leaves_of
from theorykit.certify._enclose import Program
from theorykit.certify._jets import JETS_OF_SPANS, POINTS, SPANS, Jet
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._numbers import float_above, float_below
from theorykit.certify._spans import Mixed, Span

FEWEST = 12
"""Pieces below which balls are as fast."""

MOST = 1024
MOST_NUMBERS = 1 << 24
"""The most pieces at once, and the most numbers that they may take together."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Pieces as arrays.

    **Fields:** `low`, `high`, ends rounded outward; `still`, which variables do not move; `depth`,
    how often a piece was halved.
    """

    low: Float[np.ndarray, "rows variables"]
    high: Float[np.ndarray, "rows variables"]
    still: Bool[np.ndarray, "rows variables"]
    depth: Int[np.ndarray, " rows"]

    def __len__(self) -> int:
        return len(self.depth)

    def __getitem__(self, rows: Any) -> "Rows":
        return Rows(self.low[rows], self.high[rows], self.still[rows], self.depth[rows])

    def followed_by(self, others: "Rows") -> "Rows":
        """Return these rows, and then the others."""
        pairs = zip(_arrays(self), _arrays(others), strict=True)
        return Rows(*(np.concatenate(pair) for pair in pairs))

    def middle(self) -> Float[np.ndarray, "rows variables"]:
        return self.low + (self.high - self.low) / 2

    @property
    def share(self) -> float:
        """How much of the box they are."""
        return float(np.exp2(-self.depth.astype(float)).sum())


def _arrays(rows: Rows) -> tuple[np.ndarray, ...]:
    return rows.low, rows.high, rows.still, rows.depth


@dataclasses.dataclass(frozen=True)
class Seen:
    """What is known of rhs - lhs over rows, entry by entry.

    **Fields:** `least`, a lower bound, NaN if there is none; `slopes`, the ends of each slope, NaN
    where there are none; `negative`, whether an entry is below zero at the middle; `close`, whether
    floats do not tell it from zero there.
    """

    least: Float[np.ndarray, "rows entries"]
    slopes: tuple[Float[np.ndarray, "rows entries variables"], ...]
    negative: Bool[np.ndarray, "rows entries"]
    close: Bool[np.ndarray, "rows entries"]


class Many:
    """One statement and its box.

    **Fields:** `most`, how many pieces fit into memory together.
    """

    def __init__(self, sides: Program, shapes: Mapping[str, tuple[int, ...]], whole: Piece):
        self.sides, self.shapes, self.whole = sides, shapes, whole
        outward = lambda ends: np.array([[float_below(e), float_above(e)] for e in ends])
        self.first, self.last = outward(whole.low), outward(whole.high)
        pairs = zip(self.first.tolist(), self.last.tolist(), strict=True)
        self.ends = [(tuple(first), tuple(last)) for first, last in pairs]
        self.entries = sides.closed.out_avals[0].size
        numbers = _size(sides.closed.jaxpr) * (1 + len(whole.low))
        self.most = min(MOST, MOST_NUMBERS // numbers)
        # Floats do not tell the ends of a variable apart that lie between the same two of them.
        ends = zip(whole.low, whole.high, self.ends, strict=True)
        if any(low is not high and first == last for low, high, (first, last) in ends):
            self.most = 0

    # Pieces -------------------------------------------------------------------------------

    def rows(self, pieces: Iterable[Piece]) -> Rows:
        """Return pieces as arrays."""
        pieces, n = list(pieces), len(self.whole.low)
        low, high = np.empty((2, len(pieces), n))
        made = Rows(low, high, np.empty((len(pieces), n), bool), np.empty(len(pieces), int))
        for k, p in enumerate(pieces):
            made.low[k] = list(map(float_below, p.low))
            made.high[k] = list(map(float_above, p.high))
            made.still[k] = [a is b for a, b in zip(p.low, p.high, strict=True)]
            made.depth[k] = p.share.denominator.bit_length() - 1
        return made

    def takes(self, piece: Piece) -> bool:
        """Whether each end is a float, or an end of the box."""
        ends = zip(piece.low, piece.high, self.whole.low, self.whole.high, strict=True)
        known = lambda e, a, b: e is a or e is b or float_below(e) == float_above(e)
        return all(known(low, a, b) and known(high, a, b) for low, high, a, b in ends)

    def pieces(self, rows: Rows) -> list[Piece]:
        """Return rows as pieces, with the ends of the box as they were given."""
        made = []
        for low, high, still, depth in zip(*map(np.ndarray.tolist, _arrays(rows)), strict=True):
            pairs = [
                self._ends(i, *ends) for i, ends in enumerate(zip(low, high, still, strict=True))
            ]
            start, end = zip(*pairs, strict=True)
            made.append(Piece(start, end, Fraction(1, 1 << depth)))
        return made

    def _ends(self, i: int, low: float, high: float, still: bool) -> tuple[arb, arb]:
        """Return the ends of a variable, one object twice where it does not move."""
        first, last = self.ends[i]
        if still:
            at = self.whole.low[i] if (low, high) == first else self.whole.high[i]
            end = at if (low, high) in (first, last) else arb(low)
            return end, end
        return (
            self.whole.low[i] if low == first[0] else arb(low),
            self.whole.high[i] if high == last[1] else arb(high),
        )

    # Enclosures ---------------------------------------------------------------------------

    def over(self, rows: Rows) -> Seen:
        """Return what is known over rows.

        **Raises:** `NotCertifiable` where a primitive takes no spans, or rows agree too seldom.
        """
        least, *slopes = self._agreed(self._slopes, rows)
        negative, close = np.zeros((2, *least.shape), bool)
        left = ~(least >= 0).all(1)
        if left.any():
            rest = rows[left]
            low, high = self._agreed(self._at_middle, rest)
            negative[left], close[left] = high < 0, ~((low > 0) | (high < 0))
            middle = rest.middle()
            away = Span(rest.low, rest.high) - Span(middle, middle)
            moved = Span(*(s[left] for s in slopes)) * Span(away.lo[:, None], away.hi[:, None])
            total = Span(low, high)
            for i in range(middle.shape[1]):
                total = total + Span(moved.lo[..., i], moved.hi[..., i])
            least[left] = np.fmax(least[left], total.lo)
        return Seen(least, tuple(slopes), negative, close & ~(least >= 0))

    def _agreed(self, f: Callable[[Rows], Any], rows: Rows) -> Any:
        """Return f over rows, apart for those that differ in a comparison."""
        calls = [0]

        def of(rows: Rows) -> Any:
            calls[0] += 1
            if calls[0] > MOST_CALLS:
                raise NotCertifiable("the pieces differ in too many comparisons.")
            try:
                return f(rows)
            except Mixed as mixed:
                here = mixed.where
            parts = of(rows[here]), of(rows[~here])
            return [_merged(here, a, b) for a, b in zip(*parts, strict=True)]

        return of(rows)

    def _slopes(self, rows: Rows) -> list[np.ndarray]:
        n = rows.low.shape[1]
        unit = lambda i: tuple(arb(int(i == j)) for j in range(n))
        spans = [Span(rows.low[:, i].copy(), rows.high[:, i].copy()) for i in range(n)]
        jets = [Jet(x, () if rows.still[:, i].all() else unit(i)) for i, x in enumerate(spans)]
        try:
            gaps = self._gaps(Machine(field=JETS_OF_SPANS, hull=True), jets)
        except NotCertifiable:
            gaps = [Jet(g, None) for g in self._gaps(Machine(field=SPANS, hull=True), spans)]
        none = (np.nan,) * n
        slopes = [[_ends(s, rows) for s in g.slopes or none] for g in gaps]
        made = np.array(slopes, float).reshape(len(gaps), n, 2, len(rows))
        least = np.stack([_ends(g.value, rows)[0] for g in gaps], 1)
        return [least, *made.transpose(2, 3, 0, 1)]

    def _at_middle(self, rows: Rows) -> list[np.ndarray]:
        middle = rows.middle()
        points = [Span(x, x) for x in middle.T.copy()]
        try:
            ends = [_ends(g, rows) for g in self._gaps(Machine(field=POINTS), points)]
        except NotCertifiable:
            return [np.full((len(rows), self.entries), np.nan)] * 2
        return list(np.array(ends).transpose(1, 2, 0))

    def _gaps(self, machine: Machine, numbers: list[Any]) -> list[Any]:
        try:
            left, right = self.sides.run(machine, leaves_of(self.shapes, numbers))
            return [r - l for l, r in zip(left.flat, right.flat, strict=True)]
        except TypeError as error:  # of complex numbers
            raise NotCertifiable(f"it takes no intervals: {error}.") from None

    # Division -----------------------------------------------------------------------------

    def divided(self, rows: Rows, seen: Seen, left: Bool[np.ndarray, " rows"]) -> tuple[Rows, Rows]:
        """Return the rows to look at in place of those that are left, and those for balls.

        As there: a face where all entries are monotone, else halves along the variable of the
        largest swing. Balls get what is too small to be cut, or close to zero at its middle.
        """
        rows, close = rows[left], seen.close[left].any(1)
        low, high = (s[left] for s in seen.slopes)
        moving = ~rows.still
        usable = np.isfinite(low).all((1, 2)) & np.isfinite(high).all((1, 2))
        rising = moving & usable[:, None] & (low >= 0).all(1)
        falling = moving & usable[:, None] & (high <= 0).all(1) & ~rising
        rising[close] = falling[close] = False
        faces = self._faces(rows, rising, falling)
        monotone = (rising | falling).any(1)
        widths = rows.high - rows.low
        swing = np.maximum(np.abs(low), np.abs(high)).max(1) * widths + 1e-3 * widths
        swing = np.where(moving, np.where(usable[:, None], swing, widths), -1.0)
        best = np.argmax(swing, 1)
        each = np.arange(len(rows))
        cut = rows.middle()[each, best]
        inside = (rows.low[each, best] < cut) & (cut < rows.high[each, best])
        whole = ~close & moving[each, best] & inside
        lower, upper = rows.high.copy(), rows.low.copy()
        lower[each, best] = upper[each, best] = cut
        halves = ~monotone & whole
        pairs = lambda a, b: np.stack([a[halves], b[halves]], 1).reshape(-1, a.shape[1])
        cuts = Rows(
            pairs(rows.low, upper),
            pairs(lower, rows.high),
            pairs(rows.still, rows.still),
            np.repeat(rows.depth[halves] + 1, 2),
        )
        return faces[monotone].followed_by(cuts), rows[~monotone & ~whole]

    def _faces(self, rows: Rows, rising: np.ndarray, falling: np.ndarray) -> Rows:
        """Return the lower faces of the variables that rise and the upper faces of those that fall.

        An end of the box that is no float has two floats on its sides.
        """
        low, high = rows.low.copy(), rows.high.copy()
        at_first, at_last = rows.low == self.first[:, 0], rows.high == self.last[:, 1]
        high[rising] = np.where(at_first, self.first[:, 1], rows.low)[rising]
        low[falling] = np.where(at_last, self.last[:, 0], rows.high)[falling]
        return Rows(low, high, rows.still | rising | falling, rows.depth)


MOST_CALLS = 32
"""Into how many groups rows may fall apart."""


def _ends(x: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a number, one per row."""
    if isinstance(x, float):
        return np.full(len(rows), x), np.full(len(rows), x)
    span = Span.of(x)
    return np.broadcast_to(span.lo, len(rows)), np.broadcast_to(span.hi, len(rows))


def _merged(here: Any, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    made = np.empty((len(here), *yes.shape[1:]))
    made[here], made[~here] = yes, no
    return made


def _size(jaxpr: Any) -> int:
    """Return how many numbers a program makes, those inside its calls included."""
    made = 1
    for eqn in jaxpr.eqns:
        made += sum(v.aval.size for v in eqn.outvars if hasattr(v.aval, "size"))
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            made += _size(inner) if hasattr(inner, "eqns") else 0
    return made
