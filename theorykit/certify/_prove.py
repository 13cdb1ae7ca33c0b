"""Prove an inequality on a box: cut the box up until the enclosures of the pieces decide."""

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import arb
from jaxtyping import Bool

from theorykit.certify._box import Piece, fraction_of, leaves_of, read
from theorykit.certify._enclose import Balls, Program
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._many import FEWEST, Many, Rows
from theorykit.certify._numbers import float_below, precision
from theorykit.certify._proof import Proof, together, undecided
from theorykit.certify._sides import SIDES, by_name, rows_of
from theorykit.certify._symmetry import Symmetries, Symmetry, as_symmetries
from theorykit.certify._touch import Touches
from theorykit.common.arguments import function, shown

BUDGET = 10_000
"""The number of pieces that are examined by default."""


def prove(
    inequality: Callable[..., tuple[Any, Any]],
    box: Mapping[str, tuple[Any, Any]],
    budget: int = BUDGET,
    *,
    bits: int = 64,
    symmetries: Sequence[Symmetry] = (),
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
    one shape; `budget`: how many pieces to examine; `symmetries`: what leaves the inequality as it
    is, `shift`, `scale` or `permutation` of some variables. They are proved first, and reduce the
    points that have to be looked at. A variable that may be scaled is any real number: its ends are
    -inf and inf.

    **Returns:** a `Proof`, true if the inequality is proved.

    **Raises:** `ValueError` for a box that is empty, reversed, or not finite, for a symmetry that
    fails, and for anything but a function and a number of pieces.

    **Example:**

    ```python
    import jax.numpy as jnp
    from theorykit.certify import prove

    print(prove(lambda x: (jnp.sin(x), x), dict(x=(0, 3))))
    # proved on 3 pieces at 64 bits; rhs - lhs >= 0, equal at x = 0
    print(prove(lambda x: (x * (1 - x), 0.24), dict(x=(0, 1))).point)
    # {'x': 0.5}
    ```
    """
    function("inequality", inequality, SIDES)
    function("progress", progress, "a function of the share done")
    check_budget(budget)
    declared = as_symmetries(symmetries)
    with precision(bits):
        if declared:
            return _by_symmetry(inequality, box, budget, bits, declared, progress)
        whole, inner, shapes = read(box)
        search = _Search(inequality, shapes, inner)
        return search.run(whole, budget, bits, progress)


def _by_symmetry(
    inequality: Callable[..., tuple[Any, Any]],
    box: Mapping[str, tuple[Any, Any]],
    budget: int,
    bits: int,
    declared: Sequence[Symmetry],
    progress: Callable[[float], None],
) -> Proof:
    """Prove an inequality at a point of every orbit."""
    symmetries = Symmetries.of(declared, box)
    why = symmetries.unproved(inequality)
    if why:
        return Proof("undecided", 0, bits, share=1.0, why=why)
    regions, parts, looked = symmetries.regions(), list[Proof](), 0
    for k, region in enumerate(regions):
        whole, inner, shapes = read(region)
        search = _Search(inequality, shapes, inner, symmetries.order())
        done = lambda share, k=k: progress((k + share) / len(regions))
        part = search.run(whole, budget - looked, bits, done)
        looked += part.boxes
        if part.point is not None:
            point = symmetries.moved_back(part.point)
            found = prove(inequality, {n: (x, x) for n, x in point.items()}, 1, bits=bits)
            if found.status == "refuted":
                return dataclasses.replace(found, boxes=looked)
            why = f"it fails at differences that no point of the box has, {part.point}"
            part = Proof("undecided", part.boxes, bits, share=1.0, why=why)
        parts.append(part)
    found = together(parts)
    near = tuple(f"{where} up to symmetry" for where in found.touching)
    return dataclasses.replace(found, touching=near)


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
        order: Sequence[tuple[int, int]] = (),
    ):
        self.shapes, self.inner, self.order = shapes, inner, order
        like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
        named = by_name("inequality", inequality, shapes)
        self.sides = Program.trace(lambda *xs: rows_of(named(*xs)), like)
        self.why, self.stopped = "", False
        self.next_look = 2
        self.middle: tuple[Any, int, Any] = (None, 0, None)

    def run(self, whole: Piece, budget: int, bits: int, progress: Callable[[float], None]) -> Proof:
        """Look at pieces, the largest first: many at once in floats, few or hard ones in balls."""
        self.pieces, self.hard = deque([whole]), deque[Piece]()
        self.looked, self.done, self.slack = 0, 0.0, arb.pos_inf()
        self.touches = Touches(self.sides, self.shapes, whole)
        many = Many(self.sides, self.shapes, whole)
        self.many = many if many.most >= FEWEST else None
        while (self.pieces or self.hard) and self.looked < budget:
            if self.many and len(self.pieces) >= FEWEST and not self.hard:
                found = self.sweep(self.many, budget, progress)
            else:
                piece = (self.hard or self.pieces).popleft()
                found = None if self.beside(piece) else self.look(piece, bits)
                progress(self.done)
            if found is not None:
                return dataclasses.replace(found, boxes=self.looked, bits=found.bits or bits)
            if self.stopped:
                break
        equal = self.touches.said()
        left = [*self.hard, *self.pieces]
        if not left:
            return Proof("proved", self.looked, bits, slack=float_below(self.slack), touching=equal)
        rest = undecided(self.shapes, left, self.looked, bits, self.why)
        return dataclasses.replace(rest, touching=equal)

    def look(self, piece: Piece, bits: int) -> Proof | None:
        """Look at one piece; return a refutation, if it is one."""
        self.looked += 1
        bound, slopes = self.over(piece)
        left = [k for k, b in enumerate(bound) if not b.lower() >= 0]  # a NaN is not
        found = self.at_middle(piece) if left else None
        if found is not None:
            return Proof("refuted", 0, 0, **found)
        smaller = self.divided(piece, slopes) if left else []
        if not left or self.touched(piece, left, last=not smaller):
            least = [arb(0) if k in left else b.lower() for k, b in enumerate(bound)]
            self.finish(piece, min(least))
        elif smaller:
            self.pieces.extend(smaller)
        else:  # a point
            told = self.sharper(piece, bits)
            if isinstance(told, Proof):
                return told
            if told is None:
                self.pieces.append(piece)
                self.why, self.stopped = self.why or POINT, True
            else:
                self.finish(piece, told)
        return None

    def beside(self, piece: Piece) -> bool:
        """Whether no point of a piece is in the order that was asked for; it is then done."""
        found = any(piece.low[i] > piece.high[j] for i, j in self.order)
        self.done += found * float(piece.share)
        return found

    def finish(self, piece: Piece, slack: arb) -> None:
        """Note that a piece is proved."""
        self.slack = min(self.slack, slack)
        self.done += float(piece.share)

    def sweep(self, many: Many, budget: int, progress: Callable[[float], None]) -> Proof | None:
        """Look at many pieces at once, until few are left; return a refutation, if one is found.

        Pieces that floats do not decide are left to balls.
        """
        known: list[Piece] = []
        for piece in self.pieces:
            (known if many.takes(piece) else self.hard).append(piece)
        front = many.rows(known)
        self.pieces.clear()
        while len(front) >= FEWEST and self.looked < budget:
            for i, j in self.order:
                out = front.low[:, i] > front.high[:, j]
                self.done += front[out].share
                front = front[~out]
            count = min(many.most, budget - self.looked)
            rows, rest = front[:count], front[count:]
            try:
                seen = many.over(rows)
            except NotCertifiable:
                self.many = None
                break
            self.looked += len(rows)
            open_ = ~(seen.least >= 0)
            for piece in many.pieces(rows[seen.negative.any(1)]):
                found = self.at_middle(piece)
                if found is not None:
                    return Proof("refuted", 0, 0, **found)
            least = np.where(open_, 0.0, seen.least)
            self.touched_among(many, rows, open_)
            left = np.asarray(open_.any(1))
            if not left.all():
                self.slack = min(self.slack, arb(float(least[~left].min())))
            self.done += rows[~left].share
            smaller, stuck = many.divided(rows, seen, left)
            self.hard.extend(many.pieces(stuck))
            front = rest.followed_by(smaller)
            progress(self.done)
        self.pieces.extend(many.pieces(front))
        return None

    def touched_among(
        self, many: Many, rows: Rows, open_: Bool[np.ndarray, "rows entries"]
    ) -> None:
        """Close the entries of rows that are proved by an equality near them."""
        for k in np.flatnonzero(open_.any(1)):
            if not self.touches.found and self.looked < self.next_look:
                return
            (piece,) = many.pieces(rows[[k]])
            if self.touched(piece, np.flatnonzero(open_[k]).tolist(), last=False):
                open_[k] = False

    def touched(self, piece: Piece, entries: list[int], last: bool) -> bool:
        """Whether these entries are proved by an equality near a piece.

        Equalities are looked for now and then, and at a piece that is the last word on its points.
        """
        touches = self.touches
        if touches.prove(piece, entries):
            return True
        if not last and self.looked < self.next_look:
            return False
        self.next_look = max(self.next_look, 2 * self.looked + 1)
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
        """Return the middle if it certainly violates the inequality.

        It may lie beside a box whose ends are no floats, by less than their precision, and is then
        moved into it.
        """
        middle = piece.middle()
        inside = [m.max(a).min(b) for m, (a, b) in zip(middle, self.inner, strict=True)]
        try:
            if inside == middle:
                left, right = self.sides_at(piece, bits)
            else:
                left, right = self.sides.run(Machine(), self.leaves(inside))
        except NotCertifiable as error:
            self.why = str(error)
            return None
        if not any(l > r for l, r in zip(left.flat, right.flat, strict=True)):
            return None
        point = {k: _exactly(v) for k, v in self.named(inside).items()}
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


SHARPER = (4, 16)
"""How many times as many bits are taken at a point that does not decide."""

POINT = "both sides may be equal at a point that is left: no more bits tell them apart"

MOST_ENTRIES = 4
"""Entries of a piece whose equalities are looked for at a time."""


def _exactly(array: np.ndarray) -> Any:
    """Return exact numbers as floats where they are floats, else as fractions."""
    made = np.empty(array.shape, dtype=object)
    for where in np.ndindex(array.shape):
        value = fraction_of(array[where])
        made[where] = float(value) if Fraction(float(value)) == value else value
    if all(isinstance(v, float) for v in made.flat):
        made = made.astype(float)
    return made if array.shape else made.item()
