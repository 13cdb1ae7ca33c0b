"""Rules of the primitives that choose: order, truth values, selection and rounding, by entry.

A choice that a ball leaves open is the hull of both where the machine allows it, and a doubt where
it does not.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flint import acb, arb

from theorykit.certify._elementwise import each, exact, is_ball, known, shape_of
from theorykit.certify._machine import (
    IN_NUMPY,
    TAKES_UNKNOWN,
    Doubt,
    Machine,
    is_inexact,
    rule,
)
from theorykit.certify._numbers import (
    at_least,
    at_most,
    ends,
    up_to,
)


def absolute(machine: Machine, x: Any) -> Any:
    """Return |x|; a ball astride zero ends there."""
    if isinstance(x, acb):
        if not machine.analytic:
            return abs(x) if x.imag != 0 or not x.imag.is_exact() else absolute(machine, x.real)
        return x if x.real > 0 else -x if x.real < 0 else acb("nan")
    if not is_ball(x):
        return abs(x)
    if x >= 0:
        return x
    return -x if x <= 0 else up_to(x.abs_upper())


@rule("abs")
def _abs(machine, eqn, x):
    return np.abs(x) if exact(eqn) else each(functools.partial(absolute, machine), x)


@rule("sign")
def _sign(machine, eqn, x):
    if exact(eqn):
        return np.sign(x)

    def of(a):
        if machine.analytic:
            return acb(1) if a.real > 0 else acb(-1) if a.real < 0 else acb("nan")
        if np.dtype(eqn.invars[0].aval.dtype).kind == "c":
            return a if a == 0 else a / abs(a)
        a = a.real if isinstance(a, acb) else a
        return a if is_ball(a) and a.is_nan() else a.sgn()

    return each(of, x)


def ordered(eqn: Any) -> None:
    """Raise for complex numbers, which JAX orders by their real part first."""
    if np.dtype(eqn.invars[0].aval.dtype).kind == "c":
        raise Doubt("complex numbers have no order")


def larger(machine: Machine, x: Any, y: Any) -> Any:
    """Return max(x, y): one of the two where that is certain, so that it equals it."""
    if x is y:
        return x
    if machine.field.many:
        return x.max(y)
    below = machine.field.less(x, y)
    if below is not None:
        return y if below else x
    if machine.field.less(y, x) is False:
        return y
    if machine.analytic:
        return acb("nan")
    if not (is_ball(x) and is_ball(y)):
        return hull(x, y) if isinstance(y, acb) or not hasattr(x, "max") else x.max(y)
    if not (x.is_finite() and y.is_finite()):
        return x.max(y)
    if y.is_exact():
        return at_least(x, y)
    return at_least(y, x) if x.is_exact() else x.max(y)


def smaller(machine: Machine, x: Any, y: Any) -> Any:
    """Return min(x, y)."""
    if x is y:
        return x
    if machine.field.many:
        return x.min(y)
    below = machine.field.less(x, y)
    if below is not None:
        return x if below else y
    if machine.field.less(y, x) is False:
        return x
    if machine.analytic:
        return acb("nan")
    if not (is_ball(x) and is_ball(y)):
        return hull(x, y) if isinstance(y, acb) or not hasattr(x, "min") else x.min(y)
    if not (x.is_finite() and y.is_finite()):
        return x.min(y)
    if y.is_exact():
        return at_most(x, y)
    return at_most(y, x) if x.is_exact() else x.min(y)


def hull(x: Any, y: Any) -> Any:
    """Return a number that covers both."""
    if x is y:
        return x
    if isinstance(x, acb) or isinstance(y, acb):
        return acb(x).union(acb(y))
    return x.union(y)


@rule("max")
def _max(machine, eqn, x, y):
    if exact(eqn):
        return np.maximum(x, y)
    ordered(eqn)
    return each(functools.partial(larger, machine), x, y)


@rule("min")
def _min(machine, eqn, x, y):
    if exact(eqn):
        return np.minimum(x, y)
    ordered(eqn)
    return each(functools.partial(smaller, machine), x, y)


@rule("clamp")
def _clamp(machine, eqn, low, x, high):
    if exact(eqn):
        return np.clip(x, low, high)
    raised = each(functools.partial(larger, machine), x, np.broadcast_to(low, x.shape))
    return each(functools.partial(smaller, machine), raised, np.broadcast_to(high, x.shape))


@rule("is_finite")
def _is_finite(machine, eqn, x):
    def of(a):
        if a.is_finite():
            return True
        # Exact infinity is not a number; a ball without bounds may hold any.
        return False if is_ball(a) and a in (arb.pos_inf(), arb.neg_inf()) else None

    return truths(machine, each(of, x))


def truths(machine: Machine, answers: np.ndarray) -> np.ndarray:
    """Return truth values; one that is open (None) stays so in a hull and raises otherwise."""
    if any(a is None for a in answers.flat):
        if not machine.hull:
            raise Doubt(
                "the comparison cannot be decided, its two sides overlap; more bits may separate "
                "them unless they are equal"
            )
        return answers
    return answers.astype(bool)


def comparison(name: str, of: Callable[[Machine, Any, Any], bool | None], plain: Any) -> None:
    """Register a comparison."""

    def compare(machine, eqn, x, y):
        if not exact(eqn):
            return truths(machine, each(functools.partial(of, machine), x, y))
        if object not in (x.dtype, y.dtype):
            return plain(x, y)
        open_ = lambda a, b: None if a is None or b is None else bool(plain(a, b))
        return truths(machine, each(open_, x, y))

    rule(name)(compare)
    IN_NUMPY.add(name)


def negated(answer: bool | None) -> bool | None:
    """Return the negation, with a third value."""
    return None if answer is None else not answer


comparison("lt", lambda m, a, b: m.field.less(a, b), np.less)
comparison("gt", lambda m, a, b: m.field.less(b, a), np.greater)
comparison("le", lambda m, a, b: negated(m.field.less(b, a)), np.less_equal)
comparison("ge", lambda m, a, b: negated(m.field.less(a, b)), np.greater_equal)
comparison("lt_to", lambda m, a, b: m.field.less(a, b), np.less)
comparison("le_to", lambda m, a, b: negated(m.field.less(b, a)), np.less_equal)
comparison("eq", lambda m, a, b: m.field.equal(a, b), np.equal)
comparison("ne", lambda m, a, b: negated(m.field.equal(a, b)), np.not_equal)


def conjunction(a: Any, b: Any) -> bool | None:
    """Return a and b, with a third value."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else bool(a and b)


def disjunction(a: Any, b: Any) -> bool | None:
    """Return a or b, with a third value."""
    return negated(conjunction(negated(a), negated(b)))


def third(value: Any) -> bool | None:
    """Return a truth value of numpy's as Python's."""
    return None if value is None else bool(value)


@rule("and")
def _and(machine, eqn, x, y):
    if x.dtype != object and y.dtype != object:
        return np.bitwise_and(x, y)
    return truths(machine, each(lambda a, b: conjunction(third(a), third(b)), x, y))


@rule("or")
def _or(machine, eqn, x, y):
    if x.dtype != object and y.dtype != object:
        return np.bitwise_or(x, y)
    return truths(machine, each(lambda a, b: disjunction(third(a), third(b)), x, y))


@rule("not")
def _not(machine, eqn, x):
    return np.invert(x) if x.dtype != object else truths(machine, each(negated, x))


IN_NUMPY.update({"and", "or", "not", "max", "min", "square", "abs"})


TAKES_UNKNOWN.add("select_n")


@rule("select_n")
def _select_n(machine, eqn, which, *cases):
    shape = shape_of(eqn)
    known(which)
    which = np.broadcast_to(which, shape)
    if which.dtype != object:
        chosen = [(which == i, case) for i, case in enumerate(cases) if (which == i).any()]
        known(*(case for _, case in chosen))
        loose = is_inexact(eqn.outvars[0]) or any(case.dtype == object for _, case in chosen)
        made = np.empty(shape, dtype=object if loose else eqn.outvars[0].aval.dtype)
        for here, case in chosen:
            made[here] = case[here]
        return made
    known(*cases)
    if exact(eqn):
        raise Doubt("an integer depends on a comparison that could not be decided")

    def pick(answer, *options):
        if answer is not None:
            return options[int(answer)]
        if machine.analytic and any(o is not options[0] for o in options):
            return acb("nan")
        return functools.reduce(hull, options)

    return each(pick, which, *cases)


IN_NUMPY.add("select_n")


# Conversion --------------------------------------------------------------------------------


@rule("convert_element_type")
def _convert(machine, eqn, x):
    source, target = (np.dtype(v.aval.dtype).kind for v in (eqn.invars[0], eqn.outvars[0]))
    if source == target == "b":
        return x
    if source in "biu" and target in "biu":
        if x.dtype == object:
            raise Doubt("an integer depends on a comparison that could not be decided")
        return x.astype(eqn.outvars[0].aval.dtype)
    if source in "biu":
        if x.dtype == object:
            zero, one = machine.number(0), machine.number(1)
            return each(lambda a: hull(zero, one) if a is None else one if a else zero, x)
        return (
            machine.array(x.astype(object).astype(float))
            if _small(x)
            else each(machine.number, x.astype(object))
        )
    if target in "biu":
        return _to_integers(machine, eqn, x)
    if target == "c":
        return each(acb, x)
    return each(lambda a: a.real, x) if source == "c" else x  # dtypes do not round here


def _small(x: np.ndarray) -> bool:
    return x.size == 0 or bool(np.abs(x.astype(float)).max() < 2**53)


def _to_integers(machine: Machine, eqn: Any, x: np.ndarray) -> np.ndarray:
    if np.dtype(eqn.outvars[0].aval.dtype).kind == "b":
        zero = machine.number(0)
        return truths(machine, each(lambda a: negated(machine.field.equal(a, zero)), x))

    dtype = eqn.outvars[0].aval.dtype

    def of(a):
        low, high = (int((e.floor() if e >= 0 else e.ceil()).unique_fmpz()) for e in ends(a))
        if low != high:
            raise Doubt("the integer that the number rounds to is not certain")
        if not np.iinfo(dtype).min <= low <= np.iinfo(dtype).max:
            raise Doubt(f"{dtype} does not hold the integer")
        return low

    return each(of, x).astype(dtype)


IN_NUMPY.add("convert_element_type")


def _rounded(to: Callable[[arb], arb]) -> Callable[..., Any]:
    def of(x):
        if hasattr(x, "rounded"):
            return x.rounded(of(x.value))
        low, high = (to(e) for e in ends(x))
        return low if low == high else low.union(high)

    return lambda machine, eqn, x: each(of, x)


rule("floor")(_rounded(lambda e: e.floor()))
rule("ceil")(_rounded(lambda e: e.ceil()))


@rule("round")
def _round(machine, eqn, x):
    to_even = eqn.params["rounding_method"] == jax.lax.RoundingMethod.TO_NEAREST_EVEN

    def nearest(e):
        down = (e + arb(0.5)).floor()
        tie = down == e + arb(0.5)
        return down - 1 if tie and (not (down / 2).is_integer() if to_even else e < 0) else down

    return _rounded(nearest)(machine, eqn, x)


rule("copy", "copy_p", "optimization_barrier")(lambda machine, eqn, *xs: list(xs))
