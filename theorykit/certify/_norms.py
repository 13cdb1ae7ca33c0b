"""Norms of vectors, and of matrices as maps between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb

from theorykit.certify._choice import absolute
from theorykit.certify._elementwise import each
from theorykit.certify._machine import Machine
from theorykit.common.arguments import shown

Norm = float
"""The norm of a vector: 1, 2 or infinity."""

_PLAIN = Machine()

INFINITY = float("inf")
DUAL: dict[Norm, Norm] = {1: INFINITY, 2: 2, INFINITY: 1}
"""The norm of a row, as a map from vectors of a norm to numbers."""


def as_norms(norms: Any) -> tuple[Norm, Norm]:
    """Return the norms of arguments and of values; one number stands for both.

    **Raises:** `ValueError` for anything but 1, 2 and infinity.
    """
    pair = norms if isinstance(norms, tuple | list) else (norms, norms)
    if len(pair) != 2 or not all(_is_norm(norm) for norm in pair):
        raise ValueError(
            "norms are those of arguments and of values, each 1, 2 or infinity, as in "
            f"(2, float('inf')), not {shown(norms)}."
        )
    return float(pair[0]), float(pair[1])


def _is_norm(norm: Any) -> bool:
    return isinstance(norm, int | float) and not isinstance(norm, bool) and norm in DUAL


def norm_of(matrix: np.ndarray, norms: tuple[Norm, Norm]) -> arb:
    """Return a bound on the norm of all matrices within these balls, as a map between two norms.

    It is the norm itself, for a matrix of numbers that are not negative, from 1 to any norm and
    from any norm to infinity. From 2 to 2 it is the smaller of Frobenius' norm and Schur's bound,
    the root of the largest sum of a row times that of a column.
    """
    size = each(lambda x: absolute(_PLAIN, x).upper(), matrix)
    if not size.size:
        return arb(0)
    source, target = norms
    if source == 1:
        return _largest([vector_norm(column, target) for column in size.T])
    rows = [vector_norm(row, DUAL[source]) for row in size]
    bound = vector_norm(rows, target)
    if source == target == 2:
        across = _largest([sum(row, arb(0)) for row in size])
        down = _largest([sum(column, arb(0)) for column in size.T])
        bound = _least(bound, (across * down).sqrt())
    return bound


def _largest(numbers: Sequence[arb]) -> arb:
    made = numbers[0]
    for x in numbers[1:]:
        made = made.max(x)
    return made


def _least(a: arb, b: arb) -> arb:
    return b if b.upper() < a.upper() else a


def vector_norm(entries: Sequence[arb], norm: Norm) -> arb:
    """Return the norm of a vector of numbers that are not negative."""
    if norm == INFINITY:
        return _largest(list(entries))
    if norm == 1:
        return sum(entries, arb(0))
    return sum((x * x for x in entries), arb(0)).sqrt()
