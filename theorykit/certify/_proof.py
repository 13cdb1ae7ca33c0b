"""What branch and bound found, and how it is said."""

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from theorykit.certify._box import Box, Piece, named_ends
from theorykit.certify._enclose import Balls
from theorykit.common import picture


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


def together(parts: Sequence[Proof]) -> Proof:
    """Return what is known if a statement is one of several, each on a box of its own."""
    looked, bits = sum(p.boxes for p in parts), parts[0].bits
    touching = tuple(dict.fromkeys(t for p in parts for t in p.touching))
    if all(parts):
        slack = min(p.slack for p in parts if p.slack is not None)
        return Proof("proved", looked, bits, slack=slack, touching=touching)
    rest = [p for p in parts if not p]
    return Proof(
        "undecided",
        looked,
        bits,
        left=tuple(box for p in rest for box in p.left)[:MOST_LEFT],
        share=sum(p.share for p in rest) / len(parts),
        why=next((p.why for p in rest if p.why), ""),
        touching=touching,
    )


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
