"""Exact integer arithmetic on arrays: int64 while nothing can overflow, else Python integers.

Arrays have dtype int64 or object, so their type annotations give the shape only.
"""

import functools
import math

import numpy as np
from jaxtyping import Shaped

SMALL, WHOLE = 2**62, 2**53
"""Below these bounds, int64 and integers in float64 are exact."""


def size(a: Shaped[np.ndarray, "..."]) -> int:
    """Return the largest absolute entry, or 0 for an empty array."""
    return max(abs(int(a.max())), abs(int(a.min()))) if a.size else 0


def _pair(
    a: Shaped[np.ndarray, "*left"], b: Shaped[np.ndarray, "*right"], bound: int
) -> tuple[Shaped[np.ndarray, "*left"], Shaped[np.ndarray, "*right"]]:
    """Return both arrays in the smallest dtype that holds them and a result within the bound."""
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
    """Return a @ b, by floating-point matrix products as long as these are exact."""
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
    """Return the least common multiple along an axis, with the axis kept."""
    parts = [np.expand_dims(p, axis) for p in np.moveaxis(a, axis, 0)]
    return functools.reduce(lcm, parts)


def lowest(
    numerators: Shaped[np.ndarray, "*batch d"], denominators: Shaped[np.ndarray, "*batch 1"]
) -> tuple[Shaped[np.ndarray, "*batch d"], Shaped[np.ndarray, "*batch 1"]]:
    """Return fractions in lowest terms, with one denominator per vector."""
    common = np.gcd(np.gcd.reduce(np.abs(numerators), axis=-1, keepdims=True), denominators)
    return narrow(numerators // common), narrow(denominators // common)


def narrow(a: Shaped[np.ndarray, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    """Return int64 if it can hold the entries."""
    return a.astype(np.int64) if a.dtype == object and size(a) < SMALL else a


def root(value: int, degree: int) -> int:
    """Return the floor of a root of an integer, exactly.

    The degree is a power of two, so this takes square roots repeatedly; flooring each does not
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
