"""Pairwise draws of descriptions."""

import jax
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer
from theorykit.kernels import layers as k
from theorykit.kernels.attention import Sigmoid

KEY = jax.random.key(0)
X = np.float32(np.random.default_rng(0).normal(size=(4, 3, 2)))
NET = k.serial(
    k.Embed(features=2), k.MLP("erf"), k.Attention(Sigmoid()), k.MLP("erf"), k.Readout("mean")
)


def test_each_pair_is_a_set_of_its_own():
    options = dict(key=KEY, draws=64, replicates=1, draw="pairwise")
    gram = NET.kernel(X, **options)
    for i, j in ((0, 1), (1, 3)):
        pair = NET.kernel(X[[i]], X[[j]], key=KEY, draws=64, replicates=1)
        np.testing.assert_allclose(gram.ntk[i, j], pair.ntk[0, 0], rtol=1e-5)
        np.testing.assert_allclose(gram.nngp[i, j], pair.nngp[0, 0], rtol=1e-5)
    alone = NET.kernel(X[[2]], key=KEY, draws=64, replicates=1)
    np.testing.assert_allclose(gram.ntk[2, 2], alone.ntk[0, 0], rtol=1e-5)
    np.testing.assert_allclose(gram.ntk, gram.ntk.T)
    assert gram.draw == "pairwise"


def test_a_first_layer_has_the_draws_of_the_transformer():
    """Where inputs have fewer features than a pair has tokens, both use the inputs as factor."""
    net = InfiniteTransformer(attention=Sigmoid(), readout="tokens", score_scale=2.0)
    options = dict(key=KEY, draws=32, replicates=2)
    found = net.description(features=2).kernel(X[:2], X[2:], **options, draw="pairwise")
    joint = net(X[:2], X[2:], **options)
    np.testing.assert_allclose(found.ntk, joint.ntk, rtol=1e-4, atol=1e-5)


def test_both_draws_of_a_sigmoid_have_one_mean():
    options = dict(key=KEY, draws=512, replicates=8)
    joint, apart = (NET.kernel(X, **options, draw=draw) for draw in ("joint", "pairwise"))
    for name in ("nngp", "ntk"):
        error = np.hypot(*(getattr(kernel, f"{name}_stderr") for kernel in (joint, apart)))
        gap = np.abs(getattr(joint, name) - getattr(apart, name))
        assert np.all(gap < 5 * error), name


def test_another_name_is_one_sentence():
    with pytest.raises(ValueError, match="draw is one of 'joint', 'pairwise'"):
        NET.kernel(X, key=KEY, draw="auto")
