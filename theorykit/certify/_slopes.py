"""Inequalities by slopes: what is not negative at an end, and does not fall on the way from there.

For x >= a, a function of x is not negative if it is not at a, and its derivative is not either: so
log(1 + x) >= x - x^2 / 2 for x >= 0, and exp(x) is at least its Taylor polynomials. The derivative
may be shown to be so in the same way.
"""

from collections.abc import Callable
from typing import Any

from flint import fmpq

from theorykit.certify import _functions as of
from theorykit.certify._machine import Doubt
from theorykit.certify._quotients import Quotient, constant, product_of, total
from theorykit.certify._ring import Ring, Split, primitive
from theorykit.certify._signs import Reason, last_factor, product, signed

MOST_SLOPES = 4
"""The most derivatives that are taken, one of the other."""

MOST_TERMS = 60
"""Terms of a polynomial of which they are."""

MOST_ARGUMENTS = 3
"""Arguments in which a slope is looked at, one after the other."""

FUNCTIONS = {"exp": of.exp, "log": of.log, "sqrt": of.sqrt}
"""Functions that have a slope here."""

Prove = Callable[[Any], Reason | None]


def by_slopes(ring: Ring, p: Any, prove: Prove) -> Reason | None:
    """Return why a polynomial in letters is not negative, by its slope in one of the arguments.

    **Arguments:** `prove`: the same by other means.

    **Raises:** `Split` at x = 0 where it is not negative there, and x is all that it is about.
    """
    if len(p) > MOST_TERMS or set(ring.used(p)).isdisjoint(ring.made):
        return None
    arguments = [i for i in range(ring.count) if _Slopes(ring, i).bears_on(p)]
    if len(arguments) > MOST_ARGUMENTS:
        return None
    for i in arguments:
        slopes = _Slopes(ring, i)
        ends = slopes.ends()
        for end, way in ends or ():
            try:
                found = slopes.from_end(p, end, way, prove, MOST_SLOPES)
            except Doubt:  # it has no value there, or no derivative
                continue
            if found:
                return found
        if ends == [] and arguments == [i] and slopes.splits(p, prove):
            raise Split(ring.gens[i], [[(ring.gens[i], ">=")], [(-ring.gens[i], ">=")]])
    return None


class _Slopes:
    """Derivatives with respect to the argument with number `x`.

    **Fields:** `moving`, it and the letters that are made from it.
    """

    def __init__(self, ring: Ring, x: int):
        self.ring, self.x = ring, x
        self.moving = {x}
        for i in ring.made:  # those that others are made from come first
            if any(self.moving & set(ring.used(p)) for q in self.inside(i) for p in _parts(q)):
                self.moving.add(i)

    def inside(self, i: int) -> list[Quotient]:
        """Return what a letter is a function of."""
        given = self.ring.made[i][1]
        given = given if isinstance(given, list) else [given]
        return [q if isinstance(q, Quotient) else Quotient(self.ring, q) for q in given]

    def bears_on(self, p: Any) -> bool:
        """Whether a polynomial has letters that are made from the argument, and is short."""
        made = self.moving - {self.x}
        return len(p) <= MOST_TERMS and not made.isdisjoint(self.ring.used(p))

    def ends(self) -> list[tuple[fmpq, int]] | None:
        """Return the ends of the argument's interval, each with the way from there: 1 is up.

        None where what is known of it is not just an interval, as where it is more than another:
        then a point at its end may be out of the domain.
        """
        ring, x = self.ring, self.x
        lows: list[fmpq] = [fmpq(0)] if ring.signs.get(x) else []
        highs: list[fmpq] = []
        for fact in ring.facts.values():
            if fact.letters.isdisjoint(self.moving) or self.is_raised(fact.of):
                continue
            if fact.letters != {x} or fact.of.degrees()[x] > 1:
                return None
            slope = fmpq(fact.of.derivative(x).leading_coefficient())
            rest = fact.of - slope * ring.gens[x]
            root = -(fmpq(0) if rest.is_zero() else fmpq(rest.leading_coefficient())) / slope
            (lows if slope > 0 else highs).append(root)
        if any(not self.moving.isdisjoint(ring.used(p)) for p in ring.zeros):
            return None
        up, down = [(max(lows), 1)] if lows else [], [(min(highs), -1)] if highs else []
        return up + down

    def is_raised(self, p: Any) -> bool:
        """Whether a fact is the exponential of another, and says no more."""
        ring = self.ring
        either = {str(p), str(-p)}
        return not either.isdisjoint(ring.raised) and not either <= set(ring.facts)

    def starts(self, q: Quotient, end: fmpq, prove: Prove) -> Reason | None:
        """Return why a quotient is not negative at an end."""
        value = self.ring.reduced(self.value(q, end).cancelled().num)
        return prove(value) or by_slopes(self.ring, value, prove)

    def splits(self, p: Any, prove: Prove) -> bool:
        """Whether zero may serve as an end: a polynomial is not negative there."""
        try:
            return self.starts(Quotient(self.ring, p), fmpq(0), prove) is not None
        except Doubt:
            return False

    def from_end(self, p: Any, end: fmpq, way: int, prove: Prove, deep: int) -> Reason | None:
        """Return why a polynomial is not negative: it is not at an end, and does not fall.

        **Raises:** `Doubt` where it has no value at the end, or no derivative.
        """
        if not self.bears_on(p) or deep == 0:
            return None
        ring, over = self.ring, self.beside_logarithms(p)
        q = Quotient(ring, p) / over
        first = self.starts(q, end, prove)
        if first is None:
            return None
        slope = ring.reduced((self.slope(q) * way).cancelled().num)
        second = prove(slope)
        if second is None:
            parts, rest = last_factor(ring, slope) or ([], slope)
            second = self.from_end(rest, end, way, prove, deep - 1)
            second = product(slope, parts, second) if parts else second
        if second is None:
            return None
        name, sign = ring.names[self.x], "falls" if way > 0 else "rises"
        divided = "" if over == 1 else f"over {over.key} "
        how = f"{divided}it is not negative at {name} = {end} (the first), and nowhere {sign}"
        return Reason(p, "slope", f"{how} (the second)", (first, second))

    def beside_logarithms(self, p: Any) -> Quotient:
        """Return what is positive and stands beside all logarithms: over it, they leave a slope.

        It is 1 where there is no such thing.
        """
        ring = self.ring
        logs = [i for i in ring.used(p) if i in self.moving and ring.made.get(i, ("",))[0] == "log"]
        slopes = [primitive(p.derivative(i))[0] for i in logs]
        if slopes and all(s == slopes[0] for s in slopes) and not slopes[0].is_constant():
            sign = signed(ring, slopes[0], strict=True)
            if sign:
                return Quotient(ring, slopes[0] * sign)
        return constant(ring, 1)

    def value(self, q: Quotient, end: fmpq) -> Quotient:
        """Return a quotient where the argument is at an end.

        **Raises:** `Doubt` where that is not defined, or a function is none of `FUNCTIONS`.
        """
        ring = self.ring
        known: dict[int, Quotient] = {self.x: constant(ring, end)}

        def put(q: Quotient) -> Quotient:
            below = [of_polynomial(ring.factors[k]) ** e for k, e in q.den]
            return of_polynomial(q.num) / product_of([constant(ring, 1), *below])

        def of_polynomial(p: Any) -> Quotient:
            terms = [
                product_of([constant(ring, c), *(at(i) ** e for i, e in enumerate(m) if e)])
                for m, c in p.terms()
            ]
            return total([constant(ring, 0), *terms])

        def at(i: int) -> Quotient:
            if i not in self.moving:
                return Quotient(ring, ring.gens[i])
            if i not in known:
                kind = ring.made[i][0]
                if kind not in FUNCTIONS:
                    raise Doubt(f"{kind} is not followed to an end")
                known[i] = FUNCTIONS[kind](put(*self.inside(i)))
            return known[i]

        return put(q)

    def slope(self, q: Quotient) -> Quotient:
        """Return the derivative of a quotient that has a `value`.

        **Raises:** `Doubt` where there may be none.
        """
        ring = self.ring
        grows = [self._of_polynomial(ring.factors[k]) * e / Quotient(ring, ring.factors[k])
                 for k, e in q.den]  # fmt: skip
        below = Quotient(ring, ring.constant(1), q.den)
        return self._of_polynomial(q.num) * below - q * total([constant(ring, 0), *grows])

    def _of_polynomial(self, p: Any) -> Quotient:
        used = [i for i in self.ring.used(p) if i in self.moving]
        parts = [Quotient(self.ring, p.derivative(i)) * self._of_letter(i) for i in used]
        return total([constant(self.ring, 0), *parts])

    def _of_letter(self, i: int) -> Quotient:
        if i == self.x:
            return constant(self.ring, 1)
        kind, letter = self.ring.made[i][0], Quotient(self.ring, self.ring.gens[i])
        (q,) = self.inside(i)
        slope = self.slope(q)
        return slope * letter if kind == "exp" else slope / (q if kind == "log" else letter * 2)


def _parts(q: Quotient) -> list[Any]:
    """Return the polynomials that a quotient is made of."""
    return [q.num, *(q.ring.factors[k] for k, _ in q.den)]
