"""The NTK of groups of weights: its sum, and the same groups of finite networks."""

from functools import partial

import jax
import numpy as np
import pytest

from theorykit import kernels
from theorykit.kernels import layers as k

from ..tiers import tiers

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


SMALL = {
    "pooled": k.serial(k.Embed(features=2), k.Positions(), k.RMSNorm(), k.Pool(), k.Dense(),
                       k.Readout("last")),
    "positions alone": k.serial(k.Embed(features=2), k.Positions(), k.Attention("identity"),
                                k.Readout("tokens")),
    "sums": k.serial(k.Embed(features=2), k.parallel(k.MLP("erf"), k.Attention()),
                     k.residual(k.GatedMLP("erf"), 0.5), k.Readout("last")),
}  # fmt: skip


@pytest.mark.parametrize("name", tiers(SMALL, ["positions alone", "sums"]))
def test_groups_add_up(name):
    options = dict(key=KEY, draws=64, replicates=1)
    whole = SMALL[name].kernel(X[:1], X[1:], **options)
    split = SMALL[name].kernel(X[:1], X[1:], **options, groups=True)
    close(split.nngp, whole.nngp)
    close(sum_of(split.ntk), whole.ntk)


@pytest.fixture(scope="module")
def infinite():
    return NET.kernel(IDS, key=KEY, draws=1024, replicates=4, groups=True)


def test_groups_of_all_kinds_add_up(infinite):
    whole = NET.kernel(IDS, key=KEY, draws=1024, replicates=4)
    close(infinite.nngp, whole.nngp)
    close(sum_of(infinite.ntk), whole.ntk)
    assert set(infinite.ntk) == set(infinite.ntk_stderr) == NAMES
    close(infinite.ntk["layers.4.query"], infinite.ntk["layers.4.key"])


def networks(width, count):
    """Return the mean NTK of networks by group, and its standard error."""

    @jax.jit
    def one(key):
        module = NET.module(width=width, heads=width // 2, head_size=width // 2, rngs=key)
        return kernels.empirical(module, IDS, get="ntk", groups=NET.group).ntk

    every = jax.lax.map(one, jax.random.split(jax.random.key(1), count))
    mean = {name: np.asarray(e).mean(0) for name, e in every.items()}
    return mean, {n: np.asarray(e).std(0, ddof=1) / count**0.5 for n, e in every.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("width", "count"), [(4, 2048), (48, 96)], ids=["narrow", "wide"])
def test_groups_are_those_of_wide_networks(infinite, width, count):
    """What is left of their gap beside its error is small, and is seen of narrow ones."""
    mean, error = networks(width, count)
    assert set(mean) == NAMES
    size = {name: infinite.ntk[name].max() for name in NAMES}
    gap = {n: np.abs(mean[n] - infinite.ntk[n]).max() / size[n] for n in NAMES}
    sure = {n: np.hypot(error[n], infinite.ntk_stderr[n]).max() / size[n] for n in NAMES}
    left = max(gap[n] - 4 * sure[n] for n in NAMES)
    assert (left > 0.02) == (width == 4), (left, gap, sure)


def test_groups_of_ones_own():
    """The same function is asked for kernels and for modules."""
    net = k.serial(k.Embed(features=2), k.Attention(projection=True), k.MLP(), k.Readout("last"))
    kind = lambda path: "attention" if path[1] == 1 else "others"
    split = net.kernel(X, key=KEY, draws=64, replicates=1, groups=kind).ntk
    finite = kernels.empirical(net.module(width=4), X, groups=kind).ntk
    assert set(split) == set(finite) == {"attention", "others"}
    with pytest.raises(ValueError, match="not the path of a parameter"):
        net.group(("layers", 9))


def test_gradients_and_jit_reach_groups():
    def query(scale):
        net = k.serial(k.Embed(features=2), k.Attention(scale=scale), k.Readout("last"))
        found = net.kernel(X, key=KEY, draws=64, replicates=1, groups=True).ntk
        return found["layers.1.query"][0, 1]

    step, both = 1e-2, jax.jit(jax.value_and_grad(query))
    (up, _), (_, slope), (down, _) = (both(1.2 + h) for h in (step, 0.0, -step))
    np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=0.02)


@pytest.mark.parametrize("groups", ["query", 3, lambda path: 1])
def test_wrong_groups_are_one_sentence(groups):
    with pytest.raises(ValueError, match="groups"):
        NET.kernel(IDS, key=KEY, draws=8, groups=groups)
