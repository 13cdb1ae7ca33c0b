"""|f(x) - f(x')| <= constant |x - x'| for all pairs of points of a domain."""

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.certify import BUDGET, Balls, NotCertifiable, exact, ordered, prove_lipschitz
from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._certificates import OnBox, proved_by_pieces, unproved
from theorykit.checks._everywhere import Everywhere, proved_everywhere
from theorykit.checks._inequality import Inequality
from theorykit.checks._sides import ASKED, Sides, checked_domain
from theorykit.checks.domains import Inputs, Interval, Sizes, call
from theorykit.common.arguments import instance, shown, size
from theorykit.results import Evidence, Outcome

NORMS = (1, 2, float("inf"))

NEAREST = 1e-3
"""How near two points of a pair may come, as a part of the distance of two that are drawn."""

UNASKED = 200
"""Pieces that are looked at where the domain is a box and no proof is asked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lipschitz(Check):
    """`f` has this Lipschitz constant: |f(x) - f(x')| <= constant |x - x'| on a convex domain.

    Pairs are tried as points of an inequality are: structured and random ones, far from each other
    and near, then a gradient attack on the ratio of the two sides. A pair that violates it is
    enclosed in ball arithmetic. It is proved for all values where the inequality of pairs can be
    (`certify.ordered`), or on a box by the norm of the derivative, enclosed piece by piece
    (`certify.prove_lipschitz`): at kinks of |x| or max the hull of the slopes counts, and a function
    that may jump is not proved.

    **Arguments:**

    - `f`: called with the arguments that it names; numbers, arrays or trees of arrays, whose entries
      make one vector.
    - `constant`: a number or `Fraction`, or a function of the sizes that returns one.
    - `over`: the domain (`theorykit.checks.domains.inputs`), without a map or a premise.
    - `norms`: of arguments and of values, each 1, 2 or infinity; one number stands for both.
    - `of`: the argument that moves, or several, whose entries make one vector; all if None. Those
      that do not move are the same at both points.
    - `tol`, `floor`, `cases`, `starts`, `steps`, `batch`: as for `inequality`.
    - `proof`: `on_box(...)`, to prove it on a box; `everywhere(...)`, to name the sizes at which it
      is proved for all values. Without it both are tried, the box if the domain is one.
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
        instance("proof", self.proof, OnBox | Everywhere | None, "what on_box(...) returns")
        if any(norm not in NORMS for norm in self.both_norms):
            raise ClaimError(
                "norms are those of arguments and of values, each 1, 2 or infinity, as in "
                f"norms=(2, float('inf')), not {shown(self.norms)}."
            )
        if self.over.maps or self.over.premises:
            raise ClaimError(
                "a Lipschitz constant is about a convex domain, which one with a map or a premise "
                "need not be; put the map into f, or write the claim as an inequality of pairs."
            )
        for name in self.moving:
            domain = self.over.arguments.get(name)
            if domain is None or not domain.differentiable:
                why = "is not an argument of the domain" if domain is None else f"lies in {domain}"
                raise ClaimError(f"{name} {why}, so that it cannot move; `of` names what does.")

    @property
    def both_norms(self) -> tuple[float, float]:
        """The norms of arguments and of values."""
        given = self.norms if isinstance(self.norms, tuple | list) else (self.norms, self.norms)
        if len(given) != 2 or not all(isinstance(n, int | float) for n in given):
            return (0, 0)
        return given[0], given[1]

    @property
    def moving(self) -> tuple[str, ...]:
        """The arguments that move."""
        if self.of is None:
            return tuple(self.over.arguments)
        return (self.of,) if isinstance(self.of, str) else tuple(self.of)

    def bound(self, sizes: Sizes) -> Any:
        """Return the constant at these sizes.

        **Raises:** `ClaimError` if it is no number that is at least 0.
        """
        found = call(self.constant, {}, sizes, "constant") if callable(self.constant) else None
        found = self.constant if found is None else found
        if isinstance(found, bool) or not isinstance(found, int | float | Fraction | np.number):
            raise ClaimError(f"a Lipschitz constant is a number, not {shown(found)}.")
        if not 0 <= found < float("inf"):
            raise ClaimError(f"a Lipschitz constant is at least 0 and finite, not {shown(found)}.")
        return found

    def test(self, trial: Trial) -> Outcome:
        """Try pairs at the sizes in ascending order, then prove it."""
        if self.proof is not None:
            self.proof.check(self.over)
        found = self.of_pairs(trial, near=True).test(dataclasses.replace(trial, is_control=True)
                if trial.is_control else trial)  # fmt: skip
        return found

    def of_pairs(self, trial: Trial, near: bool) -> Inequality:
        """Return the inequality of pairs; near ones are brought about by a step if asked for."""
        key = ("pairs", self.f, id(self.over), self.both_norms, self.moving, near)
        over, lhs, distance = trial.remember(key, lambda: self._pairs(near))
        return _Pairs(
            lhs=lhs,
            rhs=lambda **point: self._times(point, distance),
            over=over,
            tol=self.tol,
            floor=self.floor,
            cases=self.cases,
            starts=self.starts,
            steps=self.steps,
            batch=self.batch,
        )
