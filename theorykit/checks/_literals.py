"""Points at the numbers that a statement names, which random search never hits.

A statement that fails only where x = 1/8, or where x is within 1e-6 of 3, fails at a number that is
written in the program; one that fails where x > 10^6, at twice that number. So each coordinate is
tried at each of these numbers and at twice it.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theorykit.checks._inputs import Case, Inputs
from theorykit.checks._sides import Sides

MOST_NUMBERS = 24
MOST_COORDINATES = 8
MOST_POINTS = 512
"""Numbers of a program and coordinates of a point that are tried, and points in all."""


def at_literals(sides: Sides, bases: Sequence[Case]) -> list[Case]:
    """Return parameters at the numbers of the sides' programs and at twice these, of either sign.

    **Arguments:** `bases`: parameters whose coordinates are replaced, one at a time, and all.
    """
    found = dict.fromkeys(_numbers_of(sides.programs()))
    numbers = list(itertools.islice(found, MOST_NUMBERS))
    signs = (1.0, -1.0)
    signed = list(dict.fromkeys(m * s * x for m in (1, 2) for x in numbers for s in signs))
    made = itertools.islice(_points(sides.over, signed, bases), MOST_POINTS)
    return [p for p in made if sides.over.admits(p, sides.sizes)]


def _points(over: Inputs, numbers: Sequence[float], bases: Sequence[Case]) -> Iterator[Case]:
    moving = [name for name, domain in over.arguments.items() if domain.differentiable]
    for number in numbers:
        yield bases[0] | {k: np.full_like(bases[0][k], number) for k in moving}
    places = [(k, i) for k in moving for i in range(bases[0][k].size)]
    for base, number, (k, i) in itertools.product(bases, numbers, places[:MOST_COORDINATES]):
        changed = np.array(base[k], dtype=float)
        changed.reshape(-1)[i] = number
        yield base | {k: changed}


def _numbers_of(program: Any) -> Iterator[float]:
    """Yield the numbers in a jaxpr, those of programs within it too, without zero and infinity."""
    if isinstance(program, tuple | list):
        for part in program:
            yield from _numbers_of(part)
        return
    if hasattr(program, "consts"):
        for value in program.consts:
            yield from _numbers_in(value)
    program = getattr(program, "jaxpr", program)
    for eqn in getattr(program, "eqns", ()):
        for atom in eqn.invars:
            yield from _numbers_in(getattr(atom, "val", None))
        if eqn.primitive.name == "exact":
            yield from _numbers_in(eqn.params["value"])
        for inner in eqn.params.values():
            yield from _numbers_of(inner)


def _numbers_in(value: Any) -> Iterator[float]:
    try:
        entries = np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError):  # a random key, say
        return
    if entries.size <= MOST_NUMBERS:
        yield from (float(abs(x)) for x in entries if np.isfinite(x) and x)
