"""Sums of squares with rational coefficients: found in floats or at once, checked exactly.

A sum of terms c q^2 is not negative, where each c is a product of what is not negative.
`as_squares` reads the squares off where there is one way only; `by_program` asks a semidefinite
program (`_program`) and rounds what it finds to rationals.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from theorykit.certify._program import Block, Rows, rational_grams
from theorykit.certify._ring import REAL, Ring

Squares = tuple[tuple[Any, Any], ...]
"""Pairs (c, q): the sum of c q^2, each c a product of numbers, letters and facts that are >= 0."""

MOST_CANDIDATES = 1500
MOST_BASIS = 120
"""Monomials that may stand in the squares, before and after those are left out that cannot."""


def as_squares(ring: Ring, p: Any) -> Squares | None:
    """Return p as a sum of squares where each product of two monomials arises in one way.

    Letters that are not negative stand for squares themselves. The Gram matrix is then determined,
    and its exact factorisation decides.
    """
    roots = _Roots(ring, ring.used(p), [p])
    found = _only_gram(ring, dict(roots.of(p).terms()))
    if found is None:
        return None
    polynomials = [roots.context.from_dict({m: 1}) for m in found[0]]
    return _checked(ring, p, roots.squares(ring.constant(1), polynomials, found[1]))


def semidefinite(ring: Ring, matrix: Sequence[Sequence[Any]]) -> bool:
    """Whether a symmetric matrix A of polynomials is shown to be positive semidefinite everywhere.

    x'Ax is read as a sum of squares, where each product of two monomials arises in one way.
    """
    entries = [p for row in matrix for p in row]
    roots = _Roots(ring, sorted(set().union(*map(ring.used, entries))), entries)
    n = len(matrix)
    terms: dict[Any, fmpq] = {}
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        pair = tuple((k == i) + (k == j) for k in range(n))
        for m, c in roots.of(matrix[i][j]).terms():
            terms[(*pair, *m)] = c if i == j else 2 * c
    found = ([], []) if not terms else _only_gram(ring, terms)
    if found is None:
        return False
    basis, rows = found
    total: dict[Any, fmpq] = {}
    for d, v in rows:  # checked, as any other certificate
        for (a, x), (b, y) in itertools.product(v.items(), repeat=2):
            m = _product(basis[a], basis[b])
            total[m] = total.get(m, fmpq(0)) + d * x * y
    return {m: c for m, c in total.items() if c != 0} == terms


def _only_gram(ring: Ring, terms: Mapping[Any, fmpq]) -> tuple[list[Any], Rows] | None:
    """Return monomials and the factors of their Gram matrix, where there is one way only."""
    basis = [tuple(e // 2 for e in m) for m, c in terms.items() if _even(m) and c > 0]
    if not basis:
        return None
    place: dict[Any, tuple[int, int]] = {}
    ring.spend(100 + len(basis) ** 2 + 5 * len(terms))
    for i, a in enumerate(basis):
        for j in range(i, len(basis)):
            m = _product(a, basis[j])
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
    return None if rows is None else (basis, rows)


def by_program(ring: Ring, p: Any, facts: Sequence[Any]) -> Squares | None:
    """Return p as a sum of squares and of squares times facts, by a semidefinite program.

    **Arguments:** `facts`: polynomials that are not negative.
    """
    letters = set(ring.used(p)).union(*map(ring.used, facts))
    while more := {j for i in letters & set(ring.squares) for j in ring.used(ring.squares[i])}:
        if more <= letters:
            break
        letters |= more
    roots = _Roots(ring, sorted(letters), [p, *facts, *ring.squares.values()])
    outer = [ring.constant(1), *facts]
    outer += [ring.gens[i] for i in letters if i in ring.squares and ring.signs.get(i, REAL)]
    wanted = roots.of(p)
    blocks, index = [], []
    supports = [set(wanted.monoms())]
    for f in outer[1:]:
        inside = roots.of(f)
        basis = roots.basis(wanted, inside)
        if basis is None or len(basis) > MOST_BASIS:
            return None
        supports.append({_product(m, _product(a, b)) for m in inside.monoms()
                         for a, b in itertools.product(basis, basis)})  # fmt: skip
        blocks.append((inside, basis))
        index.append(f)
    first = roots.basis(wanted, roots.of(outer[0]))
    if first is None:
        return None
    if not roots.relations:
        first = _can_occur(first, set.union(*supports))
    if len(first) > MOST_BASIS or sum(len(b) for _, b in blocks) > 2 * MOST_BASIS:
        return None
    blocks, index = [(roots.of(outer[0]), first), *blocks], [outer[0], *index]
    ring.spend(sum(100 * len(b) ** 2 for _, b in blocks))
    classes = _classes([m for q in (wanted, *(f for f, _ in blocks)) for m in q.monoms()])
    parts, of = [], []
    for (inside, basis), f in zip(blocks, index, strict=True):
        groups: dict[Any, list[Any]] = {}
        for m in basis:
            groups.setdefault(classes(m), []).append(roots.context.from_dict({m: 1}))
        for group in groups.values():
            parts.append(Block(inside, group))
            of.append(f)
    found = rational_grams(wanted, parts, roots.reduced, factorised)
    if found is None:
        return None
    made: list[Any] = []
    for (combined, rows), k in found:
        made += roots.squares(of[k], combined, rows)
    return _checked(ring, p, made)


def _checked(ring: Ring, p: Any, squares: Sequence[tuple[Any, Any]]) -> Squares | None:
    """Return the squares if they add up to p, exactly."""
    total = ring.constant(0)
    for c, q in squares:
        total += ring.times(c, ring.times(q, q))
    return tuple(squares) if ring.reduced(total - p).is_zero() else None


class _Roots:
    """Polynomials in few letters, with a root in place of each that is not negative.

    A letter that occurs in even powers only stays as it is.
    """

    def __init__(self, ring: Ring, letters: Sequence[int], about: Sequence[Any]):
        self.ring, self.letters = ring, list(letters) or [0]
        odd = {i for p in about for m in p.monoms() for i in self.letters if m[i] % 2}
        self.doubled = [
            2 if ring.signs.get(i, REAL) and i in odd and i not in ring.squares else 1
            for i in self.letters
        ]
        self.context = fmpq_mpoly_ctx.get([f"y{i}" for i in self.letters], Ordering.lex)
        self.relations: dict[int, Any] = {
            k: self.of(ring.squares[i]) for k, i in enumerate(self.letters) if i in ring.squares
        }

    def of(self, p: Any) -> Any:
        """Return a polynomial of the ring in roots."""
        terms: Mapping[Any, Any] = {
            tuple(m[i] * two for i, two in zip(self.letters, self.doubled, strict=True)): c
            for m, c in p.terms()
        }
        return self.context.from_dict(dict(terms))

    def reduced(self, p: Any) -> Any:
        """Return the same polynomial, with squares of letters substituted."""
        for k in sorted(self.relations, reverse=True):
            if p.degrees()[k] > 1:
                made = self.context.from_dict({})
                for m, c in p.terms():
                    rest = self.context.from_dict({(*m[:k], m[k] % 2, *m[k + 1 :]): c})
                    made += rest * self.relations[k] ** (m[k] // 2)
                p = made
        return p

    def basis(self, p: Any, f: Any) -> list[tuple[int, ...]] | None:
        """Return the monomials b for which f b^2 has no higher degree than p; None if too many."""
        weight = [1] * len(self.letters)
        for k, r in self.relations.items():
            weight[k] = max(1, -(-max((sum(m) for m in r.monoms()), default=0) // 2))
        degree = lambda m: sum(e * w for e, w in zip(m, weight, strict=True))
        whole = [degree(m) for m in p.monoms()]
        own = [degree(m) for m in f.monoms()]
        high = (max(whole) - max(own)) // 2
        low = 0 if self.relations else -(-(min(whole) - min(own)) // 2)
        most = [
            1 if k in self.relations else min(high, max(0, (d - e) // 2))
            for k, (d, e) in enumerate(zip(self._reach(p), f.degrees(), strict=True))
        ]
        return _monomials(most, weight, max(low, 0), high)

    def _reach(self, p: Any) -> list[int]:
        reach = list(p.degrees())
        for k, r in self.relations.items():
            if reach[k]:
                reach = [max(a, 2 * b) for a, b in zip(reach, r.degrees(), strict=True)]
        return reach

    def squares(
        self, outer: Any, basis: Sequence[Any], rows: Sequence[tuple[fmpq, dict[int, fmpq]]]
    ) -> list[tuple[Any, Any]]:
        """Return the squares in letters and not in their roots."""
        ring, made = self.ring, []
        for d, v in rows:
            inside = self.context.from_dict({})
            for k, x in v.items():
                inside += basis[k] * x
            first = inside.monoms()[0]
            odd = [e % 2 if two == 2 else 0 for e, two in zip(first, self.doubled, strict=True)]
            terms = {}
            for m, c in inside.terms():
                powers = [0] * len(ring.gens)
                for i, e, o, two in zip(self.letters, m, odd, self.doubled, strict=True):
                    powers[i] = (e - o) // two
                terms[tuple(powers)] = c
            powers = [0] * len(ring.gens)
            for i, o in zip(self.letters, odd, strict=True):
                powers[i] = o
            c = outer * ring.context.from_dict({tuple(powers): d})
            made.append((c, ring.context.from_dict(terms)))
        return made


def _even(m: tuple[int, ...]) -> bool:
    return all(e % 2 == 0 for e in m)


def _product(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _monomials(
    most: Sequence[int], weight: Sequence[int], low: int, high: int
) -> list[tuple[int, ...]] | None:
    """Return the monomials between two degrees; None if there are too many."""
    made: list[tuple[int, ...]] = []

    def extend(start: tuple[int, ...], left: int) -> Iterator[None]:
        k = len(start)
        if k == len(most):
            if high - left >= low:
                made.append(start)
                yield
            return
        for e in range(min(most[k], left // weight[k]) + 1):
            yield from extend((*start, e), left - e * weight[k])

    for count, _ in enumerate(extend((), high)):
        if count >= MOST_CANDIDATES:
            return None
    return made


def _can_occur(basis: list[tuple[int, ...]], support: set[Any]) -> list[tuple[int, ...]]:
    """Leave out monomials whose square nothing else can cancel."""
    while True:
        sums: dict[Any, int] = {}
        if len(basis) > 400:
            return basis
        for a, b in itertools.combinations(basis, 2):
            m = _product(a, b)
            sums[m] = 1
        kept = [m for m in basis if _product(m, m) in support or _product(m, m) in sums]
        if len(kept) == len(basis):
            return kept
        basis = kept


def _classes(monomials: Sequence[tuple[int, ...]]) -> Any:
    """Return the class of a monomial: two of different classes have no product in the problem.

    Changing the signs of some letters leaves all monomials of the problem as they are.
    """
    rows: list[int] = []
    for m in monomials:
        bits = sum((e % 2) << k for k, e in enumerate(m))
        for r in rows:
            bits = min(bits, bits ^ r)
        if bits:
            rows.append(bits)

    def of(m: tuple[int, ...]) -> int:
        bits = sum((e % 2) << k for k, e in enumerate(m))
        for r in sorted(rows, reverse=True):
            bits = min(bits, bits ^ r)
        return bits

    return of


def factorised(gram: Sequence[Sequence[fmpq]]) -> list[tuple[fmpq, dict[int, fmpq]]] | None:
    """Return pairs (d, v), d > 0, with gram the sum of d v v'; None if it is not semidefinite."""
    left = [{j: x for j, x in enumerate(row) if x != 0} for row in gram]
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
