"""Compile no more than pays off: a claim's functions run for a moment and compile for seconds."""

from collections.abc import Callable
from typing import Any

import jax

WORTH_OPTIMISING = 5e8
"""Floating-point operations above which the compiler's full effort is faster in total.

Measured on two CPU cores with third derivatives of a softmax: without optimisation, compilation
took half the time (1 s instead of 2 s) and execution twice (1 s more at a billion operations);
with random numbers, compilation took a fifth (0.4 s instead of 1.9 s).
"""


def compile_for(function: Callable[..., Any], *arguments: Any, repeats: int = 1) -> Callable:
    """Return `jax.jit(function)` compiled for these arguments.

    **Arguments:** `repeats`: how many times the body of its loop runs, which the compiler's
    estimate of the work does not know.
    """
    lowered = jax.jit(function).lower(*arguments)
    cost = lowered.cost_analysis() or {}
    work = repeats * cost.get("flops", 0.0)
    if jax.default_backend() != "cpu":
        return lowered.compile()
    # The first level of optimisation gives code about as fast as the highest, in a third of the
    # time where random numbers are drawn.
    level = "0" if 0 <= work < WORTH_OPTIMISING else "1"
    options: dict[str, str | bool] = {"xla_backend_optimization_level": level}
    return lowered.compile(options)
