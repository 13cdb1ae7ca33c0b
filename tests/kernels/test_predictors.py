"""Predictors against numpy, and the systems that they refuse to solve."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit.kernels import gp_posterior, gradient_flow, ridge

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(8, 9))
GRAM = ROOT @ ROOT.T / 9
K, K_TEST, K_TEST_TEST = GRAM[:5, :5], GRAM[5:, :5], GRAM[5:, 5:]
Y = RNG.normal(size=(5, 2))
pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize("y", [Y, Y[:, 0]], ids=["outputs", "one output"])
def test_ridge(y):
    got = ridge(K, y, K_TEST, ridge=0.1, jitter=0.01)
    shifted = K + 0.11 * np.eye(5)
    np.testing.assert_allclose(got.alpha, np.linalg.solve(shifted, y), rtol=1e-10)
    np.testing.assert_allclose(got.mean, K_TEST @ np.linalg.solve(shifted, y), rtol=1e-10)
    np.testing.assert_allclose(got.condition, np.linalg.cond(shifted), rtol=1e-10)
    assert got.jitter == 0.01
    assert got.covariance is None


def test_nothing_is_added_unasked():
    got = ridge(K, Y, K_TEST, ridge=0.0)
    np.testing.assert_allclose(K @ got.alpha, Y, rtol=1e-9)
    np.testing.assert_allclose(got.condition, np.linalg.cond(K), rtol=1e-9)
    assert got.jitter == 0


def test_gp_posterior():
    got = gp_posterior(K, Y, K_TEST, K_TEST_TEST, noise=0.2)
    solved = np.linalg.solve(K + 0.2 * np.eye(5), np.hstack([Y, K_TEST.T]))
    np.testing.assert_allclose(got.mean, K_TEST @ solved[:, :2], rtol=1e-10)
    expected = K_TEST_TEST - K_TEST @ solved[:, 2:]
    np.testing.assert_allclose(got.covariance, expected, rtol=1e-9)
    assert np.array_equal(got.covariance, got.covariance.T)
    assert np.linalg.eigvalsh(got.covariance)[0] > 0


def test_ridge_under_jit_and_grad():
    mean = jax.jit(lambda r: ridge(K, Y, K_TEST, ridge=r).mean.sum())
    np.testing.assert_allclose(mean(0.1), ridge(K, Y, K_TEST, ridge=0.1).mean.sum())
    slope = (mean(0.1 + 1e-6) - mean(0.1 - 1e-6)) / 2e-6
    np.testing.assert_allclose(jax.jit(jax.grad(mean))(0.1), slope, rtol=1e-6)


@pytest.mark.parametrize("y", [Y, Y[:, 0]], ids=["outputs", "one output"])
def test_gradient_flow(y):
    """Mode by mode: each is learned at the rate of its eigenvalue over the number of targets."""
    values, vectors = np.linalg.eigh(K)
    for time, rate in ((3.0, 1.0), (3.0, 0.5)):
        learned = -np.expm1(-values * time * rate / y.size) / values
        modes = vectors @ np.diag(learned) @ vectors.T @ y
        got = gradient_flow(K, y, K_TEST, time=time, learning_rate=rate)
        assert got.shape == (3, *y.shape[1:])
        np.testing.assert_allclose(got, K_TEST @ modes, rtol=1e-6)
    np.testing.assert_allclose(gradient_flow(K, y, K, time=None), y, rtol=1e-6)


@pytest.mark.parametrize("time", [0.0, 0.3, 40.0, 1e9, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_flow_is_that_of_neural_tangents(time, dtype):
    from theorykit.kernels.tangents import nt

    k, y, k_test = (np.asarray(a, dtype) for a in (K, Y, K_TEST))
    predict = nt.predict.gradient_descent_mse(jnp.asarray(k), jnp.asarray(y), 0.7)
    zero = jnp.zeros((3, 2), dtype)
    _, expected = predict(time, jnp.zeros_like(y), zero, jnp.asarray(k_test))
    got = gradient_flow(k, y, k_test, time=time, learning_rate=0.7)
    assert got.dtype == dtype
    tolerance = 200 * np.finfo(dtype).eps * np.linalg.cond(K)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_gradient_flow_under_jit_and_grad():
    mean = jax.jit(lambda time: gradient_flow(K, Y, K_TEST, time=time).sum())
    np.testing.assert_allclose(mean(3.0), gradient_flow(K, Y, K_TEST, time=3.0).sum())
    slope = (mean(3.0 + 1e-5) - mean(3.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(mean)(3.0), slope, rtol=1e-5)


def test_gradient_flow_of_a_singular_kernel():
    """Equal inputs learn the mean of their targets, at the rate of the one eigenvalue."""
    got = gradient_flow(SINGULAR, Y, SINGULAR[:1], time=4.0)
    np.testing.assert_allclose(got[0], -np.expm1(-5 * 4.0 / 10) * Y.mean(0), rtol=1e-9)


SINGULAR = np.ones((5, 5))
INDEFINITE = np.diag([1.0, 1.0, 1.0, 1.0, -0.1])


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"k_train": K[:, :4]}, r"square matrix, got shape \(5, 4\)"),
        ({"y": Y[:4]}, r"one target an input: 5 inputs, targets of shape \(4, 2\)"),
        ({"k_test": K_TEST.T}, r"\(test inputs, 5 training inputs\), got \(5, 3\)"),
        ({"ridge": -1.0}, "ridge is a number of at least 0, got -1.0"),
        ({"ridge": np.nan}, "ridge is a number of at least 0, got nan"),
        ({"jitter": -1e-9}, "jitter is a number of at least 0, got -1e-09"),
        ({"k_train": SINGULAR, "ridge": 0.0}, "singular to rounding .* give a ridge or a jitter"),
        ({"k_train": INDEFINITE, "ridge": 0.01}, "not positive semidefinite.* -0.1 .*more draws"),
        ({"k_train": K * np.nan}, "training kernel must be finite"),
        ({"y": Y * np.inf}, "targets must be finite"),
        ({"k_test": K_TEST * np.nan}, "test kernel must be finite"),
    ],
)
def test_bad_input(changes, wrong):
    with pytest.raises(ValueError, match=wrong):
        ridge(**{"k_train": K, "y": Y, "k_test": K_TEST, "ridge": 0.1, **changes})


def test_bad_posterior():
    with pytest.raises(ValueError, match=r"test inputs has shape \(3, 3\), got \(5, 5\)"):
        gp_posterior(K, Y, K_TEST, K, noise=0.1)
    with pytest.raises(ValueError, match=r"noise is a number of at least 0, got -0.1"):
        gp_posterior(K, Y, K_TEST, K_TEST_TEST, noise=-0.1)


def test_singular_kernels_need_a_ridge_or_a_jitter():
    for options in ({"ridge": 0.5}, {"ridge": 0.0, "jitter": 0.5}):
        got = ridge(SINGULAR, Y, SINGULAR[:1], **options)
        np.testing.assert_allclose(got.mean[0], Y.sum(0) / 5.5, rtol=1e-9)
        np.testing.assert_allclose(got.condition, 11, rtol=1e-9)
