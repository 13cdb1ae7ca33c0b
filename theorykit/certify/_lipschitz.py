"""Lipschitz constants on a box: the norm of the derivative, enclosed piece by piece.

On a convex set a continuous function is Lipschitz with the largest norm of its derivative, where
that is enclosed in Clarke's sense: at a kink of |x| or max, by the hull of the slopes beside it.
The derivative is taken number by number (`_jets`) and not by JAX, whose rules may say something
else at a kink or behind `stop_gradient`. A function that may jump in a piece has no slope there.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from theorykit.certify._elementwise import absolute, each
from theorykit.certify._enclose import Program
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._numbers import ball, float_below, objects, precision
from theorykit.certify._prove import (
    BUDGET,
    Proof,
    _Piece,
    _read,
    check_budget,
    leaves_of,
    undecided,
)
from theorykit.common.arguments import function, shown

Norm = float
"""The norm of a vector: 1, 2 or infinity."""

_PLAIN = Machine()

INFINITY = float("inf")
DUAL: dict[Norm, Norm] = {1: INFINITY, 2: 2, INFINITY: 1}
"""The norm of a row, as a map from vectors of a norm to numbers."""


def prove_lipschitz(
    f: Callable[..., Any],
    box: Mapping[str, tuple[Any, Any]],
    constant: Any,
    norms: tuple[Norm, Norm] = (2, 2),
    of: Sequence[str] | None = None,
    budget: int = BUDGET,
    *,
    bits: int = 64,
    progress: Callable[[float], None] = lambda share: None,
) -> Proof:
    """Prove |f(x) - f(x')| <= constant |x - x'| for all pairs of points of a box.

    **Arguments:** `f`: called with the box's variables by name, returns arrays, whose entries make
    one vector; `norms`: of the arguments and of the values; `of`: the variables that move, all of
    them if None, while the others are the same at both points.

    **Returns:** a proof, whose `slack` is the constant less the largest norm enclosed; it is proved
    or undecided, never refuted: a large slope at a point is not enclosed as such.

    **Raises:** `ValueError` for a box that is empty, reversed or not finite, for norms that are
    none of 1, 2 and infinity, for a constant that is no number, and for variables that are none of
    the box.
    """
    function("f", f, "a function of the variables by name")
    function("progress", progress, "a function of the share done")
    check_budget(budget)
    check_norms(norms)
    with precision(bits):
        whole, _, shapes = _read(box)
        like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
        named = lambda *xs: f(**dict(zip(shapes, xs, strict=True)))
        program = Program.trace(lambda *xs: as_row(named(*xs)), like)
        names = [name for name, s in shapes.items() for _ in range(int(np.prod(s)))]
        move = moving_of(of, list(shapes))
        moving = [i for i, name in enumerate(names) if name in move]
        return _search(
            program, whole, shapes, moving, ball(constant), norms, budget, bits, progress
        )


def check_norms(norms: Any) -> None:
    """Raise a `ValueError` for what are no two norms."""
    pair = isinstance(norms, tuple | list) and len(norms) == 2
    if not pair or any(isinstance(n, bool) or n not in DUAL for n in map(_as_number, norms)):
        raise ValueError(
            "norms are those of arguments and of values, each 1, 2 or infinity, as in (2, 2), not "
            f"{shown(norms)}."
        )


def _as_number(norm: Any) -> Any:
    return norm if isinstance(norm, int | float) else None


def moving_of(given: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the names of what moves, all if None is given.

    **Raises:** `ValueError` for what are no names.
    """
    if given is None:
        return names
    found = [given] if isinstance(given, str) else given
    if (
        not isinstance(found, tuple | list)
        or not found
        or not all(isinstance(name, str) and name in names for name in found)
    ):
        raise ValueError(f"what moves are some of {', '.join(names)}, not {shown(given)}.")
    return found


def _search(
    program: Program,
    whole: _Piece,
    shapes: Mapping[str, tuple[int, ...]],
    moving: Sequence[int],
    constant: arb,
    norms: tuple[Norm, Norm],
    budget: int,
    bits: int,
    progress: Callable[[float], None],
) -> Proof:
    """Cut the box up until every piece has a derivative of a norm that is small enough."""
    pieces, done, looked = deque([whole]), Fraction(0), 0
    slack, why = arb.pos_inf(), ""
    while pieces and looked < budget:
        piece = pieces.popleft()
        looked += 1
        try:
            jets = _slopes(program, piece, shapes, moving)
            gap = (constant - norm_of(jets, norms)).lower()
            said = "" if gap.is_finite() else "a slope has no bound there"
        except NotCertifiable as error:
            if error.hopeless:
                raise
            gap, said = arb.nan(), str(error)
        if gap >= 0:
            slack = slack.min(gap)
            done += piece.share
            progress(float(done))
            continue
        why = said or why
        wide = [i for i, (a, b) in enumerate(zip(piece.low, piece.high, strict=True)) if a is not b]
        if not wide:
            pieces.append(piece)
            break
        pieces.extend(piece.halves(max(wide, key=lambda i: float(piece.high[i] - piece.low[i]))))
    if not pieces:
        return Proof("proved", looked, bits, slack=float_below(slack))
    return undecided(shapes, list(pieces), looked, bits, why)


def _slopes(
    program: Program,
    piece: _Piece,
    shapes: Mapping[str, tuple[int, ...]],
    moving: Sequence[int],
) -> np.ndarray:
    """Return the derivative over a piece: a row for each entry of f, a column for each variable.

    **Raises:** `NotCertifiable` where f may jump, or cannot be enclosed.
    """
    numbers = [
        Jet(b, tuple(arb(int(i == j)) for j in moving) if i in moving else ())
        for i, b in enumerate(piece.balls())
    ]
    machine = Machine(field=JETS, hull=True)
    (row,) = program.run(machine, leaves_of(shapes, numbers))
    made = np.empty((row.size, len(moving)), dtype=object)
    for k, y in enumerate(row.flat):
        if not y.is_finite():
            raise machine.culprit or NotCertifiable("a value has no bound.")
        if y.slopes is None:
            raise NotCertifiable("the function may jump: it chooses between two values there.")
        made[k] = y.slopes or objects(arb(0), (len(moving),))
    return made


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


def as_row(found: Any) -> jax.Array:
    """Return the entries of a tree of arrays in one row."""
    try:
        parts = [jnp.ravel(jnp.asarray(x)) for x in jax.tree.leaves(found)]
    except (TypeError, ValueError):
        raise ValueError(f"f returns arrays of numbers, not {shown(found)}.") from None
    return jnp.concatenate([x.astype(jnp.result_type(x, jnp.float64)) for x in parts])
