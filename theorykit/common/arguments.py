"""Arguments of public functions, looked at before anything is compiled."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    raise ValueError(f"{name} is a whole number of at least {least}, got {shown(value)}.")


def number(name: str, value: Any, what: str, fits: Callable[[float], bool]) -> float:
    """Return a finite real number that fits, such as "a positive number".

    **Raises:** `ValueError` for anything else, NaN and numbers beyond floats included.
    """
    try:
        if not isinstance(value, bool | np.bool_ | str | bytes) and np.ndim(value) == 0:
            found = float(value)
            if math.isfinite(found) and fits(found):
                return found
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {what}, got {shown(value)}.")


def positive(name: str, value: Any) -> float:
    """Return a finite number above 0.

    **Raises:** `ValueError` for anything else.
    """
    return number(name, value, "a positive number", lambda v: v > 0)


def at_least_0(name: str, value: Any) -> float:
    """Return a finite number of at least 0.

    **Raises:** `ValueError` for anything else.
    """
    return number(name, value, "a finite number of at least 0", lambda v: v >= 0)


def instance(name: str, value: Value, kind: type | tuple[type, ...], what: str) -> Value:
    """Return a value of a kind, such as "a Transformer".

    **Raises:** `ValueError` for another.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {what}, got {shown(value)}.")
    return value


def affordable(what: str, count: int, most: int, unit: str = "numbers") -> None:
    """Raise a `ValueError` if what is asked for takes more than so many numbers, or steps."""
    if count > most:
        raise ValueError(
            f"{what} takes about {approximately(count)} {unit}, more than the "
            f"{approximately(most)} that are taken on here."
        )


def approximately(count: int) -> str:
    """Return a whole number of any size in a few digits."""
    if count < 10**6:
        return f"{count:,}"
    digits = math.floor(math.log10(count))
    return f"{count // 10 ** (digits - 1) / 10:.1f}e{digits}"


def shown(value: Any) -> str:
    """Return a value as it is written, cut where it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # too deep, or too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:76]} ..."


def listed(symbols: Iterable[Any]) -> str:
    """Return the symbols of an alphabet, the first of many."""
    symbols = tuple(symbols)
    if len(symbols) <= 40:
        return " ".join(map(str, symbols))
    return f"{' '.join(map(str, symbols[:20]))} ... (of {len(symbols):,} symbols)"


def as_strings(given: Any) -> list[Any]:
    """Return the strings of a list: each is text or a sequence of symbols.

    **Raises:** `ValueError` for anything else, such as a generator, of which nobody can say
    whether it is one string or many.
    """
    if isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping):
        found = list(given)
        wrong = [s for s in found if not isinstance(s, str | Sequence) or isinstance(s, bytes)]
        if not wrong:
            return found
        raise ValueError(f"a string is text or a tuple of symbols, got {shown(wrong[0])}.")
    raise ValueError(
        f"strings are one string, which is text or a tuple of symbols, or a list of them; got "
        f"{shown(given)}."
    )


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
    raise ValueError(f"{name} lies between 0 and 1, not {shown(value)}.")


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
