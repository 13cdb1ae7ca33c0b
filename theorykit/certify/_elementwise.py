"""Rules of the primitives that work entry by entry."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import acb, arb

from theorykit.certify._machine import (
    IN_NUMPY,
    Machine,
    Unknown,
    is_inexact,
    rule,
)
from theorykit.certify._numbers import (
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
    """Return a function that is not defined everywhere; blame the equation where it may not be."""

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
