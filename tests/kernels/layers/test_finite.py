"""Descriptions against themselves at finite width."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorykit.kernels import layers as k
from theorykit.kernels.attention import Linear, Sigmoid

from ..tiers import tiers
from .networks import average

IDS = np.array([[0, 1, 2], [2, 2, 1]])
SMALL = dict(width=64, heads=8, head_size=32)
ROPE = k.RoPE(base=2.0, frequencies=2)
PLACES = (k.Positions(0.5), k.Sinusoids(0.7, 4))
net = lambda *body, place=PLACES[0], reading="mean": k.serial(
    k.Embed(vocabulary=3), place, *body, k.Readout(reading)
)


def apart(net, x, networks, key=1, **sizes):
    """Return networks' mean kernels minus those of the description, and the standard error."""
    found = net.kernel(x, key=jax.random.key(0), draws=1024, replicates=8)
    mean, error = average(net, x, jax.random.key(key), networks, **(sizes or SMALL))
    own = np.stack([found.nngp_stderr, found.ntk_stderr])
    right = np.stack([found.nngp, found.ntk])
    return (mean - right) / np.abs(right).max((1, 2), keepdims=True), np.hypot(error, own) / np.abs(
        right
    ).max((1, 2), keepdims=True)


ATTENTIONS = {
    "projection": k.Attention(scale=1.5, mask=k.Prefix(1), projection=True),
    "rope": k.Attention(scale=1.5, mask="causal", positions=ROPE),
    "alibi": k.Attention(Sigmoid(-1.0), positions=k.ALiBi((2.0, 0.2))),
    "bias": k.Attention(scale=1.5, mask=k.Window(1), positions=k.RelativeBias(1.5)),
}


@pytest.mark.parametrize("name", tiers(ATTENTIONS, ["projection", "alibi"]))
def test_attention_is_the_mean_of_its_networks(name):
    """Their mean keeps a bias of order 1 / width, here allowed as one part in fifty."""
    difference, error = apart(net(ATTENTIONS[name]), IDS, 128)
    assert np.all(np.abs(difference) < 4 * error + 0.02)
    assert error[1].max() < 0.03


FRESH = st.sampled_from(
    [
        *ATTENTIONS.values(),
        k.Attention(Linear()),
        k.MLP("erf", sigma_b=0.2),
        k.GatedMLP("erf"),
        k.serial(k.Dense(1.2), k.Activation("relu"), k.Dense(1.0, 0.3)),
        k.serial(k.Attention(), k.LayerNorm()),
    ]
)
LAYERS = st.one_of(
    FRESH,
    st.builds(k.residual, FRESH, st.sampled_from([1.0, 0.5])),
    st.builds(lambda layer: k.residual(k.serial(k.RMSNorm(), layer)), FRESH),
    st.builds(lambda layer: k.serial(k.residual(layer), k.LayerNorm()), FRESH),
    st.builds(k.parallel, FRESH, FRESH),
    st.just(k.Pool()),
)
DESCRIPTIONS = st.builds(
    lambda place, body, reading: net(*body, place=place, reading=reading),
    st.sampled_from(PLACES),
    st.lists(LAYERS, min_size=1, max_size=3),
    st.sampled_from(["last", "mean"]),
)


@pytest.mark.slow
@given(described=DESCRIPTIONS)
@settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=HealthCheck)
def test_random_descriptions_are_their_networks(described):
    """The gap shrinks as the networks grow: what is allowed beside the errors is 4 / width."""
    for width in (32, 96):
        sizes = dict(width=width, heads=width // 4, head_size=32)
        difference, error = apart(described, IDS, 96, **sizes)
        assert np.all(np.abs(difference) < 4 * error + 4 / width), (width, difference, error)


def test_parameterisations_are_one_function_at_the_start():
    """Standard weights are the same normals, scaled when they are drawn; muP reads out less."""
    described = net(
        k.residual(k.serial(k.LayerNorm(), ATTENTIONS["bias"])), k.MLP("gelu", sigma_b=0.3),
        ATTENTIONS["projection"], k.GatedMLP(), place=PLACES[1],
    )  # fmt: skip
    out = {
        kind: described.module(**SMALL, parameterisation=kind, rngs=3)(IDS[0])
        for kind in ("ntk", "standard", "mup")
    }
    np.testing.assert_allclose(out["standard"], out["ntk"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(out["mup"] * 8, out["ntk"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("reading", "shape"), [("last", (2,)), ("mean", (2,)), ("tokens", (4, 2))])
def test_modules_do_not_see_padding(reading, shape):
    described = k.serial(
        k.Embed(features=3), k.Positions(), k.Attention(positions=k.RelativeBias()), k.Pool(),
        k.MLP(), k.Readout(reading, 2),
    )  # fmt: skip
    module = described.module(width=16, heads=4, rngs=0)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    mask = np.array([1, 1, 1, 0], bool)
    one, other = (module(a, mask) for a in (x, np.vstack([x[:3], 9 * x[3:]])))
    assert one.shape == shape
    np.testing.assert_allclose(one, other, rtol=1e-6)
    if reading != "tokens":
        np.testing.assert_allclose(one, module(x[:3]), rtol=1e-5, atol=1e-6)


def test_a_module_is_trained():
    described = net(k.residual(k.Attention(projection=True)), k.MLP())
    module = described.module(width=16, heads=2, parameterisation="standard", rngs=0)
    loss = lambda module: jnp.mean((jax.vmap(module)(IDS)[:, 0] - jnp.array([1.0, -1.0])) ** 2)
    graph, weights = nnx.split(module)
    value = jax.jit(lambda w: loss(nnx.merge(graph, w)))
    before = value(weights)
    for _ in range(20):
        slope = jax.grad(value)(weights)
        weights = jax.tree.map(lambda w, g: w - 0.05 * g, weights, slope)
    assert value(weights) < 0.5 * before
