"""Where both sides of an inequality are equal inside a box: proofs by the next derivatives there.

An entry touches zero on a flat: variables that are `tied` are affine functions of those that are
free. If rhs - lhs and its slopes along the tied variables are zero on the flat, and its second
derivative along these is positive over a box, then by Taylor's theorem rhs - lhs is not negative on
that box. That something is zero is proved by the normal form, for all values of the free variables;
that something is positive, by enclosure. Where a flat may lie is guessed in floats.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from theorykit.certify import _duals as duals
from theorykit.certify._box import Piece, fraction_of, leaves_of
from theorykit.certify._enclose import Program
from theorykit.certify._everywhere import Letter, over_cases, same
from theorykit.certify._jets import JETS, ball_of, derivative, lifted, variable
from theorykit.certify._machine import Doubt, Machine, NotCertifiable
from theorykit.certify._numbers import ball, precision
from theorykit.certify._quotients import Infinite, constant
from theorykit.certify._ring import Ring, Split, Work

MOST_MOVING = 8
"""The most variables that may move where a flat is looked for."""

HIGHEST = 6
"""The highest order of derivatives that is examined along one variable."""

MOST_STEPS = 80
NEAR = 1e-6
FLAT = 1e-4
BITS = 256
"""Newton's steps, how near a simple fraction has to be, and which curvature counts as none.

Near a point where several derivatives vanish, slope and curvature are small differences: of numbers
with so many bits.
"""


@dataclasses.dataclass(frozen=True)
class Flat:
    """Points at which an entry of both sides is equal: tied = offset + slopes @ free.

    **Fields:** `entry`; `pinned`, the values of variables that do not move; `free` and `tied`,
    places of the others; `offset`, a number for each that is tied; `slopes`, as many rows.
    """

    entry: int
    pinned: tuple[tuple[int, Fraction], ...]
    free: tuple[int, ...]
    tied: tuple[int, ...]
    offset: tuple[Fraction, ...]
    slopes: tuple[tuple[Fraction, ...], ...]

    def is_in(self, piece: Piece) -> bool:
        """Whether a piece is where its pinned variables are; others may stand still, too."""
        ends = zip(piece.low, piece.high, strict=True)
        still = {(i, fraction_of(a)) for i, (a, b) in enumerate(ends) if a is b}
        return still.issuperset(self.pinned)

    def images(self, values: Any, one: Any, number: Any = lambda c: c) -> list[Any]:
        """Return the tied variables, from values at the places of the free ones, and from a 1."""
        rows = zip(self.offset, self.slopes, strict=True)
        of = lambda row: (values[k] * number(a) for k, a in zip(self.free, row, strict=True))
        return [sum(of(row), one * number(c)) for c, row in rows]

    def lies_in(self, other: "Flat") -> bool:
        """Whether all of its points are points of another, which has more of them."""
        size = 1 + len(self.free)
        unit = lambda k: np.array([Fraction(int(j == k)) for j in range(size)], dtype=object)
        at = {i: c * unit(0) for i, c in self.pinned}
        at |= {k: unit(1 + n) for n, k in enumerate(self.free)}
        at |= zip(self.tied, self.images(at, unit(0)), strict=True)
        pairs = [*zip(other.tied, other.images(at, unit(0)), strict=True)]
        pairs += [(i, c * unit(0)) for i, c in other.pinned]
        more = len(other.free) > len(self.free)
        return more and all((at[i] == there).all() for i, there in pairs)

    def said(self, names: Sequence[str]) -> str:
        """Return the flat in words: "x = 1/2", "y = x"."""
        parts = [f"{names[i]} = {c}" for i, c in self.pinned]
        for j, c, row in zip(self.tied, self.offset, self.slopes, strict=True):
            of = [_times(a, names[k]) for k, a in zip(self.free, row, strict=True) if a]
            parts.append(f"{names[j]} = " + " + ".join([*of, *([str(c)] if c or not of else [])]))
        return ", ".join(parts) or "everywhere"


class Touches:
    """The flats of one statement on which both sides are equal, as far as they are found.

    **Fields:** `found`, flats with the order of the first derivative along the tied variables that
    is not known to be zero.
    """

    def __init__(self, sides: Program, shapes: Mapping[str, tuple[int, ...]], whole: Piece):
        self.sides, self.shapes, self.whole = sides, shapes, whole
        self.found: list[tuple[Flat, int]] = []
        self.tried: set[Flat] = set()
        self.work = Work()
        self.names = [
            name + "".join(f"[{i}]" for i in where)
            for name, shape in shapes.items()
            for where in np.ndindex(shape)
        ]

    def said(self) -> tuple[str, ...]:
        """Return where both sides are equal, in words."""
        flats = [flat for flat, _ in self.found]
        whole = [f for f in flats if not any(f is not g and f.lies_in(g) for g in flats)]
        return tuple(dict.fromkeys(flat.said(self.names) for flat in whole))

    # Proofs -------------------------------------------------------------------------------

    def prove(self, piece: Piece, entries: Sequence[int]) -> bool:
        """Whether rhs - lhs is proved not to be negative over a piece, in each of these entries."""
        near = [(f, order) for f, order in self.found if f.is_in(piece)]
        return all(
            any(flat.entry == k and self.rises(flat, order, piece) for flat, order in near)
            for k in entries
        )

    def rises(self, flat: Flat, order: int, piece: Piece) -> bool:
        """Whether an entry is proved not to fall from zero, on the way from its flat.

        The way is along the tied variables, so that it stays in a box that has the piece and the
        points of the flat beside it.
        """
        if not flat.tied:
            return True
        balls = piece.balls()
        images = flat.images(balls, arb(1), ball)
        if not all(y.overlaps(balls[j]) for j, y in zip(flat.tied, images, strict=True)):
            return False
        ends = [(piece.low[j], piece.high[j]) for j in flat.tied]
        for j, y in zip(flat.tied, images, strict=True):
            balls[j] = balls[j].union(y)
        try:
            gap = self.gaps(balls, flat.tied, order)[flat.entry]
        except NotCertifiable:
            return False
        if len(flat.tied) == 1:
            ((low, high),), (y,) = ends, images
            above, below = low >= y, high <= y
            return _keeps_sign(gap, order, above=bool(above), below=bool(below))
        return _is_convex(gap, len(flat.tied))

    def gaps(self, balls: Sequence[arb], moving: Sequence[int], order: int) -> list[Any]:
        """Return rhs - lhs with its derivatives along some variables, entry by entry.

        **Raises:** `NotCertifiable` where it cannot be enclosed.
        """
        unit = lambda i: [int(i == j) for j in moving]
        numbers = [
            variable(b, unit(i), order) if i in moving else lifted(b) for i, b in enumerate(balls)
        ]
        machine = Machine(field=JETS, hull=True)
        left, right = self.sides.run(machine, leaves_of(self.shapes, numbers))
        return [lifted(r - l) for l, r in zip(left.flat, right.flat, strict=True)]

    # Exact equality -----------------------------------------------------------------------

    def order_of(self, flat: Flat) -> int:
        """Return the order of the first derivative that is not proved to be zero on a flat."""
        most = HIGHEST if len(flat.tied) == 1 else 2 if flat.tied else 1
        return next((k for k in range(most) if not self.vanishes(flat, k)), most)

    def vanishes(self, flat: Flat, order: int) -> bool:
        """Whether all derivatives up to an order are zero on a flat, along its tied variables."""
        ends = lambda k: (fraction_of(self.whole.low[k]), fraction_of(self.whole.high[k]))
        letters = np.array([Letter(*ends(k)) for k in flat.free], dtype=object)
        leaves = {"u": letters} if flat.free else {}

        def evaluate(ring: Ring, values: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
            found = list(_derivatives(self._on(ring, values, flat, max(order, 1)), order))
            return found, [constant(ring, 0)] * len(found)

        try:
            return bool(over_cases(evaluate, leaves, same, work=self.work))
        except (NotCertifiable, Doubt):
            return False

    def _on(self, ring: Ring, values: Sequence[np.ndarray], flat: Flat, order: int) -> Any:
        """Return an entry of rhs - lhs on a flat, for all values of the free variables."""
        at: dict[int, Any] = {i: constant(ring, c) for i, c in flat.pinned}
        if flat.free:
            at |= zip(flat.free, values[0], strict=True)
        number = lambda c: constant(ring, c)
        at |= zip(flat.tied, flat.images(at, number(1), number), strict=True)
        unit = lambda i: [int(i == j) for j in flat.tied]
        numbers = [duals.variable(at[i], unit(i), order) for i in range(len(self.names))]
        machine = Machine(field=duals.field_of(ring, order))
        try:
            left, right = self.sides.run(machine, leaves_of(self.shapes, numbers))
        except Split as split:
            raise NotCertifiable(f"the function may jump: {split}") from None
        gap = right.flat[flat.entry] - left.flat[flat.entry]
        if isinstance(gap, Infinite):
            raise NotCertifiable("a value is infinite.")
        return gap

    # Where they may be --------------------------------------------------------------------

    def look(self, piece: Piece, entries: Sequence[int]) -> bool:
        """Look for flats near a piece, one for each of these entries; say whether one was found."""
        before = len(self.found)
        for entry in entries:
            flat = self.near(piece, entry)
            if flat is None or flat in self.tried:
                continue
            self.tried.add(flat)
            order = self.order_of(flat)
            if order >= (2 if len(flat.tied) > 1 else 1):
                self.found.append((flat, order))
        return len(self.found) > before

    def near(self, piece: Piece, entry: int) -> Flat | None:
        """Return the flat on which an entry seems to touch zero, by Newton's method in floats."""
        still = tuple((i, fraction_of(a)) for i, a in enumerate(piece.low) if a is piece.high[i])
        moving = [i for i, a in enumerate(piece.low) if a is not piece.high[i]]
        if not moving:
            return Flat(entry, still, (), (), (), ())
        if len(moving) > MOST_MOVING:
            return None
        low = np.array([float(self.whole.low[i]) for i in moving])
        high = np.array([float(self.whole.high[i]) for i in moving])
        balls = piece.middle()
        x = np.array([float(balls[i]) for i in moving])
        for _ in range(MOST_STEPS):
            for i, value in zip(moving, x, strict=True):
                balls[i] = arb(float(value))
            with precision(BITS):
                found = self._curved(balls, moving, entry)
            if found is None:
                return None
            slope, curve = found
            sizes, axes = np.linalg.eigh(curve)
            step = axes.T @ slope
            steep = np.abs(sizes) > FLAT * np.abs(sizes).max(initial=0.0)
            step[steep] /= -np.abs(sizes[steep])
            step[~steep] = 0.0
            new = np.clip(x + axes @ step, low, high)
            done = bool(np.abs(new - x).max() < 1e-12)
            x = new
            if done:
                break
        bent = np.abs(sizes) > FLAT * np.abs(sizes).max(initial=0.0)
        if len(moving) == 1:
            bent[:] = True
        return _as_flat(entry, still, moving, x, axes[:, ~bent].T.copy())

    def _curved(
        self, balls: Sequence[arb], moving: Sequence[int], entry: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return slope and second derivative at a point, in floats; None where they are unknown."""
        try:
            gap = self.gaps(balls, moving, 2)[entry]
        except NotCertifiable:
            return None
        n = len(moving)
        slopes = [derivative(gap, i) for i in range(n)]
        curves = [derivative(s, i) for s in slopes for i in range(n)]
        if any(d is None for d in (*slopes, *curves)):
            return None
        slope = np.array([float(ball_of(d)) for d in slopes])
        curve = np.array([float(ball_of(d)) for d in curves]).reshape(n, n)
        known = np.isfinite(slope).all() and np.isfinite(curve).all()
        return (slope, (curve + curve.T) / 2) if known else None


def _derivatives(x: Any, order: int) -> Iterator[Any]:
    """Yield a dual's value and its derivatives up to an order."""
    yield duals.base(x)
    if order and isinstance(x, duals.Dual):
        for s in x.slopes:
            yield from _derivatives(s, order - 1)


def _keeps_sign(gap: Any, order: int, *, above: bool, below: bool) -> bool:
    """Whether v^k g^(k) >= 0 for all v on one side of zero, or on both, where k is the order.

    It is enough where g and its first k - 1 derivatives are zero at v = 0, by Taylor's theorem.
    """
    if not gap.is_finite():
        return False
    for _ in range(order):
        gap = derivative(gap, 0)
        if gap is None or not ball_of(gap).is_finite():
            return False
    last = ball_of(gap)
    if order % 2 == 0 or above:
        return bool(last >= 0)
    return below and bool(last <= 0)


def _is_convex(gap: Any, n: int) -> bool:
    """Whether the second derivative is proved positive definite, whatever it is in its balls.

    C'HC is diagonally dominant for a C that is taken from the middle of H; then H is definite, and
    C can be inverted.
    """
    slopes = [derivative(gap, i) for i in range(n)]
    H = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(i + 1):
            second = derivative(slopes[i], j)
            if second is None:
                return False
            H[i, j] = H[j, i] = ball_of(second)
    if not (gap.is_finite() and all(ball_of(d).is_finite() for d in (*slopes, *H.flat))):
        return False
    try:
        root = np.linalg.cholesky(H.astype(float))
        C = np.frompyfunc(arb, 1, 1)(np.linalg.inv(root).T)
    except np.linalg.LinAlgError:
        return False
    made = C.T @ H @ C
    beside = [sum((abs(made[i, j]) for j in range(n) if j != i), arb(0)) for i in range(n)]
    return all(bool(made[i, i] > beside[i]) for i in range(n))


def _as_flat(
    entry: int,
    pinned: tuple[tuple[int, Fraction], ...],
    moving: Sequence[int],
    x: np.ndarray,
    null: np.ndarray,
) -> Flat | None:
    """Return the flat through a point with these directions, in simple fractions."""
    pivots: list[int] = []
    for k in range(len(null)):  # Gauss' elimination: each pivot is a free variable
        size = np.abs(null[k:]).max(axis=0)
        column = int(np.argmax(size > 0.5 * size.max()))
        r = k + int(np.argmax(np.abs(null[k:, column])))
        null[[k, r]] = null[[r, k]]
        null[k] /= null[k, column]
        for other in range(len(null)):
            if other != k:
                null[other] -= null[other, column] * null[k]
        pivots.append(column)
    rest = [c for c in range(len(moving)) if c not in pivots]
    slopes = [[Fraction(float(row[c])).limit_denominator(12) for row in null] for c in rest]
    exact = np.array(slopes, dtype=float).reshape(len(rest), len(pivots))
    offsets = [_simple(float(c)) for c in x[rest] - exact @ x[pivots]]
    if not all(isinstance(c, Fraction) for c in offsets):
        return None
    places = lambda columns: tuple(moving[c] for c in columns)
    return Flat(
        entry,
        pinned,
        places(pivots),
        places(rest),
        tuple(c for c in offsets if c is not None),
        tuple(map(tuple, slopes)),
    )


def _simple(x: float) -> Fraction | None:
    """Return the simplest fraction near a number, None if there is none."""
    for most in (1, 2, 3, 4, 6, 8, 12, 24, 60, 120, 1000):
        near = Fraction(x).limit_denominator(most)
        if abs(near - Fraction(x)) <= NEAR * (1 + abs(x)):
            return near
    return None


def _times(a: Fraction, name: str) -> str:
    return name if a == 1 else f"-{name}" if a == -1 else f"{a} {name}"
