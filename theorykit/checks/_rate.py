"""A measured quantity over a range of sizes against the predicted exponent."""

import dataclasses
import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from theorykit.certify import Growth, NotCertifiable, growth
from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._certificates import sentence
from theorykit.checks._compile import unsteady
from theorykit.checks._expectation import replicate
from theorykit.checks._slopes import enclosed_slopes
from theorykit.checks._targets import (
    Alternative,
    nearest_that_falls,
    predicted,
    refuse_disjoint,
    refuse_same,
)
from theorykit.common import exponents
from theorykit.common.arguments import at_least_0, flag, positive, real, shown, size
from theorykit.results import (
    Certificate,
    Evidence,
    Figure,
    Fit,
    Measurement,
    Number,
    Outcome,
    Scope,
    Verdict,
    Witness,
    of_exponent,
)

LEAST = 1e-3
"""The least relative distance of two sizes."""

CAME = {
    Verdict.holds: "held",
    Verdict.refuted: "was refuted",
    Verdict.inconclusive: "was inconclusive",
}

ROUNDING = 1e-6
"""Slopes in floats that are off by no more than this need no word."""


class FittedExponent(Measurement):
    """An exponent with its interval.

    **Fields:** `predicted`, the range that it should lie in; `points`, what it was fitted to: the
    (n, mean, standard error) of every size.
    """

    kind = "fitted_exponent"
    exponent: Number
    interval: tuple[Number, Number]
    predicted: tuple[Number, Number]
    points: tuple[tuple[Number, Number, Number], ...]

    def words(self) -> str:
        """Return the exponent, its interval, and what is allowed, the tolerance included."""
        low, high = self.interval
        found = f"exponent {self.exponent:.4g} [{low:.4g}, {high:.4g}]"
        least, most = self.predicted
        if math.isinf(least):
            return f"{found}, allowed <= {most:.4g}"
        if math.isinf(most):
            return f"{found}, allowed >= {least:.4g}"
        return f"{found}, allowed [{least:.4g}, {most:.4g}]"

    def figure(self) -> Figure:
        """Return the points with the fitted line."""
        return Fit(points=self.points, exponent=self.exponent, predicted=self.predicted)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rate(Check):
    """`measure(n)` grows like n to the predicted exponent.

    A least-squares line through (log n, log measure), one for every replicate; the mean slope with
    its 99% t-interval over replicates. A measure without a key is deterministic: there is one line,
    and the uncertainty is curvature, not noise, so the interval spans the slopes between
    neighbouring sizes. The claim holds if the interval lies in the predicted band, is refuted if
    the two are disjoint, and is inconclusive otherwise.

    A deterministic measure that is a rational function of n is also run on n itself: its exponent
    is the degree of the numerator less that of the denominator. It decides, whatever the sizes
    show: the claim is proved if the prediction, without the tolerance, has that exponent, and
    refuted if it is outside the band. Any other measure is enclosed in ball arithmetic at the
    sizes, if that can be done, and then the enclosed slopes decide. A refutation by them is
    certified of these sizes, and not of larger ones.

    **Arguments:**

    - `measure`: `measure(key, n)` or `measure(n)`, a positive number; `n` is a Python number.
    - `at`: the sizes.
    - `exponent`, `at_most`, `at_least`, `between`: exactly one of them, the predicted slope.
    - `tolerance`: widens the band on both sides: sizes are finite, exponents asymptotic.
    - `limit`: a predicted limit, subtracted before: |measure - limit| is fitted.
    - `replicates`, `vectorize`, `batch`: as for `expectation`; without a key they have no effect.
    """

    measure: Callable[..., Any]
    at: tuple[float, ...] = (8, 16, 32)
    exponent: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    between: tuple[float, float] | None = None
    tolerance: float = 0.1
    replicates: int = 16
    limit: Any = None
    vectorize: bool = True
    batch: int = 64

    evidence = Evidence.fitted
    controls = Mapping | Alternative | None
    untraced = "vectorize=False"
    functions = ("measure",)
    alternatives = ("exponent", "at_most", "at_least", "between")
    asked = (
        ("tolerance", at_least_0),
        ("replicates", size),
        ("vectorize", flag),
        ("batch", size),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = self.chosen()
        predicted(kind, getattr(self, kind))
        if self.limit is not None:
            real("limit", self.limit)
        try:
            names = list(inspect.signature(self.measure).parameters)
        except (TypeError, ValueError):
            raise ClaimError(
                f"measure is a function of n, or of a key and n, not {shown(self.measure)}."
            ) from None
        if "key" in names[1:2]:
            raise ValueError(f"measure takes (key, n), in this order, not ({', '.join(names)}).")
        sizes = self.at if isinstance(self.at, tuple | list) else ()
        if len({positive("a size of a rate", n) for n in sizes}) < max(3, len(sizes)):
            raise ValueError(
                f"a rate needs at least three different positive sizes, not at={shown(self.at)}."
            )
        ordered = sorted(sizes)
        if any(b < (1 + LEAST) * a for a, b in itertools.pairwise(ordered)):
            raise ValueError(
                f"the sizes of a rate are at least {LEAST:.1%} apart, so that an exponent is more "
                f"than rounding, not at={shown(self.at)}."
            )
        if self._keyed() and self.replicates < 2:
            raise ValueError(f"a rate needs replicates >= 2, not {self.replicates}.")

    def test(self, trial: Trial) -> Outcome:
        """Measure at every size, fit, and compare the interval with the band."""
        columns = []
        for i, n in enumerate(self.at):
            columns.append(self._measured(trial, n))
            trial.progress((i + 1) / len(self.at))
        values = np.stack(columns, axis=1)
        if self._keyed():
            slope, low, high = exponents.replicated(self.at, values)
        else:
            slope, low, high = exponents.exact(self.at, values[0])
        found = self._judged(slope, (low, high), values)
        if trial.is_control:
            return found
        if self._keyed():
            random = "Not certified: the measure is random."
            held = found.verdict is Verdict.holds
            return dataclasses.replace(found, unproved=random) if held else found
        with trial.unheard():
            return self._certain(found, values[0])

    def _certain(self, found: Outcome, values: Float[np.ndarray, " sizes"]) -> Outcome:
        """Return what was fitted, decided by the degree, or else by the enclosed slopes."""
        try:
            return self._by_degree(found, self._growth(values))
        except Exception as error:
            return self._enclosed(found, sentence(error).rstrip("."))

    def _by_degree(self, found: Outcome, made: Growth) -> Outcome:
        """Return the outcome by how the measure grows, whatever the sizes tested show.

        **Raises:** `NotCertifiable` if that is predicted only with the tolerance.
        """
        c, n = made.leading, f"n^{made.degree}"
        assert isinstance(found.measured, FittedExponent)
        degree = made.degree, made.degree
        (low, high), (bottom, top) = self._predicted(), self._band()
        holds = low <= made.degree <= high
        if not holds and bottom <= made.degree <= top:
            raise NotCertifiable(
                f"it grows like {c} {n}, which is predicted only with the tolerance."
            )
        verdict, note, witness = Verdict.holds, found.note, None
        if not holds:
            verdict, edge = Verdict.refuted, bottom if made.degree < bottom else top
            witness = Witness(f"# It grows like {c} {n}.", made.degree, edge)
        if found.verdict is not verdict:
            note = f"It grows like {c} {n}, which the sizes tested do not show. {note}"
        # A prediction moved inward: by the degree it falls, or by the slopes once the degree is not
        # predicted any more.
        reach = max(
            nearest_that_falls(degree, (low, high)),
            nearest_that_falls(found.measured.interval, (bottom, top)),
        )
        reach = min(reach, nearest_that_falls(degree, (bottom, top)))
        beyond = "" if holds else " That is outside the predicted band."
        certificate = Certificate(
            how=f"The measure is a rational function of n; its degree is the exponent.{beyond}",
            where=f"3/5 c {n} <= measure <= 5/3 c {n} for n >= {made.least}, c = {c}",
            scope=Scope.whole,
            steps=(f"the measure is {made.formula}",),
        )
        return dataclasses.replace(
            found,
            verdict=verdict,
            evidence=Evidence.certified,
            note=note,
            witness=witness,
            certificate=certificate,
            resolution=of_exponent(reach),
        )

    def _growth(self, values: Float[np.ndarray, " sizes"]) -> Growth:
        """Return how the measure grows.

        **Raises:** `NotCertifiable` if it is not a rational function of n, is not positive in the
        end, or is another one at the sizes.
        """
        if self.limit is None:
            made = growth(self.measure)
        else:
            made = growth(lambda n: abs(self.measure(n) - Fraction(self.limit)))
        for n, value in zip(self.at, values, strict=True):
            if not math.isclose(float(made.at(n)), value, rel_tol=1e-9):
                raise NotCertifiable(f"for large n it is not the function that it is at n = {n}.")
        if made.leading < 0:
            raise NotCertifiable(f"it grows like {made.leading} n^{made.degree}, below zero.")
        return made

    def _enclosed(self, found: Outcome, why: str) -> Outcome:
        """Return the outcome by the enclosed slopes, or by the floats where there are none.

        **Arguments:** `why`: why the degree does not decide.
        """
        assert isinstance(found.measured, FittedExponent)
        held = found.verdict is Verdict.holds
        try:
            slopes = enclosed_slopes(self.measure, self.at, self.limit)
        except Exception as error:
            open_ = f"Not proved for all n: {why}." if held else "Not certified."
            said = f"{open_} The slopes are not enclosed: {sentence(error).rstrip('.')}."
            return dataclasses.replace(found, unproved=said)
        sure = self._judged(slopes.slope, (slopes.low, slopes.high), slopes.floats()[None])
        low, high = found.measured.interval
        off = max(abs(low - slopes.low), abs(high - slopes.high))
        note = sure.note
        if sure.verdict is not found.verdict or off > ROUNDING:
            fell = f" and the claim {CAME[found.verdict]}," * (sure.verdict is not found.verdict)
            note += (
                f" In floats the slopes came out in [{low:.6g}, {high:.6g}],{fell} by rounding; "
                "the enclosed ones decide."
            )
        where = f"the slopes lie in {slopes}"
        if sure.verdict is not Verdict.refuted:
            said = f"Not proved for all n: {why}. At the sizes tested {where}, in ball arithmetic."
            return dataclasses.replace(sure, note=note, unproved=said)
        what = "the measure" if self.limit is None else f"|measure - {self.limit}|"
        pairs = zip(slopes.digits(), self.at, strict=True)
        certificate = Certificate(
            how="The measure is enclosed at every size, and all slopes between neighbouring sizes "
            "are certain to lie outside the predicted band. It is about these sizes: an exponent "
            "is asymptotic, and larger sizes could have others.",
            where=f"{where} at n = {', '.join(map(str, self.at))}, predicted in "
            "[{:.4g}, {:.4g}]".format(*self._band()),
            bits=slopes.bits,
            scope=Scope.sizes,
            steps=tuple(f"{what} is {value} at n = {n}" for value, n in pairs),
        )
        return dataclasses.replace(
            sure, note=note, evidence=Evidence.certified, certificate=certificate
        )

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Measure at every size, and look for what is certain of it."""
        found = None if self._keyed() else self.test(trial)
        return found if found is not None and found.evidence is Evidence.certified else None

    def _measured(self, trial: Trial, n: float) -> Float[np.ndarray, " replicates"]:
        """Return the replicates at one size."""
        if self._keyed():
            values = replicate(self.measure, trial, self.replicates, self.vectorize, self.batch, n)
        else:
            make = lambda: np.asarray([self.measure(n)], dtype=float)
            values = trial.remember((self.measure, n), make)
            if n == min(self.at) and ("steady", self.measure) not in trial.memory:
                trial.memory["steady", self.measure] = True
                if not np.allclose(make(), values, 1e-9, 0, equal_nan=True):
                    raise ClaimError(
                        unsteady("the measure", f"at n = {n} it gives two values")
                        + " A measure with an argument `key` is given one."
                    )
        if values.ndim != 1:
            raise ClaimError(f"the measure has shape {values.shape[1:]} at n = {n}, not ().")
        if self.limit is not None:
            values = np.abs(values - float(self.limit))
        if not ((values > 0) & np.isfinite(values)).all():
            raise ClaimError(
                f"the measure is {values[~((values > 0) & np.isfinite(values))][0]} at n = {n}; "
                "a rate is fitted to positive finite numbers."
            )
        return values

    def _judged(
        self,
        slope: float,
        interval: tuple[float, float],
        values: Float[np.ndarray, "replicates sizes"],
    ) -> Outcome:
        low, high = interval
        bottom, top = self._band()
        if bottom <= low and high <= top:
            verdict, why = Verdict.holds, ""
        elif high < bottom or low > top:
            verdict, why = Verdict.refuted, ""
        else:
            verdict = Verdict.inconclusive
            more = "more replicates" if self._keyed() else "more or larger sizes"
            why = f" The interval crosses the edge of the band; {more} would narrow it."
        note = (
            f"Exponent {slope:.3f} in [{low:.3f}, {high:.3f}], predicted in "
            f"[{bottom:.3g}, {top:.3g}].{why}"
        )
        stderr = values.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        stderr = np.broadcast_to(stderr, values.shape[1:])
        points = zip(map(float, self.at), values.mean(0).tolist(), stderr.tolist(), strict=True)
        predicted = bottom if slope < bottom else top
        return Outcome(
            verdict,
            self.evidence,
            int(values.size),
            note,
            FittedExponent(
                exponent=slope, interval=interval, predicted=(bottom, top), points=tuple(points)
            ),
            witness=Witness(f"# {note}", slope, predicted) if verdict == "refuted" else None,
            resolution=of_exponent(nearest_that_falls(interval, (bottom, top))),
        )

    def controlled(self) -> Check | None:
        """Return the false neighbour; refuse one that falls whatever is measured."""
        false = super().controlled()
        if isinstance(false, Rate) and not self._keyed():
            refuse_disjoint(self, false, self._band(), false._band(), ("measure", "at", "limit"))
        return false

    def fallen(self, found: Outcome, trial: Trial) -> Outcome | None:
        """Return the outcome of the control, which may be an alternative."""
        measured = found.measured
        if isinstance(self.control, Alternative) and isinstance(measured, FittedExponent):
            return self.control.judged(measured.exponent, measured.interval, self._band())
        fallen = super().fallen(found, trial)
        if fallen is not None and isinstance(fallen.measured, FittedExponent) and not self._keyed():
            refuse_same(self._band(), fallen.measured.predicted, fallen.measured.interval)
        return fallen

    def _band(self) -> tuple[float, float]:
        low, high = self._predicted()
        return low - self.tolerance, high + self.tolerance

    def _predicted(self) -> tuple[float, float]:
        low, high = -math.inf, math.inf
        if self.exponent is not None:
            low = high = self.exponent
        elif self.between is not None:
            low, high = self.between
        elif self.at_most is not None:
            high = self.at_most
        elif self.at_least is not None:
            low = self.at_least
        return low, high

    def _keyed(self) -> bool:
        parameters = inspect.signature(self.measure).parameters.values()
        return sum(p.default is p.empty for p in parameters) > 1

    def describe(self) -> str:
        """Return the sizes and the band."""
        low, high = self._band()
        lines = f"{self.replicates} replicates" if self._keyed() else "deterministic"
        return f"rate: slope at n = {', '.join(map(str, self.at))} in [{low:g}, {high:g}], {lines}"
