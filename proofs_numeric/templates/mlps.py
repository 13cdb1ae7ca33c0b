"""Appendix I: fully connected networks cannot distinguish unseen symbols."""

import functools

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from theorykit import claim
from theorykit.checks import expectation
from theorykit.networks import nets

SEEN, UNSEEN, WIDTH = 3, 3, 16
STRINGS = {"unseen": ((3, 3), (4, 5)), "seen": ((0, 0), (1, 2))}
"""A string of αα and one of αβ, with symbols of the training data and with others."""


def start(key):
    """Return an MLP of eq. (23) with one hidden layer of width 16, without biases, and its weights.

    All weights are standard normal; each layer is scaled by the square root of its input size.
    """
    net = nets.MLP(
        vocabulary=SEEN + UNSEEN, tokens=2, width=WIDTH, depth=1, sigma_w=1.0, sigma_b=0.0, rngs=key
    )
    return nnx.split(net)


def draw(key):
    """Return one sample of the same/different task over the seen symbols."""
    for_label, for_map = jax.random.split(key)
    pair = jax.random.permutation(for_map, SEEN)[:2]
    same = jax.random.bernoulli(for_label)
    return jnp.where(same, pair[0], pair), jnp.where(same, 1.0, -1.0)


def trained(key, optimizer, steps):
    """Return the network after one-pass training from Gaussian weights (Definition I.1)."""
    for_weights, for_data = jax.random.split(key)
    graph, theta = start(for_weights)

    def step(carry, key):
        theta, memory = carry
        x, y = draw(key)
        slope = jax.grad(lambda theta: (nnx.merge(graph, theta)(x)[0] - y) ** 2)(theta)
        move, memory = optimizer.update(slope, memory, theta)
        return (optax.apply_updates(theta, move), memory), None

    first = theta, optimizer.init(theta)
    theta = jax.lax.scan(step, first, jax.random.split(for_data, steps))[0][0]
    return nnx.merge(graph, theta)


OPTIMIZERS = (optax.sgd(0.3), optax.adam(0.03))


def outputs(which, key):
    """Return f on both strings after training, one row per optimizer."""
    found = []
    for optimizer in OPTIMIZERS:
        net = trained(key, optimizer, 400)
        found.append(jnp.stack([net(jnp.array(x))[0] for x in STRINGS[which]]))
    return jnp.stack(found)


def mean(of, which):
    """Return the statistic: the mean of a function of the outputs over 16 networks."""

    def statistic(key):
        keys = jax.random.split(key, 16)
        return of(jax.vmap(functools.partial(outputs, which))(keys)).mean(0)

    return statistic


@claim(
    "templates.I7.mlp",
    ref="Lemma I.7",
    statement=r"\mathbb E_{\theta^t}[f_{\mathrm{MLP}}(x_1; \theta^t)] = "
    r"\mathbb E_{\theta^t}[f_{\mathrm{MLP}}(x_2; \theta^t)],\ x_1, x_2 \in "
    r"\mathcal X_{\mathrm{uns}}^k",
)
def unseen_strings_are_alike():
    """After 400 steps of SGD or Adam on same/different, unseen αα and αβ have the same mean output.

    Control: strings of seen symbols.
    """
    gap = lambda f: f[..., 0] - f[..., 1]
    return expectation(
        statistic=mean(gap, "unseen"),
        value=0.0,
        replicates=32,
        batch=32,
        control=dict(statistic=mean(gap, "seen")),
    )


@claim(
    "templates.I2.mlp_fails",
    ref="Theorem I.2",
    statement=r"\max_x \mathbb E[(f_{\mathrm{MLP}}(x; \theta^t) - f_*(z))^2] \ge "
    r"\tfrac14 (f_*(z) - f_*(z'))^2",
)
def mlp_fails():
    """On unseen αα and αβ the mean squared error is at least (1 + 1)^2 / 4 = 1.

    The claim is about the mean of the two, which is below their maximum; the proof's bound covers
    it. Control: strings of seen symbols.
    """
    error = lambda f: ((f - jnp.array([1.0, -1.0])) ** 2).mean(-1)
    return expectation(
        statistic=mean(error, "unseen"),
        at_least=1.0,
        replicates=32,
        batch=32,
        control=dict(statistic=mean(error, "seen")),
    )
