"""The running mean and its standard error are those of all estimates at once."""

import jax.numpy as jnp
import numpy as np

from theorykit.kernels.moments import Moments

VALUES = 1e3 + np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)


def test_mean_and_error_of_five():
    first, *others = (jnp.asarray(v) for v in VALUES)
    found = Moments({"k": first, "none": None})
    for value in others:
        found = found.add({"k": value, "none": None})
    np.testing.assert_allclose(found.mean["k"], VALUES.mean(0), rtol=1e-6)
    exact = VALUES.astype(float).std(0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(found.stderr()["k"], exact, rtol=2e-3)
    assert found.stderr()["none"] is None


def test_one_estimate_has_no_error():
    assert Moments(jnp.ones(3)).stderr() is None
