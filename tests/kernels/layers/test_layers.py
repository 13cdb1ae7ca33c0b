"""Descriptions against the transformer that was there before, and against finite networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorykit.kernels import InfiniteTransformer, oracle
from theorykit.kernels import layers as k
from theorykit.kernels.attention import Linear, Sigmoid

X = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]], bool)
IDS = np.array([[0, 1, 2], [2, 2, 1]])


def block(attention, **options):
    """Attention and MLP, as in `InfiniteTransformer` with residuals and norms."""
    mlp = k.MLP("erf", hidden=False, sigma_b=0.3)
    attend = k.Attention(attention, **options)
    return [k.residual(k.serial(k.LayerNorm(), branch)) for branch in (attend, mlp)]


def same(readout, attention="identity", depth=2, scale=1.0):
    """The same network, described twice."""
    options = dict(residual=True, layer_norm=True, activation="erf", positions=0.4, sigma_b=0.3)
    old = InfiniteTransformer(
        attention=attention, depth=depth, causal=True, readout=readout, score_scale=scale, **options
    )
    body = [b for _ in range(depth) for b in block(attention, mask="causal", scale=scale)]
    return old, k.network(k.Embed(features=2), k.Positions(0.4), *body, k.Readout(readout))


@pytest.mark.parametrize("readout", ["last", "mean", "tokens"])
def test_a_transformer_without_draws_is_the_old_one(readout):
    old, new = same(readout)
    one, other = old(X, mask1=MASK), new.kernel(X, mask1=MASK, draws=1, replicates=1)
    np.testing.assert_allclose(other.nngp, one.nngp, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(other.ntk, one.ntk, rtol=1e-5, atol=1e-4)


def test_a_transformer_with_draws_is_that_of_the_oracle():
    old, new = same("mean", "softmax", depth=1, scale=0.8)
    exact = oracle.kernel(old, X[:2, :2].astype(float), order=12)
    found = new.kernel(X[:2, :2], key=jax.random.key(0), draws=512, replicates=32)
    for value, error, right in (
        (found.nngp, found.nngp_stderr, exact.nngp),
        (found.ntk, found.ntk_stderr, exact.ntk),
    ):
        assert np.all(np.abs(value - right) < 4 * error)
        assert np.all(error < 0.02 * np.abs(right).max())


def test_token_ids_stand_for_one_hot_vectors():
    body = [k.Positions(0.5), k.Attention("identity"), k.MLP()]
    one = k.network(k.Embed(vocabulary=3), *body, k.Readout("mean")).kernel(IDS)
    hot = np.eye(3, dtype=np.float32)[IDS]
    other = k.network(k.Embed(features=3), *body, k.Readout("mean")).kernel(hot)
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-6)
    cross = k.network(k.Embed(vocabulary=3), *body, k.Readout("mean")).kernel(IDS[:1], IDS[1:])
    np.testing.assert_allclose(cross.ntk, one.ntk[:1, 1:], rtol=1e-6)


def test_masks_by_hand():
    sees = lambda mask: k.masks.seen(mask, np.ones(3, bool)).astype(int).tolist()
    assert sees(k.Causal()) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert sees(k.Window(1)) == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert sees(k.Window(1, causal=False)) == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert sees(k.Prefix(2)) == [[1, 1, 0], [1, 1, 0], [1, 1, 1]]
    assert sees(k.Given(((True, False, True),) * 3)) == [[1, 0, 1]] * 3


def average(net, x, key, networks=96, **sizes):
    """Return the mean empirical NTK of networks, and its standard error."""

    def one(key):
        graph, state = nnx.split(net.module(**sizes, rngs=nnx.Rngs(params=key)))
        value = lambda p: jax.vmap(lambda x: nnx.merge(graph, p)(x)[0])(jnp.asarray(x))
        jac = jax.jacrev(value)(state)
        return sum(jnp.einsum("i...,j...->ij", j, j) for j in jax.tree.leaves(jac))

    run = jax.jit(lambda keys: jax.lax.map(one, keys))
    ntk = np.asarray(run(jax.random.split(key, networks)))
    return ntk.mean(0), ntk.std(0, ddof=1) / networks**0.5


FRESH = st.sampled_from(
    [
        k.Attention("softmax", mask="causal"),
        k.Attention(Sigmoid(-1.0), mask=k.Window(1)),
        k.Attention(Linear()),
        k.MLP("erf", sigma_b=0.2),
        k.GatedMLP("erf"),
        k.serial(k.Dense(1.2), k.Activation("erf"), k.Dense(1.0, 0.3)),
    ]
)
LAYERS = st.one_of(
    FRESH,
    st.builds(k.residual, FRESH, st.sampled_from([1.0, 0.5])),
    st.builds(lambda layer: k.residual(k.serial(k.RMSNorm(), layer)), FRESH),
    st.builds(k.parallel, FRESH, FRESH),
)
DESCRIPTIONS = st.builds(
    lambda place, body, reading: k.network(k.Embed(vocabulary=3), place, *body, k.Readout(reading)),
    st.sampled_from([k.Positions(0.5), k.Sinusoids(0.7, 4)]),
    st.lists(LAYERS, min_size=1, max_size=3),
    st.sampled_from(["last", "mean"]),
)


@pytest.mark.slow
@given(net=DESCRIPTIONS)
@settings(max_examples=12, derandomize=True, suppress_health_check=list(HealthCheck))
def test_random_descriptions_are_their_networks(net):
    """Their mean NTK keeps a bias of order 1 / width, here allowed as one part in twenty."""
    found = net.kernel(IDS, key=jax.random.key(0), draws=256, replicates=4)
    mean, error = average(net, IDS, jax.random.key(1), width=96, heads=16, head_size=32)
    slack = 4 * np.hypot(error, found.ntk_stderr) + 0.05 * np.abs(found.ntk).max()
    assert np.all(np.abs(mean - found.ntk) < slack)


def test_derivatives_in_the_scales_of_a_description():
    def entry(net):
        return net.kernel(IDS, key=jax.random.key(0), draws=8, replicates=1).ntk[0, 1]

    net = k.network(k.Embed(vocabulary=3), k.Positions(0.5), k.Attention(), k.MLP(), k.Readout())
    slopes = jax.tree.leaves(jax.jit(jax.grad(entry))(net))
    assert len(slopes) == 4  # of the positions, the scores, and the MLP's two
    assert all(np.isfinite(slopes))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: k.residual(k.Activation()), "a summand ends with weights of its own"),
        (lambda: k.parallel(k.MLP(), k.LayerNorm()), "a summand ends with weights of its own"),
        (lambda: k.serial(k.Activation(), k.LayerNorm()), r"LayerNorm\(\) reads Gaussian tokens"),
        (lambda: k.serial(k.Activation(), k.Positions(), k.Activation()), "reads Gaussian tokens"),
        (lambda: k.serial(k.MLP(), "relu"), "serial puts layers one after the other, got"),
        (lambda: k.network(k.MLP(), k.Readout()), "the first layer is an Embed"),
        (lambda: k.Embed(), "Embed takes vocabulary=V"),
        (lambda: k.Attention(mask="diagonal"), 'mask is None, "causal", Window'),
        (lambda: k.network(k.Embed(vocabulary=2), k.Readout()).kernel(IDS), "between 0 and 1"),
    ],
)
def test_descriptions_that_would_be_wrong_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
