"""A training run, over seeds, against the ordering or number that is predicted."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._expectation import Estimate
from theorykit.checks._targets import (
    Alternative,
    nearest_that_falls,
    predicted,
    refuse_disjoint,
    refuse_same,
)
from theorykit.common import arguments, exponents
from theorykit.results import Evidence, Outcome, Verdict, of_value


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverSeeds(Check):
    """`measure(key, progress)` has a mean over seeds that is `at_most` (`at_least`, ...).

    The mean over seeds has a t interval. The claim holds if the interval lies within what is
    predicted, is refuted if it lies outside, and is inconclusive between: seeds are few, and an
    experiment that cannot tell should say so.

    **Arguments:**

    - `measure`: trains networks; takes a key and a function to call with the share done, and
      returns an array with one number per seed. One with a parameter `seed` also gets the run's
      seed, by which claims share networks; its key is the claim's own. It is
      called outside the float64 scope of the other checks, so that networks train as they do
      elsewhere. Its control trains nothing again if `measure` is the same.
    - `at_most`, `at_least`: exactly one of them, or `between`, a pair.
    - `confidence`: of the interval.
    """

    measure: Callable[..., Any]
    at_most: float | None = None
    at_least: float | None = None
    between: tuple[float, float] | None = None
    confidence: float = 0.95

    evidence = Evidence.trained
    controls = Mapping | Alternative | None
    name = "experiment"
    functions = ("measure",)
    alternatives = ("at_most", "at_least", "between")
    asked = (("confidence", arguments.between),)

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = self.chosen()
        predicted(kind, getattr(self, kind))

    def test(self, trial: Trial) -> Outcome:
        """Train once for the claim and its control, and compare."""
        values = trial.remember(("experiment", self.measure), lambda: self._trained(trial))
        if values.ndim != 1 or len(values) < 2:
            raise ClaimError(
                "an experiment returns one number per seed, for at least two seeds, not an "
                "array of shape "
                f"{values.shape}."
            )
        if np.iscomplexobj(values):
            raise ClaimError(f"an experiment returns real numbers, not {values.dtype}.")
        values = values.astype(float)
        if not np.isfinite(values).all():
            return Outcome(
                Verdict.inconclusive,
                self.evidence,
                len(values),
                f"{int((~np.isfinite(values)).sum())} of {len(values)} seeds have no result.",
            )
        mean, *ends = exponents.mean(values, self.confidence)
        low, high = self._predicted()
        interval = (ends[0], ends[1])
        inside = low <= interval[0] and interval[1] <= high
        outside = interval[1] < low or high < interval[0]
        verdict = Verdict.holds if inside else Verdict.refuted if outside else Verdict.inconclusive
        note = f"Mean {mean:.4g} over {len(values)} seeds, predicted {self._wanted()}."
        return Outcome(
            verdict,
            self.evidence,
            len(values),
            note,
            Estimate(estimate=mean, interval=interval, predicted=(low, high)),
            resolution=of_value(nearest_that_falls(interval, (low, high)), 0.0),
        )

    def controlled(self) -> Check | None:
        """Return the false neighbour; refuse one that falls whatever is measured."""
        false = super().controlled()
        if isinstance(false, OverSeeds):
            refuse_disjoint(self, false, self._predicted(), false._predicted(), ("measure",))
        return false

    def fallen(self, found: Outcome, trial: Trial) -> Outcome | None:
        """Return the outcome of the control, which may be an alternative."""
        measured = found.measured
        if isinstance(self.control, Alternative) and isinstance(measured, Estimate):
            return self.control.judged(measured.estimate, measured.interval, self._predicted())
        fallen = super().fallen(found, trial)
        if fallen is not None and isinstance(fallen.measured, Estimate):
            refuse_same(self._predicted(), fallen.measured.predicted, fallen.measured.interval)
        return fallen

    def _trained(self, trial: Trial) -> np.ndarray:
        import jax

        wanted = "seed" in inspect.signature(self.measure).parameters
        given = {"seed": trial.seed} if wanted else {}
        with jax.enable_x64(False):
            return np.asarray(self.measure(trial.key, trial.progress, **given))

    def _predicted(self) -> tuple[float, float]:
        if self.between is not None:
            return self.between
        low = -math.inf if self.at_least is None else self.at_least
        return low, (math.inf if self.at_most is None else self.at_most)

    def _wanted(self) -> str:
        if self.between is not None:
            return f"between {self.between[0]:g} and {self.between[1]:g}"
        return f"<= {self.at_most:g}" if self.at_most is not None else f">= {self.at_least:g}"

    def describe(self) -> str:
        """Return what is predicted, and how sure the interval is."""
        return f"experiment: mean over seeds {self._wanted()}, {self.confidence:.0%} interval"
