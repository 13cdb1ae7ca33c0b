"""Bounds on the growth of a function, from a run of its program on bounds in place of numbers."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

from flint import arb

from theorykit.certify import _numbers
from theorykit.certify._enclose import Program
from theorykit.certify._machine import Doubt, Field, Machine, NotCertifiable
from theorykit.certify._numbers import objects

INFINITE = arb.pos_inf()

# Intervals ---------------------------------------------------------------------------------

RISING = {
    "exp", "expm1", "sinh", "tanh", "asinh", "atan", "erf", "log", "log1p", "sqrt", "asin",
    "atanh", "acosh",
}  # fmt: skip
FALLING = {"erfc", "acos", "rsqrt"}
OTHERS = {"sin", "cos", "cosh", "tan", "lgamma", "digamma"}
LIMITS: dict[str, tuple[Any, Any]] = {
    "exp": (0, INFINITE),
    "expm1": (-1, INFINITE),
    "tanh": (-1, 1),
    "erf": (-1, 1),
    "erfc": (2, 0),
    "atan": (-2, 2),
    "rsqrt": (None, 0),
}
"""What a function tends to at minus and plus infinity, or a bound on that."""


@dataclasses.dataclass(frozen=True)
class Interval:
    """The numbers between two exact ends, which may be infinite.

    Unlike a ball it keeps an end at zero: [0, r] times a third does not reach below zero.
    """

    low: arb
    high: arb

    @classmethod
    def of(cls, low: arb, high: arb) -> "Interval":
        """Return the interval between these balls; where an end is lost it is infinite."""
        low, high = low.lower(), high.upper()
        if low > high:
            return cls(-INFINITE, INFINITE)
        return cls(-INFINITE if low.is_nan() else low, INFINITE if high.is_nan() else high)

    @property
    def finite(self) -> bool:
        """Whether both ends are."""
        return bool(self.low.is_finite() and self.high.is_finite())

    @property
    def size(self) -> arb:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def __add__(self, other: Any) -> "Interval":
        other = interval(other)
        return Interval.of(self.low + other.low, self.high + other.high)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Any) -> "Interval":
        return self + -interval(other)

    def __rsub__(self, other: Any) -> "Interval":
        return -self + other

    __radd__ = __add__

    def __mul__(self, other: Any) -> "Interval":
        other = interval(other)
        ends = [_times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval.of(min(e.lower() for e in ends), max(e.upper() for e in ends))

    def __truediv__(self, other: "Interval") -> "Interval":
        if not (other.low > 0 or other.high < 0):
            return Interval(-INFINITE, INFINITE)
        return self * Interval.of(1 / other.high, 1 / other.low)

    def __abs__(self) -> "Interval":
        if self.low >= 0:
            return self
        return -self if self.high <= 0 else Interval(arb(0), self.size)

    def __pow__(self, n: int) -> "Interval":
        if n < 0:
            return Interval(arb(1), arb(1)) / self**-n
        if n == 0:
            return Interval(arb(1), arb(1))
        base = abs(self) if n % 2 == 0 else self
        return Interval.of(_raised(base.low, n), _raised(base.high, n))

    def union(self, other: "Interval") -> "Interval":
        """Return the smallest interval that covers both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def function(self, name: str) -> "Interval":
        """Return an interval of the function's values."""
        if name in ("acos", "asin") and not (self.low >= -1 and self.high <= 1):
            return Interval(arb(-2), arb(4))  # wherever it is defined
        if name in RISING:
            return Interval.of(
                _limit(name, self.low, 0, -INFINITE), _limit(name, self.high, 1, INFINITE)
            )
        if name in FALLING:
            return Interval.of(
                _limit(name, self.high, 1, -INFINITE), _limit(name, self.low, 0, INFINITE)
            )
        made = getattr(self.low.union(self.high), name)() if self.finite else arb.nan()
        if not made.is_finite() and name in ("sin", "cos"):
            return Interval(arb(-1), arb(1))
        return Interval.of(made, made)


def interval(x: Any) -> Interval:
    """Return a number as an interval."""
    return x if isinstance(x, Interval) else Interval.of(arb(x), arb(x))


def _times(a: arb, b: arb) -> arb:
    return arb(0) if a == 0 or b == 0 else a * b


def _raised(x: arb, n: int) -> arb:
    return x**n if x.is_finite() else x


def _limit(name: str, x: arb, side: int, unknown: arb) -> arb:
    """Return the value at an end of the argument, or what bounds it where nothing is known."""
    if x.is_finite():
        return getattr(x, name)()
    limit = LIMITS[name][side] if name in LIMITS and (x > 0) == bool(side) else None
    return unknown if limit is None else arb(limit)


# Numbers that are recorded or bounded rather than computed -----------------------------------


class Number:
    """The operators and functions that rules call, sent to `binary`, `power` and `function`.

    A subclass knows the `range` of its number.
    """

    range: Interval

    def __add__(self, other: Any) -> Any:
        return self.binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.binary("truediv", other, self)

    def __pow__(self, n: Any) -> Any:
        return self.power(n)

    def is_exact(self) -> bool:
        """No number of this kind is known exactly."""
        return False

    def binary(self, name: str, x: Any, y: Any) -> Any:
        """Return x + y, x - y, x * y or x / y."""
        raise NotImplementedError

    def power(self, n: Any) -> Any:
        """Return the power."""
        raise NotImplementedError

    def function(self, name: str) -> Any:
        """Return the function of this name."""
        raise NotImplementedError


def _forward(name: str) -> Callable[[Number], Any]:
    return lambda x: x.function(name)


for _name in RISING | FALLING | OTHERS:
    setattr(Number, _name, _forward(_name))


def range_of(x: Any) -> Interval:
    """Return the range of a number of any kind."""
    return x.range if isinstance(x, Number) else interval(x)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "truediv": lambda x, y: x / y,
}


# Growth ------------------------------------------------------------------------------------

Polynomial = tuple[arb, ...]


class Bound(Number):
    """A number whose absolute value is at most a polynomial in |x|, with its range over all x.

    The range alone may bound what comes of a number without polynomial: 1 / (1 + exp(x)).
    """

    def __init__(self, coefficients: Polynomial, range: Interval):
        known = coefficients if all(a.is_finite() for a in coefficients) else (INFINITE,)
        self.coefficients = (range.size,) if range.finite else known
        self.range = range

    @classmethod
    def of(cls, value: Any) -> "Bound":
        """Return the bound of a constant."""
        if isinstance(value, Bound):
            return value
        value = _numbers.constant(value)
        return cls((abs(value).upper(),), interval(value))

    def binary(self, name: str, x: Any, y: Any) -> "Bound":
        """Return the bound of a sum, difference, product or quotient."""
        x, y = Bound.of(x), Bound.of(y)
        p, q = x.coefficients, y.coefficients
        if name == "truediv":
            inverse = Interval(arb(1), arb(1)) / y.range
            name, q, other = "mul", (inverse.size,), x.range / y.range
        else:
            other = OPERATIONS[name](x.range, y.range)
        return Bound(_product(p, q) if name == "mul" else _sum(p, q), other)

    def power(self, n: Any) -> "Bound":
        """Return the bound of a power, which need not be whole."""
        if isinstance(n, int):
            if n < 0:
                return 1 / self ** (-n)
            powers = [self.coefficients] * n
            return Bound(functools.reduce(_product, powers, (arb(1),)), self.range**n)
        ends = range_of(n)
        if ends.low != ends.high or not ends.low >= 0:
            raise Doubt("the exponent is not a positive constant")
        above = int(ends.low.ceil().unique_fmpz())
        if above == ends.low:
            return self.power(above)
        # Of x >= 0 alone, and x^n <= 1 + x^m for a whole m >= n.
        made = 1 + self.power(above)
        return Bound(made.coefficients, Interval(arb(0), made.range.high))

    def __abs__(self) -> "Bound":
        return Bound(self.coefficients, abs(self.range))

    def __neg__(self) -> "Bound":
        return Bound(self.coefficients, -self.range)

    def function(self, name: str) -> "Bound":
        """Return the bound of a function: its range if that is finite, or else what is known."""
        made, p = self.range.function(name), self.coefficients
        if made.finite or name == "asinh":
            return Bound(p, made)
        if name == "sqrt":
            return Bound(tuple(a / 2 for a in _sum(p, (arb(1),))), made)
        if name in ("log", "log1p") and made.low.is_finite():
            return Bound(_sum(p, (abs(made.low),)), made)
        return Bound((INFINITE,), made)

    def union(self, other: "Bound") -> "Bound":
        """Return a bound of either."""
        p, q = _padded(self.coefficients, other.coefficients)
        return Bound(tuple(map(max, p, q)), self.range.union(other.range))

    def sgn(self) -> "Bound":
        """Return the bound of the sign."""
        return Bound((arb(1),), Interval(arb(-1), arb(1)))

    def atan2(self, other: Any) -> "Bound":
        """Return the bound of an angle."""
        return Bound((arb(4),), Interval(arb(-4), arb(4)))

    def is_finite(self) -> bool:
        """What a polynomial bounds is finite."""
        return True


def _padded(p: Polynomial, q: Polynomial) -> tuple[Polynomial, Polynomial]:
    n = max(len(p), len(q))
    zero = (arb(0),)
    return p + zero * (n - len(p)), q + zero * (n - len(q))


def _sum(p: Polynomial, q: Polynomial) -> Polynomial:
    return tuple((a + b).upper() for a, b in zip(*_padded(p, q), strict=True))


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    made = [arb(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            made[i + j] = (made[i + j] + a * b).upper()
    return tuple(made)


def less(a: Bound, b: Bound) -> bool | None:
    """Return whether a < b for every x, or None."""
    if a is b:
        return False
    if a.range.high < b.range.low:
        return True
    return False if a.range.low >= b.range.high else None


def equal(a: Bound, b: Bound) -> bool | None:
    """Return whether a = b for every x, or None."""
    if less(a, b) or less(b, a):
        return False
    point = a.range.low == a.range.high == b.range.low == b.range.high
    return True if a is b or point else None


BOUNDS = Field(Bound.of, less, equal)


def growth(program: Program, arguments: int) -> tuple[arb, int]:
    """Return (c, p) such that |f(x)| <= c (1 + |x|)^p for every real x.

    **Raises:** `NotCertifiable` if the program does not show it.
    """
    line = Bound((arb(0), arb(1)), Interval(-INFINITE, INFINITE))
    machine = Machine(BOUNDS, hull=True)
    try:
        (out,) = program.run(machine, [objects(line, ()) for _ in range(arguments)])
        made = Bound.of(out.item()).coefficients
        if not all(a.is_finite() for a in made):
            raise NotCertifiable("an exponential or a quotient in it has no polynomial bound")
    except NotCertifiable as error:
        raise NotCertifiable(
            f"no growth could be derived; state growth=(c, p), which claims "
            f"|f(x)| <= c (1 + |x|)^p for every real x ({str(error).rstrip('.')}).",
            error.primitive,
            error.place,
        ) from None
    p = max((i for i, a in enumerate(made) if a != 0), default=0)
    return max((a / math.comb(p, i)).upper() for i, a in enumerate(made[: p + 1])), p


def stated(value: Any) -> tuple[arb, arb]:
    """Return a growth that the caller states.

    **Raises:** `ValueError` unless it is a pair of numbers that are not negative.
    """
    try:
        c, p = (_numbers.ball(v) for v in value)
        if not (isinstance(c, arb) and isinstance(p, arb) and c >= 0 and p >= 0):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"growth is a pair (c, p) of numbers >= 0, which claims |f(x)| <= c (1 + |x|)^p, not "
            f"{value!r}."
        ) from None
    return c, p
