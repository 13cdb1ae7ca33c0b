"""The initialisation and scaling of weights in the three parameterisations."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Shaped

from theorykit.common.arguments import as_array, flag, function, instance, one_of, shown, size
from theorykit.common.keys import as_key
from theorykit.common.spelling import spelt
from theorykit.kernels import activations

Source = nnx.Rngs | int | np.integer | Shaped[Array, "..."]
"""Sources of random weights: `nnx.Rngs`, a seed or a key."""

PARAMETERISATIONS = ("ntk", "standard", "mup")


class Map(nnx.Module):
    """A weight and its multiplier; the product, `effective()`, acts on tokens.

    | parameterisation | standard deviation of the weight | multiplier | |---|---|---| | ntk | 1 | 1
    / sqrt(fan in) | | standard | 1 / sqrt(fan in) | 1 | | mup, hidden | sqrt(fan in) | 1 / fan in |
    | mup, readout | 1 | 1 / fan in |

    The last two are muP for Adam with one learning rate for all weights: a step of Adam moves an
    effective weight by the rate over its fan-in (Yang et al., 2022, shift the three exponents).
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


def embedding(rngs: nnx.Rngs, rows: int, width: int, kind: str, vectors: bool, dtype: Any) -> Map:
    """Return the map from inputs to tokens: rows for a vocabulary, or a matrix for vectors.

    A token id stands for a one-hot vector, and the reference network divides by the square root of
    its size; otherwise rows have entries of size one for any vocabulary.
    """
    if kind == "ntk":
        return Map(rngs, (rows, width), rows, "ntk", dtype=dtype)
    return Map(rngs, (rows, width), rows if vectors else 1, "standard", dtype=dtype)


def centred(z: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
    """Normalise tokens to mean 0 and variance 1: layer norm without gain."""
    away = z - z.mean(-1, keepdims=True)
    return away * jax.lax.rsqrt((away**2).mean(-1, keepdims=True) + 1e-12)


def rms(z: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
    """Normalise tokens to mean square 1: RMS norm without gain."""
    return z * jax.lax.rsqrt((z**2).mean(-1, keepdims=True) + 1e-12)


NORMS = {None: lambda z: z, "layer": centred, "rms": rms}

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {**activations.NAMES, "tanh": jnp.tanh}


def as_function(given: Any) -> Callable[[Any], Any]:
    """Return an activation as a function, given its name or the function itself.

    **Raises:** `ValueError` for an unknown name, or anything but a function.
    """
    if isinstance(given, str):
        return ACTIVATIONS[one_of("activation", given, ACTIVATIONS)]
    example = "a function, such as an activations.Activation, or one of its names"
    return function("activation", given, example)


def source(rngs: Any) -> nnx.Rngs:
    """Return `nnx.Rngs`, made from a seed or key if necessary.

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


def sizes(**values: Any) -> tuple[Any, ...]:
    """Return sizes of a network as integers; None stays None.

    **Raises:** `ValueError` for an invalid size.
    """
    return tuple(None if v is None else size(name, v) for name, v in values.items())


def weight_dtype(dtype: Any) -> Any:
    """Return the dtype of weights, JAX's default float if None.

    **Raises:** `ValueError` for anything but a floating dtype.
    """
    if dtype is None:
        return jnp.result_type(float)
    try:
        if jnp.issubdtype(dtype, jnp.floating):
            return dtype
    except TypeError:
        pass
    raise ValueError(f"dtype is a floating dtype, such as jnp.float32, got {shown(dtype)}.")


def checked_ids(x: Any, vocabulary: int) -> Shaped[Array | np.ndarray, "..."]:
    """Return token ids as an array.

    **Raises:** `ValueError` for ids that are not integers or lie outside the vocabulary; traced ids
    are not checked.
    """
    x = as_array("an input", x)
    if not jnp.issubdtype(x.dtype, jnp.integer):
        raise ValueError(f"token ids are integers, got {x.dtype}")
    if isinstance(x, jax.core.Tracer):
        return x
    ids = np.asarray(x)  # in numpy, since within `jit` even constants are traced by jax.numpy
    if ids.size and not 0 <= ids.min() <= ids.max() < vocabulary:
        raise ValueError(
            f"token ids lie between 0 and {vocabulary - 1}, got {ids.min()} to {ids.max()}"
        )
    return x


def shapes_of(make: Any, *sizes: int) -> nnx.Module:
    """Return the network `make(*sizes, rngs)` with shapes in place of arrays.

    **Raises:** `ValueError` unless it is a function that makes a network.
    """
    if not (isinstance(make, type) and issubclass(make, nnx.Module)):
        function("make", make, "a function that makes a network")

    def one() -> nnx.Module:
        return instance("what make returns", make(*sizes, nnx.Rngs(0)), nnx.Module, "an nnx.Module")

    return nnx.eval_shape(one)


def count_parameters(network: nnx.Module) -> int:
    """Return the number of trained parameters."""
    leaves = jax.tree.leaves(nnx.state(network, nnx.Param))
    return sum(math.prod(leaf.shape) for leaf in leaves)
