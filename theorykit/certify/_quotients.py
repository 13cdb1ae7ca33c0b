"""Numbers that stand for all values at once: quotients of polynomials over the rationals.

A `Ring` has a letter for each entry of the arguments, and one for each value of a function that is
no quotient: exp(x), sqrt(p), |p|, a maximum. What is known of a letter (its sign, its square) is
known for every point of the domain. A `Quotient` has a denominator that is proved positive there,
so that it has a value everywhere and equal numerators mean equal values.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from theorykit.certify._machine import Doubt, NotCertifiable

MOST_LETTERS = 48
"""Letters beside those of the arguments."""

MOST_WORK = 5_000_000
"""Products of terms in one proof; counted, so that the same proofs come about on any machine."""

REAL, NONNEGATIVE, POSITIVE = range(3)
"""What is known of the sign of a letter."""

Relation = tuple[Any, str]
"""A polynomial, and how it compares with zero: ">", ">=" or "=="."""


_LABEL = re.compile(r"\bx(\d+)\b")
"""The letters of a context, in order."""


class Split(NotCertifiable):
    """Raised where the sign of a polynomial decides and is not known; `cases` cover all points."""

    def __init__(self, of: Any, cases: Sequence[Relation]):
        super().__init__(f"the sign of {text(of)} is not the same everywhere, or not known.")
        self.cases = tuple(cases)


class Spent(NotCertifiable):
    """Raised where a proof has cost what it may."""


def rational(value: Any) -> fmpq:
    """Return a constant as the exact rational that it is.

    **Raises:** `NotCertifiable` for what is no rational number.
    """
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return fmpq(int(value))
    if isinstance(value, float | np.floating | Fraction):
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            raise NotCertifiable(f"{value} is no rational number.")
        exact = value if isinstance(value, Fraction) else Fraction(float(value))
        return fmpq(exact.numerator, exact.denominator)
    if isinstance(value, fmpq):
        return value
    raise NotCertifiable(f"{value!r} is no rational number.")


class Ring:
    """The letters of one statement, and what is known of them in the case at hand.

    **Fields:** `signs`, a letter's sign; `facts`, polynomials that are not negative, with whether
    they are positive; `zeros`, polynomials that are zero; `squares`, of letters whose square is a
    polynomial in those before; `names`; `factors`, what denominators are products of; `made`, what
    each value of a function was made of, by its letter.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        units: dict[str, fmpq] | None = None,
        letters: int | None = None,
        work: int = MOST_WORK,
    ):
        self.units = {} if units is None else units
        self.count = len(arguments)
        # A letter's name is what it stands for, which is known once it is made.
        letters = MOST_LETTERS + self.count if letters is None else letters
        labels = [f"x{i}" for i in range(self.count + letters)]
        self.context = fmpq_mpoly_ctx.get(labels, Ordering.lex)
        self.gens = self.context.gens()
        self.names = list(arguments)
        self.known: dict[Any, int] = {}
        self.made: dict[int, tuple[str, Any]] = {}
        self.squares: dict[int, Any] = {}
        self.factors: list[Any] = []
        self.factorings: dict[str, Any] = {}
        self._factor_of: dict[str, int] = {}
        self.work = work
        self.begin({})

    def begin(self, signs: dict[int, int]) -> None:
        """Forget what is known of signs: another case begins."""
        self.signs = dict(signs)
        self.facts: dict[str, tuple[Any, bool]] = {}
        self.zeros: list[Any] = []
        self.proved: dict[tuple[str, bool], Any] = {}

    def spend(self, work: int) -> None:
        """Count work.

        **Raises:** `Spent` if there has been too much.
        """
        self.work -= work
        if self.work < 0:
            raise Spent("the proof costs more than it may; smaller sizes cost less.")

    # Letters

    def letter(self, kind: str, of: Any, key: str, sign: int = REAL, square: Any = None) -> int:
        """Return the letter of a function's value: the same for the same function and argument."""
        index = self.known.get((kind, key))
        if index is None:
            index = len(self.names)
            if index == len(self.gens):
                raise Spent("there are more values of functions in it than letters for them.")
            self.names.append(f"{kind}({key})")
            self.known[kind, key] = index
            self.made[index] = (kind, of)
        self.signs[index] = max(sign, self.signs.get(index, REAL))
        if square is not None:
            self.squares[index] = square
        return index

    def fact(self, p: Any, strict: bool = False) -> None:
        """Note that a polynomial is not negative (positive, if strict)."""
        unit, scale = primitive(p)
        if not unit.is_constant():
            name = str(unit if scale > 0 else -unit)
            strict = strict or self.facts.get(name, (None, False))[1]
            self.facts[name] = (unit if scale > 0 else -unit, strict)
            self.proved.clear()

    # Quotients

    def constant(self, value: Any) -> Any:
        """Return a constant: a number of this ring, or one that is not finite."""
        if isinstance(value, Quotient | Infinite):
            return value
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            return Infinite(float(value))
        return Quotient(self, self.context.constant(rational(value)))

    def of_letter(self, index: int) -> "Quotient":
        """Return a letter as a number."""
        return Quotient(self, self.gens[index])

    def times(self, a: Any, b: Any) -> Any:
        """Return the product of two polynomials, squares of letters put in."""
        self.spend(20 + len(a) * len(b) // 4)
        return self.reduced(a * b)

    def power(self, p: Any, n: int) -> Any:
        """Return p^n for n >= 0."""
        made = self.context.constant(1)
        for _ in range(n):
            made = self.times(made, p)
        return made

    def reduced(self, p: Any) -> Any:
        """Return the same polynomial with no letter above the first power that has a square."""
        if not self.squares:
            return p
        degrees = p.degrees()
        for i in sorted(self.squares, reverse=True):
            if degrees[i] > 1:
                parts: dict[int, dict[Any, Any]] = {}
                for powers, c in p.terms():
                    k = powers[i]
                    rest = (*powers[:i], k % 2, *powers[i + 1 :])
                    part = parts.setdefault(k // 2, {})
                    part[rest] = part.get(rest, 0) + c
                self.spend(len(p))
                p = self.context.constant(0)
                for k, part in parts.items():
                    left = self.context.from_dict(part)
                    p += self.times(left, self.power(self.squares[i], k)) if k else left
                degrees = p.degrees()
        return p

    def factor_index(self, p: Any) -> int:
        """Return the number of a factor of denominators."""
        name = str(p)
        if name not in self._factor_of:
            self._factor_of[name] = len(self.factors)
            self.factors.append(p)
        return self._factor_of[name]

    def product(self, den: Iterable[tuple[int, int]]) -> Any:
        """Return a denominator as a polynomial."""
        made = self.context.constant(1)
        for k, e in den:
            made = self.times(made, self.power(self.factors[k], e))
        return made

    def used(self, p: Any) -> list[int]:
        """Return the letters of a polynomial."""
        return [i for i, d in enumerate(p.degrees()) if d > 0]

    def show(self, p: Any) -> str:
        """Return a polynomial in the names of its letters."""
        return _LABEL.sub(lambda found: self.names[int(found[1])], str(p))


def primitive(p: Any) -> tuple[Any, fmpq]:
    """Return a polynomial with leading coefficient 1, and the coefficient."""
    if p.is_zero():
        return p, fmpq(0)
    lead = fmpq(p.leading_coefficient())
    return p / lead, lead


def text(p: Any) -> str:
    """Return a polynomial as text, cut where it is long."""
    said = str(p)
    return shortened(said)


def shortened(said: str) -> str:
    """Return text that fits on a line."""
    return said if len(said) < 120 else said[:100] + " ..."


@dataclasses.dataclass(frozen=True)
class Infinite:
    """Infinity or NaN: compared with, chosen or passed over, and nothing else."""

    value: float

    def __neg__(self) -> "Infinite":
        return Infinite(-self.value)

    def is_finite(self) -> bool:
        """It is not."""
        return False


class Quotient:
    """A polynomial over a product of positive ones: `den` has (number of a factor, exponent)."""

    __slots__ = ("den", "num", "ring")

    def __init__(self, ring: Ring, num: Any, den: tuple[tuple[int, int], ...] = ()):
        self.ring, self.num, self.den = ring, num, den

    # Arithmetic

    def __add__(self, other: Any) -> "Quotient":
        other = self.ring.constant(other)
        self.ring.spend(10 + len(self.num) + len(other.num))
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
        return self + -self.ring.constant(other)

    def __rsub__(self, other: Any) -> "Quotient":
        return -self + other

    def __mul__(self, other: Any) -> "Quotient":
        other = self.ring.constant(other)
        a, its = _without(self.ring, self.num, other.den)
        b, mine = _without(self.ring, other.num, self.den)
        both = dict(mine)
        for k, e in its:
            both[k] = both.get(k, 0) + e
        return Quotient(self.ring, self.ring.times(a, b), tuple(sorted(both.items())))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Quotient":
        return self * self.ring.constant(other).inverse()

    def __rtruediv__(self, other: Any) -> "Quotient":
        return self.ring.constant(other) / self

    def __pow__(self, n: Any) -> "Quotient":
        if isinstance(n, Quotient):
            from theorykit.certify._functions import raised

            return raised(self, n)
        n = int(n)
        base = self if n >= 0 else self.inverse()
        made = self.ring.constant(1)
        for _ in range(abs(n)):
            made = made * base
        return made

    def inverse(self) -> "Quotient":
        """Return 1 over it.

        **Raises:** `NotCertifiable` if it is not proved to be other than zero everywhere.
        """
        from theorykit.certify._signs import signed_factors

        ring = self.ring
        q = self.cancelled()
        parts = signed_factors(ring, q.num)
        if parts is None:
            said = shortened(ring.show(q.num))
            raise Doubt(f"the denominator {said} is not proved to be other than zero everywhere")
        scale, factors = parts
        made = Quotient(ring, ring.product(q.den) / scale)
        den: dict[int, int] = {}
        for p, e in factors:
            letters = ring.used(p)
            if len(letters) == 1 and letters[0] in ring.squares and p == ring.gens[letters[0]]:
                square = ring.of_letter(letters[0]) * ring.of_letter(letters[0])
                made = made * ring.of_letter(letters[0]) ** e * square.inverse() ** e
            else:
                den[ring.factor_index(p)] = den.get(ring.factor_index(p), 0) + e
        return made * Quotient(ring, ring.context.constant(1), tuple(sorted(den.items())))

    def cancelled(self) -> "Quotient":
        """Return it in lowest terms, as far as its factors go."""
        num, den = _without(self.ring, self.num, self.den)
        return Quotient(self.ring, num, den)

    def is_zero(self) -> bool:
        """Whether it is zero everywhere."""
        num = self.ring.reduced(self.num)
        if num.is_zero():
            return True
        return any(_divides(z, num) for z in self.ring.zeros)

    def value(self) -> fmpq | None:
        """Return the number if it is a constant."""
        if not self.num.is_constant() or (self.den and not self.num.is_zero()):
            return None
        return fmpq(self.num.leading_coefficient()) if not self.num.is_zero() else fmpq(0)

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, Infinite) and (self - other).is_zero()

    __hash__ = None  # type: ignore[assignment]

    def sqrt(self) -> "Quotient":
        """Return the square root of what is proved not to be negative."""
        from theorykit.certify._functions import sqrt

        return sqrt(self)

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
    def key(self) -> str:
        """Its normal form as text."""
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
            ring.spend(10 + len(num))
            try:
                num = num / p
            except ArithmeticError:
                break
            except Exception as error:  # flint's own DomainError
                if type(error).__name__ != "DomainError":
                    raise
                break
            e -= 1
        if e:
            left.append((k, e))
    return num, tuple(left)


def _divides(p: Any, num: Any) -> bool:
    try:
        num / p
    except Exception as error:
        if type(error).__name__ != "DomainError":
            raise
        return False
    return True


def total(numbers: Sequence[Any], plus: Callable[[Any, Any], Any] = lambda a, b: a + b) -> Any:
    """Return the sum, pair by pair, so that long sums are not built term by term."""
    row = list(numbers)
    while len(row) > 1:
        half = [plus(a, b) for a, b in zip(row[::2], row[1::2], strict=False)]
        row = half + (row[-1:] if len(row) % 2 else [])
    return row[0]


product_of = functools.partial(total, plus=lambda a, b: a * b)
