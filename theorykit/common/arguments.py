"""Validation of the arguments of public functions, before anything is compiled."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from theorykit.common.spelling import nearest

Value = TypeVar("Value")


def one_of(name: str, value: Value, allowed: Iterable[Any]) -> Value:
    """Return a value that is one of those allowed.

    **Raises:** `ValueError` otherwise.
    """
    allowed = tuple(allowed)
    if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
        names = [a for a in allowed if isinstance(a, str)]
        meant = nearest(value, names) if isinstance(value, str) else ""
        raise ValueError(
            f"{name} is one of {', '.join(map(repr, allowed))}, got {shown(value)}.{meant}"
        )
    return value


MANY = 2**20
"""The most seeds; each has its own network or estimate."""

LARGEST = 2**31 - 1
"""The largest size of anything in an array: what a 32-bit integer can count."""


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a whole number.

    **Raises:** `ValueError` for anything else, below the least or above the most.
    """
    try:
        number = int(value)
        right = not isinstance(value, bool | str) and number == value and number >= least
        if right and (most is None or number <= most):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} is a whole number {bounds}, got {shown(value)}.")


def size(name: str, value: Any, least: int = 1) -> int:
    """Return a count, bounded by what arrays can have.

    **Raises:** `ValueError` for anything else, such as 1e30.
    """
    found = whole(name, value, least)
    return found if found <= LARGEST else whole(name, value, least, LARGEST)


def flag(name: str, value: Any) -> bool:
    """Return True or False.

    **Raises:** `ValueError` for anything else, including 0 and None.
    """
    return bool(instance(name, value, (bool, np.bool_), "True or False"))


def real(name: str, value: Any) -> float:
    """Return a finite number.

    **Raises:** `ValueError` for anything else.
    """
    return number(name, value, "a finite number", lambda v: True)


def function(name: str, value: Value, example: str) -> Value:
    """Return a callable.

    **Arguments:** `example`: a description, such as "a function of the width".

    **Raises:** `ValueError` for anything else, and for a class given in place of an object.
    """
    if not callable(value) or isinstance(value, type):
        raise ValueError(f"{name} is {example}, got {shown(value)}.")
    return value


def as_path(name: str, value: Any) -> Path:
    """Return the path of a file or folder.

    **Raises:** `ValueError` for anything but text or a path, and for text that is not a path.
    """
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ValueError(f"{name} is a path, as text or a Path, got {shown(value)}.")
    return Path(value)


def as_array(name: str, value: Any, kinds: str = "buif") -> Any:
    """Return an array of numbers: numpy's if the values are known, JAX's if they are traced.

    **Arguments:** `kinds`: the kinds of dtypes, by numpy's letters; bfloat16 and the like count as
    floats.

    **Raises:** `ValueError` for anything that does not hold such numbers.
    """
    import jax
    import jax.numpy as jnp

    try:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
            array: Any = jnp.asarray(value)
        else:
            array = np.asarray(value)
        kind = "f" if jnp.issubdtype(array.dtype, jnp.floating) else array.dtype.kind
    except (TypeError, ValueError, OverflowError):
        kind = "?"
    if kind not in kinds:
        what = "real numbers" if "f" in kinds else "integers"
        raise ValueError(f"{name} is an array of {what}, got {shown(value)}.")
    dtype = native(array.dtype)
    return array if dtype == array.dtype else array.astype(dtype)


def native(dtype: Any) -> Any:
    """Return the dtype that JAX has for one of numpy's: in this machine's order, 64 bits at most.

    Arrays from other machines' files have another order, and long doubles more bits.
    """
    dtype = np.dtype(dtype)
    dtype = dtype if dtype.isnative else dtype.newbyteorder("=")
    return np.dtype(float) if dtype == np.longdouble else dtype


def reals(name: str, value: Any) -> Any:
    """Return an array of finite real numbers, float64.

    **Raises:** `ValueError` for anything else.
    """
    array = np.asarray(as_array(name, value), float)
    finite(name, array)
    return array


def integers(name: str, value: Any) -> Any:
    """Return an array of integers, int64; an empty one may have any dtype.

    **Raises:** `ValueError` for anything else, including 0.5 and 2^63.
    """
    array = np.asarray(as_array(name, value))
    if array.size and (array.dtype.kind not in "iu" or array.max() > 2**63 - 1):
        raise ValueError(f"{name} is an array of integers, got {shown(value)}.")
    return array.astype(np.int64)


def as_floating(name: str, value: Any) -> Any:
    """Return a floating dtype, JAX's default for None.

    **Raises:** `ValueError` for anything else.
    """
    import jax.numpy as jnp

    try:
        dtype = jnp.result_type(float) if value is None else jnp.dtype(value)
        if jnp.issubdtype(dtype, jnp.floating):
            return dtype
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} is a floating dtype such as jnp.float32, got {shown(value)}.")


def as_rng(rng: Any) -> np.random.Generator:
    """Return a numpy random generator.

    **Raises:** `ValueError` for anything else, including a seed.
    """
    what = "a numpy Generator, such as np.random.default_rng(seed)"
    return instance("rng", rng, np.random.Generator, what)


def as_alphabet(value: Any) -> tuple[str, ...]:
    """Return the symbols of an alphabet: distinct texts.

    **Raises:** `ValueError` for anything else.
    """
    symbols = tuple(value) if isinstance(value, str | tuple | list) else ()
    named = all(isinstance(s, str) and s for s in symbols)
    if not symbols or not named or len(set(symbols)) < len(symbols):
        raise ValueError(
            f"an alphabet is a sequence of distinct symbols, each of them text; got {shown(value)}."
        )
    return symbols


def number(name: str, value: Any, what: str, fits: Callable[[float], bool]) -> float:
    """Return a finite real number that fits a description, such as "a positive number".

    **Raises:** `ValueError` for anything else, including NaN and numbers too large for a float.
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


def instance(name: str, value: Value, kind: Any, what: str) -> Value:
    """Return a value of a given type, described as "a Transformer", say.

    **Raises:** `ValueError` for another.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {what}, got {shown(value)}.")
    return value


def members(name: str, value: Any, what: str) -> list[Any]:
    """Return the members of a list, a tuple, a set, a range or an array.

    **Arguments:** `what`: a description, such as "distances i - j >= 0".

    **Raises:** `ValueError` for anything else, such as a generator, which is exhausted after one
    pass, and for text or bytes.
    """
    one = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if isinstance(value, Collection) and not one:
        return list(value)
    raise ValueError(f"{name} is a list of {what}, got {shown(value)}.")


def affordable(what: str, count: int, most: int, unit: str = "numbers") -> None:
    """Raise a `ValueError` if a request takes more than `most` numbers, or steps."""
    if count > most:
        raise ValueError(
            f"{what} takes about {approximately(count)} {unit}, more than the limit of "
            f"{approximately(most)}."
        )


def approximately(count: int) -> str:
    """Return a whole number of any size, to a few digits."""
    if count < 10**6:
        return f"{count:,}"
    digits = (count.bit_length() - 1) * 30102 // 100_000  # in integers, which stay exact
    while 10 ** (digits + 1) <= count:
        digits += 1
    leading = count // 10 ** (digits - 1)
    return f"{leading // 10}.{leading % 10}e{digits}"


def shown(value: Any) -> str:
    """Return the repr of a value, shortened if it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # too deep, or too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:76]} ..."


def listed(symbols: Iterable[Any]) -> str:
    """Return the symbols of an alphabet, or the first ones if there are many."""
    symbols = tuple(symbols)
    if len(symbols) <= 40:
        return " ".join(map(str, symbols))
    return f"{' '.join(map(str, symbols[:20]))} ... (of {len(symbols):,} symbols)"


def as_strings(given: Any) -> list[Any]:
    """Return the strings in a list; each is text or a sequence of symbols.

    **Raises:** `ValueError` for anything else, such as a generator, which could be one string or
    many.
    """
    if isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping):
        found = list(given)
        wrong = [s for s in found if not isinstance(s, str | Sequence) or isinstance(s, bytes)]
        if not wrong:
            return found
        raise ValueError(f"a string is text or a tuple of symbols, got {shown(wrong[0])}.")
    raise ValueError(
        f"strings is a string (text or a tuple of symbols) or a list of strings; got "
        f"{shown(given)}."
    )


def seed_numbers(seeds: int | Sequence[int]) -> list[int]:
    """Return the numbers of the seeds: those given, or 0 ... n - 1 for a number n.

    **Raises:** `ValueError` unless there is at least one and they are distinct, from 0 to 2^32 - 1.
    """
    try:
        if isinstance(seeds, str | bool) or (isinstance(seeds, int | np.integer) and seeds > MANY):
            raise ValueError
        if isinstance(seeds, int | np.integer):
            seeds = range(int(seeds))
        numbers = [whole("a seed", s, 0) for s in members("seeds", seeds, "numbers")]
    except (TypeError, ValueError):
        numbers = []
    if not numbers or max(numbers) >= 2**32 or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"seeds is a count from 1 to {MANY}, or a list of distinct numbers of at least 0; "
            f"got {shown(seeds)}."
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

    Values are checked unless they are traced.
    """
    import jax

    traced = isinstance(x, jax.core.Tracer)
    x = x if traced else np.asarray(x)
    if not x.ndim:
        raise ValueError("an array of symbols has at least one axis, the positions of a string.")
    if x.size and x.dtype.kind not in "iu":
        raise ValueError(f"symbols are integers, numbered from 0, not {x.dtype}.")
    if not traced and x.size and (wrong := x[(x < least) | (x >= size)]).size:
        raise ValueError(f"symbols are numbered {least} ... {size - 1}, not {wrong[0]}.")


def finite(name: str, array: Any) -> None:
    """Raise a `ValueError` if an array of numbers holds NaN or infinity."""
    array = as_array(name, array, "buifc")
    if array.dtype.kind not in "bui" and not np.isfinite(array).all():
        count = int((~np.isfinite(array)).sum())
        raise ValueError(f"{name} must be finite; {count} of {array.size} numbers are not.")
