"""Prove that two functions are the same polynomial: exact, for all reals at once."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from theorykit.certify._elementwise import each
from theorykit.certify._enclose import Program
from theorykit.certify._machine import RULES, Doubt, Field, Machine, NotCertifiable
from theorykit.certify._prove import SIDES, _rows
from theorykit.common.arguments import function, instance, shown


def rational(value: Any) -> Any:
    """Return a constant as the exact rational that it is; polynomials pass."""
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return fmpq(int(value))
    if isinstance(value, float | np.floating | Fraction):
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            raise NotCertifiable(f"{value} is no coefficient of a polynomial.")
        exact = value if isinstance(value, Fraction) else Fraction(float(value))
        return fmpq(exact.numerator, exact.denominator)
    if isinstance(value, fmpq):
        return value
    raise NotCertifiable(f"{value!r} is no rational number, so no coefficient of a polynomial.")


def _less(a: Any, b: Any) -> bool | None:
    both = isinstance(a, fmpq) and isinstance(b, fmpq)
    return bool(a < b) if both else None


def _equal(a: Any, b: Any) -> bool | None:
    if isinstance(a, fmpq) and isinstance(b, fmpq):
        return bool(a == b)
    return True if a - b == 0 else None  # two polynomials may meet somewhere


def _divide(machine: Machine, eqn: Any, x: np.ndarray, y: np.ndarray) -> Any:
    """Divide by constants only: x / x is no polynomial, it has no value at zero."""
    if not all(isinstance(b, fmpq) and b != 0 for b in y.flat):
        raise Doubt("the divisor is not a constant other than zero")
    return each(lambda a, b: a / b, x, y)


def _raise(machine: Machine, eqn: Any, x: np.ndarray) -> Any:
    n = eqn.params["y"]
    if n < 0 and not all(isinstance(a, fmpq) and a != 0 for a in x.flat):
        raise Doubt("a negative power is no polynomial")
    return each(lambda a: a**n, x)


# Everything else has another value, or none, somewhere: sqrt(x^2) is not x.
_ARITHMETIC = {
    "add", "add_any", "sub", "mul", "neg", "square", "stop_gradient", "copy", "exact",
    "convert_element_type", "reduce_sum", "reduce_prod", "cumsum", "cumprod", "dot_general",
    "reshape", "broadcast_in_dim", "transpose", "squeeze", "expand_dims", "slice", "concatenate",
    "stack", "rev", "split", "unstack", "tile", "iota", "gather", "dynamic_slice",
    "dynamic_update_slice", "scatter", "scatter-add", "scatter_add", "pad", "select_n",
    "eq", "ne", "lt", "gt", "le", "ge", "and", "or", "not",
    "jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint",
    "custom_jvp_call", "custom_vjp_call", "cond", "while", "scan",
}  # fmt: skip

POLYNOMIALS = Field(
    rational,
    _less,
    _equal,
    {name: RULES[name] for name in _ARITHMETIC if name in RULES}
    | {"div": _divide, "integer_pow": _raise},
)


def identical(
    identity: Callable[..., tuple[Any, Any]], shapes: Mapping[str, tuple[int, ...]]
) -> bool:
    """Whether two sides are the same polynomial of their arguments, entry by entry.

    The sides are run on polynomials with rational coefficients, so equality is for all values of
    the arguments. Gradients and Jacobians of polynomials are polynomials too.

    **Arguments:** `identity`: called with the arguments by name, returns (lhs, rhs); `shapes`: a
    shape an argument.

    **Raises:** `NotCertifiable` if a side is not a polynomial with rational coefficients;
    `ValueError` for what is no function, or no shape.
    """
    function("identity", identity, SIDES)
    instance("shapes", shapes, Mapping, "a shape for each argument, as in dict(x=(2, 3))")
    for name, shape in shapes.items():
        if not isinstance(shape, tuple) or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(
                f"{name} needs a shape, a tuple of sizes such as (2, 3) or (), not {shown(shape)}."
            )
    names = [f"{k}{i}" for k, s in shapes.items() for i in range(int(np.prod(s)))]
    ring = fmpq_mpoly_ctx.get(names or ["x"], Ordering.lex)
    variables = iter(ring.gens())
    leaves = []
    for shape in shapes.values():
        array = np.empty(shape, dtype=object)
        for where in np.ndindex(array.shape):
            array[where] = next(variables)
        leaves.append(array)
    named = lambda *xs: identity(**dict(zip(shapes, xs, strict=True)))
    like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
    program = Program.trace(lambda *xs: _rows(named(*xs)), like)
    left, right = program.run(Machine(field=POLYNOMIALS), leaves)
    return all(a - b == 0 for a, b in zip(left.flat, right.flat, strict=True))
