"""The state of a fit: every array has one entry for each seed along its first axis."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Int, Key, PyTree

from theorykit.common.arguments import instance, shown


class State(NamedTuple):
    """Many networks in training.

    **Fields:** `trained` and `fixed`: the networks' parameters; `optimizer`: its state;
    `stopped_at`: the step at which a seed met the stop rule, else -1; `diverged_at`: how many steps
    a seed had made when its loss or parameters stopped being finite, else -1.
    """

    trained: nnx.State
    fixed: nnx.State
    optimizer: PyTree
    stopped_at: Int[Array, " seeds"]
    diverged_at: Int[Array, " seeds"]

    def parameters(self) -> nnx.State:
        """Return all arrays of the networks."""
        return nnx.merge_state(self.trained, self.fixed)


def trainable(
    train: str | Callable[[tuple], bool], network: nnx.Module
) -> Callable[[tuple, nnx.Variable], bool]:
    """Return the filter of what is trained, such as `flax.nnx.split` takes.

    **Arguments:** `train`: as in `fit`; `network`: has its last layer in `head`, or last in
    `layers` and `biases`, if only that is trained.

    **Raises:** `ValueError` for an unknown word, or a network whose last layer is not known.
    """
    param = lambda value: isinstance(value, nnx.Param)
    instance("network", network, nnx.Module, "an nnx.Module")
    if isinstance(train, str) and train == "all":
        return lambda path, value: param(value)
    if callable(train) and not isinstance(train, type):
        return lambda path, value: param(value) and bool(train(path))
    if not isinstance(train, str) or train != "readout":
        raise ValueError(f'train is "all", "readout" or a function of a path, got {shown(train)}.')
    if hasattr(network, "head"):
        return lambda path, value: param(value) and path[0] == "head"
    if hasattr(network, "layers"):
        last = len(network.layers) - 1
        return lambda path, value: (
            param(value) and path[0] in ("layers", "biases") and path[1] == last
        )
    raise ValueError(
        f'train="readout" needs a network with a head, which this {type(network).__name__} lacks; '
        "give a function of a parameter's path."
    )


def first_state(
    make: Callable[[nnx.Rngs], nnx.Module],
    split: Callable[[nnx.State], tuple[nnx.State, nnx.State]],
    optimizer: optax.GradientTransformation,
    keys: Key[Array, " seeds"],
    start: nnx.State | None,
) -> State:
    """Return the state before the first step: fresh networks, or those of `start`."""
    if start is not None:
        networks = jax.tree.map(jnp.copy, start)  # the compiled chunk reuses its arrays' memory
    else:
        networks = jax.vmap(lambda key: nnx.state(make(nnx.Rngs(key))))(keys)
    trained, fixed = split(networks)
    never = jnp.full(len(keys), -1, jnp.int32)
    return State(trained, fixed, jax.vmap(optimizer.init)(trained), never, never)
