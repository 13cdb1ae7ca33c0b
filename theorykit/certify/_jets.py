"""Numbers that carry their derivatives: a ball, and a ball for each partial derivative.

Derivatives are taken here, number by number, and not by JAX: `stop_gradient` and custom rules may
give something other than the derivative, and a mean value theorem needs the derivative itself.
Where a function may jump, the slope is given up (None) while the value stays.

A jet may be made of jets: its slopes then carry slopes of their own, which are second derivatives,
and so on. At a kink the slopes are enclosed, but may jump, so that theirs are given up.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from flint import arb

from theorykit.certify import _elementwise as on_balls
from theorykit.certify._choice import absolute, larger, smaller
from theorykit.certify._machine import Field, Machine
from theorykit.certify._numbers import constant, equal, is_wide, less, spanned
from theorykit.certify._spans import Span

Slopes = tuple[Any, ...] | None
"""Partial derivatives; () is a constant's, None says that there may be a jump."""


class Jet:
    """A value and its partial derivatives, each enclosed over a box: balls, or jets."""

    __slots__ = ("slopes", "value")

    def __init__(self, value: Any, slopes: Slopes = ()):
        self.value, self.slopes = value, slopes

    # Arithmetic

    def __add__(self, other: Any) -> "Jet":
        other = lifted(other)
        return Jet(self.value + other.value, added(self.slopes, other.slopes))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Jet":
        return self + -other

    def __rsub__(self, other: Any) -> "Jet":
        return -self + other

    def __neg__(self) -> "Jet":
        return Jet(-self.value, scaled(self.slopes, arb(-1)))

    def __mul__(self, other: Any) -> "Jet":
        if self is other:
            return self**2
        other = lifted(other)
        slopes = added(scaled(self.slopes, other.value), scaled(other.slopes, self.value))
        return Jet(self.value * other.value, slopes)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Jet":
        other = lifted(other)
        value = on_balls.quotient(self.value, other.value)
        over = on_balls.quotient(arb(1), other.value)
        return Jet(value, scaled(added(self.slopes, scaled(other.slopes, -value)), over))

    def __rtruediv__(self, other: Any) -> "Jet":
        return lifted(other) / self

    def __pow__(self, n: Any) -> "Jet":
        if isinstance(n, Jet | arb):
            value = n.value if isinstance(n, Jet) and n.slopes == () else n
            if isinstance(value, Jet):
                return (n * self.log()).exp()
            if value.is_exact() and value.is_integer() and abs(value) < 1 << 30:
                return self ** int(value.unique_fmpz())
            return self._chain(lambda x: x**value, lambda x: value * x ** (value - 1))
        if n == 0:
            return Jet(arb(1))
        return self._chain(lambda x: on_balls.power(x, n), lambda x: n * on_balls.power(x, n - 1))

    def _chain(self, f: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> "Jet":
        value = f(self.value)
        if not self.slopes:
            return Jet(value, self.slopes)
        return Jet(value, scaled(self.slopes, derivative(self.value)))

    # Functions

    def exp(self) -> "Jet":
        value = _exp(self.value)
        return Jet(value, scaled(self.slopes, value))

    def expm1(self) -> "Jet":
        return self._chain(on_balls.at_ends(lambda x: x.expm1()), _exp)

    def log(self) -> "Jet":
        return self._chain(on_balls.where_positive(on_balls.log), _over)

    def log1p(self) -> "Jet":
        return self._chain(lambda x: x.log1p(), lambda x: 1 / (1 + x))

    def sin(self) -> "Jet":
        return self._chain(lambda x: x.sin(), lambda x: x.cos())

    def cos(self) -> "Jet":
        return self._chain(lambda x: x.cos(), lambda x: -x.sin())

    def tan(self) -> "Jet":
        return self._chain(lambda x: x.tan(), lambda x: 1 / x.cos() ** 2)

    def sinh(self) -> "Jet":
        return self._chain(on_balls.at_ends(lambda x: x.sinh()), on_balls.cosh)

    def cosh(self) -> "Jet":
        return self._chain(on_balls.cosh, on_balls.at_ends(lambda x: x.sinh()))

    def tanh(self) -> "Jet":
        return self._chain(on_balls.at_ends(lambda x: x.tanh()), _hump)

    def logistic(self) -> "Jet":
        return self._chain(on_balls.at_ends(on_balls.logistic), lambda x: _hump(x / 2) / 4)

    def asin(self) -> "Jet":
        return self._chain(on_balls.between(lambda x: x.asin()), lambda x: (1 - x * x).rsqrt())

    def acos(self) -> "Jet":
        return self._chain(on_balls.between(lambda x: x.acos()), lambda x: -(1 - x * x).rsqrt())

    def atan(self) -> "Jet":
        return self._chain(lambda x: x.atan(), lambda x: 1 / (1 + on_balls.power(x, 2)))

    def atan2(self, x: "Jet") -> "Jet":
        square = on_balls.power(self.value, 2) + on_balls.power(x.value, 2)
        slopes = added(scaled(self.slopes, x.value), scaled(x.slopes, -self.value))
        above, across = self.value, x.value
        if isinstance(above, Jet) or isinstance(across, Jet):
            above, across = lifted(above), lifted(across)
        here, there = ball_of(above), ball_of(across)
        if here.is_nan() or there.is_nan():
            return Jet(arb.nan(), None)
        if not (there > 0 or here > 0 or here < 0):
            return Jet(type(above).atan2(above, across), None)  # it may jump by 2 pi
        return Jet(type(above).atan2(above, across), scaled(slopes, 1 / square))

    def erf(self) -> "Jet":
        return self._chain(on_balls.at_ends(lambda x: x.erf()), _bell)

    def erfc(self) -> "Jet":
        return self._chain(on_balls.at_ends(lambda x: x.erfc()), lambda x: -_bell(x))

    def sqrt(self) -> "Jet":
        return self._chain(on_balls.where_positive(on_balls.root), lambda x: _rsqrt(x) / 2)

    def rsqrt(self) -> "Jet":
        return self._chain(_rsqrt, lambda x: -_rsqrt(x) * _over(x) / 2)

    # Choice

    def __abs__(self) -> "Jet":
        value = ball_of(self)
        if isinstance(value, Span):
            if value.above(0):
                return self
            slopes = _united(self.slopes, (-self).slopes, _between(value, -value))
            return Jet(abs(value), slopes)
        if value >= 0:
            return self  # which keeps what is remembered of it
        return -self if value <= 0 else self._chain(_absolute, lambda x: x.sgn())

    def sgn(self) -> "Jet":
        value = ball_of(self)
        sign = value if value.is_nan() else value.sgn()
        return Jet(sign, () if sign.is_exact() else None)

    def rounded(self, value: Any) -> "Jet":
        """Return what it is rounded to, over the box: one number, or it jumps."""
        return Jet(value, () if ball_of(value).is_exact() else None)

    def max(self, other: "Jet") -> "Jet":
        """Return the larger: continuous, so its slopes lie among those of the two."""
        a, b = _alike(self.value, other.value)
        value = a.max(b) if isinstance(a, Span) else larger(_plain, a, b)
        if value is a or value is b:
            return self if value is a else other
        return Jet(value, _united(self.slopes, other.slopes, _between(a, b)))

    def min(self, other: "Jet") -> "Jet":
        a, b = _alike(self.value, other.value)
        value = a.min(b) if isinstance(a, Span) else smaller(_plain, a, b)
        if value is a or value is b:
            return self if value is a else other
        return Jet(value, _united(other.slopes, self.slopes, _between(a, b)))

    def union(self, other: "Jet") -> "Jet":
        """Cover two branches; between them the function may jump."""
        a, b = _alike(self.value, other.value)
        return Jet(a.union(b), None)

    def is_finite(self) -> bool:
        return bool(self.value.is_finite())


def lifted(x: Any) -> Jet:
    """Return a jet as it is, and another number as a constant."""
    return x if isinstance(x, Jet) else Jet(x if isinstance(x, Span) else arb(x))


def ball_of(x: Any) -> arb:
    """Return the ball of a jet, of one that is made of jets, or of a ball."""
    while isinstance(x, Jet):
        x = x.value
    return x


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two numbers of one kind: both jets if one is, or both spans."""
    if isinstance(a, Jet) or isinstance(b, Jet):
        return lifted(a), lifted(b)
    return (Span.of(a), Span.of(b)) if isinstance(a, Span) or isinstance(b, Span) else (a, b)


def _bell(x: arb) -> arb:
    return 2 * _exp(-on_balls.power(x, 2)) / arb.pi().sqrt()


def _hump(x: arb) -> arb:
    return _over(on_balls.power(on_balls.cosh(x), 2))


def _over(x: arb) -> arb:
    return on_balls.quotient(arb(1), x)


_exp = on_balls.at_ends(lambda x: x.exp())
_rsqrt = on_balls.where_positive(lambda x: x.rsqrt())


def added(a: Slopes, b: Slopes) -> Slopes:
    """Return the slopes of a sum."""
    if a is None or b is None:
        return None
    if not a or not b:
        return a or b
    return tuple(x + y for x, y in zip(a, b, strict=True))


def scaled(a: Slopes, factor: arb) -> Slopes:
    """Return the slopes of a multiple."""
    return a if not a else tuple(x * factor for x in a)


def _between(a: Any, b: Any) -> Callable[[Any, Any], Any]:
    """Return what a slope is where a is larger, and where b is, and either where that is open.

    A slope that has slopes of its own may jump.
    """
    if isinstance(a, Span):
        return lambda x, y: a.of_larger(b, x, y)
    return (lambda x, y: lifted(x).union(lifted(y))) if isinstance(a, Jet) else _spanned


def _united(a: Slopes, b: Slopes, between: Callable[[Any, Any], Any]) -> Slopes:
    """Return slopes between two."""
    if a is None or b is None:
        return None
    if not a and not b:
        return ()
    a = a or (arb(0),) * len(b or ())
    b = b or (arb(0),) * len(a)
    return tuple(x if x is y else between(x, y) for x, y in zip(a, b, strict=True))


def _spanned(x: arb, y: arb) -> arb:
    return spanned(x.min(y), x.max(y))


def _absolute(x: Any) -> Any:
    return absolute(_plain, x)


def variable(value: arb, unit: Sequence[int], order: int) -> Any:
    """Return a ball as a variable that carries its derivatives up to an order.

    **Arguments:** `unit`: its slopes, a 1 for itself and a 0 for each of the others; all are 0 if
    it stays where it is, and the order is then 0.
    """
    for _ in range(order):
        value = Jet(value, tuple(map(arb, unit)))
    return value


def derivative(x: Any, i: int) -> Any:
    """Return the derivative by the i-th variable; None where there may be a jump."""
    if x is None or not isinstance(x, Jet) or x.slopes == ():
        return None if x is None else arb(0)
    return None if x.slopes is None else x.slopes[i]


JETS = Field(
    constant=lambda value: value if isinstance(value, Jet) else Jet(constant(value)),
    less=lambda a, b: less(ball_of(a), ball_of(b)),
    equal=lambda a, b: equal(ball_of(a), ball_of(b)),
    wide=lambda x: is_wide(ball_of(x)),
)

SPANS = Field(
    constant=lambda value: value if isinstance(value, Span) else Span.of(constant(value)),
    less=less,
    equal=equal,
    wide=lambda x: True,
    many=True,
)
"""Many pieces at once."""

POINTS = dataclasses.replace(SPANS, wide=None)
"""Many points at once, at which nothing is gained by knowing what numbers were made of."""

JETS_OF_SPANS = dataclasses.replace(
    JETS,
    constant=lambda value: value if isinstance(value, Jet) else Jet(SPANS.constant(value)),
    wide=lambda x: True,
    many=True,
)

_plain = Machine(field=JETS)
