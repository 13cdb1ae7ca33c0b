"""Which token may see which."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from theorykit.common.arguments import size


@runtime_checkable
class Mask(Protocol):
    """Which of T tokens sees which."""

    def sees(self, tokens: int) -> Bool[np.ndarray, "{tokens} {tokens}"]:
        """Return (T, T) booleans: the row may see the column."""
        ...


@dataclass(frozen=True)
class Causal:
    """A token sees itself and what stands before it."""

    def sees(self, tokens):
        """See `Mask`."""
        return np.tri(tokens, dtype=bool)


@dataclass(frozen=True)
class Window:
    """A token sees itself and the `reach` tokens before it (and after it, if not `causal`)."""

    reach: int
    causal: bool = True

    def __post_init__(self):
        size("reach", self.reach, 0)

    def sees(self, tokens):
        """See `Mask`."""
        back = np.arange(tokens)[:, None] - np.arange(tokens)
        return (back >= 0) & (back <= self.reach) if self.causal else abs(back) <= self.reach


@dataclass(frozen=True)
class Prefix:
    """All tokens see the first `length`; beyond, a token sees itself and what is before it."""

    length: int

    def __post_init__(self):
        size("length", self.length, 0)

    def sees(self, tokens):
        """See `Mask`."""
        return np.tri(tokens, dtype=bool) | (np.arange(tokens) < self.length)


@dataclass(frozen=True)
class Given:
    """Which token sees which, as (T, T) booleans, for inputs of T tokens.

    **Raises:** `ValueError` for what is not square.
    """

    rows: Any

    def __post_init__(self):
        found = np.asarray(self.rows)
        if found.ndim != 2 or found.shape[0] != found.shape[1] or found.dtype != bool:
            raise ValueError(
                f"a mask holds (T, T) booleans, got {found.dtype} in shape {found.shape}"
            )
        # Tuples, since code is compiled for a mask, which must be hashed.
        object.__setattr__(self, "rows", tuple(map(tuple, found.tolist())))

    def sees(self, tokens):
        """See `Mask`; shorter inputs take the first rows and columns."""
        if tokens > len(self.rows):
            raise ValueError(f"a mask of {len(self.rows)} tokens is too small for {tokens}")
        return np.asarray(self.rows, bool)[:tokens, :tokens]


def seen(mask: Mask | None, real: Bool[Array, "*inputs tokens"]) -> Bool[Array, "..."]:
    """Return (..., T, T): which token sees which, of the real ones."""
    both = real[..., :, None] & real[..., None, :]
    return both if mask is None else both & jnp.asarray(mask.sees(real.shape[-1]))


def as_mask(mask: Any) -> Mask | None:
    """Return a mask: None, "causal", (T, T) booleans, or an object with `sees`.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(mask, str) and mask == "causal":
        return Causal()
    if isinstance(mask, np.ndarray | jax.Array | list):
        return Given(mask)
    if mask is None or (isinstance(mask, Mask) and not isinstance(mask, type)):
        return mask
    raise ValueError(
        'mask is None, "causal", (T, T) booleans, or a Window, Prefix or other object with '
        f"sees(tokens), got {mask!r}"
    )
