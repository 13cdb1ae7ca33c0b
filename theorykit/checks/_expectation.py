"""The mean of a random quantity against its exact value or a bound."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._compile import compile_for
from theorykit.checks._draws import Drawn, Law, as_draws, proved_mean
from theorykit.checks._sides import joint
from theorykit.common.arguments import at_least_0, between, flag, reals, size
from theorykit.results import (
    Evidence,
    Figure,
    Interval,
    Measurement,
    Number,
    Outcome,
    Resolution,
    Verdict,
    Witness,
    of_limit,
    of_value,
)

ROUNDING, FLOOR = 1e-9, 1e-12
"""Relative and absolute disagreement that is attributed to float64, not to chance."""


class Estimate(Measurement):
    """A mean with its interval.

    **Fields:** `predicted`, the range that it should lie in, with equal ends for a value.
    """

    kind = "estimate"
    estimate: Number
    interval: tuple[Number, Number]
    predicted: tuple[Number, Number]

    def words(self) -> str:
        """Return the estimate and its interval."""
        low, high = self.interval
        return f"{self.estimate:.4g} [{low:.4g}, {high:.4g}]"

    def figure(self) -> Figure:
        """Return the interval over what is predicted."""
        return Interval(estimate=self.estimate, interval=self.interval, predicted=self.predicted)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Expectation(Check):
    """`E[statistic(key)] = value` (or `<= at_most`, or `>= at_least`), by independent replicates.

    There is one t-test per component, at the stated error probability shared over components
    (Bonferroni): if the claim is true and a replicate is near Gaussian, a refutation happens with
    probability at most `error`. Make each replicate a mean over many draws where the statistic has
    heavy tails. Where an event happened in each replicate, or in none, its frequency has the exact
    binomial bound; where all replicates are one other value, the claim is inconclusive. A claim
    that is not refuted holds; the interval shows how far it could be off, and the control shows
    whether that says anything.

    **Arguments:**

    - `statistic`: from a JAX key, or from the `draws` that it names, to a number or array; traced
      and vmapped if `vectorize`.
    - `draws`: the law of each argument of the statistic, as in `dict(x=normal("3"))`. The mean of a
      polynomial of them is also computed exactly, and is then the verdict.
    - `each`: the number of draws that a replicate averages.
    - `value`, `at_most`, `at_least`: exactly one of them, a number or an array with the axes of the
      statistic; a fraction is exact.
    - `replicates`: how many independent values; `batch`: how many at once.
    - `error`: the probability of refuting a true claim.
    - `within`: a bias that the claim allows (an absolute distance from the value or bound).
    """

    statistic: Callable[..., Any]
    draws: Mapping[str, Law] | None = None
    each: int = 1
    value: Any = None
    at_most: Any = None
    at_least: Any = None
    replicates: int = 64
    error: float = 1e-6
    within: float = 0.0
    vectorize: bool = True
    batch: int = 64

    evidence = Evidence.sampled
    untraced = "vectorize=False"
    functions = ("statistic",)
    alternatives = ("value", "at_most", "at_least")
    asked = (
        ("each", size),
        ("replicates", partial(size, least=2)),
        ("error", between),
        ("within", at_least_0),
        ("vectorize", flag),
        ("batch", size),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = self.chosen()
        reals(kind, as_floats(getattr(self, kind)))
        if as_draws(self.draws) is None and self.each != 1:
            raise ClaimError("`each` counts draws in a replicate, but `draws` has none.")

    def test(self, trial: Trial) -> Outcome:
        """Draw replicates, compare the component that is farthest off, then compute the mean."""
        found = self._sampled(trial)
        return found if trial.is_control else self._proved(found)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Compute the mean, without a draw."""
        found = self._proved(Outcome(Verdict.holds, self.evidence))
        return found if found.evidence is Evidence.certified else None

    def _proved(self, found: Outcome) -> Outcome:
        return proved_mean(found, self.statistic, self.draws, self._allowed, self._of_means)

    def _of_means(self, means: np.ndarray) -> Resolution:
        """Return the resolution of means that are known."""
        target = np.asarray(as_floats(getattr(self, self.chosen())), dtype=float)
        pairs = zip(means.ravel(), self._laid(target, means.shape).ravel(), strict=True)
        each = [self._resolution((float(m), float(m)), float(p), 0.0, False) for m, p in pairs]
        return min(each, key=lambda found: (bool(found.poor), found.value))

    def _allowed(self, means: np.ndarray) -> np.ndarray:
        """Return the nearest means, in fractions, that the claim allows."""
        kind, within = self.chosen(), Fraction(self.within)
        target = self._laid(as_fractions(getattr(self, kind)), means.shape)
        above = means if kind == "at_most" else np.maximum(means, target - within)
        return above if kind == "at_least" else np.minimum(above, target + within)

    def _laid(self, target: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return the value or bound in the shape of the statistic.

        **Raises:** `ClaimError` for one that has another number of axes, or more entries.
        """
        if joint(shape, target.shape, ("the statistic", self.chosen())) != shape:
            raise ClaimError(
                f"the statistic has shape {shape}, but {self.chosen()} has shape {target.shape}; "
                "give a number, or an array of the statistic's shape."
            )
        return np.broadcast_to(target, shape)

    def _sampled(self, trial: Trial) -> Outcome:
        from scipy.special import stdtrit

        drawn = self.draws and Drawn(self.statistic, tuple(self.draws.items()), self.each)
        measure = drawn or self.statistic
        values = replicate(measure, trial, self.replicates, self.vectorize, self.batch)
        shape, flat = values.shape[1:], values.reshape(len(values), -1)
        bad = ~np.isfinite(flat).all(axis=1)
        if bad.any():
            raise ClaimError(
                f"the statistic is not finite in {int(bad.sum())} of {len(flat)} replicates."
            )
        mean = flat.mean(axis=0)
        stderr = flat.std(axis=0, ddof=1) / math.sqrt(len(flat))
        kind = self.chosen()
        target = np.asarray(getattr(self, kind), dtype=float)
        predicted = self._laid(target, shape).ravel()
        away = {
            "value": np.abs(mean - predicted),
            "at_most": mean - predicted,
            "at_least": predicted - mean,
        }[kind]
        tails = 2 if kind == "value" else 1
        share = self.error / tails / len(mean)
        rounding = FLOOR + ROUNDING * np.maximum(np.abs(mean), np.abs(predicted))
        still = np.ptp(flat, axis=0) <= FLOOR * np.abs(mean)
        truths = np.isin(flat, (0.0, 1.0)).all(axis=0)
        missed = 1 - share ** (1 / len(flat))  # the share of keys none of which need have come up
        reach = np.where(still & truths, missed, -stdtrit(len(flat) - 1, share) * stderr)
        excess = away - self.within - reach - rounding
        # The worst component: by how many standard errors, so that scales may differ.
        worst = int(np.argmax((away - self.within) / (stderr + rounding)))
        if excess.max() > 0:
            worst = int(np.argmax(excess / (stderr + rounding)))
        estimate, error = float(mean[worst]), float(stderr[worst])
        interval = (estimate - float(reach[worst]), estimate + float(reach[worst]))
        place = ", ".join(str(i + 1) for i in np.unravel_index(worst, shape)) if shape else ""
        note = (
            f"Mean {estimate:.6g} with standard error {error:.2g} over {len(flat)} replicates, "
            f"predicted {self._sign()} {predicted[worst]:.10g}"
            + (f", in entry {place}, counted from 1." if place else ".")
            + (f" As an event, it may be off by {missed:.0%}." if (still & truths)[worst] else "")
        )
        low = -math.inf if kind == "at_most" else float(predicted[worst]) - self.within
        high = math.inf if kind == "at_least" else float(predicted[worst]) + self.within
        measured = Estimate(estimate=estimate, interval=interval, predicted=(low, high))
        if (still & ~truths).all():
            return Outcome(
                Verdict.inconclusive,
                self.evidence,
                len(flat),
                f"Every replicate is {estimate:.6g}, so the run says nothing about chance: a value "
                f"that {missed:.0%} of the keys give could have been missed. Average many draws "
                f"per replicate, or, if the key does not matter, state an identity. {note}",
                measured,
            )
        refuted = bool(excess[worst] > 0)
        return Outcome(
            Verdict.refuted if refuted else Verdict.holds,
            self.evidence,
            len(flat),
            note,
            measured,
            witness=Witness(f"# {note}", estimate, float(predicted[worst])) if refuted else None,
            resolution=self._resolution(
                interval, float(predicted[worst]), float(rounding[worst]), bool(truths.all())
            ),
        )

    def _resolution(
        self, interval: tuple[float, float], predicted: float, rounding: float, truths: bool
    ) -> Resolution:
        """Return how far the prediction may move from here before it is refuted.

        **Arguments:** `truths`: whether every replicate was 0 or 1.
        """
        low, high = interval[0] - rounding, interval[1] + rounding
        kind = self.chosen()
        if kind == "value":
            reach = min(high - predicted, predicted - low) + self.within
            return of_value(max(reach, 0.0), predicted)
        away = predicted - low if kind == "at_most" else high - predicted
        nothing = predicted >= 1 if kind == "at_most" else predicted <= 0
        if truths and nothing:
            poor = (
                f"Every replicate is 0 or 1, so a mean that is {self._sign()} {predicted:g} "
                "asserts nothing; state a bound that a frequency can break."
            )
            return of_value(away + self.within, 0.0, poor)
        nearest = interval[1] if kind == "at_most" else interval[0]
        return of_limit(away + self.within, predicted, nearest)

    def _sign(self) -> str:
        return {"value": "=", "at_most": "<=", "at_least": ">="}[self.chosen()]

    def describe(self) -> str:
        """Return the number of replicates and the error probability."""
        each = f" of {self.each} draws" if self.each > 1 else ""
        return (
            f"expectation: {self.replicates} independent replicates{each}, "
            f"false alarm with probability at most {self.error:g}"
        )


def as_fractions(value: Any) -> np.ndarray:
    """Return numbers as the fractions that they are."""
    array = np.asarray(value)
    made = np.empty(array.shape, dtype=object)
    made.reshape(-1)[:] = [Fraction(x) for x in array.ravel().tolist()]
    return made


def as_floats(value: Any) -> Any:
    """Return fractions as floats, and anything else as it is."""
    array = np.asarray(value) if isinstance(value, Fraction | list | tuple | np.ndarray) else None
    fractions = array is not None and all(isinstance(x, Fraction | int | float) for x in array.flat)
    return array.astype(float) if array is not None and fractions else value


def replicate(
    measure: Callable[..., Any],
    trial: Trial,
    count: int,
    vectorize: bool,
    batch: int,
    *static: Any,
) -> Float[np.ndarray, " replicates *shape"]:
    """Return `measure(key, *static)` at `count` independent keys."""
    size = sum(int(v) for v in static)
    key = jax.random.fold_in(trial.key, size)
    if not vectorize:
        single = []
        for i in range(count):
            single.append(np.asarray(measure(jax.random.fold_in(key, i), *static), dtype=float))
            trial.progress((i + 1) / count)
        return np.stack(single)
    batch = min(batch, count)
    indices = np.arange(batch)

    def many(key: jax.Array, indices: jax.Array) -> jax.Array:
        return jax.vmap(lambda i: measure(jax.random.fold_in(key, i), *static))(indices)

    what = (measure, batch, *static)
    twice = "" if ("steady", measure) in trial.memory else "the statistic"
    compiled = trial.remember(what, lambda: compile_for(many, key, indices, twice=twice))
    trial.memory["steady", measure] = True
    parts = []
    for start in range(0, count, batch):  # the last batch may draw a few too many
        values = np.asarray(compiled(key, start + indices), dtype=float)
        parts.append(values[: count - start])
        trial.progress(min(1.0, (start + batch) / count))
    return np.concatenate(parts)
