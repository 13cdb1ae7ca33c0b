"""Where tokens come from: patches of images."""

import jax
import numpy as np
import pytest

from theorykit.kernels import layers as k

IMAGES = np.float32(np.random.default_rng(0).normal(size=(3, 4, 6, 2)))


def cut(image, side):
    """Return patches one by one."""
    rows, columns = range(0, image.shape[0], side), range(0, image.shape[1], side)
    return np.stack([image[i : i + side, j : j + side].ravel() for i in rows for j in columns])


def test_patches_are_tokens_at_both_widths():
    rest = k.Positions(0.5), k.Attention("identity"), k.Readout("mean", 3)
    images = k.serial(k.Patches(size=2, channels=2), *rest)
    vectors = k.serial(k.Embed(features=8), *rest)
    tokens = np.stack([cut(image, 2) for image in IMAGES])
    one, other = images.kernel(IMAGES), vectors.kernel(tokens)
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-5)
    mask = np.arange(6) < np.array([[6], [4], [5]])
    one, other = images.kernel(IMAGES, mask1=mask), vectors.kernel(tokens, mask1=mask)
    np.testing.assert_allclose(one.ntk, other.ntk, rtol=1e-5)
    one, other = (net.module(width=8, heads=2, rngs=0) for net in (images, vectors))
    assert one(IMAGES[0]).shape == (3,)
    np.testing.assert_allclose(one(IMAGES[0]), other(tokens[0]), rtol=1e-5)
    np.testing.assert_allclose(
        jax.vmap(one)(IMAGES, mask)[1], other(tokens[1], mask[1]), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("shape", [(3, 4, 6, 3), (3, 5, 6, 2), (3, 4, 7, 2), (3, 4)])
def test_images_of_no_whole_patches_are_one_sentence(shape):
    net = k.serial(k.Patches(size=2, channels=2), k.Readout())
    with pytest.raises(ValueError, match="2 channels in their last axis, and sides"):
        net.kernel(np.zeros(shape))
    with pytest.raises(ValueError, match="size"):
        k.Patches(size=0)
