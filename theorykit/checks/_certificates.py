"""From a float to a proof: enclose a witness, prove a claim on a box."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from theorykit.certify import (
    BUDGET,
    Balls,
    NotCertifiable,
    Proof,
    Symmetry,
    as_bits,
    as_symmetries,
    ball,
    enclose,
    number_array,
    objects,
    prove,
    shown,
)
from theorykit.checks._base import ClaimError, Trial
from theorykit.checks._compile import unsteady
from theorykit.checks._inputs import Case, Inputs
from theorykit.checks._kinds import Domain, Interval, Reals
from theorykit.checks._shapes import Sizes
from theorykit.checks._sides import Sides
from theorykit.common.arguments import size
from theorykit.common.errors import explain
from theorykit.common.spelling import nearest
from theorykit.results import Certificate, Evidence, Outcome, Scope, Verdict

PRECISIONS = (64, 128, 256, 512, 1024)

PLAIN = 1e-6
"""A violation of this size is taken from floats where only a control asks."""

Excess = Callable[
    [Balls, Balls], tuple[Float[np.ndarray, " entries"], Float[np.ndarray, " entries"]]
]
"""How far two enclosed sides violate the claim, entry by entry: a lower and an upper bound."""


def enclosed(sides: Sides, parameters: Case, bits: int) -> tuple[Balls, Balls]:
    """Return both sides at a point, an entry each, as balls.

    **Raises:** `NotCertifiable`.
    """
    if not sides.traceable:
        raise NotCertifiable("the sides are not JAX functions, so they cannot be enclosed.")
    left, right = enclose(sides.both, parameters, bits=bits)
    return _balls(left), _balls(right)


def enclosed_at(check: Any, point: Mapping[str, Any], bits: int) -> tuple[Balls, Balls]:
    """Return both sides of an identity or inequality at a point: its sizes and parameters by name.

    **Raises:** `ValueError` for a point that does not fit; `NotCertifiable`.
    """
    import jax

    wanted = [*check.over.sizes, *check.over.arguments]
    if set(point) != set(wanted):
        strange = [name for name in point if name not in wanted]
        meant = nearest(strange[0], wanted) if strange else ""
        raise ValueError(
            f"the point needs {', '.join(wanted)}, not {', '.join(point) or 'nothing'}.{meant}"
        )
    sizes = {name: point[name] for name in check.over.sizes}
    given = {}
    for name, domain in check.over.arguments.items():
        value = np.asarray(point[name])
        shape = domain.latent_shape(sizes)
        if value.shape != shape:
            raise ValueError(f"{name} needs the shape {shape}, not {value.shape}.")
        given[name] = value.astype(float) if domain.differentiable else value
    trial = Trial(jax.random.key(0))  # enclosing draws nothing
    return enclosed(check.sides(sizes, trial), given, bits)


Say = Callable[[Case, int], Outcome]
"""The refutation at a point, as one entry of both sides shows it."""


def certify_witness(say: Say, sides: Sides, point: Case, entry: int, excess: Excess) -> Outcome:
    """Return the refutation graded `certified` if its violation is certain at some precision.

    It is about this entry, or about another if only that one is certain. If it is certain that
    there is no violation, or none of a thousandth of what floats show, the floats only showed
    rounding, and the outcome is `inconclusive`.
    """
    outcome = say(point, entry)
    why, rounding = "", False
    for bits in PRECISIONS:
        try:
            left, right = enclosed(sides, point, bits)
            least, most = excess(left, right)
        except Exception as error:  # the floats have refuted it, whatever fails here
            why = sentence(error)
            continue
        if least.max(initial=0.0) > 0:
            if not least[entry] > 0:
                entry = int(np.argmax(least))
                outcome = say(point, entry)
            which = f", entry={entry + 1}" if len(least) > 1 else ""
            certificate = Certificate(
                how="Both sides are enclosed at the witness, and the violation is certain. "
                f"{sides.over.parameters()}".rstrip(),
                where=written(point, sides.sizes),
                bits=bits,
                lhs=shown(left.array[entry]),
                rhs=shown(right.array[entry]),
                call=f"dict({written(point, sides.sizes)}), bits={bits}{which}",
            )
            return dataclasses.replace(
                outcome, evidence=Evidence.certified, certificate=certificate
            )
        why = "the enclosures of the two sides overlap"
        rounding = most.max(initial=-np.inf) <= 1e-3 * _gap(outcome)
        if most.max(initial=-np.inf) <= 0:
            break
    if rounding:
        return dataclasses.replace(
            outcome,
            verdict=Verdict.inconclusive,
            witness=None,
            note=f"In float64 {outcome.note.rstrip('.')} at {written(point, sides.sizes)}, but "
            "ball arithmetic finds no such violation there: cancellation in float64. Set "
            "`floor` to the size of the terms that cancel, or write the sides so that less "
            "cancels.",
        )
    return dataclasses.replace(outcome, note=f"{outcome.note} Not certified: {why.rstrip('.')}.")


def _gap(outcome: Outcome) -> float:
    """Return how far apart the sides are in floats at the witness; infinity is none."""
    witness = outcome.witness
    assert witness is not None
    assert witness.lhs is not None
    assert witness.rhs is not None
    gap = abs(witness.lhs - witness.rhs)
    return gap if np.isfinite(gap) else 0.0


def certify_first(
    worst: Callable[[Case], int | None],
    say: Say,
    sides: Sides,
    points: Sequence[Case],
    excess: Excess,
) -> Outcome:
    """Return the refutation at the first point where it stands, else the outcome at the first.

    **Arguments:** `worst`: evaluates a point again and returns the entry that is violated most,
    None if none is.

    **Raises:** `ClaimError` if no point violates the claim when it is evaluated again.
    """
    seen: list[Outcome] = []
    for point in map(as_printed, points):
        entry = worst(point)
        if entry is None:
            continue
        seen.append(certify_witness(say, sides, point, entry, excess))
        if seen[-1].verdict is Verdict.refuted:
            return seen[-1]
    if not seen:
        where = written(as_printed(points[-1]), sides.sizes)
        how = f"the claim failed at {where}, but not when that point was evaluated again"
        raise ClaimError(unsteady("a side", how))
    return seen[0]


def fallen_control(say: Say, sides: Sides, point: Case, entry: int, excess: Excess) -> Outcome:
    """Return a control's refutation, enclosed where the sides are too near to trust floats."""
    outcome = say(point, entry)
    if _gap(outcome) > PLAIN:
        return outcome
    return certify_witness(say, sides, point, entry, excess)


def as_printed(point: Case) -> Case:
    """Return the point that is printed: without the sign of zero, which no real number has."""
    return {name: np.asarray(value) + 0 for name, value in point.items()}


def sentence(error: Exception) -> str:
    """Return why there is no certificate or proof."""
    said = " ".join(str(error).split()) or "no message"
    return said if isinstance(error, NotCertifiable | ClaimError) else explain(error)


def unproved(outcome: Outcome, error: Exception) -> Outcome:
    """Return what was found before a proof failed, with the reason."""
    return dataclasses.replace(outcome, unproved=f"Not proved: {sentence(error).rstrip('.')}.")


def written(point: Case, sizes: Sizes) -> str:
    """Return a point as keyword arguments: sizes, then exact floats."""
    values = {k: (np.asarray(v) + 0).tolist() for k, v in point.items()}  # no -0.0
    return ", ".join(f"{k}={v!r}" for k, v in {**sizes, **values}.items())


def _balls(side: Any) -> Balls:
    if isinstance(side, Balls):
        return side
    return Balls(objects([ball(v) for v in np.asarray(side).ravel()], np.shape(side)))


# Proofs ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class OnBox:
    """Prove the inequality on a box, at every setting of the sizes that fits.

    Made by `on_box`.
    """

    where: Mapping[str, Any]
    budget: int = BUDGET
    bits: int = 64
    symmetries: tuple[Symmetry, ...] = ()

    def __post_init__(self) -> None:
        size("budget", self.budget)
        as_bits(self.bits)

    @property
    def scaled(self) -> set[str]:
        """The arguments that may be scaled, so that the proof is for all of their values."""
        return {name for s in self.symmetries if s.kind == "scale" for name in s.names}

    def settings(self, over: Inputs) -> list[dict[str, Any]]:
        """Return the sizes to prove it at."""
        fixed = {k: v for k, v in self.where.items() if k not in over.arguments}
        unknown = set(fixed) - set(over.sizes)
        if unknown:
            raise ClaimError(
                f"on_box names {', '.join(sorted(unknown))}, which the domain does not have."
            )
        return settings_of(over, fixed)

    def box(self, over: Inputs, sizes: Sizes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return an interval for each argument: as given, or the whole of an interval's domain."""
        box = {}
        for name, domain in over.arguments.items():
            shape = domain.latent_shape(sizes)
            if name in self.scaled:
                if type(domain) is not Reals or name in self.where:
                    raise ClaimError(
                        f"{name} may be scaled, so it is any real number, and on_box takes no "
                        f"interval for it; here it is {domain}."
                    )
                box[name] = (np.full(shape, -np.inf), np.full(shape, np.inf))
                continue
            if name in self.where:
                try:
                    low, high = self.where[name]
                except (TypeError, ValueError):
                    raise ClaimError(
                        f"on_box needs a lower and an upper end for {name}, as in {name}=(-1, 1), "
                        f"not {self.where[name]!r}."
                    ) from None
            elif isinstance(domain, Interval):
                low, high = domain.lo, domain.hi
            else:
                raise ClaimError(f"on_box needs an interval for {name}, as in {name}=(-1, 1).")
            box[name] = (_end(name, low, shape), _end(name, high, shape))
        return box

    def check(self, over: Inputs) -> None:
        """Raise a `ClaimError` if the box does not fit the domain, before anything is searched."""
        for symmetry in self.symmetries:
            for name in set(symmetry.names) - set(over.arguments):
                raise ClaimError(f"{symmetry} names {name}, which the domain does not have.")
        for sizes in self.settings(over):
            for name, (low, high) in self.box(over, sizes).items():
                pairs = list(zip(low.flat, high.flat, strict=True))
                if any(a > b for a, b in pairs):
                    raise ClaimError(f"on_box is empty: {name} has its upper end first.")
                narrow = [a for a, b in pairs if not a < b]  # of balls: not for certain
                if narrow:
                    raise ClaimError(
                        f"on_box has no width: {name} is {float(narrow[0]):g} at both ends of an "
                        "interval, and a proof at points says nothing about those in between; "
                        "give an "
                        "interval, or fix it in the statement."
                    )
                if _covered(over.arguments[name], low, high) == 0 and low.size:
                    raise ClaimError(
                        f"on_box lies outside the domain: {name} in {_product(low, high)} has "
                        f"no part in common with {over.arguments[name]}, so a proof there says "
                        "nothing about the claim."
                    )

    def scope(self, over: Inputs) -> tuple[Scope, float | None]:
        """Return how much of the domain the boxes cover, and as what share of it if that is known.

        Every size has the same weight, and a box counts by its volume within an interval's domain.
        """
        settings = self.settings(over)
        shares: list[float | None] = []
        for sizes in settings:
            ends = self.box(over, sizes)
            parts = [_covered(over.arguments[name], *box) for name, box in ends.items()]
            known = [p for p in parts if p is not None]
            shares.append(float(np.prod(known)) if len(known) == len(parts) else None)
        return _scope(over, len(settings), shares)

    def prove(self, sides: Sides, progress: Callable[[float], None]) -> Proof:
        """Prove lhs <= rhs at one setting."""
        return prove(
            lambda **point: sides.both(point),
            self.box(sides.over, sides.sizes),
            self.budget,
            bits=self.bits,
            symmetries=self.symmetries,
            progress=progress,
        )

    def text(self, over: Inputs) -> str:
        """Return where the proof holds."""
        parts = []
        for sizes in self.settings(over):
            ends = [
                f"all {name}" if name in self.scaled else f"{name} in {_product(*box)}"
                for name, box in self.box(over, sizes).items()
            ]
            parts.append(", ".join([*(f"{k} = {v}" for k, v in sizes.items()), *ends]))
        return "; ".join(parts)


def _covered(domain: Domain, low: np.ndarray, high: np.ndarray) -> float | None:
    """Return which share of a domain a box covers, None if that has no volume; 1 is all of it."""
    if type(domain) is Reals and np.isneginf(low.astype(float)).all():
        return 1.0
    if not isinstance(domain, Interval):
        return None
    pairs = list(zip(low.flat, high.flat, strict=True))
    if all(a <= domain.lo and domain.hi <= b for a, b in pairs):
        return 1.0
    within = [
        max(0.0, min(float(b), domain.hi) - max(float(a), domain.lo)) / (domain.hi - domain.lo)
        for a, b in pairs
    ]
    return min(float(np.prod(within)), np.nextafter(1.0, 0.0))


def _scope(over: Inputs, count: int, shares: Sequence[float | None]) -> tuple[Scope, float | None]:
    """Return the scope of a proof at so many settings, each of which covers this share."""
    known = [s for s in shares if s is not None]
    if len(known) < len(shares):
        return Scope.part, None
    share = sum(known) / len(over.settings())
    if share < 1 or over.premises:
        return Scope.part, share
    return (Scope.sizes if over.sizes else Scope.whole), None


def _end(name: str, end: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return one end of an interval for every entry of an argument."""
    try:
        given = number_array(end)
    except (TypeError, ValueError) as error:
        raise ClaimError(f"on_box cannot read the interval of {name}: {error}") from None
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ClaimError(
            f"on_box gives {name} an end of the shape {given.shape}, but {name} has the shape "
            f"{shape}: give a number, or an array of that shape."
        ) from None


def _product(low: np.ndarray, high: np.ndarray) -> str:
    """Return a box as a power of one interval if it is one, else interval by interval."""
    pairs = zip(low.flat, high.flat, strict=True)
    intervals = [_interval(float(a), float(b)) for a, b in pairs]
    if len(set(intervals)) > 1:
        return " x ".join(intervals)
    power = "^" + " x ".join(map(str, low.shape)) if low.shape else ""
    return "".join(intervals[:1]) + power


def _interval(low: float, high: float) -> str:
    """Return an interval with as many digits as its ends need to be told apart."""
    short = f"{low:g}", f"{high:g}"
    return "[{}, {}]".format(*(short if len(set(short)) > 1 else (repr(low), repr(high))))


def on_box(
    budget: int = BUDGET, bits: int = 64, symmetries: Sequence[Symmetry] = (), **where: Any
) -> OnBox:
    """Return the proof by branch and bound on a box: `on_box(T=2, S=(-1, 1))`.

    **Arguments:** `where`: an interval for each argument (not needed where the domain is one),
    values of the sizes (all if a size is not named); `budget`: the number of pieces to examine at
    each setting; `symmetries`: `shift`, `scale` and `permutation` of arguments, which leave the
    claim as it is, are proved first, and reduce what has to be looked at. An argument that may be
    scaled needs no interval: it is any real number. A domain that is made from a parameter, as
    `psd` is from a factor, is cut up in the parameter.
    """
    try:
        return OnBox(where, budget, bits, as_symmetries(symmetries))
    except ValueError as error:
        raise ClaimError(str(error)) from None


def settings_of(over: Inputs, fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of the sizes that fit these values.

    **Raises:** `ClaimError` if there is none.
    """
    fits = lambda s: all(
        s[k] == v or (isinstance(v, tuple) and s[k] in v) for k, v in fixed.items()
    )
    try:
        found = [s for s in over.settings() if fits(s)]
    except KeyError as error:
        raise ClaimError(
            f"a proof names the size {error}, which the domain does not have."
        ) from None
    if not found:
        wanted = ", ".join(f"{k}={v}" for k, v in fixed.items())
        raise ClaimError(f"a proof asks for {wanted}, which is not among the domain's sizes.")
    return found


def proved_on_box(
    outcome: Outcome, proof: OnBox, make: Callable[[Sizes], Sides], excess: Excess
) -> Outcome:
    """Return the outcome of a search: proved or refuted on a box, or as it was."""
    try:
        return _proved_on_box(outcome, proof, make, excess)
    except Exception as error:
        return unproved(outcome, error)


def _proved_on_box(
    outcome: Outcome, proof: OnBox, make: Callable[[Sizes], Sides], excess: Excess
) -> Outcome:
    over = make(proof.settings(make({}).over)[0]).over
    pieces = 0
    for sizes in proof.settings(over):
        sides = make(sizes)
        found = proof.prove(sides, sides.trial.progress)
        pieces += found.boxes
        if found.point is not None and found.lhs is not None and found.rhs is not None:
            beyond, _ = excess(found.lhs, found.rhs)
            point = {k: np.asarray(v, dtype=float) for k, v in found.point.items()}
            if not over.admits(point, sizes):
                where = "its premise" if over.contains(point) else "its domain"
                why = f"Not proved: at {written(point, sizes)}, outside {where}, it fails."
                return dataclasses.replace(outcome, unproved=why)
            if not beyond.max(initial=0.0) > 0:
                why = f"Not proved: at {written(point, sizes)} it fails by less than the tolerance."
                return dataclasses.replace(outcome, unproved=why)

            def say(point: Case, entry: int, sides: Sides = sides) -> Outcome:
                return dataclasses.replace(
                    outcome,
                    verdict=Verdict.refuted,
                    witness=sides.witness(point, entry),
                    note="Found while proving it on a box.",
                )

            return certify_witness(say, sides, point, int(np.argmax(beyond)), excess)
        if found.status != "proved":
            why = (
                f"Not proved for {proof.text(over)}: {found}; try a smaller box or a larger budget."
            )
            return dataclasses.replace(outcome, unproved=why)
    scope, share = proof.scope(over)
    by = "".join(f", {s}" for s in proof.symmetries)
    beyond_it = "; outside it, only searched" if scope is Scope.part else ""
    return dataclasses.replace(
        outcome,
        evidence=Evidence.certified,
        certificate=Certificate(
            how=f"Proved on a box by branch and bound in ball arithmetic, {pieces} pieces{by}.",
            where=proof.text(over),
            bits=proof.bits,
            scope=scope,
            share=share,
        ),
        note=f"Proved for {proof.text(over)}{beyond_it}. {outcome.note}".strip(),
    )
