"""Finite networks with every attention tend to its kernels; one object is both."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.kernels import InfiniteTransformer, oracle
from theorykit.kernels.activations import Activation
from theorykit.kernels.attention import (
    Concentrated,
    Elementwise,
    Linear,
    Mechanism,
    NormalisedRelu,
    Sigmoid,
)
from theorykit.networks.nets import MLP, Transformer

X = np.random.default_rng(0).normal(size=(2, 2, 2)).astype("float32")
SIZES = dict(features=2, width=64, heads=32, head_size=32)
OPTIMISED = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}
NETWORKS = 64


@dataclass(frozen=True)
class Bumps(Elementwise):
    """Written outside: a function of each score."""

    def function(self, score):
        return jnp.exp(-(score**2) / 2)


@dataclass(frozen=True)
class Gated(Mechanism):
    """Written outside: weights that need a general Jacobian."""

    def weights(self, scores, allowed):
        return (1 + jnp.tanh(scores)) * jax.nn.softmax(scores, -1, where=allowed)


@dataclass(frozen=True)
class Softplus(Activation):
    """Written outside."""

    def __call__(self, x):
        return jax.nn.softplus(x)


def average(options, key=1, **sizes):
    """Return the covariance and the mean empirical NTK of networks, with standard errors."""
    graph, _ = nnx.split(Transformer(**SIZES | sizes, **options, rngs=0))

    def one(key):
        state = nnx.state(Transformer(**SIZES | sizes, **options, rngs=nnx.Rngs(params=key)))
        value = lambda p: jax.vmap(lambda x: nnx.merge(graph, p)(x)[0])(X)
        out, jac = value(state), jax.jacrev(value)(state)
        ntk = sum(jnp.einsum("i...,j...->ij", j, j) for j in jax.tree.leaves(jac))
        return out[:, None] * out, ntk

    run = jax.jit(functools.partial(jax.lax.map, one), compiler_options=OPTIMISED)
    found = map(np.asarray, run(jax.random.split(jax.random.key(key), NETWORKS)))
    return [(v.mean(0), v.std(0, ddof=1) / NETWORKS**0.5) for v in found]


@pytest.mark.parametrize(
    ("attention", "sizes"),
    [
        (Bumps(), {}),
        pytest.param(Sigmoid(-0.5), {}, marks=pytest.mark.slow),
        pytest.param(NormalisedRelu(0.7), {}, marks=pytest.mark.slow),
        pytest.param(Gated(), {}, marks=pytest.mark.slow),
        # What settles does so at the rate of the head size.
        pytest.param(Linear(), dict(head_size=256), marks=pytest.mark.slow),
        pytest.param(Concentrated(), dict(head_size=256), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_networks_average_to_the_kernels(attention, sizes):
    options = dict(attention=attention, activation="erf", score_scale=1.2)
    (nngp, nngp_error), (ntk, ntk_error) = average(options, **sizes)
    exact = oracle.kernel(InfiniteTransformer(**options), X, order=12)
    assert np.all(np.abs(nngp - exact.nngp) < 4 * nngp_error + exact.nngp_stderr)
    assert np.all(np.abs(ntk - exact.ntk) < 4 * ntk_error + exact.ntk_stderr)
    assert np.all(ntk_error < 0.1 * np.abs(exact.ntk).max())


def test_one_object_is_the_weights_of_a_network():
    net = Transformer(features=2, width=6, heads=2, head_size=3, attention=Bumps(), causal=True)
    (a,) = net.attention_weights(X[0])
    z, block = net.embed(X[0]), net.blocks[0].attention
    q, k = (jnp.einsum("td,hde->hte", z, m.effective()) for m in (block.query, block.key))
    scores = np.asarray(q @ k.transpose(0, 2, 1)) / 3**0.5
    np.testing.assert_allclose(a, np.exp(-(scores**2) / 2) * np.tri(2), rtol=1e-5)


def test_linear_attention_of_a_network():
    net = Transformer(features=2, width=6, heads=2, head_size=3, attention=Linear())
    (a,) = net.attention_weights(X[0])
    np.testing.assert_allclose(a.sum(-1), np.ones((2, 2)), rtol=1e-6)
    mask = jnp.array([True, False])
    np.testing.assert_allclose(net(X[0], mask), net(X[0, :1]), rtol=1e-5)


def test_one_object_is_the_activation_of_networks():
    z = X[0].ravel()
    own, plain = (MLP(features=4, width=8, activation=a) for a in (Softplus(), jax.nn.softplus))
    np.testing.assert_array_equal(own(z), plain(z))
    Transformer(features=2, width=6, heads=2, activation=Softplus())(X[0])
    with pytest.raises(ValueError, match="activation is a function, such as"):
        MLP(features=4, width=8, activation=3)
    with pytest.raises(ValueError, match="attention is one of 'softmax', 'identity', got 'soft'"):
        Transformer(features=2, width=6, heads=2, attention="soft")
