"""Finite transformers to Limit Transformers, through product functions alone (Lemma 52).

Every dimension of the Limit Transformer is the result of a path of value matrices: Gamma, read by
an MLP unit or an output; Lambda and Omega, the two sides of a contribution to a logit. A path has a
to-do list; passing through a value matrix removes it from the list. Dimensions that are zero in
every vector parameter are left out.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from theorykit.common.arguments import instance
from theorykit.subjects.limit._products import (
    Path,
    Vector,
    alpha,
    beta,
    incoming,
    outgoing,
    paths,
    toeplitz,
)
from theorykit.subjects.limit._transformer import Head, Layer, Local, Transformer


@dataclasses.dataclass(frozen=True)
class _Gamma:
    """w^T (prod todo) v."""

    todo: Path
    w: Vector


@dataclasses.dataclass(frozen=True)
class _Side:
    """A contribution to the logits of a head: `key` side (Lambda) or query side (Omega).

    v passes along `first` and w along `second`; `todo` is the part of the path still ahead on this
    side.
    """

    key: bool
    todo: Path
    first: Path
    second: Path
    head: tuple[int, int]
    v: Vector
    w: Vector


def to_limit(transformer: Transformer) -> Transformer:
    """Return a Limit Transformer equal to a transformer of Theta_n up to length n (Lemma 52).

    Equality is at offset 0. Its encodings have the smallest common period of all products of
    positional encodings along value matrices. If these are not periodic over all n positions (the
    end of the range of Lemma 48), the period is n.

    **Raises:** `ValueError` for a transformer without a context, or whose products p_i^T K^T Q p_j
    depend on more than j - i.
    """
    instance("transformer", transformer, Transformer, "a limit.Transformer")
    if transformer.context is None:
        raise ValueError("to_limit takes a transformer with a context.")
    return _Translation(transformer).limit()


class _Translation:
    def __init__(self, t: Transformer):
        assert t.context is not None
        self.t, self.n = t, t.context
        self.p = t.encodings(self.n)
        self.heads = [
            (l, h) for l, layer in enumerate(t.layers, 1) for h in range(1, len(layer.heads) + 1)
        ]
        self.period = self.common_period()
        self.outgoing = list(outgoing(t, self.period))
        self.dims: dict[_Gamma | _Side, int] = {}
        self.vectors = {name: self.translated(name, v) for name, v in self.outgoing}

    def common_period(self) -> int:
        """Return the smallest period of all products of two encodings along value matrices."""
        products = []
        for l, h in self.heads:
            below = paths(self.t, l)
            for first, second in itertools.product(below, below):
                if first or second:
                    products.append(alpha(self.t, l, h, first, second, self.p, self.p))
        fits = lambda G, n: (G[np.ix_(*[np.arange(self.n) % n] * 2)] == G).all()
        return next(n for n in range(1, self.n + 1) if all(fits(G, n) for G in products))

    # Vectors: dimensions and entries ------------------------------------------------------------

    def translated(self, name: Vector, v: Float[np.ndarray, " d"]) -> dict[int, float]:
        """Return the entries of a vector parameter, including new dimensions."""
        found: dict[int, float] = {}
        born = name[1] if name[0] == "B" else 0
        for dim, value in self.entries(name, v, born):
            if value:
                number = self.dims.setdefault(dim, len(self.dims))
                found[number] = found.get(number, 0.0) + value
        return found

    def entries(self, name: Vector, v: Float[np.ndarray, " d"], born: int) -> Iterator:
        for w, reader in incoming(self.t):
            last = w[1] + 1 if w[0] == "A" else None
            for path in paths(self.t, last, born):
                yield _Gamma(path, w), float(beta(self.t, path, reader[None], v[None])[0, 0])
        for head in self.heads:
            l, h = head
            own = paths(self.t, l, born) if born < l else []
            for mine, (other, u) in itertools.product(own, self.outgoing):
                other_born = other[1] if other[0] == "B" else 0
                if other_born >= l:
                    continue
                for theirs in paths(self.t, l, other_born):
                    if name[0] == other[0] == "p" and not mine and not theirs:
                        continue  # phi has these
                    as_key = alpha(self.t, l, h, mine, theirs, v[None], u[None])[0, 0]
                    if as_key:
                        yield _Side(True, mine, mine, theirs, head, name, other), float(as_key)
                    if alpha(self.t, l, h, theirs, mine, u[None], v[None])[0, 0]:
                        yield _Side(False, mine, theirs, mine, head, other, name), 1.0

    # Matrices -----------------------------------------------------------------------------------

    def limit(self) -> Transformer:
        # Passing through value matrices leads to dimensions with shorter to-do lists.
        for dim in list(self.dims):
            for k in range(len(dim.todo)):
                shorter = dataclasses.replace(dim, todo=dim.todo[k + 1 :])
                self.dims.setdefault(shorter, len(self.dims))
        d = len(self.dims)
        dense = lambda name: self.dense(self.vectors[name], d)
        E = np.stack([dense(("E", s)) for s in self.t.alphabet])
        positions = np.stack([dense(("p", i)) for i in range(1, self.period + 1)])
        U = np.zeros((len(self.t.U), d))
        for s in range(len(U)):
            self.read(U[s], _Gamma((), ("U", s + 1)))
        layers = tuple(self.layer(l, d) for l in range(1, self.t.depth + 1))
        return Transformer(self.t.alphabet, E, positions, layers, U, None, self.t.precision)

    def dense(self, entries: dict[int, float], d: int) -> Float[np.ndarray, " {d}"]:
        found = np.zeros(d)
        found[list(entries)] = list(entries.values())
        return found

    def read(self, row: Float[np.ndarray, " d"], dim: _Gamma | _Side) -> None:
        if dim in self.dims:
            row[self.dims[dim]] = 1

    def layer(self, l: int, d: int) -> Layer:
        old = self.t.layers[l - 1]
        A, B = np.zeros((len(old.b), d)), np.zeros((d, len(old.b)))
        for s in range(len(old.b)):
            self.read(A[s], _Gamma((), ("A", l, s + 1)))
            if ("B", l, s + 1) in self.vectors:
                B[:, s] = self.dense(self.vectors["B", l, s + 1], d)
        heads = tuple(self.head(l, h, d) for h in range(1, len(old.heads) + 1))
        return Layer(heads, A, B, old.b, old.heaviside)

    def head(self, l: int, h: int, d: int) -> Head:
        V = np.zeros((d, d))
        for dim, number in self.dims.items():
            if dim.todo and dim.todo[0] == (l, h):
                V[self.dims[dataclasses.replace(dim, todo=dim.todo[1:])], number] = 1
        pairs = []
        for dim, number in self.dims.items():
            if isinstance(dim, _Side) and dim.key and not dim.todo and dim.head == (l, h):
                other = dataclasses.replace(dim, key=False)
                if other in self.dims:
                    pairs.append((number, self.dims[other]))
        K, Q = np.zeros((len(pairs), d)), np.zeros((len(pairs), d))
        for row, (key, query) in enumerate(pairs):
            K[row, key] = Q[row, query] = 1
        return Head(K, Q, V, self.phi(l, h))

    def phi(self, l: int, h: int) -> Local | None:
        """Return the products p_i^T K^T Q p_j as a function of j - i, eq. (51)."""
        G = alpha(self.t, l, h, (), (), self.p, self.p)
        if not toeplitz(np.triu(G)):
            raise ValueError(f"p_i^T K^T Q p_j of layer {l}, head {h} depends on more than j - i.")
        return Local(tuple(map(float, G[0]))) if G[0].any() else None
