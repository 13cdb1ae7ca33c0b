"""Attention with a closed form: one token from features, and all of them from products."""

import jax
import numpy as np
import pytest

from theorykit.kernels import attention, layers, recursion

KEY = jax.random.key(0)
LENGTHS = np.arange(4) < np.array([4, 2, 3, 4, 1])[:, None]


def net(of, reading, mask, deep=False):
    before = [layers.LayerNorm(), layers.MLP("relu")] if deep else []
    heads = layers.Attention(of, scale=0.7, mask=mask)
    return layers.serial(layers.Embed(features=6), *before, heads, layers.Readout(reading))


def given(features=6, tests=None):
    x = jax.random.normal(KEY, (5, 4, features))
    return x, None if tests is None else jax.random.normal(
        jax.random.fold_in(KEY, 1), (tests, 4, 6)
    )


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("tests", [None, 3])
@pytest.mark.parametrize("mask", [None, "causal"])
@pytest.mark.parametrize("of", [attention.Identity(), attention.Linear()])
def test_the_last_token_is_one_of_all(of, mask, tests, deep):
    x, y = given(tests=tests)
    options = dict(mask1=LENGTHS)
    one = net(of, "last", mask, deep).kernel(x, y, **options)
    every = net(of, "tokens", mask, deep).kernel(x, y, **options)
    last = LENGTHS.sum(1) - 1
    to = last if y is None else np.full(3, 3)
    rows, columns = np.ix_(range(5), range(len(to)))
    for name in ("nngp", "ntk"):
        wanted = getattr(every, name)[rows, last[rows], columns, to[columns]]
        np.testing.assert_allclose(getattr(one, name), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("of", [attention.Identity(), attention.Linear()])
def test_a_set_is_made_of_pairs(of):
    """The recursion takes pairs of inputs one at a time, from the same closed form."""
    x, _ = given()
    found = net(of, "tokens", "causal").kernel(x, mask1=LENGTHS)
    f = np.where(LENGTHS[..., None], x, 0) / 6**0.5
    nngp = np.einsum("iar,jbr->iajb", f, f)
    u = np.zeros((1, 6, 6))
    options = dict(score_scale=0.7, mask=LENGTHS, causal=True, factor=f)
    nngp, ntk = recursion.attend(of, nngp, None, u, **options)
    expected = nngp, ntk + nngp  # the last from the readout's own weights
    for one, other in zip((found.nngp, found.ntk), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_wide_inputs_take_products_and_not_features():
    """More features than tokens: their squares would be larger than the tokens' covariance."""
    x = jax.random.normal(KEY, (3, 2, 12))
    wide = layers.serial(
        layers.Embed(features=12), layers.Attention("identity"), layers.Readout("last")
    )
    s = np.einsum("iar,jbr->iajb", x, x) / 12
    moments = np.einsum("iajb->ij", s**2)
    np.testing.assert_allclose(wide.kernel(x).nngp, s[:, -1, :, -1] * moments, rtol=1e-5)
    np.testing.assert_allclose(wide.kernel(x).ntk, 7 * s[:, -1, :, -1] * moments, rtol=1e-5)
