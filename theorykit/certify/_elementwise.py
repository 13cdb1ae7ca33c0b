"""Rules of the primitives that work entry by entry."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flint import acb, arb

from theorykit.certify._machine import (
    IN_NUMPY,
    TAKES_UNKNOWN,
    Doubt,
    Machine,
    Unknown,
    is_inexact,
    rule,
)
from theorykit.certify._numbers import (
    at_least,
    at_most,
    ends,
    is_wide,
    monotone,
    objects,
    spanned,
    up_to,
)


def each(f: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """Return f entry by entry, as an object array."""
    made = np.frompyfunc(f, len(arrays), 1)(*arrays)
    return made if isinstance(made, np.ndarray) else objects(made, ())


def exact(eqn: Any) -> bool:
    """Whether an equation is about integers and truth values only."""
    return not any(map(is_inexact, (*eqn.invars, *eqn.outvars)))


def shape_of(eqn: Any) -> tuple[int, ...]:
    """Return the shape of an equation's result."""
    return eqn.outvars[0].aval.shape


def known(*values: Any) -> None:
    """Raise if a value that is needed could not be certified."""
    for value in values:
        if isinstance(value, Unknown):
            raise value.why


def is_ball(x: Any) -> bool:
    """Whether a number is a real ball."""
    return isinstance(x, arb)


# Arithmetic --------------------------------------------------------------------------------


@rule("add", "add_any")
def _add(machine, eqn, x, y):
    return np.add(x, y) if exact(eqn) else objects(np.add(x, y), shape_of(eqn))


@rule("sub")
def _sub(machine, eqn, x, y):
    return np.subtract(x, y) if exact(eqn) else objects(np.subtract(x, y), shape_of(eqn))


@rule("mul")
def _mul(machine, eqn, x, y):
    if exact(eqn):
        return np.multiply(x, y)
    if eqn.invars[0] is eqn.invars[1]:
        return each(lambda a: power(a, 2), x)
    return objects(np.multiply(x, y), shape_of(eqn))


@rule("neg")
def _neg(machine, eqn, x):
    return np.negative(x) if exact(eqn) else each(lambda a: -a, x)


IN_NUMPY.update({"add", "add_any", "sub", "mul", "neg"})


@rule("div")
def _div(machine, eqn, x, y):
    return partial(machine, eqn, quotient, x, y, why="the denominator may be zero")


def quotient(a: Any, b: Any) -> Any:
    """Return a / b; a wide denominator with a sign is taken at its ends."""
    if not (is_wide(b) and is_ball(a) and a.is_finite() and b.is_finite()) or b.contains(0):
        return a / b
    corners = [x / y for x in set_of_ends(a) for y in ends(b)]
    low, high = functools.reduce(arb.min, corners), functools.reduce(arb.max, corners)
    return spanned(low, high)


def set_of_ends(x: arb) -> tuple[arb, ...]:
    """Return the ends of a ball, one where they are the same."""
    return (x,) if x.is_exact() else ends(x)


def partial(machine: Machine, eqn: Any, f: Callable[..., Any], *xs: Any, why: str) -> np.ndarray:
    """Return a function that has no value everywhere; blame the equation where it may have none."""

    def guarded(*args):
        made = f(*args)
        if _unbounded(made) and not any(map(_unbounded, args)):
            machine.blame(eqn, why)
        return made

    return each(guarded, *xs)


def _unbounded(x: Any) -> bool:
    return isinstance(x, arb | acb) and not x.is_finite()


def power(x: Any, n: int) -> Any:
    """Return x^n for an integer n."""
    if not is_ball(x) or x.is_exact() or x.rel_accuracy_bits() > 16:
        return x**n
    if not x.contains(0) or (n > 0 and n % 2):  # a wide ball may not reach zero, nor may its power
        return monotone(lambda e: e**n, x)
    return up_to(x.abs_upper() ** n) if n > 0 else x**n if n else arb(1)


@rule("integer_pow")
def _integer_pow(machine, eqn, x):
    n = eqn.params["y"]
    return partial(machine, eqn, lambda a: power(a, n), x, why="zero has no negative power")


@rule("square")
def _square(machine, eqn, x):
    return np.square(x) if exact(eqn) else each(lambda a: power(a, 2), x)


@rule("pow")
def _pow(machine, eqn, x, y):
    def of(a, b):
        if isinstance(b, int | np.integer):
            return power(a, int(b))
        if not (is_ball(a) and is_ball(b)):
            return a**b
        if b.is_exact() and b.is_integer() and abs(b) < 1 << 30:
            return power(a, int(b.unique_fmpz()))
        if a == 0 and b > 0:
            return arb(0)
        if a.lower() == 0 and b > 0:
            return up_to((a.upper() ** b.lower()).max(a.upper() ** b.upper()).upper())
        return a**b

    return partial(machine, eqn, of, x, y, why="the base may be zero or negative")


# Floats' own ------------------------------------------------------------------------------

rule("power_of_2")(lambda machine, eqn, x: each(lambda a: machine.number(1), x))
rule("leading_digits")(lambda machine, eqn, x: x)


# Functions ---------------------------------------------------------------------------------


def function(name: str, of: Callable[[Any], Any]) -> None:
    """Register a function that is defined everywhere."""
    rule(name)(lambda machine, eqn, x: each(of, x))


def edged(name: str, of: Callable[[Any], Any], why: str) -> None:
    """Register a function that is not defined everywhere."""
    rule(name)(lambda machine, eqn, x: partial(machine, eqn, of, x, why=why))


def method(name: str) -> Callable[[Any], Any]:
    """Return the function that calls this method."""
    return lambda x: getattr(x, name)()


def at_ends(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that is monotone everywhere, evaluated at the ends of wide balls."""
    return lambda x: monotone(f, x) if is_wide(x) and x.is_finite() else f(x)


def logistic(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + (-x).exp()) if not hasattr(x, "logistic") else x.logistic()


def cosh(x: Any) -> Any:
    """Return the hyperbolic cosine, which rises with |x|."""
    if not is_ball(x) or not x.is_finite():
        return x.cosh()
    return at_ends(method("cosh"))(up_to(x.abs_upper()) if x.contains(0) else abs(x))


for name in ("exp", "expm1", "sinh", "tanh", "asinh", "atan", "erf", "erfc"):
    function(name, at_ends(method(name)))
for name in ("sin", "cos"):
    function(name, method(name))
function("cosh", lambda x: cosh(x) if is_wide(x) and x.is_finite() else x.cosh())
function("exp2", at_ends(lambda x: (x * arb(2).log()).exp()))
function("logistic", at_ends(logistic))
function("conj", lambda x: x.conjugate() if isinstance(x, acb) else x)
function("real", lambda x: x.real if isinstance(x, acb) else x)
function("imag", lambda x: x.imag if isinstance(x, acb) else arb(0))
function("stop_gradient", lambda x: x)

for name in ("tan", "lgamma", "digamma"):
    edged(name, method(name), "the argument may be a pole")


def log(x: Any) -> Any:
    """Return the logarithm; that of zero is minus infinity, as in JAX."""
    return arb.neg_inf() if is_ball(x) and x == 0 else x.log()


def where_positive(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that is monotone on the positive numbers, evaluated at a ball's ends."""
    return lambda x: monotone(f, x) if is_wide(x) and x.is_finite() and x > 0 else f(x)


def root(x: Any) -> Any:
    """Return the square root; a ball that ends at zero keeps its end."""
    if is_ball(x) and not x.is_exact() and x.contains(0) and x.lower() >= 0:
        return up_to(x.upper().sqrt())
    return x.sqrt()


def cube_root(x: Any) -> Any:
    """Return the cube root, which is odd and grows."""
    if is_ball(x) and not x.is_exact():
        return monotone(cube_root, x)
    if x == 0:
        return x
    side = x.real if isinstance(x, acb) else x
    if side > 0:
        return x.root(3)
    return -(-x).root(3) if side < 0 else type(x)("nan")


def between(f: Callable[[arb], arb]) -> Callable[[Any], Any]:
    """Return a function that is monotone on [-1, 1], evaluated at a ball's ends."""

    def of(x):
        if not is_ball(x):
            return f(x)
        low, high = ends(x)
        return monotone(f, x) if low >= -1 and high <= 1 else f(x)

    return of


edged("log", where_positive(log), "the argument may be zero or negative")
edged("log1p", method("log1p"), "the argument may be -1 or less")
edged("sqrt", where_positive(root), "the argument may be negative")
edged("rsqrt", where_positive(method("rsqrt")), "the argument may be zero or negative")
edged("cbrt", cube_root, "the argument may be off the real line")
edged("acos", between(method("acos")), "the argument may leave [-1, 1]")
edged("asin", between(method("asin")), "the argument may leave [-1, 1]")
edged("acosh", method("acosh"), "the argument may be below 1")
edged("atanh", method("atanh"), "the argument may leave (-1, 1)")
edged("erf_inv", method("erfinv"), "the argument may leave (-1, 1)")


@rule("atan2")
def _atan2(machine, eqn, y, x):
    def of(b, a):
        if not (is_ball(a) and is_ball(b)):
            return b.atan2(a)
        return arb.nan() if a.is_nan() or b.is_nan() else arb.atan2(b, a)

    return each(of, y, x)


@rule("rem")
def _rem(machine, eqn, x, y):
    """The remainder has the sign of x, as in C."""

    def of(a, b):
        low, high = (e.floor() if e >= 0 else e.ceil() for e in ends(a / b))
        return a - b * low.union(high)

    return partial(machine, eqn, of, x, y, why="the divisor may be zero")


@rule("complex")
def _complex(machine, eqn, x, y):
    return each(acb, x, y)


# Choice ------------------------------------------------------------------------------------


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
        # Exact infinity is no number; a ball without bounds may hold any.
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
    """Return not, with a third value."""
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
