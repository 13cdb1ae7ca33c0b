"""Rules of linear algebra: enclosures of what exists and is unique, whatever LAPACK would do."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb, arb_mat
from jaxtyping import Int, Shaped

from theorykit.certify._control import call
from theorykit.certify._machine import (
    TAKES_UNKNOWN,
    Doubt,
    Machine,
    Unknown,
    is_inexact,
    rule,
)
from theorykit.certify._numbers import objects
from theorykit.certify._structure import certainly_less, matrix

MOST_UNKNOWNS = 256
"""Larger systems are solved as JAX does, not as one matrix."""


def batched(x: Shaped[np.ndarray, "*batch m n"]) -> Shaped[np.ndarray, "count m n"]:
    """Return the matrices of the last two axes as one batch."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def unbatched(parts: list[Shaped[np.ndarray, "..."]], variable: Any) -> Shaped[np.ndarray, "..."]:
    """Return the results, one per matrix, in the shape of the equation's."""
    shape, dtype = variable.aval.shape, variable.aval.dtype
    made = np.stack(parts).reshape(shape) if parts else np.empty(shape, dtype=object)
    return made if is_inexact(variable) else made.astype(dtype)


def real_only(eqn: Any) -> None:
    """Raise for complex matrices."""
    if np.dtype(eqn.invars[0].aval.dtype).kind == "c":
        raise Doubt("only real matrices have a rule")


@rule("cholesky")
def _cholesky(machine, eqn, x):
    def positive(left):
        if machine.field.less(machine.number(0), left) is not True:
            raise Doubt("the matrix is not certainly positive definite")

    return factor(machine, eqn, x, positive)


def factor(machine: Machine, eqn: Any, x: np.ndarray, positive: Callable[[Any], Any]) -> np.ndarray:
    """Return the factors of matrices; `positive` is told of what roots are taken of."""
    real_only(eqn)
    return unbatched([_factor(machine, a, positive) for a in batched(x)], eqn.outvars[0])


def _factor(
    machine: Machine, a: Shaped[np.ndarray, "n n"], positive: Callable[[Any], Any]
) -> Shaped[np.ndarray, "n n"]:
    n = len(a)
    low = objects(machine.number(0), a.shape).copy()
    for j in range(n):
        left = a[j, j] - sum((low[j, k] ** 2 for k in range(j)), machine.number(0))
        positive(left)
        low[j, j] = machine.field.root(left)
        for i in range(j + 1, n):
            inner = sum((low[i, k] * low[j, k] for k in range(j)), machine.number(0))
            low[i, j] = (a[i, j] - inner) / low[j, j]
    return low


@rule("triangular_solve")
def _triangular_solve(machine, eqn, a, b):
    p = eqn.params
    pairs = zip(batched(a), batched(b), strict=True)
    return unbatched([_triangular(machine, x, y, p) for x, y in pairs], eqn.outvars[0])


def _triangular(
    machine: Machine,
    a: Shaped[np.ndarray, "n n"],
    b: Shaped[np.ndarray, "rows columns"],
    p: dict[str, Any],
) -> Shaped[np.ndarray, "rows columns"]:
    if p["conjugate_a"] and any(isinstance(v, acb) for v in a.flat):
        raise Doubt("a conjugated triangle has no rule")
    lower = p["lower"]
    if p["transpose_a"]:
        a, lower = a.T, not lower
    if not p["left_side"]:  # x a = b is a' x' = b'
        a, b, lower = a.T, b.T, not lower
    n = len(a)
    x = np.empty(b.shape, dtype=object)
    for i in range(n) if lower else range(n - 1, -1, -1):
        solved = range(i) if lower else range(i + 1, n)
        row = b[i].copy()
        for k in solved:
            row = row - a[i, k] * x[k]
        x[i] = row if p["unit_diagonal"] else row / a[i, i]
    return x if p["left_side"] else x.T


@rule("lu")
def _lu(machine, eqn, x):
    parts = [_lu_of(machine, a) for a in batched(x)]
    return [unbatched([p[i] for p in parts], v) for i, v in enumerate(eqn.outvars)]


def _lu_of(
    machine: Machine, a: Shaped[np.ndarray, "m n"]
) -> tuple[Shaped[np.ndarray, "m n"], Shaped[np.ndarray, " pivots"], Int[np.ndarray, " m"]]:
    """Return the factors in one matrix, the rows exchanged and the order that comes of it."""
    a = a.copy()
    m, n = a.shape
    pivots, order = [], np.arange(m)
    for j in range(min(m, n)):
        best = j
        for i in range(j + 1, m):
            if certainly_less(machine, abs(a[best, j]), abs(a[i, j]), "the pivot"):
                best = i
        pivots.append(best)
        a[[j, best]], order[[j, best]] = a[[best, j]], order[[best, j]]
        if machine.field.equal(a[j, j], machine.number(0)) is True:
            continue
        a[j + 1 :, j] = a[j + 1 :, j] / a[j, j]
        a[j + 1 :, j + 1 :] = a[j + 1 :, j + 1 :] - np.multiply.outer(a[j + 1 :, j], a[j, j + 1 :])
    return a, np.asarray(pivots), order


TAKES_UNKNOWN.add("custom_linear_solve")


@rule("custom_linear_solve")
def _linear_solve(machine, eqn, *xs):
    """Solve by the matrix itself, which is found by sending unit vectors through it.

    The solution does not depend on how LAPACK would pivot, so neither does this.
    """
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    consts, start = {}, 0
    for name in ("matvec", "vecmat", "solve", "transpose_solve"):
        size = getattr(lengths, name)
        consts[name] = xs[start : start + size]
        start += size
    right = xs[start:]
    for value in (*consts["matvec"], *right):
        if isinstance(value, Unknown):
            raise value.why
    sizes = [b.size for b in right]
    total = sum(sizes)
    if not total:
        return list(right)
    shapes = [b.shape for b in right]
    direct = "triangular_solve" in str(jaxprs.solve)  # else the function says how it solves
    if total > MOST_UNKNOWNS or len(right) != 1 or not direct:
        return call(machine, jaxprs.solve, *consts["solve"], *right)
    zero, one = machine.number(0), machine.number(1)
    columns = []
    for k in range(total):
        unit = objects(zero, (total,)).copy()
        unit[k] = one
        (out,) = call(machine, jaxprs.matvec, *consts["matvec"], unit.reshape(shapes[0]))
        if isinstance(out, Unknown):
            raise out.why
        columns.append(out.reshape(-1))
    A = np.stack(columns, axis=1)
    return [solved(A, right[0].reshape(-1, 1)).reshape(shapes[0])]


def solved(
    A: Shaped[np.ndarray, "n n"], b: Shaped[np.ndarray, "n columns"]
) -> Shaped[np.ndarray, "n columns"]:
    """Return the solution of A x = b, block by block where A falls apart."""
    x = np.empty(b.shape, dtype=object)
    for rows in _blocks(A):
        block, part = A[np.ix_(rows, rows)], b[rows]
        kinds = {type(v) for v in (*block.flat, *part.flat)}
        if not kinds <= {arb, acb}:
            raise Doubt("these numbers have no linear solver")
        make = acb_mat if acb in kinds else arb_mat
        try:
            x[rows] = matrix(make(block.tolist()).solve(make(part.tolist())))
        except ZeroDivisionError:
            raise Doubt("the matrix is not certainly invertible") from None
    return x


def _blocks(A: Shaped[np.ndarray, "n n"]) -> list[list[int]]:
    """Return the index sets that the nonzero entries of A connect."""
    n = len(A)
    nonzero = ~np.array([[v == 0 for v in row] for row in A], dtype=bool)  # zero for certain
    nonzero |= nonzero.T
    left, found = set(range(n)), []
    while left:
        group, front = set(), [min(left)]
        while front:
            i = front.pop()
            if i not in group:
                group.add(i)
                front += [j for j in np.flatnonzero(nonzero[i]).tolist() if j not in group]
        left -= group
        found.append(sorted(group))
    return found


@rule("eigh")
def _eigh(machine, eqn, x):
    """Eigenvalues only: an eigenvector's sign, or direction among equals, is LAPACK's choice."""
    real_only(eqn)
    if eqn.params.get("subset_by_index") is not None:
        raise Doubt("a subset of the eigenvalues has no rule")
    lower = eqn.params["lower"]
    values = [_eigenvalues(a if lower else a.T) for a in batched(x)]
    why = machine.doubt(eqn, Doubt("eigenvectors are not unique, only eigenvalues are enclosed"))
    return [Unknown(why), unbatched(values, eqn.outvars[1])]


def _eigenvalues(a: Shaped[np.ndarray, "n n"]) -> Shaped[np.ndarray, " n"]:
    """Return the eigenvalues of a symmetric matrix, given by its lower triangle, ascending."""
    n = len(a)
    if n < 2:
        return a.reshape(n)
    S = [[a[max(i, j), min(i, j)] for j in range(n)] for i in range(n)]
    if not all(isinstance(v, arb) for row in S for v in row):
        raise Doubt("only real symmetric matrices have a rule")
    if n == 2:
        mean, half = (S[0][0] + S[1][1]) / 2, (S[0][0] - S[1][1]) / 2
        away = _hypotenuse(half, S[1][0])
        return objects([mean - away, mean + away], (2,))
    middle = arb_mat([[v.mid() for v in row] for row in S])
    try:
        found = [v.real for v in middle.eig(multiple=True)]
    except (ValueError, ZeroDivisionError):  # clusters that cannot be separated
        found = _by_vectors(middle)
    lows, highs = sorted(v.lower() for v in found), sorted(v.upper() for v in found)
    # Of overlapping balls, the k-th smallest lies between the k-th ends; and by Weyl's inequality
    # none moves further than the norm of what is added to the midpoints.
    away = _most([[v.rad() for v in row] for row in S])
    ends = zip(lows, highs, strict=True)
    return objects([low.union(high) + arb(0, away) for low, high in ends], (n,))


def _by_vectors(a: arb_mat) -> list[arb]:
    """Return the eigenvalues of a symmetric matrix from approximate eigenvectors, in floats.

    a = Q L Q' + R. By Ostrowski's theorem the eigenvalues of Q L Q' are those of L times factors
    between the extreme eigenvalues of Q'Q; by Weyl's inequality R moves none by more than |R|.
    """
    n = a.nrows()
    floats = np.array([[float(a[i, j]) for j in range(n)] for i in range(n)])
    if not np.isfinite(floats).all():
        raise Doubt("the eigenvalues are too large")
    values, vectors = np.linalg.eigh(floats)
    Q = arb_mat(vectors.tolist())
    L = arb_mat([[values[i] if i == j else 0 for j in range(n)] for i in range(n)])
    unit = arb_mat([[int(i == j) for j in range(n)] for i in range(n)])
    turned = _most((Q.transpose() * Q - unit).tolist())
    rest = _most((a - Q * L * Q.transpose()).tolist())
    return [arb(v) * (1 + arb(0, turned)) + arb(0, rest) for v in values.tolist()]


def _most(rows: list[list[arb]]) -> arb:
    """Return an upper bound of the largest row sum, which bounds a symmetric matrix's norm."""
    return functools.reduce(arb.max, (sum(map(abs, row), arb(0)) for row in rows)).upper()


@rule("svd")
def _svd(machine, eqn, x):
    """Singular values only: a singular vector's sign, or direction among equals, is LAPACK's."""
    real_only(eqn)
    if eqn.params.get("subset_by_index") is not None:
        raise Doubt("a subset of the singular values has no rule")
    values = unbatched([_singular_values(a) for a in batched(x)], eqn.outvars[0])
    if not eqn.params["compute_uv"]:
        return [values]
    why = machine.doubt(eqn, Doubt("singular vectors are not unique, only values are enclosed"))
    return [values, Unknown(why), Unknown(why)]


def _singular_values(a: Shaped[np.ndarray, "m n"]) -> Shaped[np.ndarray, " k"]:
    """Return the singular values, descending: the largest eigenvalues of [[0, a], [a', 0]]."""
    m, n = a.shape
    both = np.full((m + n, m + n), arb(0), dtype=object)
    both[m:, :m] = a.T
    values = _eigenvalues(both)[::-1][: min(m, n)]
    return objects([v.nonnegative_part() for v in values], (min(m, n),))


def _hypotenuse(x: arb, y: arb) -> arb:
    from theorykit.certify._elementwise import power, root

    square = power(x, 2) + power(y, 2)
    return root(square.nonnegative_part() if square.contains(0) else square)
