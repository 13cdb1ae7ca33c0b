"""Attention of a decoder's tokens to an encoder's, against closed forms and finite networks."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.kernels import layers as k

from ..tiers import tiers

KEY = jax.random.key(0)
OPTIONS = dict(key=KEY, draws=64, replicates=1)
close = partial(np.testing.assert_allclose, rtol=2e-4, atol=1e-5)
vectors = lambda n, t, seed: np.float32(np.random.default_rng(seed).normal(size=(n, t, 2)))
SOURCES = vectors(1, 4, 0) + 0.3 * vectors(2, 4, 1)
TARGETS = vectors(1, 3, 2) + 0.3 * vectors(2, 3, 3)


def translator(*body, before=(), reading="mean"):
    """Return a decoder of one attention, or more, behind the same layers as its encoder."""
    return k.encoder_decoder(
        k.serial(k.Embed(features=2), *before),
        k.serial(k.Embed(features=2), *before, *body, k.Readout(reading)),
    )


@pytest.mark.parametrize(
    ("of", "place", "reading"),
    tiers(
        list(itertools.product(("softmax", "identity"), ("first", "second"), ("last", "mean"))),
        [("softmax", "second", "mean"), ("identity", "first", "last")],
    ),
)
def test_of_an_input_with_itself_it_is_self_attention(of, place, reading):
    """Scores have the law of independent queries and keys in both, and here the same draws."""
    x, before = vectors(3, 3, 2), (k.MLP("erf"),) * (place == "second")
    net = translator(k.CrossAttention(of, 1.5), before=before, reading=reading)
    own = k.serial(k.Embed(features=2), *before, k.Attention(of, 1.5), k.Readout(reading)).kernel(
        x, **OPTIONS
    )
    found = net.kernel((x, x), **OPTIONS)
    close(found.nngp, own.nngp)
    close(found.ntk, own.ntk)


GROUPS = (
    "['query']",
    "['key']",
    "['value']['weight']",
    "['decoder']['layers'][3]",
    "encoder",
    "decoder",
)


@partial(jax.jit, static_argnames=("make", "networks"))
def _every(make, x, networks):
    def one(key):
        graph, state = nnx.split(make(nnx.Rngs(params=key)))
        value = lambda p: jax.vmap(lambda *x: nnx.merge(graph, p)(x)[0])(*x)
        out = value(state)
        found = {"nngp": jnp.outer(out, out)}
        for path, j in jax.tree_util.tree_leaves_with_path(jax.jacrev(value)(state)):
            j, path = j.reshape(len(out), -1), jax.tree_util.keystr(path)
            group = next(name for name in GROUPS if name in path)
            found[group] = found.get(group, 0) + j @ j.T
        return found | {"ntk": sum(v for name, v in found.items() if name != "nngp")}

    return jax.lax.map(one, jax.random.split(jax.random.key(1), networks))


def average(net, x, networks, **sizes):
    """Return the means of networks' NNGP and NTK, also by group, and their standard errors."""
    every = _every(lambda rngs: net.module(**sizes, rngs=rngs), x, networks)
    every = {name: np.asarray(v, float) for name, v in every.items()}
    errors = {name: v.std(0, ddof=1) / networks**0.5 for name, v in every.items()}
    return {name: v.mean(0) for name, v in every.items()}, errors


@pytest.fixture(scope="module")
def terms():
    """Return the summands between the two inputs, in closed form for scores without a softmax."""

    def before(x):
        found = k.serial(k.Embed(features=2), k.MLP("erf"), k.Readout("tokens")).kernel(x)
        return found.nngp[0, :, 1], found.ntk[0, :, 1] - found.nngp[0, :, 1]

    (s, w), (sy, wy) = before(SOURCES), before(TARGETS)
    out = sy * (s * s).sum()
    return {
        "query": (GROUPS[0], out), "key": (GROUPS[1], out), "value": (GROUPS[2], out),
        "readout": (GROUPS[3], out), "below value": ("encoder", sy * (s * w).sum()),
        "below key": ("encoder", sy * (s * w).sum()),
        "below query": ("decoder", wy * (s * s).sum()),
    }  # fmt: skip


TERMS = ("value", "query", "key", "readout", "below value", "below key", "below query")
ALONE = translator(k.CrossAttention("identity"), before=(k.MLP("erf"),))


@pytest.fixture(scope="module")
def finite():
    return average(ALONE, (SOURCES, TARGETS), 256, width=80, heads=40, head_size=40)


def test_summands_make_the_layer(terms):
    found = ALONE.kernel((SOURCES, TARGETS))
    close(found.ntk[0, 1], sum(v.mean() for _, v in terms.values()))
    close(found.nngp[0, 1], terms["value"][1].mean())
    assert set(terms) == set(TERMS)


@pytest.mark.slow
@pytest.mark.parametrize("term", [None, *TERMS])
def test_networks_have_each_summand(finite, terms, term):
    """Each in the part of the NTK that is of the weights it comes from."""
    gaps = {}
    for group in dict.fromkeys(group for group, _ in terms.values()):
        right = sum(v.mean() for name, (g, v) in terms.items() if g == group and name != term)
        gaps[group] = abs(finite[0][group][0, 1] - right) / finite[1][group][0, 1]
    worst = max(gaps.values())
    assert worst < 4 if term is None else worst > 6, gaps


DEEP = k.encoder_decoder(
    k.serial(k.Embed(vocabulary=3), k.Positions(0.5), k.residual(k.Attention()), k.MLP("erf")),
    k.serial(
        k.Embed(vocabulary=3), k.Positions(0.5),
        k.residual(k.serial(k.LayerNorm(), k.Attention(mask="causal"))),
        k.residual(k.serial(k.LayerNorm(), k.CrossAttention(scale=1.5, projection=True))),
        k.MLP("erf"), k.Readout("mean"),
    ),
)  # fmt: skip
IDS = np.array([[0, 1, 2, 1], [2, 2, 1, 0]]), np.array([[0, 1, 2], [2, 1, 1]])


@pytest.mark.slow
def test_networks_approach_the_kernel_as_they_grow():
    found = DEEP.kernel(IDS, key=KEY, draws=2048, replicates=4)
    left = []
    for width, count in ((4, 2048), (48, 64)):
        mean, error = average(DEEP, IDS, count, width=width, heads=width // 2, head_size=width // 2)
        sure = np.hypot(error["nngp"], found.nngp_stderr), np.hypot(error["ntk"], found.ntk_stderr)
        both = zip(("nngp", "ntk"), (found.nngp, found.ntk), sure, strict=True)
        gaps = [(np.abs(mean[name] - k) - 4 * s).max() / k.max() for name, k, s in both]
        left.append(max(gaps))
    assert left[0] > 0.02 > left[1], left


@pytest.mark.slow
def test_rows_columns_and_groups_are_parts_of_one():
    whole = DEEP.kernel(IDS, **OPTIONS)
    first, second = (tuple(x[i : i + 1] for x in IDS) for i in range(2))
    close(DEEP.kernel(first, second, **OPTIONS).ntk, whole.ntk[:1, 1:])
    split = DEEP.kernel(IDS, **OPTIONS, groups=True).ntk
    close(sum(split.values()), whole.ntk)
    assert "decoder.layers.3.branch.layers.1.output" in split
    assert "encoder.layers.2.branch.query" in split


def test_padding_of_both_does_not_matter():
    net = translator(k.CrossAttention("identity"), k.MLP("erf"), before=(k.Attention("identity"),))
    padded = np.pad(SOURCES, [(0, 0), (0, 2), (0, 0)], constant_values=3), TARGETS
    mask = np.arange(6)[None] < np.array([[4], [4]]), np.array([[1, 1, 1], [1, 0, 1]], bool)
    found = net.kernel(padded, mask1=mask)
    short = SOURCES[1:], TARGETS[1:, [0, 2]]
    close(found.ntk[1:, 1:], net.kernel(short).ntk)
    module = net.module(width=8, heads=2)
    one = module((padded[0][1], padded[1][1]), (mask[0][1], mask[1][1]))
    close(one, module((short[0][0], short[1][0])))


def test_pairwise_draws_agree_with_joint_ones():
    net = translator(k.CrossAttention(scale=1.5), k.MLP("erf"), before=(k.MLP("erf"),))
    options = dict(key=KEY, draws=1024, replicates=4)
    joint, apart = (
        net.kernel((SOURCES, TARGETS), **options, draw=draw) for draw in ("joint", "pairwise")
    )
    error = np.hypot(joint.ntk_stderr, apart.ntk_stderr)
    assert np.all(np.abs(joint.ntk - apart.ntk) < 5 * error)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: k.CrossAttention(mask="causal"), "no mask in common"),
        (lambda: k.CrossAttention(positions=k.ALiBi()), "no mask in common"),
        (lambda: k.encoder_decoder(ALONE.decoder, ALONE.decoder), "has no Readout"),
        (lambda: k.encoder_decoder(ALONE.encoder, k.MLP()), "the decoder is a serial"),
        (lambda: k.encoder_decoder(ALONE.encoder, ALONE.encoder), "Readout as its last"),
        (lambda: ALONE.kernel(SOURCES), "x1 is a pair"),
        (lambda: ALONE.kernel((SOURCES[:1], TARGETS)), "1 sources and 2 targets"),
        (lambda: ALONE.decoder.kernel(TARGETS), "describe the network by encoder_decoder"),
    ],
)
def test_wrong_arguments_are_one_sentence(make, said):
    with pytest.raises(ValueError, match=said):
        make()
