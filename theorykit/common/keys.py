"""Seeds and random keys: JAX keys from numbers, numpy generators and numbers from keys."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from theorykit.common.arguments import shown


def is_key(value: Any) -> bool:
    """Return whether this is a single JAX random key, new-style or old-style (two uint32)."""
    if not isinstance(value, jax.Array | np.ndarray):
        return False
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return value.ndim == 0
    return value.ndim == 1 and value.dtype == np.uint32


def as_key(value: Any) -> Key[Array, ""]:
    """Return a key, given as one or as a seed from 0 to 2^32 - 1.

    An old-style key is returned as the new-style one that gives the same numbers.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(value, int | np.integer) and 0 <= value < 2**32:
        return jax.random.key(value)
    if is_key(value):
        old = value.dtype == np.uint32
        return jax.random.wrap_key_data(jnp.asarray(value)) if old else value
    raise ValueError(
        f"key is one jax.random.key, or a number from 0 to 2^32 - 1, not {shown(value)}."
    )


def generator(key: Any, *path: int) -> np.random.Generator:
    """Return a numpy generator that depends only on one JAX key and a path of numbers.

    **Raises:** `ValueError` for anything but one key.
    """
    if not is_key(key):
        raise ValueError(f"key is one JAX key, such as jax.random.key(0), not {key!r}.")
    return np.random.default_rng([*np.asarray(jax.random.key_data(key)).tolist(), *path])


def seed_of(key: Any, below: int = 2**31) -> int:
    """Return a whole number from 0 to `below` - 1 that depends only on one JAX key.

    **Raises:** `ValueError` for anything but one key.
    """
    if not is_key(key):
        raise ValueError(f"key is one JAX key, such as jax.random.key(0), not {key!r}.")
    return int(np.asarray(jax.random.key_data(key))[-1]) % below
