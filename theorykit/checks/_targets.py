"""What an interval can tell apart: the nearest target that falls, and controls that always fall."""

import dataclasses
from typing import Any

import numpy as np

from theorykit.checks._base import Check, ClaimError
from theorykit.common.arguments import as_array, real, shown
from theorykit.results import Outcome, Verdict

Range = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Alternative:
    """A control that names what would be measured if the claim were false. Made by `alternative`.

    The claim's interval is moved there with the width that it has; the claim must then fall.
    """

    value: float

    def moved(self, estimate: float, interval: Range) -> Range:
        """Return the interval around the alternative."""
        return self.value + (interval[0] - estimate), self.value + (interval[1] - estimate)

    def judged(self, estimate: float, interval: Range, band: Range) -> Outcome:
        """Return the verdict on a claim that predicts this band, had the alternative been true."""
        low, high = self.moved(estimate, interval)
        apart = high < band[0] or low > band[1]
        note = f"At {self.value:g} the interval would be [{low:.3g}, {high:.3g}]."
        return Outcome(Verdict.refuted if apart else Verdict.holds, note=note)

    def __str__(self) -> str:
        return f"what is measured by the alternative {self.value:g}"


def alternative(value: float) -> Alternative:
    """Return the control that asks whether a run could have told this value from the claim's.

    For a `rate` without a key and an `experiment`: where another measure (shuffled labels, an
    untrained network, another law) is not a natural control, name what a false claim would measure.
    """
    return Alternative(real("an alternative", value))


def predicted(kind: str, value: Any) -> None:
    """Raise a `ValueError` unless a number is predicted, or two in order for the kind `between`."""
    ends = np.asarray(as_array(kind, value), float)
    shape = (2,) if kind == "between" else ()
    if ends.shape != shape or np.isnan(ends).any() or (ends.ndim and ends[1] < ends[0]):
        raise ValueError(
            f"a prediction is a number or an interval (low, high), not {shown(value)}."
        )


def nearest_that_falls(interval: Range, band: Range) -> float:
    """Return how far a band has to be moved until it is disjoint from the interval."""
    (low, high), (bottom, top) = interval, band
    return max(0.0, min(high - bottom, top - low))


def refuse_disjoint(
    claim: Check, control: Any, own: Range, other: Range, measured: tuple[str, ...]
) -> None:
    """Refuse a control that asks for another target of the same measure, disjoint from the claim's.

    Whatever supports the claim breaks such a control, so its fall says nothing.

    **Raises:** `ClaimError`.
    """
    if any(getattr(claim, name) is not getattr(control, name) for name in measured):
        return
    if other != own and (other[1] <= own[0] or own[1] <= other[0]):
        what = claim.name or type(claim).__name__.lower()
        raise ClaimError(
            f"the control predicts {_range(other)} of the same measure, of which the claim says "
            f"{_range(own)}: no {what} could satisfy both, so its refutation shows nothing; let it "
            "measure something else (shuffled labels, an untrained network, another law), or name "
            "what would be measured if the claim were false, as in control=alternative(1.0)."
        )


def refuse_same(own: Range, other: Range, interval: Range) -> None:
    """Refuse a control of a target disjoint from the claim's that measures what the claim predicts.

    **Raises:** `ClaimError`.
    """
    if (other[1] <= own[0] or own[1] <= other[0]) and _within(interval, own):
        raise ClaimError(
            f"the control measures [{interval[0]:.3g}, {interval[1]:.3g}], which is what the claim "
            f"predicts, and falls only because it predicts {_range(other)} of it; let it measure "
            "something else, or name what would be measured if the claim were false, as in "
            "control=alternative(1.0)."
        )


def _within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _range(ends: Range) -> str:
    return f"[{ends[0]:.3g}, {ends[1]:.3g}]"
