"""Intervals with float ends, a vector of them in one number: many pieces of a box at once.

A `Span` has the methods of a ball, so that the rules of primitives and the derivatives of `_jets`
serve it as they are. Any are rounded outward: IEEE arithmetic errs by at most half a unit in the
last place, and each result gives up four. The exponential is computed here from sums and products;
other functions are taken from balls. NaN for an end says that nothing is known on that side.

A comparison is one answer for all pieces. Where they differ it raises `Mixed`, and whoever runs the
program asks again for those that agree.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb
from jaxtyping import Bool

UNIT = 2.0**-51
"""What a rounded sum, product, quotient or root gives up: four times its relative error."""

TINY = 2.0**-1060
"""What a product or quotient may lose besides, where it is too small for all of its digits."""


class Mixed(Exception):
    """Raised where pieces differ in the answer to a comparison.

    **Fields:** `where`, for which pieces the answer is yes.
    """

    def __init__(self, where: Bool[np.ndarray, " pieces"]):
        super().__init__("the pieces differ in a comparison")
        self.where = where


class Span:
    """Intervals [lo, hi], one per piece; a constant has a single one.

    **Fields:** `lo`, `hi`: float64 arrays of one shape, (pieces,) or ().
    """

    __slots__ = ("hi", "lo")
    __hash__ = object.__hash__

    def __init__(self, lo: Any, hi: Any):
        self.lo, self.hi = lo, hi

    def __repr__(self) -> str:
        return f"Span({self.lo}, {self.hi})"

    @staticmethod
    def of(x: Any) -> "Span":
        """Return a number as a span, rounded outward where it is not a float."""
        if isinstance(x, Span):
            return x
        if not isinstance(x, arb):
            x = arb(x)
        return Span(*map(np.float64, _ends(x)))

    # Arithmetic

    def __add__(self, other: Any) -> "Span":
        if _is(other, 0):
            return self
        other = Span.of(other)
        low, high = self.lo + other.lo, self.hi + other.hi  # exact where they are tiny
        return Span(low - np.abs(low) * UNIT, high + np.abs(high) * UNIT)

    __radd__ = __add__

    def __neg__(self) -> "Span":
        return Span(-self.hi, -self.lo)

    def __sub__(self, other: Any) -> "Span":
        return self if _is(other, 0) else self + -Span.of(other)

    def __rsub__(self, other: Any) -> "Span":
        return -self + other

    def __mul__(self, other: Any) -> "Span":
        if self is other:
            return self**2
        if _is(other, 1):
            return self
        if _is(other, 0) and self.is_finite():
            return Span.of(other)
        other = Span.of(other)
        if (self.lo >= 0).all() and (other.lo >= 0).all():
            return Span(_under(self.lo * other.lo), _over(self.hi * other.hi))
        return _corners(np.multiply, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Span":
        other = Span.of(other)
        if (self.lo >= 0).all() and (other.lo > 0).all():
            return Span(_under(self.lo / other.hi), _over(self.hi / other.lo))
        made = _corners(np.divide, self, other)
        return made.unknown_where((other.lo <= 0) & (other.hi >= 0))

    def __rtruediv__(self, other: Any) -> "Span":
        return Span.of(other) / self

    def __pow__(self, n: Any) -> "Span":
        if isinstance(n, arb | Span):
            if not (n.is_exact() and n.is_integer()):
                return (self.log() * n).exp()
            n = int(n.unique_fmpz())
        if n < 0:
            return 1 / self**-n
        if n == 0:
            return Span.of(1)
        low, high = np.abs(self.lo), np.abs(self.hi)
        if n % 2:
            ends = (_raised(low, n), _raised(high, n))
            negative = (self.lo < 0, self.hi < 0)
            return Span(
                np.where(negative[0], -ends[0][1], ends[0][0]),
                np.where(negative[1], -ends[1][0], ends[1][1]),
            )
        astride = (self.lo <= 0) & (self.hi >= 0)
        least = np.where(astride, 0.0, np.minimum(low, high))
        return Span(_raised(least, n)[0], _raised(np.maximum(low, high), n)[1])

    # Functions

    def exp(self) -> "Span":
        """Return the exponential, as in `_exponential`."""
        low = _exponential(self.lo)
        high = low if self.hi is self.lo else _exponential(self.hi)
        return Span(low[0], high[1])

    def logistic(self) -> "Span":
        """Return 1 / (1 + exp(-x)), which rises."""
        return 1 / ((-self).exp() + 1)

    def sqrt(self) -> "Span":
        low, high = np.sqrt(self.lo), np.sqrt(self.hi)
        made = Span(_under(low), _over(high))
        return made.unknown_where(~(self.lo >= 0))

    def rsqrt(self) -> "Span":
        return 1 / self.sqrt()

    def cosh(self) -> "Span":
        """Return (exp(x) + exp(-x)) / 2, which rises with |x|."""
        size = abs(self)
        low, high = ((e.exp() + (-e).exp()) / 2 for e in (size.lower(), size.upper()))
        return Span(low.lo, high.hi)

    def sin(self) -> "Span":
        return self._by_balls(arb.sin)

    def cos(self) -> "Span":
        return self._by_balls(arb.cos)

    def log(self) -> "Span":
        """Return the logarithm, as in `_logarithm`."""
        low = _logarithm(self.lo)
        high = low if self.hi is self.lo else _logarithm(self.hi)
        return Span(low.lo, high.hi).unknown_where(~(self.lo > 0))

    def log1p(self) -> "Span":
        """Return log(1 + x), which lies between x / (1 + x) and x."""
        near = Span((self.lower() / (1 + self.lower())).lo, self.hi)
        return (1 + self).log().meet(near).unknown_where(~(self.lo > -1))

    def tanh(self) -> "Span":
        """Return 1 - 2 / (1 + exp(2 x)), which rises."""
        return (1 - 2 / (1 + (2 * self).exp())).max(-1).min(1)

    def erfc(self) -> "Span":
        return -self._rising(lambda x: -x.erfc())

    def acos(self) -> "Span":
        return -self._rising(lambda x: -x.acos())

    def _rising(self, f: Callable[[arb], arb]) -> "Span":
        """Return a function that rises, from balls at the ends."""
        low = _at_points(f, self.lo)
        high = low if self.hi is self.lo else _at_points(f, self.hi)
        return Span(low[0], high[1]).unknown_where(np.isnan(low[0]) | np.isnan(high[1]))

    def _by_balls(self, f: Callable[[arb], arb]) -> "Span":
        """Return any function, from balls that hold the intervals."""
        pairs = zip(np.ravel(self.lo).tolist(), np.ravel(self.hi).tolist(), strict=True)
        found = np.array([_ends(f(arb(a).union(arb(b)))) for a, b in pairs]).T
        made = found.reshape(2, *np.shape(self.lo))
        return Span(made[0], made[1])

    # Choice

    def __abs__(self) -> "Span":
        return self if self.above(0) else self.max(-self).max(0)

    def max(self, other: Any) -> "Span":
        other = Span.of(other)
        if self.above(other) or other.above(self):
            return self if self.above(other) else other
        return Span(np.maximum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def min(self, other: Any) -> "Span":
        other = Span.of(other)
        if self.above(other) or other.above(self):
            return other if self.above(other) else self
        return Span(np.minimum(self.lo, other.lo), np.minimum(self.hi, other.hi))

    def above(self, other: Any) -> bool:
        """Whether this is certainly at least as large, for every piece."""
        return bool((self.lo >= Span.of(other).hi).all())

    def union(self, other: Any) -> "Span":
        """Return intervals that hold both."""
        other = Span.of(other)
        return Span(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def meet(self, other: Any) -> "Span":
        """Return the intersection of two enclosures of one number."""
        other = Span.of(other)
        return Span(np.fmax(self.lo, other.lo), np.fmin(self.hi, other.hi))

    def sgn(self) -> "Span":
        made = Span(np.sign(self.lo), np.sign(self.hi))
        return made.unknown_where(np.isnan(self.lo) | np.isnan(self.hi))

    def floor(self) -> "Span":
        return Span(np.floor(self.lo), np.floor(self.hi))

    def ceil(self) -> "Span":
        return Span(np.ceil(self.lo), np.ceil(self.hi))

    def of_larger(self, other: Any, mine: Any, theirs: Any) -> "Span":
        """Return `mine` where this is certainly larger, `theirs` where the other is, or both."""
        other, mine, theirs = Span.of(other), Span.of(mine), Span.of(theirs)
        both = mine.union(theirs)
        first, second = self.lo >= other.hi, self.hi <= other.lo
        pick = lambda a, b, c: np.where(first, a, np.where(second, b, c))
        return Span(pick(mine.lo, theirs.lo, both.lo), pick(mine.hi, theirs.hi, both.hi))

    def where_positive(self, above: Any, below: Any) -> "Span":
        """Return `above` where this is certainly positive, else `below`."""
        above, below = Span.of(above), Span.of(below)
        here = self.lo > 0
        return Span(np.where(here, above.lo, below.lo), np.where(here, above.hi, below.hi))

    def unknown_where(self, here: Any) -> "Span":
        """Return it without knowledge of some pieces."""
        if not np.any(here):
            return self
        return Span(np.where(here, np.nan, self.lo), np.where(here, np.nan, self.hi))

    # Questions

    def lower(self) -> "Span":
        return Span(self.lo, self.lo)

    def upper(self) -> "Span":
        return Span(self.hi, self.hi)

    def abs_upper(self) -> "Span":
        return abs(self).upper()

    def abs_lower(self) -> "Span":
        return abs(self).lower().max(0)

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.lo).all() and np.isfinite(self.hi).all())

    def is_exact(self) -> bool:
        return bool((self.lo == self.hi).all())

    def is_nan(self) -> bool:
        return one_answer(np.isnan(self.lo) | np.isnan(self.hi))

    def is_integer(self) -> bool:
        return np.ndim(self.lo) == 0 and self.is_exact() and float(self.lo).is_integer()

    def unique_fmpz(self) -> int:
        return int(self.lo)

    def __lt__(self, other: Any) -> bool:
        return one_answer(self.hi < Span.of(other).lo)

    def __le__(self, other: Any) -> bool:
        return one_answer(self.hi <= Span.of(other).lo)

    def __gt__(self, other: Any) -> bool:
        return one_answer(self.lo > Span.of(other).hi)

    def __ge__(self, other: Any) -> bool:
        return one_answer(self.lo >= Span.of(other).hi)

    def __eq__(self, other: object) -> bool:
        other = Span.of(other)
        same = (self.lo == self.hi) & (other.lo == other.hi) & (self.lo == other.lo)
        return one_answer(same)

    def __ne__(self, other: object) -> bool:
        other = Span.of(other)
        return one_answer((self.hi < other.lo) | (self.lo > other.hi))


def _rising_method(f: Callable[[arb], arb]) -> Callable[[Span], Span]:
    return lambda self: self._rising(f)


for _name in ("expm1", "sinh", "asinh", "asin", "atan", "erf"):
    setattr(Span, _name, _rising_method(getattr(arb, _name)))


def one_answer(answers: Any) -> bool:
    """Return what all pieces answer.

    **Raises:** `Mixed` if they differ.
    """
    first = bool(np.all(answers))
    if not first and np.any(answers):
        raise Mixed(np.asarray(answers))
    return first


def _is(x: Any, value: int) -> bool:
    """Whether something is exactly this number, and no vector."""
    if isinstance(x, Span):
        return np.ndim(x.lo) == 0 and bool(x.lo == value == x.hi)
    return bool(x == value)


def _under(p: Any) -> Any:
    """Return a lower end for a rounded number: of numbers that are not negative, not below zero."""
    return np.where(p >= 0, np.maximum(p - (p * UNIT + TINY), 0), p + (p * UNIT - TINY))


def _over(p: Any) -> Any:
    """Return an upper end for a rounded number."""
    return p + (np.abs(p) * UNIT + TINY)


def _corners(f: Callable[[Any, Any], Any], x: Span, y: Span) -> Span:
    """Return products or quotients, from those of the ends."""
    a, b, c, d = f(x.lo, y.lo), f(x.lo, y.hi), f(x.hi, y.lo), f(x.hi, y.hi)
    low = np.minimum(np.minimum(a, b), np.minimum(c, d))
    high = np.maximum(np.maximum(a, b), np.maximum(c, d))
    return Span(low - (np.abs(low) * UNIT + TINY), _over(high))


def _raised(x: Any, n: int) -> tuple[Any, Any]:
    """Return the ends of x^n, for x that is not negative and n >= 1, by squaring."""
    low, high, made = x, x, None
    while n:
        if n % 2:
            made = (low, high) if made is None else (_under(made[0] * low), _over(made[1] * high))
        n //= 2
        if n:
            low, high = _under(low * low), _over(high * high)
    assert made is not None
    return made


LOG_2 = float.fromhex("0x1.62e42fef8p-1"), float.fromhex("0x1.1cf79abc9e3b4p-36")
"""log 2 as a sum: the first has 35 bits, so that its products with an exponent are exact."""

LARGEST = 700.0
TAYLOR = [1 / math.factorial(k) for k in range(14)]
SPREAD = 2.0**-46


def _exponential(x: Any) -> tuple[Any, Any]:
    """Return the ends of exp(x), a relative 2^-46 about an approximation.

    With x = k log 2 + r, |r| <= 0.36, the value is 2^k times Taylor's polynomial of r to degree 13.
    What is left out of it is below 2^-56, and r is wrong by at most 2^-54. Horner's rule errs by at
    most 27 roundings of 2^-53 times exp(|r|) (Higham 2002, section 5.1), less than 2^-47 exp(r).
    """
    inner = np.clip(x, -LARGEST, LARGEST)
    k = np.rint(inner * 1.4426950408889634)
    r = (inner - k * LOG_2[0]) - k * LOG_2[1]
    p = TAYLOR[-1]
    for c in TAYLOR[-2::-1]:
        p = p * r + c
    p = np.ldexp(p, np.nan_to_num(k).astype(np.int64))
    low, high = p * (1 - SPREAD), p * (1 + SPREAD)
    return np.where(x < -LARGEST, 0.0, low), np.where(x > LARGEST, np.inf, high)


def _logarithm(x: Any) -> Span:
    """Return log(x) about an approximation y: it is y + log(1 + t) with t = x exp(-y) - 1.

    If |t| < 1/2, then log(1 + t) lies between t - t^2 and t. So nothing depends on how good y is.
    """
    y = np.log(x)
    point = Span(y, y)
    t = Span(x, x) * (-point).exp() - 1
    made = point + Span((t - t * t).lo, t.hi)
    return made.unknown_where(~(np.abs(t.lo) < 0.5) | ~(np.abs(t.hi) < 0.5))


def _at_points(f: Callable[[arb], arb], x: Any) -> tuple[Any, Any]:
    """Return the ends of a function at points, from balls."""
    made = np.array([_ends(f(arb(v))) for v in np.ravel(x).tolist()]).T
    low, high = made.reshape(2, *np.shape(x))
    return low, high


def _ends(x: arb) -> tuple[float, float]:
    """Return floats on either side of a ball; an exact float is its own."""
    near = float(x.mid())
    if x.is_exact() and arb(near) == x:
        return near, near
    if x.rel_accuracy_bits() > 56:  # so that the nearest float is less than one unit away
        return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)
    low, high = float(x.lower()), float(x.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
