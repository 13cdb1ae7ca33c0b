"""What all networks share: embeddings, activations and norms by name, and their sizes."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Shaped

from theorykit.common.arguments import as_array, function, instance, one_of, size
from theorykit.kernels import activations
from theorykit.kernels.weights import PARAMETERISATIONS as PARAMETERISATIONS
from theorykit.kernels.weights import Map as Map
from theorykit.kernels.weights import Source as Source
from theorykit.kernels.weights import centred as centred
from theorykit.kernels.weights import rms as rms
from theorykit.kernels.weights import source as source
from theorykit.kernels.weights import weight_dtype as weight_dtype


def embedding(rngs: nnx.Rngs, rows: int, width: int, kind: str, vectors: bool, dtype: Any) -> Map:
    """Return the map from inputs to tokens: rows for a vocabulary, or a matrix for vectors.

    A token id stands for a one-hot vector, and the reference network divides by the square root of
    its size; otherwise rows have entries of size one for any vocabulary.
    """
    if kind == "ntk":
        return Map(rngs, (rows, width), rows, "ntk", dtype=dtype)
    return Map(rngs, (rows, width), rows if vectors else 1, "standard", dtype=dtype)


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


def sizes(**values: Any) -> tuple[Any, ...]:
    """Return sizes of a network as integers; None stays None.

    **Raises:** `ValueError` for an invalid size.
    """
    return tuple(None if v is None else size(name, v) for name, v in values.items())


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
