"""Prove an inequality on a box: cut the box up until the enclosures of the pieces decide."""

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import arb

from theorykit.certify._box import Box, Piece, fraction_of, leaves_of, named_ends, read
from theorykit.certify._enclose import Balls, Program
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._numbers import float_below, precision
from theorykit.certify._sides import SIDES, rows_of
from theorykit.certify._touch import Touches
from theorykit.common import picture
from theorykit.common.arguments import function, shown

BUDGET = 2000
"""The number of pieces that are examined by default."""


@dataclasses.dataclass(frozen=True)
class Proof:
    """What branch and bound found.

    **Fields:** `status`, "proved", "refuted" or "undecided"; `boxes`, the pieces looked at;
    `slack`, a proven lower bound of rhs - lhs on the box, if proved; `point` of a refutation, exact
    floats (fractions where they are not floats) by name, with `lhs` and `rhs` enclosed there;
    `left`, the pieces that are undecided (a thousand of them at most), `within`, the smallest box
    that has them all, and `share`, how much of the box's volume they hold; `why`, the last thing
    that could not be certified, if any; `touching`, where both sides were found to be equal, as in
    "y = x".
    """

    status: str
    boxes: int
    bits: int
    slack: float | None = None
    point: dict[str, Any] | None = None
    lhs: Balls | None = None
    rhs: Balls | None = None
    left: tuple[Box, ...] = ()
    share: float = 0.0
    why: str = ""
    within: Box | None = None
    touching: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.status == "proved"

    def __str__(self) -> str:
        if self.status == "proved":
            equal = f", equal at {'; '.join(self.touching)}" if self.touching else ""
            pieces = f"{self.boxes} pieces at {self.bits} bits"
            return f"proved on {pieces}; rhs - lhs >= {self.slack:.3g}{equal}"
        if self.status == "refuted":
            return f"refuted at {self.point}: lhs = {self.lhs}, rhs = {self.rhs}"
        why = f"; {self.why}" if self.why else ""
        part = "all" if self.share == 1 else f"{min(self.share, 0.9999):.4g}"
        pieces = "1 piece" if self.boxes == 1 else f"{self.boxes} pieces"
        where = f", within {_shown(self.within)}" if self.within and self.share < 1 else ""
        return f"undecided on {part} of the box after {pieces}{where}{why}"

    _repr_html_ = picture.html


@picture.pieces.register
def _(proof: Proof) -> list[Any]:
    if proof.point is None:
        return [picture.Words(f"{proof}.".capitalize())]
    rows = [{"at": name, "value": str(value)} for name, value in proof.point.items()]
    sides = (("lhs in", proof.lhs), ("rhs in", proof.rhs))
    rows += [{"at": name, "value": str(side)} for name, side in sides if side is not None]
    pieces = "1 piece" if proof.boxes == 1 else f"{proof.boxes} pieces"
    return [picture.Words(f"Refuted after {pieces}, at {proof.bits} bits."), picture.Rows(rows)]


def prove(
    inequality: Callable[..., tuple[Any, Any]],
    box: Mapping[str, tuple[Any, Any]],
    budget: int = BUDGET,
    *,
    bits: int = 64,
    progress: Callable[[float], None] = lambda share: None,
) -> Proof:
    """Prove lhs <= rhs, entry by entry, for all points of a box, or find a point where it fails.

    Branch and bound: a piece of the box is done when the enclosure of rhs - lhs is not negative,
    from the natural enclosure or from the mean value form g(c) + g'(box)(box - c). Where rhs - lhs
    is monotone in a variable, its face stands for the piece. Other pieces are halved. There is no
    tolerance. An equality inside the box is proved where it is exact by the normal form of
    `identical`, at a point or on a flat such as y = x, and the next derivative is positive around
    it; other equalities are left undecided.

    **Arguments:** `inequality`: called with the box's variables by name, returns (lhs, rhs):
    numbers, arrays or lists of arrays; `box`: (low, high) for each variable, numbers or arrays of
    one shape; `budget`: how many pieces to examine.

    **Raises:** `ValueError` for a box that is empty, reversed, or not finite, and for anything but
    a function and a number of pieces.
    """
    function("inequality", inequality, SIDES)
    function("progress", progress, "a function of the share done")
    check_budget(budget)
    with precision(bits):
        whole, inner, shapes = read(box)
        search = _Search(inequality, shapes, inner)
        return search.run(whole, budget, bits, progress)


def check_budget(budget: Any) -> None:
    """Raise a `ValueError` for anything but a number of pieces."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ValueError(f"budget is the number of pieces to try, at least 1, not {shown(budget)}.")


class _Search:
    """Branch and bound over one box."""

    def __init__(
        self,
        inequality: Callable[..., tuple[Any, Any]],
        shapes: dict[str, tuple],
        inner: list[tuple[arb, arb]],
    ):
        self.shapes, self.inner = shapes, inner
        like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
        named = lambda *xs: inequality(**dict(zip(shapes, xs, strict=True)))
        self.sides = Program.trace(lambda *xs: rows_of(named(*xs)), like)
        self.why = ""
        self.next_look = 2
        self.middle: tuple[Any, int, Any] = (None, 0, None)

    def run(self, whole: Piece, budget: int, bits: int, progress: Callable[[float], None]) -> Proof:
        """Look at pieces, the largest first."""
        pieces = deque([whole])
        done, slack, looked = Fraction(0), arb.pos_inf(), 0
        touches = Touches(self.sides, self.shapes, whole)
        while pieces and looked < budget:
            piece = pieces.popleft()
            looked += 1
            bound, slopes = self.over(piece)
            left = [k for k, b in enumerate(bound) if not b.lower() >= 0]  # a NaN is not
            found = self.at_middle(piece) if left else None
            if found is not None:
                return Proof("refuted", looked, bits, **found)
            smaller = self.divided(piece, slopes) if left else []
            if not left or self.touched(touches, piece, left, looked, last=not smaller):
                least = [arb(0) if k in left else b.lower() for k, b in enumerate(bound)]
                slack = min([slack, *least])
                done += piece.share
                progress(float(done))
                continue
            if not smaller:  # a point
                told = self.sharper(piece, bits)
                if isinstance(told, Proof):
                    return dataclasses.replace(told, boxes=looked)
                if told is None:
                    pieces.append(piece)
                    self.why = self.why or POINT
                    break
                slack, done = min(slack, told), done + piece.share
                progress(float(done))
                continue
            pieces.extend(smaller)
        if not pieces:
            equal = touches.said()
            return Proof("proved", looked, bits, slack=float_below(slack), touching=equal)
        rest = undecided(self.shapes, pieces, looked, bits, self.why)
        return dataclasses.replace(rest, touching=touches.said())

    def touched(
        self, touches: Touches, piece: Piece, entries: list[int], looked: int, last: bool
    ) -> bool:
        """Whether these entries are proved by an equality near a piece.

        Equalities are looked for now and then, and at a piece that is the last word on its points.
        """
        if touches.prove(piece, entries):
            return True
        if not last and looked < self.next_look:
            return False
        self.next_look = max(self.next_look, looked + 1 + looked // 2)
        return touches.look(piece, entries[:MOST_ENTRIES]) and touches.prove(piece, entries)

    def over(self, piece: Piece) -> tuple[list[arb], list[tuple[arb, ...] | None]]:
        """Return enclosures of rhs - lhs over a piece, one per entry, and their slopes."""
        balls = piece.balls()
        n = len(balls)
        unit = lambda i: tuple(arb(int(i == j)) for j in range(n))
        jets = [
            Jet(b, unit(i) if piece.low[i] is not piece.high[i] else ())
            for i, b in enumerate(balls)
        ]
        try:
            left, right = self.sides.run(Machine(field=JETS, hull=True), self.leaves(jets))
            gaps = [r - l for l, r in zip(left.flat, right.flat, strict=True)]
        except NotCertifiable:
            return self.without_slopes(balls)
        bounds = [g.value for g in gaps]
        if any(g.slopes for g in gaps):
            bounds = self.narrowed(piece, balls, gaps)
        return bounds, [g.slopes for g in gaps]

    def without_slopes(self, balls: list[arb]) -> tuple[list[arb], list[tuple[arb, ...] | None]]:
        """Return the natural enclosures alone, where some primitive has no slope."""
        try:
            left, right = self.sides.run(Machine(hull=True), self.leaves(balls))
        except NotCertifiable as error:
            if error.hopeless:
                raise
            self.why = str(error)
            return [arb.nan()], [None]
        bounds = [r - l for l, r in zip(left.flat, right.flat, strict=True)]
        none: list[tuple[arb, ...] | None] = [None] * len(bounds)
        return bounds, none

    def narrowed(self, piece: Piece, balls: list[arb], gaps: list[Jet]) -> list[arb]:
        """Return the better of natural enclosure and mean value form, for each entry."""
        middle = piece.middle()
        try:
            left, right = self.sides_at(piece)
        except NotCertifiable:
            return [g.value for g in gaps]
        centre = [r - l for l, r in zip(left.flat, right.flat, strict=True)]
        away = [b - m for b, m in zip(balls, middle, strict=True)]
        made = []
        for gap, value in zip(gaps, centre, strict=True):
            if gap.slopes:
                moved = sum((s * d for s, d in zip(gap.slopes, away, strict=True)), value)
                better = moved.is_finite() and not gap.value.lower() >= moved.lower()
                made.append(moved if better else gap.value)
            else:
                made.append(gap.value)
        return made

    def sides_at(self, piece: Piece, bits: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return both sides at the middle of a piece, which is asked for more than once."""
        known, at, values = self.middle
        if known is not piece or at != bits:
            values = self.sides.run(Machine(), self.leaves(piece.middle()))
            self.middle = piece, bits, values
        return values

    def at_middle(self, piece: Piece, bits: int = 0) -> dict[str, Any] | None:
        """Return the middle if it certainly violates the inequality."""
        middle = piece.middle()
        if not all(a <= m <= b for m, (a, b) in zip(middle, self.inner, strict=True)):
            return None  # beside the box by less than its precision
        try:
            left, right = self.sides_at(piece, bits)
        except NotCertifiable as error:
            self.why = str(error)
            return None
        if not any(l > r for l, r in zip(left.flat, right.flat, strict=True)):
            return None
        point = {k: _exactly(v) for k, v in self.named(middle).items()}
        return {"point": point, "lhs": Balls(left), "rhs": Balls(right)}

    def sharper(self, piece: Piece, bits: int) -> Proof | arb | None:
        """Return the slack at a point or its refutation, from more bits; None if still open."""
        for more in SHARPER:
            with precision(more * bits):
                found = self.at_middle(piece, more)
                if found is not None:
                    return Proof("refuted", 0, more * bits, **found)
                try:
                    sides = self.sides_at(piece, more)
                except NotCertifiable:
                    return None
                gaps = [(r - l).lower() for l, r in zip(*(s.flat for s in sides), strict=True)]
                if all(g >= 0 for g in gaps):
                    return min(gaps)
        return None

    def divided(self, piece: Piece, slopes: list[tuple[arb, ...] | None]) -> list[Piece]:
        """Return the pieces to examine in place of a piece."""
        wide = [i for i, (a, b) in enumerate(zip(piece.low, piece.high, strict=True)) if a is not b]
        if not wide:
            return []
        known = [s for s in slopes if s and s[0].is_finite()]
        usable = len(known) == len(slopes)
        if usable:
            face, moved = piece, False
            for i in wide:
                if all(s[i] >= 0 for s in known):
                    face, moved = face.face(i, low=True), True
                elif all(s[i] <= 0 for s in known):
                    face, moved = face.face(i, low=False), True
            if moved:
                return [face]
        widths = {i: piece.high[i] - piece.low[i] for i in wide}
        if usable:
            swing = lambda i: max(float(s[i].abs_upper()) for s in known) * float(widths[i])
            # A variable of little effect is cut late, but not never.
            best = max(wide, key=lambda i: swing(i) + 1e-3 * float(widths[i]))
        else:
            best = max(wide, key=lambda i: float(widths[i]))
        return piece.halves(best)

    def leaves(self, numbers: list[Any]) -> list[np.ndarray]:
        """Return the numbers as one array per variable."""
        return leaves_of(self.shapes, numbers)

    def named(self, numbers: list[Any]) -> dict[str, np.ndarray]:
        """Return the numbers by name."""
        return dict(zip(self.shapes, self.leaves(numbers), strict=True))


def undecided(
    shapes: Mapping[str, tuple[int, ...]],
    pieces: Sequence[Piece],
    looked: int,
    bits: int,
    why: str,
) -> Proof:
    """Return what is known where these pieces are left."""
    share = sum((p.share for p in pieces), Fraction(0))
    low = tuple(min(ends) for ends in zip(*(p.low for p in pieces), strict=True))
    high = tuple(max(ends) for ends in zip(*(p.high for p in pieces), strict=True))
    return Proof(
        "undecided",
        looked,
        bits,
        left=tuple(named_ends(shapes, p) for p in list(pieces)[:MOST_LEFT]),
        share=float(share),
        why=why,
        within=named_ends(shapes, Piece(low, high, share)),
    )


SHARPER = (4, 16)
"""How many times as many bits are taken at a point that does not decide."""

POINT = "both sides may be equal at a point that is left: no more bits tell them apart"

MOST_ENTRIES = 4
"""Entries of a piece whose equalities are looked for at a time."""

MOST_LEFT = 1000
"""Undecided pieces that are returned."""

MOST_SHOWN = 6
"""Numbers of a box that is shown; a larger one is not."""


def _shown(box: Box) -> str:
    if sum(np.size(low) for low, _ in box.values()) > MOST_SHOWN:
        return "a smaller box"
    said = []
    for name, (low, high) in box.items():
        pairs = zip(np.ravel(low), np.ravel(high), strict=True)
        said.append(f"{name} in " + " x ".join(map(_interval, *zip(*pairs, strict=True))))
    return ", ".join(said)


def _interval(low: float, high: float) -> str:
    """Return an interval with as many digits as its ends need to be told apart."""
    short = f"{low:.4g}", f"{high:.4g}"
    return "[{}, {}]".format(
        *(short if len(set(short)) > 1 else (repr(float(low)), repr(float(high))))
    )


def _exactly(array: np.ndarray) -> Any:
    """Return exact numbers as floats where they are floats, else as fractions."""
    made = np.empty(array.shape, dtype=object)
    for where in np.ndindex(array.shape):
        value = fraction_of(array[where])
        made[where] = float(value) if Fraction(float(value)) == value else value
    if all(isinstance(v, float) for v in made.flat):
        made = made.astype(float)
    return made if array.shape else made.item()
