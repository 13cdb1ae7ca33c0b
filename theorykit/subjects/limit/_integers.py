"""Exact arithmetic on arrays: machine integers while nothing can overflow, Python's beyond.

Arrays have the dtype int64 or object, so that their types say the shape alone.
"""

import functools
import math

import numpy as np
from jaxtyping import Shaped

SMALL, WHOLE = 2**62, 2**53
"""Below these, int64 and the integers among the float64 are safe."""


def size(a: Shaped[np.ndarray, "..."]) -> int:
    """Return the largest absolute entry, 0 of an empty array."""
    return max(abs(int(a.max())), abs(int(a.min()))) if a.size else 0


def _pair(
    a: Shaped[np.ndarray, "*left"], b: Shaped[np.ndarray, "*right"], bound: int
) -> tuple[Shaped[np.ndarray, "*left"], Shaped[np.ndarray, "*right"]]:
    """Return both in the smallest kind that holds them and a result within the bound."""
    kind = np.int64 if max(bound, size(a), size(b)) < SMALL else object
    return a.astype(kind, copy=False), b.astype(kind, copy=False)


def multiply(
    a: Shaped[np.ndarray, "*#shape"], b: Shaped[np.ndarray, "*#shape"]
) -> Shaped[np.ndarray, "*shape"]:
    """Return a * b."""
    a, b = _pair(a, b, size(a) * size(b))
    return a * b


def add(
    a: Shaped[np.ndarray, "*#shape"], b: Shaped[np.ndarray, "*#shape"]
) -> Shaped[np.ndarray, "*shape"]:
    """Return a + b."""
    a, b = _pair(a, b, size(a) + size(b))
    return a + b


def matmul(
    a: Shaped[np.ndarray, "*#batch rows inner"], b: Shaped[np.ndarray, "*#batch inner columns"]
) -> Shaped[np.ndarray, "*batch rows columns"]:
    """Return a @ b, by floating-point matrix products as long as all sums are exact in them."""
    bound = size(a) * size(b) * a.shape[-1]
    if bound < WHOLE:
        return (a.astype(float) @ b.astype(float)).astype(np.int64)
    a, b = _pair(a, b, bound)
    return np.asarray(a @ b)


def lcm(
    a: Shaped[np.ndarray, "*#shape"], b: Shaped[np.ndarray, "*#shape"]
) -> Shaped[np.ndarray, "*shape"]:
    """Return the least common multiples of positive integers."""
    a, b = _pair(a, b, size(a) * size(b))
    return narrow(np.asarray(np.lcm(a, b)))


def lcm_along(a: Shaped[np.ndarray, "..."], axis: int) -> Shaped[np.ndarray, "..."]:
    """Return the least common multiple along an axis, which is kept."""
    parts = [np.expand_dims(p, axis) for p in np.moveaxis(a, axis, 0)]
    return functools.reduce(lcm, parts)


def lowest(
    numerators: Shaped[np.ndarray, "*batch d"], denominators: Shaped[np.ndarray, "*batch 1"]
) -> tuple[Shaped[np.ndarray, "*batch d"], Shaped[np.ndarray, "*batch 1"]]:
    """Return fractions in lowest terms, of one denominator for each vector."""
    common = np.gcd(np.gcd.reduce(np.abs(numerators), axis=-1, keepdims=True), denominators)
    return narrow(numerators // common), narrow(denominators // common)


def narrow(a: Shaped[np.ndarray, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    """Return machine integers where they are large enough."""
    return a.astype(np.int64) if a.dtype == object and size(a) < SMALL else a


def root(value: int, degree: int) -> int:
    """Return the floor of the root of an integer, exactly.

    The degree is a power of two, so square roots of square roots; each is floored, which does not
    change the floor of the next.
    """
    while degree > 1:
        value, degree = math.isqrt(value), degree // 2
    return value


@functools.lru_cache(2**16)
def power(base: int, exponent: int, bits: int) -> int:
    """Return base^(exponent / 2^bits), rounded to `bits` fractional bits, times 2^bits.

    Rounding is to the nearest, ties upward: floor(v + 1/2) = floor((floor(2 v) + 1) / 2).
    """
    degree = 2**bits
    shift = 2 ** ((bits + 1) * degree)  # (2 * 2^bits)^degree
    inside = base**exponent * shift if exponent >= 0 else shift // base**-exponent
    return (root(inside, degree) + 1) // 2
