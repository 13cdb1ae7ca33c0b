"""Both sides of a claim as expressions: the jaxpr, run on them in place of numbers.

Solutions of linear systems are written by Cramer's rule, eigenvalues of two rows by their formula.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from theorykit.certify import RULES, Field, Machine, NotCertifiable
from theorykit.certify.steps import (
    MOST_UNKNOWNS,
    by_eigenvalues,
    by_solver,
    factor,
    is_inexact,
)
from theorykit.export._reals import Real, is_number, real
from theorykit.export._terms import NotExportable

MOST_SORTED = 4
"""More numbers need too many exchanges to be read."""


def _less(a: Real, b: Real) -> bool | None:
    return bool(a.value < b.value) if a.op == b.op == "number" else False if a is b else None


def _equal(a: Real, b: Real) -> bool | None:
    if a is b and a.finite:
        return True
    return bool(a.value == b.value) if a.op == b.op == "number" else None


def _exact(machine: Any, eqn: Any) -> np.ndarray:
    value = eqn.params["value"]
    named = {"pi": Real("PI"), "e": real(1).exp()}
    made = np.empty((), dtype=object)
    made[()] = real(named.get(value, value) if isinstance(value, str) else value)
    return made


def _determinant(rows: Sequence[Sequence[Real]]) -> Real:
    """Return a determinant by minors, each of them once."""

    @functools.cache
    def minor(columns: tuple[int, ...]) -> Real:
        row, made = rows[-len(columns)], real(0)
        for i, j in enumerate(columns):
            left = columns[:i] + columns[i + 1 :]
            part = row[j] * minor(left) if left else row[j]
            made = made - part if i % 2 else made + part
        return made

    return minor(tuple(range(len(rows))))


def _solved(A: np.ndarray, b: np.ndarray) -> list[Real]:
    """Solve a linear system by Cramer's rule."""
    n = len(A)
    if n > MOST_UNKNOWNS:
        raise NotCertifiable(
            f"linear systems of more than {MOST_UNKNOWNS} unknowns are not written for Rocq.",
            primitive="custom_linear_solve",
        )
    rows = [list(row) for row in A]
    whole = _determinant(rows)
    put = lambda k: [[*row[:k], y, *row[k + 1 :]] for row, y in zip(rows, b, strict=True)]
    return [_determinant(put(k)) / whole for k in range(n)]


def _eigenvalues(a: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of a symmetric matrix, given by its lower triangle, ascending."""
    n = len(a)
    if n > 2:
        raise NotCertifiable(
            f"eigenvalues of {n} x {n} matrices are not written for Rocq.", primitive="eigh"
        )
    if n < 2:
        return a.reshape(n)
    mean, half = (a[0, 0] + a[1, 1]) / 2, (a[0, 0] - a[1, 1]) / 2
    away = (half**2 + a[1, 0] ** 2).sqrt()
    return np.array([mean - away, mean + away], dtype=object)


def _sort(machine: Any, eqn: Any, *xs: np.ndarray) -> list[np.ndarray]:
    """Sort along an axis by exchanges of neighbours: the smaller of two, and the larger."""
    if len(xs) > 1 or not is_inexact(eqn.invars[0]):
        raise NotCertifiable("sorting by keys is not written for Rocq.", primitive="sort")
    rows = np.moveaxis(xs[0], eqn.params["dimension"], -1).copy()
    n = rows.shape[-1]
    if n > MOST_SORTED:
        raise NotCertifiable(
            f"sorting more than {MOST_SORTED} numbers is not written for Rocq.", primitive="sort"
        )
    for where in np.ndindex(rows.shape[:-1]):
        row = rows[where]
        for k in (k for last in range(n - 1, 0, -1) for k in range(last)):
            row[k], row[k + 1] = row[k].min(row[k + 1]), row[k].max(row[k + 1])
    return [np.moveaxis(rows, -1, eqn.params["dimension"])]


def _unwritten(name: str) -> Any:
    def rule(machine: Any, eqn: Any, *xs: Any) -> Any:
        raise NotCertifiable(f"{name} is not written for Rocq.", primitive=name)

    return rule


_WITHOUT = {
    "erf", "erfc", "erf_inv", "lgamma", "digamma", "cbrt", "asin", "acos", "asinh", "acosh",
    "atanh", "atan2", "sign", "rem", "complex", "conj", "real", "imag", "lu", "exp2",
    "top_k", "argmax", "argmin",
}  # fmt: skip

REALS = Field(
    real,
    _less,
    _equal,
    RULES
    | {name: _unwritten(name) for name in _WITHOUT}
    | {
        "exact": _exact,
        "custom_linear_solve": by_solver(_solved, lambda x: is_number(x, 0)),
        "sort": _sort,
        "eigh": by_eigenvalues(_eigenvalues),
        "cholesky": lambda machine, eqn, x: factor(machine, eqn, x, lambda left: None),
    },
)
"""Expressions as the numbers of a machine."""


def sides(program: Any, leaves: Sequence[np.ndarray]) -> tuple[list[Real], list[Real]]:
    """Return the entries of both sides of a traced claim.

    **Raises:** `NotExportable` for what has no expression.
    """
    try:
        left, right = program.run(Machine(field=REALS), leaves)
    except NotCertifiable as error:
        what = error.primitive
        group = f"the sides use {what}, which is not written for Rocq" if what else str(error)
        raise NotExportable(f"{error}".rstrip(".") + ".", group) from None
    return [real(x) for x in left.flat], [real(x) for x in right.flat]
