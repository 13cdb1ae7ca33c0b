"""|f(x) - f(x')| <= constant |x - x'| for all pairs of points of a convex domain."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.certify import (
    Balls,
    NotCertifiable,
    as_norms,
    exact,
    lipschitz_everywhere,
    ordered,
    prove_lipschitz,
)
from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._certificates import OnBox, on_box, unproved
from theorykit.checks._everywhere import Everywhere, proved_everywhere
from theorykit.checks._inequality import Inequality
from theorykit.checks._inputs import Inputs, call
from theorykit.checks._kinds import Interval, Positive, Reals
from theorykit.checks._shapes import Sizes
from theorykit.checks._sides import ASKED, Sides, checked_domain
from theorykit.common.arguments import instance, shown, size
from theorykit.results import Certificate, Evidence, Outcome, Scope, Verdict

NEAREST = 1e-3
"""The smallest distance of a pair, as a part of the distance of two points that are drawn."""

UNASKED = 200
"""Pieces that are examined where the domain is a box and no proof is asked for."""

STEP = "step"

CONVEX = (Reals, Positive, Interval)
"""Domains whose arguments are parameters themselves, so that slopes are those of the arguments."""


class _Pairs(Inequality):
    """The inequality of pairs, which is searched here and proved otherwise."""

    def _proved(self, found: Outcome, trial: Trial) -> Outcome:
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lipschitz(Check):
    """`f` has this Lipschitz constant: |f(x) - f(x')| <= constant |x - x'| on a convex domain.

    Pairs are tried as the points of an inequality are: structured and random ones, near and far,
    then a gradient attack on the ratio of the two sides. A pair that violates it is enclosed in
    ball arithmetic. It is proved for all values by the norm of the derivative
    (`certify.lipschitz_everywhere`) or as an inequality of pairs (`certify.ordered`); or on a box
    by the norm of the derivative, enclosed piece by piece (`certify.prove_lipschitz`). At a kink
    of |x| or max all slopes in between count, and a function that may jump has no derivative here.

    **Arguments:**

    - `f`: called with the arguments that it names; numbers, arrays or trees of arrays, whose
      entries make one vector.
    - `constant`: a number or a `Fraction`, or a function of the sizes that returns one.
    - `over`: the domain (`theorykit.checks.domains.inputs`), without a map or a premise.
    - `norms`: of arguments and of values, each 1, 2 or infinity; one number stands for both.
    - `of`: the argument that moves, or several, whose entries make one vector; all if None. Those
      that do not move are the same at both points of a pair.
    - `tol`, `floor`, `cases`, `starts`, `steps`, `batch`: as for `inequality`.
    - `proof`: `on_box(...)`, to prove it on a box; `everywhere(...)`, to name the sizes at which it
      is proved for all values. Without it both are tried, the box where the domain is one.
    """

    f: Callable[..., Any]
    constant: Any
    over: Inputs
    norms: Any = 2
    of: str | tuple[str, ...] | None = None
    tol: float = 1e-9
    floor: float = 1e-10
    cases: int = 64
    starts: int = 64
    steps: int = 200
    batch: int = 64
    proof: OnBox | Everywhere | None = None

    evidence = Evidence.searched
    functions = ("f",)
    asked = (
        *((name, look) for name, look in ASKED if name != "traceable"),
        ("starts", partial(size, least=0)),
        ("steps", partial(size, least=0)),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_domain(self.over)
        kinds = OnBox | Everywhere | None
        instance("proof", self.proof, kinds, "what on_box(...) or everywhere(...) returns")
        if isinstance(self.proof, OnBox) and self.proof.symmetries:
            raise ClaimError("a Lipschitz constant is proved by slopes, without symmetries.")
        try:
            as_norms(self.norms)
        except ValueError as error:
            raise ClaimError(str(error)) from None
        if self.over.maps or self.over.premises:
            raise ClaimError(
                "a Lipschitz constant is about a convex domain, and one with a map or a premise "
                "need not be; put the map into f, or write an inequality of pairs."
            )
        instance("of", self.of, str | tuple | list | None, "the name of an argument, or several")
        for name in self.moving:
            if name not in self.over.arguments:
                raise ClaimError(f"of names {name}, which is not an argument of the domain.")
            domain = self.over.arguments[name]
            if not domain.differentiable:
                raise ClaimError(f"{name} in {domain} cannot move; `of` names what does.")
        if {STEP, *map(_other, self.moving)} & {*self.over.arguments, *self.over.sizes}:
            raise ClaimError(
                f"no argument may be named {STEP}, or like another with _other behind it: these "
                "stand for the second point."
            )

    @property
    def both_norms(self) -> tuple[float, float]:
        """The norms of arguments and of values."""
        return as_norms(self.norms)

    @property
    def moving(self) -> tuple[str, ...]:
        """The arguments that move."""
        if self.of is None:
            return tuple(self.over.arguments)
        return (self.of,) if isinstance(self.of, str) else tuple(self.of)

    def bound(self, sizes: Sizes) -> Any:
        """Return the constant at these sizes.

        **Raises:** `ClaimError` if it is not a number of at least 0.
        """
        found = self.constant
        if callable(found):
            found = call(found, {}, sizes, "constant")
        number = isinstance(found, int | float | Fraction | np.number)
        if not number or isinstance(found, bool) or not 0 <= found < float("inf"):
            raise ClaimError(f"a Lipschitz constant is a number, at least 0, not {shown(found)}.")
        return found

    def test(self, trial: Trial) -> Outcome:
        """Try pairs at the sizes in ascending order, then prove it."""
        if self.proof is not None:
            self.proof.check(self.over)
        for sizes in self.over.settings():
            self.bound(sizes)
        found = self._pairs(trial, near=True).test(trial)
        if found.verdict is not Verdict.holds or trial.is_control:
            return found
        with trial.unheard():
            return self._proved(found, trial)

    def enclosed_at(self, point: Mapping[str, Any], bits: int) -> tuple[Balls, Balls]:
        """Return both sides at a pair."""
        trial = Trial(jax.random.key(0))
        return self._pairs(trial, near=True).enclosed_at(point, bits)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Prove it, without a search."""
        found = self._proved(Outcome(Verdict.holds, self.evidence), trial)
        return found if self.proof or found.evidence is Evidence.certified else None

    def describe(self) -> str:
        """Return the constant, the domain and the budget."""
        search = f", then {self.starts} starts of {self.steps} steps" if self.starts else ""
        proof = f"; proved for {self.proof.text(self.over)}" if self.proof else ""
        of = "" if self.of is None else f" of {', '.join(self.moving)}"
        return (
            f"a Lipschitz constant{of} over {self.over}: {self.cases} random pairs per size"
            f"{search}{proof}"
        )

    # Pairs --------------------------------------------------------------------------------

    def _pairs(self, trial: Trial, near: bool) -> Inequality:
        """Return the inequality of pairs: of all, or with a step from the first to the second.

        With a step, the two points come near to each other. Without one the inequality is only
        proved, and may be squared.
        """
        source, target = self.both_norms
        key = ("pairs", self.f, id(self.over), source, target, self.moving, near)
        over, lhs, distance = trial.remember(key, lambda: self._sides(source, target, near))

        squared = not near and source == target == 2  # without roots it is proved more easily

        def rhs(**point: Any) -> Any:
            sizes = {k: v for k, v in point.items() if k in over.sizes}
            bound = self.bound(sizes)
            bound = exact(bound) if isinstance(bound, Fraction) else bound
            return (bound * bound if squared else bound) * distance(**point)

        rhs = _takes(rhs, over)
        options = {k: getattr(self, k) for k in ("cases", "starts", "steps", "batch")}
        return _Pairs(lhs=lhs, rhs=rhs, over=over, tol=self.tol, floor=self.floor, **options)

    def _sides(self, source: float, target: float, near: bool) -> tuple[Inputs, Any, Any]:
        given = dict(self.over.arguments)
        given |= {_other(name): given[name] for name in self.moving}
        over = Inputs(given | ({STEP: Interval("", NEAREST, 1.0)} if near else {}), self.over.sizes)
        if near:
            over = over.map(partial(_stepped, self.moving, tuple(self.over.sizes)))
        names = tuple(self.over.arguments)
        norm = _norm if near or not source == target == 2 else lambda v, _: (v * v).sum()

        def ends(point: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            here = {name: point[name] for name in names}
            return here, here | {name: point[_other(name)] for name in self.moving}

        def lhs(**point: Any) -> Any:
            sizes = {k: v for k, v in point.items() if k in over.sizes}
            here, there = (call(self.f, end, sizes, "f") for end in ends(point))
            return norm(_row(here) - _row(there), target)

        def distance(**point: Any) -> Any:
            here, there = ends(point)
            return norm(_row([here[k] - there[k] for k in self.moving]), source)

        return over, _takes(lhs, over), distance

    # Proofs -------------------------------------------------------------------------------

    def _proved(self, found: Outcome, trial: Trial) -> Outcome:
        """Return the outcome proved: by slopes, by pairs, or on a box."""
        if isinstance(self.proof, OnBox):
            return self._guarded(found, trial)
        asked = self.proof
        proved = self._by_slopes(found, asked, trial)
        if proved.evidence is Evidence.certified:
            return proved
        make = lambda sizes: self._pairs(trial, near=False).sides(sizes, trial)
        by_pairs = proved_everywhere(found, asked, make, ordered)
        if by_pairs.evidence is Evidence.certified:
            return by_pairs
        box = all(type(d) is Interval for d in self.over.arguments.values())
        if asked or not box:
            return proved
        return self._guarded(found, trial)

    def _by_slopes(self, found: Outcome, asked: Everywhere | None, trial: Trial) -> Outcome:
        """Return the outcome proved for all values by the derivative, where values are real."""
        if any(type(self.over.arguments[k]) not in CONVEX for k in self.moving):
            return unproved(found, NotCertifiable("its argument is made from a parameter"))
        at: dict[str, Any] = {}

        def make(sizes: Sizes) -> Sides:
            at.update(sizes)
            return Sides(self.f, lambda: 0.0, self.over, sizes, 1, True, trial)

        def prove(both: Callable[..., Any], shapes: Any, totals: Any, work: Any) -> Any:
            f = lambda **point: both(**point)[0]
            return lipschitz_everywhere(
                f, shapes, self.bound(at), self.both_norms, self.moving, totals, work
            )

        return proved_everywhere(found, asked, make, prove)

    def _guarded(self, found: Outcome, trial: Trial) -> Outcome:
        try:
            return self._on_box(found, trial)
        except Exception as error:  # whatever fails, the search has found what it has
            return unproved(found, error)

    def _on_box(self, found: Outcome, trial: Trial) -> Outcome:
        """Return the outcome with the derivative's norm enclosed on the box."""
        box = self.proof if isinstance(self.proof, OnBox) else on_box(UNASKED)
        pieces = 0
        for sizes in box.settings(self.over):
            proof = prove_lipschitz(
                partial(self._values, sizes),
                box.box(self.over, sizes),
                self.bound(sizes),
                self.both_norms,
                self.moving,
                box.budget,
                bits=box.bits,
                progress=trial.progress,
            )
            pieces += proof.boxes
            if not proof:
                why = f"for {box.text(self.over)}: {proof}; try a smaller box or a larger budget"
                return dataclasses.replace(found, unproved=f"Not proved {why}.")
        scope, share = box.scope(self.over)
        beyond_it = "; outside it, only searched" if scope is Scope.part else ""
        return dataclasses.replace(
            found,
            evidence=Evidence.certified,
            certificate=Certificate(
                how="Proved on a box: the norm of the derivative is enclosed in ball arithmetic, "
                f"{pieces} piece{'s' * (pieces != 1)}.",
                where=box.text(self.over),
                bits=box.bits,
                scope=scope,
                share=share,
            ),
            note=f"Proved for {box.text(self.over)}{beyond_it}. {found.note}".strip(),
        )

    def _values(self, sizes: Sizes, **parameters: Any) -> Any:
        return call(self.f, self.over.point(parameters, sizes, jnp), sizes, "f")


def _takes(side: Callable[..., Any], over: Inputs) -> Callable[..., Any]:
    """Return a side that says by its signature that it takes all arguments and sizes."""
    names = [*(k for k in over.arguments if k != STEP), *over.sizes]
    kind = inspect.Parameter.KEYWORD_ONLY
    named = [inspect.Parameter(name, kind) for name in names]
    side.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return side


def _other(name: str) -> str:
    return f"{name}_other"


def _stepped(moving: tuple[str, ...], sizes: tuple[str, ...], **point: Any) -> Mapping[str, Any]:
    """Return a pair with its second point moved towards the first."""
    made = {k: v for k, v in point.items() if k != STEP and k not in sizes}
    step = point[STEP]
    return made | {_other(k): point[k] + step * (point[_other(k)] - point[k]) for k in moving}


def _row(tree: Any) -> jax.Array:
    return jnp.concatenate([jnp.ravel(jnp.asarray(x)) for x in jax.tree.leaves(tree)])


def _norm(v: jax.Array, norm: float) -> jax.Array:
    if norm == 2:
        return jnp.sqrt((v * v).sum())
    return jnp.abs(v).sum() if norm == 1 else jnp.abs(v).max()
