"""Gram matrices with rational entries: a semidefinite program in floats, then rounded.

What comes out satisfies its linear equations exactly and is semidefinite by an exact factorisation;
how it was found does not matter (Peyrl and Parrilo, 2008). Where the polynomial has zeros, no Gram
matrix is positive definite: the null vectors are read off, made rational, and left out of
the basis.
"""

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

MOST_ROUNDS = 4
MOST_UNKNOWNS = 4000

Rows = list[tuple[fmpq, dict[int, fmpq]]]


@dataclasses.dataclass(frozen=True)
class Block:
    """Squares of combinations of these polynomials, times `outer`."""

    outer: Any
    basis: Sequence[Any]


def rational_grams(
    p: Any,
    blocks: Sequence[Block],
    reduced: Callable[[Any], Any],
    factorised: Callable[[list[list[fmpq]]], Rows | None],
) -> list[tuple[tuple[Sequence[Any], Rows], int]] | None:
    """Return the squares of each block, with its number, whose sum is p; None if none are found."""
    kept = [(block, k) for k, block in enumerate(blocks)]
    for _ in range(MOST_ROUNDS):
        kept = [(b, k) for b, k in kept if b.basis]
        system = _System.of(p, [b for b, _ in kept], reduced)
        if system is None:
            return None
        found = system.solve()
        if found is None:
            return None
        least, grams = found
        if least > 1e-9:
            for bits in (2, 5, 9, 14, 20, 28):
                exact = system.rounded(grams, bits)
                if exact is None:
                    return None
                rows = [r for r in map(factorised, exact) if r is not None]
                if len(rows) == len(exact):
                    made = zip(kept, rows, strict=True)
                    return [((b.basis, r), k) for (b, k), r in made]
        pairs = zip(kept, grams, strict=True)
        faces = [(face, k) for (b, k), g in pairs if (face := _face(b, g)) is not None]
        if sum(len(b.basis) for b, _ in faces) == sum(len(b.basis) for b, _ in kept):
            return None
        kept = faces
    return None


@dataclasses.dataclass
class _System:
    """Linear equations of the upper triangles of all Gram matrices: a row per monomial."""

    sizes: list[int]
    unknowns: list[tuple[int, int, int]]
    columns: list[list[tuple[int, fmpq]]]
    right: list[fmpq]

    @classmethod
    def of(cls, p: Any, blocks: Sequence[Block], reduced: Callable[[Any], Any]) -> "_System | None":
        rows: dict[Any, int] = {}
        unknowns, columns = [], []
        if sum(len(b.basis) * (len(b.basis) + 1) // 2 for b in blocks) > MOST_UNKNOWNS:
            return None
        for k, block in enumerate(blocks):
            for j in range(len(block.basis)):
                for i in range(j + 1):
                    q = reduced(block.outer * block.basis[i] * block.basis[j])
                    times = 1 if i == j else 2
                    columns.append(
                        [(rows.setdefault(m, len(rows)), fmpq(c) * times) for m, c in q.terms()]
                    )
                    unknowns.append((k, i, j))
        right = [fmpq(0)] * len(rows)
        for m, c in p.terms():
            if m not in rows:
                return None
            right[rows[m]] = fmpq(c)
        return cls([len(b.basis) for b in blocks], unknowns, columns, right)

    def solve(self) -> tuple[float, list[np.ndarray]] | None:
        """Return Gram matrices in floats, and their least eigenvalue, as large as can be."""
        import clarabel  # type: ignore[import-untyped]
        from scipy import sparse

        count = len(self.unknowns)
        scale = max(abs(float(c.p) / float(c.q)) for c in self.right)
        entries: list[tuple[int, int, float]] = []
        for n, column in enumerate(self.columns):
            entries += [(row, n, float(c.p) / float(c.q)) for row, c in column]
        bound = [float(c.p) / float(c.q) / scale for c in self.right]
        row = len(self.right)
        cones = [clarabel.ZeroConeT(row)]
        for n, (_, i, j) in enumerate(self.unknowns):
            entries.append((row, n, -1.0 if i == j else -(2**0.5)))
            if i == j:
                entries.append((row, count, 1.0))
            row += 1
        bound += [0.0] * (row - len(bound))
        cones += [clarabel.PSDTriangleConeT(n) for n in self.sizes]
        entries.append((row, count, 1.0))
        bound.append(1.0)
        cones.append(clarabel.NonnegativeConeT(1))
        at, to, values = zip(*entries, strict=True)
        A = sparse.csc_matrix((values, (at, to)), shape=(row + 1, count + 1))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = 60
        cost = np.zeros(count + 1)
        cost[-1] = -1.0
        none = sparse.csc_matrix((count + 1, count + 1))
        solver = clarabel.DefaultSolver(none, cost, A, np.asarray(bound), cones, settings)
        found = solver.solve()
        x = np.asarray(found.x)
        if not np.isfinite(x).all() or x[-1] < -1e-5 or "Infeasible" in str(found.status):
            return None
        grams = [np.zeros((n, n)) for n in self.sizes]
        for value, (k, i, j) in zip(x, self.unknowns, strict=False):
            grams[k][i, j] = grams[k][j, i] = value * scale
        return float(x[-1]), grams

    def rounded(self, grams: Sequence[np.ndarray], bits: int) -> list[list[list[fmpq]]] | None:
        """Return the matrices nearest to a rounding of these that satisfy the equations exactly."""
        values = [
            fmpq(round(float(grams[k][i, j]) * 2**bits), 2**bits) for k, i, j in self.unknowns
        ]
        short = list(self.right)
        for x, column in zip(values, self.columns, strict=True):
            for row, c in column:
                short[row] -= c * x
        for group in self._groups():
            if all(short[r] == 0 for r in group):
                continue
            place = {r: n for n, r in enumerate(group)}
            square = [[fmpq(0)] * len(group) for _ in group]
            inside = [
                n for n, column in enumerate(self.columns) if column and column[0][0] in place
            ]
            for n in inside:
                for r, c in self.columns[n]:
                    for s, d in self.columns[n]:
                        square[place[r]][place[s]] += c * d
            y = _solved(square, [short[r] for r in group])
            if y is None:
                return None
            for n in inside:
                for r, c in self.columns[n]:
                    values[n] += c * y[place[r]]
        made = [[[fmpq(0)] * n for _ in range(n)] for n in self.sizes]
        for x, (k, i, j) in zip(values, self.unknowns, strict=True):
            made[k][i][j] = made[k][j][i] = x
        return made

    def _groups(self) -> list[list[int]]:
        """Return the rows that have unknowns in common, directly or through others."""
        parent = list(range(len(self.right)))

        def root(r: int) -> int:
            while parent[r] != r:
                parent[r] = parent[parent[r]]
                r = parent[r]
            return r

        for column in self.columns:
            for row, _ in column[1:]:
                parent[root(row)] = root(column[0][0])
        groups: dict[int, list[int]] = {}
        for r in range(len(parent)):
            groups.setdefault(root(r), []).append(r)
        return list(groups.values())


def _solved(square: list[list[fmpq]], right: list[fmpq]) -> list[fmpq] | None:
    """Return a solution of linear equations; None if there is none."""
    n = len(square)
    found, rank = fmpq_mat([[*row, b] for row, b in zip(square, right, strict=True)]).rref()
    made = [fmpq(0)] * n
    for k in range(rank):
        first = next(j for j in range(n + 1) if found[k, j] != 0)
        if first == n:
            return None
        made[first] = found[k, n]
    return made


def _face(block: Block, gram: np.ndarray) -> Block | None:
    """Return the block without the null vectors of its Gram matrix, None if those do not round."""
    values, vectors = np.linalg.eigh(gram)
    null = vectors[:, values < 1e-5 * max(1.0, values[-1])].T.copy()
    pivots: list[int] = []
    for k in range(len(null)):
        r, c = divmod(int(np.argmax(np.abs(null[k:]))), null.shape[1])
        null[[k, k + r]] = null[[k + r, k]]
        null[k] /= null[k, c]
        for other in range(len(null)):
            if other != k:
                null[other] -= null[other, c] * null[k]
        pivots.append(c)
    basis = []
    for j in range(len(block.basis)):
        if j in pivots:
            continue
        made = block.basis[j]
        for k, pivot in enumerate(pivots):
            near = Fraction(float(null[k, j])).limit_denominator(60)
            if abs(float(near) - null[k, j]) > 2e-3:
                return None
            if near:
                made = made - block.basis[pivot] * fmpq(near.numerator, near.denominator)
        basis.append(made)
    return Block(block.outer, basis)
