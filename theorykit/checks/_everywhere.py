"""Prove both sides equal, or in order, at every point of a domain: tried by default."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from theorykit.certify import MOST_WORK, Letter, NotCertifiable, Work, identical, letters
from theorykit.certify import Everywhere as Found
from theorykit.checks._base import ClaimError
from theorykit.checks._certificates import sentence, settings_of, unproved
from theorykit.checks._inputs import Inputs
from theorykit.checks._kinds import (
    PSD,
    Choices,
    Domain,
    Integers,
    Interval,
    Positive,
    Reals,
    Simplex,
)
from theorykit.checks._shapes import Sizes
from theorykit.checks._sides import Sides
from theorykit.results import Certificate, Evidence, Outcome, Scope

MOST_MEMBERS = 64
"""The most combinations of choices and integers that are tried one by one."""

ASKED = 20
"""How many times more a proof may cost if the claim asks for it."""

MOST_LINES = 200
"""Lines of a proof that are kept with it; repeating the proof gives the rest."""


@dataclasses.dataclass(frozen=True)
class Everywhere:
    """Prove a statement for all values of its arguments. Made by `everywhere`."""

    sizes: Mapping[str, Any]

    def settings(self, over: Inputs) -> list[dict[str, Any]]:
        """Return the sizes to prove it at."""
        unknown = set(self.sizes) - set(over.sizes)
        if unknown:
            raise ClaimError(
                f"everywhere names {', '.join(sorted(unknown))}, which is not a size of the domain."
            )
        return settings_of(over, self.sizes)

    def check(self, over: Inputs) -> None:
        """Raise a `ClaimError` if the sizes do not fit the domain, before anything is searched."""
        self.settings(over)

    def text(self, over: Inputs) -> str:
        """Return where the proof holds."""
        return where(over, self.settings(over))


def everywhere(**sizes: Any) -> Everywhere:
    """Return the proof for all values of the arguments, at these sizes or all.

    It is tried by default; asking for it can limit it to some sizes.
    """
    return Everywhere(sizes)


def where(over: Inputs, settings: list[dict[str, Any]]) -> str:
    """Return what a proof covers, in words."""
    parts = []
    free = [name for name, domain in over.arguments.items() if type(domain) is Reals]
    if free:
        parts.append("all real " + ", ".join(free))
    bound = [f"{k} in {d}" for k, d in over.arguments.items() if type(d) is not Reals]
    parts += [f"all {bound[0]}", *bound[1:]] if bound else []
    at = "; ".join(", ".join(f"{k} = {v}" for k, v in sizes.items()) for sizes in settings)
    return ", ".join([*parts, *([at] if at else [])])


Prove = Callable[..., Found]
"""Takes both sides, the arguments, the totals and the work, as `certify.identical` does."""


def proved_everywhere(
    outcome: Outcome,
    proof: Everywhere | None,
    make: Callable[[Sizes], Sides],
    prove: Prove = identical,
) -> Outcome:
    """Return the outcome of a search, made certain for all values of the arguments where it can be.

    **Arguments:** `proof`: where it is asked for; None to try all sizes, from the smallest on.
    """
    over = make({}).over
    if proof is None and not over.arguments:
        return outcome  # one case, which has been looked at
    settings = proof.settings(over) if proof else over.settings()
    done: list[dict[str, Any]] = []
    lines: list[str] = []
    missing: Exception | None = None
    work = Work(MOST_WORK if proof is None else ASKED * MOST_WORK)  # for all sizes together
    for sizes in settings:
        try:
            found = _at(make(sizes), prove, work)
        except Exception as error:  # whatever fails, the search has found what it has
            missing = error
            break
        at = ", ".join(f"{k} = {v}" for k, v in sizes.items())
        lines += ([f"{at}:"] if at else []) + found
        done.append(sizes)
    if not done:
        assert missing is not None
        return unproved(outcome, missing)
    share = len(done) / len(over.settings())
    whole = Scope.sizes if over.sizes else Scope.whole
    at = where(over, done)
    part = "" if missing is None else f" Not proved beyond that: {sentence(missing).rstrip('.')}."
    return dataclasses.replace(
        outcome,
        evidence=Evidence.certified,
        certificate=Certificate(
            how="Proved for all values of its arguments, in exact rational arithmetic.",
            where=at,
            scope=whole if share == 1 else Scope.part,
            share=None if share == 1 else share,
            steps=tuple(lines[:MOST_LINES]),
        ),
        note=f"Proved for {at}. {outcome.note}".strip(),
        unproved=part.strip(),
    )


def _at(sides: Sides, prove: Prove, work: Work) -> list[str]:
    """Return the proof at one setting of the sizes.

    **Raises:** `NotCertifiable` if there is none.
    """
    wide, points = lettered(sides)
    lines: list[str] = []
    for name, arguments, totals in points:
        found = prove(lambda **point: wide.both(point), arguments, totals, work)
        if not found:
            raise NotCertifiable(f"at {name}, {found.why}" if name else found.why)
        lines += ([f"{name}:"] if name else []) + list(found.lines)
    return lines


def lettered(
    sides: Sides,
) -> tuple[Sides, Iterator[tuple[str, dict[str, np.ndarray], list[list[Letter]]]]]:
    """Return both sides as they are proved for all values, and their arguments as letters.

    The bounds on the entries of a matrix are left out, so that more is shown.

    **Raises:** `NotCertifiable` for sides that JAX cannot trace.
    """
    if not sides.traceable:
        raise NotCertifiable("the sides are not JAX functions.")
    wide = lambda domain: PSD(domain.shape) if type(domain) is PSD else domain
    arguments = {k: wide(d) for k, d in sides.over.arguments.items()}
    over = dataclasses.replace(sides.over, arguments=arguments)
    return dataclasses.replace(sides, over=over), members(sides.over, sides.sizes)


def members(
    over: Inputs, sizes: Sizes
) -> Iterator[tuple[str, dict[str, np.ndarray], list[list[Letter]]]]:
    """Yield the arguments as letters, once for each combination of choices and integers."""
    fixed = {k: list(_members(d, sizes)) for k, d in over.arguments.items() if _finite(d)}
    count = int(np.prod([len(v) for v in fixed.values()]))
    if count > MOST_MEMBERS:
        raise NotCertifiable(f"the domain has {count} combinations of choices and integers.")
    free = {k: _letters(d, sizes) for k, d in over.arguments.items() if k not in fixed}
    simplices = [free[k] for k, d in over.arguments.items() if type(d) is Simplex]
    totals = [list(row) for s in simplices for row in s.reshape(-1, s.shape[-1])]
    for pick in itertools.product(*fixed.values()):
        chosen = dict(zip(fixed, pick, strict=True))
        name = ", ".join(f"{k} = {v.tolist()}" for k, v in chosen.items())
        yield name, {k: (chosen | free)[k] for k in over.arguments}, totals


def _finite(domain: Domain) -> bool:
    return type(domain) in (Choices, Integers)


def _members(domain: Any, sizes: Sizes) -> Iterator[np.ndarray]:
    if type(domain) is Choices:
        yield from (np.asarray(i) for i in range(len(domain.options)))
        return
    shape = domain.latent_shape(sizes)
    count = int(np.prod(shape))
    if (domain.hi - domain.lo + 1) ** count > MOST_MEMBERS:
        raise NotCertifiable("the domain has too many integers to go through.")
    for pick in itertools.product(range(domain.lo, domain.hi + 1), repeat=count):
        yield np.asarray(pick).reshape(shape)


def _letters(domain: Any, sizes: Sizes) -> np.ndarray:
    """Return an argument's parameter as letters: for a psd matrix, a triangular factor."""
    shape = domain.latent_shape(sizes)
    if type(domain) is Reals:
        return letters(shape)
    if type(domain) is Positive:
        return letters(shape, low=Fraction(0), open=True)
    if type(domain) is Interval:
        return letters(shape, low=Fraction(domain.lo), high=Fraction(domain.hi))
    if type(domain) is Simplex:
        return letters(shape, low=Fraction(0))
    if type(domain) is PSD:  # F F' has a triangular factor with a diagonal that is not negative
        n, rank = shape
        made = np.empty((n, n), dtype=object)
        for i, j in np.ndindex(n, n):
            made[i, j] = 0 if j > i or j >= rank else Letter(Fraction(0)) if i == j else Letter()
        return made
    raise NotCertifiable(f"no proof rule covers the domain {domain}.")
