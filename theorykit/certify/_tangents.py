"""Logarithms and exponentials beside their arguments: log z >= 1 - 1/z, and exp z >= 1 + z.

So sums m log(a/b) with positive m are at least sums of m (1 - b/a), in which no logarithm is left.
The bound is exact where a = b, as in an entropy at uniform weights. Both are the same tangent: that
of the logarithm is the one of exp(-log z).
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from flint import fmpq

from theorykit.certify._machine import Doubt
from theorykit.certify._quotients import Quotient, constant, total
from theorykit.certify._ring import Ring, primitive
from theorykit.certify._signs import Reason, certain

MOST_EXPONENTIALS = 8
"""The most exponentials of which each is tried as the one that the others are divided by."""

Prove = Callable[[Any], Reason | None]


Exponents = tuple[tuple[Quotient, Quotient, int], ...]
"""Triples (v, b, n), with v = exp(b): the sum of n b."""


@dataclasses.dataclass(frozen=True)
class _Bound:
    """What a polynomial over `over` is at least, and why: see `Reason.tangents`."""

    least: Quotient
    how: str
    tangents: tuple[tuple[Any, Exponents], ...]
    over: Any = 1


def by_tangents(ring: Ring, p: Any, prove: Prove) -> Reason | None:
    """Return why a polynomial in logarithms or exponentials, and other letters, is not negative.

    **Arguments:** `prove`: the same of a polynomial without them.
    """
    try:
        for it in itertools.chain(_of_exponentials(ring, p), _of_logarithms(ring, p)):
            found = prove(ring.reduced(it.least.cancelled().num))
            if found:
                return Reason(
                    p, "tangents", it.how, (found,), multiplier=it.over, tangents=it.tangents
                )
    except Doubt:  # a denominator without a sign
        pass
    return None


def _of_logarithms(ring: Ring, p: Any) -> Iterator[_Bound]:
    """Yield what is at most a polynomial that is linear in logarithms, and why.

    Where x stands beside exp(x), it is a logarithm, too.
    """
    logs, exponents = _logarithms(ring, p)
    for of in (logs, logs | exponents) if logs and exponents else (logs or exponents,):
        least = _least(ring, p, of) if of else None
        if least is not None:
            yield least


def _logarithms(ring: Ring, p: Any) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return the letters that are logarithms, and those that are exponents: L = c log(z).

    For each letter the argument z and the number c.
    """
    logs, exponents, used = {}, {}, ring.used(p)
    for i, (kind, of) in ring.made.items():
        if kind == "log" and i in used:
            logs[i] = Quotient(ring, of), fmpq(1)
        elif kind == "exp" and isinstance(of, Quotient) and not of.den:
            unit, c = primitive(of.num)
            only = ring.only(unit)
            if only in used and ring.made.get(only, ("",))[0] != "log":
                exponents[only] = Quotient(ring, ring.gens[i]), 1 / c
    return logs, exponents


def _least(ring: Ring, p: Any, logs: dict[int, Any]) -> _Bound | None:
    taken = _taken_apart(ring, p, list(logs))
    if taken is None:
        return None
    rest, beside = taken
    least, said, tangents = [Quotient(ring, rest)], [], []
    for m, counts in beside:
        if not certain(ring, m):
            return None
        powers = {i: c * logs[i][1] for i, c in counts.items()}
        scale = _common(powers.values())
        up = down = constant(ring, 1)
        minus: list[tuple[Quotient, Quotient, int]] = []
        for i, c in powers.items():
            n, z = int((c / scale).p), logs[i][0]
            minus.append((z, Quotient(ring, ring.gens[i] / logs[i][1]), -n))
            up, down = (up * z**n, down) if n > 0 else (up, down * z**-n)
        least.append(Quotient(ring, m) * scale * (1 - down / up))
        said.append(f"({up.cancelled().key}) / ({down.cancelled().key})")
        tangents.append((m * scale, tuple(minus)))
    how = f"log z >= 1 - 1/z for z = {', '.join(said)}; what is left:"
    return _Bound(total(least), how, tuple(tangents))


def _of_exponentials(ring: Ring, p: Any) -> Iterator[_Bound]:
    """Yield what is at most a polynomial over one of its exponentials, and why."""
    is_exp = lambda made: made[0] == "exp" and isinstance(made[1], Quotient)
    exps = [i for i in ring.used(p) if is_exp(ring.made.get(i, ("", None)))]
    beside: dict[tuple[int, ...], Any] = {}
    for powers, c in p.terms():
        here = tuple(int(powers[i]) for i in exps)
        without = tuple(0 if i in exps else e for i, e in enumerate(powers))
        beside[here] = beside.get(here, ring.constant(0)) + ring.context.from_dict({without: c})
    if not exps or len(beside) > MOST_EXPONENTIALS:
        return
    signs = {here: bool(certain(ring, m)) for here, m in beside.items()}
    for over in beside:  # the one whose weight may have any sign
        if not all(good for here, good in signs.items() if here != over):
            continue
        least, said, tangents = [], [], []
        for here, m in beside.items():
            least.append(Quotient(ring, m))
            if here != over:
                powers = zip(exps, here, over, strict=True)
                parts = tuple(
                    (Quotient(ring, ring.gens[i]), ring.made[i][1], e - o)
                    for i, e, o in powers
                    if e != o
                )
                exponent = total([base * n for _, base, n in parts])
                least[-1] *= 1 + exponent
                said.append(exponent.key)
                tangents.append((m, parts))
        how = f"exp z >= 1 + z for z = {', '.join(said)}; what is left:"
        times = dict(zip(exps, over, strict=True))
        powers = tuple(times.get(i, 0) for i in range(len(ring.gens)))
        yield _Bound(total(least), how, tuple(tangents), ring.context.from_dict({powers: 1}))


def _taken_apart(
    ring: Ring, p: Any, letters: list[int]
) -> tuple[Any, list[tuple[Any, dict[int, fmpq]]]] | None:
    """Return the terms without some letters, and what is beside them; None if not linear.

    Of a term c m L with a letter L, c is returned by m and L.
    """
    beside: dict[tuple[int, ...], tuple[Any, dict[int, fmpq]]] = {}
    rest = ring.constant(0)
    for powers, c in p.terms():
        here = [i for i in letters if powers[i]]
        term = lambda powers: ring.context.from_dict({tuple(powers): 1})
        if not here:
            rest += term(powers) * c
            continue
        if len(here) > 1 or powers[here[0]] > 1:
            return None
        without = tuple(0 if i == here[0] else e for i, e in enumerate(powers))
        beside.setdefault(without, (term(without), {}))[1][here[0]] = fmpq(c)
    return rest, list(beside.values())


def _common(values: Any) -> fmpq:
    """Return the positive number of which all are whole multiples, without a common factor."""
    values = list(values)
    below = math.lcm(*(int(v.q) for v in values))
    return fmpq(math.gcd(*(int((v * below).p) for v in values)), below)
