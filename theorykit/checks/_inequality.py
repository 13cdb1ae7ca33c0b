"""lhs <= rhs on a domain: cases, then a gradient attack on the ratio of the two sides."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from theorykit.certify import Balls, float_above, float_below, ordered
from theorykit.checks._attack import attack
from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._certificates import (
    OnBox,
    certify_first,
    enclosed_at,
    fallen_control,
    proved_on_box,
)
from theorykit.checks._everywhere import Everywhere, proved_everywhere
from theorykit.checks._inputs import Case, Inputs
from theorykit.checks._literals import at_literals
from theorykit.checks._nearness import Nearness
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
from theorykit.common.arguments import instance, size
from theorykit.common.errors import explain
from theorykit.results import (
    Evidence,
    Figure,
    Measurement,
    Number,
    Outcome,
    Tightness,
    Verdict,
)

MOST_NUMBERS = 400
"""A tightest point of more numbers than this is not kept; a witness always is."""


class LargestRatio(Measurement):
    """The largest lhs / rhs that was seen where rhs > 0, and its place."""

    kind = "largest_ratio"
    ratio: Number

    def words(self) -> str:
        """Return the ratio."""
        return f"max lhs/rhs {self.ratio:.4g}"

    def figure(self) -> Figure:
        """Return how near the bound it comes."""
        return Tightness(ratio=self.ratio)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inequality(Check):
    """`lhs(...) <= rhs(...)` for every point of a domain, entry by entry.

    Structured and random cases come first, then Adam from many starts, half of them the worst
    cases, and last points at the numbers that the two sides name, for what fails on thin sets. Adam
    maximises the relative gap (lhs - rhs) / (|lhs| + |rhs|), which grows with lhs / rhs and makes
    sense for any sign of rhs. Sizes are taken from the smallest up, and the witness comes from the
    first that fails.

    **Arguments:**

    - `lhs`, `rhs`: called with the arguments that they name; numbers, arrays or trees of arrays.
      Arrays with equally many axes are broadcast against each other, and numbers against all.
    - `over`: the domain (`theorykit.checks.domains.inputs`).
    - `tol`, `floor`: lhs > rhs counts once lhs - rhs exceeds tol (|lhs| + |rhs|) + floor.
      `floor` stands for the rounding of intermediate quantities of size one; entries where both
      sides are below 1000 floor say nothing about the ratio.
    - `cases`: how many random cases at each size, beside the structured ones.
    - `starts`, `steps`: the attack's budget at each size; `starts=0` leaves it out.
    - `batch`: how many cases are evaluated at once; smaller takes less memory.
    - `traceable`: False for sides that JAX cannot trace; there is no attack then.
    - `proof`: `everywhere(...)`, to say at which sizes it is proved for all values of the
      arguments, once the search has failed to break it; without it all sizes are tried.
      `on_box(...)`, to prove it on a box where that fails.

    A witness is enclosed in ball arithmetic, and its refutation graded `certified` if the violation
    is certain, tolerance included. The ratio that is reported is the largest lhs / rhs seen where
    rhs > 0.

    **Example:**

    ```python
    import jax.numpy as jnp
    import theorykit
    from theorykit.checks import inequality
    from theorykit.domains import inputs, reals


    @theorykit.claim("mine.norms", ref="Lemma 1", statement="|x|_1 <= n |x|_2")
    def norms():
        "The 1-norm is at most n times the 2-norm."
        return inequality(
            lhs=lambda x: jnp.abs(x).sum(),
            rhs=lambda x, n: n * jnp.linalg.norm(x),
            over=inputs(x=reals("n"), n=(2, 4)),
            control=dict(rhs=lambda x: jnp.linalg.norm(x)),
        )


    print(*theorykit.verify([norms]))
    # mine.norms holds (certified): proved at the tested sizes: all real x, n = 2; n = 4
    ```
    """

    lhs: Side
    rhs: Side
    over: Inputs = NOTHING
    tol: float = 1e-9
    floor: float = 1e-12
    cases: int = 64
    starts: int = 64
    steps: int = 200
    batch: int = 64
    traceable: bool = True
    proof: OnBox | Everywhere | None = None

    evidence = Evidence.searched
    untraced = "traceable=False"
    functions = ("lhs", "rhs")
    asked = (*ASKED, ("starts", partial(size, least=0)), ("steps", partial(size, least=0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_domain(self.over)
        kinds = OnBox | Everywhere | None
        instance("proof", self.proof, kinds, "what on_box(...) or everywhere(...) returns")

    def test(self, trial: Trial) -> Outcome:
        """Try the sizes in ascending order."""
        attacked = bool(self.traceable and self.starts and self.over.differentiable)
        grade = Evidence.searched if attacked else Evidence.sampled
        if self.proof is not None:
            self.proof.check(self.over)
        seen = _Tightest(self.floor)
        tried = informative = 0
        unattacked = ""
        settings = self.over.settings()
        for number, sizes in enumerate(settings):
            sides = self.sides(sizes, trial)
            rng = trial.rng(number)
            latents = self.over.cases(rng, sizes, self.cases)
            points = self.over.meet([self.over.squash(z, np) for z in latents], sizes)
            if not points:
                continue
            margin, _ = self._measure(sides, points, seen)
            if attacked and not (trial.is_control and self._violates(margin).any()):
                randoms = [self.over.random(rng, sizes) for _ in range(self.starts)]
                starts = _mix(latents, margin, randoms, self.starts)
                try:
                    with trial.unheard():
                        ends = attack(sides, starts, self.steps, self.floor)
                except Exception as error:  # of a primitive without a derivative, say
                    attacked, grade = False, Evidence.sampled
                    unattacked = f"Cases only, without a gradient attack: {explain(error)}."
                    ends = []
                found = self.over.meet([self.over.squash(z, np) for z in ends], sizes)
                if found:
                    more, _ = self._measure(sides, found, seen)
                    points, margin = points + found, np.concatenate([margin, more])
            if self.traceable and not self._violates(margin).any():
                thin, beyond = self._thin(sides, points)
                points, margin = points + thin, np.concatenate([margin, beyond])
            tried += len(points)
            informative += int(np.isfinite(margin).sum())
            if self._violates(margin).any():
                worst = int(np.argmax(margin))
                return self._refuted(sides, points[worst], margin[worst], grade, tried, seen)
            trial.progress((number + 1) / len(settings))
        if not tried:
            raise ClaimError(NOWHERE)
        if not informative:
            return Outcome(
                Verdict.inconclusive,
                grade,
                tried,
                note=(
                    "Both sides overflow or vanish at every point tried; if they are meant to "
                    "be tiny, choose a smaller floor."
                ),
            )
        resolution = seen.nearness.resolution()
        held = Outcome(
            Verdict.holds, grade, tried, unattacked, seen.measured(), resolution=resolution
        )
        return held if trial.is_control else self._proved(held, trial)

    def _thin(
        self, sides: Sides, points: Sequence[Case]
    ) -> tuple[list[Case], Float[np.ndarray, " cases"]]:
        """Return points at numbers of the program that violate it, and their margins."""
        try:
            tried = at_literals(sides, [points[0], points[-1]])
            margin = self._measure_quietly(sides, tried, _Tightest(self.floor))
        except Exception:  # it cannot be evaluated there: nothing is found
            return [], np.empty(0)
        bad = self._violates(margin)
        return [p for p, is_bad in zip(tried, bad, strict=True) if is_bad], margin[bad]

    def enclosed_at(self, point: Mapping[str, Any], bits: int) -> tuple[Balls, Balls]:
        """Return both sides at a point, entry by entry."""
        return enclosed_at(self, point, bits)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Prove it for all values or on its box, without a search."""
        found = self._proved(Outcome(Verdict.holds, self.evidence), trial)
        return found if self.proof or found.evidence is Evidence.certified else None

    def _proved(self, found: Outcome, trial: Trial) -> Outcome:
        make = lambda s: self.sides(s, trial)
        asked = self.proof if isinstance(self.proof, Everywhere) else None
        with trial.unheard():
            proved = proved_everywhere(found, asked, make, ordered)
            if proved.evidence is not Evidence.certified and isinstance(self.proof, OnBox):
                return proved_on_box(found, self.proof, make, self._excess)
        return proved

    def sides(self, sizes: Sizes, trial: Trial) -> Sides:
        """Return both sides at these sizes."""
        return Sides(self.lhs, self.rhs, self.over, sizes, self.batch, self.traceable, trial)

    def _excess(
        self, left: Balls, right: Balls
    ) -> tuple[Float[np.ndarray, " entries"], Float[np.ndarray, " entries"]]:
        """Return by how much the balls violate the inequality beyond tolerance: bounds."""
        pairs = zip(left.array, right.array, strict=True)
        beyond = [a - b - self.tol * (abs(a) + abs(b)) - self.floor for a, b in pairs]
        return (
            np.array([float_below(x) for x in beyond]),
            np.array([float_above(x) for x in beyond]),
        )

    def _measure(
        self, sides: Sides, points: Sequence[Case], seen: "_Tightest"
    ) -> tuple[Float[np.ndarray, " cases"], Int[np.ndarray, " cases"]]:
        """Return each point's worst relative gap beyond tolerance (> 0 violates) and its entry."""
        left, right = sides.evaluate(points)
        sides.refuse_nan(points, left, right)
        with np.errstate(all="ignore"):
            size = np.abs(left) + np.abs(right)
            gap = np.where(size > 0, (left - right) / size, 0.0)
            # A difference within rounding is not a violation, however large the quotient.
            gap = np.where(left - right <= self.tol * size + self.floor, np.minimum(gap, 0), gap)
            gap = np.where(np.isinf(left) ^ np.isinf(right), np.sign(left - right), gap)
            # Where both overflow, or both are rounding, nothing was learned.
            silent = (np.isinf(left) & np.isinf(right)) | (size <= self.floor)
            gap = np.where(silent, -np.inf, gap)
            ratio = left / right
            counts = (right > 0) & (np.maximum(np.abs(left), right) > 1e3 * self.floor)
            ratio = np.where(counts & np.isfinite(ratio) & np.isfinite(right), ratio, -np.inf)
        seen.offer(sides, points, ratio)
        seen.nearness.see(left, right)
        entry = np.argmax(gap, axis=1)
        return gap[np.arange(len(gap)), entry], entry

    @staticmethod
    def _violates(margin: Float[np.ndarray, " cases"]) -> Bool[np.ndarray, " cases"]:
        return margin > 0

    def _refuted(
        self,
        sides: Sides,
        point: Case,
        margin: float,
        grade: Evidence,
        tried: int,
        seen: "_Tightest",
    ) -> Outcome:
        def say(point: Case, entry: int) -> Outcome:
            witness = sides.witness(point, entry)
            assert witness.lhs is not None
            assert witness.rhs is not None
            lhs, rhs = float(witness.lhs), float(witness.rhs)
            # Where both sides are tiny the search counts no ratio, but a violation has one.
            if rhs > 0 and np.isfinite(ratio := lhs / rhs):
                own = np.pad([[ratio]], [(0, 0), (entry, 0)], constant_values=-np.inf)
                seen.offer(sides, [point], own)
            note = "lhs = {} > rhs = {}.".format(*told_apart(lhs, rhs))
            return Outcome(Verdict.refuted, grade, tried, note, seen.measured(), witness)

        def worst(point: Case) -> int | None:
            violated = self._violates(self._measure_quietly(sides, [point], _Tightest(self.floor)))[
                0
            ]
            if not violated or not self.over.admits(point, sides.sizes):
                return None
            return int(self._measure(sides, [point], _Tightest(self.floor))[1][0])

        if sides.trial.is_control:
            _, entry = self._measure(sides, [point], _Tightest(self.floor))
            return fallen_control(say, sides, point, int(entry[0]), self._excess)
        # A hundredth of the gap must survive, or shrinking would end at a near-equality.
        refutes = lambda cs: self._measure_quietly(sides, cs, _Tightest(self.floor)) > margin / 100
        # A simple point may be one where only floats violate it.
        allowed = lambda case: self.over.admits(case, sides.sizes)
        points = (shrink(point, refutes, allowed), point)
        return certify_first(worst, say, sides, points, self._excess)

    def _measure_quietly(
        self, sides: Sides, points: Sequence[Case], seen: "_Tightest"
    ) -> Float[np.ndarray, " cases"]:
        """Return the gaps, a NaN being no violation: shrinking may step on one."""
        left, right = sides.evaluate(points)
        fine = ~(np.isnan(left) | np.isnan(right)).any(axis=1)
        gaps = np.full(len(points), -np.inf)
        if fine.any():
            kept = [p for p, ok in zip(points, fine, strict=True) if ok]
            gaps[fine] = self._measure(sides, kept, seen)[0]
        return gaps

    def describe(self) -> str:
        """Return the domain and the budget."""
        search = f", then {self.starts} starts of {self.steps} steps" if self.starts else ""
        proof = f"; proved for {self.proof.text(self.over)}" if self.proof else ""
        return f"inequality over {self.over}: {self.cases} random cases per size{search}{proof}"


class _Tightest:
    """The largest ratio seen, and where; a tie stays with the smaller size.

    **Fields:** `nearness`: how near the sides came to each other, whatever their signs.
    """

    def __init__(self, floor: float) -> None:
        self.nearness = Nearness(floor)
        self._ratio = -np.inf
        self._where: tuple[Sides, Case, int] | None = None

    def offer(
        self, sides: Sides, points: Sequence[Case], ratio: Float[np.ndarray, "cases entries"]
    ) -> None:
        worst, entry = divmod(int(np.argmax(ratio)), ratio.shape[1])
        value = float(ratio[worst, entry])
        if not np.isfinite(value):
            return
        if self._where is None or value > self._ratio + 1e-6 * abs(self._ratio):
            self._ratio, self._where = value, (sides, points[worst], entry)

    def measured(self) -> LargestRatio | None:
        if self._where is None:
            return None
        sides, point, entry = self._where
        where = sides.witness(point, entry, most=MOST_NUMBERS)
        return LargestRatio(ratio=self._ratio, places={"Tightest where": where})


def _mix(
    latents: Sequence[Case],
    margin: Float[np.ndarray, " cases"],
    randoms: Sequence[Case],
    count: int,
) -> list[Case]:
    """Return the attack's starts: the worst cases, then random ones."""
    worst = [latents[i] for i in np.argsort(-margin, kind="stable")[: (count + 1) // 2]]
    return [*worst, *randoms[: count - len(worst)]]
