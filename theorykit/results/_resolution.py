"""How small a change of a statement a run would have noticed."""

import enum
import math

from pydantic.dataclasses import dataclass

from theorykit.results._numbers import Count, Number

LOOSEST = 1000.0
"""A bound that is never nearer than this factor could be anything."""

COARSEST = 0.1
"""An identity of which a tenth may be wrong unnoticed is no identity."""

FLATTEST = 1.0
"""An exponent that may be off by one does not tell a line from a square."""

FEWEST = 0.01
"""The share of members that must be able to tell; two members at least, where there are two."""


class Unit(enum.StrEnum):
    """What a resolution is counted in."""

    factor = "factor"
    relative = "relative"
    absolute = "absolute"
    exponent = "exponent"
    members = "members"


class Fineness(enum.StrEnum):
    """How fine a resolution is."""

    fine = "fine"
    coarse = "coarse"
    poor = "poor"


@dataclass(frozen=True)
class Resolution:
    """The smallest change of the statement that would have made this run refute it.

    **Fields:**

    - `unit`: "factor": by how much the right side of a bound may shrink before a point falls;
      "relative": by what part of itself a side may change; "absolute": by how much what is
      predicted may move, in its own units; "exponent": by how much an exponent may move;
      "members": on how many members or cases the false neighbour falls.
    - `value`: that number.
    - `of`: how many members the neighbour was tried on.
    - `telling`: how many members are able to tell, None where the check does not say.
    - `poor`: why so coarse a run says nothing, and what would help; "" for a fine one.
    """

    unit: Unit
    value: Number
    of: Count = 0
    telling: Count | None = None
    poor: str = ""

    @property
    def grade(self) -> Fineness:
        """How fine it is: poor; coarse, within a factor of ten of that; or fine."""
        if self.poor:
            return Fineness.poor
        worst = {Unit.factor: LOOSEST, Unit.relative: COARSEST, Unit.exponent: FLATTEST}
        within = worst.get(self.unit, math.inf)
        return Fineness.coarse if self.value * 10 > within else Fineness.fine

    @property
    def place(self) -> float:
        """Where it lies on an axis from fine to coarse: a logarithm, or a share of members."""
        if self.unit is Unit.members:
            return 1 - self.value / max(self.of, 1)
        return math.log10(min(max(self.value, 1e-99), 1e99))

    def words(self) -> str:
        """Return it as short as a cell of a table."""
        value = self.value
        if self.unit is Unit.members:
            told = "" if self.telling is None else f", {self.telling:,} telling"
            return f"{value:,.0f} of {self.of:,}{told}"
        if math.isinf(value):
            return "anything"
        if self.unit is Unit.factor:
            return (
                f"{value:.2f}x"
                if value < 10
                else f"{value:.3g}x"
                if value < 1e4
                else f"{value:.0e}x"
            )
        if self.unit is Unit.relative:
            return f"{value:.0e}" if value < 1e-2 else f"{value:.1%}"
        return f"\N{PLUS-MINUS SIGN}{value:.2g}"


def of_bound(ratio: float | None) -> Resolution:
    """Return the resolution of a bound, of which this is the largest share that was reached.

    None, 0 or less: no share of it was.
    """
    factor = 1 / ratio if ratio is not None and ratio > 0 else math.inf
    poor = ""
    if factor > LOOSEST:
        seen = f"lhs is never nearer to rhs than a factor {factor:.0e}"
        seen = seen if math.isfinite(factor) else "lhs never reaches any share of rhs"
        poor = (
            f"{seen}, so a bound {LOOSEST:g} times sharper would have held too; test it "
            "where it is tight, or state a sharper bound."
        )
    return Resolution(Unit.factor, max(factor, 1.0), poor=poor)


def of_sign(least: float, largest: float, count: int) -> Resolution:
    """Return the resolution of a statement that something has a sign: how near to 0 it came.

    **Arguments:** `least`, `largest`: its size where it was smallest and largest, among `count`
    values. Where it hardly varies, beside its distance from 0, a bound far from it was subtracted.
    """
    poor = ""
    if count > 1 and (largest - least) * LOOSEST < least:
        poor = (
            f"One side is 0, and the other lies {least:.3g} or more away and hardly varies, so a "
            f"bound {LOOSEST:g} times sharper would have held too; write what is bounded on one "
            "side and the bound on the other."
        )
    return Resolution(Unit.absolute, least, poor=poor)


def of_limit(distance: float, limit: float, reached: float) -> Resolution:
    """Return the resolution of a number that keeps within a limit by this distance.

    **Arguments:** `reached`: how near the limit the number may be. One of the two being so many
    times the other, as for a bound, is poor.
    """
    small, large = sorted((abs(limit), abs(reached)))
    beyond = limit * reached > 0 or large == abs(limit)
    poor = ""
    if small > 0 and beyond and large > LOOSEST * small:
        poor = (
            f"What was measured comes no nearer to {limit:.3g} than {reached:.3g}, so a "
            f"limit {LOOSEST:g} times sharper would have held too; state a sharper limit."
        )
    return of_value(distance, 0.0, poor)


def of_identity(relative: float) -> Resolution:
    """Return the resolution of lhs = rhs where the smallest change that shows is this part."""
    poor = ""
    if relative > COARSEST:
        what = f"{relative:.0%} of either side" if relative < 10 else "either side many times over"
        poor = f"A change by {what} would have passed; a smaller tol or floor would see it."
    return Resolution(Unit.relative, relative, poor=poor)


def of_exponent(distance: float) -> Resolution:
    """Return the resolution of a rate where the nearest exponent that falls is this far away."""
    poor = ""
    if distance >= FLATTEST:
        poor = (
            f"Exponents up to {distance:.2g} away would have passed; a smaller tolerance, more "
            "replicates or a wider range of sizes would tell them apart."
        )
    return Resolution(Unit.exponent, distance, poor=poor)


def of_value(distance: float, predicted: float, poor: str = "") -> Resolution:
    """Return the resolution of a number where the nearest prediction that falls is this far away.

    One that would not tell what is predicted from 0, or from twice as much, is poor.
    """
    if not poor and 0 < abs(predicted) < distance and math.isfinite(predicted):
        poor = (
            f"Predictions up to {distance:.2g} away would have passed, from 0 to twice the "
            f"predicted {predicted:.3g}; more replicates would narrow the interval."
        )
    return Resolution(Unit.absolute, distance, poor=poor)


def of_members(fallen: int, tried: int, telling: int | None, members: int) -> Resolution:
    """Return the resolution of a predicate whose false neighbour falls at so many members.

    **Arguments:** `fallen` of `tried`, where the neighbour was tried; `telling` of `members`, which
    of the claim's members could have told.
    """
    poor = ""
    if telling is not None and telling < max(min(2, members), FEWEST * members):
        poor = (
            f"Only {telling:,} of {members:,} members could have told the statement from a false "
            "one; choose members that differ."
        )
    return Resolution(Unit.members, float(fallen), tried, telling, poor)
