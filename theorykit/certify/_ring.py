"""The letters of one statement, polynomials in them, and what is known of their signs.

A letter stands for an entry of an argument, or for one value of a function that is not a quotient
of polynomials: exp(x), sqrt(p), |p|, a maximum. So it is one function on the domain, in all cases
of a proof; what is known of its sign belongs to the case at hand.
"""

import dataclasses
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from theorykit.certify._machine import NotCertifiable
from theorykit.common.arguments import instance, size

LETTERS, MOST_LETTERS = 48, 200
"""Letters besides those of the arguments: how many there are at first, and at most."""

MOST_WORK = 500_000
"""What one attempt may cost, in steps of about a microsecond; counted and not timed, so that the
same proofs come about on any machine."""

REAL, NONNEGATIVE, POSITIVE = range(3)
"""What is known of the sign of a letter."""

Relation = tuple[Any, str]
"""A polynomial, and how it compares with zero: ">", ">=" or "=="."""

_LABEL = re.compile(r"\bx(\d+)\b")
"""The letters of a context, in order."""


class Split(NotCertifiable):
    """Raised where a sign is needed and is not known.

    **Fields:** `cases`, each of them relations that hold together; every point is in one of them.
    """

    def __init__(self, of: Any, cases: Sequence[Sequence[Relation]]):
        super().__init__(f"the sign of {shortened(str(of))} is not the same everywhere.")
        self.cases = tuple(tuple(case) for case in cases)


class Crowded(NotCertifiable):
    """Raised where there are more values of functions than letters: it begins again with more."""


class Spent(NotCertifiable):
    """Raised where a proof has used up its allowance."""


class Work:
    """What an attempt at a proof, or at what `what` names, may still cost over all its sizes."""

    def __init__(self, most: int = MOST_WORK, what: str = "the proof"):
        self.left = size("most", most)
        self.what = instance("what", what, str, "what it is for, in words")

    def spend(self, work: int) -> None:
        """Count work.

        **Raises:** `Spent` if there has been too much.
        """
        self.left -= work
        if self.left < 0:
            raise Spent(f"{self.what} exceeds its budget; smaller sizes cost less.")


def rational(value: Any) -> fmpq:
    """Return a constant as the exact rational that it is.

    **Raises:** `NotCertifiable` for anything but a rational number.
    """
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return fmpq(int(value))
    if isinstance(value, float | np.floating | Fraction):
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            raise NotCertifiable(f"{value} is not a rational number.")
        exact = value if isinstance(value, Fraction) else Fraction(float(value))
        return fmpq(exact.numerator, exact.denominator)
    if isinstance(value, fmpq):
        return value
    raise NotCertifiable(f"{value!r} is no rational number.")


@dataclasses.dataclass(frozen=True)
class Fact:
    """A polynomial that is not negative (positive, if strict), and its letters."""

    of: Any
    strict: bool
    letters: frozenset[int]


class Ring:
    """The letters of one statement, and what is known of them in the case at hand.

    **Fields:** `signs`, a letter's sign; `facts`, by their text; `zeros`, polynomials that are
    zero; `squares`, of letters whose square is a polynomial in those before; `names`; `factors`,
    what denominators are products of; `made`, what each value of a function was made of, by its
    letter; `units`, see `_functions.unit_of`;
    `raised`, facts that are exponentials of others, by their text.
    """

    def __init__(
        self, arguments: Sequence[str], units: dict[str, fmpq], work: Work, letters: int = LETTERS
    ):
        self.units, self.work = units, work
        self.count = len(arguments)
        labels = [f"x{i}" for i in range(self.count + letters)]
        self.context = fmpq_mpoly_ctx.get(labels, Ordering.lex)
        self.gens = self.context.gens()
        self.names = list(arguments)
        self.known: dict[tuple[str, str], int] = {}
        self.made: dict[int, tuple[str, Any]] = {}
        self.squares: dict[int, Any] = {}
        self.factors: list[Any] = []
        self.factorings: dict[str, Any] = {}
        self._factor_of: dict[str, int] = {}
        self.begin({})

    def begin(self, signs: dict[int, int]) -> None:
        """Forget what is known of signs: another case begins."""
        self.signs = dict(signs)
        self.facts: dict[str, Fact] = {}
        self.zeros: list[Any] = []
        self.proved: dict[tuple[str, bool], tuple[Any, int]] = {}
        self.raised: dict[str, Any] = {}

    def spend(self, work: int) -> None:
        """Count work.

        **Raises:** `Spent` if there has been too much.
        """
        self.work.spend(work)

    def letter(self, kind: str, of: Any, code: str, name: str, sign: int, square: Any) -> int:
        """Return the letter of a function's value: the same for the same function and argument.

        **Arguments:** `code`: the argument as text that no other argument has.
        """
        index = self.known.get((kind, code))
        if index is None:
            index = len(self.names)
            if index == len(self.gens):
                raise Crowded("there are more values of functions in it than letters for them.")
            self.names.append(name)
            self.known[kind, code] = index
            self.made[index] = (kind, of)
        self.signs[index] = max(sign, self.signs.get(index, REAL))
        if square is not None:
            self.squares[index] = square
        return index

    def fact(self, p: Any, strict: bool = False) -> None:
        """Note that a polynomial is not negative (positive, if strict)."""
        unit, scale = primitive(p)
        if not unit.is_constant():
            unit = unit if scale > 0 else -unit
            strict = strict or (str(unit) in self.facts and self.facts[str(unit)].strict)
            self.facts[str(unit)] = Fact(unit, strict, frozenset(self.used(unit)))
            self.proved = {key: found for key, found in self.proved.items() if found[0]}

    def constant(self, value: Any) -> Any:
        """Return a constant polynomial."""
        return self.context.constant(rational(value))

    def times(self, a: Any, b: Any) -> Any:
        """Return the product of two polynomials, with squares of letters substituted."""
        self.spend(20 + len(a) * len(b) // 8)
        return self.reduced(a * b)

    def power(self, p: Any, n: int) -> Any:
        """Return p^n for n >= 0."""
        made = self.constant(1)
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
                self.spend(8 * len(p))
                parts: dict[int, dict[Any, Any]] = {}
                for powers, c in p.terms():
                    k = powers[i]
                    rest = (*powers[:i], k % 2, *powers[i + 1 :])
                    part = parts.setdefault(k // 2, {})
                    part[rest] = part.get(rest, 0) + c
                p = self.constant(0)
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
        made = self.constant(1)
        for k, e in den:
            made = self.times(made, self.power(self.factors[k], e))
        return made

    def used(self, p: Any) -> list[int]:
        """Return the letters of a polynomial."""
        return [i for i, d in enumerate(p.degrees()) if d > 0]

    def only(self, p: Any) -> int | None:
        """Return the letter that a polynomial equals; None if it is not a letter."""
        letters = self.used(p)
        return letters[0] if len(letters) == 1 and p == self.gens[letters[0]] else None

    def show(self, p: Any) -> str:
        """Return a polynomial in the names of its letters."""
        return _LABEL.sub(lambda found: self.names[int(found[1])], str(p))


def primitive(p: Any) -> tuple[Any, fmpq]:
    """Return a polynomial with leading coefficient 1, and the coefficient."""
    if p.is_zero():
        return p, fmpq(0)
    lead = fmpq(p.leading_coefficient())
    return p / lead, lead


def quotient_of(num: Any, p: Any) -> Any | None:
    """Return num / p, None if p does not divide it."""
    try:
        return num / p
    except Exception as error:  # flint's own, which it does not export
        if type(error).__name__ != "DomainError":
            raise
        return None


def shortened(said: str) -> str:
    """Return text that fits on a line."""
    return said if len(said) < 160 else said[:140] + " ..."
