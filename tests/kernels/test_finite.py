"""The finite-width estimator: its mean, its standard error, its one key, its refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.kernels import empirical
from theorykit.kernels.finite import monte_carlo
from theorykit.kernels.tangents import nt, stax
from theorykit.networks import nets

# The first layer is wide; the kernels of this network have no other bias of order 1 / width.
INIT, APPLY, KERNEL = stax.serial(stax.Dense(256), stax.Relu(), stax.Dense(1))
X1 = jax.random.normal(jax.random.PRNGKey(0), (3, 4))
X2 = jax.random.normal(jax.random.PRNGKey(1), (2, 4))


def estimate(x1=X1, x2=X2, seed=5, **options):
    options = {"draws": 32, **options}
    return monte_carlo((INIT, APPLY), x1, x2, key=jax.random.PRNGKey(seed), **options)


def test_agrees_with_the_closed_form():
    k = estimate()
    for name in ("nngp", "ntk"):
        value, stderr = getattr(k, name), getattr(k, f"{name}_stderr")
        exact = KERNEL(X1, X2, name)
        assert value.shape == stderr.shape == (3, 2)
        assert np.all(stderr > 0)
        assert np.all(np.abs(value - exact) < 4 * stderr)
        assert np.all(stderr < 0.2 * np.abs(exact).max())
    assert (k.draws, k.replicates) == (32, 8)


def test_mean_and_error_are_those_of_the_replicates():
    k = estimate(draws=2, replicates=3, get="ntk")
    ntk, networks = nt.empirical_ntk_fn(APPLY), []
    for key in jax.random.split(jax.random.PRNGKey(5), (3, 2)).reshape(6, -1):
        params = INIT(jax.random.split(key)[0], X1.shape)[1]
        networks.append(np.float64(ntk(X1, X2, params)))
    replicates = np.mean(np.reshape(networks, (3, 2, 3, 2)), axis=1)
    np.testing.assert_allclose(k.ntk, replicates.mean(0), rtol=1e-4, atol=1e-6)
    stderr = replicates.std(0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(k.ntk_stderr, stderr, rtol=1e-3, atol=1e-6)
    assert k.nngp is None
    assert k.nngp_stderr is None


def test_one_key_decides_everything():
    again = {"draws": 2, "replicates": 2, "get": "nngp"}
    first = estimate(**again)
    assert jnp.array_equal(first.nngp, estimate(**again).nngp)
    assert jnp.array_equal(first.nngp_stderr, estimate(**again).nngp_stderr)
    assert not jnp.array_equal(first.nngp, estimate(seed=6, **again).nngp)
    typed = monte_carlo((INIT, APPLY), X1, X2, key=jax.random.key(5), **again)
    assert jnp.array_equal(first.nngp, typed.nngp)


def test_one_replicate_has_no_standard_error():
    k = estimate(x2=None, draws=1, replicates=1, get=("nngp",))
    assert k.nngp_stderr is None
    assert jnp.array_equal(k.nngp, k.nngp.T)


@pytest.mark.parametrize("name", ["draws", "replicates"])
@pytest.mark.parametrize("value", [0, -3, 2.5, True])
def test_bad_counts(name, value):
    with pytest.raises(ValueError, match=f"{name} .*at least 1, got {value}"):
        estimate(**{name: value})


@pytest.mark.parametrize("get", ["cov", (), ("nngp", "mean")])
def test_bad_get(get):
    with pytest.raises(ValueError, match='get names "nngp", "ntk" or both'):
        estimate(get=get)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_values(bad):
    with pytest.raises(ValueError, match="x1 must be finite"):
        estimate(x1=X1.at[0, 0].set(bad))
    with pytest.raises(ValueError, match="x2 must be finite"):
        estimate(x2=X2.at[0, 0].set(bad))


@pytest.mark.parametrize("network", [(INIT,), (INIT, None), "stax", None])
def test_bad_network(network):
    with pytest.raises(ValueError, match=r"network is a function of nnx\.Rngs .*, or a pair"):
        monte_carlo(network, X1, key=jax.random.key(0), draws=1)


def test_a_network_that_fails_on_its_inputs():
    with pytest.raises(ValueError, match=r"the network fails on x2 of shape \(2, 7\)"):
        monte_carlo((INIT, APPLY), X1, jnp.ones((2, 7)), key=jax.random.key(0), draws=1)


def test_networks_of_flax():
    """Those of a function of `nnx.Rngs`, with outputs at every token: the mean of each one's."""
    make = lambda rngs: nets.Transformer(features=3, width=8, heads=2, readout="tokens", rngs=rngs)
    x = jax.random.normal(jax.random.key(2), (2, 4, 3))
    found = monte_carlo(make, x, key=jax.random.key(3), draws=2, replicates=2)
    keys = jax.random.split(jax.random.key(3), (2, 2)).reshape(-1)
    each = [empirical(make(nnx.Rngs(key)), x) for key in keys]
    for name in ("nngp", "ntk"):
        values = np.array([getattr(one, name) for one in each]).reshape(2, 2, 2, 4, 2, 4).mean(1)
        np.testing.assert_allclose(getattr(found, name), values.mean(0), rtol=1e-4, atol=1e-6)
        spread = values.std(0, ddof=1) / np.sqrt(2)
        np.testing.assert_allclose(getattr(found, f"{name}_stderr"), spread, rtol=1e-3, atol=1e-6)


def test_token_ids():
    make = lambda rngs: nets.Transformer(vocabulary=3, width=8, heads=2, rngs=rngs)
    found = monte_carlo(make, np.array([[0, 1, 2]]), key=jax.random.key(0), draws=1, get="nngp")
    assert found.nngp.shape == (1, 1)
    assert found.nngp.dtype == jnp.float32
