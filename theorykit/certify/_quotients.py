"""Numbers that stand for all values at once: quotients of polynomials over the rationals.

A `Quotient` has a denominator that is proved positive on the whole domain, in the case at hand: so
it has a value everywhere, and equal numerators mean equal values.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import fmpq

from theorykit.certify._bounds import sign_by_bounds
from theorykit.certify._choices import split_on_choice
from theorykit.certify._machine import Doubt
from theorykit.certify._ring import REAL, Ring, quotient_of, shortened
from theorykit.certify._signs import signed_factors


@dataclasses.dataclass(frozen=True)
class Infinite:
    """Infinity or NaN: a mask's constant, compared with, chosen, passed over or exponentiated."""

    value: float

    def __add__(self, other: Any) -> "Infinite":
        return Infinite(self.value + (other.value if isinstance(other, Infinite) else 0.0))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Infinite":
        return self + -other

    def __rsub__(self, other: Any) -> "Infinite":
        return -self + other

    def __neg__(self) -> "Infinite":
        return Infinite(-self.value)

    def is_finite(self) -> bool:
        """It is not."""
        return False

    def is_nan(self) -> bool:
        """Whether it is NaN."""
        return self.value != self.value


def constant(ring: Ring, value: Any) -> Any:
    """Return a constant: a number of this ring, or one that is not finite."""
    if isinstance(value, Quotient | Infinite):
        return value
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return Infinite(float(value))
    return Quotient(ring, ring.constant(value))


def letter(
    ring: Ring, kind: str, of: Any, sign: int = REAL, square: Any = None, name: str = ""
) -> "Quotient":
    """Return a function's value as a letter of its own.

    **Arguments:** `of`: the argument, a number or polynomial or a list of numbers; `name`: how it
    is shown, where it is not the function of the argument; `square`: its square, a polynomial.
    """
    parts = of if isinstance(of, list) else [of]
    whole = [q if isinstance(q, Quotient) else Quotient(ring, q) for q in parts]
    code = "; ".join(q.code for q in whole)
    name = name or f"{kind}({', '.join(q.key for q in whole)})"
    return Quotient(ring, ring.gens[ring.letter(kind, of, code, name, sign, square)])


class Quotient:
    """A polynomial over a product of positive ones: `den` has (number of a factor, exponent)."""

    __slots__ = ("den", "num", "ring")

    def __init__(self, ring: Ring, num: Any, den: tuple[tuple[int, int], ...] = ()):
        self.ring, self.num, self.den = ring, num, den

    # Arithmetic

    def __add__(self, other: Any) -> "Quotient":
        other = constant(self.ring, other)
        if isinstance(other, Infinite):
            return NotImplemented
        self.ring.spend(10 + (len(self.num) + len(other.num)) // 32)
        if self.den == other.den:
            return Quotient(self.ring, self.num + other.num, self.den)
        if self.num.is_zero() or other.num.is_zero():
            return other if self.num.is_zero() else self
        mine, its = dict(self.den), dict(other.den)
        both = {k: max(mine.get(k, 0), its.get(k, 0)) for k in {**mine, **its}}
        den = tuple(sorted(both.items()))
        scaled = [
            q.ring.times(q.num, q.ring.product((k, e - had.get(k, 0)) for k, e in den))
            for q, had in ((self, mine), (other, its))
        ]
        return Quotient(self.ring, scaled[0] + scaled[1], den)

    __radd__ = __add__

    def __neg__(self) -> "Quotient":
        return Quotient(self.ring, -self.num, self.den)

    def __sub__(self, other: Any) -> "Quotient":
        return self + -constant(self.ring, other)

    def __rsub__(self, other: Any) -> "Quotient":
        return -self + other

    def __mul__(self, other: Any) -> "Quotient":
        other = constant(self.ring, other)
        if isinstance(other, Infinite):
            return NotImplemented
        a, its = _without(self.ring, self.num, other.den)
        b, mine = _without(self.ring, other.num, self.den)
        both = dict(mine)
        for k, e in its:
            both[k] = both.get(k, 0) + e
        return Quotient(self.ring, self.ring.times(a, b), tuple(sorted(both.items())))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Quotient":
        return self * constant(self.ring, other).inverse()

    def __rtruediv__(self, other: Any) -> "Quotient":
        return constant(self.ring, other) / self

    def __pow__(self, n: Any) -> "Quotient":
        n = int(n)
        base = self if n >= 0 else self.inverse()
        made = constant(self.ring, 1)
        for _ in range(abs(n)):
            made = made * base
        return made

    def inverse(self) -> "Quotient":
        """Return 1 over it.

        **Raises:** `NotCertifiable` if it is not proved to be nonzero everywhere; `Split` where
        that may depend on what is open in it.
        """
        ring = self.ring
        q = self.cancelled()
        turned = _conjugate(ring, q.num)
        norm = None if turned is None else ring.times(q.num, turned)
        if norm is not None and signed_factors(ring, norm):
            return q._over(turned, norm)
        parts = signed_factors(ring, q.num)
        if parts is None:
            split_on_choice(ring, [q.num])
            if norm is not None and signed_factors(ring, norm, sign_by_bounds):
                return q._over(turned, norm)
            parts = signed_factors(ring, q.num, sign_by_bounds)
        if parts is None:
            said = shortened(ring.show(q.num))
            raise Doubt(f"the denominator {said} is not proved to be nonzero everywhere")
        scale, factors = parts
        made = Quotient(ring, ring.product(q.den) / scale)
        den: dict[int, int] = {}
        for p, e in factors:
            if ring.only(p) in ring.squares:  # 1 / s = s / s^2
                root = Quotient(ring, p)
                made = made * root**e * (root * root).inverse() ** e
            else:
                den[ring.factor_index(p)] = den.get(ring.factor_index(p), 0) + e
        return made * Quotient(ring, ring.constant(1), tuple(sorted(den.items())))

    def _over(self, turned: Any, norm: Any) -> "Quotient":
        """Return 1 over it: 1 / (a + b s) = (a - b s) / (a^2 - b^2 s^2)."""
        ring = self.ring
        above = Quotient(ring, ring.times(turned, ring.product(self.den)))
        return above * Quotient(ring, norm).inverse()

    def cancelled(self) -> "Quotient":
        """Return it in lowest terms, as far as its factors go."""
        num, den = _without(self.ring, self.num, self.den)
        return Quotient(self.ring, num, den)

    def is_zero(self) -> bool:
        """Whether it is zero everywhere."""
        num = self.ring.reduced(self.num)
        if num.is_zero():
            return True
        return any(quotient_of(num, z) is not None for z in self.ring.zeros)

    def value(self) -> fmpq | None:
        """Return the number if it is a constant."""
        if not self.num.is_constant() or (self.den and not self.num.is_zero()):
            return None
        return fmpq(self.num.leading_coefficient()) if not self.num.is_zero() else fmpq(0)

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, Infinite) and (self - other).is_zero()

    __hash__ = None  # type: ignore[assignment]

    def is_finite(self) -> bool:
        """It has a value everywhere."""
        return True

    def is_nan(self) -> bool:
        """It is nowhere undefined."""
        return False

    def conjugate(self) -> "Quotient":
        """It is real."""
        return self

    @property
    def real(self) -> "Quotient":
        """It is real."""
        return self

    @property
    def code(self) -> str:
        """Its normal form as text that no other number has."""
        q = self.cancelled()
        return f"{self.ring.reduced(q.num)} / {q.den}"

    @property
    def key(self) -> str:
        """Its normal form in the names of its letters."""
        q = self.cancelled()
        num = self.ring.show(self.ring.reduced(q.num))
        return (f"({num})" if q.den and len(q.num) > 1 else num) + "".join(
            f" / ({self.ring.show(self.ring.factors[k])})" + (f"^{e}" if e > 1 else "")
            for k, e in q.den
        )

    def __repr__(self) -> str:
        return self.key


def _without(
    ring: Ring, num: Any, den: tuple[tuple[int, int], ...]
) -> tuple[Any, tuple[tuple[int, int], ...]]:
    """Return numerator and denominator without the factors that they share."""
    if not den or num.is_constant():
        return (num, ()) if num.is_zero() else (num, den)
    left = []
    for k, e in den:
        p = ring.factors[k]
        while e:
            ring.spend(10 + len(num) // 8)
            less = quotient_of(num, p)
            if less is None:
                break
            num = less
            e -= 1
        if e:
            left.append((k, e))
    return num, tuple(left)


def _conjugate(ring: Ring, p: Any) -> Any | None:
    """Return a - b s of p = a + b s, s the last letter of a known square; None if a is zero."""
    i = max((k for k in ring.used(p) if k in ring.squares), default=None)
    if i is None:
        return None
    root = p.derivative(i) * ring.gens[i]
    return None if p == root else p - 2 * root


def total(numbers: Sequence[Any], plus: Callable[[Any, Any], Any] = lambda a, b: a + b) -> Any:
    """Return the sum, pair by pair, so that long sums are not built term by term."""
    row = list(numbers)
    while len(row) > 1:
        half = [plus(a, b) for a, b in zip(row[::2], row[1::2], strict=False)]
        row = half + (row[-1:] if len(row) % 2 else [])
    return row[0]


product_of = functools.partial(total, plus=lambda a, b: a * b)
