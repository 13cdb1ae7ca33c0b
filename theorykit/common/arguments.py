"""Arguments of public functions, looked at before anything is compiled."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")


def one_of(name: str, value: Value, allowed: Iterable[Any]) -> Value:
    """Return a value that is one of those allowed.

    **Raises:** `ValueError` otherwise.
    """
    allowed = tuple(allowed)
    if value not in allowed:
        raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number.

    **Raises:** `ValueError` for anything else, or below the least.
    """
    try:
        number = int(value)
        if number == value and number >= least and not isinstance(value, bool | str):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is a whole number of at least {least}, got {value!r}.")


def seed_numbers(seeds: int | Sequence[int]) -> list[int]:
    """Return the numbers of the seeds: those given, or 0 ... n - 1 for a number n.

    **Raises:** `ValueError` unless there is one or more, all different, from 0 to 2^32 - 1.
    """
    try:
        if isinstance(seeds, str):
            raise ValueError
        many = range(int(seeds)) if isinstance(seeds, int | np.integer) else seeds
        numbers = [whole("a seed", s, 0) for s in many]
    except (TypeError, ValueError):
        numbers = []
    if not numbers or max(numbers) >= 2**32 or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"seeds is how many, at least 1, or different numbers of at least 0; got {seeds!r}."
        )
    return numbers


def between(name: str, value: Any) -> float:
    """Return a number above 0 and below 1.

    **Raises:** `ValueError` for anything else.
    """
    try:
        if not isinstance(value, bool | str) and 0 < float(value) < 1:
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} lies between 0 and 1, not {value!r}.")


def numbered(x: Any, size: int, least: int = 0) -> None:
    """Raise a `ValueError` unless symbols (..., n) are integers from `least` to `size` - 1.

    Values are looked at where they are known: not where they are traced.
    """
    import jax

    traced = isinstance(x, jax.core.Tracer)
    x = x if traced else np.asarray(x)
    if not x.ndim:
        raise ValueError("symbols have at least one axis, the positions of a string.")
    if x.size and x.dtype.kind not in "iu":
        raise ValueError(f"symbols are integers, numbered from 0, not {x.dtype}.")
    if not traced and x.size and (wrong := x[(x < least) | (x >= size)]).size:
        raise ValueError(f"symbols are numbered {least} ... {size - 1}, not {wrong[0]}.")


def finite(name: str, array: Any) -> None:
    """Raise a `ValueError` if an array of numbers holds NaN or infinity."""
    array = np.asarray(array)
    if np.issubdtype(array.dtype, np.inexact) and not np.isfinite(array).all():
        count = int((~np.isfinite(array)).sum())
        raise ValueError(f"{name} must be finite; {count} of {array.size} numbers are not.")
