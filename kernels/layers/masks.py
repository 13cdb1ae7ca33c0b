"""Which token may see which."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

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
    """Rows of booleans, as tuples."""

    rows: tuple[tuple[bool, ...], ...]

    def sees(self, tokens):
        """See `Mask`."""
        found = np.asarray(self.rows, bool)
        if found.shape != (tokens, tokens):
            raise ValueError(f"a mask of {tokens} tokens is square, got shape {found.shape}")
        return found


def seen(mask: Any, real: Any) -> Any:
    """Return (..., T, T): which token sees which, of the real ones (..., T)."""
    both = jnp.asarray(real)[..., :, None] & jnp.asarray(real)[..., None, :]
    return both if mask is None else both & mask.sees(real.shape[-1])


def as_mask(mask: Any) -> Mask | None:
    """Return a mask: None, "causal", or an object with `sees`.

    **Raises:** `ValueError` for anything else.
    """
    if mask == "causal":
        return Causal()
    if mask is None or (isinstance(mask, Mask) and not isinstance(mask, type)):
        return mask
    raise ValueError(f'mask is None, "causal", Window, Prefix or Given, got {mask!r}')
