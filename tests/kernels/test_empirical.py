"""The kernels of one finite network: those of neural-tangents, in any blocks, by group."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

from theorykit.kernels import empirical
from theorykit.kernels.tangents import nt
from theorykit.networks.nets import MLP, Transformer

from .tiers import tiers

X1 = np.random.default_rng(0).normal(size=(5, 4, 2))
X2 = np.random.default_rng(1).normal(size=(3, 6, 2))  # longer
SMALL = {"features": 2, "width": 6, "heads": 2, "activation": "erf"}
pytestmark = pytest.mark.usefixtures("x64")


def theirs(network, x1, x2, **axes):
    """Return NNGP and NTK by neural-tangents, input axes first: (P1, P2, ...)."""
    graph, weights = nnx.split(network)
    apply = lambda w, x: jax.vmap(nnx.merge(graph, w))(x)
    nngp, ntk = nt.empirical_nngp_fn(apply, **axes), nt.empirical_ntk_fn(apply, **axes)
    return jax.jit(lambda w: (nngp(x1, x2, w), ntk(x1, x2, w)))(weights)


def agree(ours, pair):
    """Ours has the axes of an output beside its input, theirs beside each other."""
    for got, expected in zip((ours.nngp, ours.ntk), pair, strict=True):
        got = np.moveaxis(got, got.ndim // 2, 1)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def deep():
    """A network with two layers, and what neural-tangents says of it."""
    with jax.enable_x64(True):
        network = Transformer(**SMALL, depth=2, sigma_b=0.3, outputs=3, rngs=1)
        return network, theirs(network, X1, X2, trace_axes=()), theirs(network, X1, None)


@pytest.mark.parametrize("block", tiers([None, 2, 5], [None, 2]))
def test_agrees_with_neural_tangents(block, deep):
    network, of_both, of_one = deep
    traces = [np.einsum("ijoo->ij", k) / 3 for k in of_both]
    agree(empirical(network, X1, X2, block=block), traces)
    own = empirical(network, X1, block=block)
    agree(own, of_one)
    assert np.array_equal(own.ntk, own.ntk.T)


def test_every_output(deep):
    network, of_both, _ = deep
    full = empirical(network, X1, X2, outputs="full", block=2)
    assert full.ntk.shape == full.nngp.shape == (5, 3, 3, 3)
    agree(full, of_both)


def test_every_token():
    network = Transformer(**SMALL, readout="tokens", outputs=2, rngs=1)
    ours = empirical(network, X1, X2, block=2)
    assert ours.ntk.shape == (5, 4, 3, 6)
    nngp, ntk = (np.moveaxis(k, 2, 1) for k in (ours.nngp, ours.ntk))
    for got, expected in zip((nngp, ntk), theirs(network, X1, X2), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_token_ids_and_mlp():
    ids = np.array([[0, 2, 1], [1, 1, 2], [2, 0, 0]])
    network = MLP(width=8, vocabulary=3, tokens=3, sigma_b=0.2, rngs=2)
    whole = empirical(network, ids)
    same = MLP(width=8, features=9, sigma_b=0.2, rngs=2)
    agree(whole, theirs(same, np.eye(3)[ids].reshape(3, 9), None))


def test_groups_add_up():
    network = Transformer(**SMALL, rngs=1)
    whole = empirical(network, X1, X2, get="ntk")
    assert whole.nngp is None
    parts = empirical(network, X1, X2, get="ntk", groups=True, block=2).ntk
    assert set(parts) == {"embedding", "blocks", "head"}
    np.testing.assert_allclose(sum(parts.values()), whole.ntk, rtol=1e-12)
    # The readout is linear and its weights have variance 1: its part is h h' / width.
    h = lambda x: jax.vmap(lambda x: network.hidden(x)[-1])(x)
    np.testing.assert_allclose(parts["head"], h(X1) @ h(X2).T / 6, rtol=1e-12)

    scores = lambda path: "scores" if {"query", "key"} & set(path) else "others"
    parts = empirical(network, X1, get="ntk", groups=scores).ntk
    np.testing.assert_allclose(sum(parts.values()), empirical(network, X1).ntk, rtol=1e-12)
    graph, frozen, weights = nnx.split(network, lambda path, _: scores(path) == "others", ...)
    value = lambda w: jax.vmap(nnx.merge(graph, frozen, w))(X1)[:, 0]
    slopes = jax.tree.leaves(jax.jacrev(value)(weights))
    expected = sum(jnp.einsum("i...,j...->ij", s, s) for s in slopes)
    np.testing.assert_allclose(parts["scores"], expected, rtol=1e-10)


def test_only_what_is_asked_for():
    network = Transformer(**SMALL)
    assert empirical(network, X1, get="nngp").ntk is None
    assert empirical(network, X1, get=("ntk",)).nngp is None


def test_under_vmap_over_networks():
    graph, _ = nnx.split(Transformer(**SMALL))
    draw = lambda key: nnx.state(Transformer(**SMALL, rngs=nnx.Rngs(params=key)))
    states = jax.vmap(draw)(jax.random.split(jax.random.key(0), 3))
    many = jax.vmap(lambda s: empirical(nnx.merge(graph, s), X1, X2).ntk)(states)
    third = nnx.merge(graph, jax.tree.map(lambda leaf: leaf[2], states))
    np.testing.assert_allclose(many[2], empirical(third, X1, X2).ntk, rtol=1e-10)


def plain(params, x):
    first = x @ params["first"]["kernel"]
    h = jnp.tanh(first + jnp.broadcast_to(params["first"]["value"], first.shape))
    return h @ params["last"]


def test_functions_and_linen_modules():
    """Both are the network that their arrays make, to neural-tangents too."""

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            shift = self.variable("state", "shift", lambda: jnp.full(2, 0.3))
            h = jnp.tanh(linen.Dense(4, name="first", param_dtype=float)(x + shift.value))
            return linen.Dense(3, name="last", use_bias=False, param_dtype=float)(h)

    x1, x2 = X1[:, 0], X2[:, 0]
    variables = Net().init(jax.random.key(0), x1[0])
    of = variables["params"]
    params = {
        "first": {"kernel": of["first"]["kernel"], "value": of["first"]["bias"]},
        "last": of["last"]["kernel"],
    }
    nngp = nt.empirical_nngp_fn(plain)(x1 + 0.3, x2 + 0.3, params)
    ntk = nt.empirical_ntk_fn(plain)(x1 + 0.3, x2 + 0.3, params)
    for options in ({}, {"block": 2}):
        agree(empirical((plain, params), x1 + 0.3, x2 + 0.3, **options), (nngp, ntk))
        agree(empirical((Net(), variables), x1, x2, **options), (nngp, ntk))
    parts = empirical((Net(), variables), x1, x2, groups=True).ntk
    assert set(parts) == {"first", "last"}
    again = empirical((plain, params), x1 + 0.3, x2 + 0.3, groups="/".join).ntk
    assert set(again) == {"first/kernel", "first/value", "last"}
    np.testing.assert_allclose(again["last"], parts["last"], rtol=1e-12)
    np.testing.assert_allclose(sum(again.values()), ntk, rtol=1e-10)
    # Of one array, the NTK of a linear function is x1 x2'.
    one = empirical((lambda w, x: x @ w, jnp.ones(2)), x1, x2, groups=True)
    np.testing.assert_allclose(one.ntk[""], x1 @ x2.T, rtol=1e-12)
    slope = jax.grad(lambda p: empirical((plain, p), x1, x2).ntk.sum())(params)
    step = lambda s: empirical((plain, {**params, "last": params["last"] + s}), x1, x2).ntk.sum()
    difference = (step(1e-5) - step(-1e-5)) / 2e-5
    np.testing.assert_allclose(slope["last"].sum(), difference, rtol=1e-7)


@pytest.mark.parametrize("inputs", [4, 24])
def test_gradients_of_a_block_at_a_time(inputs):
    """What the compiled program holds does not grow with the inputs."""
    from theorykit.kernels.empirical import _compiled, _Nnx

    network = MLP(width=64, features=8, rngs=0)
    graph, weights, rest = nnx.split(network, nnx.Param, ...)
    names = ("",) * len(jax.tree.leaves(weights))
    x = np.zeros((inputs, 8))
    lowered = _compiled.lower(_Nnx(graph), names, ("ntk",), "trace", 2, weights, rest, x)
    held = lowered.compile().memory_analysis().temp_size_in_bytes
    jacobian = 8 * network.parameters()
    assert held < 4 * 2 * jacobian + 8 * 8 * inputs**2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (dict(network=lambda x: x), r"network is an nnx.Module, or a pair .*, got function"),
        (dict(network=(plain, {})), r"params is a pytree of floating arrays, got \{\}"),
        (dict(network=(plain, {"w": np.arange(3)})), "params is a pytree of floating arrays"),
        (dict(network=(linen.Dense(2), {})), r'variables of a linen module have "params", got'),
        (dict(network=(lambda w, x: [x], jnp.ones(1))), "a network returns one array, got list"),
        (dict(get="kernel"), 'get names "nngp", "ntk" or both'),
        (dict(outputs="sum"), "outputs is one of 'trace', 'full', got 'sum'"),
        (dict(block=0), "block is a whole number of at least 1, got 0"),
        (dict(x1=np.zeros((0, 4, 2))), "x1 holds inputs along its first axis"),
        (dict(x2=X2 * np.nan), "x2 must be finite"),
        (dict(groups=lambda path: 1), "groups names each parameter, but .* is called 1"),
    ],
)
def test_bad_input(bad, message):
    with pytest.raises(ValueError, match=message):
        empirical(**{"network": Transformer(**SMALL), "x1": X1, **bad})
