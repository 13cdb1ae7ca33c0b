"""Prove lhs <= rhs at every point of a domain: signs, Pólya's multiplier, sums of squares.

Each gap becomes polynomials in letters that must not be negative. A logarithm is handled by the
exponential, which keeps the order; an eigenvalue by the quadratic form of its matrix; a maximum or
absolute value by cases. With w = exp(x) a statement about softmax is one on the positive orthant.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from flint import fmpq

from theorykit.certify import _functions as of
from theorykit.certify._bounds import by_bounds
from theorykit.certify._choices import split_on_choice
from theorykit.certify._everywhere import (
    Everywhere,
    Letter,
    Open,
    as_leaves,
    as_program,
    over_cases,
)
from theorykit.certify._forms import by_cauchy, by_length, by_minors, by_triangle
from theorykit.certify._machine import Doubt
from theorykit.certify._quotients import Infinite, Quotient, letter, total
from theorykit.certify._ring import POSITIVE, REAL, Ring, Work, primitive, shortened
from theorykit.certify._sides import SIDES
from theorykit.certify._signs import (
    DEEP,
    SHALLOW,
    Reason,
    by_root,
    by_terms,
    certain,
    last_factor,
    product,
)
from theorykit.certify._slopes import by_slopes
from theorykit.certify._squares import by_program
from theorykit.certify._tangents import by_tangents
from theorykit.common.arguments import function

MOST_MULTIPLIED = 4
MOST_TERMS = 4000
"""Pólya's multiplier: its largest power, and the most terms that may result."""

MOST_FACTS = 8
"""Facts that are put into one semidefinite program."""


def ordered(
    inequality: Callable[..., tuple[Any, Any]],
    shapes: Mapping[str, Any],
    totals: Sequence[Sequence[Letter]] = (),
    work: Work | None = None,
) -> Everywhere:
    """Return whether lhs <= rhs for all values of the arguments, entry by entry.

    Arguments, and what is raised, are those of `identical`. A statement that is not found to be
    true may still be true.
    """
    function("inequality", inequality, SIDES)
    leaves = as_leaves(shapes)
    return over_cases(as_program(inequality, leaves), leaves, below, totals, work)


@dataclasses.dataclass(frozen=True)
class AtLeast:
    """A gap is not negative: `num`, its numerator, is not since `of` is not, by `by`, a `step`.

    **Fields:** `gap`, rhs - lhs; `step`: "itself", where `of` is `num`; "exponential", where
    exp(`times` `num`) - 1 has the numerator `of`; "form", where `num` is a quadratic form's.
    """

    gap: Quotient
    num: Any
    step: str
    of: Any
    by: Reason
    times: int = 1

    def lines(self, ring: Ring) -> list[str]:
        """Return the proof."""
        said = {
            "itself": "",
            "exponential": "since its exponential is at least 1:",
            "form": "since for every v",
        }[self.step]
        head = [f"{shortened(ring.show(self.num))} >= 0, {said}"] if said else []
        return [*head, *self.by.lines(ring.show, len(head))]


def below(ring: Ring, left: Sequence[Any], right: Sequence[Any]) -> list[AtLeast]:
    """Prove that one side is at most the other in one case, entry by entry."""
    goals: list[AtLeast] = []
    seen: set[str] = set()
    _known_of_exponentials(ring)
    for a, b in zip(left, right, strict=True):
        gap = b - a
        if isinstance(gap, Infinite):
            if not gap.value > 0:
                raise Open("a side is infinite, or not a number.")
            continue
        if gap.code in seen:
            continue
        seen.add(gap.code)
        num = ring.reduced(gap.cancelled().num)
        for step, p, times in _goals(ring, num):
            found = (
                certain(ring, p, quickly=True)
                or by_cauchy(ring, p)
                or by_triangle(ring, p, partial(_soon, ring))
                or by_length(ring, p, partial(_soon, ring))
                or certain(ring, p)
            )
            if found is None and step == "itself":
                # Other methods do not know that x and exp(x) belong together.
                found = by_tangents(ring, num, partial(certain, ring))
            if found is None:
                split_on_choice(ring, [p])
                found = _in_bounds(ring, p) or certain(ring, p, deep=DEEP) or _with_effort(ring, p)
            if found is None and step != "form":
                found = by_tangents(ring, num, partial(_soon, ring))
                found = found or by_slopes(ring, num, partial(_lightly, ring))
                step, p = ("itself", num) if found else (step, p)
            if found is None and p.is_constant():
                raise Open(f"rhs - lhs is {ring.show(p)}, and a proof has no tolerance.")
            if found is None:
                raise Open(f"{shortened(ring.show(p))} >= 0 could not be shown.")
            goals.append(AtLeast(gap, num, step, p, found, times))
    return goals


def _goals(ring: Ring, num: Any) -> Iterator[tuple[str, Any, int]]:
    """Yield polynomials, so that the gap is not negative if none of them is, and how so."""
    kinds = {i: ring.made[i][0] for i in ring.used(num) if i in ring.made}
    for i, kind in kinds.items():
        if kind.startswith(("eigenvalue", "singular value")):
            for q in _of_form(ring, num, i):
                yield "form", q, 1
            return
    logs = [i for i, kind in kinds.items() if kind == "log"]
    slopes = [num.derivative(i) for i in logs]
    if logs and all(s.is_constant() for s in slopes):
        whole = math.lcm(*(int(fmpq(s.leading_coefficient()).q) for s in slopes))
        try:
            up = of.exp(Quotient(ring, num * whole)) - 1
        except Doubt:
            pass
        else:
            yield "exponential", ring.reduced(up.cancelled().num), whole
            return
    yield "itself", num, 1


def _of_form(ring: Ring, num: Any, i: int) -> Iterator[Any]:
    """Yield what makes a + b z >= 0, z being the largest or smallest eigenvalue of a matrix."""
    kind, entries = ring.made[i]
    n = math.isqrt(len(entries))
    slope = num.derivative(i)
    a, b = Quotient(ring, num - slope * ring.gens[i]), Quotient(ring, slope)
    if i in ring.used(slope):
        raise Open(f"{ring.names[i]} occurs to a higher power.")
    rows = [entries[n * k : n * k + n] for k in range(n)]
    v = [letter(ring, "v", ring.constant(k), REAL, name=f"v_{k + 1}") for k in range(n)]
    form = lambda m: total([m[j][k] * v[j] * v[k] for j in range(n) for k in range(n)])
    whole = total([x * x for x in v])
    largest = kind in (f"eigenvalue {n} of {n}", f"singular value 1 of {n}")
    if not largest and kind != f"eigenvalue 1 of {n}":
        raise Open(f"{ring.names[i]} is neither the largest nor the smallest.")
    if not certain(ring, -slope if largest else slope):
        raise Open(f"the sign beside {ring.names[i]} is not the one that a form bounds.")
    if kind.startswith("eigenvalue"):
        forms = [a * whole + b * form(rows)]
    else:
        forms = [a]
        if all(rows[j][k] == rows[k][j] for j in range(n) for k in range(j)):
            forms += [a * whole + b * form(rows), a * whole - b * form(rows)]
        else:
            images = [total([rows[j][k] * v[k] for k in range(n)]) for j in range(n)]
            forms.append(a * a * whole - b * b * total([y * y for y in images]))
    for q in forms:
        yield ring.reduced(q.cancelled().num)


def _known_of_exponentials(ring: Ring) -> None:
    """Note that x >= y gives exp(x) >= exp(y), for what is given and has exponentials."""
    for fact in list(ring.facts.values()):
        monomials = [ring.show(ring.context.from_dict({m: 1})) for m in fact.of.monoms()]
        if all(f"exp {m}" in ring.units or m == "1" for m in monomials) and len(monomials) < 5:
            up = of.exp(Quotient(ring, fact.of)) - 1
            p = ring.reduced(up.cancelled().num)
            ring.fact(p, fact.strict)
            ring.raised[str(primitive(p)[0])] = fact.of


def _in_bounds(ring: Ring, p: Any) -> Reason | None:
    """Return why a polynomial is not negative by bounds, known factors and a root set aside."""
    found = by_bounds(ring, p)
    if found:
        return found
    last = last_factor(ring, p)
    if last is not None:
        return product(p, last[0], _in_bounds(ring, last[1]))
    either = lambda ring, q, strict, deep: certain(ring, q, strict) or by_bounds(ring, q, strict)
    return by_root(ring, p, False, SHALLOW, either)


def _soon(ring: Ring, p: Any) -> Reason | None:
    """Return why a polynomial is not negative; what rests on many steps is left out."""
    return certain(ring, p) or _with_effort(ring, p)


def _lightly(ring: Ring, p: Any) -> Reason | None:
    """The same with effort only where no functions are left."""
    found = certain(ring, p) or by_tangents(ring, p, partial(certain, ring))
    return found or (None if set(ring.used(p)) & set(ring.made) else _with_effort(ring, p))


def _with_effort(ring: Ring, p: Any) -> Reason | None:
    if p.is_constant():
        return None
    last = last_factor(ring, p)
    if last is not None:
        parts, f = last
        return product(p, parts, _soon(ring, f))
    letters = [i for i in ring.used(p) if ring.signs.get(i, REAL) and i not in ring.squares]
    multiplier = sum((ring.gens[i] for i in letters), ring.constant(0))
    if not any(ring.signs[i] is POSITIVE for i in letters):
        multiplier += 1
    if letters:
        found = _by_polya(ring, p, multiplier)
        if found:
            return found
    found = by_bounds(ring, p)
    if found:
        return found
    facts = _bearing_on(ring, p)
    for given in ([], facts) if facts else ([],):
        squares = by_program(ring, p, given)
        if squares:
            return Reason(p, "squares", "a sum of squares", squares=squares)
    found = by_minors(ring, p, partial(_soon, ring))
    if found:
        return found
    harder = lambda ring, q, strict, deep: (
        certain(ring, q, strict, deep) or (None if strict else _with_effort(ring, q))
    )
    found = by_root(ring, p, False, DEEP, harder)
    if found:
        return found
    squared = sum((ring.gens[i] ** 2 for i in ring.used(p)), ring.constant(1))
    for times in [multiplier] * bool(letters) + [squared]:
        squares = by_program(ring, ring.times(p, times), [])
        if squares:
            return Reason(p, "squares", "a sum of squares", squares=squares, multiplier=times)
    return None


def _by_polya(ring: Ring, p: Any, multiplier: Any) -> Reason | None:
    made, power = p, ring.constant(1)
    for _ in range(MOST_MULTIPLIED):
        if len(made) * len(multiplier) > MOST_TERMS:
            return None
        made, power = ring.times(made, multiplier), ring.times(power, multiplier)
        if by_terms(ring, made, strict=False):
            how = f"the terms of ({ring.show(power)}) times it are not negative"
            return Reason(p, "multiplied", how, multiplier=power)
    return None


def _bearing_on(ring: Ring, p: Any) -> list[Any]:
    """Return the facts that are about letters of a polynomial, the shortest first."""
    mine = set(ring.used(p))
    about = [fact.of for fact in ring.facts.values() if fact.letters <= mine]
    return sorted(about, key=lambda f: (len(f), str(f)))[:MOST_FACTS]
