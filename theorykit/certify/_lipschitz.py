"""Lipschitz constants: the norm of the derivative, enclosed on a box or bounded for all values.

On a convex set a continuous function is Lipschitz with the largest norm of its derivative, where
that is enclosed in Clarke's sense: at a kink of |x| or max, by the hull of the slopes beside it.
The derivative is taken number by number (`_jets`) and not by JAX, whose rules may give something
else at a kink or behind `stop_gradient`. A function that may jump in a piece has no slope there.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import arb

from theorykit.certify import _compare as compare
from theorykit.certify._box import Piece, leaves_of, read
from theorykit.certify._duals import Dual, field_of
from theorykit.certify._enclose import Program
from theorykit.certify._everywhere import Everywhere, Letter, as_leaves, over_cases
from theorykit.certify._jets import JETS, Jet
from theorykit.certify._machine import Machine, NotCertifiable
from theorykit.certify._normal import _eigenvalues, _singular_values
from theorykit.certify._norms import DUAL, Norm, as_norms, norm_of
from theorykit.certify._numbers import ball, float_below, objects, precision
from theorykit.certify._order import below
from theorykit.certify._proof import Proof, undecided
from theorykit.certify._prove import BUDGET, check_budget
from theorykit.certify._quotients import Quotient, constant, total
from theorykit.certify._ring import Ring, Split, Work, rational
from theorykit.certify._sides import as_row, by_name
from theorykit.common.arguments import function, shown


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

    **Raises:** `ValueError` for a box that is empty, reversed or not finite, for norms other than
    1, 2 and infinity, for a constant that is not a number, and for variables that the box does not
    have.
    """
    function("f", f, "a function of the variables by name")
    function("progress", progress, "a function of the share done")
    check_budget(budget)
    norms = as_norms(norms)
    with precision(bits):
        whole, _, shapes = read(box)
        like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
        named = by_name("f", f, shapes)
        program = Program.trace(lambda *xs: as_row(named(*xs)), like)
        names = [name for name, s in shapes.items() for _ in range(int(np.prod(s)))]
        move = moving_of(of, list(shapes))
        moving = [i for i, name in enumerate(names) if name in move]
        return _search(
            program, whole, shapes, moving, ball(constant), norms, budget, bits, progress
        )


def moving_of(given: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the names of what moves, all if None is given.

    **Raises:** `ValueError` for anything but names.
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
    whole: Piece,
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
    piece: Piece,
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


# For all values ----------------------------------------------------------------------------


def lipschitz_everywhere(
    f: Callable[..., Any],
    shapes: Mapping[str, Any],
    bound: Any,
    norms: tuple[Norm, Norm] = (2, 2),
    moving: Sequence[str] | None = None,
    totals: Sequence[Sequence[Letter]] = (),
    work: Work | None = None,
) -> Everywhere:
    """Return whether |f(x) - f(x')| <= bound |x - x'| for all pairs of points of a convex domain.

    **Arguments:** `f`: called with the arguments by name; `shapes`, `totals` and `work`: as for
    `identical`; `bound`: a number or `Fraction`; `norms`: of arguments and of values; `moving`: the
    arguments that move, all of them if None.

    **Raises:** `NotCertifiable` if f may jump, or has no derivative in this form.
    """
    function("f", f, "a function of the arguments by name")
    norms = as_norms(norms)
    leaves = as_leaves(shapes)
    like = [
        jax.ShapeDtypeStruct(a.shape, np.float64 if a.dtype == object else a.dtype)
        for a in leaves.values()
    ]
    named = by_name("f", f, leaves)
    program = Program.trace(lambda *xs: as_row(named(*xs)), like)
    names = moving_of(moving, list(leaves))
    count = sum(leaves[name].size for name in names)
    limit = rational(bound)

    def evaluate(ring: Ring, values: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
        start, duals = 0, []
        for name, value in zip(leaves, values, strict=True):
            if value.dtype != object:
                duals.append(value)
                continue
            made = np.empty(value.shape, dtype=object)
            for where in np.ndindex(value.shape):
                unit = [constant(ring, int(k == start)) for k in range(count)]
                made[where] = Dual(value[where], tuple(unit) if name in names else ())
                start += name in names
            duals.append(made)
        try:
            (row,) = program.run(Machine(field=field_of(ring)), duals)
        except Split as split:
            raise NotCertifiable(f"the function may jump: {split}") from None
        if not all(isinstance(y, Dual) for y in row.flat):
            raise NotCertifiable("a value is infinite.")
        zero = (constant(ring, 0),) * count
        matrix = np.array([y.slopes or zero for y in row.flat], dtype=object)
        return _norm_sides(ring, matrix.reshape(-1, count), limit, norms)

    return over_cases(evaluate, leaves, below, totals, work)


def _norm_sides(
    ring: Ring, matrix: np.ndarray, limit: Any, norms: tuple[Norm, Norm]
) -> tuple[list[Any], list[Any]]:
    """Return the sides of inequalities that bound the norm of a matrix between two norms."""
    source, target = norms
    if source == 1:
        sizes = [_size(column, target) for column in matrix.T]
    elif target == float("inf"):
        sizes = [_size(row, DUAL[source]) for row in matrix]
    elif source == target == 2 and matrix.shape[0] == matrix.shape[1]:
        return [_singular_values(matrix)[0]], [constant(ring, limit)]
    elif source == target == 2:
        small = matrix if len(matrix) <= matrix.shape[1] else matrix.T
        gram = [[total(list(a * b)) for b in small] for a in small]
        square = np.array(gram, dtype=object).reshape(len(small), len(small))
        return [_eigenvalues(square)[-1]], [constant(ring, limit * limit)]
    elif target == 1:  # each |x_j| <= |x|, so no value exceeds the sum of all entries
        entries = [compare.absolute(x) for x in matrix.flat]
        return [total(entries)], [constant(ring, limit)]
    else:
        raise NotCertifiable("between these norms there is no rule.")
    power = 2 if sizes and sizes[0][1] else 1
    right = constant(ring, limit**power)
    return [size for size, _ in sizes], [right] * len(sizes)


def _size(row: Sequence[Quotient], norm: Norm) -> tuple[Any, bool]:
    """Return the norm of a vector, or its square, and whether it is the square."""
    if norm == 2:
        return total([x * x for x in row]), True
    parts = [compare.absolute(x) for x in row]
    return (total(parts) if norm == 1 else compare.largest(parts)), False
