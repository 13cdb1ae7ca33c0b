"""The fully connected network: its kernels, its inputs, its count of weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.kernels import empirical
from theorykit.networks.nets import MLP

X = np.random.default_rng(0).normal(size=(3, 2, 2))


def test_networks_average_to_the_kernels_of_neural_tangents():
    from theorykit.kernels.tangents import stax

    options = {"width": 256, "depth": 2, "activation": "erf", "sigma_w": 1.3, "sigma_b": 0.4}
    dense = lambda: stax.Dense(1, W_std=1.3, b_std=0.4)
    layers = [stax.Flatten(), dense(), stax.Erf(), dense(), stax.Erf(), dense()]
    exact = stax.serial(*layers)[2](X, None, ("nngp", "ntk"))

    def one(key):
        network = MLP(features=4, outputs=2, rngs=nnx.Rngs(params=key), **options)
        return empirical(network, X)[:2]

    drawn = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=16))
    nngp, ntk = map(np.asarray, drawn(jax.random.split(jax.random.key(0), 256)))
    for values, expected in ((nngp, exact.nngp), (ntk, exact.ntk)):
        stderr = values.std(0, ddof=1) / 16
        assert np.all(np.abs(values.mean(0) - expected) < 4.5 * stderr)
    assert np.all(ntk.std(0) / 16 < 0.02 * np.abs(exact.ntk).max())


def test_token_ids_are_one_hot_vectors():
    ids = jnp.array([2, 0, 1])
    by_id = MLP(width=8, vocabulary=4, tokens=3, rngs=1)
    by_vector = MLP(width=8, features=12, rngs=1)
    np.testing.assert_allclose(by_id(ids), by_vector(jax.nn.one_hot(ids, 4)), rtol=1e-6)


@pytest.mark.parametrize("parameterisation", ["ntk", "standard", "mup"])
def test_counts(parameterisation):
    network = MLP(width=8, features=4, depth=2, outputs=3, parameterisation=parameterisation)
    assert network.parameters() == 4 * 8 + 8 + 8 * 8 + 8 + 8 * 3 + 3
    assert network.flops() == 2 * (4 * 8 + 8 * 8 + 8 * 3)
    assert network(X[0]).shape == (3,)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, "takes features=n, or vocabulary=V and tokens=T"),
        ({"vocabulary": 3}, "takes features=n, or vocabulary=V and tokens=T"),
        ({"features": 4, "activation": "sine"}, "activation is one of .*, got 'sine'"),
        ({"features": 4, "parameterisation": "ntp"}, "parameterisation is one of .*, got 'ntp'"),
    ],
)
def test_bad_options(bad, message):
    with pytest.raises(ValueError, match=message):
        MLP(width=8, **bad)
