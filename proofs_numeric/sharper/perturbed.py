"""Theorems 12, 17 and 31: the effect of Gaussian parameter noise on loss and Hessian.

The analytic constants are lost and said to be loose; the claims check the order in sigma on the
construction of a random function of 3 bits, degree 2 and sparsity 2, over all inputs.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.flatten_util import ravel_pytree

from theorykit import claim
from theorykit.checks import rate
from theorykit.subjects import boolean

SIGMAS = (5e-4, 1e-3, 2e-3, 4e-3)
DRAWS = 4


@functools.cache
def problem():
    """Return f's construction as a function of one vector of parameters, and that vector.

    Its targets are its own outputs, so that the loss is exactly zero, and so is its slope.
    """
    network = boolean.transformer(boolean.random(3, 2, 2), dtype=jnp.float64)
    graph, parameters, rest = nnx.split(network, nnx.Param, ...)
    theta, unravel = ravel_pytree(parameters)
    x = boolean.bits(3).astype(float)
    outputs = lambda t: jax.vmap(nnx.merge(graph, unravel(t), rest))(x)[:, 0]
    return outputs, theta


def one_way(sigma):
    """Return DRAWS perturbed parameters; the noise is the same at every sigma."""
    _, theta = problem()
    return theta + sigma * np.random.default_rng(0).standard_normal((DRAWS, len(theta)))


def both_ways(sigma):
    """Return them and their mirror images."""
    return np.concatenate([one_way(sigma), one_way(-sigma)])


@functools.cache
def hessian():
    """Return the compiled Hessian of the loss at many points, one after the other."""
    outputs, theta = problem()
    y = outputs(theta)
    loss = lambda t: jnp.mean((outputs(t) - y) ** 2)
    return jax.jit(lambda points: jax.lax.map(jax.hessian(loss), points))


@claim(
    "sharper.12.taylor",
    ref="Theorems 6 and 12",
    statement=r"E \hat L(\theta + \epsilon) = \tfrac{\sigma^2}{2} \operatorname{tr} \nabla^2 "
    r"\hat L(\theta) + \tfrac 12 E[\epsilon^\top (\nabla^2 \hat L(\theta + \tilde\epsilon) - "
    r"\nabla^2 \hat L(\theta)) \epsilon]",
    assumptions=[r"\hat L(\theta) = 0", "no unit flips"],
)
def taylor():
    """The remainder, taken off by the quadratic form of the same noise, is of order sigma^4.

    Odd orders cancel over noise and its mirror image; so it is sigma^2 times smaller than the first
    term. Control: without the mirror images the third order stays, sigma times.
    """

    def remainder(points):
        outputs, theta = problem()
        y = outputs(theta)
        loss = jax.vmap(lambda t: jnp.mean((outputs(t) - y) ** 2))(points)
        slope = lambda e: jnp.mean(jax.jvp(outputs, (theta,), (e,))[1] ** 2)
        return jnp.abs((loss - jax.vmap(slope)(points - theta)).mean())

    of = lambda noise: lambda sigma: remainder(noise(sigma)) / sigma**2
    return rate(
        measure=of(both_ways), at=SIGMAS, exponent=2, tolerance=0.3,
        control=dict(measure=of(one_way)),
    )  # fmt: skip


@claim(
    "sharper.31.perturbed",
    ref="Theorem 31",
    statement=r"\|\nabla^2 L(\theta + \epsilon) - \nabla^2 L(\theta)\|_{op} = O(\sigma)",
)
def operator_norm():
    """The operator norm of the Hessian's perturbation is of first order.

    Control: the norm of the mean perturbation, in which odd orders cancel.
    """

    def moves(sigma):
        _, theta = problem()
        return np.asarray(hessian()(both_ways(sigma)) - hessian()(theta[None]))

    return rate(
        measure=lambda sigma: np.linalg.norm(moves(sigma), 2, (1, 2)).mean(),
        at=SIGMAS,
        exponent=1,
        control=dict(measure=lambda sigma: np.linalg.norm(moves(sigma).mean(0), 2)),
    )


@claim(
    "sharper.17.mean",
    ref="Theorem 17, Sec. 2.3",
    statement=r"E \operatorname{tr} \nabla^2 L(\theta + \epsilon) - \operatorname{tr} \nabla^2 "
    r"L(\theta) = O(\sigma^2)",
)
def mean_trace():
    """The mean trace, which the bound needs, changes only at second order.

    So the operator norm times the number of parameters, of first order, is arbitrarily loose as
    sigma -> 0. Control: without the mirror images, first order.
    """

    def of(noise):
        traces = lambda points: np.trace(hessian()(points), axis1=1, axis2=2)
        return lambda sigma: abs(traces(noise(sigma)).mean() - traces(problem()[1][None])[0])

    return rate(
        measure=of(both_ways), at=SIGMAS, exponent=2, tolerance=0.3,
        control=dict(measure=of(one_way)),
    )  # fmt: skip
