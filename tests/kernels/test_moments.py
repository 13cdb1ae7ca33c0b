"""The running mean and its standard error are those of all estimates at once."""

import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels.moments import Moments

VALUES = 1e3 + np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)


@pytest.mark.parametrize("known", ["estimates", "means"])
def test_mean_and_error_of_five(known):
    first, *others = (jnp.asarray(v) for v in VALUES)
    found = Moments({"k": first, "none": None})
    for r, value in enumerate(others, 2):
        mean = jnp.asarray(VALUES[:r].mean(0))
        new = value if known == "estimates" else mean
        grow = found.add if known == "estimates" else found.moved
        found = grow({"k": new, "none": None})
    np.testing.assert_allclose(found.mean["k"], VALUES.mean(0), rtol=1e-6)
    exact = VALUES.astype(float).std(0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(found.stderr()["k"], exact, rtol=2e-3)
    assert found.stderr()["none"] is None


def test_one_estimate_has_no_error():
    assert Moments(jnp.ones(3)).stderr() is None
