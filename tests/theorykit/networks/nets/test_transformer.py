"""Finite networks tend to the kernels: their covariance and their tangent kernel."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from theorykit.kernels import InfiniteTransformer, oracle
from theorykit.networks.nets import Transformer, transformer

X = np.random.default_rng(0).normal(size=(2, 2, 2)).astype("float32")
SIZES = {"features": 2, "width": 64, "heads": 32, "head_size": 32}
SMALL = {"features": 2, "width": 6, "heads": 2, "head_size": 3}
OPTIMISED = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}


def parts(seed, **options):
    """Apply function and parameters of one network."""
    graph, state = nnx.split(Transformer(**options, rngs=seed))
    return lambda p, x, *mask: nnx.merge(graph, p)(x, *mask), state


def tangent(apply, state, xs):
    """Return outputs (P,) and the empirical NTK (P, P) of a network with one output."""
    value = lambda p: jax.vmap(lambda x: apply(p, x)[0])(xs)
    out, jac = value(state), jax.jacrev(value)(state)
    return out, sum(jnp.einsum("i...,j...->ij", j, j) for j in jax.tree.leaves(jac))


@pytest.mark.slow
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

    def draw(key):
        return nnx.state(Transformer(**SIZES | sizes, **options, rngs=nnx.Rngs(params=key)))

    # Tens of millions of numbers: here it pays to optimise.
    drawn = jax.jit(functools.partial(jax.lax.map, draw), compiler_options=OPTIMISED)
    run = jax.jit(functools.partial(jax.lax.map, lambda state: tangent(template, state, X)))
    out, ntk = map(np.asarray, run(drawn(jax.random.split(jax.random.key(1), 64))))
    exact = oracle.kernel(InfiniteTransformer(**options), X, order=24)
    for values, kernel in ((out[:, :, None] * out[:, None, :], exact.nngp), (ntk, exact.ntk)):
        stderr = values.std(0, ddof=1) / 8
        assert np.all(np.abs(values.mean(0) - kernel) < 4 * stderr)
    assert np.all(ntk.std(0) / 8 < 0.1 * np.abs(exact.ntk).max())


def test_empirical_ntk_is_that_of_neural_tangents():
    from theorykit.kernels.tangents import nt

    apply, state = parts(3, **SMALL, depth=2, activation="gelu", sigma_b=0.3)
    batched = lambda p, xs: jax.vmap(lambda x: apply(p, x))(xs)
    theirs = jax.jit(nt.empirical_ntk_fn(batched))(X, None, state)
    ours = jax.jit(lambda p: tangent(apply, p, X)[1])(state)
    np.testing.assert_allclose(theirs, ours, rtol=1e-4)


@pytest.mark.parametrize("readout", ["last", "mean", "tokens"])
@pytest.mark.parametrize("attention", ["softmax", "identity"])
def test_padded_tokens_change_nothing(readout, attention):
    net = Transformer(
        **SMALL, readout=readout, attention=attention, positions=0.5, residual=True, outputs=3
    )
    x = jnp.concatenate([X[0], jnp.full((2, 2), 1e3)])
    mask = jnp.array([True, True, False, False])
    padded, plain = jax.jit(lambda: (net(x, mask), net(X[0])))()
    if readout == "tokens":
        assert padded.shape == (4, 3)
        assert not np.any(padded[2:])
        padded = padded[:2]
    np.testing.assert_allclose(padded, plain, rtol=1e-5)


def test_causal_networks_do_not_look_ahead():
    net = Transformer(**SMALL, readout="tokens", causal=True, depth=2)
    both = jax.jit(lambda a, b: (net(a), net(b)))
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


TRAINED = {"vocabulary": 5, "width": 8, "heads": 2, "parameterisation": "standard"}
IDS = jnp.array([3, 0, 0, 4, 1])


@pytest.mark.parametrize("parameterisation", ["ntk", "standard"])
def test_token_ids_are_one_hot_vectors(parameterisation):
    options = {"width": 8, "heads": 2, "depth": 2, "parameterisation": parameterisation, "rngs": 4}
    by_id = Transformer(vocabulary=5, **options)
    by_vector = Transformer(features=5, **options)
    table = by_id.embedding.effective()
    multiplier = by_vector.embedding.multiplier
    by_vector.embedding.weight = nnx.Param(table / multiplier)
    np.testing.assert_allclose(by_id(IDS), by_vector(jax.nn.one_hot(IDS, 5)), rtol=1e-5)
    if parameterisation == "ntk":  # the same draws, too
        again = Transformer(features=5, **options)
        np.testing.assert_allclose(by_id(IDS), again(jax.nn.one_hot(IDS, 5)), rtol=1e-5)


def test_rotary_scores_depend_on_differences_of_positions():
    net = Transformer(**TRAINED, positions="rotary", readout="tokens", outputs=2)
    z = jnp.broadcast_to(net.embed(IDS[:1]), (6, 8))  # the same token everywhere
    attention, size = net.blocks[0].attention, 4
    q = jnp.einsum("td,hde->hte", z, attention.query.effective())
    k = jnp.einsum("td,hde->hte", z, attention.key.effective())
    turned = [transformer.rotate(x, net.rotation(6, 3)) for x in (q, k)]
    scores = np.asarray(jnp.einsum("hae,hce->hac", *turned))
    for h in range(2):
        for away in range(-4, 5):
            np.testing.assert_allclose(np.ptp(np.diagonal(scores[h], away)), 0, atol=1e-5)
    assert np.ptp(scores[0, 0]) > 0.01
    np.testing.assert_allclose(np.diagonal(scores[0]), (q * k).sum(-1)[0], rtol=1e-4)
    # In the first pair of entries each position turns by one radian.
    assert net.rotation(6).shape == (6, size // 2)
    np.testing.assert_allclose(net.rotation(6)[:, 0], np.arange(6))
    both = net(IDS), net(IDS, offset=17)
    np.testing.assert_allclose(*both, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("positions", ["learned", "onehot"])
def test_an_offset_moves_along_the_positions(positions):
    net = Transformer(**TRAINED, positions=positions, max_tokens=8)
    moved = net.embed(IDS, offset=2) - net.embed(IDS)
    table = np.eye(8) if positions == "onehot" else net.position_table[...]
    np.testing.assert_allclose(moved, table[2:7] - table[:5], atol=1e-6)
    with pytest.raises(ValueError, match="9 tokens is longer than the 8 positions"):
        net(jnp.zeros(9, int))
    for offset in (-1, 4):
        with pytest.raises(ValueError, match=f"offsets from 0 to 3, not {offset}"):
            net(IDS, offset=offset)


@pytest.mark.parametrize("positions", ["rotary", None])
def test_any_offset_is_taken_where_positions_have_no_table(positions):
    net = Transformer(**TRAINED, positions=positions, max_tokens=8)
    for offset in (-1, 4):
        np.testing.assert_allclose(net(IDS, offset=offset), net(IDS), rtol=1e-4, atol=1e-6)


def test_logits_times_the_log_of_the_length():
    options = {**TRAINED, "readout": "tokens"}
    plain = Transformer(**options, score_scale=float(np.log(5)))
    scaled = Transformer(**options, log_length=True)
    np.testing.assert_allclose(plain(IDS), scaled(IDS), rtol=1e-5)
    # A causal token counts what it sees: alone, its logit is multiplied by log 1.
    causal = Transformer(**options, log_length=True, causal=True)
    weights = causal.attention_weights(IDS)[0]
    scores = Transformer(**options).blocks[0].attention
    z = causal.embed(IDS)
    q, k = (jnp.einsum("td,hde->hte", z, w.effective()) for w in (scores.query, scores.key))
    logits = jnp.einsum("hae,hce->hac", q, k) / 2
    row = jax.nn.softmax(logits[:, 3, :4] * jnp.log(4.0), -1)
    np.testing.assert_allclose(weights[:, 3, :4], row, rtol=1e-4)
    mask = jnp.arange(7) < 5
    padded = scaled(jnp.concatenate([IDS, IDS[:2]]), mask)[:5]
    np.testing.assert_allclose(padded, scaled(IDS), rtol=1e-5)


@pytest.mark.parametrize("scalars", [(0.3, -0.7), [0.3, -0.7]])
def test_scalars_shift_both_circuits_by_a_multiple_of_one(scalars):
    net = Transformer(**TRAINED, mlp=None, readout="tokens", scalars=scalars)
    hash(net.options)
    attention = net.blocks[0].attention
    z = np.asarray(net.embed(IDS))
    expected = np.zeros_like(z)
    for h in range(2):
        Q, K, V = (
            np.asarray(m.effective()[h]) for m in (attention.query, attention.key, attention.value)
        )
        O = np.asarray(attention.output.effective()[h])
        A = jax.nn.softmax(z @ (Q @ K.T + 0.3 * np.eye(8)) @ z.T / np.sqrt(4), -1)
        expected += A @ z @ (V @ O - 0.7 * np.eye(8))
    np.testing.assert_allclose(
        net.blocks[0](jnp.asarray(z), None, None), expected, rtol=1e-4, atol=1e-5
    )
    slopes = nnx.grad(lambda n: n(IDS).sum())(net)
    assert np.all(np.abs(slopes["blocks"][0]["attention"]["b"][...]) > 1e-4)


def test_a_tied_readout_is_the_embedding():
    net = Transformer(**TRAINED, tied=True)
    assert net(IDS).shape == (5,)
    h = net.hidden(IDS)[-1]
    expected = net.embedding.effective() @ h / np.sqrt(8)
    np.testing.assert_allclose(net(IDS), expected, rtol=1e-5, atol=1e-6)
    assert net.parameters() == Transformer(**TRAINED, outputs=5).parameters() - 5 * 8


def steps_of_adam(width, parameterisation, seeds=8):
    """Sizes of the output, and of the change of hidden tokens and outputs in 3 steps of Adam."""
    sizes = dict(width=width, heads=4, parameterisation=parameterisation)
    make = lambda rngs: Transformer(vocabulary=5, norm="rms", residual=True, rngs=rngs, **sizes)
    graph, _ = nnx.split(make(0))
    outputs = lambda state: nnx.merge(graph, state)(IDS)[0]
    tokens = lambda state: nnx.merge(graph, state).hidden(IDS)[-1]
    adam = optax.adam(0.03)

    def one(key):
        first = nnx.state(make(nnx.Rngs(params=key)))

        def step(_, state):
            now, moments = state
            slopes = jax.grad(lambda s: (outputs(s) - 1.0) ** 2)(now)
            change, moments = adam.update(slopes, moments)
            return optax.apply_updates(now, change), moments

        last, _ = jax.lax.fori_loop(0, 3, step, (first, adam.init(first)))
        moved = ((tokens(last) - tokens(first)) ** 2).mean()
        return jnp.stack([outputs(first) ** 2, moved, (outputs(last) - outputs(first)) ** 2])

    run = jax.jit(lambda keys: jax.lax.map(one, keys))
    return np.sqrt(run(jax.random.split(jax.random.key(0), seeds)).mean(0))


@pytest.mark.slow
def test_mup_learns_features_at_every_width():
    """One learning rate moves tokens and outputs as much at width 256 as at 32; the output starts
    at a size that falls as the root of the width. The standard parameterisation does neither."""
    small, large = (steps_of_adam(width, "mup") for width in (32, 256))
    assert 0.1 < large[0] / small[0] < 0.7
    assert 0.6 < large[1] / small[1] < 1.6
    assert 0.6 < large[2] / small[2] < 1.6
    small, large = (steps_of_adam(width, "standard") for width in (32, 256))
    assert 0.6 < large[0] / small[0] < 1.6
    assert large[2] > 1.5 * small[2]


def test_standard_weights_have_variance_one_over_fan_in():
    net = Transformer(vocabulary=5, width=64, heads=4, mlp="two", parameterisation="standard")
    block = net.blocks[0]
    for layer, fan_in in (
        (block.attention.query, 64),
        (block.attention.output, 64),
        (block.expand, 64),
        (block.linear, 256),
    ):
        weight = np.asarray(layer.effective())
        np.testing.assert_allclose(weight.std() * np.sqrt(fan_in), 1, atol=0.05)
        assert layer.multiplier == 1


def test_counts_of_weights_and_operations():
    net = Transformer(vocabulary=5, width=8, heads=2, depth=2, mlp="two", outputs=3,
                      parameterisation="standard")  # fmt: skip
    block = 4 * 8 * 8 + 8 * 32 + 32 + 32 * 8 + 8
    assert net.parameters() == 5 * 8 + 2 * block + 8 * 3
    attention = 2 * (3 * 2 * 6 * 8 * 4 + 2 * 2 * 6 * 6 * 4) + 2 * 6 * 8 * 8
    assert net.flops(6) == 2 * (attention + 2 * 2 * 6 * 8 * 32) + 2 * 8 * 3
    reference = Transformer(**SMALL)
    heads = 4 * 6 * 6 * 3 + 2 * 6 * 6**2 + 2 * 6**2 * (3 + 6)  # capture paper, A.2
    assert reference.flops(6) == 2 * 6 * 6 * 2 + 2 * heads + 2 * 6 * 6**2 + 2 * 6


@pytest.mark.parametrize("readout", ["last", "mean"])
@pytest.mark.parametrize("mlp", ["one", "two", None])
@pytest.mark.parametrize("norm", [None, "layer", "rms"])
def test_every_shape_of_block(readout, mlp, norm):
    net = Transformer(**TRAINED, readout=readout, mlp=mlp, norm=norm, residual=True, causal=True)
    mask = jnp.arange(7) < 5
    padded = jnp.concatenate([IDS, IDS[:2]])
    np.testing.assert_allclose(net(padded, mask), net(IDS), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (dict(heads=3), "3 heads do not divide the width 8; give head_size, or a width such as 6"),
        (dict(features=2), "takes features=d .* or vocabulary=V"),
        (dict(positions="rotary", head_size=3), "rotate pairs, but head_size 3 is odd"),
        (dict(positions="onehot", max_tokens=9), "9 one-hot positions do not fit into the width 8"),
        (dict(positions="sinus"), "positions is one of 'learned', 'rotary', 'onehot'"),
        (dict(norm="batch"), "norm is one of None, 'layer', 'rms', got 'batch'"),
        (dict(mlp="three"), "mlp is one of 'one', 'two', None"),
        (dict(parameterisation="ntp"), "parameterisation is one of 'ntk', 'standard', 'mup'"),
        (dict(tied=True, outputs=2), "a tied readout has one output per symbol"),
    ],
)
def test_options_that_do_not_fit(bad, message):
    with pytest.raises(ValueError, match=message):
        Transformer(**{**TRAINED, **bad})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(heads=0), "heads is a whole number of at least 1, got 0"),
        (dict(width=-8), "width is a whole number of at least 1, got -8"),
        (dict(depth=-1), "depth is a whole number of at least 0, got -1"),
        (dict(scalars=1.0), "scalars are two numbers"),
        (dict(rngs=None), "rngs are nnx.Rngs, a seed or a key, got NoneType"),
    ],
)
def test_sizes_that_make_no_network(options, message):
    with pytest.raises(ValueError, match=message):
        Transformer(**dict(features=3, width=8, heads=2, rngs=0) | options)


def test_inputs_that_are_not_the_networks():
    vectors = Transformer(features=3, width=8, heads=2)
    ids = Transformer(vocabulary=6, width=8, heads=2, positions="learned", max_tokens=6)
    for network, x, message in [
        (vectors, np.ones((2, 4, 3)), r"shape \(T, 3\), got \(2, 4, 3\)"),
        (vectors, np.ones((4, 2)), r"shape \(T, 3\), got \(4, 2\)"),
        (ids, np.array([2, 9]), "between 0 and 5, got 2 to 9"),
        (ids, np.ones(3), "token ids are integers"),
        (ids, np.ones((2, 3), int), "a row of token ids"),
    ]:
        with pytest.raises(ValueError, match=message):
            network(x)
    with pytest.raises(ValueError, match="offsets from 0 to 1, not 50"):
        ids(np.ones(5, int), offset=50)
