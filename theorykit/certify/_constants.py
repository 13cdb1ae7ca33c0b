"""Exact constants inside JAX functions: a third, a tenth, pi, none of which is a float."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb
from jax.extend.core import Primitive
from jax.interpreters import mlir

from theorykit.certify._machine import rule
from theorykit.certify._numbers import objects

NAMED = {"pi": arb.pi, "e": lambda: arb(1).exp(), "euler": arb.const_euler}

exact_p = Primitive("exact")


def exact(value: Any) -> jax.Array:
    """Return a number that stays exact where a function is enclosed or proved.

    In a computation by JAX it is the nearest float. `exact("1/3") * x`, `exact("0.1")`,
    `exact(Fraction(20, 27))`, `exact("pi")`, `exact("e")`.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(value, str) and value in NAMED:
        return exact_p.bind(value=value)
    try:
        if isinstance(value, bool | float):
            raise ValueError
        return exact_p.bind(value=Fraction(value))
    except (ValueError, TypeError, ZeroDivisionError):
        raise ValueError(
            f"an exact constant is an integer, a Fraction, a text like '1/3' or '0.1', or one of "
            f"{', '.join(map(repr, NAMED))}, not {value!r}."
        ) from None


def _nearest(value: Any) -> float:
    return float(NAMED[value]()) if isinstance(value, str) else float(value)


def _dtype() -> Any:
    return jax.dtypes.canonicalize_dtype(np.float64)


exact_p.def_impl(lambda *, value: jnp.asarray(_nearest(value), _dtype()))
exact_p.def_abstract_eval(lambda *, value: jax.core.ShapedArray((), _dtype()))
mlir.register_lowering(
    exact_p,
    mlir.lower_fun(lambda *, value: jnp.asarray(_nearest(value), _dtype()), multiple_results=False),
)


@rule("exact")
def _exact(machine, eqn):
    value = eqn.params["value"]
    return objects(machine.number(NAMED[value]() if isinstance(value, str) else value), ())
