"""A deterministic measure at every size, and the slopes between sizes, in ball arithmetic.

In integers and fractions, where the measure needs nothing else. Otherwise it is traced by JAX: of n
as a real number, or, where it needs a Python number, as a shape is, of n itself. Then nothing that
Python or numpy has rounded may go in, so a float that changes with n is refused, unless it is
whole.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from theorykit.certify import (
    Machine,
    NotCertifiable,
    Program,
    Work,
    ball,
    float_above,
    float_below,
    objects,
    precision,
    shown,
)
from theorykit.checks._certificates import PRECISIONS
from theorykit.checks._exactness import Exactness

MOST_OPERATIONS = 5_000_000
"""What enclosing one measure may cost, over all sizes and precisions: a second or two."""

WIDEST = 1e-9
"""Slopes that are not known to within this are enclosed again, with more bits."""

Evaluate = Callable[[Machine], Any]
"""The measure at one size, run on a machine at the precision of the day."""


@dataclasses.dataclass(frozen=True)
class Slopes:
    """What is certain of a measure at the sizes tested.

    **Fields:** `values`, the ball of the measure at each size; `low`, `high`: all slopes between
    neighbouring sizes lie between these floats; `slope`, that of the least-squares line; `bits`.
    """

    values: tuple[Any, ...]
    low: float
    high: float
    slope: float
    bits: int

    def __str__(self) -> str:
        """Return the interval in four decimals, rounded outward."""
        ends = (self.low, ROUND_FLOOR), (self.high, ROUND_CEILING)
        low, high = (Decimal(end).quantize(Decimal("1e-4"), way).normalize() for end, way in ends)
        return f"[{low:f}, {high:f}]"

    def digits(self) -> list[str]:
        """Return the values in decimals, as far as they are certain."""
        return [shown(v) for v in self.values]

    def floats(self) -> Float[np.ndarray, " sizes"]:
        """Return the midpoints of the values, float64."""
        return np.array([float(v.mid()) for v in self.values])


def enclosed_slopes(measure: Callable[[Any], Any], sizes: Sequence[Any], limit: Any) -> Slopes:
    """Return the slopes of log |measure - limit| against log n, enclosed; no limit is None.

    **Raises:** `NotCertifiable`, or whatever the measure raises of what it is given.
    """
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    runs = _exactly(measure, sizes) or _traced(measure, sizes)
    work = Work(MOST_OPERATIONS, "the enclosure")
    why = NotCertifiable("the slopes are known too coarsely.")
    for bits in PRECISIONS:
        machine = Machine(spend=work.spend)
        with precision(bits):
            try:
                pairs = zip(runs, sizes, strict=True)
                values = [_distance(run(machine), n, limit) for run, n in pairs]
            except NotCertifiable as error:
                if error.hopeless or work.left < 0:
                    raise
                why = error
                continue
            x, y = [ball(n).log() for n in sizes], [v.log() for v in values]
            local = [(y[j] - y[i]) / (x[j] - x[i]) for i, j in itertools.pairwise(order)]
            if max(float_above(s.rad()) for s in local) > WIDEST:
                continue
            low, high = min(map(float_below, local)), max(map(float_above, local))
            return Slopes(tuple(values), low, high, float(_fitted(x, y).mid()), bits)
    raise why


def _distance(value: Any, n: Any, limit: Any) -> Any:
    """Return |value - limit|, which has to be certainly positive."""
    away = abs(value if limit is None else value - ball(limit))
    if not away > 0:
        raise NotCertifiable(
            f"at n = {n} it lies in {shown(away)}, so it is not certain that it is positive."
        )
    return away


def _fitted(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """Return the slope of the least-squares line."""
    middle = sum(x, ball(0)) / len(x)
    away = [a - middle for a in x]
    across = sum((a * b for a, b in zip(away, y, strict=True)), ball(0))
    return across / sum((a * a for a in away), ball(0))


def _exactly(measure: Callable[[Any], Any], sizes: Sequence[Any]) -> list[Evaluate] | None:
    """Return the values if no float is involved in any, else None."""
    if not all(type(n) is int for n in sizes):
        return None
    exactness = Exactness(measure=measure)
    if exactness.reason:
        return None
    with exactness.running():
        values = [measure(n) for n in sizes]
    if exactness.reason or not all(type(v) in (int, Fraction) for v in values):
        return None
    return [lambda machine, v=v: ball(v) for v in values]  # type: ignore[misc]


def _traced(measure: Callable[[Any], Any], sizes: Sequence[Any]) -> list[Evaluate]:
    """Return the measure at each size as a program."""
    try:
        program = Program.trace(measure, [np.zeros(())])
    except Exception:  # it needs a Python number
        programs: dict[Any, Program] = {}
        for n in sorted(sizes):
            programs[n] = Program.trace(lambda n=n: measure(n), [])
            _refuse_ready(programs[n])
        _refuse_rounded(programs)
        return [lambda machine, n=n: _run(programs[n], machine, []) for n in sizes]  # type: ignore[misc]
    return [lambda machine, n=n: _run(program, machine, [objects(ball(n), ())]) for n in sizes]  # type: ignore[misc]


def _run(program: Program, machine: Machine, leaves: list[Any]) -> Any:
    """Return the only output as a ball."""
    (output,) = program.run(machine, leaves)
    value = ball(output.item())
    if not value.is_finite():
        raise machine.culprit or NotCertifiable("it cannot be bounded: it is NaN, or too large.")
    return value


def _refuse_ready(program: Program) -> None:
    """Raise if a program has no equation for its output, which is then a number made before."""
    jaxpr = program.closed.jaxpr
    if not any(v is output for eqn in jaxpr.eqns for v in eqn.outvars for output in jaxpr.outvars):
        raise NotCertifiable(
            "Python or numpy computes the measure; write it in JAX, or in integers and fractions."
        )


def _refuse_rounded(programs: dict[Any, Program]) -> None:
    """Raise if what Python or numpy has made of n goes into the programs, unless it is whole.

    A number that all programs share does not depend on n.
    """
    numbers = {n: set(_numbers(p.closed)) for n, p in programs.items()}
    shared = set.intersection(*numbers.values())
    for n in programs:
        made = numbers[n] - shared
        rounded = [v for v in made if not v.is_integer() or abs(v) > 2**53]
        if rounded:
            raise NotCertifiable(
                f"at n = {n} it uses {min(rounded)!r}, which Python or numpy computed from n in "
                "floats; use JAX."
            )


def _numbers(closed: Any) -> Iterator[float]:
    """Yield the real constants of a program and of those inside it."""
    jaxpr, consts = getattr(closed, "jaxpr", closed), list(getattr(closed, "consts", ()))
    consts += [v.val for v in jaxpr.outvars if hasattr(v, "val")]
    for eqn in jaxpr.eqns:
        consts += [v.val for v in eqn.invars if hasattr(v, "val")]
        for inner in jax.tree.leaves(list(eqn.params.values()), is_leaf=_is_program):
            if _is_program(inner):
                yield from _numbers(inner)
    for value in consts:
        if not jax.dtypes.issubdtype(getattr(value, "dtype", float), jax.dtypes.extended):
            array = np.asarray(value)
            if array.dtype.kind not in "biu":
                yield from array.astype(complex).ravel().view(float).tolist()


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
