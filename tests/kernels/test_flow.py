"""Trained networks at several times: against their weights' own dynamics and neural-tangents."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from theorykit.kernels import Ensemble, gp_posterior, gradient_flow
from theorykit.kernels.tangents import nt, stax

from .tiers import tiers

RNG = np.random.default_rng(1)
FEATURES = RNG.normal(size=(8, 9)) / 3  # of 5 training and 3 test inputs
START = np.cov(RNG.normal(size=(9, 30)))  # covariance of the weights at initialisation
NTK, NNGP = FEATURES @ FEATURES.T, FEATURES @ START @ FEATURES.T
Y = RNG.normal(size=(5, 2))
TIMES = np.array([0.0, 0.1, 3.0, 200.0, np.inf])
blocks = lambda k: (k[:5, :5], k[5:, :5], k[5:, 5:])
K, K_TEST, _ = blocks(NTK)
pytestmark = pytest.mark.usefixtures("x64")


def trained(time, rate=1.0):
    """Linear models in their features, trained in weight space from random weights."""
    train, test = FEATURES[:5], FEATURES[5:]
    drift = rate * train.T @ train / Y.size
    # Weights and a constant 1, which carries the targets: d(w, 1)/dt = generator (w, 1).
    generator = np.zeros((10, 10))
    generator[:9, :9] = -drift
    means = []
    for y in Y.T:
        generator[:9, 9] = rate * train.T @ y / Y.size
        means.append(test @ scipy.linalg.expm(generator * time)[:9, 9])
    left = scipy.linalg.expm(-drift * time)
    return np.stack(means, -1), test @ left @ START @ left.T @ test.T


@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_linear_models_in_weight_space(rate):
    got = gradient_flow(K, Y, K_TEST, time=TIMES, learning_rate=rate, nngp=blocks(NNGP))
    assert isinstance(got, Ensemble)
    assert got.mean.shape == (5, 3, 2)
    for n, time in enumerate(TIMES):
        mean, covariance = trained(min(time, 1e5), rate)  # 1e5: an end, before expm loses digits
        np.testing.assert_allclose(got.mean[n], mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(got.covariance[n], covariance, rtol=1e-8, atol=1e-8)
        assert np.array_equal(got.covariance[n], got.covariance[n].T)
        alone = gradient_flow(K, Y, K_TEST, time=time, learning_rate=rate, nngp=blocks(NNGP))
        np.testing.assert_allclose(alone.mean, got.mean[n], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(alone.covariance, got.covariance[n], rtol=1e-12, atol=1e-14)
        plain = gradient_flow(K, Y[:, 0], K_TEST, time=time, learning_rate=rate / 2)
        np.testing.assert_allclose(plain, mean[:, 0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("t", tiers([0.0, 0.7, 30.0, None], [0.7, None]))
def test_the_ensemble_of_neural_tangents(t):
    kernel = stax.serial(stax.Dense(1), stax.Erf(), stax.Dense(1))[2]
    x, x_test = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 4))
    predict = nt.predict.gradient_descent_mse_ensemble(kernel, x, Y, 0.3, diag_reg=0.0)
    expected = predict(t=t, x_test=x_test, get="ntk", compute_cov=True)
    of = lambda get: (kernel(x, None, get), kernel(x_test, x, get), kernel(x_test, None, get))
    k, k_test, _ = of("ntk")
    got = gradient_flow(k, Y, k_test, time=t, learning_rate=0.3, nngp=of("nngp"))
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(got.covariance, expected.covariance, rtol=1e-7, atol=1e-8)


def test_limits():
    """At first the prior; at the end, of an NTK that is the NNGP, the posterior without noise."""
    prior = gradient_flow(K, Y, K_TEST, time=0, nngp=blocks(NNGP))
    assert not np.any(prior.mean)
    np.testing.assert_allclose(prior.covariance, NNGP[5:, 5:], rtol=1e-15)
    train, cross, test = blocks(NNGP)
    exact = gp_posterior(train, Y, cross, test, noise=0.0)
    for end in (None, np.inf, [jnp.inf]):
        got = gradient_flow(train, Y, cross, time=end, nngp=blocks(NNGP))
        lift = (1,) * np.ndim(end)
        np.testing.assert_allclose(got.mean, exact.mean.reshape(*lift, 3, 2), rtol=1e-9)
        wanted = exact.covariance.reshape(*lift, 3, 3)
        np.testing.assert_allclose(got.covariance, wanted, rtol=1e-8, atol=1e-12)
    known = gradient_flow(K, Y, K, time=None, nngp=(NNGP[:5, :5],) * 3)
    np.testing.assert_allclose(known.mean, Y, rtol=1e-9)
    assert np.all(np.diagonal(known.covariance) >= 0)
    assert np.all(np.abs(known.covariance) < 1e-12)


def test_the_axes_of_times_come_first():
    times = np.array([[0.1, 1.0, np.inf], [2.0, 0.0, 5.0]])
    grid = gradient_flow(K, Y[:, 0], K_TEST, time=times, nngp=blocks(NNGP))
    assert grid.mean.shape == (2, 3, 3)
    assert grid.covariance.shape == (2, 3, 3, 3)
    row = gradient_flow(K, Y[:, 0], K_TEST, time=list(times[1]), nngp=blocks(NNGP))
    np.testing.assert_allclose(grid.mean[1], row.mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(grid.covariance[1], row.covariance, rtol=1e-12, atol=1e-15)
    traced = jax.jit(lambda t: gradient_flow(K, Y[:, 0], K_TEST, time=t, nngp=blocks(NNGP)))
    for a, b in zip(traced(times), grid, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_singular_kernel_after_a_long_time(dtype):
    """What rounding leaves of the eigenvalues 0 is never learned."""
    x = np.random.default_rng(0).normal(size=(28, 10)) / 3
    y = x[:20, :1]
    k = x @ x.T
    train, cross, test = (a.astype(dtype) for a in (k[:20, :20], k[20:, :20], k[20:, 20:]))
    got = gradient_flow(train, y.astype(dtype), cross, time=[1e8, 1e12], nngp=(train, cross, test))
    # The targets are linear in ten features of twenty inputs: they and all else is learned.
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got.mean, [x[20:, :1]] * 2, atol=100 * eps)
    np.testing.assert_allclose(got.covariance, np.zeros((2, 8, 8)), atol=100 * eps)


SCALES = {
    "distinct": np.array([1.0, 0.7, 1.3, 0.4, 2.0]),
    "equal": np.ones(5),
    "two and three": np.array([1.0, 1.0, 2.0, 2.0, 2.0]),
    "singular": np.array([1.0, 1.0, 0.0, 0.0, 2.0]),
}


@jax.jit
def moments(scales, s, t, rate):
    """A function of the mean and covariance; `s` parts equal eigenvalues, and leaves 0 as it is."""
    root = jnp.sqrt(scales)
    k = root[:, None] * (jnp.eye(5) + s * FEATURES[:5] @ FEATURES[:5].T) * root
    nngp = NNGP[:5, :5], K_TEST @ k, NNGP[5:, 5:] + 100 * jnp.eye(3)
    got = gradient_flow(k, Y, K_TEST @ k, time=t, learning_rate=rate, nngp=nngp)
    return jnp.sum(jnp.sin(got.mean)) + jnp.sum(jnp.cos(got.covariance))


slopes = jax.jit(jax.grad(moments, argnums=(1, 2, 3)))


@pytest.mark.parametrize("name", SCALES)
def test_derivatives(name):
    """In a hyperparameter, the time and the step, at any time and where eigenvalues are equal."""
    for time in (0.5, 6.0, 300.0, np.inf):
        if name == "singular" and np.isinf(time):
            continue
        at = (0.0, time, 0.9)
        for number, slope in enumerate(slopes(SCALES[name], *at)):
            if np.isinf(time) and number == 1:
                assert slope == 0
                continue
            step = 1e-4 * (1 if number == 0 else at[number])
            ends = np.tile(at, (4, 1))
            ends[:, number] += step * np.array([-2, -1, 1, 2])
            f = [float(moments(SCALES[name], *end)) for end in ends]
            expected = (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step)
            np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


def test_the_dtype_of_an_ensemble():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        k, y, t, *nngp = (jnp.asarray(a, dtype) for a in (K, Y, K_TEST, *blocks(NNGP)))
        got = gradient_flow(k, y, t, time=[0.5, np.inf], nngp=nngp)
        assert got.mean.dtype == got.covariance.dtype == dtype
    with pytest.raises(ValueError, match="array of real numbers"):
        gradient_flow(K, Y, K_TEST, time=1.0, nngp=(K + 0j, K_TEST, K_TEST @ K_TEST.T))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"time": -1.0},
            "time is a number of at least 0, or an array of them, or None for",
        ),
        ({"time": [1.0, np.nan]}, "time is a number of at least 0"),
        ({"time": [1.0, None]}, "time is a number of at least 0"),
        ({"time": "end"}, "time is a number of at least 0"),
        ({"learning_rate": -0.1}, "learning_rate is a number of at least 0, got -0.1"),
        ({"k_train": np.ones((5, 5)), "time": [1.0, np.inf]}, "so training has no end"),
        ({"nngp": NNGP}, "nngp is three kernels"),
        ({"nngp": (K, K_TEST)}, "nngp is three kernels"),
        ({"nngp": (K, K_TEST.T, K)}, "the nngp test kernel has shape (3, 5), got (5, 3)"),
        ({"nngp": (K, K_TEST, K)}, "nngp kernel of the test inputs has shape (3, 3), got (5, 5)"),
        ({"nngp": (K, None, K)}, "the nngp test kernel is an array, got None"),
        ({"nngp": (K * np.nan, K_TEST, np.eye(3))}, "nngp training kernel must be finite"),
        ({"nngp": (K, 2 * K_TEST, 1e-3 * np.eye(3))}, "not blocks of one Gram matrix"),
    ],
)
def test_bad_input(changes, sentence):
    options = {"k_train": K, "y": Y, "k_test": K_TEST, "time": 1.0, **changes}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        gradient_flow(**options)
