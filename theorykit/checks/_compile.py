"""Compile only what pays off: a claim's functions run for a moment and compile for seconds."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from theorykit.checks._base import ClaimError
from theorykit.common.devices import platform

WORTH_OPTIMISING = 5e8
"""Floating-point operations above which the compiler's full effort is faster in total.

Measured on two CPU cores with third derivatives of a softmax: without optimisation, compilation
took half the time (1 s instead of 2 s) and execution twice (1 s more at a billion operations);
with random numbers, compilation took a fifth (0.4 s instead of 1.9 s).
"""


def compile_for(
    function: Callable[..., Any],
    *arguments: Any,
    repeats: int = 1,
    twice: str = "",
    look: Callable[[Any], None] = lambda program: None,
) -> Callable:
    """Return `jax.jit(function)` compiled for these arguments.

    **Arguments:** `repeats`: how many times the body of its loop runs, which the compiler's
    estimate of the work does not know; `twice`: if given, the function is traced a second time, and
    this is its name in the error message if the second program differs; `look`: called with the
    traced program.

    **Raises:** `ClaimError` if it does.
    """
    # A new function, so that JAX traces it whatever it has traced before: what runs is on record.
    traced = jax.jit(functools.partial(function)).trace(*arguments)
    if twice:
        again = jax.jit(functools.partial(function)).trace(*arguments)
        if not alike(traced.jaxpr, again.jaxpr):
            raise ClaimError(unsteady(twice, "tracing it twice gives two different programs"))
    look(traced.jaxpr)
    lowered = traced.lower()
    cost = lowered.cost_analysis() or {}
    work = repeats * cost.get("flops", 0.0)
    if platform() != "cpu":
        return lowered.compile()
    # The first level of optimisation gives code about as fast as the highest, in a third of the
    # time where random numbers are drawn.
    level = "0" if 0 <= work < WORTH_OPTIMISING else "1"
    options: dict[str, str | bool] = {"xla_backend_optimization_level": level}
    return lowered.compile(options)


def unsteady(what: str, how: str) -> str:
    """Return the sentence for a function that draws numbers which cannot be reproduced."""
    return (
        f"{what} is not a function of its arguments: {how}; draw random numbers from a fixed key, "
        "as in jax.random.normal(jax.random.key(0)), or make them an argument."
    )


def alike(a: Any, b: Any) -> bool:
    """Whether two traced programs are the same, in every equation and every constant."""
    return _alike(a, b, {})


def _alike(a: Any, b: Any, renamed: dict[Any, Any]) -> bool:
    pairs = lambda xs, ys: (
        len(xs) == len(ys) and all(_alike(x, y, renamed) for x, y in zip(xs, ys, strict=True))
    )
    if hasattr(a, "jaxpr") and hasattr(a, "consts"):
        return hasattr(b, "consts") and pairs(a.consts, b.consts) and _alike(a.jaxpr, b.jaxpr, {})
    if hasattr(a, "eqns"):
        inputs = zip((*a.constvars, *a.invars), (*b.constvars, *b.invars), strict=False)
        renamed = dict(inputs)
        return pairs(a.eqns, b.eqns) and pairs(a.outvars, b.outvars)
    if hasattr(a, "primitive"):
        same = a.primitive is b.primitive and pairs(a.invars, b.invars)
        if not (same and _alike(a.params, b.params, renamed)):
            return False
        renamed.update(zip(a.outvars, b.outvars, strict=False))
        return True
    if isinstance(a, bool | int | float | complex | str) or hasattr(a, "__array__"):
        return _numbers_alike(a, b)
    if hasattr(a, "aval"):  # a variable, or a literal
        if hasattr(a, "val") or hasattr(b, "val"):
            return hasattr(a, "val") and hasattr(b, "val") and _alike(a.val, b.val, renamed)
        return renamed.get(a, b) is b
    if isinstance(a, Mapping):
        return (
            isinstance(b, Mapping) and a.keys() == b.keys() and pairs([*a.values()], [*b.values()])
        )
    if isinstance(a, tuple | list):
        return isinstance(b, tuple | list) and pairs(a, b)
    return True  # a function of JAX's, say: it is made anew each time


def _numbers_alike(a: Any, b: Any) -> bool:
    if isinstance(a, jax.Array) and jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
        a, b = map(jax.random.key_data, (a, b))
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
