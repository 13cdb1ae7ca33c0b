"""Finite networks over seeds: sampling, readout features, full-batch training."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Float, Key, PyTree, Real

from theorykit.common.arguments import (
    as_array,
    function,
    instance,
    real,
    seed_numbers,
    shown,
    size,
)
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.kernels import Kernel
from theorykit.networks.compare._linear import Stage
from theorykit.networks.nets.scales import shapes_of
from theorykit.networks.training import gradient_step, trainable

FEW = 2**26
"""With fewer weights than this in all networks, sampling is compiled without optimisation."""

Make = Callable[[int, nnx.Rngs], nnx.Module]


@dataclass(frozen=True)
class Ensemble:
    """Networks of several widths and seeds.

    A seed gives the same network whatever other seeds and widths are requested.

    **Arguments:** `make`: makes a network of a given width from `rngs`; `widths`, `seeds`; `key`:
    for the weights; `batch`: the number of seeds per batch.
    """

    make: Make
    widths: Sequence[int]
    seeds: int | Sequence[int]
    key: Key[Array, ""] | int
    batch: int

    def __post_init__(self) -> None:
        """Check everything."""
        if len(seed_numbers(self.seeds)) < 3:
            raise ValueError(f"a gap and its error need at least 3 seeds, got {shown(self.seeds)}")
        many = not isinstance(self.widths, str | bytes | Mapping)
        if not many or not isinstance(self.widths, Collection | np.ndarray) or not len(self.widths):
            raise ValueError(f"widths are numbers, such as [32, 64], got {shown(self.widths)}.")
        object.__setattr__(self, "widths", [size("a width", width) for width in self.widths])
        object.__setattr__(self, "key", as_key(self.key))
        object.__setattr__(self, "batch", size("batch", self.batch))

    def map(self, run: Callable[[nnx.Module], PyTree]) -> list[PyTree]:
        """Return, for each width, `run(network)` for all seeds, stacked."""
        numbers = np.asarray(seed_numbers(self.seeds))
        return [self._at(width, numbers, run) for width in self.widths]

    def _at(self, width: int, numbers: np.ndarray, run: Callable[[nnx.Module], PyTree]) -> PyTree:
        batch = min(self.batch, len(numbers))
        key = self.key
        fold = jax.vmap(lambda seed: jax.random.fold_in(jax.random.fold_in(key, width), seed))
        graph, shapes = nnx.split(shapes_of(self.make, width))
        draw = lambda key: nnx.state(self.make(width, nnx.Rngs(params=key)))
        # Optimised compilation of random numbers is slow, and does not pay off for few of them.
        few = len(numbers) * sum(leaf.size for leaf in jax.tree.leaves(shapes)) < FEW
        quickly = {"xla_backend_optimization_level": "0"} if few else None
        drawn = jax.jit(jax.vmap(draw), compiler_options=quickly)
        found = jax.jit(jax.vmap(lambda state: run(nnx.merge(graph, state))))
        pieces = []
        for first in range(0, len(numbers), batch):
            some = np.resize(numbers[first : first + batch], batch)
            pieces.append(jax.tree.map(np.asarray, found(drawn(fold(some)))))
        return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(numbers)], *pieces)


def inputs(name: str, x: Any) -> Real[Array | np.ndarray, "inputs ..."]:
    """Return inputs as an array.

    **Raises:** `ValueError` for an empty batch, or anything but numbers.
    """
    x = as_array(name, x)
    if not x.ndim or not len(x):
        raise ValueError(f"{name} holds inputs along its first axis, got shape {x.shape}")
    return x


def known(kernel: Callable[..., Any], *sets: Any) -> Kernel:
    """Return an infinite-width kernel at two sets of inputs.

    **Raises:** `ValueError` unless it is a function that returns a `Kernel`.
    """
    function("kernel", kernel, "a function of two sets of inputs")
    return instance("what kernel returns", kernel(*sets), Kernel, "a Kernel")


def readout_features(
    network: nnx.Module, x: Real[Array | np.ndarray, "inputs ..."]
) -> Float[Array, "inputs weights"]:
    """Return the gradients of the first output with respect to the last layer's weights.

    The output is linear in these weights, so it is the product of the gradients and the weights.
    The mean over the weights of the product of two outputs is the product of two rows of gradients.
    """
    graph, last, rest = nnx.split(network, trainable("readout", network), ...)
    gradient = jax.grad(lambda w, x: nnx.merge(graph, w, rest)(x).ravel()[0])
    leaves = jax.tree.leaves(jax.vmap(lambda x: gradient(last, x))(x))
    return jnp.concatenate([leaf.reshape(len(x), -1) for leaf in leaves], axis=1)


def descend(
    network: nnx.Module,
    stages: Sequence[Stage],
    x_test: Real[Array | np.ndarray, "tested ..."],
    subtract: bool,
) -> dict[str, Any]:
    """Return the outputs of a network trained by gradient descent on all of a stage's data.

    The loss is the mean over inputs of half the squared error.

    **Arguments:** `subtract`: train and return the outputs minus those at initialisation.

    **Returns:** `test`, a list with (times, tested, outputs) for each stage; and, at
    initialisation, `start`, the outputs at the test inputs, and `starts`, those at the inputs of
    each stage.
    """
    # `training.fit` makes the same steps, but not inside `jit` and `vmap`, where this one runs, and
    # on targets that are the same for all networks; here f - f_0 may be trained.
    graph, initial, rest = nnx.split(network, nnx.Param, ...)
    weights = initial

    def outputs(weights, x):
        out = jax.vmap(nnx.merge(graph, weights, rest))(x)
        return out.reshape(len(x), -1)

    start = outputs(weights, x_test)
    for _, y, *_ in stages:
        if y.shape[1:] != start.shape[1:]:
            raise ValueError(
                f"the network outputs {start.shape[1]} numbers, and targets have {y.shape[1]}"
            )
    found, starts = [], []
    for x, y, rate, steps in stages:
        starts.append(outputs(initial, x))
        target = y + starts[-1] if subtract else y
        optimizer = optax.sgd(rate)
        loss = lambda w, x=x, y=target: ((outputs(w, x) - y) ** 2).sum() / (2 * len(x))
        step = lambda _, now, loss=loss, by=optimizer: gradient_step(loss, by, *now)[1:]
        memory, kept = optimizer.init(weights), []
        for before, after in zip((0, *steps[:-1]), steps, strict=True):
            weights, memory = jax.lax.fori_loop(0, after - before, step, (weights, memory))
            kept.append(outputs(weights, x_test) - (start if subtract else 0))
        found.append(jnp.stack(kept))
    return dict(test=found, start=start, starts=starts)


@highest
def trained(
    network: nnx.Module,
    x: Real[Array | np.ndarray, "inputs ..."],
    y: Real[Array | np.ndarray, "inputs ..."],
    x_test: Real[Array | np.ndarray, "tested ..."],
    *,
    steps: int,
    learning_rate: Real[Array | np.ndarray, ""] | float,
) -> Float[Array, "tested outputs"]:
    """Return the change in the outputs of one network at the test inputs due to training.

    It follows the gradient of the mean over inputs of half the squared error of f - f_0. Works
    under `jit` and `vmap`.

    **Arguments:** as for `gradient_descent`, with a single number of steps.
    """
    instance("network", network, nnx.Module, "an nnx.Module")
    x, x_test = inputs("x", x), inputs("x_test", x_test)
    y = as_array("targets", y)
    if y.ndim not in (1, 2) or len(y) != len(x):
        raise ValueError(
            f"targets have shape (P,) or (P, outputs) for P inputs; got {len(x)} inputs and "
            f"targets of shape {y.shape}"
        )
    if not isinstance(learning_rate, jax.core.Tracer):
        learning_rate = real("learning_rate", learning_rate)
    steps = size("steps", steps)
    stage = Stage(x, jnp.reshape(y, (len(x), -1)), learning_rate, (steps,))
    return descend(network, [stage], x_test, subtract=True)["test"][0][0]
