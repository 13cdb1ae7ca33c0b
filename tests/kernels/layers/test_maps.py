"""Feature maps: their products are the kernels, and what has none is refused."""

import jax
import numpy as np
import pytest

from theorykit import kernels
from theorykit.kernels import InfiniteTransformer, features
from theorykit.kernels import layers as k
from theorykit.kernels.attention import Concentrated, Linear, NormalisedRelu, Sigmoid
from theorykit.kernels.layers import attention

from ..tiers import tiers

pytestmark = pytest.mark.usefixtures("x64")

X = np.random.default_rng(0).normal(size=(5, 4, 3))
MASK = np.ones((5, 4), bool)
MASK[1, 3] = MASK[2, 1:] = False
DRAWN = dict(key=jax.random.key(0), draws=6)


def net(*body, reading="last"):
    return k.serial(k.Embed(features=3), *body, k.Readout(reading))


BOTH = {
    "softmax": net(k.Attention(scale=1.3)),
    "softmax, causal, the mean": net(k.Positions(0.4), k.Attention(mask="causal"), reading="mean"),
    "sigmoid, projected": net(k.Attention(Sigmoid(-1.0), projection=True), reading="mean"),
    "normalised ReLU in a block": net(
        k.Sinusoids(0.7, frequencies=3),
        k.residual(k.serial(k.LayerNorm(), k.Attention(NormalisedRelu(0.5))), 0.6),
        k.residual(k.Dense(1.2, 0.3), 0.8),
    ),
    "two heads of another kind": net(
        k.parallel(k.Attention(scale=2.0), k.serial(k.Pool(), k.Attention())), k.RMSNorm()
    ),
    "identity": net(k.Attention("identity", scale=0.7, mask="causal"), reading="mean"),
    "identity, projected": net(k.RMSNorm(), k.Attention("identity", projection=True)),
    "settled weights, deep": net(
        k.Attention(Linear()), k.Dense(0.8, 0.2), k.Attention(Concentrated(), projection=True),
        k.MLP("identity", True, 1.1, 0.2), k.Pool(),
    ),
    "softmax, then settled weights": net(k.Attention(), k.Attention(Linear()), reading="mean"),
}  # fmt: skip
NNGP = {
    "RoPE": net(k.Attention(positions=k.RoPE(frequencies=2))),
    "ALiBi": net(k.Attention(positions=k.ALiBi((1.0, 0.5))), reading="mean"),
    "offsets": net(k.Attention(positions=k.RelativeBias(0.6), mask=k.Window(1))),
}


def same(phi, kernel):
    np.testing.assert_allclose(phi @ phi.T, kernel, rtol=1e-9, atol=1e-12)


FAST = (
    "softmax, causal, the mean", "sigmoid, projected", "normalised ReLU in a block",
    "settled weights, deep",
)  # fmt: skip


@pytest.mark.parametrize("name", tiers(BOTH, FAST))
def test_products_are_the_kernels(name):
    kernel = BOTH[name].kernel(X, mask1=MASK, **DRAWN, replicates=1)
    for get in ("nngp", "ntk"):
        phi = BOTH[name].features(X, mask=MASK, get=get, **DRAWN)
        same(phi, getattr(kernel, get))


@pytest.mark.parametrize("name", tiers(NNGP, ["ALiBi", "offsets"]))
def test_products_are_the_nngp(name):
    kernel = NNGP[name].kernel(X, mask1=MASK, get="nngp", **DRAWN, replicates=1)
    same(NNGP[name].features(X, mask=MASK, **DRAWN), kernel.nngp)
    with pytest.raises(ValueError, match="the NTK of attention with positions in its scores"):
        NNGP[name].features(X, get="ntk", **DRAWN)


def test_replicates_stand_one_behind_the_other():
    one = BOTH["softmax"]
    for get in ("nngp", "ntk"):
        kernel = one.kernel(X, get=get, replicates=3, **DRAWN)
        phi = one.features(X, get=get, replicates=3, **DRAWN)
        same(phi, getattr(kernel, get))
        found = kernels.from_features(phi, replicates=3, get=get)
        for name in (get, f"{get}_stderr"):
            np.testing.assert_allclose(getattr(found, name), getattr(kernel, name), rtol=1e-8)
        cross = kernels.from_features(phi[:2], phi[2:], replicates=3, get=get)
        np.testing.assert_allclose(getattr(cross, get), getattr(kernel, get)[:2, 2:], rtol=1e-9)
        assert (found.draws, found.replicates, found.draw) == (0, 3, "features")


@pytest.mark.parametrize(
    ("name", "sampler"),
    tiers(
        [("softmax", "independent"), ("sigmoid, projected", "sobol")],
        [("sigmoid, projected", "sobol")],
    ),
)
def test_parts_of_a_set_see_its_draws(name, sampler, monkeypatch):
    """Also where draws come in blocks, of which the number depends on the set."""
    monkeypatch.setattr(features, "BLOCK", 64)
    monkeypatch.setattr(attention, "BLOCK", 128)
    jax.clear_caches()
    options = dict(key=jax.random.key(0), draws=7, get="nngp", sampler=sampler)
    whole = BOTH[name].features(X, mask=MASK, **options)
    alone = BOTH[name].features(X[:2], mask=MASK[:2], **options)
    assert alone.shape != whole[:2].shape or not np.allclose(alone, whole[:2])
    same(whole, BOTH[name].kernel(X, mask1=MASK, replicates=1, **options).nngp)
    parts = [
        BOTH[name].features(X[cut], mask=MASK[cut], inputs=5, **options)
        for cut in (slice(0, 2), slice(2, 3), slice(3, 5))
    ]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)
    jax.clear_caches()


def test_token_ids():
    ids = np.array([[0, 1, 2], [2, 2, 1]])
    one = k.serial(k.Embed(vocabulary=3), k.Positions(0.5), k.Attention(), k.Readout())
    same(one.features(ids, get="ntk", **DRAWN), one.kernel(ids, replicates=1, **DRAWN).ntk)
    # Three symbols are more than the two tokens here: draws of another factor, of the same law.
    few = one.features(ids[:1, :2], **DRAWN)
    assert few.shape == (1, 6 * (3 + 2))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(dict(), marks=pytest.mark.slow),
        dict(readout="mean", causal=True, residual=True),
    ],
)
def test_those_of_the_preset(options):
    preset = InfiniteTransformer(activation="identity", sigma_b=0.3, positions=0.5, **options)
    for get in ("nngp", "ntk"):
        kernel = preset(X, get=get, draw="joint", replicates=1, **DRAWN)
        same(preset.features(X, get=get, **DRAWN), getattr(kernel, get))


RANDOM = {
    "relu": net(k.Attention(), k.MLP("relu", False, 1.2, 0.4)),
    "erf, a matrix before, the mean": net(k.Attention(), k.MLP("erf"), reading="mean"),
    "gated, beside its input": net(k.Attention(), k.residual(k.GatedMLP("gelu", 0.9), 0.7)),
    "no attention": net(k.Activation("cos"), k.Dense()),
    "bare": net(k.Attention("identity"), k.Dense(0.5, 0.2), k.Activation("gelu")),
}


@pytest.mark.parametrize(
    "name", tiers(RANDOM, ["erf, a matrix before, the mean", "gated, beside its input", "bare"])
)
def test_hidden_units_average_to_the_dual(name):
    """Given the draws of scores, which are shared, they are unbiased, and errors are right."""
    drawn = dict(key=jax.random.key(1), draws=8, replicates=16)
    exact = RANDOM[name].kernel(X, mask1=MASK, get="nngp", **drawn).nngp
    found = {}
    for units in (64, 1024):
        phi = RANDOM[name].features(X, mask=MASK, units=units, **drawn)
        found[units] = kernels.from_features(phi, replicates=16)
    error = np.abs(found[1024].nngp - exact)
    assert np.all(error < 5 * found[1024].nngp_stderr)
    assert error.max() < 0.05 * np.abs(exact).max()
    if not RANDOM[name].draws:  # nothing else is random, so that errors go like 1 / sqrt(units)
        ratio = np.median(found[64].nngp_stderr / found[1024].nngp_stderr)
        assert 2 < ratio < 8


def test_every_activation_has_units_of_its_own():
    """With shared weights the second of two equal branches would double the first."""
    branch = k.MLP("erf", False)
    two = net(k.parallel(branch, branch))
    phi = np.asarray(two.features(X, units=8, key=jax.random.key(0)))
    first, second = phi[:, :8], phi[:, 9:17]
    assert np.abs(first).max() > 0
    assert not np.isclose(first, second).any()
    again = np.asarray(two.features(X, units=8, key=jax.random.key(0)))
    assert np.array_equal(phi, again)


def test_nothing_drawn_needs_no_key():
    exact = net(k.Attention(Linear()), k.Dense())
    same(exact.features(X), exact.kernel(X).nngp)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: BOTH["softmax"].features(X), "these features are drawn: give key"),
        (lambda: RANDOM["relu"].features(X, **DRAWN), "is not linear.*such as units=1024"),
        (lambda: RANDOM["relu"].features(X, units=4, get="ntk", **DRAWN), 'use get="nngp"'),
        (lambda: RANDOM["relu"].features(X, units=0, **DRAWN), "units is a whole number"),
        (lambda: net(k.Attention(), k.Attention()).features(X, **DRAWN), "right after the embedd"),
        (lambda: net(k.Dense(), k.Attention("identity")).features(X), "right after the embedding"),
        (lambda: net(k.Attention(), reading="tokens").features(X, **DRAWN), 'not "tokens"'),
        (lambda: BOTH["softmax"].features(X, get="both", **DRAWN), "get is one of"),
        (lambda: BOTH["softmax"].features(X[..., :2], **DRAWN), "features=3, but x1 has 2"),
        (lambda: k.serial(k.Attention()).features(X, **DRAWN), "Embed as its first layer"),
        (lambda: InfiniteTransformer().features(X, **DRAWN), "such as units=1024"),
        (lambda: kernels.from_features(X[0], replicates=2), "a multiple of the 2 replicates"),
    ],
)
def test_what_has_no_features_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
