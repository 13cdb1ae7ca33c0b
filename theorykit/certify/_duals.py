"""Quotients that carry their derivatives, for all values of the arguments.

As in `_jets`, derivatives are taken number by number and not by JAX. At a kink they stand for all
of Clarke's: the slopes of a maximum are means of those of its entries, with letters for the
weights, and |q| is the maximum of q and -q. Where a program compares numbers, its
function may jump, and there is no proof.

The value and the slopes of a dual may be duals themselves, which carry the next derivatives.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorykit.certify import _compare as compare
from theorykit.certify import _functions as of
from theorykit.certify._elementwise import each
from theorykit.certify._machine import RULES, Doubt, Field, Machine, Rule
from theorykit.certify._normal import exact_number, folded
from theorykit.certify._quotients import Infinite, Quotient, constant, letter, total
from theorykit.certify._ring import NONNEGATIVE, Ring, primitive

Slopes = tuple[Any, ...]


class Dual:
    """A quotient and its partial derivatives; () is a constant's."""

    __slots__ = ("slopes", "value")

    def __init__(self, value: Any, slopes: Slopes = ()):
        self.value, self.slopes = value, slopes

    @property
    def ring(self) -> Ring:
        """Where its quotients are."""
        return base(self).ring

    def __add__(self, other: Any) -> "Dual":
        other = _dual(self, other)
        return Dual(self.value + other.value, _added(self.slopes, other.slopes))

    __radd__ = __add__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, tuple(-s for s in self.slopes))

    def __sub__(self, other: Any) -> "Dual":
        return self + -_dual(self, other)

    def __rsub__(self, other: Any) -> "Dual":
        return -self + other

    def __mul__(self, other: Any) -> "Dual":
        other = _dual(self, other)
        slopes = _added(_scaled(self.slopes, other.value), _scaled(other.slopes, self.value))
        return Dual(self.value * other.value, slopes)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Dual":
        return self * _dual(self, other).chain(lambda q: 1 / q, lambda q: -1 / (q * q))

    def __rtruediv__(self, other: Any) -> "Dual":
        return _dual(self, other) / self

    def __pow__(self, n: Any) -> "Dual":
        n = int(n)
        return self.chain(lambda q: q**n, lambda q: q ** (n - 1) * n if n else q * 0)

    def chain(self, f: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> "Dual":
        """Return a function of it."""
        slopes = _scaled(self.slopes, derivative(self.value)) if self.slopes else ()
        return Dual(f(self.value), slopes)

    def is_finite(self) -> bool:
        """It has a value everywhere."""
        return True

    def is_nan(self) -> bool:
        """It is nowhere undefined."""
        return False


def _dual(like: Dual, other: Any) -> Dual:
    if isinstance(other, Dual):
        return other
    made = constant(like.ring, other)
    if isinstance(made, Infinite):
        raise Doubt("infinity has no slope")
    return variable(made, (), _order(like))


def variable(q: Quotient, unit: Sequence[int], order: int) -> Any:
    """Return a quotient as a dual that carries its derivatives up to an order."""
    made: Any = q
    for k in range(order):
        made = Dual(made, tuple(variable(constant(q.ring, s), (), k) for s in unit))
    return made


def base(x: Any) -> Any:
    """Return the quotient of a dual, of one that is made of duals, or of a quotient."""
    while isinstance(x, Dual):
        x = x.value
    return x


def _order(x: Any) -> int:
    return 1 + _order(x.value) if isinstance(x, Dual) else 0


def _added(a: Slopes, b: Slopes) -> Slopes:
    return tuple(x + y for x, y in zip(a, b, strict=True)) if a and b else a or b


def _scaled(a: Slopes, factor: Any) -> Slopes:
    return tuple(x * factor for x in a)


# Functions ---------------------------------------------------------------------------------

Function = Callable[[Any], Any]


def _smooth(f: Function, derivative: Function) -> Function:
    """Return a function of quotients as one of duals, too."""

    def of_number(x: Any) -> Any:
        return x.chain(of_number, derivative) if isinstance(x, Dual) else f(x)

    return of_number


def _tanh(q: Quotient) -> Quotient:
    up = of.exp(q * 2)
    return (up - 1) / (up + 1)


def _logistic(q: Quotient) -> Quotient:
    return 1 / (1 + of.exp(-q))


def _half(sign: int) -> Callable[[Quotient], Quotient]:
    return lambda q: (of.exp(q) + of.exp(-q) * sign) / 2


SMOOTH: dict[str, Function] = {
    "exp": _smooth(of.exp, lambda q: SMOOTH["exp"](q)),
    "expm1": _smooth(lambda q: of.exp(q) - 1, lambda q: SMOOTH["exp"](q)),
    "log": _smooth(of.log, lambda q: 1 / q),
    "log1p": _smooth(lambda q: of.log(q + 1), lambda q: 1 / (q + 1)),
    "sqrt": _smooth(of.sqrt, lambda q: 1 / (SMOOTH["sqrt"](q) * 2)),
    "rsqrt": _smooth(lambda q: 1 / of.sqrt(q), lambda q: -1 / (SMOOTH["sqrt"](q) * q * 2)),
    "tanh": _smooth(_tanh, lambda q: 1 - SMOOTH["tanh"](q) ** 2),
    "logistic": _smooth(_logistic, lambda q: SMOOTH["logistic"](q) * SMOOTH["logistic"](-q)),
    "sin": _smooth(lambda q: of.sine_cosine(q)[0], lambda q: SMOOTH["cos"](q)),
    "cos": _smooth(lambda q: of.sine_cosine(q)[1], lambda q: -SMOOTH["sin"](q)),
    "sinh": _smooth(_half(-1), lambda q: SMOOTH["cosh"](q)),
    "cosh": _smooth(_half(1), lambda q: SMOOTH["sinh"](q)),
    "atan": _smooth(functools.partial(of.named, "atan"), lambda q: 1 / (1 + q * q)),
    "square": _smooth(lambda q: q * q, lambda q: q * 2),
}
"""Functions of quotients and of duals."""


def absolute(x: Any) -> Any:
    """Return |x|, with a letter in its slopes where its sign is not known."""
    q = base(x)
    if x is q:
        return compare.absolute(q)
    known = compare.decided(q.ring, q)
    if known or (known == 0 and _is_zero(x)):
        return x * known
    return Dual(absolute(x.value), _scaled(x.slopes, _weight(q) * 2 - 1))


def _weight(q: Quotient) -> Quotient:
    """Return a number in [0, 1]: 1 where q > 0, 0 where q < 0, any of them at a kink.

    Where q is zero everywhere, the slopes of the two numbers compared may still differ, and each
    kink has a weight of its own.
    """
    ring, q = q.ring, q.cancelled()
    if q.is_zero():
        return _tied(ring)
    if primitive(q.num)[1] < 0:
        return 1 - _weight(-q)
    w = letter(ring, "weight", q, NONNEGATIVE)
    ring.fact(1 - w.num)
    return w


def _tied(ring: Ring) -> Quotient:
    """Return a number in [0, 1] that occurs nowhere else."""
    w = letter(ring, f"weight of kink {len(ring.known)}", ring.constant(0), NONNEGATIVE)
    ring.fact(1 - w.num)
    return w


def _is_zero(x: Any) -> bool:
    """Whether a number is zero everywhere, with its slopes."""
    if isinstance(x, Dual):
        return _is_zero(x.value) and all(map(_is_zero, x.slopes))
    return bool(x.is_zero())


def _code(x: Any) -> str:
    """Return a number as text that no other number has."""
    if not isinstance(x, Dual):
        return str(x.code)
    return f"{_code(x.value)} + ({', '.join(map(_code, x.slopes))})"


def larger(x: Any, y: Any) -> Any:
    """Return max(x, y): its slopes lie between those of the two."""
    if isinstance(x, Infinite) or isinstance(y, Infinite):
        low, high = (y, x) if isinstance(y, Infinite) else (x, y)
        if low.value < 0:
            return high
        raise Doubt("infinity has no slope")
    if not isinstance(x, Dual):
        return compare.larger(x, y)
    q = base(x - y)
    known = compare.decided(q.ring, q)
    if known or (known == 0 and _is_zero(x - y)):
        return x if known >= 0 else y
    w = _weight(q)
    slopes = _added(_scaled(x.slopes, w), _scaled(y.slopes, 1 - w))
    return Dual(larger(x.value, y.value), slopes)


def largest(entries: list[Any]) -> Any:
    """Return the largest: its slopes are a mean of those of the entries, by letters."""
    if len(entries) <= 2 or any(isinstance(x, Infinite) for x in entries):
        return functools.reduce(larger, entries)
    if not isinstance(entries[0], Dual):
        return compare.largest(entries)
    finite = list({_code(x): x for x in entries}.values())
    value = largest([x.value for x in finite])
    at = base(value)
    ring = at.ring
    tied = len({base(x).code for x in finite}) < len(finite)
    weights = [
        _tied(ring) if tied else letter(ring, f"weight {k + 1} of max", at, NONNEGATIVE)
        for k in range(len(finite) - 1)
    ]
    if not weights:
        return finite[0]
    weights.append(1 - total(weights))
    ring.fact(weights[-1].num)
    slopes: Slopes = ()
    for x, w in zip(finite, weights, strict=True):
        slopes = _added(slopes, _scaled(x.slopes, w))
    return Dual(value, slopes)


def _clamp(machine: Machine, eqn: Any, low: Any, x: Any, high: Any) -> Any:
    raised = each(larger, x, np.broadcast_to(low, x.shape))
    return each(lambda a, b: -larger(-a, -b), raised, np.broadcast_to(high, x.shape))


def _power(machine: Machine, eqn: Any, x: Any, y: Any) -> Any:
    def of_number(a: Dual, b: Any) -> Dual:
        n = base(b).value() if isinstance(b, Dual) and not b.slopes else None
        if n is None or n.q != 1:
            raise Doubt("a power is taken to whole numbers")
        return a ** int(n.p)

    return each(of_number, x, y)


_LINEAR = {
    "add", "add_any", "sub", "mul", "neg", "div", "integer_pow", "stop_gradient", "copy", "copy_p",
    "optimization_barrier", "convert_element_type", "cumsum", "dot_general", "reshape",
    "broadcast_in_dim", "transpose", "squeeze", "expand_dims", "slice", "concatenate", "stack",
    "rev", "split", "unstack", "tile", "iota", "gather", "dynamic_slice", "dynamic_update_slice",
    "scatter", "scatter-add", "scatter_add", "pad", "select_n", "is_finite", "and", "or", "not",
    "eq", "ne", "lt", "gt", "le", "ge", "reduce_and", "reduce_or", "reduce_prod", "jit", "pjit",
    "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_jvp_call",
    "custom_vjp_call", "cond", "while", "scan", "platform_index",
}  # fmt: skip


def _chained(name: str) -> Rule:
    def of_number(a: Any) -> Any:
        if isinstance(a, Infinite):
            raise Doubt("infinity has no slope")
        return SMOOTH[name](a)

    return lambda machine, eqn, x: each(of_number, x)


RULES_OF_DUALS: dict[str, Rule] = {
    **{name: RULES[name] for name in _LINEAR if name in RULES},
    **{name: _chained(name) for name in SMOOTH},
    "exact": exact_number,
    "abs": lambda machine, eqn, x: each(absolute, x),
    "max": lambda machine, eqn, x, y: each(larger, x, y),
    "min": lambda machine, eqn, x, y: each(lambda a, b: -larger(-a, -b), x, y),
    "clamp": _clamp,
    "pow": _power,
    "reduce_sum": folded(total),
    "reduce_max": folded(largest),
    "reduce_min": folded(lambda entries: -largest([-x for x in entries])),
}


def _no_comparison(a: Any, b: Any) -> bool:
    raise Doubt("the function may jump: it compares numbers")


def field_of(ring: Ring, order: int = 1) -> Field:
    """Return dual numbers, with derivatives up to an order, as a machine takes them."""

    def number(value: Any) -> Any:
        made = value if isinstance(value, Dual) else constant(ring, value)
        return variable(made, (), order) if isinstance(made, Quotient) else made

    return Field(number, _no_comparison, _no_comparison, RULES_OF_DUALS)
