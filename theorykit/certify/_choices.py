"""Cases for what is open in a number: which entry is a maximum, and the sign of |p|."""

from collections.abc import Iterable, Iterator
from typing import Any

from theorykit.certify._ring import Relation, Ring, Split
from theorykit.certify._signs import open_factors


def split_on_choice(ring: Ring, polynomials: Iterable[Any]) -> None:
    """Raise `Split` if a letter is an absolute value or a maximum whose choice is open."""
    for i in sorted(_inside(ring, polynomials)):
        kind, of = ring.made.get(i, ("", None))
        if kind == "abs":
            _, p = open_factors(ring, ring.reduced(of))
            if not p.is_constant():
                raise Split(ring.show(p), [[(p, ">=")], [(-p, ">=")]])
        if kind == "max":
            cases = [[_above(ring, q, r, len(of) == 2) for r in of if r is not q] for q in of]
            raise Split(ring.names[i], cases)


def _above(ring: Ring, a: Any, b: Any, pair: bool) -> Relation:
    """Return the relation a >= b; for a pair, without the factors whose sign is known.

    Where such a factor is zero, the two are equal, and either is the larger.
    """
    num = ring.reduced((a - b).cancelled().num)
    if pair:
        sign, p = open_factors(ring, num, strict=False)
        num = num if p.is_constant() else sign * p
    return num, ">="


def _inside(ring: Ring, polynomials: Iterable[Any]) -> Iterator[int]:
    """Yield the letters of polynomials, and those that these are made of."""
    seen: set[int] = set()
    front = [i for p in polynomials for i in ring.used(p)]
    while front:
        i = front.pop()
        if i in seen:
            continue
        seen.add(i)
        yield i
        _, of = ring.made.get(i, ("", ()))
        for part in of if isinstance(of, list | tuple) else [of]:
            front += _letters_of(ring, part)


def _letters_of(ring: Ring, part: Any) -> list[int]:
    """Return the letters of a polynomial, or of a quotient of them."""
    made = set(ring.used(getattr(part, "num", part)))
    for k, _ in getattr(part, "den", ()):
        made.update(ring.used(ring.factors[k]))
    return sorted(made)
