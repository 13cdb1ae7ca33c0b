"""One step of training, shared by everything that trains."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from theorykit.common.arguments import function, shown
from theorykit.common.precision import promoting


def gradient_step(
    loss: Callable[[Any], Float[Array, ""]],
    optimizer: optax.GradientTransformation,
    weights: PyTree,
    memory: PyTree,
) -> tuple[Float[Array, ""], PyTree, PyTree]:
    """Return the loss of these weights, and weights and memory after one step of the optimizer.

    Works under `jit`, `vmap` and `grad`. Optimizers that look at the loss themselves, such as
    `optax.lbfgs`, are given its value and the function.

    **Arguments:** `loss`: a number from the weights; `memory`: from `optimizer.init(weights)`, or
    from the step before.

    **Raises:** `ValueError` for weights that are not floating-point arrays, or a memory of other
    weights.
    """
    function("loss", loss, "a function of the weights")
    check_optimizer(optimizer)
    check_weights(optimizer, weights, memory)

    def scalar(weights: PyTree) -> Array:
        found = loss(weights)
        dtype = getattr(found, "dtype", np.dtype(type(found) if type(found) is float else object))
        if np.shape(found) != () or not jnp.issubdtype(dtype, jnp.floating):
            raise ValueError(f"loss returns one real number, got {shown(found)}.")
        return found

    value, slope = jax.value_and_grad(scalar)(weights)
    update = promoting(optax.with_extra_args_support(optimizer).update)  # Adam's promotes
    moves, memory = update(slope, memory, weights, value=value, grad=slope, value_fn=scalar)
    return value, optax.apply_updates(weights, moves), memory


def check_optimizer(optimizer: Any) -> None:
    """Raise a `ValueError` for anything but an optax optimizer."""
    parts = [getattr(optimizer, name, None) for name in ("init", "update")]
    if isinstance(optimizer, type) or not all(map(callable, parts)):
        raise ValueError(
            f"optimizer is one of optax's, such as optax.adam(1e-3), not {shown(optimizer)}."
        )


def check_weights(optimizer: optax.GradientTransformation, weights: PyTree, memory: PyTree) -> None:
    """Raise a `ValueError` unless weights can be trained and the memory belongs to them."""
    leaves = jax.tree.leaves(weights)
    floats = [jnp.issubdtype(getattr(leaf, "dtype", object), jnp.floating) for leaf in leaves]
    if not leaves or not all(floats):
        raise ValueError(f"weights are arrays of floating-point numbers, got {shown(weights)}.")
    fresh = jax.eval_shape(optimizer.init, weights)
    shapes = lambda tree: [np.shape(leaf) for leaf in jax.tree.leaves(tree)]
    trees: list[Any] = [jax.tree.structure(tree) for tree in (fresh, memory)]
    if trees[0] != trees[1] or shapes(fresh) != shapes(memory):
        raise ValueError(
            f"memory comes from optimizer.init(weights), or the step before; got {shown(memory)}."
        )
