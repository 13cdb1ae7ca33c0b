"""Absolute values, maxima and comparisons of quotients: by their signs, or by cases."""

import functools
from collections.abc import Sequence
from typing import Any

from theorykit.certify._machine import Doubt
from theorykit.certify._quotients import Infinite, Quotient, constant, letter
from theorykit.certify._ring import NONNEGATIVE, POSITIVE, REAL, Ring, Split
from theorykit.certify._signs import certain, factored, open_factors, signed

FEW = 8
"""The most entries that are compared with every effort to find the largest."""


def absolute(q: Quotient) -> Quotient:
    """Return |q|: q or -q where the sign is known, else one letter per factor."""
    ring = q.ring
    q = q.cancelled()
    num = ring.reduced(q.num)
    known = signed(ring, num)
    if known:
        return q * known
    scale, factors = factored(ring, num)
    made = constant(ring, abs(scale))
    for p, e in factors:
        known = signed(ring, p)
        if known:
            one = Quotient(ring, known * p)
        elif e % 2 == 0:
            made = made * Quotient(ring, ring.power(p, e))
            continue
        else:
            sign = POSITIVE if certain(ring, ring.times(p, p), strict=True) else NONNEGATIVE
            square = ring.reduced(p * p)
            one = letter(ring, "abs", p, sign, square=square)
            ring.fact(one.num - p)
            ring.fact(one.num + p)
        made = made * one**e
    return made / Quotient(ring, ring.product(q.den))


def larger(x: Any, y: Any) -> Any:
    """Return max(x, y)."""
    if isinstance(x, Infinite) or isinstance(y, Infinite):
        return y if below(x, y) else x
    gap = (x - y).cancelled()
    known = signed(x.ring, x.ring.reduced(gap.num))
    if known:
        return x if known > 0 else y
    return (x + y + absolute(gap)) / 2


def below(x: Any, y: Any) -> bool:
    """Return whether x < y, where one of them is infinite.

    **Raises:** `Doubt` for NaN.
    """
    a, b = (v.value if isinstance(v, Infinite) else 0.0 for v in (x, y))
    if a != a or b != b:
        raise Doubt("a number is compared with NaN")
    return a < b


def smaller(x: Any, y: Any) -> Any:
    """Return min(x, y)."""
    return -larger(-x, -y)


def largest(numbers: Sequence[Any]) -> Any:
    """Return the largest of many: one of them where that is known, else a letter."""
    finite = [q for q in numbers if isinstance(q, Quotient)]
    if len(finite) < len(numbers):
        rest = functools.reduce(larger, [q for q in numbers if isinstance(q, Infinite)])
        return larger(largest(finite), rest) if finite else rest
    ring = numbers[0].ring
    distinct = list({q.code: q.cancelled() for q in finite}.values())
    common = _common_factor(ring, [q.num for q in distinct])
    if not common.is_constant():  # max(c x, c y) = c max(x, y) for c >= 0
        without = [Quotient(ring, q.num // common, q.den) for q in distinct]
        return largest(without) * Quotient(ring, common)
    few = len(distinct) <= FEW
    above = lambda a, b: certain(ring, (a - b).num, quickly=not few)
    kept: list[Quotient] = []
    for q in distinct:
        if any(above(k, q) for k in kept):
            continue
        kept = [k for k in kept if not above(q, k)]
        kept.append(q)
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda q: q.key)
    signs = [
        POSITIVE if certain(ring, q.num, True) else NONNEGATIVE if certain(ring, q.num) else REAL
        for q in kept
    ]
    made = letter(ring, "max", kept, max(signs))
    for q in kept:
        ring.fact((made - q).num)
    return made


def _common_factor(ring: Ring, numerators: Sequence[Any]) -> Any:
    """Return what all of them are a multiple of and is not negative; 1 if there is nothing."""
    common = functools.reduce(lambda p, q: p.gcd(q), numerators)
    made = ring.constant(1)
    for p, e in factored(ring, common)[1] if len(numerators) > 1 else []:
        made *= (signed(ring, p) * p) ** e if signed(ring, p) else 1
    return made


def decided(ring: Ring, difference: Quotient) -> int | None:
    """Return the sign (-1, 0 or 1) of a number if it is the same everywhere, else None."""
    num = ring.reduced(difference.cancelled().num)
    if difference.is_zero():
        return 0
    return signed(ring, num, strict=True) or None


def less(a: Any, b: Any) -> bool:
    """Return whether a < b everywhere or nowhere.

    **Raises:** `Split` where it is not the same everywhere.
    """
    if isinstance(a, Infinite) or isinstance(b, Infinite):
        return below(a, b)
    ring = a.ring
    num = ring.reduced((b - a).cancelled().num)
    if certain(ring, num, strict=True):
        return True
    if certain(ring, -num):
        return False
    sign, p = open_factors(ring, num)
    if certain(ring, p):  # a square, say: zero or not
        raise Split(ring.show(p), [[(p, ">")], [(p, "==")]])
    p = sign * p
    raise Split(ring.show(p), [[(p, ">")], [(-p, ">=")]])


def at_most(a: Quotient, b: Quotient) -> bool:
    """Return whether a <= b everywhere, or b <= a everywhere.

    **Raises:** `Split` where neither holds.
    """
    ring = a.ring
    num = ring.reduced((b - a).cancelled().num)
    known = signed(ring, num)
    if known:
        return known > 0
    turn, p = open_factors(ring, num, strict=False)
    raise Split(ring.show(p), [[(turn * p, ">=")], [(-turn * p, ">=")]])


def equal(a: Any, b: Any) -> bool:
    """Return whether a = b everywhere or nowhere.

    **Raises:** `Split` where it is not the same everywhere.
    """
    if isinstance(a, Infinite) or isinstance(b, Infinite):
        return bool(a == b)
    ring = a.ring
    sign = decided(ring, a - b)
    if sign is not None:
        return sign == 0
    _, p = open_factors(ring, ring.reduced((a - b).cancelled().num))
    raise Split(ring.show(p), [[(p, ">")], [(p, "==")], [(-p, ">")]])


def sign(q: Quotient) -> Quotient:
    """Return the sign.

    **Raises:** `Split` where it is not the same everywhere.
    """
    zero = constant(q.ring, 0)
    if equal(q, zero):
        return zero
    return constant(q.ring, -1 if less(q, zero) else 1)
