"""The Walsh-Hadamard transform, and all inputs of a Boolean function in order."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int8, Num

from theorykit.common.arguments import as_array, shown, whole

DENSE = 6
MOST = 30
"""A table of more than 2^30 values is refused: 4 GiB in float32."""


def bits(T: int) -> Int8[np.ndarray, "inputs T"]:
    """Return all 2^T inputs, (2^T, T), 0 or 1; entry j of a row is bit j of the row's number."""
    T = whole("T", T, 0)
    if T > 24:
        raise ValueError(f"all inputs of T = {T} bits are 2^{T} rows; T is at most 24 here.")
    return ((np.arange(2**T)[:, None] >> np.arange(T)) & 1).astype(np.int8)


def refuse_other_than_bits(x: Any) -> None:
    """Raise a `ValueError` for anything but an array of zeros and ones."""
    as_array("bits", x)
    if isinstance(x, jax.core.Tracer):
        return
    x = np.asarray(x)
    if not (good := (x == 0) | (x == 1)).all():
        raise ValueError(f"bits are 0 and 1, got {x[~good].ravel()[:1].tolist()[0]!r}.")


def variables(table: Any) -> int:
    """Return T for a table of 2^T values along the last axis.

    **Raises:** `ValueError` for another length.
    """
    length = np.shape(table)[-1] if np.ndim(table) else 0
    T = length.bit_length() - 1
    if length < 1 or length != 2**T:
        raise ValueError(f"a table has 2^T values, one for each input; got {length}.")
    if T > MOST:
        raise ValueError(f"a table has at most 2^{MOST} values; got 2^{T}.")
    return T


def walsh_hadamard(
    table: Num[ArrayLike, "*batch values"] | Sequence[float],
) -> Num[Array, "*batch values"]:
    """Return sum_x (-1)^|x and S| table[x] for every S, along the last axis.

    It is its own inverse up to the factor 2^T. Sets and inputs are numbered by their bits, as in
    `bits`. The dtype, floating or integer, is kept, except that int8 and int16 become int32. Works
    under `jit`, `vmap` and `grad`.

    **Raises:** `ValueError` if the length is not a power of two; for bool or unsigned numbers,
    which have no negative differences; for concrete (not traced) integers whose sums overflow the
    dtype.
    """
    T = variables(table)
    if not isinstance(table, jax.core.Tracer):
        _refuse_overflow(np.asarray(table), T)
    x = jnp.asarray(table)
    if x.dtype == bool or jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        raise ValueError(f"a table holds signed numbers, which differences need, not {x.dtype}.")
    return _transform(x.astype(jnp.int32) if x.dtype in (jnp.int8, jnp.int16) else x)


def _refuse_overflow(table: np.ndarray, T: int) -> None:
    """Raise a `ValueError` for integers whose sums may overflow, or for non-numbers."""
    if table.dtype.kind not in "biufc" and not jnp.issubdtype(table.dtype, jnp.inexact):
        raise ValueError(f"a table holds numbers, got {shown(table.ravel()[:1].tolist())}.")
    if table.dtype.kind != "i":
        return
    kept = jnp.promote_types(jax.dtypes.canonicalize_dtype(table.dtype), jnp.int32)
    largest = max(int(table.max(initial=0)), -int(table.min(initial=0)))
    if largest << T > jnp.iinfo(kept).max:
        # The bound may be pessimistic, so sum exactly, in two halves that cannot overflow.
        size = np.abs(table.astype(np.float64)).sum(-1).max()
        if size * (1 + 1e-9) > jnp.iinfo(kept).max:
            raise ValueError(
                f"sums of this table reach {size:.3g}, beyond the largest {kept}; give it as "
                "floats."
            )


@jax.jit
def _transform(x: Num[Array, "*batch values"]) -> Num[Array, "*batch values"]:
    """The lowest bits are one matrix product; then each pass does two bits, a sum of four slices.

    Slices less than 64 apart would be summed number by number rather than in vectors.
    """
    shape, T = x.shape, variables(x)
    low = min(DENSE, T)
    both = np.bitwise_count(np.arange(2**low)[:, None] & np.arange(2**low))
    signs = jnp.asarray(1 - 2 * (both % 2).astype(np.int8), x.dtype)
    x = jnp.matmul(x.reshape(-1, 2**low), signs, precision="highest")
    for j in range(low, T - 1, 2):
        a, b, c, d = jnp.moveaxis(x.reshape(-1, 4, 2**j), 1, 0)
        x = jnp.stack([a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d], 1)
    if (T - low) % 2:
        a, b = jnp.moveaxis(x.reshape(-1, 2, 2 ** (T - 1)), 1, 0)
        x = jnp.stack([a + b, a - b], 1)
    return x.reshape(shape)


def passes(T: int) -> int:
    """Return the number of passes over memory of a transform of 2^T values."""
    low = min(DENSE, whole("T", T, 0))
    return 1 + (T - low + 1) // 2
