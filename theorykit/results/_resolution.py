"""Resolution: the smallest change of a statement that a run would have noticed."""

import enum
import math

from pydantic.dataclasses import dataclass

from theorykit.results._numbers import Count, Number

LOOSEST = 1000.0
"""A bound that is never tight to within this factor is uninformative."""

COARSEST = 0.1
"""An identity that could be off by a tenth unnoticed is uninformative."""

FLATTEST = 1.0
"""An exponent that could be off by one does not tell linear from quadratic."""

FEWEST = 0.01
"""The share of members that must be able to tell; at least two, if there are two."""


class Unit(enum.StrEnum):
    """The unit of a resolution."""

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

    - `unit`: "factor": by how much the right side of a bound may shrink before some point fails;
      "relative": by what fraction a side may change; "absolute": by how much a prediction may move,
      in its own units; "exponent": by how much an exponent may move; "members": on how many members
      or cases the false neighbour fails.
    - `value`: that number.
    - `of`: the number of members on which the neighbour was tried.
    - `telling`: the number of members that can tell, or None if the check does not say.
    - `poor`: why such a coarse run is uninformative, and what would help; "" for a fine one.
    """

    unit: Unit
    value: Number
    of: Count = 0
    telling: Count | None = None
    poor: str = ""

    @property
    def grade(self) -> Fineness:
        """The grade: poor; coarse, within a factor of ten of poor; or fine."""
        if self.poor:
            return Fineness.poor
        worst = {Unit.factor: LOOSEST, Unit.relative: COARSEST, Unit.exponent: FLATTEST}
        within = worst.get(self.unit, math.inf)
        return Fineness.coarse if self.value * 10 > within else Fineness.fine

    @property
    def place(self) -> float:
        """Its position on an axis from fine to coarse: a logarithm, or a share of members."""
        if self.unit is Unit.members:
            return 1 - self.value / max(self.of, 1)
        return math.log10(min(max(self.value, 1e-99), 1e99))

    def words(self) -> str:
        """Return it in words, short enough for a table cell."""
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
    """Return the resolution of a bound, given the largest ratio lhs / rhs reached.

    None, 0 or less means that no positive ratio was reached.
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
    """Return the resolution of a statement about a sign: how near to 0 the quantity came.

    **Arguments:** `least`, `largest`: its smallest and largest size among `count` values. If it
    hardly varies compared with its distance from 0, a bound far from it was subtracted.
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
    """Return the resolution of a number that stays within a limit by this distance.

    **Arguments:** `reached`: the value of the number closest to the limit. It is poor if the two
    differ by too large a factor, as for a bound.
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
    """Return the resolution of lhs = rhs, given the smallest relative change that shows."""
    poor = ""
    if relative > COARSEST:
        what = f"{relative:.0%} of either side" if relative < 10 else "either side many times over"
        poor = f"A change by {what} would have passed; a smaller tol or floor would detect it."
    return Resolution(Unit.relative, relative, poor=poor)


def of_exponent(distance: float) -> Resolution:
    """Return the resolution of a rate, given the distance to the nearest refuted exponent."""
    poor = ""
    if distance >= FLATTEST:
        poor = (
            f"Exponents up to {distance:.2g} away would have passed; a smaller tolerance, more "
            "replicates or a wider range of sizes would tell them apart."
        )
    return Resolution(Unit.exponent, distance, poor=poor)


def of_value(distance: float, predicted: float, poor: str = "") -> Resolution:
    """Return the resolution of a number, given the distance to the nearest refuted prediction.

    It is poor if it would not tell the prediction from 0 or from twice as much.
    """
    if not poor and 0 < abs(predicted) < distance and math.isfinite(predicted):
        poor = (
            f"Predictions up to {distance:.2g} away would have passed, from 0 to twice the "
            f"predicted {predicted:.3g}; more replicates would narrow the interval."
        )
    return Resolution(Unit.absolute, distance, poor=poor)


def of_members(fallen: int, tried: int, telling: int | None, members: int) -> Resolution:
    """Return the resolution of a predicate, given how many members refute its false neighbour.

    **Arguments:** the neighbour failed on `fallen` of `tried` members; `telling` of the claim's
    `members` could have told the difference.
    """
    poor = ""
    if telling is not None and telling < max(min(2, members), FEWEST * members):
        poor = (
            f"Only {telling:,} of {members:,} members could have told the statement from a false "
            "one; choose members that differ."
        )
    return Resolution(Unit.members, float(fallen), tried, telling, poor)
