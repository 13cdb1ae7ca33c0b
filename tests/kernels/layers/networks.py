"""The mean kernels of finite networks, for tests."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


@partial(jax.jit, static_argnames=("make", "networks"))
def _every(make, x, key, networks):
    def one(key):
        graph, state = nnx.split(make(nnx.Rngs(params=key)))
        value = lambda p: jax.vmap(lambda x: nnx.merge(graph, p)(x)[0])(x)
        jac = [j.reshape(len(x), -1) for j in jax.tree.leaves(jax.jacrev(value)(state))]
        out = value(state)
        return jnp.stack([jnp.outer(out, out), sum(j @ j.T for j in jac)])

    return jax.lax.map(one, jax.random.split(key, networks))


def average(net, x, key, networks, **sizes):
    """Return the mean NNGP and empirical NTK of networks, and their standard errors."""
    make = lambda rngs: net.module(**sizes, rngs=rngs)
    every = np.asarray(_every(make, jnp.asarray(x), key, networks), float)
    return every.mean(0), every.std(0, ddof=1) / networks**0.5
