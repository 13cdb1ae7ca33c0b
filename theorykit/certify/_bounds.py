"""Write a polynomial in what is given, so that its terms show its sign.

Each given inequality, such as x >= l, y >= x or h >= x, has a slack: a letter of its own, which
takes the place of x. Where slacks add up to a number, as x - l and h - x do, the polynomial is made
homogeneous in them: Bernstein's form on an interval or simplex. A sum of products of slacks, with
coefficients that are not negative, is not negative (Handelman 1988).
"""

import dataclasses
import itertools
from typing import Any

from flint import fmpq

from theorykit.certify._ring import NONNEGATIVE, POSITIVE, REAL, Ring, primitive
from theorykit.certify._signs import Reason, by_terms, remember, signed, term_sign

MOST_ELEVATED = 2
"""How often the degree in slacks is raised, which brings the terms nearer to values."""

SLACK = "slack"
"""The kind of letter that a slack is."""

MOST_TERMS = 3000
"""Terms of the polynomial that comes of it."""


def by_bounds(ring: Ring, p: Any, strict: bool = False) -> Reason | None:
    """Return why p >= 0 (p > 0, if strict), once bounded letters are written in their slacks."""
    if p.is_constant() or len(p) > MOST_TERMS:
        return None
    slacks = _Slacks(ring, p)
    slacks.even_powers()
    slacks.ends()
    slacks.chains()
    slacks.sums()
    if not slacks.changed:
        return None
    how = "in the letters [p], which are what is given,"
    for k in range(MOST_ELEVATED + 1):
        q = slacks.homogeneous(k)
        if q is None:
            return None
        if (
            by_terms(ring, q, strict=False)
            and (not strict or slacks.positive(q))
            and multiplied_out(ring, q) == p
        ):
            terms = Reason(q, "terms", "its terms are not negative", strict=strict)
            return Reason(p, "bounds", how, (terms,), strict=strict)
        if not slacks.groups:
            break
    return None


def sign_by_bounds(ring: Ring, p: Any) -> int:
    """Return 1 if p > 0 everywhere, -1 if p < 0, 0 if neither is found, and remember why."""
    known = signed(ring, p, strict=True)
    if known:
        return known
    for sign in (1, -1):
        found = by_bounds(ring, sign * p, strict=True)
        if found:
            remember(ring, found)
            return sign
    return 0


def multiplied_out(ring: Ring, q: Any) -> Any:
    """Return a polynomial in slacks as one in what the slacks are."""
    slacks = {i for i in ring.used(q) if ring.made.get(i, ("", None))[0] == SLACK}
    ring.spend(20 + 5 * len(q))
    return q.compose(*(ring.made[i][1] if i in slacks else x for i, x in enumerate(ring.gens)))


@dataclasses.dataclass(frozen=True)
class _Given:
    """What is not negative (positive, if strict): `of`, in the letters of the statement.

    **Fields:** `now`, the same in the letters that have taken their place.
    """

    of: Any
    now: Any
    strict: bool


class _Slacks:
    """A polynomial on its way: `now` is equal to it at every point of the domain.

    **Fields:** `given`, what is given of its letters and not yet used; `groups`, sums of slacks,
    each with the number that it is; `changed`, whether anything was replaced.
    """

    def __init__(self, ring: Ring, p: Any):
        self.ring, self.now, self.changed = ring, p, False
        mine = set(ring.used(p))
        given = [(f.of, f.strict) for f in ring.facts.values() if f.letters <= mine]
        # A square is not negative, so neither is what it is equal to.
        squares = [primitive(r) for r in ring.squares.values() if set(ring.used(r)) <= mine]
        given += [(q if c > 0 else -q, False) for q, c in squares if not q.is_constant()]
        ring.spend(20 * len(given) + len(p))
        distinct = {str(f): _Given(f, f, s) for f, s in sorted(given, key=lambda g: g[1])}
        self.given = list(distinct.values())
        self.groups: list[tuple[Any, fmpq]] = []

    def even_powers(self) -> None:
        """Replace the square of a letter that occurs in even powers only, and has no sign."""
        ring = self.ring
        for i in ring.used(self.now):
            if ring.signs.get(i, REAL) is not REAL or not _is_even(self.now, i):
                continue
            about = [g for g in self.given if i in ring.used(g.now)]
            odd = [g for g in about if not _is_even(g.now, i)]
            if any(len(ring.used(g.now)) == 1 for g in odd) or len(odd) == len(about):
                continue  # its own ends say more, or nothing is known of its square
            square = self._slack(_Given(ring.gens[i] ** 2, None, False))
            kept = [g for g in self.given if g not in odd]
            self.now = _halved(ring, self.now, i, square)
            self.given = [dataclasses.replace(g, now=_halved(ring, g.now, i, square)) for g in kept]

    def ends(self) -> None:
        """Replace a letter x >= l by l + t, and one that has only an upper end by h - t."""
        ring = self.ring
        for i in ring.used(self.now):
            own = [g for g in self.given if ring.used(g.now) == [i] and g.now.degrees()[i] == 1]
            end = lambda g, i=i: -_constant(g.now) / _slope(g.now, i)
            lower = [g for g in own if _slope(g.now, i) > 0]
            upper = [g for g in own if _slope(g.now, i) < 0]
            if lower:
                best = max(lower, key=lambda g: (end(g), g.strict))
                if ring.signs.get(i, REAL) is REAL or end(best) > 0:
                    self._put(i, best)
            elif upper and ring.signs.get(i, REAL) is REAL:
                self._put(i, min(upper, key=lambda g: (end(g), not g.strict)))

    def chains(self) -> None:
        """Replace a letter x by (t + r) / a if a x >= r is given, r a sum of positive terms."""
        ring = self.ring
        for _ in range(len(self.given)):
            for g in self.given:
                if g.now.is_constant() or by_terms(ring, g.now, strict=False):
                    continue
                i = self._above(g)
                if i is not None:
                    self._put(i, g)
                    break
            else:
                return

    def _above(self, g: _Given) -> int | None:
        for i in self.ring.used(g.now):
            slope = g.now.derivative(i)
            if not slope.is_constant() or _slope(g.now, i) < 0 or i not in self.ring.used(self.now):
                continue
            if by_terms(self.ring, slope * self.ring.gens[i] - g.now, strict=False):
                return i
        return None

    def sums(self) -> None:
        """Find slacks that have a sum: c - sum_i a_i t_i is given."""
        ring = self.ring
        taken: set[int] = set()
        for g in self.given:
            letters = ring.used(g.now)
            number = _constant(g.now)
            rest = number - g.now
            if (
                number <= 0
                or any(sum(m) > 1 for m in rest.monoms())
                or any(c < 0 for c in rest.coeffs())
                or not all(ring.signs.get(i, REAL) for i in letters)
                or taken & set(letters)
                or not set(letters) <= set(ring.used(self.now))
            ):
                continue
            self.groups.append((ring.gens[self._slack(g)] + rest, number))
            taken |= set(letters)

    def homogeneous(self, raised: int) -> Any | None:
        """Return it with one degree in each group, raised by so much; None if it is too long."""
        ring, p = self.ring, self.now
        for whole, number in self.groups:
            letters = ring.used(whole)
            parts: dict[int, dict[Any, Any]] = {}
            for m, c in p.terms():
                parts.setdefault(sum(m[i] for i in letters), {})[m] = c
            most = max(parts) + raised
            made, one = ring.constant(0), whole / number
            for degree, part in parts.items():
                if len(part) * (most - degree + 1) ** (len(letters) - 1) > MOST_TERMS:
                    return None
                times = one ** (most - degree)
                ring.spend(20 + len(part) * len(times) // 8)
                made += ring.context.from_dict(part) * times
            p = made
        return p

    def positive(self, q: Any) -> bool:
        """Whether q, of terms that are not negative, has a positive one at every point.

        In each group one slack is positive. So it is enough if for each choice of one in each group
        some term has no other factor that may be zero.
        """
        ring = self.ring
        groups = [ring.used(whole) for whole, _ in self.groups]
        monomials = list(q.monoms())
        if len(monomials) * 2 ** len(groups) > 20 * MOST_TERMS:
            return False

        def sure(m: tuple[int, ...], chosen: tuple[int, ...]) -> bool:
            rest = tuple(0 if i in chosen else e for i, e in enumerate(m))
            return term_sign(ring, rest) is POSITIVE

        for chosen in itertools.product(*groups):
            ring.spend(len(monomials))
            if not any(sure(m, chosen) for m in monomials):
                return False
        return True

    def _put(self, i: int, g: _Given) -> None:
        """Replace letter i, of which g.now is a linear function, by the slack of g."""
        ring = self.ring
        slope = _slope(g.now, i)
        t = ring.gens[self._slack(g)]
        value = (t - g.now) / slope + ring.gens[i]
        self.given = [
            dataclasses.replace(h, now=_composed(ring, h.now, i, value))
            for h in self.given
            if h is not g
        ]
        self.now = _composed(ring, self.now, i, value)

    def _slack(self, g: _Given) -> int:
        ring = self.ring
        self.changed = True
        sign = POSITIVE if g.strict else NONNEGATIVE
        return ring.letter(SLACK, g.of, str(g.of), f"[{ring.show(g.of)}]", sign, None)


def _slope(p: Any, i: int) -> fmpq:
    """Return the coefficient of a letter in a polynomial that is linear in it."""
    return fmpq(p.derivative(i).leading_coefficient())


def _constant(p: Any) -> fmpq:
    """Return the constant term of a polynomial."""
    return fmpq(p[(0,) * len(p.degrees())])


def _composed(ring: Ring, p: Any, i: int, value: Any) -> Any:
    if i not in ring.used(p):
        return p
    ring.spend(20 + len(p) * len(value))
    return p.compose(*(value if k == i else x for k, x in enumerate(ring.gens)))


def _is_even(p: Any, i: int) -> bool:
    return all(m[i] % 2 == 0 for m in p.monoms())


def _halved(ring: Ring, p: Any, i: int, square: int) -> Any:
    """Return p with a letter for the square of letter i."""
    terms = {}
    for m, c in p.terms():
        powers = list(m)
        powers[square] += powers[i] // 2
        powers[i] = 0
        terms[tuple(powers)] = c
    return ring.context.from_dict(terms)
