"""What a claim states for all values, and the parts of its sides that get a name."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from theorykit.certify import Letter, NotCertifiable, Program
from theorykit.checks import lettered
from theorykit.export._reals import Real, number, real, used, variables
from theorykit.export._rules import sides
from theorykit.export._terms import NotExportable

FUNCTIONS = ("exp", "ln", "sqrt", "Rabs", "Rmax", "Rmin")
"""Functions of which proofs for all values are written; each of their values gets a name."""


@dataclasses.dataclass(frozen=True)
class Statement:
    """Both sides at one setting of the sizes.

    **Fields:** `left`, `right`, entries; `bound`, the variables' names; `given`, hypotheses on
    them; `leaves`, the arguments as letters; `letters`, the variables in the order of letters;
    `totals`, as `certify.identical` takes them.
    """

    left: list[Real]
    right: list[Real]
    bound: list[str]
    given: list[str]
    leaves: dict[str, np.ndarray]
    letters: list[Real]
    totals: Sequence[Sequence[Letter]]


def stated(check: Any, sizes: Mapping[str, Any], trial: Any, taken: set[str]) -> Statement:
    """Return what a claim states at some sizes, for all values of its arguments."""
    try:
        wide, every = lettered(check.sides(sizes, trial))
        points = list(every)
    except NotCertifiable as error:
        raise NotExportable(str(error)) from None
    if len(points) != 1 or points[0][0]:
        raise NotExportable("an argument is no real number.")
    _, leaves, totals = points[0]
    like = [jax.ShapeDtypeStruct(a.shape, np.float64) for a in leaves.values()]
    named = lambda *xs: wide.both(dict(zip(leaves, xs, strict=True)))
    try:
        program = Program.trace(named, like)
    except NotCertifiable as error:
        raise NotExportable(str(error)) from None
    arrays = variables({k: a.shape for k, a in leaves.items()}, taken)
    letters: list[Real] = []
    given: list[str] = []
    place: dict[int, Real] = {}
    for array, values in zip(leaves.values(), arrays, strict=True):
        for where in np.ndindex(array.shape):
            entry = array[where]
            if not isinstance(entry, Letter):
                values[where] = real(entry)
                continue
            x: Any = values[where]
            place[id(entry)] = x
            letters.append(x)
            given += _ends(entry, x.value)
    for group in totals:
        given.append("0 < " + " + ".join(place[id(x)].value for x in group))
    left, right = sides(program, arrays)
    return Statement(left, right, [x.value for x in letters], given, leaves, letters, totals)


def _ends(letter: Letter, name: str) -> Iterator[str]:
    low, high = letter.low, letter.high
    if low is not None and high is not None:
        yield f"{number(Fraction(low))[0]} <= {name} <= {number(Fraction(high))[0]}"
    elif low is not None:
        yield f"{number(Fraction(low))[0]} {'<' if letter.open else '<='} {name}"
    elif high is not None:
        yield f"{name} <= {number(Fraction(high))[0]}"


# Expressions ---------------------------------------------------------------------------------


def flattened(x: Real) -> list[Real]:
    """Return what a maximum of maxima is the maximum of; of minima likewise."""
    made: list[Real] = []
    stack = [x]
    while stack:
        y = stack.pop()
        if y.op == x.op:
            stack += reversed(y.args)
        elif y not in made:
            made.append(y)
    return made


def args(x: Real) -> Sequence[Real]:
    """Return what an expression is made of, of a maximum of maxima what it is the maximum of."""
    return flattened(x) if x.op in ("Rmax", "Rmin") else x.args


def named(roots: Sequence[Real]) -> list[Real]:
    """Return the expressions that get a name: roots, functions' values, and what is shared."""
    order, uses = used(reversed(roots), lambda x: reversed(args(x)))
    whole = set(roots)
    kept = lambda x: x in whole or uses[x] > 1 or x.op in FUNCTIONS
    return [x for x in order if x.op not in ("variable", "number") and kept(x)]


def parts(x: Real, named: Mapping[Real, str]) -> list[Real]:
    """Return a node and those inside it, as far as those that have a name."""
    made: list[Real] = []
    stack = [x]
    while stack:
        y = stack.pop()
        if y not in made:
            made.append(y)
            if y is x or y not in named:
                stack += args(y)
    return made


def below(x: Real, named: Mapping[Real, str]) -> list[Real]:
    """Return the nodes with a name that a node is made of."""
    return [y for y in parts(x, named) if y in named and y is not x]


def factors(x: Real) -> list[Real]:
    """Return a divisor, and what it is a product of."""
    inner = x.args if x.op in ("*", "^", "/", "neg") else ()
    return [x, *(z for y in inner for z in factors(y))]
