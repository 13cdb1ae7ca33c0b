"""One step of training, shared by all that train."""

from collections.abc import Callable
from typing import Any

import jax
import optax
from jaxtyping import Array, Float, PyTree


def gradient_step(
    loss: Callable[[Any], Float[Array, ""]],
    optimizer: optax.GradientTransformation,
    weights: PyTree,
    memory: PyTree,
) -> tuple[Float[Array, ""], PyTree, PyTree]:
    """Return the loss of these weights, and weights and memory after one step of the optimizer.

    Works under `jit`, `vmap` and `grad`.

    **Arguments:** `loss`: a number from the weights; `memory`: from `optimizer.init(weights)`, or
    from the step before.
    """
    value, slope = jax.value_and_grad(loss)(weights)
    moves, memory = optimizer.update(slope, memory, weights)
    return value, optax.apply_updates(weights, moves), memory
