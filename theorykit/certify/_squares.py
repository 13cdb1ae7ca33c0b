"""Sums of squares with rational coefficients: found by a semidefinite program, checked exactly."""

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from theorykit.certify._ring import REAL, Ring

Squares = tuple[tuple[Any, Any], ...]
"""Pairs (c, q): the sum of c q^2, where c is a positive number times letters that are nonnegative."""


def as_squares(ring: Ring, p: Any) -> Squares | None:
    """Return p as a sum of squares where each product of two monomials comes about in one way.

    Letters that are not negative stand for squares themselves. The Gram matrix is then determined,
    and its exact factorisation decides.
    """
    letters = ring.used(p)
    doubled = [1 if ring.signs.get(i, REAL) is REAL else 2 for i in letters]
    terms = {
        tuple(m[i] * d for i, d in zip(letters, doubled, strict=True)): fmpq(c)
        for m, c in p.terms()
    }
    basis = [tuple(e // 2 for e in m) for m in terms if all(e % 2 == 0 for e in m)]
    if not basis:
        return None
    place = {}
    ring.spend(5 * len(basis) ** 2 + 20 * len(terms))
    for i, a in enumerate(basis):
        for j in range(i, len(basis)):
            m = tuple(x + y for x, y in zip(a, basis[j], strict=True))
            if m in terms and (i == j or m not in place):
                place[m] = (i, j)
    if set(place) != set(terms):
        return None
    gram = [[fmpq(0)] * len(basis) for _ in basis]
    for m, (i, j) in place.items():
        gram[i][j] += terms[m] if i == j else terms[m] / 2
        if i != j:
            gram[j][i] = gram[i][j]
    rows = factorised(gram)
    return None if rows is None else squares_of(ring, letters, doubled, basis, rows)


def factorised(gram: list[list[fmpq]]) -> list[tuple[fmpq, dict[int, fmpq]]] | None:
    """Return pairs (d, v), d > 0, with gram the sum of d v v'; None if it is not semidefinite."""
    left = [dict((j, x) for j, x in enumerate(row) if x != 0) for row in gram]
    made = []
    for k in range(len(left)):
        row = left[k]
        d = row.get(k, fmpq(0))
        if d < 0 or (d == 0 and row):
            return None
        if d == 0:
            continue
        v = {j: x / d for j, x in row.items()}
        made.append((d, v))
        for i, x in v.items():
            if i == k:
                continue
            for j, y in v.items():
                value = left[i].get(j, fmpq(0)) - d * x * y
                if value == 0:
                    left[i].pop(j, None)
                else:
                    left[i][j] = value
        left[k] = {}
        for i in v:
            left[i].pop(k, None)
    return made


def squares_of(
    ring: Ring,
    letters: Sequence[int],
    doubled: Sequence[int],
    basis: Sequence[tuple[int, ...]],
    rows: Sequence[tuple[fmpq, dict[int, fmpq]]],
) -> Squares:
    """Return the squares in letters and not in their roots."""
    made = []
    for d, v in rows:
        first = basis[next(iter(v))]
        odd = [e % 2 if two == 2 else 0 for e, two in zip(first, doubled, strict=True)]
        outer = [0] * len(ring.gens)
        for i, e in zip(letters, odd, strict=True):
            outer[i] = e
        q = {}
        for k, x in v.items():
            inner = [0] * len(ring.gens)
            for i, e, o, two in zip(letters, basis[k], odd, doubled, strict=True):
                inner[i] = (e - o) // 2 if two == 2 else e
            q[tuple(inner)] = x
        outside = ring.context.from_dict({tuple(outer): d})
        made.append((outside, ring.context.from_dict(q)))
    return tuple(made)
