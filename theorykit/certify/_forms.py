"""Reasons that look at a polynomial as a whole: two inequalities for absolute values, and minors.

They are the rules used on paper: Cauchy's inequality or the triangle inequality for absolute
values, and the characteristic polynomial of its matrix for a quadratic form.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flint import fmpq

from theorykit.certify._ring import REAL, Ring, quotient_of, shortened
from theorykit.certify._signs import Reason, certain, signed

MOST_ROWS = 3
"""Letters of a quadratic form that is judged by its minors."""

Prove = Callable[[Any], Reason | None]
"""Tries to show that a polynomial is not negative."""


def by_cauchy(ring: Ring, p: Any) -> Reason | None:
    """Return why p = R - sum_k a_k |z_k| is not negative, with a_k >= 0 and A = sum_k a_k.

    By Cauchy's inequality it is not if R >= 0 and R^2 >= A sum_k a_k z_k^2. Where R = A b it is
    enough that b >= 0 and A b^2 >= sum_k a_k z_k^2.
    """
    found = _absolute_sum(ring, p)
    if found is None:
        return None
    rest, weights, inner = found
    whole = sum(weights, ring.constant(0))
    bound = quotient_of(rest, whole)
    first = certain(ring, rest if bound is None else bound)
    if not first:
        return None
    squares = sum(
        (ring.times(w, ring.times(z, z)) for w, z in zip(weights, inner, strict=True)),
        ring.constant(0),
    )
    if bound is None:
        second = certain(ring, ring.reduced(ring.times(rest, rest) - ring.times(whole, squares)))
    else:
        gap = ring.reduced(ring.times(whole, ring.times(bound, bound)) - squares)
        second = _by_entries(ring, gap, bound, weights, inner) or certain(ring, gap)
    if not second:
        return None
    how = "Cauchy's inequality for the absolute values, from these"
    return Reason(p, "cauchy", how, (first, second))


def by_length(ring: Ring, p: Any, prove: Prove) -> Reason | None:
    """Return why p = R s - b |z| is not negative, or R s - z, with s^2 = sum_i w_i y_i^2.

    The y_i are letters, the w_i > 0 numbers, and z = sum_i r_i y_i. By Cauchy's inequality z^2 is
    at most s^2 sum_i r_i^2 / w_i. So it is enough that R >= 0 and R^2 >= b^2 sum_i r_i^2 / w_i.
    """
    degrees = p.degrees()
    for i in ring.used(p):
        weights = _weights(ring, i) if degrees[i] == 1 else None
        if weights is None:
            continue
        bound = p.derivative(i)
        parts = _linear_in(ring, bound * ring.gens[i] - p, list(weights))
        if parts is None:
            continue
        times, slopes = parts
        first = certain(ring, bound)
        if not first:
            continue
        squares = [ring.times(r, r) / w for r, w in zip(slopes, weights.values(), strict=True)]
        whole = ring.times(ring.times(times, times), sum(squares, ring.constant(0)))
        second = prove(ring.reduced(ring.times(bound, bound) - whole))
        if second:
            how = f"Cauchy's inequality for {shortened(ring.names[i])}, from these"
            return Reason(p, "length", how, (first, second))
    return None


def _weights(ring: Ring, i: int) -> dict[int, fmpq] | None:
    """Return the w_j of a letter that is the root of sum_j w_j y_j^2, by the y_j's letters."""
    square = ring.squares.get(i)
    if square is None or not ring.signs.get(i, REAL):
        return None
    weights = {}
    for m, c in square.terms():
        letters = [j for j, e in enumerate(m) if e]
        if len(letters) != 1 or m[letters[0]] != 2 or c < 0:
            return None
        weights[letters[0]] = fmpq(c)
    return weights


def _linear_in(ring: Ring, p: Any, letters: Sequence[int]) -> tuple[Any, list[Any]] | None:
    """Return b and the r_j of p = b |z| or b z, z = sum_j r_j y_j; None where it is neither."""
    times, z = ring.constant(1), p
    inner = [k for k in ring.used(p) if ring.made.get(k, ("", None))[0] == "abs"]
    if len(inner) == 1 and p.degrees()[inner[0]] == 1:
        times, z = p.derivative(inner[0]), ring.made[inner[0]][1]
        if not (p - times * ring.gens[inner[0]]).is_zero():
            return None
    slopes = [z.derivative(j) for j in letters]
    if any(set(letters) & set(ring.used(r)) for r in slopes):
        return None
    rest = z - sum((r * ring.gens[j] for r, j in zip(slopes, letters, strict=True)), 0 * z)
    return (times, slopes) if ring.reduced(rest).is_zero() else None


def by_triangle(ring: Ring, p: Any, prove: Prove) -> Reason | None:
    """Return why p = R - a |z| is not negative, z = sum_j c_j y_j, and M is the largest |y_j|.

    Since |z| <= M sum_j |c_j| it is enough that R >= a M sum_j |c_j|.
    """
    degrees = p.degrees()
    for i in ring.used(p):
        if ring.made.get(i, ("", None))[0] != "abs" or degrees[i] > 1:
            continue
        weight, z = -p.derivative(i), ring.made[i][1]
        for k in ring.used(p):
            if ring.made.get(k, ("", None))[0] != "max":
                continue
            size = _size_by_entries(ring, z, ring.made[k][1])
            if size is None or not certain(ring, weight):
                continue
            rest = p + weight * ring.gens[i] - ring.times(ring.times(weight, size), ring.gens[k])
            found = prove(ring.reduced(rest))
            if found:
                how = f"|z| is at most {shortened(ring.show(size))} times the maximum, and"
                return Reason(p, "triangle", how, (found,))
    return None


def _size_by_entries(ring: Ring, z: Any, entries: Sequence[Any]) -> Any | None:
    """Return sum_j |c_j| for z = sum_j c_j y_j, the y_j letters whose absolute values these are."""
    inner = [_inside(ring, q) for q in entries]
    letters = {ring.only(y) for _, y in filter(None, inner)} | {
        ring.only(-y) for _, y in filter(None, inner)
    }
    left, size = z, ring.constant(0)
    for j in letters - {None}:
        c = z.derivative(j)
        sign = signed(ring, c) if not c.is_zero() else 1
        if not sign or letters & set(ring.used(c)):
            return None
        left = left - c * ring.gens[j]
        size = size + sign * c
    return size if left.is_zero() else None


def _absolute_sum(ring: Ring, p: Any) -> tuple[Any, list[Any], list[Any]] | None:
    """Return R, the a_k and the z_k of R - sum_k a_k |z_k|, with two or more absolute values."""
    letters = [i for i in ring.used(p) if ring.made.get(i, ("", None))[0] == "abs"]
    degrees = p.degrees()
    if len(letters) < 2 or any(degrees[i] > 1 for i in letters):
        return None
    weights = [-p.derivative(i) for i in letters]
    if any(set(letters) & set(ring.used(w)) for w in weights):
        return None
    if not all(certain(ring, w) for w in weights):
        return None
    rest = p + sum((w * ring.gens[i] for w, i in zip(weights, letters, strict=True)), 0 * p)
    return rest, weights, [ring.made[i][1] for i in letters]


def _by_entries(
    ring: Ring, gap: Any, bound: Any, weights: Sequence[Any], inner: Sequence[Any]
) -> Reason | None:
    """Return why sum_k a_k (b^2 - z_k^2) >= 0 for b = t max_k |y_k|, where z is a part of y.

    It is one, c times a projection, if sum_k a_k z_k (c t y_k - z_k) = 0 for a c <= 1. The sum is
    then that of a_k (c t)^2 (b^2 / t^2 - y_k^2), a_k (c t y_k - z_k)^2, and a_k (1 - c^2) b^2.
    """
    largest = [i for i in ring.used(bound) if ring.made.get(i, ("", None))[0] == "max"]
    if len(largest) != 1:
        return None
    top = ring.gens[largest[0]]
    times = bound.derivative(largest[0])
    entries = [_inside(ring, q) for q in ring.made[largest[0]][1]]
    if bound != times * top or len(entries) != len(inner) or None in entries:
        return None
    outer, parts, sum_of_products, sum_of_squares = [], [], ring.constant(0), ring.constant(0)
    for w, z, (modulus, y) in zip(weights, inner, entries, strict=True):  # type: ignore[misc]
        j = ring.only(y)
        y = -y if j is not None and certain(ring, -z.derivative(j)) else y
        outer.append(ring.times(w, (top - modulus) * (top + modulus)))
        parts.append((w, z, y))
        sum_of_products += ring.times(ring.times(w, z), ring.times(times, y))
        sum_of_squares += ring.times(w, ring.times(z, z))
    if sum_of_products.is_zero():
        return None
    share = fmpq(sum_of_squares.leading_coefficient()) / sum_of_products.leading_coefficient()
    if not 0 < share <= 1 or sum_of_squares != sum_of_products * share:
        return None
    squares = [(c, times * share) for c in outer]
    squares += [(w, times * y * share - z) for w, z, y in parts]
    if share < 1:
        squares.append((sum(weights, ring.constant(0)) * (1 - share**2), bound))
    total = sum((ring.times(c, ring.times(q, q)) for c, q in squares), ring.constant(0))
    if not ring.reduced(total - gap).is_zero():
        return None
    how = "a sum of squares: the z are a projection of the entries of a maximum"
    return Reason(gap, "squares", how, squares=tuple(squares))


def _inside(ring: Ring, q: Any) -> tuple[Any, Any] | None:
    """Return |y| as a letter, and y, if a number is an absolute value, and else None."""
    i = None if q.den else ring.only(q.num)
    if i is None or ring.made.get(i, ("", None))[0] != "abs":
        return None
    return ring.gens[i], ring.made[i][1]


def by_minors(ring: Ring, p: Any, prove: Prove) -> Reason | None:
    """Return why a quadratic form in a few letters is not negative.

    A symmetric matrix has no negative eigenvalue if and only if, for each k, the sum of its
    principal minors of k rows is not negative: these are the coefficients of its characteristic
    polynomial, up to sign, and all of its roots are real.
    """
    for letters in _quadratic_in(ring, p):
        matrix = [[_coefficient(p, i, j) for j in letters] for i in letters]
        parts = []
        for total in _sums_of_minors(ring, matrix):
            ring.spend(200 + len(total))
            found = prove(total)
            if found is None:
                break
            parts.append(found)
        else:
            of = ", ".join(ring.names[i] for i in letters)
            how = f"a quadratic form in {of}; sums of principal minors of its matrix are these"
            return Reason(p, "minors", how, tuple(parts))
    return None


def _quadratic_in(ring: Ring, p: Any) -> Iterator[tuple[int, ...]]:
    """Yield sets of letters that occur to the second degree, together, in every term."""
    degrees, monomials = p.degrees(), p.monoms()
    able = [i for i in ring.used(p) if degrees[i] == 2]
    for count in range(2, MOST_ROWS + 1):
        for letters in itertools.combinations(able, count):
            ring.spend(5)
            if all(sum(m[i] for i in letters) == 2 for m in monomials):
                yield letters


def _coefficient(p: Any, i: int, j: int) -> Any:
    """Return the entry of a form's matrix."""
    return p.derivative(i).derivative(j) / 2


def _sums_of_minors(ring: Ring, matrix: Sequence[Sequence[Any]]) -> Iterator[Any]:
    """Yield them block by block, of a matrix that may be made of blocks."""
    left = set(range(len(matrix)))
    while left:
        block, front = set(), [min(left)]
        while front:
            i = front.pop()
            block.add(i)
            front += [j for j in left - block if not matrix[i][j].is_zero()]
        left -= block
        for count in range(1, len(block) + 1):
            rows = itertools.combinations(sorted(block), count)
            minors = (_determinant(ring, matrix, chosen, chosen) for chosen in rows)
            yield ring.reduced(sum(minors, ring.constant(0)))


def _determinant(
    ring: Ring, matrix: Sequence[Sequence[Any]], rows: Sequence[int], columns: Sequence[int]
) -> Any:
    if not rows:
        return ring.constant(1)
    made = ring.constant(0)
    for k, j in enumerate(columns):
        if not matrix[rows[0]][j].is_zero():
            less = _determinant(ring, matrix, rows[1:], [*columns[:k], *columns[k + 1 :]])
            made += ring.times(matrix[rows[0]][j], less) * (-1) ** k
    return made
