"""Functions of several wide numbers, kept together: softmax, logsumexp, x log x.

Number by number, exp(x_i - m) / sum_j exp(x_j - m) forgets that numerator and denominator vary
together. So a wide number remembers which others it was made of; the quotient is then 1 / sum_j
exp(x_j - x_i), which rises in x_i and falls in the others, and has its ends in corners. What it was
made of is read off the numbers themselves, not from the shape of the program: one object stands for
one number. The functions take balls or jets. A jet is taken apart: its value is the function of the
values, which may be jets again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb

from theorykit.certify import _elementwise, _numbers, _structure  # noqa: F401, rules wrapped here
from theorykit.certify._elementwise import each, exact
from theorykit.certify._jets import Jet, added, ball_of, lifted, scaled
from theorykit.certify._machine import RULES, Machine
from theorykit.certify._numbers import ends, spanned
from theorykit.certify._spans import Span

MOST_REMEMBERED = 100_000
MOST_TERMS = 64
"""The most numbers that are remembered in a run, and the most terms of a sum."""


def remember(machine: Machine, number: Any, kind: str, parts: tuple[Any, ...]) -> None:
    """Note what a number was made of."""
    if len(machine.origins) < MOST_REMEMBERED and isinstance(ball_of(number), arb | Span):
        machine.origins[id(number)] = number, kind, parts


def is_wide(number: Any) -> bool:
    """Whether a number is a wide ball, or a jet of one."""
    value = ball_of(number)
    return isinstance(value, Span) or _numbers.is_wide(value)


def _bounded(number: Any) -> bool:
    value = ball_of(number)
    return not isinstance(value, arb) or bool(value.is_finite())


def made_of(machine: Machine, number: Any, kind: str) -> tuple[Any, ...] | None:
    """Return what a number was made of by a function of this name, None if it was not."""
    _, found, parts = machine.origins.get(id(number), (None, "", ()))
    return parts if found == kind else None


def remembering(name: str, fuse: Callable[[Machine, Any, Any], Any] | None, kind: str) -> None:
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
                return _narrowed(value, better)
            if kind:
                remember(machine, value, kind, args)
            return value

        made = each(one, made, *xs)
        if blamed is None and all(map(_bounded, made.flat)):
            machine.culprit = None
        return made

    RULES[name] = rule


def _narrowed(number: Any, better: Any) -> Any:
    """Return a number with a better value: a ball for a jet, which keeps its slopes."""
    if not isinstance(number, Jet) or isinstance(better, Jet):
        return better
    return Jet(_narrowed(number.value, better), number.slopes)


def _terms(machine: Machine, total: Any) -> list[Any] | None:
    """Return the terms of a sum, those of sums in it included; None if it is not a sum."""
    front, made = [total], []
    while front:
        number = front.pop()
        parts = made_of(machine, number, "sum")
        if parts is None:
            made.append(number)
        else:
            front += parts
        if len(made) + len(front) > MOST_TERMS:
            return None
    return made


def _exponents(machine: Machine, total: Any) -> list[Any] | None:
    """Return the x_j of a sum of exp(x_j); a term that is exactly zero has none."""
    if made_of(machine, total, "sum") is None:
        return None
    made = []
    for term in _terms(machine, total) or ():
        if ball_of(term) == 0:
            continue
        inner = made_of(machine, term, "exp")
        if inner is None:
            return None
        made.append(inner[0])
    return made or None


def _unshifted(machine: Machine, numbers: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return numbers without what is subtracted from all of them, and that; else as they are."""
    pairs = [made_of(machine, x, "sub") for x in numbers]
    first = pairs[0]
    if first is None or any(p is None or p[1] is not first[1] for p in pairs):
        return list(numbers), None
    return [p[0] for p in pairs if p is not None], first[1]


def _values(numbers: Sequence[Any]) -> list[Any]:
    """Return the values of jets: balls, or jets all."""
    values = [x.value for x in numbers]
    return list(map(lifted, values)) if any(isinstance(v, Jet) for v in values) else values


def _log_ratio(x: Any, others: Sequence[Any]) -> Any:
    """Return log(1 + sum_j exp(x_j - x)), which falls in x and rises in the others."""
    if isinstance(x, Jet):
        value, *rest = _values([x, *others])
        return Jet(_log_ratio(value, rest), scaled(_pulled(x, others), arb(-1)))
    low, high = ends(x)
    pairs = [ends(o) for o in others]
    least = sum(((a - high).exp() for a, _ in pairs), arb(0)).log1p()
    most = sum(((b - low).exp() for _, b in pairs), arb(0)).log1p()
    return spanned(least, most)


def _share(x: Any, others: Sequence[Any]) -> Any:
    """Return 1 / (1 + sum_j exp(x_j - x)), which rises in x and falls in the others."""
    if isinstance(x, Jet):
        value, *rest = _values([x, *others])
        return Jet(_share(value, rest), _of_share(x, others))
    low, high = ends(x)
    pairs = [ends(o) for o in others]
    least = 1 / (1 + sum(((b - low).exp() for _, b in pairs), arb(0)))
    most = 1 / (1 + sum(((a - high).exp() for a, _ in pairs), arb(0)))
    return spanned(least, most)


def _smooth_maximum(xs: Sequence[Any]) -> Any:
    """Return log sum_j exp(x_j), which rises in each."""
    if isinstance(xs[0], Jet):
        slopes: Any = ()
        for x, p in zip(xs, _shares(xs), strict=True):
            slopes = added(slopes, scaled(x.slopes, p))
        return Jet(_smooth_maximum(_values(xs)), slopes)
    sides = list(zip(*map(ends, xs), strict=True))
    low, high = (sum((e.exp() for e in side), arb(0)).log() for side in sides)
    return spanned(low, high)


def others_of(x: Any, numbers: Sequence[Any]) -> list[Any] | None:
    """Return the numbers except one that is x; None if none is."""
    for k, y in enumerate(numbers):
        if y is x:
            return [*numbers[:k], *numbers[k + 1 :]]
    return None


def _shares(numbers: Sequence[Any]) -> list[Any]:
    """Return the values of softmax of jets: of the same kind as their values."""
    values = _values(numbers)
    return [_share(x, [*values[:k], *values[k + 1 :]]) for k, x in enumerate(values)]


def _pulled(x: Any, others: Sequence[Any]) -> Any:
    """Return the slopes of x - log sum_j exp(x_j), which are those of sum_j p_j (x - x_j)."""
    made: Any = ()
    for y, p in zip(others, _shares([x, *others])[1:], strict=True):
        made = added(made, scaled(added(x.slopes, scaled(y.slopes, arb(-1))), p))
    return made


def _of_share(x: Any, others: Sequence[Any]) -> Any:
    """Return the slopes of p = exp(x) / sum_j exp(x_j).

    They are sum_j p p_j (x' - x_j'), and p (1 - p) x' - sum_j p p_j x_j', over the other j; the
    second is narrower where no slope is wide, and p p_j is at most q (1 - q) for q = p and q = p_j.
    """
    mine, *shares = _shares([x, *others])
    pairs = [
        (y, _at_most(mine * p, _hump(mine), _hump(p))) for y, p in zip(others, shares, strict=True)
    ]
    together: Any = ()
    apart = scaled(x.slopes, _hump(mine))
    for y, w in pairs:
        away = scaled(y.slopes, arb(-1))
        together = added(together, scaled(added(x.slopes, away), w))
        apart = added(apart, scaled(away, w))
    if not together or not apart:
        return together
    return tuple(map(_narrower, together, apart))


def _narrower(a: Any, b: Any) -> Any:
    """Return the better of two enclosures of one number."""
    if isinstance(a, Span):
        return a.meet(b)
    return a if ball_of(a).rad() < ball_of(b).rad() else b


def _hump(p: Any) -> Any:
    """Return p (1 - p) for a p in [0, 1], which rises to 1/4 at 1/2."""
    if isinstance(p, Jet):
        return Jet(_hump(p.value), scaled(p.slopes, 1 - 2 * p.value))
    low, high = ends(p)
    of = lambda e: e * (1 - e)
    least = of(low).min(of(high)).lower()
    return spanned(least.max(arb(0)), of(low.max(arb(1) / 2).min(high)))


def _at_most(x: Any, *bounds: Any) -> Any:
    """Return x, which is known not to be negative and to be at most as large as any of these."""
    if isinstance(x, Jet):
        return Jet(_at_most(x.value, *map(ball_of, bounds)), x.slopes)
    low, high = ends(x)
    for bound in bounds:
        high = high.min(bound.upper())
    return spanned(low.max(arb(0)), high)


def _softmax(machine: Machine, e: Any, total: Any) -> Any:
    """Return exp(x) / sum_j exp(x_j), where x is one of them."""
    found = _one_of(machine, made_of(machine, e, "exp"), _exponents(machine, total))
    if found is None:
        return None
    return _share_of(machine, *found)


def _share_of(machine: Machine, x: Any, numbers: list[Any], others: list[Any]) -> Any:
    """Return exp(x) / sum_j exp(x_j), the same object for the same numbers."""
    key = (id(x), *sorted(map(id, numbers)))
    if key not in machine.shares:
        machine.shares[key] = _share(x, others), numbers  # which keeps their identities
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
    others = others_of(x, numbers)
    if others is None or not _alike(numbers):
        return None
    return x, numbers, others


def _alike(numbers: Sequence[Any]) -> bool:
    """Whether numbers are of one kind, and bounded: what has no bound may be no number."""
    kinds = {isinstance(x, Jet) for x in numbers}
    return len(kinds) == 1 and all(x.is_finite() for x in numbers)


def _logsumexp(machine: Machine, a: Any, b: Any) -> Any:
    """Return m + log sum_j exp(x_j - m) as log sum_j exp(x_j)."""
    for logarithm, shift in ((a, b), (b, a)):
        inner = made_of(machine, logarithm, "log")
        exponents = inner and _exponents(machine, inner[0])
        if not exponents:
            continue
        numbers, taken = _unshifted(machine, exponents)
        if taken is None or taken is not shift or not (_alike(exponents) and _alike(numbers)):
            continue
        return _smooth_maximum(numbers)
    return None


def _log_softmax(machine: Machine, d: Any, logarithm: Any) -> Any:
    """Return x - log sum_j exp(x_j), where x is one of them."""
    inner = made_of(machine, logarithm, "log")
    found = _one_of(machine, (d,), inner and _exponents(machine, inner[0]))
    if found is None:
        return None
    x, _, others = found
    made = -_log_ratio(x, others)
    remember(machine, made, "log", (_share_of(machine, *found),))
    return made


def _entropy(machine: Machine, a: Any, b: Any) -> Any:
    """Return x log x: it falls to -1/e at 1/e, and rises from there."""
    for x, logarithm in ((a, b), (b, a)):
        inner = made_of(machine, logarithm, "log")
        if inner is None or inner[0] is not x:
            continue
        return x_log_x(x, logarithm)
    return None


def x_log_x(x: Any, logarithm: Any) -> Any:
    """Return x log x of a number above zero, None for any other."""
    if isinstance(x, Jet):
        value = x_log_x(x.value, logarithm.value)
        return None if value is None else Jet(value, scaled(x.slopes, logarithm.value + 1))
    low, high = ends(x)
    if not low > 0:
        return None
    of = lambda e: e * e.log()
    least = of(low.max(arb(-1).exp()).min(high))
    return spanned(least, of(low).max(of(high)))


def _sum_rule(machine: Machine, eqn: Any, x: Any) -> Any:
    made = _plain_sum(machine, eqn, x)
    axes = tuple(eqn.params["axes"])
    if not machine.remembers or exact(eqn) or not axes:
        return made
    kept = [a for a in range(x.ndim) if a not in axes]
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[a] for a in kept), -1)
    if 1 < rows.shape[-1] <= MOST_TERMS:  # a sum of one number is that number
        for where in np.ndindex(made.shape):
            remember(machine, made[where], "sum", tuple(rows[where]))
    return made


_plain_sum = RULES["reduce_sum"]
RULES["reduce_sum"] = _sum_rule
remembering("exp", None, "exp")
remembering("log", None, "log")
remembering("sub", _log_softmax, "sub")
remembering("add", _logsumexp, "sum")
remembering("div", _softmax, "")
remembering("mul", _entropy, "")
