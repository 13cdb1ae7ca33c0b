"""The precision of matrix products.

A GPU multiplies float32 matrices with 10 bits of the mantissa (TensorFloat-32) unless told
otherwise, a TPU with 7 (bfloat16), and no warning says so. JAX reads the scope when it traces a
product, and keeps separate traces for different scopes.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import jax

from theorykit.common.arguments import one_of
from theorykit.common.devices import platform

Function = TypeVar("Function", bound=Callable[..., Any])

PRECISIONS = ("default", "high", "highest")


def scope(precision: str | None) -> AbstractContextManager[Any]:
    """Return a scope that sets the precision of matrix products that do not state one.

    **Arguments:** `precision`: one of `PRECISIONS`, or None to keep the precision in force outside.

    **Raises:** `ValueError` for anything else.
    """
    if precision is None:
        return nullcontext()
    return jax.default_matmul_precision(one_of("precision", precision, PRECISIONS))


def in_force() -> str:
    """Return the precision of products here; "default of cpu" means that of the backend."""
    set_here = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    stated = set_here is not None and set_here != "default"
    return str(set_here) if stated else f"default of {platform()}"


def promoting(function: Function) -> Function:
    """Return a function in which JAX promotes ranks and dtypes as it does by default.

    So it also runs for callers who have disabled promotion to find mistakes in their own code.
    """

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return function(*args, **kwargs)

    return scoped  # type: ignore[return-value]


def highest(function: Function) -> Function:
    """Return a function that computes as written, whatever the caller's JAX settings.

    Its products have the full precision of their dtype, and it is `promoting`. This also holds for
    the caller's functions that it calls, unless they state a precision themselves. Derivative rules
    (`jax.custom_jvp`) are traced later, and need a scope of their own.
    """

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with scope("highest"):
            return promoted(*args, **kwargs)

    promoted = promoting(function)
    return scoped  # type: ignore[return-value]
