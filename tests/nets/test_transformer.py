"""Finite networks tend to the kernels: their covariance and their tangent kernel."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.kernels import InfiniteTransformer, oracle
from theorykit.nets import Transformer

X = np.random.default_rng(0).normal(size=(2, 2, 2)).astype("float32")
SIZES = {"features": 2, "width": 64, "heads": 32, "head_size": 32}
SMALL = {"features": 2, "width": 6, "heads": 2, "head_size": 3}
quick = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": "0"})


def parts(seed, **options):
    """Apply function and parameters of one network."""
    graph, state = nnx.split(Transformer(**options, rngs=seed))
    return lambda p, x, *mask: nnx.merge(graph, p)(x, *mask), state


def tangent(apply, state, xs):
    """Return outputs (P,) and the empirical NTK (P, P) of a network with one output."""
    value = lambda p: jax.vmap(lambda x: apply(p, x)[0])(xs)
    out, jac = value(state), jax.jacrev(value)(state)
    return out, sum(jnp.einsum("i...,j...->ij", j, j) for j in jax.tree.leaves(jac))


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({"depth": 1, "activation": "erf", "sigma_b": 0.3, "positions": 0.5}, {"width": 64}),
        (
            {
                "depth": 2,
                "activation": "relu",
                "causal": True,
                "readout": "mean",
                "residual": True,
                "layer_norm": True,
            },
            {"width": 96},
        ),
    ],
)
def test_networks_average_to_the_kernels(options, sizes):
    """64 networks with 32 heads. Their mean NTK keeps a bias of order 1 / width + 1 / heads,
    here smaller than the four standard errors that are allowed."""
    options = {"score_scale": 1.2, **options}
    template, _ = parts(0, **SIZES | sizes, **options)

    def one(key):
        rngs = nnx.Rngs(params=key)
        state = nnx.state(Transformer(**SIZES | sizes, **options, rngs=rngs))
        return tangent(template, state, X)

    run = quick(lambda keys: jax.lax.map(one, keys))
    out, ntk = map(np.asarray, run(jax.random.split(jax.random.key(1), 64)))
    exact = oracle.kernel(InfiniteTransformer(**options), X, order=24)
    for values, kernel in ((out[:, :, None] * out[:, None, :], exact.nngp), (ntk, exact.ntk)):
        stderr = values.std(0, ddof=1) / 8
        assert np.all(np.abs(values.mean(0) - kernel) < 4 * stderr)
    assert np.all(ntk.std(0) / 8 < 0.1 * np.abs(exact.ntk).max())


def test_empirical_ntk_is_that_of_neural_tangents():
    from theorykit.kernels.tangents import nt

    apply, state = parts(3, **SMALL, depth=2, activation="gelu", sigma_b=0.3)
    batched = lambda p, xs: jax.vmap(lambda x: apply(p, x))(xs)
    theirs = quick(nt.empirical_ntk_fn(batched))(X, None, state)
    ours = quick(lambda p: tangent(apply, p, X)[1])(state)
    np.testing.assert_allclose(theirs, ours, rtol=1e-4)


@pytest.mark.parametrize("readout", ["last", "mean", "tokens"])
@pytest.mark.parametrize("attention", ["softmax", "identity"])
def test_padded_tokens_change_nothing(readout, attention):
    net = Transformer(
        **SMALL, readout=readout, attention=attention, positions=0.5, residual=True, outputs=3
    )
    x = jnp.concatenate([X[0], jnp.full((2, 2), 1e3)])
    mask = jnp.array([True, True, False, False])
    padded, plain = quick(lambda: (net(x, mask), net(X[0])))()
    if readout == "tokens":
        assert padded.shape == (4, 3)
        assert not np.any(padded[2:])
        padded = padded[:2]
    np.testing.assert_allclose(padded, plain, rtol=1e-5)


def test_causal_networks_do_not_look_ahead():
    net = Transformer(**SMALL, readout="tokens", causal=True, depth=2)
    both = quick(lambda a, b: (net(a), net(b)))
    first, second = both(X[0], X[0] + np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(first[0], second[0], rtol=1e-6)
    assert not np.allclose(first[1], second[1], rtol=1e-2)


def test_one_seed_is_one_network():
    (_, a), (_, b), (_, c) = (parts(seed, **SMALL) for seed in (0, 0, 1))
    same = lambda x, y: all(map(np.array_equal, jax.tree.leaves(x), jax.tree.leaves(y)))
    assert same(a, b)
    assert not same(a, c)
    _, half = parts(0, **SMALL, dtype=jnp.bfloat16)
    assert {leaf.dtype for leaf in jax.tree.leaves(half)} == {jnp.dtype("bfloat16")}


@pytest.mark.parametrize("name", ["activation", "readout", "attention"])
def test_unknown_options(name):
    with pytest.raises(ValueError, match=f"{name} is one of '.*', got 'nothing'"):
        Transformer(**SMALL, **{name: "nothing"})
