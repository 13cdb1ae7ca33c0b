"""Prove that a polynomial in letters is not negative, or positive, at every point.

`certain` is what evaluation uses at each division and root: the signs of terms and factors, facts,
and squares that an exact factorisation finds. Each answer is a `Reason`, which can be checked by
multiplying out.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from flint import fmpq

from theorykit.certify._ring import NONNEGATIVE, POSITIVE, REAL, Ring, primitive
from theorykit.certify._squares import as_squares, semidefinite

MOST_FACTORED = 1500
"""Terms of a polynomial that is factored."""

MOST_SQUARED = 400
"""Terms of a polynomial that is written as a sum of squares on the way."""

MOST_HELPED = 40
"""Terms of a polynomial for which facts are put to use."""

DEEP, SHALLOW = 8, 2
"""How many steps may rest on each other: at the end, and on the way there."""


Prove = Callable[[Ring, Any, bool, int], "Reason | None"]


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a polynomial is not negative: by a rule, which `how` says in words, from `parts`.

    **Fields:** `of`, the polynomial; `rule`, the rule's name; `squares`, pairs (c, q) with c a
    product that is not negative, so that the sum of c q^2 is `multiplier` times `of` (of a
    multiple, `multiplier` is what the first part is taken times); `strict`, whether it is positive;
    `tangents`, pairs (c, z) with c not negative, so that `of` over `multiplier` is the sum of
    c (exp(z) - 1 - z) and a quotient of which the part is the numerator. z is made of triples, as
    `_functions.exponents` returns them.
    """

    of: Any
    rule: str
    how: str
    parts: tuple["Reason", ...] = ()
    squares: tuple[tuple[Any, Any], ...] = ()
    multiplier: Any = 1
    strict: bool = False
    tangents: tuple[tuple[Any, tuple[tuple[Any, Any, int], ...]], ...] = ()

    def lines(self, show: Callable[[Any], str], indent: int = 0) -> Iterator[str]:
        """Yield it line by line, its parts indented; `show` writes a polynomial."""
        pad = "  " * indent
        yield f"{pad}{show(self.of)} {'>' if self.strict else '>='} 0: {self.how}"
        if self.squares:
            times = "" if self.multiplier == 1 else f"({show(self.multiplier)}) * it = "
            squares = (f"({show(c)})*({show(q)})^2" for c, q in self.squares)
            yield f"{pad}  {times}" + " + ".join(squares)
        for part in self.parts:
            yield from part.lines(show, indent + 1)


def signed_factors(
    ring: Ring, p: Any, sign_of: Callable[[Ring, Any], int] | None = None
) -> tuple[fmpq, list[tuple[Any, int]]] | None:
    """Return p as scale times powers of polynomials that are positive; None if that is not proved.

    The polynomials have a leading coefficient of 1 or -1, and are irreducible where that helps.

    **Arguments:** `sign_of`: returns the sign of a polynomial, 0 if unknown; `signed` if None.
    """
    sign_of = partial(signed, strict=True) if sign_of is None else sign_of
    if p.is_zero():
        return None
    scale, factors = factored(ring, p)
    found, open_ = [], []
    for f, e in factors:
        sign = sign_of(ring, f)
        if sign:
            found.append((sign * f, e))
            scale *= fmpq(sign) ** (e % 2)
        else:
            open_.append((f, e))
    if open_:
        rest = ring.constant(1)
        for f, e in open_:
            rest = ring.times(rest, ring.power(f, e))
        sign = sign_of(ring, rest)
        if not sign:
            return None
        return scale * sign, [*found, (sign * rest, 1)]
    return scale, found


def signed(ring: Ring, p: Any, strict: bool = False, deep: int = SHALLOW) -> int:
    """Return 1 if p >= 0 (p > 0) everywhere, -1 if -p is, 0 if neither is found."""
    for quickly in (True, False):
        for sign in (1, -1):
            if certain(ring, sign * p, strict, deep, quickly):
                return sign
    return 0


def factored(ring: Ring, p: Any) -> tuple[fmpq, list[tuple[Any, int]]]:
    """Return p as a constant times powers of polynomials with leading coefficient 1."""
    unit, scale = primitive(p)
    if unit.is_constant():
        return scale, []
    if len(unit) > MOST_FACTORED:
        return scale, [(unit, 1)]
    name = str(unit)
    if name not in ring.factorings:
        ring.spend(400 + 20 * len(unit))
        ring.factorings[name] = [(primitive(f)[0], e) for f, e in unit.factor()[1]]
    return scale, list(ring.factorings[name])


def certain(
    ring: Ring, p: Any, strict: bool = False, deep: int = SHALLOW, quickly: bool = False
) -> Reason | None:
    """Return why p >= 0 (p > 0, if strict) at every point, None if no reason is found.

    **Arguments:** `deep`: how many steps one may rest on another; `quickly`: terms and facts only.
    """
    unit, scale = primitive(p)
    if unit.is_constant():
        good = scale > 0 or (scale == 0 and not strict)
        return Reason(p, "number", "a number", strict=scale > 0) if good else None
    unit = unit if scale > 0 else -unit
    ring.spend(30 + len(unit))
    if quickly:
        return _at_once(ring, unit, strict)
    key = (str(unit), strict)
    found, before = ring.proved.get(key, (None, -1))
    if found is None and deep > before:
        ring.proved[key] = None, deep  # what is asked for on the way does not go round
        found = _certain(ring, unit, strict, deep)
        ring.proved[key] = found, deep
    return found


def remember(ring: Ring, found: Reason) -> None:
    """Let `certain` return what was found by other means."""
    unit, scale = primitive(found.of)
    for strict in {found.strict, False}:
        ring.proved[str(unit if scale > 0 else -unit), strict] = found, DEEP


def definite(ring: Ring, matrix: Sequence[Sequence[Any]]) -> bool:
    """Whether a symmetric matrix of polynomials is shown to be positive definite everywhere.

    Half of what is certainly positive on its diagonal is set aside; the rest is semidefinite.
    """
    n = len(matrix)
    if any(matrix[i][j] != matrix[j][i] for i in range(n) for j in range(i)):
        return False
    rest = [list(row) for row in matrix]
    for i in range(n):
        aside = _positive_term(ring, rest[i][i])
        if aside is None:
            return False
        rest[i][i] -= aside / 2
    return semidefinite(ring, rest)


def remember_determinant(ring: Ring, p: Any) -> None:
    """Let `certain` know that the determinant of a positive definite matrix is positive.

    It is told of the product of those factors whose sign it does not see.
    """
    scale, factors = factored(ring, p)
    rest = ring.constant(1)
    for f, e in factors:
        sign = signed(ring, f, strict=True)
        scale *= fmpq(sign or 1) ** (e % 2)
        rest = rest if sign else ring.times(rest, ring.power(f, e))
    how = "with factors of known sign it makes the determinant of a positive definite matrix"
    remember(ring, Reason(rest if scale > 0 else -rest, "definite", how, strict=True))


def _at_once(ring: Ring, p: Any, strict: bool) -> Reason | None:
    if by_terms(ring, p, strict):
        return Reason(p, "terms", "its terms are not negative", strict=strict)
    if len(p) < 2000:
        name = str(p)
        if name in ring.facts and ring.facts[name].strict >= strict:
            return Reason(p, "given", "given", strict=strict)
    return None


def _certain(ring: Ring, p: Any, strict: bool, deep: int) -> Reason | None:
    found = _at_once(ring, p, strict)
    if found:
        return found
    return (
        _by_factors(ring, p, strict, deep)
        or _by_squares(ring, p, strict)
        or by_root(ring, p, strict, deep)
        or (_by_facts(ring, p, strict, deep) if deep > 0 else None)
    )


def term_sign(ring: Ring, powers: tuple[int, ...]) -> int:
    """Return what is known of the sign of a monomial."""
    made = POSITIVE
    for i, e in enumerate(powers):
        if e:
            sign = ring.signs.get(i, REAL)
            made = min(made, max(sign, NONNEGATIVE) if e % 2 == 0 else sign)
    return made


def _positive_term(ring: Ring, p: Any) -> Any | None:
    for powers, c in p.terms():
        if c > 0 and term_sign(ring, powers) is POSITIVE:
            return ring.context.from_dict({powers: c})
    return None


def by_terms(ring: Ring, p: Any, strict: bool) -> bool:
    """Whether every term is not negative (and one is positive, if strict)."""
    ring.spend(len(p))
    coefficients = p.coeffs()
    if any(c < 0 for c in coefficients):
        return False
    signs = [term_sign(ring, m) for m in p.monoms()]
    return REAL not in signs and (not strict or POSITIVE in signs)


def _by_factors(ring: Ring, p: Any, strict: bool, deep: int) -> Reason | None:
    if deep <= 0:
        return None
    scale, factors = factored(ring, p)
    if len(factors) == 1 and factors[0][1] == 1:
        return None
    parts = []
    for f, e in factors:
        if e % 2 == 0 and not strict:
            continue
        sign = signed(ring, f, strict, deep - 1)
        if not sign:
            return None
        found = certain(ring, sign * f, strict, deep - 1)
        parts += [found] if found else []
        scale *= fmpq(sign) ** (e % 2)
    if scale <= 0:
        return None
    how = "a product of these, times squares"
    return Reason(p, "factors", how, tuple(parts), strict=strict)


def _by_squares(ring: Ring, p: Any, strict: bool) -> Reason | None:
    if len(p) > MOST_SQUARED:
        return None
    rest = p
    if strict:  # what is certainly positive is set aside
        aside = _positive_term(ring, p)
        if aside is None:
            return None
        rest = p - aside
    found = as_squares(ring, rest)
    if found is None:
        return None
    how = "a sum of squares" + (" and a positive term" if strict else "")
    return Reason(p, "squares", how, squares=found, strict=strict)


def by_root(
    ring: Ring, p: Any, strict: bool, deep: int, prove: "Prove | None" = None
) -> Reason | None:
    """Return why p >= 0 (p > 0) by a root in it.

    For a + b s with s = sqrt(r): a >= 0 and b >= 0; or one of them, and its square is larger.

    **Arguments:** `prove`: what is tried on the parts that it rests on; `certain` if None.
    """
    prove = certain if prove is None else prove
    if deep <= 0:
        return None
    for i in reversed(ring.used(p)):
        if ring.signs.get(i, REAL) is REAL or i not in ring.squares or p.degrees()[i] > 1:
            continue
        r, s = ring.squares[i], ring.gens[i]
        b = p.derivative(i)
        a = p - b * s
        if a.is_zero():
            continue
        second = certain(ring, b, False, deep - 1)
        first = certain(ring, a, False, deep - 1) if second else prove(ring, a, False, deep - 1)
        if first and second and not strict:
            return Reason(p, "both", f"both parts beside {ring.names[i]}", (first, second))
        if first and second and strict and certain(ring, a, True, deep - 1):
            return Reason(p, "first", "the first part is positive", (first, second), strict=True)
        squared = ring.times(a, a) - ring.times(ring.times(b, b), r)
        if first:
            gap = prove(ring, squared, strict, deep - 1)
            if gap:
                how = f"the part without {ring.names[i]} is not negative and has the larger square"
                return Reason(p, "without", how, (first, gap), strict=strict)
        if second:
            gap = prove(ring, -squared, strict, deep - 1)
            if gap:
                how = f"the part with {ring.names[i]} is not negative and has the larger square"
                return Reason(p, "with", how, (second, gap), strict=strict)
    return None


def _by_facts(ring: Ring, p: Any, strict: bool, deep: int) -> Reason | None:
    """Subtract a fact times something not negative, so that a negative term cancels."""
    if len(p) > MOST_HELPED:
        return None
    mine = set(ring.used(p))
    negative = [(m, c) for m, c in p.terms() if c < 0 or term_sign(ring, m) is REAL]
    ring.spend(5 * len(ring.facts))
    for fact in list(ring.facts.values()):
        f, positive = fact.of, fact.strict
        if not fact.letters & mine or len(fact.letters - mine) > 1:
            continue
        for powers, c in f.terms():
            for m, d in negative[:1]:  # one after the other
                if (c < 0) != (d < 0) or any(a < b for a, b in zip(m, powers, strict=True)):
                    continue
                over = tuple(a - b for a, b in zip(m, powers, strict=True))
                sign = term_sign(ring, over)
                if sign is REAL:
                    continue
                times = ring.context.from_dict({over: fmpq(d) / c})
                rest = p - times * f
                if len(rest) > len(p) + 2:
                    continue
                ring.spend(20 + len(p))
                sure = strict and not (positive and sign is POSITIVE)
                found = certain(ring, rest, sure, deep - 1)
                if found:
                    known = Reason(f, "given", "given", strict=positive)
                    how = "a multiple of the first, and the second"
                    return Reason(p, "multiple", how, (known, found), (), times, strict)
    return None


def open_factors(ring: Ring, p: Any, strict: bool = True) -> tuple[int, Any]:
    """Return p's sign (1 or -1) times the product of those factors whose sign is not known.

    It is zero only where p is, if strict; else p has its sign wherever p is not zero. Factors that
    are squares stay once.
    """
    scale, factors = factored(ring, p)
    sign = 1 if scale > 0 else -1
    rest = ring.constant(1)
    for f, e in factors:
        known = signed(ring, f, strict)
        if known:
            sign *= known**e
            continue
        rest = rest * f ** (2 - e % 2)
    return sign, rest


def last_factor(ring: Ring, p: Any) -> tuple[list[Reason], Any] | None:
    """Return the one factor whose sign is not known, and why the others are not negative.

    None where there is no other factor, or more than one of an unknown sign.
    """
    scale, factors = factored(ring, p)
    parts, left = [], []
    for f, e in factors:
        if e % 2 == 0:
            continue
        sign = signed(ring, f)
        found = certain(ring, sign * f) if sign else None
        if found:
            parts.append(found)
            scale *= sign
        else:
            left.append(f)
    if len(left) != 1 or left[0] == primitive(p)[0]:
        return None
    return parts, left[0] if scale > 0 else -left[0]


def product(p: Any, parts: Sequence[Reason], last: Reason | None) -> Reason | None:
    """Return why a product is not negative: its parts are not, and the last factor is not."""
    how = "a product of these, times squares"
    return Reason(p, "factors", how, (*parts, last)) if last else None
