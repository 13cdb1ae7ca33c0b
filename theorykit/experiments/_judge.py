"""Measurements on trained networks: all seeds of a fit, one after another, in compiled code."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flax import nnx
from jaxtyping import Float

from theorykit.networks.tasks import Task


def over_seeds(fit: Any, measure: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that applies a measurement to the network of each seed of a fit.

    **Arguments:** `measure(network, *arguments)`: maps a network and arrays to arrays.

    **Returns:** a function of the same arguments; the first axis of its arrays is the seed.
    """
    run = jax.jit(
        lambda parameters, arguments: jax.lax.map(
            lambda one: measure(nnx.merge(fit.graph, one), *arguments), parameters
        )
    )
    return lambda *arguments: jax.tree.map(np.asarray, run(fit.state.parameters(), arguments))


def judged(
    fit: Any, task: Task, length: int, metric: str = "accuracy", *, count: int = 256, seed: int = 0
) -> Float[np.ndarray, " seeds"]:
    """Return the mean metric of each seed's network, on `count` fresh examples of a length.

    All seeds get the same examples, which are a function of `seed` and the length.
    """
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), length), count)
    samples = jax.vmap(lambda key: task.sample(key, length))(keys)

    def mean(network: Any, samples: Any) -> Any:
        one = lambda sample: task.metrics(network(sample.x), sample)[metric]
        return jax.vmap(one)(samples).mean()

    return over_seeds(fit, mean)(samples)
