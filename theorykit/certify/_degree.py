"""Rational functions of n for large n: exact, and ordered as their values are from some n on.

A function of one number that is made of sums, products, quotients and comparisons is run on the
number n itself. What comes out is a quotient of polynomials with rational coefficients; it grows
like n to the difference of their degrees.
"""

import dataclasses
import sysconfig
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import fmpq, fmpq_poly

from theorykit.certify._machine import NotCertifiable
from theorykit.certify._ring import rational

MOST_DEGREE, MOST_COMPARISONS = 1000, 10_000
"""The proof is given up for larger polynomials or more comparisons, as in a loop up to n."""

INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


@dataclasses.dataclass(frozen=True)
class Growth:
    """How a function grows: (3/5) c n^d <= |f(n)| <= (5/3) c n^d for every n >= least.

    **Fields:** `degree`, d; `leading`, the coefficient whose absolute value is c; `least`, where
    this begins; `formula`, the function.
    """

    degree: int
    leading: Fraction
    least: int
    formula: "Large"

    def at(self, n: Any) -> Fraction:
        """Return the function's value, if n >= least."""
        return self.formula.at(Fraction(n))


class Large:
    """A rational function of n; `begins` collects from which n on its comparisons are right."""

    __slots__ = ("begins", "den", "num")

    def __init__(self, num: Any, den: Any, begins: list[int]):
        common = num.gcd(den)
        self.num, self.den, self.begins = num // common, den // common, begins
        if max(self.num.degree(), self.den.degree()) > MOST_DEGREE:
            raise NotCertifiable(f"its degree is more than {MOST_DEGREE}.")

    def _other(self, value: Any) -> "Large | None":
        if isinstance(value, Large):
            return value
        try:
            return Large(fmpq_poly([rational(value)]), fmpq_poly([1]), self.begins)
        except NotCertifiable:
            return None

    def __add__(self, other: Any) -> Any:
        o = self._other(other)
        if o is None:
            return NotImplemented
        return Large(self.num * o.den + o.num * self.den, self.den * o.den, self.begins)

    def __neg__(self) -> "Large":
        return Large(-self.num, self.den, self.begins)

    def __sub__(self, other: Any) -> Any:
        o = self._other(other)
        return NotImplemented if o is None else self + -o

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        o = self._other(other)
        if o is None:
            return NotImplemented
        return Large(self.num * o.num, self.den * o.den, self.begins)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Any:
        o = self._other(other)
        if o is None:
            return NotImplemented
        if o.num == 0:
            raise ZeroDivisionError("division by zero")
        self.begins.append(beyond(o.num))  # from there on it is not zero
        return Large(self.num * o.den, self.den * o.num, self.begins)

    def __rtruediv__(self, other: Any) -> Any:
        o = self._other(other)
        return NotImplemented if o is None else o / self

    def __pow__(self, n: Any) -> Any:
        if isinstance(n, Large) or n != int(n):
            raise NotCertifiable("n has a power that is not whole, or is an exponent.")
        base = self if n >= 0 else 1 / self
        return Large(base.num ** abs(int(n)), base.den ** abs(int(n)), self.begins)

    def __rpow__(self, base: Any) -> Any:
        raise NotCertifiable("n as an exponent makes no rational function.")

    def sign(self) -> int:
        """Return the sign for large n, and note from where on."""
        if self.num == 0:
            return 0
        self.begins += [beyond(self.num), beyond(self.den)]
        if len(self.begins) > MOST_COMPARISONS:
            raise NotCertifiable("it compares without end, as a loop up to n does.")
        return 1 if leading(self.num) / leading(self.den) > 0 else -1

    def __abs__(self) -> "Large":
        return -self if self.sign() < 0 else self

    def __lt__(self, other: Any) -> bool:
        return bool((self - other).sign() < 0)

    def __gt__(self, other: Any) -> bool:
        return bool((self - other).sign() > 0)

    def __le__(self, other: Any) -> bool:
        return bool((self - other).sign() <= 0)

    def __ge__(self, other: Any) -> bool:
        return bool((self - other).sign() >= 0)

    def __eq__(self, other: object) -> bool:
        o = self._other(other)
        return o is not None and (self - o).sign() == 0

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self.sign() != 0

    def at(self, n: Fraction) -> Fraction:
        """Return the value at a number."""
        x = fmpq(n.numerator, n.denominator)
        value = self.num(x) / self.den(x)
        return Fraction(int(value.p), int(value.q))

    def __repr__(self) -> str:
        text = [str(p).replace("x", "n") for p in (self.num, self.den)]
        return text[0] if self.den == 1 else f"({text[0]}) / ({text[1]})"


def leading(p: Any) -> fmpq:
    """Return the leading coefficient."""
    return fmpq(p[p.degree()])


def beyond(p: Any, share: int = 1) -> int:
    """Return an n from which on the terms below the first add up to less than 1 / share of it."""
    top = leading(p)
    rest = sum((abs(fmpq(p[k]) / top) for k in range(p.degree())), fmpq(0)) * share
    return int(rest.p // rest.q) + 1


def _place(error: Exception) -> str:
    """Return the last line of the function, or of what it calls, that is no installed package's."""
    lines = traceback.extract_tb(error.__traceback__)[1:]
    own = [line for line in lines if not any(p in line.filename for p in INSTALLED)]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "the function"


def growth(f: Callable[[Any], Any]) -> Growth:
    """Return how a function of one number grows, exactly.

    **Arguments:** `f`: called with n itself; it may add, multiply, divide, raise to whole powers
    and compare, with integers, fractions and floats, which stand for their exact values.

    **Raises:** `NotCertifiable` if it does anything else with n, or is zero for large n.
    """
    begins: list[int] = [1]
    n = Large(fmpq_poly([0, 1]), fmpq_poly([1]), begins)
    try:
        made = f(n)
    except NotCertifiable:
        raise
    except Exception as error:  # of a function that takes numbers only
        raise NotCertifiable(
            f"{_place(error)} needs a number in the place of n; a rate is proved where its measure "
            "is a rational function of n."
        ) from error
    whole = n._other(made)
    if whole is None:
        raise NotCertifiable(f"it gives {type(made).__name__}, no rational function of n.")
    if whole.num == 0:
        raise NotCertifiable("it is zero for large n.")
    c = leading(whole.num) / leading(whole.den)
    least = max(*begins, beyond(whole.num, 4), beyond(whole.den, 4))  # 3/4 to 5/4 of each
    degree = whole.num.degree() - whole.den.degree()
    return Growth(degree, Fraction(int(c.p), int(c.q)), least, whole)
