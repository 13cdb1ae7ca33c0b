"""Real-valued functions on bits as sums of parity indicators."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Array, ArrayLike, Float, Float64, Int, Int64, Shaped

from theorykit.common.arguments import (
    affordable,
    as_array,
    finite,
    instance,
    members,
    number,
    one_of,
    reals,
    whole,
)
from theorykit.subjects.boolean._walsh import (
    bits,
    refuse_other_than_bits,
    variables,
    walsh_hadamard,
)

Bits = Shaped[ArrayLike, "*batch T"] | Sequence[int]
Table = Shaped[ArrayLike, " values"] | Sequence[float]
NORMALISED = ("norm", "variance", None)
MOST = 2**24
"""The most bits per input."""


@dataclasses.dataclass(frozen=True)
class Parities:
    """f(x) = sum_i c_i chi_i(x), where chi_i is 1 if x has an even number of ones in S_i, else 0.

    Eq. (1) of *A Sharper Picture of Generalization in Transformers*. The empty set's indicator is
    the constant 1.

    **Arguments:** `T`, bits per input; `sets`, distinct sets of positions 0 ... T - 1;
    `coefficients`, numbers or fractions, one per set.

    **Raises:** `ValueError` for positions out of range or not integers, a repeated set, or
    coefficients that are not finite or not one per set; when called, for concrete (not traced)
    inputs that are not bits.
    """

    T: int
    sets: tuple[tuple[int, ...], ...]
    coefficients: tuple[float | Fraction, ...]

    def __post_init__(self):
        T = whole("T", self.T)
        affordable("an input", T, MOST, "bits")
        each = [
            members("a set", S, "positions 0 ... T - 1")
            for S in members("sets", self.sets, "sets of positions")
        ]
        sets = tuple(tuple(sorted(whole("a position", j, 0) for j in S)) for S in each)
        instance("coefficients", self.coefficients, Iterable, "numbers, one per set")
        object.__setattr__(self, "T", T)
        object.__setattr__(self, "sets", sets)
        object.__setattr__(self, "coefficients", tuple(self.coefficients))
        for S in sets:
            if len(set(S)) < len(S) or not all(0 <= j < T for j in S):
                raise ValueError(f"a set holds distinct positions from 0 to {T - 1}, got {S}.")
        if len(set(sets)) < len(sets):
            raise ValueError("the sets of an expansion are distinct; one is given twice.")
        if len(sets) != len(self.coefficients):
            raise ValueError(
                f"each set has one coefficient; got {len(sets)} sets and "
                f"{len(self.coefficients)} coefficients."
            )
        for c in self.coefficients:
            number("a coefficient", c, "a finite number", lambda v: True)
        affordable("the sets of an expansion", len(sets) * T, 16 * MOST, "bits")

    @property
    def degree(self) -> int:
        """The largest set; 0 for a constant."""
        return max(map(len, self.sets), default=0)

    @property
    def sparsity(self) -> int:
        """The number of sets with a nonzero coefficient, including the empty set.

        `has_sparsity` does not count the constant.
        """
        return sum(c != 0 for c in self.coefficients)

    @property
    def membership(self) -> Int64[np.ndarray, "sets T"]:
        """The incidence matrix of sets and positions, (sets, T), of 0 and 1."""
        M = np.zeros((len(self.sets), self.T), np.int64)
        for row, S in zip(M, self.sets, strict=True):
            row[list(S)] = 1
        return M

    def indicators(self, x: Bits) -> Int[Array | np.ndarray, "*batch sets"]:
        """Return chi_i(x), (..., sets), 0 or 1, for bits (..., T): numpy for numpy, else JAX."""
        x = x if isinstance(x, Array | np.ndarray) else as_array("an input", x)
        if not x.shape or x.shape[-1] != self.T:
            raise ValueError(f"an input has {self.T} bits, got shape {x.shape}.")
        refuse_other_than_bits(x)
        return 1 - (x.astype(int) @ self.membership.T) % 2

    def __call__(self, x: Bits) -> Float[Array | np.ndarray, "*batch"]:
        """Return f, (...), at bits (..., T): numpy for numpy, else JAX."""
        return self.indicators(x) @ np.array([float(c) for c in self.coefficients])

    def table(self) -> Float64[np.ndarray, " values"]:
        """Return f at all 2^T inputs, in the order of `bits`."""
        return np.asarray(self(bits(self.T)))


def expansion(table: Table, tol: float = 1e-9) -> Parities:
    """Return the unique expansion of a table of 2^T values in even-parity indicators.

    With the transform F(S) = 2^-T sum_x (-1)^|x and S| f(x): c_S = 2 F(S), and what remains of F(0)
    is the constant. Coefficients smaller in size than `tol` times the table's largest value are set
    to zero.

    **Raises:** `ValueError` for a wrong length, NaN or infinity, complex numbers, or a negative or
    NaN tol.
    """
    at_least_0(tol)
    values = reals("a table", table)
    T = variables(values)
    if values.ndim != 1:
        raise ValueError(f"a table is one row of finite numbers, got shape {values.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        c = 2 * spectrum(values)
    finite("2^T times the coefficients of a table", c)
    c[0] = c[0] / 2 - c[1:].sum() / 2
    kept = np.flatnonzero(np.abs(c) > tol * max(np.abs(values).max(), 1e-300))
    sets = tuple(tuple(j for j in range(T) if S >> j & 1) for S in kept.tolist())
    return Parities(max(T, 1), sets, tuple(c[kept].tolist()))


def at_least_0(tol: float) -> None:
    """Raise a `ValueError` unless a tolerance is at least 0."""
    number("tol", tol, "a number of at least 0", lambda v: v >= 0)


def spectrum(
    table: Shaped[ArrayLike, "*batch values"] | Sequence[float],
) -> Float64[np.ndarray, "*batch values"]:
    """Return 2^-T sum_x (-1)^|x and S| f(x) along the last axis, always in float64."""
    import jax

    table = np.asarray(as_array("a table", table), np.float64)
    variables(table)
    with jax.enable_x64(True):
        found = walsh_hadamard(table)
    return np.array(found) / table.shape[-1]


def degree(table: Table, tol: float = 1e-9) -> int:
    """Return the degree of the function with this table of 2^T values."""
    return expansion(table, tol).degree


def sparsity(table: Table, tol: float = 1e-9) -> int:
    """Return the number of parity indicators in the function with this table."""
    return expansion(table, tol).sparsity


def random(
    T: int, degree: int, sparsity: int, seed: int = 0, normalised: str | None = "norm"
) -> Parities:
    """Return a random function: distinct sets of one size, coefficients |N(0, 1)| (section 2.1).

    **Arguments:** `normalised`: "norm", the squares of the coefficients sum to 1 (appendix K);
    "variance", f has variance 1 over uniform bits (they sum to 4); None, as drawn.

    **Raises:** `ValueError` for a degree above T, or more sets than exist.
    """
    T, degree = whole("T", T), whole("degree", degree)
    affordable("an input", T, MOST, "bits")
    sparsity = whole("sparsity", sparsity)
    affordable("the draws of a function", sparsity * T, 16 * MOST, "bits")
    if degree > T:
        raise ValueError(f"the degree is at most T = {T}, got {degree}.")
    if sparsity > math.comb(T, degree):
        raise ValueError(
            f"there are {math.comb(T, degree)} sets of {degree} of {T} positions, "
            f"got the sparsity {sparsity}."
        )
    one_of("normalised", normalised, NORMALISED)
    rng = np.random.default_rng([whole("seed", seed, 0), T, degree, sparsity])
    sets: dict[tuple[int, ...], None] = {}
    while len(sets) < sparsity:
        sets[tuple(sorted(rng.permutation(T)[:degree].tolist()))] = None
    c = np.abs(rng.standard_normal(sparsity))
    if normalised is not None:
        c *= (1.0 if normalised == "norm" else 2.0) / np.linalg.norm(c)
    return Parities(T, tuple(sets), tuple(c.tolist()))


def parity(T: int, positions: Sequence[int] | None = None) -> Parities:
    """Return the even-parity indicator of some positions, of all T by default."""
    T = whole("T", T)
    affordable("an input", T, MOST, "bits")
    chosen: Any = range(T) if positions is None else positions
    return Parities(T, (chosen,), (1.0,))  # which checks its arguments


def tiling(T: int, degree: int) -> Parities:
    """Return the sum of the s = floor(T / d) parities of d consecutive positions, over sqrt(s)."""
    T, degree = whole("T", T), whole("degree", degree)
    if degree > T:
        raise ValueError(f"the degree is at most T = {T}, got {degree}.")
    affordable("an input", T, MOST, "bits")
    s = T // degree
    sets = tuple(tuple(range(i * degree, (i + 1) * degree)) for i in range(s))
    return Parities(T, sets, (1 / math.sqrt(s),) * s)
