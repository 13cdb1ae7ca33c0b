"""Both sides of a statement, as two rows of one length."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp

from theorykit.common.arguments import as_array, shown

SIDES = "a function of the variables by name, which returns (lhs, rhs)"


def by_name(what: str, f: Callable[..., Any], names: Iterable[str]) -> Callable[..., Any]:
    """Return a function of positions that calls `f` by these names.

    **Raises:** `ValueError` if `f` does not take them.
    """
    names = tuple(names)
    try:
        inspect.signature(f).bind(**dict.fromkeys(names))
    except TypeError as error:
        asked = ", ".join(names) or "no arguments"
        raise ValueError(f"{what} is called by name, with {asked}, but {error}.") from None
    except ValueError:  # it does not say what it takes
        pass
    return lambda *values: f(**dict(zip(names, values, strict=True)))


def rows_of(sides: Any) -> tuple[jax.Array, jax.Array]:
    """Return both sides as vectors of equal length."""
    try:
        left, right = (jax.tree.leaves(side) for side in sides)
    except (TypeError, ValueError):
        raise ValueError(
            "an inequality returns two sides, as in lambda x: (jnp.sin(x), x)."
        ) from None
    if len(left) == 1:
        left = left * len(right)
    if len(right) == 1:
        right = right * len(left)
    if len(left) != len(right) or not left:
        raise ValueError(f"lhs has {len(left)} arrays and rhs {len(right)}; they must match.")
    pairs = [
        jnp.broadcast_arrays(*(as_array("a side", x, "buifc") for x in (a, b)))
        for a, b in zip(left, right, strict=True)
    ]
    real = lambda x: x.astype(jnp.result_type(x, jnp.float64)).ravel()
    return (
        jnp.concatenate([real(a) for a, _ in pairs]),
        jnp.concatenate([real(b) for _, b in pairs]),
    )


def as_row(found: Any) -> jax.Array:
    """Return the entries of a tree of arrays in one row."""
    try:
        parts = [jnp.ravel(jnp.asarray(x)) for x in jax.tree.leaves(found)]
    except (TypeError, ValueError):
        raise ValueError(f"f returns arrays of numbers, not {shown(found)}.") from None
    return jnp.concatenate([x.astype(jnp.result_type(x, jnp.float64)) for x in parts])
