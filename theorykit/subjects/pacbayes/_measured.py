"""Inputs for the bounds: losses of a network and of its Gaussian perturbations."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray, Real, Shaped

from theorykit.common.arguments import (
    affordable,
    as_array,
    finite,
    function,
    instance,
    positive,
    whole,
)
from theorykit.common.keys import as_key

Inputs = Shaped[Array | np.ndarray, " inputs *shape"]
Targets = Real[Array | np.ndarray, " inputs *outputs"]


def squared_losses(network: nnx.Module, x: Inputs, y: Targets) -> Float[Array, " inputs"]:
    """Return (f(x_i) - y_i)^2 at P inputs, (P,), summed over the outputs of f.

    **Raises:** `ValueError` for an empty batch, or targets that do not fit the outputs.
    """
    x, y = _inputs(network, x), as_array("targets", y)
    out = jax.vmap(network)(x)
    plain = lambda shape: [n for n in shape[1:] if n != 1]
    if np.shape(y)[:1] != (len(x),) or plain(np.shape(y)) != plain(out.shape):
        raise ValueError(f"targets have the shape {out.shape} of outputs, not {np.shape(y)}.")
    return jnp.sum((out - jnp.reshape(y, out.shape)) ** 2, range(1, out.ndim))


def _inputs(network: Any, x: Any) -> Array:
    """Return inputs along the first axis, for a network.

    **Raises:** `ValueError` for anything else.
    """
    function("a network", network, "a function of one input")
    x = as_array("x", x)
    if not np.ndim(x) or not np.shape(x)[0]:
        raise ValueError(f"x holds inputs along its first axis, got shape {np.shape(x)}.")
    return jnp.asarray(x)


def perturbed_losses(
    network: nnx.Module,
    x: Inputs,
    y: Targets,
    sigma: float,
    key: PRNGKeyArray | int,
    draws: int = 64,
) -> Float[Array, "draws inputs"]:
    """Return the squared losses of `draws` networks theta + eps, eps ~ N(0, sigma^2 I): (draws, P).

    Every draw comes with its mirror image theta - eps, so odd orders in sigma cancel in the mean
    over draws; `draws` is even.

    **Raises:** `ValueError` for a sigma that is not positive, targets that are not finite or not
    one per input, an odd number of draws.
    """
    instance("network", network, nnx.Module, "an nnx.Module")
    sigma, key, x = positive("sigma", sigma), as_key(key), _inputs(network, x)
    draws = whole("draws", draws)
    if draws % 2:
        raise ValueError(f"draws come in pairs, so their number must be even; got {draws}.")
    y = as_array("targets", y)
    if np.shape(y)[:1] != (len(x),):
        raise ValueError(
            f"there are {len(x)} inputs and {np.shape(y)[0] if np.ndim(y) else 'no'} targets; "
            "give one target per input."
        )
    finite("targets", y)
    affordable("that many draws", draws * len(x), 2**31)
    graph, parameters, rest = nnx.split(network, nnx.Param, ...)
    return _perturbed(graph, draws // 2, parameters, rest, x, y, sigma, key)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _perturbed(
    graph, pairs, parameters, rest, x, y, sigma, key
) -> Float[Array, "2*{pairs} inputs"]:
    leaves, tree = jax.tree.flatten(parameters)

    def one(key: PRNGKeyArray) -> Float[Array, "2 inputs"]:
        keys = jax.random.split(key, len(leaves))
        noise = [jax.random.normal(k, a.shape, a.dtype) for k, a in zip(keys, leaves, strict=True)]

        def at(scale: Float[ArrayLike, ""]) -> Float[Array, " inputs"]:
            moved = [a + scale * e for a, e in zip(leaves, noise, strict=True)]
            return squared_losses(nnx.merge(graph, jax.tree.unflatten(tree, moved), rest), x, y)

        return jnp.stack([at(sigma), at(-sigma)])

    found = jax.lax.map(one, jax.random.split(key, pairs))
    return found.reshape(2 * pairs, -1)


def distance(network: nnx.Module, prior: nnx.Module | None = None) -> float:
    """Return |theta - theta_0|^2 over all parameters; theta_0 = 0 if no prior is given.

    **Raises:** `ValueError` for networks with different parameters.
    """
    instance("network", network, nnx.Module, "an nnx.Module")
    leaves = jax.tree.leaves(nnx.state(network, nnx.Param))
    centre: list[Any] = [0.0] * len(leaves)
    if prior is not None:
        instance("prior", prior, nnx.Module, "an nnx.Module")
        centre = jax.tree.leaves(nnx.state(prior, nnx.Param))
    shapes = [[np.shape(a) for a in some] for some in (leaves, centre)]
    if prior is not None and shapes[0] != shapes[1]:
        raise ValueError("the parameters of the network and the prior have different shapes.")
    away = [
        np.sum((np.asarray(a, float) - np.asarray(b, float)) ** 2)
        for a, b in zip(leaves, centre, strict=True)
    ]
    return float(sum(away))
