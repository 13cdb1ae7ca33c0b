"""Property testers: does a real function on bits have degree at most d, or at most s parities?

Appendix H. Both restrict f to random affine subspaces, g(y) = f(x + A y) over GF(2), and take one
small Walsh-Hadamard transform of each: the parity of S becomes the parity of A' 1_S.
"""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int, Int64, Real

from theorykit.common.arguments import (
    affordable,
    as_array,
    between,
    finite,
    function,
    instance,
    one_of,
    shown,
    whole,
)
from theorykit.subjects.boolean._functions import at_least_0, spectrum
from theorykit.subjects.boolean._walsh import bits

Function = Callable[[Int64[np.ndarray, "inputs T"]], Real[Array | np.ndarray, " inputs"]]
"""A real function on bits, evaluated at a batch of inputs."""


@dataclasses.dataclass(frozen=True)
class Tested:
    """The result of a tester.

    **Fields:** `accepted`; `queries`, the number of evaluations of f; `miss`, a bound on the
    probability of accepting wrongly; `statistic`, the largest energy where there should be none,
    divided by the mean energy of all but the constant.
    """

    accepted: bool
    queries: int
    miss: float
    statistic: float


@dataclasses.dataclass(frozen=True)
class Budget:
    """The size of a test: `repetitions` subspaces of `dimensions`, and the chance that all miss."""

    dimensions: int
    repetitions: int
    miss: float

    @property
    def queries(self) -> int:
        """The number of evaluations of f."""
        return self.repetitions * 2**self.dimensions


def spread(most: int, bins: int, above: int) -> list[Fraction]:
    """Return the probabilities that more than `above` of the bins get an odd number of balls.

    For 0, ..., `most` balls.
    """
    ways = [1] + [0] * bins  # number of ways, by the number of bins with an odd number of balls
    found = [Fraction(sum(ways[above + 1 :]))]
    for balls in range(1, most + 1):
        up = [0, *(c * (bins - j) for j, c in enumerate(ways[:-1]))]
        down = [*(c * (j + 1) for j, c in enumerate(ways[1:])), 0]
        ways = [a + b for a, b in zip(up, down, strict=True)]
        found.append(Fraction(sum(ways[above + 1 :]), bins**balls))
    return found


LARGEST = 40
"""A higher degree takes too many values."""


def _enough(k: int) -> int:
    """Return a number of balls beyond which chances depend only on its parity, up to exp(-128).

    They approach their limit like (1 - 2 / k)^balls.
    """
    return 64 * k


def degree_budget(T: int, degree: int, miss: float = 0.01) -> Budget:
    """Return the cheapest budget at which a function of higher degree passes with chance <= `miss`.

    Each position goes to one of k blocks. A set of more than `degree` positions is seen if more
    than `degree` blocks hold an odd number of its elements; the bound is for the worst set size.
    Never more than all 2^T inputs, on which nothing is missed.

    **Raises:** `ValueError` for a degree above T, a degree that takes more than 2^40 values, or a
    probability outside (0, 1).
    """
    T, degree = whole("T", T), whole("degree", degree, 0)
    affordable("an input", T, BITS, "bits")
    if degree > T:
        raise ValueError(f"the degree is at most T = {T}, got {degree}.")
    _probability(miss)
    if degree == T:
        return Budget(0, 1, 0.0)
    if degree > LARGEST and T > LARGEST:
        raise ValueError(
            f"the degree {degree} takes more than 2^{min(degree, T)} values to test; the largest "
            f"is {LARGEST}."
        )
    found = [_all_inputs(T)]
    for k in range(degree + 1, degree + 5) if degree <= LARGEST else ():
        seen = float(min(spread(min(T, degree + 1 + _enough(k)), k, degree)[degree + 1 :]))
        if seen:
            found.append(_repeated(k, 1 - seen, miss))
    return min(found, key=lambda b: b.queries)


def _all_inputs(T: int) -> Budget:
    return Budget(T, 1, 0.0)


def sparsity_budget(sparsity: int, miss: float = 0.01) -> Budget:
    """Return the cheapest budget at which a sum of more parities passes with chance <= `miss`.

    In k dimensions, s + 1 distinct sets map to distinct nonempty ones, except with probability (s +
    1)(s + 2) / 2^(k + 1). This does not depend on T, so T is not an argument as it is for
    `degree_budget`. `has_sparsity` asks for all inputs where these are fewer.
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

    Positions are thrown into k blocks that are flipped together. A function of degree at most
    `degree` has no term in more than `degree` blocks, so it is always accepted. With k = d + 1
    blocks the statistic is the alternating sum of f over a cube; it vanishes if the polynomial of
    degree d through all corners but one also passes through the last.

    **Arguments:** `f`: from bits (N, T) to (N,) real numbers; `miss`: the largest probability of
    accepting a higher degree, for coefficients in general position (no signed sum of some of them
    is zero); `tol`: the share of energy, not counting the constant, that is put down to rounding or
    noise in f.

    **Raises:** `ValueError` for a degree above T, a probability outside (0, 1), values that are not
    finite or not one per input, or a negative or NaN tol.
    """
    budget = degree_budget(T, degree, miss)
    rng = np.random.default_rng(whole("seed", seed, 0))
    k = budget.dimensions
    _refuse_many(budget, T)
    if budget == _all_inputs(T):
        maps = np.eye(T, dtype=np.int64)[None]
    else:
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
    """Test whether f is a constant plus a sum of at most s parities.

    The constant is not counted, since every indicator of `Parities` contains one. On a subspace
    there are at most as many parities as before, so a sum of s is always accepted. The statistic is
    the energy beyond the s largest.

    **Arguments:** as for `has_degree`; `subspaces`: "random", or "coordinates": k positions are
    kept and the others fixed, as printed; then the bound `miss` does not hold.

    **Raises:** as `has_degree`.
    """
    T, budget = whole("T", T), sparsity_budget(sparsity, miss)
    affordable("an input", T, BITS, "bits")
    one_of("subspaces", subspaces, ("random", "coordinates"))
    rng = np.random.default_rng(whole("seed", seed, 0))
    if _all_inputs(T).queries <= budget.queries:
        budget = _all_inputs(T)
    _refuse_many(budget, T)
    shape = (budget.repetitions, T, budget.dimensions)
    if budget == _all_inputs(T):
        maps = np.eye(T, dtype=np.int64)[None]
    elif subspaces == "random":
        maps = rng.integers(0, 2, shape)
    else:
        maps = np.zeros(shape, np.int64)
        for A in maps:
            chosen = rng.permutation(T)[: shape[2]]
            A[chosen, np.arange(len(chosen))] = 1
    energy = _energies(f, T, maps, rng)
    tail = np.sort(energy[:, 1:], axis=1)[:, : max(0, energy.shape[1] - 1 - sparsity)]
    return _tested(budget, tail.sum(1), energy, tol)


def first_accepted(test: Callable[..., Tested], f: Function, T: int, **options: Any) -> int:
    """Return the smallest degree or sparsity that a tester accepts.

    Levels are swept from 0 to T; beyond T, which happens only for sparsities, they go up to 2^T - 1
    by doubling and bisection. The sparsity found does not count the constant: `f.sparsity` is one
    more where f has a constant.

    **Raises:** `ValueError` if it accepts none, or where the test would ask for too many values.
    """
    function("test", test, "has_degree or has_sparsity")
    T = whole("T", T)
    affordable("an input", T, BITS, "bits")

    def accepts(level: int) -> bool:
        found = test(f, T, level, **options)
        return instance("what a test returns", found, Tested, "a boolean.Tested").accepted

    for level in range(T + 1):
        if accepts(level):
            return level
    low, high = T, min(2 * T, 2**T - 1)
    while low < high and not accepts(high):
        low, high = high, min(2 * high, 2**T - 1)
    if low >= high:
        raise ValueError(f"no level up to 2^{T} - 1 is accepted.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return high


BITS = 2**20
"""The most bits per input of a test."""

MOST = 2**28
"""The most bits in all inputs of a test together: two GiB."""


def _refuse_many(budget: Budget, T: int) -> None:
    affordable(f"this test on {T} bits", budget.queries * T, MOST, "bits of inputs")


def _probability(miss: float, hint: str = "") -> None:
    try:
        between("miss", miss)
    except ValueError:
        raise ValueError(
            f"miss is a probability between 0 and 1, got {shown(miss)}{hint}."
        ) from None


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
    function("f", f, "a function of bits")
    values = np.asarray(as_array("what f returns", f(x.reshape(-1, T))), float)
    if values.shape != (len(x) * 2**k,):
        raise ValueError(f"f returns one number per input, got shape {values.shape}.")
    finite("f", values)
    return spectrum(values.reshape(repetitions, -1)) ** 2


def _tested(
    budget: Budget,
    wrong: Float[np.ndarray, " repetitions"],
    energy: Float[np.ndarray, "repetitions values"],
    tol: float,
) -> Tested:
    at_least_0(tol)
    # Over all subspaces, as f may be constant on one of them. Rounding of f does not count.
    mean = max(float(energy[:, 1:].sum(1).mean()), 1e-20 * float(energy.max()), 1e-300)
    share = float(wrong.max(initial=0.0)) / mean
    return Tested(share <= tol, budget.queries, budget.miss, share)
