"""Property testers: is a real function on bits of degree at most d, or a sum of s parities?

Appendix H. Both look at f on random affine subspaces, g(y) = f(x + A y) over GF(2), by one small
Walsh-Hadamard transform each: the parity of S becomes the parity of A' 1_S.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int, Int64, Real

from theorykit.common.arguments import finite, whole
from theorykit.subjects.boolean._functions import at_least_0, spectrum
from theorykit.subjects.boolean._walsh import bits

Function = Callable[[Int64[np.ndarray, "inputs T"]], Real[Array | np.ndarray, " inputs"]]
"""A real function on bits, of many inputs at once."""


@dataclasses.dataclass(frozen=True)
class Tested:
    """What a tester says.

    **Fields:** `accepted`; `queries`, how many values of f were asked for; `miss`, a bound of the
    probability of accepting wrongly; `statistic`, the largest energy where there should be none,
    over the mean energy of all but the constant.
    """

    accepted: bool
    queries: int
    miss: float
    statistic: float


@dataclasses.dataclass(frozen=True)
class Budget:
    """How a test is run: `repetitions` subspaces of `dimensions`, and the chance that all miss."""

    dimensions: int
    repetitions: int
    miss: float

    @property
    def queries(self) -> int:
        """How many values of f are asked for."""
        return self.repetitions * 2**self.dimensions


@functools.cache
def spread(balls: int, bins: int, above: int) -> Fraction:
    """Return the probability that more than `above` of the bins get an odd number of balls."""
    chance = [Fraction(1)] + [Fraction(0)] * bins
    for _ in range(balls):
        up = [Fraction(0)] + [c * (bins - j) / bins for j, c in enumerate(chance[:-1])]
        down = [c * (j + 1) / bins for j, c in enumerate(chance[1:])] + [Fraction(0)]
        chance = [a + b for a, b in zip(up, down, strict=True)]
    return sum(chance[above + 1 :], Fraction(0))


def degree_budget(T: int, degree: int, miss: float = 0.01) -> Budget:
    """Return the cheapest budget at which a function of higher degree passes at most so often.

    Each position goes to one of k blocks. A set of more than `degree` positions is seen if more
    than `degree` blocks hold an odd number of it; the worst size of set counts.
    """
    T, degree = whole("T", T), whole("degree", degree, 0)
    if degree > T:
        raise ValueError(f"the degree is at most T = {T}, got {degree}.")
    _probability(miss)
    if degree == T:
        return Budget(0, 1, 0.0)
    found = []
    for k in range(degree + 1, degree + 5):
        seen = float(min(spread(m, k, degree) for m in range(degree + 1, T + 1)))
        if seen:
            found.append(_repeated(k, 1 - seen, miss))
    # With d + 2 blocks sets of both parities are seen, so there is one.
    return min(found, key=lambda b: b.queries)


def sparsity_budget(sparsity: int, miss: float = 0.01) -> Budget:
    """Return the cheapest budget at which a sum of more parities passes at most so often.

    s + 1 different sets fall on different ones, none on the empty set, except with probability
    (s + 1)(s + 2) / 2^(k + 1) in k dimensions: whatever T is, which is no argument here, other
    than for `degree_budget`.
    """
    s = whole("sparsity", sparsity, 0)
    _probability(miss, "; sparsity_budget takes the sparsity and miss, and no T")
    pairs = (s + 1) * (s + 2) // 2
    first = pairs.bit_length()
    return min(
        (_repeated(k, pairs / 2**k, miss) for k in range(first, first + 8)),
        key=lambda b: b.queries,
    )


def has_degree(
    f: Function, T: int, degree: int, *, seed: int = 0, miss: float = 0.01, tol: float = 1e-9
) -> Tested:
    """Test whether f has at most this degree.

    Positions are thrown into k blocks that are flipped together; what then depends on more than
    `degree` blocks cannot come from a lower degree, so that one is always accepted. In k = d + 1
    blocks this is the alternating sum of f over a cube, whose vanishing says that the polynomial of
    degree d through all corners but one meets the last.

    **Arguments:** `f`: from bits (N, T) to (N,) real numbers; `miss`: the largest probability of
    accepting a higher degree, for coefficients in general position (no signed sum of some of them
    is zero); `tol`: the share of energy, the constant's aside, that is rounding or noise of f.

    **Raises:** `ValueError` for a degree above T, a probability outside (0, 1), values that are not
    finite or not one per input, or a tol that is not at least 0.
    """
    budget = degree_budget(T, degree, miss)
    rng = np.random.default_rng(whole("seed", seed, 0))
    k = budget.dimensions
    block = rng.integers(0, max(k, 1), (budget.repetitions, T))
    maps = (block[..., None] == np.arange(k)).astype(np.int64)
    energy = _energies(f, T, maps, rng)
    high = bits(k).sum(1) > degree
    return _tested(budget, energy[:, high].sum(1), energy, tol)


def has_sparsity(
    f: Function,
    T: int,
    sparsity: int,
    *,
    seed: int = 0,
    miss: float = 0.01,
    tol: float = 1e-9,
    subspaces: str = "random",
) -> Tested:
    """Test whether f is a constant and a sum of at most s parities.

    On a subspace there are at most as many parities as before, so that a sum of s is always
    accepted. The energy beyond the s largest is looked at.

    **Arguments:** as for `has_degree`; `subspaces`: "random", or "coordinates": k positions are
    kept and the others fixed, as printed; the bound `miss` does not hold then.

    **Raises:** as `has_degree`.
    """
    T, budget = whole("T", T), sparsity_budget(sparsity, miss)
    rng = np.random.default_rng(whole("seed", seed, 0))
    shape = (budget.repetitions, T, budget.dimensions)
    if subspaces == "random":
        maps = rng.integers(0, 2, shape)
    elif subspaces == "coordinates":
        maps = np.zeros(shape, np.int64)
        for A in maps:
            chosen = rng.permutation(T)[: shape[2]]
            A[chosen, np.arange(len(chosen))] = 1
    else:
        raise ValueError(f'subspaces are "random" or "coordinates", got {subspaces!r}.')
    energy = _energies(f, T, maps, rng)
    tail = np.sort(energy[:, 1:], axis=1)[:, : max(0, energy.shape[1] - 1 - sparsity)]
    return _tested(budget, tail.sum(1), energy, tol)


def first_accepted(test: Callable[..., Tested], f: Function, T: int, **options: Any) -> int:
    """Return the smallest degree or sparsity that a tester accepts, sweeping up from 0 to T.

    **Raises:** `ValueError` if it accepts none.
    """
    for level in range(T + 1):
        if test(f, T, level, **options).accepted:
            return level
    raise ValueError(f"no level up to T = {T} is accepted.")


def _probability(miss: float, hint: str = "") -> None:
    if not 0 < miss < 1:
        raise ValueError(f"miss is a probability between 0 and 1, got {miss}{hint}.")


def _repeated(k: int, fails: float, miss: float) -> Budget:
    count = 1 if fails <= 0 else max(1, math.ceil(math.log(miss) / math.log(fails)))
    return Budget(k, count, fails**count)


def _energies(
    f: Function, T: int, maps: Int[np.ndarray, "repetitions T k"], rng: np.random.Generator
) -> Float[np.ndarray, "repetitions 2**k"]:
    """Return squared Fourier coefficients of f on each subspace."""
    repetitions, _, k = maps.shape
    start = rng.integers(0, 2, (repetitions, 1, T))
    x = (start + bits(k).astype(np.int64) @ maps.transpose(0, 2, 1)) % 2
    values = np.asarray(f(x.reshape(-1, T)), float)
    if values.shape != (len(x) * 2**k,):
        raise ValueError(f"f returns one number an input, got shape {values.shape}.")
    finite("f", values)
    return spectrum(values.reshape(repetitions, -1)) ** 2


def _tested(
    budget: Budget,
    wrong: Float[np.ndarray, " repetitions"],
    energy: Float[np.ndarray, "repetitions values"],
    tol: float,
) -> Tested:
    at_least_0(tol)
    # Of all subspaces: on one of them f may be constant. What is rounding of f is no energy.
    mean = max(float(energy[:, 1:].sum(1).mean()), 1e-20 * float(energy.max()), 1e-300)
    share = float(wrong.max(initial=0.0)) / mean
    return Tested(share <= tol, budget.queries, budget.miss, share)
