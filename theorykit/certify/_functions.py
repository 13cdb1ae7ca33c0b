"""Functions of quotients: each value is a letter, with what is known of it.

exp(x + y) is exp(x) exp(y), so that softmax is a quotient of letters, and a shift of its argument
cancels; log(p q) is log p + log q, sqrt(p^2 q) is |p| sqrt q, and sin(x + y) has its sum.
"""

import functools
from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpz

from theorykit.certify._compare import absolute
from theorykit.certify._machine import Doubt, NotCertifiable
from theorykit.certify._quotients import (
    Quotient,
    constant,
    letter,
    product_of,
    total,
)
from theorykit.certify._ring import (
    NONNEGATIVE,
    POSITIVE,
    Ring,
    primitive,
    shortened,
)
from theorykit.certify._signs import certain, factored, signed

MOST_POWER = 64
"""The largest power of a letter exp(x) that stands for exp(n x)."""


class Finer(NotCertifiable):
    """Raised where exp(x / 2) comes after exp(x): the proof begins again with exp(x / 2)."""


def unit_of(ring: Ring, key: str, c: fmpq) -> fmpq | None:
    """Return the unit of a monomial, of which c is a small multiple; None if there is none.

    **Raises:** `Finer` if there is a unit, and a finer one that serves both.
    """
    units = ring.units
    if key not in units:
        units[key] = abs(c)
    unit = units[key]
    ratio = c / unit
    if ratio.q == 1:
        return unit if abs(ratio.p) <= MOST_POWER else None
    finer = unit / ratio.q
    if abs(c / finer) > MOST_POWER or abs(unit / finer) > MOST_POWER:
        return None
    units[key] = finer
    raise Finer("a finer unit serves.")


def _monomials(q: Quotient) -> list[tuple[fmpq, Quotient]]:
    """Return a number as a sum of constants times monomials over its denominator."""
    q = q.cancelled()
    ring = q.ring
    num = ring.reduced(q.num)
    made = []
    for powers, c in num.terms():
        one = Quotient(ring, ring.context.from_dict({powers: 1}), q.den).cancelled()
        made.append((fmpq(c), one))
    return made


def exp(q: Quotient) -> Quotient:
    """Return the exponential, a product over the terms."""
    made = constant(q.ring, 1)
    for value, _, n in exponents(q):
        made = made * value**n
    return made


def exponents(q: Quotient) -> list[tuple[Quotient, Quotient, int]]:
    """Return triples (v, b, n) with q the sum of n b, and v = exp(b): what exp(q) is made of."""
    return [_exponent(q.ring, c, m) for c, m in _monomials(q)]


def _exponent(ring: Ring, c: fmpq, m: Quotient) -> tuple[Quotient, Quotient, int]:
    only = None if m.den else ring.only(m.num)
    if only is not None:
        kind, of = ring.made.get(only, ("", None))
        if kind == "log" and c.q == 1 and abs(c.p) <= MOST_POWER:
            return Quotient(ring, of), m, int(c.p)
        if kind == "log" and c.q == 2 and abs(c.p) <= MOST_POWER:
            return sqrt(Quotient(ring, of)), m / 2, int(c.p)
    unit = unit_of(ring, f"exp {m.key}", c)
    base = m * (c if unit is None else unit)
    return letter(ring, "exp", base, POSITIVE), base, 1 if unit is None else int((c / unit).p)


def raised(x: Quotient, y: Any) -> Quotient:
    """Return x^y for a constant y: a whole number, or a half of one."""
    n = y.value() if isinstance(y, Quotient) else fmpq(int(y))
    if n is None or n.q > 2 or abs(n.p) > MOST_POWER:
        raise Doubt("a power is taken to whole numbers and halves")
    return x ** int(n.p) if n.q == 1 else sqrt(x) ** int(n.p)


def log(q: Quotient) -> Quotient:
    """Return the logarithm, a sum over the factors."""
    ring = q.ring
    q = q.cancelled()
    scale, factors = factored(ring, q.num)
    made, rest = [], constant(ring, 1)
    for p, e in factors:
        sign = signed(ring, p, strict=True)
        if sign:
            made.append(_log_factor(ring, sign * p) * e)
            scale *= fmpq(sign) ** (e % 2)
        else:
            rest = rest * Quotient(ring, p) ** e
    if rest.value() is None:
        sign = 1 if scale > 0 else -1
        if not certain(ring, sign * rest.num, strict=True):
            raise Doubt(f"{shortened(ring.show(q.num))} is not proved to be positive everywhere")
        made.append(_log_factor(ring, sign * rest.num))
        scale *= sign
    if scale <= 0:
        raise Doubt("a logarithm is taken of what is not positive")
    for k, e in q.den:
        made.append(_log_factor(ring, ring.factors[k]) * -e)
    return total([*made, log_number(ring, scale)])


def log_number(ring: Ring, c: fmpq) -> Quotient:
    """Return the logarithm of a positive number, a sum over its primes where they are small."""
    made = constant(ring, 0)
    for n, sign in ((c.p, 1), (c.q, -1)):
        if n != 1:
            parts = fmpz(n).factor() if n < 1 << 80 else [(n, 1)]
            for prime, e in parts:
                one = letter(ring, "log", ring.constant(fmpq(prime)), POSITIVE)
                made = made + one * (sign * int(e))
    return made


def _log_factor(ring: Ring, p: Any) -> Quotient:
    only = ring.only(p)
    kind, of = ("", p) if only is None else ring.made.get(only, ("", p))
    if kind == "exp" and isinstance(of, Quotient):
        return of
    if kind == "sqrt":
        return log(Quotient(ring, of)) / 2
    return letter(ring, "log", p)


def sqrt(q: Quotient) -> Quotient:
    """Return the square root of what is proved not to be negative."""
    ring = q.ring
    q = q.cancelled()
    below = ring.product(q.den)
    scale, factors = factored(ring, ring.reduced(q.num))
    if scale == 0:
        return constant(ring, 0)
    for k, e in q.den:  # sqrt(n / d) = sqrt(n d) / d
        factors.append((ring.factors[k], e))
    made, rest = [], constant(ring, 1)
    merged: dict[str, tuple[Any, int]] = {}
    for p, e in factors:
        unit, lead = primitive(p)
        scale *= lead**e
        merged[str(unit)] = (unit, merged.get(str(unit), (unit, 0))[1] + e)
    for p, e in merged.values():
        if e // 2:
            made.append(absolute(Quotient(ring, p)) ** (e // 2))
        if e % 2:
            sign = signed(ring, p)
            if sign:
                made.append(_root(ring, sign * p))
                scale *= sign
            else:
                rest = rest * Quotient(ring, p)
    if rest.value() is None:
        sign = 1 if scale > 0 else -1
        if not certain(ring, sign * rest.num):
            raise Doubt(
                f"{shortened(ring.show(q.num))} is not proved to be at least zero everywhere"
            )
        made.append(_root(ring, sign * rest.num))
        scale *= sign
    if scale < 0:
        raise Doubt("a root is taken of what is negative")
    made.append(root_of_number(ring, scale))
    return product_of(made) / Quotient(ring, below)


def length(numbers: Sequence[Quotient]) -> Quotient:
    """Return the root of a sum of squares as one letter, without a proof that it is one."""
    square = total([q * q for q in numbers]).cancelled()
    ring = square.ring
    below = ring.product(square.den)
    whole = ring.times(ring.reduced(square.num), below)
    if whole.is_constant():
        return sqrt(square)
    scale, factors = factored(ring, whole)
    outer, inner = constant(ring, 1), ring.constant(1)
    for p, e in factors:
        outer = outer * absolute(Quotient(ring, p)) ** (e // 2)
        if e % 2:
            sign = signed(ring, p)
            if not sign:  # p is a sum of squares where the others are not zero, and who knows there
                ring.fact(whole)
                return _root(ring, whole) / Quotient(ring, below)
            inner, scale = ring.times(inner, sign * p), scale * sign
    root = constant(ring, 1) if inner.is_constant() else _root(ring, inner)
    return outer * root * root_of_number(ring, scale) / Quotient(ring, below)


def root_of_number(ring: Ring, c: fmpq) -> Quotient:
    """Return the root of a positive number, a product over its primes where they are small."""
    whole = c.p * c.q
    parts = fmpz(whole).factor() if whole < 1 << 120 else [(fmpz(whole), 1)]
    made = constant(ring, fmpq(1) / c.q)
    for prime, e in parts:
        made = made * fmpq(prime) ** (int(e) // 2)
        if e % 2:
            made = made * _root(ring, ring.constant(fmpq(prime)))
    return made


def _root(ring: Ring, p: Any) -> Quotient:
    sign = POSITIVE if certain(ring, p, strict=True) else NONNEGATIVE
    return letter(ring, "sqrt", p, sign, square=p)


def sine_cosine(q: Quotient) -> tuple[Quotient, Quotient]:
    """Return sin(q) and cos(q), from those of its terms."""
    ring = q.ring
    made = constant(ring, 0), constant(ring, 1)
    for c, m in _monomials(q):
        made = _turned(made, _sine_cosine_term(ring, c, m))
    return made


def _turned(a: tuple[Quotient, Quotient], b: tuple[Quotient, Quotient]) -> Any:
    return a[0] * b[1] + a[1] * b[0], a[1] * b[1] - a[0] * b[0]


def _sine_cosine_term(ring: Ring, c: fmpq, m: Quotient) -> Any:
    unit = unit_of(ring, f"sin {m.key}", c)
    base = m * (abs(c) if unit is None else unit)
    cosine = letter(ring, "cos", base)
    sine = letter(ring, "sin", base, square=1 - cosine.num * cosine.num)
    n = 1 if unit is None else int(abs(c / unit).p)
    made = functools.reduce(_turned, [(sine, cosine)] * n)
    return (made[0], made[1]) if c > 0 else (-made[0], made[1])


ODD = {"erf", "tanh", "atan", "asinh", "asin", "atanh", "erf_inv", "cbrt"}
BOUNDED = {"erf": 1, "atan": 2}


def named(name: str, q: Quotient) -> Quotient:
    """Return a function that is defined everywhere as a letter: equal where its argument is."""
    ring = q.ring
    if q.is_zero() and name in ODD:
        return constant(ring, 0)
    q = q.cancelled()
    turn = 1
    if name in ODD and primitive(q.num)[1] < 0:
        q, turn = -q, -1
    made = letter(ring, name, q)
    if name in BOUNDED:
        ring.fact(BOUNDED[name] - made.num, strict=True)
        ring.fact(BOUNDED[name] + made.num, strict=True)
    return made * turn


def within_one(q: Quotient) -> bool:
    """Whether a number is proved to lie in [-1, 1]."""
    ring = q.ring
    return all(certain(ring, (1 + sign * q).num) is not None for sign in (1, -1))


def determinant(rows: list[list[Quotient]]) -> Quotient:
    """Return a determinant by minors, each of them once."""
    n = len(rows)
    ring = rows[0][0].ring

    @functools.cache
    def minor(columns: tuple[int, ...]) -> Quotient:
        if not columns:
            return constant(ring, 1)
        k = len(columns) - 1
        parts = [
            rows[k][j] * minor(columns[:i] + columns[i + 1 :]) * (-1) ** (k - i)
            for i, j in enumerate(columns)
            if not rows[k][j].num.is_zero()
        ]
        return total(parts) if parts else constant(ring, 0)

    return minor(tuple(range(n)))
