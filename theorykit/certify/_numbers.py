"""Numbers that carry their error: python-flint's balls, made exactly and compared with care."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb, ctx, fmpq, fmpz

from theorykit.certify._spans import Span
from theorykit.common.arguments import instance, shown

LEAST_BITS, MOST_BITS = 16, 1 << 20

_flint = threading.RLock()


def as_bits(bits: Any) -> int:
    """Return a precision in bits.

    **Raises:** `ValueError` for anything but an integer from 16 to 2^20.
    """
    if isinstance(bits, bool) or not isinstance(bits, int | np.integer):
        raise ValueError(f"bits is a whole number of bits, as in bits=128, not {shown(bits)}.")
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise ValueError(
            f"bits lies between {LEAST_BITS} and {MOST_BITS} (128 is usual), not {shown(bits)}."
        )
    return int(bits)


def precision(bits: int) -> contextlib.AbstractContextManager[None]:
    """Compute at this precision; flint has one per process, so one thread at a time.

    **Raises:** `ValueError` for bits that are not an integer from 16 to 2^20.
    """
    return _precision(as_bits(bits))


@contextlib.contextmanager
def _precision(bits: int) -> Iterator[None]:
    # numpy would warn of flags that flint's own floats leave behind.
    with _flint, ctx.workprec(bits), np.errstate(all="ignore"):
        yield


def ball(value: Any) -> Any:
    """Return the ball of an exact number (a float is taken as its exact value), at this precision.

    **Raises:** `ValueError` for NaN, infinity, or text that is not a number.
    """
    if isinstance(value, arb | acb):
        return type(value)(value)  # a copy, since one object stands for one number
    if isinstance(value, bool | np.bool_):
        return arb(int(value))
    if isinstance(value, int | np.integer):
        return arb(int(value))
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, fmpq | fmpz):
        return arb(value)
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, complex | np.complexfloating):
        return acb(ball(value.real), ball(value.imag))
    if isinstance(value, float | np.floating) or type(value).__name__ == "bfloat16":
        number = float(value)
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError(f"{number} is not a number that can be enclosed.")
        return arb(number)
    raise ValueError(
        f"numbers, fractions, decimal strings and balls can be enclosed, not {shown(value)} "
        f"({type(value).__name__})."
    )


def _of_text(text: str) -> arb:
    try:
        return ball(Fraction(text.strip()))
    except (ValueError, ZeroDivisionError):
        pass
    try:
        made = arb(text)
    except ValueError:
        made = arb.nan()
    if not made.is_finite():
        raise ValueError(f"{text!r} is not a number; write '0.1', '1/3' or '3.14 +/- 0.01'.")
    return made


def constant(value: Any) -> Any:
    """Return the ball of a constant in a program, where infinity and NaN may stand as well."""
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return arb.nan() if value != value else arb.pos_inf() if value > 0 else arb.neg_inf()
    return ball(value)


# Edges -------------------------------------------------------------------------------------
#
# A ball is a midpoint and a radius, so max(x, 0) of a ball around 0 reaches below 0 again unless
# the new ball is built to end there. Functions with an edge (sqrt, acos) depend on it: the
# midpoint is kept to the last bit, and rounded by the next operation.


def at_least(x: arb, edge: arb) -> arb:
    """Return a ball of max(x, edge), x astride the edge, that does not reach below it."""
    with ctx.workprec(MOST_BITS):
        return edge + up_to((x - edge).upper())


def at_most(x: arb, edge: arb) -> arb:
    """Return a ball of min(x, edge), x astride the edge, that does not reach above it."""
    with ctx.workprec(MOST_BITS):
        return edge - up_to((edge - x).upper())


def up_to(top: arb) -> arb:
    """Return the ball [0, top], top > 0."""
    if top == 2:
        return 1 + arb(0, 1).sgn()  # the one radius that is not rounded up: a clip to [-1, 1]
    return arb(0, top).nonnegative_part()


FARTHEST = 4096
"""Bits between the ends of a ball that keeps a lower end above zero."""


def spanned(low: arb, high: arb) -> arb:
    """Return a ball of the numbers between two, which keeps one of these ends.

    A radius has thirty bits, so only one end can be met exactly: a lower end that would otherwise
    fall below zero, or else the end that is the shorter number, such as a bound of 1.
    """
    low, high = low.lower(), high.upper()
    if isinstance(low, Span) or isinstance(high, Span):
        return Span(Span.of(low).lo, Span.of(high).hi)
    if not (low.is_finite() and high > low and high.is_finite()):
        return low.union(high)
    if low == 0:
        return up_to(high)
    if high == 0:
        return -up_to(-low)
    if low > 0 and high > low * arb(2) ** FARTHEST:
        return up_to(high)
    if 0 < low < high / 1024 or _length(low) < _length(high):
        return at_least(low.union(high), low)
    return at_most(low.union(high), high)


def _length(x: arb) -> int:
    return int(x.man_exp()[0]).bit_length()


def is_wide(x: Any) -> bool:
    """Whether a number is a ball of which hardly a digit is known."""
    return isinstance(x, arb) and not x.is_exact() and x.rel_accuracy_bits() < 16


def by_sign(x: Any, above: Any, below: Any) -> Any:
    """Return one number where x is certainly positive, else another."""
    if isinstance(x, Span):
        return x.where_positive(above, below)
    return above if x > 0 else below


def ends(x: arb) -> tuple[arb, arb]:
    """Return the ends of a ball, exact numbers rounded outward."""
    return x.lower(), x.upper()


def monotone(f: Callable[[arb], arb], x: arb) -> arb:
    """Return the enclosure of a monotone function, from its values at the ends."""
    if x.is_exact():
        return f(x)
    first, last = map(f, ends(x))
    return spanned(first.min(last), first.max(last))


# Comparison --------------------------------------------------------------------------------


def less(a: Any, b: Any) -> bool | None:
    """Return whether a < b, or None where the balls do not decide it."""
    if a is b:
        return False if a.is_finite() or a == a else None  # one ball is one number, or NaN
    a, b = _real(a), _real(b)
    if a < b:
        return True
    return False if a >= b else None


def equal(a: Any, b: Any) -> bool | None:
    """Return whether a = b, or None where the balls do not decide it."""
    if a is b:
        return True if a.is_finite() or a == a else None
    if isinstance(a, acb) or isinstance(b, acb):
        a, b = acb(a), acb(b)
        both = equal(a.real, b.real), equal(a.imag, b.imag)
        return False if False in both else None if None in both else True
    if a.is_exact() and b.is_exact() and a == b:
        return True
    return False if a < b or a > b else None


def _real(x: Any) -> arb:
    return x.real if isinstance(x, acb) else x


# Floats ------------------------------------------------------------------------------------


def float_below(x: arb) -> float:
    """Return a float at most the lower end of the ball.

    **Raises:** `ValueError` for anything but a real ball.
    """
    _ball(x)
    with precision(128):
        return _outward(x.lower(), -np.inf)


def float_above(x: arb) -> float:
    """Return a float at least the upper end of the ball.

    **Raises:** `ValueError` for anything but a real ball.
    """
    _ball(x)
    with precision(128):
        return _outward(x.upper(), np.inf)


def _ball(x: Any) -> arb:
    return instance("x", x, arb, "a real ball, python-flint's arb")


def _outward(end: arb, way: float) -> float:
    if not end.is_finite():
        return way if end.is_nan() else float(end)
    near = float(end)
    if not np.isfinite(near):
        return near if near == way else float(np.nextafter(near, -near))
    beyond = arb(near) > end if way > 0 else arb(near) < end
    return near if beyond or arb(near) == end else float(np.nextafter(near, way))


def objects(values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return an object array of these numbers; a number alone fills the shape.

    **Raises:** `ValueError` for an invalid shape, or one that the numbers do not fill.
    """
    try:
        return _laid_out(values, shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"shape is a tuple of sizes that the numbers fill, got {shown(shape)}."
        ) from None


def _laid_out(values: Any, shape: tuple[int, ...] | None) -> np.ndarray:
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values if shape is None else values.reshape(shape)
    made = np.empty(() if shape is None else shape, dtype=object)
    if isinstance(values, np.ndarray | list | tuple):
        flat = made.reshape(-1) if shape is not None else None
        items = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        if flat is None:
            flat = made = np.empty(len(items), dtype=object)
        flat[:] = items
        return made
    made[...] = values
    return made
