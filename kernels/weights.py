"""The initialisation and scaling of weights in the three parameterisations; and norms."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Shaped

from theorykit.common.arguments import flag, one_of, shown, size
from theorykit.common.keys import as_key
from theorykit.common.spelling import spelt

Source = nnx.Rngs | int | np.integer | Shaped[Array, "..."]
"""What weights can be drawn from: `nnx.Rngs`, a seed or a key."""

PARAMETERISATIONS = ("ntk", "standard", "mup")


class Map(nnx.Module):
    """A weight and its multiplier; the product, `effective()`, acts on tokens.

    | parameterisation | standard deviation of the weight | multiplier |
    |---|---|---|
    | ntk | 1 | 1 / sqrt(fan in) |
    | standard | 1 / sqrt(fan in) | 1 |
    | mup, hidden | sqrt(fan in) | 1 / fan in |
    | mup, readout | 1 | 1 / fan in |

    The last two are muP for Adam with one learning rate for all weights: a step of Adam moves an
    effective weight by the rate over its fan in (Yang et al., 2022, shift the three exponents).
    """

    @spelt
    def __init__(
        self,
        rngs: nnx.Rngs,
        shape: tuple[int, ...],
        fan_in: int,
        kind: str,
        *,
        readout: bool = False,
        dtype: Any = None,
    ):
        """Draw a weight of this shape."""
        one_of("kind", kind, PARAMETERISATIONS)
        shape = tuple(size(f"axis {i} of a weight", n) for i, n in enumerate(axes(shape)))
        flag("readout", readout)
        fan_in, rngs, dtype = size("fan_in", fan_in), source(rngs), weight_dtype(dtype)
        root = math.sqrt(fan_in)
        if kind == "ntk":
            deviation, self.multiplier = 1.0, 1 / root
        elif kind == "standard":
            deviation, self.multiplier = 1 / root, 1.0
        else:
            deviation, self.multiplier = (1.0 if readout else root), 1 / fan_in
        self.weight = nnx.Param(deviation * jax.random.normal(rngs.params(), shape, dtype))

    def effective(self) -> Float[Array, "..."]:
        """Return the weight times its multiplier."""
        return self.weight[...] if self.multiplier == 1.0 else self.weight[...] * self.multiplier


def source(rngs: Any) -> nnx.Rngs:
    """Return where weights come from: `nnx.Rngs`, or those of a seed or key.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(rngs, nnx.Rngs):
        return rngs
    if isinstance(rngs, int | np.integer | np.ndarray) and not isinstance(rngs, bool):
        return nnx.Rngs(params=as_key(rngs))
    if isinstance(rngs, jax.Array):
        number = rngs.ndim == 0 and jnp.issubdtype(rngs.dtype, jnp.integer)  # may be traced
        return nnx.Rngs(params=rngs if number else as_key(rngs))
    raise ValueError(f"rngs are nnx.Rngs, a seed or a key, got {type(rngs).__name__}")


def axes(shape: Any) -> tuple[Any, ...]:
    """Return a shape.

    **Raises:** `ValueError` unless it is a tuple or list.
    """
    if not isinstance(shape, tuple | list):
        raise ValueError(f"the shape of a weight is a tuple of numbers, got {shown(shape)}.")
    return tuple(shape)


def weight_dtype(dtype: Any) -> Any:
    """Return the dtype of weights; JAX's default float if None.

    **Raises:** `ValueError` for a dtype that is not floating point.
    """
    if dtype is None:
        return jnp.result_type(float)
    try:
        if jnp.issubdtype(dtype, jnp.floating):
            return dtype
    except TypeError:
        pass
    raise ValueError(f"dtype is one of floating point, such as jnp.float32, got {shown(dtype)}.")


def centred(z: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
    """Return tokens of mean 0 and variance 1: layer norm without gain."""
    away = z - z.mean(-1, keepdims=True)
    return away * jax.lax.rsqrt((away**2).mean(-1, keepdims=True) + 1e-12)


def rms(z: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
    """Return tokens of mean square 1: RMS norm without gain."""
    return z * jax.lax.rsqrt((z**2).mean(-1, keepdims=True) + 1e-12)
