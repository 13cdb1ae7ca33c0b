"""Checks and layout of the inputs of a kernel. Values are checked where they are known."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from theorykit.common import arguments
from theorykit.common.arguments import as_array, native, real, shown


def known(*arrays: Any) -> bool:
    """Return whether all arrays have values now, rather than being traced."""
    return not any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(arrays))


def number(name: str, value: Any, least: float = -np.inf) -> Any:
    """Return one finite number; a traced one as it is, a whole one as a float.

    **Raises:** `ValueError` for anything else, or below the least.
    """
    if not known(value):
        return value
    if np.isinf(least):
        real(name, value)
    else:
        arguments.number(name, value, f"a number of at least {least:g}", lambda v: v >= least)
    return float(value) if isinstance(value, int | np.integer) else value


def wanted(get: Any) -> tuple[str, ...]:
    """Return the names of the kernels that are asked for.

    **Raises:** `ValueError` unless they are "nngp", "ntk" or both.
    """
    names = (get,) if isinstance(get, str) else get
    listed = isinstance(names, tuple | list | set) and all(isinstance(n, str) for n in names)
    if not listed or not names or not set(names) <= {"nngp", "ntk"}:
        raise ValueError(f'get names "nngp", "ntk" or both, got {shown(names)}')
    return tuple(names)


class Inputs(NamedTuple):
    """All inputs of a kernel computation as one set.

    **Fields:**

    - `x`: (n, T, d) tokens, zero where padded.
    - `mask`: (n, T) booleans, true at real tokens.
    - `n1`: inputs 0..n1-1 are rows; the others are columns, or all are both if n1 == n.
    - `lengths`: T of `x1` and of `x2` as given, before padding or trimming.
    - `dtype`: of the inputs as given, and of their kernels; `x` is float32 or float64.
    """

    x: Float[Array | np.ndarray, "inputs tokens features"]
    mask: Bool[Array | np.ndarray, "inputs tokens"]
    n1: int
    lengths: tuple[int, int]
    dtype: Any


def together(*arrays: Any) -> Any:
    """Return the common dtype of arrays or dtypes, by JAX's promotion table.

    Casts to it are explicit, so that they work where JAX is told not to promote implicitly.
    """
    with jax.numpy_dtype_promotion("standard"):
        return jnp.result_type(*arrays)


def floating(*arrays: Any) -> Any:
    """Return the common floating dtype of arrays: JAX's default one for integers."""
    found = together(*(jax.dtypes.canonicalize_dtype(native(a.dtype)) for a in arrays))
    kept = jnp.issubdtype(found, jnp.floating)
    return found if kept else jax.dtypes.canonicalize_dtype(float)


def computed(dtype: Any) -> Any:
    """Return the dtype that a floating one is computed in: float32 at least."""
    return together(dtype, jnp.float32)


def widened(what: str, *arrays: Any) -> tuple[list[Array], Any]:
    """Return arrays in the dtype that they are computed in, and the floating one that they have.

    **Raises:** `ValueError` for complex numbers.
    """
    given = [jnp.asarray(a) for a in arrays]
    dtype = together(*given)  # a number without a dtype of its own takes that of the others
    if jnp.issubdtype(dtype, jnp.complexfloating):
        raise ValueError(f"{what} are real numbers, got {dtype}")
    if not jnp.issubdtype(dtype, jnp.floating):
        dtype = jax.dtypes.canonicalize_dtype(float)
    return [a.astype(computed(dtype)) for a in given], dtype


def _tokens(name: str, x: Any) -> Any:
    if isinstance(x, jax.Array) and known(x) and not x.is_fully_addressable:
        raise ValueError(
            f"{name} lies partly in another process: give `kernels.gram` the same inputs in every "
            "process, with mesh="
        )
    x = as_array(name, x)
    if x.ndim != 3 or 0 in x.shape:
        raise ValueError(
            f"{name} has shape (inputs, tokens, features), none of them zero; got {x.shape}"
        )
    return x


def _mask(name: str, mask: Any, x: Any) -> Any:
    if mask is None:
        return np.ones(x.shape[:2], bool)
    mask = as_array(name, mask)
    if mask.shape != x.shape[:2] or mask.dtype != bool:
        raise ValueError(
            f"{name} holds booleans, true at real tokens, in shape {x.shape[:2]} (inputs, tokens); "
            f"got {mask.dtype} in shape {mask.shape}"
        )
    if known(mask) and not bool(mask.any(1).all()):
        empty = int(np.argmin(np.asarray(mask.any(1))))
        raise ValueError(
            f"every input needs a real token, but {name} marks all of input {empty} as padding"
        )
    return mask


def lay_out(x1: Any, x2: Any, mask1: Any, mask2: Any) -> Inputs:
    """Return rows and columns of a kernel as one set of inputs of equal length.

    Trailing tokens that are padding in every input are dropped, so that they cost nothing
    and change no draw.

    **Raises:** `ValueError` for a wrong rank or feature size, a mask of another shape or kind, an
    input without a real token, NaN or infinity at a real token.
    """
    x1 = _tokens("x1", x1)
    mask1 = _mask("mask1", mask1, x1)
    if x2 is None and mask2 is not None:
        raise ValueError("mask2 belongs to x2, but x2 was not given")
    parts = [("x1", x1, mask1)]
    if x2 is not None:
        x2 = _tokens("x2", x2)
        if x2.shape[2] != x1.shape[2]:
            raise ValueError(
                f"x1 and x2 need the same number of features, got {x1.shape[2]} and {x2.shape[2]}"
            )
        parts.append(("x2", x2, _mask("mask2", mask2, x2)))
    dtype = floating(*(x for _, x, _ in parts))
    parts = [(name, x.astype(computed(dtype)), mask) for name, x, mask in parts]
    for name, x, mask in parts:
        if known(x, mask) and not (np.isfinite(x) | ~mask[..., None]).all():
            i, a, c = np.argwhere(~np.isfinite(x) & mask[..., None])[0]
            raise ValueError(
                f"{name} must be finite at real tokens, but input {i}, token {a}, feature {c} "
                f"is {x[i, a, c]}"
            )
    lengths = tuple(x.shape[1] for _, x, _ in parts)
    t = max(lengths)
    xp = np if known(*(p[1:] for p in parts)) else jnp
    pad = lambda a: xp.pad(a, [(0, 0), (0, t - a.shape[1])] + [(0, 0)] * (a.ndim - 2))
    if len(parts) > 1:
        parts = [(name, pad(x), pad(mask)) for name, x, mask in parts]
    x = xp.concatenate([x for _, x, _ in parts]) if len(parts) > 1 else parts[0][1]
    mask = xp.concatenate([m for _, _, m in parts]) if len(parts) > 1 else mask1
    if known(mask):
        t = int(np.flatnonzero(mask.any(0))[-1]) + 1
        x, mask = x[:, :t], mask[:, :t]
    if not (known(mask) and mask.all()):
        x = xp.where(mask[..., None], x, xp.zeros((), x.dtype))
    return Inputs(x, mask, x1.shape[0], (lengths[0], lengths[-1]), dtype)
