"""Prove identities and inequalities at every point of a domain: all reals, unless it has ends.

Both sides are run on quotients of polynomials (`_quotients`), case by case where the sign of
something decides what they are. Each case is proved by exact arithmetic, or the whole is not.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import jax
import numpy as np

from theorykit.certify._choices import split_on_choice
from theorykit.certify._enclose import Program
from theorykit.certify._functions import Finer
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._normal import field_of
from theorykit.certify._quotients import Infinite, Quotient, constant
from theorykit.certify._ring import (
    LETTERS,
    MOST_LETTERS,
    NONNEGATIVE,
    POSITIVE,
    REAL,
    Crowded,
    Relation,
    Ring,
    Spent,
    Split,
    Work,
    rational,
    shortened,
)
from theorykit.certify._sides import SIDES, by_name, rows_of
from theorykit.certify._signs import Reason, certain, factored
from theorykit.common import picture
from theorykit.common.arguments import affordable, function, instance, members, shown

MOST_CASES = 200
MOST_ENTRIES = 100_000
"""The most cases of a proof, and the most entries of an argument."""


@dataclasses.dataclass(frozen=True, eq=False)
class Letter:
    """An entry of an argument: any real number, from `low` to `high` where they are given.

    **Fields:** `open`, whether `low` itself is left out.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    open: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            end = getattr(self, name)
            kinds = Fraction | int | None
            instance(f"{name} of a letter", end, kinds, "a Fraction or an integer, or nothing")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"a letter runs from {self.low} to {self.high}: nothing lies there.")


@dataclasses.dataclass(frozen=True)
class Everywhere:
    """The result of an attempt at a proof. It is true if the statement is proved.

    **Fields:** `proved`; `lines`, the proof: for each case its conditions, and for each entry its
    normal form, or why the right side is at least the left; `cases`, those that have a point;
    `tree`, all of them; `why`, what is missing where it is not proved.
    """

    proved: bool
    lines: tuple[str, ...] = ()
    cases: int = 0
    why: str = ""
    tree: tuple["Case", ...] = ()

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        """Return it in a line."""
        if not self.proved:
            return f"not proved: {self.why}"
        return "proved" if self.cases == 1 else f"proved in {self.cases} cases"

    _repr_html_ = picture.html


@picture.pieces.register
def _(found: Everywhere) -> list[Any]:
    said = picture.Words(f"{found}.".capitalize().replace("..", "."))
    return [said, picture.Code("\n".join(found.lines))] if found.lines else [said]


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of a proof.

    **Fields:** `path`, the splits that lead to it, and which of their cases it is in; `goals`, what
    the judge returned; `empty`, for a case without a point: why the negative of one of its
    conditions is positive.
    """

    path: tuple[tuple[Split, int], ...]
    goals: tuple["Goal", ...] = ()
    empty: Reason | None = None

    @property
    def facts(self) -> tuple[Relation, ...]:
        """The relations that hold in this case."""
        return tuple(fact for split, k in self.path for fact in split.cases[k])


class Goal(Protocol):
    """One entry of both sides, proved."""

    def lines(self, ring: Ring) -> list[str]:
        """Return the proof, in words and polynomials."""


@dataclasses.dataclass(frozen=True)
class Same:
    """Both sides are `of`."""

    of: Quotient

    def lines(self, ring: Ring) -> list[str]:
        """Return the proof: the normal form."""
        return [f"both are {shortened(self.of.key)}"]


Judge = Callable[[Ring, Sequence[Quotient], Sequence[Quotient]], Sequence[Goal]]
"""Proves one case of both sides and returns the proof; raises `Open` or `Split` otherwise."""

Evaluate = Callable[[Ring, Sequence[np.ndarray]], tuple[Sequence[Any], Sequence[Any]]]
"""Returns the entries of both sides, from the arguments in the numbers of a ring."""


class Open(NotCertifiable):
    """Raised where a case is not proved."""


def identical(
    identity: Callable[..., tuple[Any, Any]],
    shapes: Mapping[str, Any],
    totals: Sequence[Sequence[Letter]] = (),
    work: Work | None = None,
) -> Everywhere:
    """Return whether two sides are the same function of their arguments, entry by entry.

    They are run on quotients of polynomials with rational coefficients, in the arguments and in
    exp, log, sqrt, sin, cos, |.|, max and others of them, so equality is for all values of the
    arguments at once. Sides that are not found to be the same may still be so, unless both are
    polynomials.

    **Arguments:** `identity`: called with the arguments by name, returns (lhs, rhs); `shapes`: for
    each argument a shape, for all reals, or an array of `Letter`s and numbers; `totals`: letters
    whose sum is positive; `work`, what it may cost; a fresh allowance if None.

    **Raises:** `NotCertifiable` if a side is not proved to have a value everywhere, or has no such
    form; `ValueError` for anything but a function, or an invalid shape.
    """
    function("identity", identity, SIDES)
    leaves = as_leaves(shapes)
    return over_cases(as_program(identity, leaves), leaves, same, totals, work)


def as_leaves(shapes: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the arguments as arrays of letters and numbers.

    **Raises:** `ValueError` for invalid shapes.
    """
    instance("shapes", shapes, Mapping, "a shape for each argument, as in dict(x=(2, 3))")
    return {name: _array(name, given) for name, given in shapes.items()}


def as_program(sides: Callable[..., tuple[Any, Any]], leaves: Mapping[str, np.ndarray]) -> Evaluate:
    """Return what runs both sides on numbers of a ring."""
    named = by_name("the function of both sides", sides, leaves)
    like = [
        jax.ShapeDtypeStruct(a.shape, np.float64 if a.dtype == object else a.dtype)
        for a in leaves.values()
    ]
    program = Program.trace(lambda *xs: rows_of(named(*xs)), like)

    def evaluate(ring: Ring, values: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
        left, right = program.run(Machine(field=field_of(ring)), values)
        return list(left.flat), list(right.flat)

    return evaluate


def over_cases(
    evaluate: Evaluate,
    leaves: Mapping[str, np.ndarray],
    judge: Judge,
    totals: Sequence[Sequence[Letter]] = (),
    work: Work | None = None,
) -> Everywhere:
    """Evaluate both sides and judge them, case by case."""
    work = Work() if work is None else work
    known = {id(x) for array in leaves.values() for x in array.flat if isinstance(x, Letter)}
    for group in members("totals", totals, "groups of letters"):
        if not all(id(x) in known for x in members("a total", group, "letters")):
            raise ValueError("totals are sums of letters that the arguments have.")
    units: dict[str, Any] = {}
    letters = LETTERS
    for _ in range(12):
        try:
            return _Cases(evaluate, leaves, totals, units, work, letters).run(judge)
        except Finer:
            continue
        except Crowded:
            if letters == MOST_LETTERS:
                raise
            letters = MOST_LETTERS
        except Open as error:
            return Everywhere(False, why=str(error))
    raise Spent("its exponents have no common unit.")


class _Cases:
    """One statement, with its letters."""

    def __init__(
        self,
        evaluate: Evaluate,
        leaves: Mapping[str, np.ndarray],
        totals: Sequence[Sequence[Letter]],
        units: dict[str, Any],
        work: Work,
        letters: int,
    ):
        self.evaluate, self.totals = evaluate, totals
        self.letters: list[Letter] = []
        names = []
        for name, array in leaves.items():
            for where in np.ndindex(array.shape):
                entry = array[where]
                if isinstance(entry, Letter):
                    self.letters.append(entry)
                    names.append(name + "".join(f"_{i + 1}" for i in where))
        self.ring = Ring(names, units, work, letters)
        self.places = {id(letter): i for i, letter in enumerate(self.letters)}
        self.leaves = leaves

    def run(self, judge: Judge) -> Everywhere:
        """Prove every case; a case that cannot be decided is split.

        **Raises:** `Open`, `Spent` or another `NotCertifiable`.
        """
        stack: list[tuple[tuple[Split, int], ...]] = [()]
        tree: list[Case] = []
        lines: list[str] = []
        looked = 0
        while stack:
            case = Case(stack.pop())
            looked += 1
            if looked > MOST_CASES:
                raise Spent(f"it falls into more than {MOST_CASES} cases.")
            values = self.begin(case.facts)
            if isinstance(values, Reason):
                tree.append(dataclasses.replace(case, empty=values))
                continue
            try:
                goals = judge(self.ring, *self.evaluate(self.ring, values))
            except Split as split:
                stack += [(*case.path, (split, k)) for k in reversed(range(len(split.cases)))]
                continue
            except Open as error:
                said = self.said(case)
                raise Open(f"where {shortened(said)}, {error}" if said else str(error)) from error
            tree.append(dataclasses.replace(case, goals=tuple(goals)))
            said = self.said(case)
            lines += [f"where {said}:"] if said else []
            lines += [line for goal in goals for line in goal.lines(self.ring)]
        proved = sum(case.empty is None for case in tree)
        return Everywhere(True, tuple(lines), proved, tree=tuple(tree))

    def said(self, case: Case) -> str:
        """Return the conditions of a case."""
        return ", ".join(f"{self.ring.show(p)} {sign} 0" for p, sign in case.facts)

    def begin(self, facts: Sequence[Relation]) -> list[np.ndarray] | Reason:
        """Return the arguments in this case, or why it has no point."""
        ring = self.ring
        ring.begin({i: _sign(letter) for i, letter in enumerate(self.letters)})
        replaced: dict[int, Any] = {}

        def put(p: Any) -> Any:
            return (
                p.compose(*(replaced.get(i, g) for i, g in enumerate(ring.gens))) if replaced else p
            )

        for p, relation in facts:
            if relation != "==":
                continue
            p = put(p)
            if p.is_constant():
                if not p.is_zero():
                    return Reason(p, "number", "a number other than zero")
                continue
            _, factors = factored(ring, p)
            if len(factors) == 1:
                ((p, _),) = factors
            for i in ring.used(p):
                slope = p.derivative(i)
                if i < ring.count and slope.is_constant():
                    expression = ring.gens[i] - p / slope.leading_coefficient()
                    one = {i: expression}
                    swap = lambda q, one=one: q.compose(
                        *(one.get(k, g) for k, g in enumerate(ring.gens))
                    )
                    replaced = {k: swap(q) for k, q in replaced.items()} | one
                    break
            else:
                ring.zeros.append(p)
                ring.fact(p)
                ring.fact(-p)
        for i, letter in enumerate(self.letters):
            x = put(ring.gens[i])
            if letter.low is not None and (letter.low != 0 or i in replaced):
                ring.fact(x - rational(letter.low), strict=letter.open)
            if letter.high is not None:
                ring.fact(rational(letter.high) - x)
        for group in self.totals:
            ring.fact(put(sum(ring.gens[self.places[id(x)]] for x in group)), strict=True)
        for p, relation in facts:
            if relation != "==":
                ring.fact(put(p), strict=relation == ">")
                if put(p).is_constant() and not certain(ring, put(p), relation == ">"):
                    return Reason(p, "number", "a number below zero, or zero where it is not")
        alone = [f for f in ring.facts.values() if len(f.of) == 1 and len(f.letters) == 1]
        for a, b in itertools.combinations(alone if facts else (), 2):
            ring.fact(a.of * b.of, a.strict and b.strict)
        for fact in list(ring.facts.values()) if facts else ():
            against = certain(ring, -fact.of, strict=not fact.strict)
            if against:
                return against
        made = []
        for array in self.leaves.values():
            if array.dtype != object:
                made.append(array)
                continue
            values = np.empty(array.shape, dtype=object)
            for where in np.ndindex(array.shape):
                given = array[where]
                values[where] = (
                    Quotient(ring, put(ring.gens[self.places[id(given)]]))
                    if isinstance(given, Letter)
                    else constant(ring, given)
                )
            made.append(values)
        return made


def _sign(letter: Letter) -> int:
    if letter.low is None or letter.low < 0:
        return REAL
    return POSITIVE if letter.low > 0 or letter.open else NONNEGATIVE


def _array(name: str, given: Any) -> np.ndarray:
    """Return an argument as an array of letters and numbers, or of integers."""
    return given if isinstance(given, np.ndarray) else letters(_shape(name, given))


def _shape(name: str, given: Any) -> tuple[int, ...]:
    if not isinstance(given, tuple) or not all(isinstance(n, int) and n > 0 for n in given):
        raise ValueError(
            f"{name} needs a shape, a tuple of sizes such as (2, 3) or (), not {shown(given)}."
        )
    affordable(name, math.prod(given), MOST_ENTRIES, "entries")
    return given


def letters(shape: tuple[int, ...], **known: Any) -> np.ndarray:
    """Return an array of letters about which the same is known.

    **Raises:** `ValueError` for anything but a tuple of sizes, or too many entries.
    """
    made = np.empty(_shape("the array of letters", shape), dtype=object)
    for where in np.ndindex(shape):
        made[where] = Letter(**known)
    return made


def same(ring: Ring, left: Sequence[Quotient], right: Sequence[Quotient]) -> list[Same]:
    """Prove that both sides are the same in one case."""
    goals = []
    for a, b in zip(left, right, strict=True):
        gap = a - b
        if isinstance(gap, Infinite):
            raise Open("a side is infinite, or not a number.")
        if not gap.is_zero():
            split_on_choice(ring, [gap.num, *(ring.factors[k] for k, _ in gap.den)])
            raise Open(f"the sides differ by {shortened(gap.key)}.")
        goals.append(Same(b))
    return goals
