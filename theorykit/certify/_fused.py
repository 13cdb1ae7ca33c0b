"""Functions of several wide numbers, kept together: softmax, logsumexp, x log x.

Number by number, exp(x_i - m) / sum_j exp(x_j - m) forgets that numerator and denominator go
together. So a wide number remembers which others it was made of; the quotient is then
1 / sum_j exp(x_j - x_i), which rises in x_i and falls in the others, and has its ends in corners.
What it was made of is told by the numbers themselves, not by the shape of the program: one object
stands for one number.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb

from theorykit.certify import _elementwise, _numbers, _structure  # noqa: F401, rules wrapped here
from theorykit.certify._elementwise import each, exact
from theorykit.certify._jets import Jet, added, scaled
from theorykit.certify._machine import RULES, Machine
from theorykit.certify._numbers import ends, spanned

MOST_REMEMBERED = 100_000
MOST_TERMS = 64
"""Numbers that are remembered in a run, and the terms of a sum that are looked at."""


def _remember(machine: Machine, number: Any, kind: str, parts: tuple[Any, ...]) -> None:
    if len(machine.origins) < MOST_REMEMBERED and isinstance(_value(number), arb):
        machine.origins[id(number)] = number, kind, parts


def is_wide(number: Any) -> bool:
    """Whether a number is a wide ball, or a jet of one."""
    return _numbers.is_wide(_value(number))


def _bounded(number: Any) -> bool:
    value = _value(number)
    return not isinstance(value, arb) or bool(value.is_finite())


def _made_of(machine: Machine, number: Any, kind: str) -> tuple[Any, ...] | None:
    _, found, parts = machine.origins.get(id(number), (None, "", ()))
    return parts if found == kind else None


def _remembering(name: str, fuse: Callable[[Machine, Any, Any], Any] | None, kind: str) -> None:
    """Let a rule of one or two arguments remember them, or take a fused value in its place."""
    plain = RULES[name]

    def rule(machine: Machine, eqn: Any, *xs: Any) -> Any:
        if not machine.remembers or exact(eqn):
            return plain(machine, eqn, *xs)
        blamed = machine.culprit
        made = plain(machine, eqn, *xs)

        def one(value: Any, *args: Any) -> Any:
            better = fuse(machine, *args) if fuse and is_wide(value) else None
            if better is not None:
                return better
            if kind:
                _remember(machine, value, kind, args)
            return value

        made = each(one, made, *xs)
        if blamed is None and all(map(_bounded, made.flat)):
            machine.culprit = None
        return made

    RULES[name] = rule


def _terms(machine: Machine, total: Any) -> list[Any] | None:
    """Return the numbers that a sum is of, sums in it included; None if it is none."""
    front, made = [total], []
    while front:
        number = front.pop()
        parts = _made_of(machine, number, "sum")
        if parts is None:
            made.append(number)
        else:
            front += parts
        if len(made) + len(front) > MOST_TERMS:
            return None
    return made


def _exponents(machine: Machine, total: Any) -> list[Any] | None:
    """Return the x_j of a sum of exp(x_j); a term that is exactly zero has none."""
    if _made_of(machine, total, "sum") is None:
        return None
    made = []
    for term in _terms(machine, total) or ():
        if _value(term) == 0:
            continue
        inner = _made_of(machine, term, "exp")
        if inner is None:
            return None
        made.append(inner[0])
    return made or None


def _unshifted(machine: Machine, numbers: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return numbers without what is taken away from each of them, and that; else as they are."""
    pairs = [_made_of(machine, x, "sub") for x in numbers]
    first = pairs[0]
    if first is None or any(p is None or p[1] is not first[1] for p in pairs):
        return list(numbers), None
    return [p[0] for p in pairs if p is not None], first[1]


def _value(number: Any) -> Any:
    return number.value if isinstance(number, Jet) else number


def _values(numbers: Sequence[Any]) -> list[arb]:
    return list(map(_value, numbers))


def _log_ratio(x: arb, others: Sequence[arb]) -> arb:
    """Return log(1 + sum_j exp(x_j - x)), which falls in x and rises in the others."""
    low, high = ends(x)
    pairs = [ends(o) for o in others]
    least = sum(((a - high).exp() for a, _ in pairs), arb(0)).log1p()
    most = sum(((b - low).exp() for _, b in pairs), arb(0)).log1p()
    return spanned(least, most)


def _share(x: arb, others: Sequence[arb]) -> arb:
    """Return 1 / (1 + sum_j exp(x_j - x)), which rises in x and falls in the others."""
    low, high = ends(x)
    pairs = [ends(o) for o in others]
    least = 1 / (1 + sum(((b - low).exp() for _, b in pairs), arb(0)))
    most = 1 / (1 + sum(((a - high).exp() for a, _ in pairs), arb(0)))
    return spanned(least, most)


def _smooth_maximum(xs: Sequence[arb]) -> arb:
    """Return log sum_j exp(x_j), which rises in each."""
    sides = list(zip(*map(ends, xs), strict=True))
    low, high = (sum((e.exp() for e in side), arb(0)).log() for side in sides)
    return spanned(low, high)


def _others(x: Any, numbers: Sequence[Any]) -> list[Any] | None:
    """Return the numbers but for one that is x; None if none is."""
    for k, y in enumerate(numbers):
        if y is x:
            return [*numbers[:k], *numbers[k + 1 :]]
    return None


def _shares(numbers: Sequence[Any]) -> list[arb]:
    values = _values(numbers)
    return [_share(x, [*values[:k], *values[k + 1 :]]) for k, x in enumerate(values)]


def _pulled(x: Any, numbers: Sequence[Any]) -> Any:
    """Return the slopes of x - log sum_j exp(x_j), which are those of sum_j p_j (x - x_j)."""
    made: Any = ()
    for y, p in zip(numbers, _shares(numbers), strict=True):
        if y is not x:
            made = added(made, scaled(added(x.slopes, scaled(y.slopes, arb(-1))), p))
    return made


def _of_share(x: Any, numbers: Sequence[Any]) -> Any:
    """Return the slopes of p = exp(x) / sum_j exp(x_j).

    They are sum_j p p_j (x' - x_j'), and p (1 - p) x' - sum_j p p_j x_j', over the other j; the
    second is narrower where no slope is wide, and p p_j is at most q (1 - q) for q = p and q = p_j.
    """
    shares = _shares(numbers)
    mine = next(p for y, p in zip(numbers, shares, strict=True) if y is x)
    pairs = [
        (y, _at_most(mine * p, _hump(mine), _hump(p)))
        for y, p in zip(numbers, shares, strict=True)
        if y is not x
    ]
    together: Any = ()
    apart = scaled(x.slopes, _hump(mine))
    for y, w in pairs:
        away = scaled(y.slopes, arb(-1))
        together = added(together, scaled(added(x.slopes, away), w))
        apart = added(apart, scaled(away, w))
    if not together or not apart:
        return together
    narrower = lambda a, b: a if a.rad() < b.rad() else b
    return tuple(map(narrower, together, apart))


def _hump(p: arb) -> arb:
    """Return p (1 - p) for a p in [0, 1], which rises to 1/4 at 1/2."""
    low, high = ends(p)
    of = lambda e: e * (1 - e)
    half = arb(1) / 2
    least = of(low).min(of(high))
    most = arb(1) / 4 if low <= half <= high else of(low).max(of(high))
    return spanned(least if least > 0 else arb(0), most)


def _at_most(x: arb, *bounds: arb) -> arb:
    """Return a number that is not negative, and at most as large as any of these may be."""
    low, high = ends(x)
    for bound in bounds:
        high = high.min(bound.upper())
    return spanned(low if low > 0 else arb(0), high)


def _softmax(machine: Machine, e: Any, total: Any) -> Any:
    """Return exp(x) / sum_j exp(x_j), where x is one of them."""
    found = _one_of(machine, _made_of(machine, e, "exp"), _exponents(machine, total))
    if found is None:
        return None
    return _share_of(machine, *found)


def _share_of(machine: Machine, x: Any, numbers: list[Any], others: list[Any]) -> Any:
    """Return exp(x) / sum_j exp(x_j), the same object for the same numbers."""
    key = (id(x), *sorted(map(id, numbers)))
    if key not in machine.shares:
        value = _share(_value(x), _values(others))
        made = Jet(value, _of_share(x, numbers)) if isinstance(x, Jet) else value
        machine.shares[key] = made, numbers  # which keeps their identities
    return machine.shares[key][0]


def _one_of(
    machine: Machine, inner: Any, exponents: Any
) -> tuple[Any, list[Any], list[Any]] | None:
    if inner is None or exponents is None:
        return None
    whole = [inner[0], *exponents]
    if not _alike(whole):
        return None
    (x, *numbers), _ = _unshifted(machine, whole)
    others = _others(x, numbers)
    if others is None or not _alike(numbers):
        return None
    return x, numbers, others


def _alike(numbers: Sequence[Any]) -> bool:
    """Whether numbers are of one kind, and bounded: what has no bound may be no number."""
    kinds = {isinstance(x, Jet) for x in numbers}
    return len(kinds) == 1 and all(x.is_finite() for x in _values(numbers))


def _logsumexp(machine: Machine, a: Any, b: Any) -> Any:
    """Return m + log sum_j exp(x_j - m) as log sum_j exp(x_j)."""
    for logarithm, shift in ((a, b), (b, a)):
        inner = _made_of(machine, logarithm, "log")
        exponents = inner and _exponents(machine, inner[0])
        if not exponents:
            continue
        numbers, taken = _unshifted(machine, exponents)
        if taken is None or taken is not shift or not (_alike(exponents) and _alike(numbers)):
            continue
        value = _smooth_maximum(_values(numbers))
        if not isinstance(numbers[0], Jet):
            return value
        slopes: Any = ()
        for y, p in zip(numbers, _shares(numbers), strict=True):
            slopes = added(slopes, scaled(y.slopes, p))
        return Jet(value, slopes)
    return None


def _log_softmax(machine: Machine, d: Any, logarithm: Any) -> Any:
    """Return x - log sum_j exp(x_j), where x is one of them."""
    inner = _made_of(machine, logarithm, "log")
    found = _one_of(machine, (d,), inner and _exponents(machine, inner[0]))
    if found is None:
        return None
    x, numbers, others = found
    value = -_log_ratio(_value(x), _values(others))
    made = Jet(value, _pulled(x, numbers)) if isinstance(x, Jet) else value
    _remember(machine, made, "log", (_share_of(machine, *found),))
    return made


def _entropy(machine: Machine, a: Any, b: Any) -> Any:
    """Return x log x: it falls to -1/e at 1/e, and rises from there."""
    for x, logarithm in ((a, b), (b, a)):
        inner = _made_of(machine, logarithm, "log")
        if inner is None or inner[0] is not x:
            continue
        if not isinstance(x, Jet):
            return x_log_x(x)
        value = x_log_x(x.value)
        return None if value is None else Jet(value, scaled(x.slopes, logarithm.value + 1))
    return None


def x_log_x(x: arb) -> arb | None:
    """Return x log x of a ball above zero, None of another."""
    low, high = ends(x)
    if not low > 0:
        return None
    of = lambda e: e * e.log()
    turn = arb(-1).exp()
    made = of(low).union(of(high))
    return made if high < turn or low > turn else made.union(-turn)


def _sum_rule(machine: Machine, eqn: Any, x: Any) -> Any:
    made = _plain_sum(machine, eqn, x)
    axes = tuple(eqn.params["axes"])
    if not machine.remembers or exact(eqn) or not axes:
        return made
    kept = [a for a in range(x.ndim) if a not in axes]
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[a] for a in kept), -1)
    if 1 < rows.shape[-1] <= MOST_TERMS:  # a sum of one number is that number
        for where in np.ndindex(made.shape):
            _remember(machine, made[where], "sum", tuple(rows[where]))
    return made


_plain_sum = RULES["reduce_sum"]
RULES["reduce_sum"] = _sum_rule
_remembering("exp", None, "exp")
_remembering("log", None, "log")
_remembering("sub", _log_softmax, "sub")
_remembering("add", _logsumexp, "sum")
_remembering("div", _softmax, "")
_remembering("mul", _entropy, "")
