"""Layer norm and RMS norm of wide numbers, kept together.

x_i / sqrt(mean_j x_j^2 + eps) rises in x_i, and falls in the other x_j^2 where x_i > 0, so that its
ends lie in corners. In layer norm the x_i are deviations from a mean: these add up to zero, so that
the squares of the others are at least x_i^2 / (n - 1) in sum, and the value is at most sqrt(n - 1).
The mean and the variance are recognised by what they were made of, as in `_fused`.
"""

import functools
from collections.abc import Sequence
from typing import Any

from flint import arb

from theorykit.certify._elementwise import each, exact
from theorykit.certify._fused import MOST_TERMS, made_of, others_of, remember, remembering
from theorykit.certify._jets import ball_of
from theorykit.certify._machine import RULES, Machine
from theorykit.certify._numbers import by_sign, ends, spanned

Moment = tuple[Sequence[Any], bool, arb]
"""Numbers, whether their mean is taken away, and what is added to the mean of their squares."""


def _divided(machine: Machine, a: Any, b: Any) -> arb | None:
    """Return x_i / sqrt(m), m a second moment of the x_j."""
    inner = made_of(machine, b, "sqrt")
    return _normalised(machine, a, inner[0]) if inner else None


def _multiplied(machine: Machine, a: Any, b: Any) -> arb | None:
    """Return x_i * rsqrt(m), m a second moment of the x_j."""
    for x, root in ((a, b), (b, a)):
        inner = made_of(machine, root, "rsqrt")
        if inner:
            return _normalised(machine, x, inner[0])
    return None


def _normalised(machine: Machine, x: Any, moment: Any) -> arb | None:
    found = _moment(machine, moment)
    if found is None:
        return None
    numbers, centred, added = found
    if centred:
        deviation = _deviation(machine, x)
        if deviation is None or not _same(deviation[1], numbers):
            return None
        x = deviation[0]
    others = others_of(x, numbers)
    if not others or not all(ball_of(y).is_finite() for y in numbers):
        return None
    return _ratio(ball_of(x), list(map(ball_of, others)), centred, added)


def _ratio(x: arb, others: Sequence[arb], centred: bool, added: arb) -> arb:
    """Return t / sqrt((t^2 + r) / n + added), for t in the way of x and r the others' squares."""
    n = 1 + len(others)
    every = [x, *others]
    first, *rest = [_away(y, _without(k, every)) for k, y in enumerate(every)] if centred else every
    least = sum((_least(y) ** 2 for y in rest), arb(0)).lower()
    most = sum((y.abs_upper() ** 2 for y in rest), arb(0)).upper()

    def of(t: arb, r: arb) -> arb:
        r = r.max(t * t / (n - 1)) if centred else r
        return t / ((t * t + r) / n + added).sqrt()

    low, high = ends(first)
    return spanned(of(low, by_sign(low, most, least)), of(high, by_sign(high, least, most)))


def _away(x: arb, others: Sequence[arb]) -> arb:
    """Return what is left of x without the mean of all, in which x occurs once."""
    n = 1 + len(others)
    return (x * (n - 1) - sum(others, arb(0))) / n


def _without(k: int, numbers: Sequence[arb]) -> list[arb]:
    return [*numbers[:k], *numbers[k + 1 :]]


def _least(x: arb) -> arb:
    """Return the least absolute value."""
    return x.abs_lower()


# What numbers were made of -----------------------------------------------------------------


def _moment(machine: Machine, number: Any) -> Moment | None:
    """Return what mean_j x_j^2 + eps is made of, eps > 0."""
    for inner, added in _splits(made_of(machine, number, "sum")):
        if not added > 0:
            continue
        found = _variance(machine, _unclipped(machine, inner))
        if found is not None:
            return *found, added
    return None


def _splits(parts: Any) -> list[tuple[Any, arb]]:
    """Return a sum of two as pairs of a number and an exact one."""
    if parts is None or len(parts) != 2:
        return []
    a, b = parts
    return [(x, ball_of(y)) for x, y in ((a, b), (b, a)) if ball_of(y).is_exact()]


def _unclipped(machine: Machine, number: Any) -> Any:
    """Return a variance that was raised to zero, where rounding would take it below."""
    for inner, bound in _splits(made_of(machine, number, "max")):
        if bound == 0:
            return inner
    return number


def _variance(machine: Machine, number: Any) -> tuple[Sequence[Any], bool] | None:
    """Return the numbers of which this is the second moment, and whether it is a central one."""
    bases = _mean_of_squares(machine, number)
    if bases is not None:
        found = [_deviation(machine, d) for d in bases]
        first = found[0]
        if first is not None:
            around = first[1]
            alike = [d[0] for d in found if d is not None and _same(d[1], around)]
            if len(alike) == len(bases) and _same(alike, around):
                return around, True
        return bases, False
    parts = made_of(machine, number, "sub")  # mean_j x_j^2 - (mean_j x_j)^2
    if parts is None:
        return None
    bases, mean = _mean_of_squares(machine, parts[0]), made_of(machine, parts[1], "square")
    all_of = None if mean is None else _mean(machine, mean[0])
    return (bases, True) if bases and all_of and _same(bases, all_of) else None


def _mean_of_squares(machine: Machine, number: Any) -> list[Any] | None:
    squares = _mean(machine, number)
    bases = [made_of(machine, q, "square") for q in squares or ()]
    return [b[0] for b in bases if b] if bases and all(bases) else None


def _deviation(machine: Machine, number: Any) -> tuple[Any, Sequence[Any]] | None:
    """Return x and the x_j of x - mean_j x_j, x one of them."""
    parts = made_of(machine, number, "sub")
    numbers = None if parts is None else _mean(machine, parts[1])
    if parts is None or numbers is None or others_of(parts[0], numbers) is None:
        return None
    return parts[0], numbers


def _mean(machine: Machine, number: Any) -> tuple[Any, ...] | None:
    """Return the numbers of which this is the mean."""
    parts = made_of(machine, number, "over")
    numbers = None if parts is None else made_of(machine, parts[0], "sum")
    if parts is None or numbers is None or len(numbers) > MOST_TERMS:
        return None
    return numbers if ball_of(parts[1]) == len(numbers) else None


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether these are the same numbers, in whatever order."""
    return sorted(map(id, a)) == sorted(map(id, b))


def _note_square(machine: Machine, square: Any, *factors: Any) -> None:
    if factors[0] is factors[-1]:
        remember(machine, square, "square", factors[:1])


def _remembering_squares(name: str) -> None:
    plain = RULES[name]

    def rule(machine: Machine, eqn: Any, *xs: Any) -> Any:
        made = plain(machine, eqn, *xs)
        squared = len(xs) == 2 or eqn.params.get("y", 2) == 2
        if machine.remembers and not exact(eqn) and squared:
            each(functools.partial(_note_square, machine), made, *xs)
        return made

    RULES[name] = rule


for _name in ("square", "integer_pow", "mul"):
    _remembering_squares(_name)
remembering("sqrt", None, "sqrt")
remembering("rsqrt", None, "rsqrt")
remembering("max", None, "max")
remembering("div", _divided, "over")
remembering("mul", _multiplied, "")
