"""The NTK of groups of weights: its sum, and the same groups of finite networks."""

from functools import partial

import jax
import numpy as np
import pytest

from theorykit import kernels
from theorykit.kernels import layers as k

X = np.float32(np.random.default_rng(0).normal(size=(3, 3, 2)))
IDS = np.array([[0, 1, 2], [2, 2, 1]])
KEY = jax.random.key(0)
NET = k.serial(
    k.Embed(vocabulary=3), k.Positions(0.7),
    k.residual(k.serial(k.LayerNorm(), k.Attention(scale=1.5, projection=True))),
    k.MLP("erf", sigma_b=0.5),
    k.Attention(mask="causal", positions=k.RelativeBias(1.5)),
    k.Readout("mean"),
)  # fmt: skip
NAMES = {
    "layers.0", "layers.1", "layers.3", "layers.5",
    *(f"layers.2.branch.layers.1.{w}" for w in ("query", "key", "value", "output")),
    *(f"layers.4.{w}" for w in ("query", "key", "value", "positions")),
}  # fmt: skip
sum_of = lambda groups: sum(groups.values())
close = partial(np.testing.assert_allclose, rtol=2e-4, atol=1e-5)


DESCRIPTIONS = {
    "all kinds": (NET, IDS),
    "pooled": (k.serial(k.Embed(features=2), k.Positions(), k.RMSNorm(), k.Pool(), k.Dense(),
                        k.Readout("last")), X),
    "positions alone": (k.serial(k.Embed(features=2), k.Positions(), k.Attention("identity"),
                                 k.Readout("tokens")), X),
    "sums": (k.serial(k.Embed(features=2), k.parallel(k.MLP("erf"), k.Attention()),
                      k.residual(k.GatedMLP("erf"), 0.5), k.Readout("last")), X),
}  # fmt: skip


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_groups_add_up(name):
    net, x = DESCRIPTIONS[name]
    options = dict(key=KEY, draws=64, replicates=2)
    whole, split = net.kernel(x, **options), net.kernel(x, **options, groups=True)
    close(split.nngp, whole.nngp)
    close(sum_of(split.ntk), whole.ntk)
    assert split.ntk.keys() == split.ntk_stderr.keys()
    rows = net.kernel(x[:1], x[1:], **options, groups=True)
    close(sum_of(rows.ntk), net.kernel(x[:1], x[1:], **options).ntk)


def by_kind(path):
    """Return one group of each kind; the same function is asked for kernels and for modules."""
    kinds = ("query", "key", "value", "output", "positions")
    return next((kind for kind in kinds if kind in path), f"layer {path[1]}")


def test_names_are_those_of_the_modules():
    split = NET.kernel(IDS, key=KEY, draws=8, replicates=1, groups=True)
    module = NET.module(width=8, heads=2)
    finite = kernels.empirical(module, IDS, groups=NET.group)
    assert set(split.ntk) == set(finite.ntk) == NAMES
    split = NET.kernel(IDS, key=KEY, draws=8, replicates=1, groups=by_kind)
    assert set(split.ntk) == set(kernels.empirical(module, IDS, groups=by_kind).ntk)
    with pytest.raises(ValueError, match="no path of a parameter"):
        NET.group(("layers", 9))


@pytest.fixture(scope="module")
def infinite():
    return NET.kernel(IDS, key=KEY, draws=1024, replicates=4, groups=by_kind)


def networks(width, count):
    """Return the mean NTK of networks by group, and its standard error."""

    @jax.jit
    def one(key):
        module = NET.module(width=width, heads=width // 2, head_size=width // 2, rngs=key)
        return kernels.empirical(module, IDS, get="ntk", groups=by_kind).ntk

    every = jax.lax.map(one, jax.random.split(jax.random.key(1), count))
    mean = jax.tree.map(lambda e: np.asarray(e).mean(0), every)
    return mean, jax.tree.map(lambda e: np.asarray(e).std(0, ddof=1) / count**0.5, every)


def test_groups_are_those_of_networks_as_they_grow(infinite):
    worst = []
    for width, count in ((8, 512), (48, 96)):
        mean, error = networks(width, count)
        gaps = {n: np.abs(mean[n] - infinite.ntk[n]).max() / infinite.ntk[n].max() for n in mean}
        allowed = {n: 4.5 * error[n].max() / infinite.ntk[n].max() for n in mean}
        worst.append(max(gaps[n] - allowed[n] for n in mean))
        if width == 48:
            assert all(gaps[n] < allowed[n] + 0.05 for n in mean), (gaps, allowed)
    assert worst[1] < max(worst[0], 0.02)


def test_gradients_and_jit_reach_groups():
    def query(scale):
        net = k.serial(k.Embed(features=2), k.Attention(scale=scale), k.Readout("last"))
        found = net.kernel(X, key=KEY, draws=64, replicates=1, groups=True).ntk
        return found["layers.1.query"][0, 1]

    step = 1e-2
    slope = jax.jit(jax.grad(query))(1.2)
    np.testing.assert_allclose(
        slope, (query(1.2 + step) - query(1.2 - step)) / (2 * step), rtol=0.02
    )


@pytest.mark.parametrize("groups", ["query", 3, lambda path: 1])
def test_wrong_groups_are_one_sentence(groups):
    with pytest.raises(ValueError, match="groups"):
        NET.kernel(IDS, key=KEY, draws=8, groups=groups)
