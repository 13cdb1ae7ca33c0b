"""lhs = rhs on a domain, at structured and random cases."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from theorykit.certify import Balls, float_above, float_below
from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._certificates import certify_first, enclosed_at, fallen_control
from theorykit.checks._everywhere import Everywhere, proved_everywhere
from theorykit.checks._inputs import Case, Inputs
from theorykit.checks._literals import at_literals
from theorykit.checks._shapes import Sizes
from theorykit.checks._shrink import shrink
from theorykit.checks._sides import (
    ASKED,
    NOTHING,
    NOWHERE,
    Side,
    Sides,
    checked_domain,
    told_apart,
)
from theorykit.common.arguments import instance
from theorykit.results import (
    Evidence,
    Measurement,
    Number,
    Outcome,
    Resolution,
    Verdict,
    of_identity,
    of_value,
)


class LargestError(Measurement):
    """The largest relative difference of the two sides that was seen."""

    kind = "largest_error"
    error: Number

    def words(self) -> str:
        """Return the error."""
        return f"max error {self.error:.1e}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Identity(Check):
    """`lhs(...) = rhs(...)` for every point of a domain.

    The error of a case is the largest |lhs - rhs| over all entries, relative to the largest
    entry of either side (max norm), or to `floor` where that is larger: an entry that is zero
    beside entries of size one is compared at the scale of one.

    **Arguments:**

    - `lhs`, `rhs`: called with the arguments that they name; numbers, arrays or trees of arrays.
      Arrays with equally many axes are broadcast against each other, and numbers against all.
    - `over`: the domain; without one, the sides take no argument and there is one case.
    - `tol`: the largest error allowed; `floor`: see above.
    - `cases`: how many random cases at each size, beside the structured ones.
    - `batch`, `traceable`: as for `inequality`.
    - `proof`: `everywhere(...)`, to say at which sizes it is proved for all values of the
      arguments, once the cases have agreed; without it all sizes are tried.
    """

    lhs: Side
    rhs: Side
    over: Inputs = NOTHING
    tol: float = 1e-9
    floor: float = 1e-6
    cases: int = 64
    batch: int = 64
    traceable: bool = True
    proof: Everywhere | None = None

    evidence = Evidence.sampled
    untraced = "traceable=False"
    functions = ("lhs", "rhs")
    asked = ASKED

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_domain(self.over)
        instance("proof", self.proof, Everywhere | None, "what everywhere(...) returns")

    def test(self, trial: Trial) -> Outcome:
        """Try the sizes in ascending order; the largest error seen is the estimate."""
        if self.proof is not None:
            self.proof.check(self.over)
        tried, largest, finest, compared = 0, 0.0, np.inf, False
        settings = self.over.settings()
        grade = Evidence.sampled if self.over.arguments else Evidence.exhaustive
        for number, sizes in enumerate(settings):
            batch = self.batch if self.over.arguments else 1
            sides = self.sides(sizes, trial, batch)
            count = self.cases if self.over.arguments else 0
            latents = self.over.cases(trial.rng(number), sizes, count)
            points = self.over.meet([self.over.squash(z, np) for z in latents], sizes)
            if not points:
                continue
            error, finest_here, finite = self._measure(sides, points)
            finest, compared = min(finest, finest_here), compared or finite
            if self.traceable and self.over.arguments and error.max() <= self.tol:
                thin, more = self._thin(sides, points)
                points, error = points + thin, np.concatenate([error, more])
            tried += len(points)
            largest = max(largest, float(error.max()))
            if largest > self.tol:
                worst = int(np.argmax(error))
                found = self._refuted(sides, points[worst], float(error[worst]), grade, tried)
                if found.verdict is Verdict.refuted or trial.is_control:
                    return found
                held = Outcome(Verdict.holds, grade, tried, found.note, LargestError(error=largest))
                proved = self._proved(held, trial)
                return proved if proved.evidence is Evidence.certified else found
            trial.progress((number + 1) / len(settings))
        if not tried:
            raise ClaimError(NOWHERE)
        if not compared:
            return Outcome(
                Verdict.inconclusive,
                grade,
                tried,
                note="Both sides are infinite wherever they agree, so nothing was compared.",
            )
        note = f"Largest relative error {largest:.1e}."
        found = Outcome(
            Verdict.holds,
            grade,
            tried,
            note,
            LargestError(error=largest),
            resolution=of_identity(finest) if np.isfinite(finest) else self._absolute(),
        )
        return found if trial.is_control else self._proved(found, trial)

    def _thin(
        self, sides: Sides, points: Sequence[Case]
    ) -> tuple[list[Case], Float[np.ndarray, " cases"]]:
        """Return points at numbers of the program where the sides differ, and their errors."""
        try:
            tried = at_literals(sides, [points[0], points[-1]])
            left, right = sides.evaluate(tried)
        except Exception:  # it cannot be evaluated there: nothing is found
            return [], np.empty(0)
        error = self._errors(left, right)[0]
        bad = (error > self.tol) & ~(np.isnan(left) | np.isnan(right)).any(axis=1)
        return [p for p, is_bad in zip(tried, bad, strict=True) if is_bad], error[bad]

    def enclosed_at(self, point: Mapping[str, Any], bits: int) -> tuple[Balls, Balls]:
        """Return both sides at a point, entry by entry."""
        return enclosed_at(self, point, bits)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Prove it for all values, without a case."""
        found = self._proved(Outcome(Verdict.holds, self.evidence), trial)
        return found if self.proof or found.evidence is Evidence.certified else None

    def _proved(self, found: Outcome, trial: Trial) -> Outcome:
        with trial.unheard():
            return proved_everywhere(found, self.proof, lambda s: self.sides(s, trial))

    def sides(self, sizes: Sizes, trial: Trial, batch: int = 1) -> Sides:
        """Return both sides at these sizes."""
        return Sides(self.lhs, self.rhs, self.over, sizes, batch, self.traceable, trial, True)

    def _excess(
        self, left: Balls, right: Balls
    ) -> tuple[Float[np.ndarray, " entries"], Float[np.ndarray, " entries"]]:
        """Return bounds on how much the balls differ, less the tolerance."""
        pairs = list(zip(left.array, right.array, strict=True))
        scale = lambda end: max(self.floor, *(end(abs(x)) for pair in pairs for x in pair))
        most, least = self.tol * scale(float_above), self.tol * scale(float_below)
        away = [abs(a - b) for a, b in pairs]
        return (
            np.array([float_below(d - most) for d in away]),
            np.array([float_above(d - least) for d in away]),
        )

    def _measure(
        self, sides: Sides, points: Sequence[Case]
    ) -> tuple[Float[np.ndarray, " cases"], float, bool]:
        """Return each case's relative error, and the smallest change of a side that would show.

        The change is relative to that side, and infinite if the side is 0 in all cases. Also return
        whether any is finite.
        """
        left, right = sides.evaluate(points)
        sides.refuse_nan(points, left, right)
        largest = [np.abs(np.where(np.isfinite(x), x, 0.0)).max(axis=1) for x in (left, right)]
        size, least = np.maximum(np.maximum(*largest), self.floor), np.minimum(*largest)
        shows = np.divide(self.tol * size, least, out=np.full(len(size), np.inf), where=least > 0)
        finite = bool((np.isfinite(left) & np.isfinite(right)).any())
        return self._errors(left, right)[0], float(shows.min()), finite

    def _absolute(self) -> Resolution:
        """Return the resolution where a side is 0 everywhere."""
        return of_value(self.tol * self.floor, 0.0)

    def _errors(
        self, left: Float[np.ndarray, "cases entries"], right: Float[np.ndarray, "cases entries"]
    ) -> tuple[Float[np.ndarray, " cases"], Int[np.ndarray, " cases"]]:
        """Return each case's relative error and the entry where it is."""
        with np.errstate(all="ignore"):
            away = np.where(left == right, 0.0, np.abs(left - right))  # equal infinities agree
            away = np.where(np.isnan(left) | np.isnan(right), np.inf, away)
            size = np.maximum(np.abs(left), np.abs(right))
            size = np.where(np.isfinite(size), size, 0.0).max(axis=1)
        entry = np.argmax(away, axis=1)
        return away[np.arange(len(away)), entry] / np.maximum(size, self.floor), entry

    def _refuted(
        self, sides: Sides, point: Case, error: float, grade: Evidence, tried: int
    ) -> Outcome:
        def say(point: Case, entry: int) -> Outcome:
            witness = sides.witness(point, entry)
            note = "lhs = {} but rhs = {}.".format(*told_apart(witness.lhs, witness.rhs, 9))
            measured = LargestError(error=self._errors(*sides.evaluate([point]))[0][0])
            return Outcome(Verdict.refuted, grade, tried, note, measured, witness)

        def worst(point: Case) -> int | None:
            left, right = sides.evaluate([point])
            errors, entry = self._errors(left, right)
            defined = not (np.isnan(left) | np.isnan(right)).any()
            defined = defined and self.over.admits(point, sides.sizes)
            return int(entry[0]) if defined and errors[0] > self.tol else None

        if sides.trial.is_control:
            entry = int(self._errors(*sides.evaluate([point]))[1][0])
            return fallen_control(say, sides, point, entry, self._excess)
        # The error may fall while the point gets simpler, but not to near the tolerance.
        enough = max(self.tol, min(error / 100, 1e-3))

        def refutes(cases: Sequence[Case]) -> Bool[np.ndarray, " cases"]:
            left, right = sides.evaluate(cases)
            nan = (np.isnan(left) | np.isnan(right)).any(axis=1)
            return (self._errors(left, right)[0] > enough) & ~nan

        # A simple point may be one where only floats violate it.
        allowed = lambda case: self.over.admits(case, sides.sizes)
        points = (shrink(point, refutes, allowed), point)
        return certify_first(worst, say, sides, points, self._excess)

    def describe(self) -> str:
        """Return the domain and the budget."""
        where = (
            f"over {self.over}: {self.cases} random cases per size" if self.over.arguments else ""
        )
        proof = f"; proved for {self.proof.text(self.over)}" if self.proof else ""
        return f"identity {where} to {self.tol:g}{proof}".replace("  ", " ")
