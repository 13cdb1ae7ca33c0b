"""The table of parameterisations, weight by weight, and norms and activations by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from theorykit.networks.nets import scales


@pytest.mark.parametrize(
    ("kind", "readout", "deviation", "multiplier"),
    [
        ("ntk", False, 1, 1 / 3),
        ("ntk", True, 1, 1 / 3),
        ("standard", False, 1 / 3, 1),
        ("standard", True, 1 / 3, 1),
        ("mup", False, 3, 1 / 9),
        ("mup", True, 1, 1 / 9),
    ],
)
def test_a_weight_of_fan_in_nine(kind, readout, deviation, multiplier):
    """The same normals are drawn in all of them."""
    found = scales.Map(nnx.Rngs(0), (9, 4), 9, kind, readout=readout)
    normals = jax.random.normal(nnx.Rngs(0).params(), (9, 4), float)
    assert found.multiplier == pytest.approx(multiplier, rel=1e-15)
    np.testing.assert_allclose(found.weight[...], deviation * normals, rtol=1e-6)
    effective = deviation * multiplier * np.asarray(normals)
    np.testing.assert_allclose(found.effective(), effective, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "vectors", "size"),
    [("ntk", False, 1 / 4), ("ntk", True, 1 / 4), ("standard", False, 1), ("standard", True, 1 / 4),
     ("mup", False, 1), ("mup", True, 1 / 4)],
)  # fmt: skip
def test_embeddings_of_sixteen_rows(kind, vectors, size):
    found = scales.embedding(nnx.Rngs(0), 16, 3, kind, vectors, None)
    normals = jax.random.normal(nnx.Rngs(0).params(), (16, 3), float)
    np.testing.assert_allclose(found.effective(), size * normals, rtol=1e-6)


def test_norms_by_hand():
    """(1, 3, 5) has mean 3, variance 8 / 3 and mean square 35 / 3."""
    z = jnp.array([1.0, 3.0, 5.0])
    np.testing.assert_allclose(scales.centred(z), (z - 3) / math.sqrt(8 / 3), rtol=1e-6)
    np.testing.assert_allclose(scales.rms(z), z / math.sqrt(35 / 3), rtol=1e-6)
    np.testing.assert_allclose(scales.NORMS[None](z), z)


def test_activations_by_hand():
    z = np.array([-1.5, 0.0, 0.7])
    erf = np.vectorize(math.erf)
    by_hand = {
        "relu": np.maximum(z, 0), "erf": erf(z), "gelu": z * (1 + erf(z / math.sqrt(2))) / 2,
        "cos": np.cos(z), "tanh": np.tanh(z), "identity": z,
    }  # fmt: skip
    assert set(by_hand) == set(scales.ACTIVATIONS)
    for name, values in by_hand.items():
        np.testing.assert_allclose(scales.ACTIVATIONS[name](z), values, atol=1e-6)
