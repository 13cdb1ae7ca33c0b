"""Finite networks over seeds: drawn, linearised in their readout, trained on all data at once."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.common.arguments import seed_numbers, whole
from theorykit.common.keys import as_key
from theorykit.networks.training._state import trainable

Array = Any
FEW = 2**26
Make = Callable[[int, nnx.Rngs], nnx.Module]


def over_seeds(
    run: Callable[[nnx.Module], Any],
    make: Make,
    width: int,
    seeds: int | Sequence[int],
    key: Array,
    batch: int,
) -> Any:
    """Return `run(network)` for every seed, stacked; `batch` seeds at once in compiled programs.

    A seed has the same network whatever other seeds and widths are asked for.
    """
    numbers = np.asarray(seed_numbers(seeds))
    whole("batch", batch)
    key = as_key(key)
    fold = jax.vmap(lambda seed: jax.random.fold_in(jax.random.fold_in(key, width), seed))
    batch = min(batch, len(numbers))
    graph, shapes = nnx.split(nnx.eval_shape(lambda: make(width, nnx.Rngs(params=0))))
    draw = lambda key: nnx.state(make(width, nnx.Rngs(params=key)))
    # Random numbers are slow to compile well, which few of them do not pay for.
    few = len(numbers) * sum(leaf.size for leaf in jax.tree.leaves(shapes)) < FEW
    quickly = {"xla_backend_optimization_level": "0"} if few else None
    drawn = jax.jit(jax.vmap(draw), compiler_options=quickly)
    found = jax.jit(jax.vmap(lambda state: run(nnx.merge(graph, state))))
    pieces = []
    for first in range(0, len(numbers), batch):
        some = np.resize(numbers[first : first + batch], batch)
        pieces.append(jax.tree.map(np.asarray, found(drawn(fold(some)))))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(numbers)], *pieces)


def readout_features(network: nnx.Module, x: Array) -> Array:
    """Return the gradients (P, n) of the first output in the weights of the last layer.

    The output is linear in them, so it is their product with the weights, and the mean of the
    products of two inputs' outputs over those weights is the product of these rows.
    """
    graph, last, rest = nnx.split(network, trainable("readout", network), ...)
    gradient = jax.grad(lambda w, x: nnx.merge(graph, w, rest)(x).ravel()[0])
    leaves = jax.tree.leaves(jax.vmap(lambda x: gradient(last, x))(x))
    return jnp.concatenate([leaf.reshape(len(x), -1) for leaf in leaves], axis=1)


def descend(
    network: nnx.Module, stages: Sequence[tuple], x_test: Array, subtract: bool
) -> dict[str, Any]:
    """Return the outputs of a network trained by gradient descent on all of a stage's data.

    **Arguments:**

    - `stages`: for each, inputs, targets, learning rate and increasing numbers of steps, at which
      the outputs at the test inputs are kept; the last one ends the stage. The loss is the mean
      over inputs of half the squared error.
    - `subtract`: train and return the outputs minus those at initialisation.

    **Returns:** `test`, a list with (times, P*, outputs) of each stage, and at initialisation
    `start`, the outputs at the test inputs, and `starts`, those at the inputs of each stage.
    """
    graph, initial, rest = nnx.split(network, nnx.Param, ...)
    weights = initial

    def outputs(weights, x):
        out = jax.vmap(nnx.merge(graph, weights, rest))(x)
        return out.reshape(len(x), -1)

    start = outputs(weights, x_test)
    for _, y, *_ in stages:
        if y.shape[1:] != start.shape[1:]:
            raise ValueError(
                f"the network puts out {start.shape[1]} numbers, and targets have {y.shape[1]}"
            )
    found, starts = [], []
    for x, y, rate, steps in stages:
        starts.append(outputs(initial, x))
        target = y + starts[-1] if subtract else y
        loss = lambda w, x=x, y=target: ((outputs(w, x) - y) ** 2).sum() / (2 * len(x))
        step = lambda _, w, loss=loss, rate=rate: jax.tree.map(
            lambda p, g: p - rate * g, w, jax.grad(loss)(w)
        )
        kept = []
        for before, after in zip((0, *steps[:-1]), steps, strict=True):
            weights = jax.lax.fori_loop(0, after - before, step, weights)
            kept.append(outputs(weights, x_test) - (start if subtract else 0))
        found.append(jnp.stack(kept))
    return dict(test=found, start=start, starts=starts)


def trained(
    network: nnx.Module, x: Array, y: Array, x_test: Array, *, steps: int, learning_rate: Any
) -> Array:
    """Return what training adds to the outputs (P*, outputs) of one network at the test inputs.

    It follows the gradient of the mean over inputs of half the squared error of f - f_0. Works
    under `jit` and `vmap`.

    **Arguments:** as for `gradient_descent`, but for one number of steps.
    """
    stage = (x, jnp.reshape(y, (len(x), -1)), learning_rate, (steps,))
    return descend(network, [stage], x_test, subtract=True)["test"][0][0]
