"""Descriptions against `InfiniteTransformer`, whose joint draws they share."""

import jax
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer, oracle
from theorykit.kernels.attention import Linear, NormalisedRelu, Sigmoid

X = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
X2 = np.random.default_rng(1).normal(size=(2, 3, 2)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]], bool)
DRAWN = dict(key=jax.random.key(0), draws=8, replicates=2)
FULL = dict(residual=True, layer_norm=True, causal=True, positions=0.4)
VALUES = ("nngp", "ntk", "nngp_stderr", "ntk_stderr")


@pytest.mark.parametrize(
    ("options", "rectangular"),
    [
        pytest.param(dict(readout="last"), False, marks=pytest.mark.slow),
        (dict(readout="last", **FULL), True),
        (dict(readout="mean", attention=Sigmoid(-1.0)), True),
        (dict(readout="tokens", attention="identity", **FULL), True),
        # Not normed: among equal variances rounding would choose the factor's pivots.
        (dict(readout="last", depth=2, attention=NormalisedRelu(), positions=0.4), False),
        pytest.param(
            dict(readout="mean", depth=2, attention=Linear(), residual=True),
            False,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_preset_is_its_description(options, rectangular):
    """The same draws from the same key: values and errors agree to rounding."""
    net = InfiniteTransformer(activation="erf", score_scale=1.2, sigma_b=0.3, **options)
    x2 = X2 if rectangular else None
    one = net(X, x2, mask1=MASK, draw="joint", **DRAWN)
    other = net.description(features=2).kernel(X, x2, mask1=MASK, **DRAWN)
    for name in VALUES:
        expected = getattr(one, name)
        scale = float(np.abs(expected).max())
        np.testing.assert_allclose(getattr(other, name), expected, rtol=1e-4, atol=3e-6 * scale)
    assert (other.draws, other.replicates, other.draw) == (one.draws, one.replicates, one.draw)


def test_the_nngp_alone_is_that_of_both():
    net = InfiniteTransformer(readout="mean", **FULL).description(features=2)
    alone, both = (net.kernel(X, X2, get=get, **DRAWN) for get in ("nngp", ("nngp", "ntk")))
    np.testing.assert_allclose(alone.nngp, both.nngp, rtol=1e-4)
    assert alone.ntk is None


def test_attention_against_the_oracle():
    net = InfiniteTransformer(readout="mean", score_scale=0.8)
    exact = oracle.kernel(net, X[:2, :2].astype(float), order=12)
    found = net.description(features=2).kernel(
        X[:2, :2], key=jax.random.key(0), draws=1024, replicates=16
    )
    for name in ("nngp", "ntk"):
        error = getattr(found, f"{name}_stderr")
        right = getattr(exact, name)
        assert np.all(np.abs(getattr(found, name) - right) < 4 * error)
        assert np.all(error < 0.02 * np.abs(right).max())


def test_sharp_attention_has_no_error_and_says_so():
    net = InfiniteTransformer(score_scale=300.0).description(features=2)
    with pytest.warns(UserWarning, match="at scale 300 the NTK is carried by draws"):
        found = net.kernel(30 * X, key=jax.random.key(0), draws=32, replicates=2)
    assert np.isinf(found.ntk_stderr).any()
    assert np.isfinite(found.nngp_stderr).all()
