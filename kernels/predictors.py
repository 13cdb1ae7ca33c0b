"""Predictors built on a kernel: ridge regression, Gaussian process posterior, gradient flow."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve

from theorykit.common.arguments import as_array, number
from theorykit.kernels.inputs import known

Array = Any


class Prediction(NamedTuple):
    """A prediction and how well the linear system behind it was conditioned.

    **Fields:**

    - `mean`: (P*, ...) predicted outputs.
    - `covariance`: (P*, P*) posterior covariance, or None.
    - `alpha`: (P, ...) coefficients: `mean = K_* alpha`.
    - `jitter`: what was added to the diagonal besides the ridge (what was asked for; never more).
    - `condition`: condition number of the matrix that was inverted.
    """

    mean: Array
    covariance: Array | None
    alpha: Array
    jitter: float
    condition: Array


def _number(name: str, value: Any) -> None:
    if known(value):
        number(name, value, "a number of at least 0", lambda v: v >= 0)


def _system(k, y, k_test, jitter=0.0):
    """Return the arrays of a regression and the spectrum of its kernel, all checked."""
    k = jnp.asarray(as_array("the training kernel", k))
    y = jnp.asarray(as_array("targets", y))
    k_test = jnp.asarray(as_array("the test kernel", k_test))
    if k.ndim != 2 or k.shape[0] != k.shape[1]:
        raise ValueError(f"the training kernel is a square matrix, got shape {k.shape}")
    if y.ndim < 1 or y.shape[0] != k.shape[0]:
        raise ValueError(
            f"there must be one target an input: {k.shape[0]} inputs, targets of shape {y.shape}"
        )
    if k_test.ndim != 2 or k_test.shape[1] != k.shape[0]:
        raise ValueError(
            f"the test kernel has shape (test inputs, {k.shape[0]} training inputs), "
            f"got {k_test.shape}"
        )
    if not jnp.issubdtype(k.dtype, jnp.floating) or k.dtype.itemsize < 4:
        raise ValueError(f"the training kernel is float32 or float64, got {k.dtype}")
    for name, array in (("training kernel", k), ("targets", y), ("test kernel", k_test)):
        _finite(name, array)
    values, vectors = jnp.linalg.eigh((k + k.T) / 2)
    slack = 100 * k.shape[0] * float(jnp.finfo(k.dtype).eps)
    if known(k, values):
        slack *= float(jnp.abs(values).max())
        if float(jnp.abs(k - k.T).max()) > slack:
            raise ValueError("the training kernel is a Gram matrix, but it is not symmetric")
        if known(jitter) and float(values[0]) + jitter < -slack:
            raise ValueError(
                "the training kernel is not positive semidefinite: its smallest eigenvalue is "
                f"{float(values[0]):.3g} (a pairwise Monte-Carlo kernel needs more draws, or a "
                f"jitter of {-float(values[0]):.1g})"
            )
    return k, y, k_test, values, vectors, slack


def _finite(name: str, array: Array) -> None:
    if known(array) and not bool(jnp.isfinite(array).all()):
        raise ValueError(f"the {name} must be finite, but it holds NaN or infinity")


def _solve(k, y, k_test, noise, jitter, name):
    _number(name, noise)
    _number("jitter", jitter)
    k, y, k_test, values, vectors, slack = _system(k, y, k_test, jitter)
    shifted = values + noise + jitter
    if known(shifted) and float(shifted[0]) <= (slack if noise + jitter == 0 else 0.0):
        raise ValueError(
            "the training kernel is singular to rounding (smallest eigenvalue "
            f"{float(values[0]):.3g}); give a {name} or a jitter above 0"
        )
    inverse = lambda b: vectors @ ((vectors.T @ b) / shifted.reshape(-1, *[1] * (b.ndim - 1)))
    condition = jnp.max(jnp.abs(shifted)) / jnp.min(jnp.abs(shifted))
    return k_test, inverse(y), inverse, condition


def ridge(
    k_train: Array, y: Array, k_test: Array, *, ridge: Any, jitter: float = 0.0
) -> Prediction:
    """Kernel ridge regression: `K_* (K + ridge I)^-1 y` (capture paper, eq. 1).

    **Arguments:**

    - `k_train`: (P, P) kernel of the training inputs, positive semidefinite.
    - `y`: (P,) or (P, outputs) targets.
    - `k_test`: (P*, P) kernel between test and training inputs.
    - `ridge`: kappa >= 0.
    - `jitter`: added to the diagonal as well, and reported; nothing is added unasked.

    **Returns:** `Prediction` without a covariance. Works under `jit` and `grad`; values are then
    not checked.

    **Raises:** `ValueError` for shapes that do not fit, NaN, a negative ridge, a kernel that is not
    positive semidefinite, or one that is singular with no ridge.
    """
    k_test, alpha, _, condition = _solve(k_train, y, k_test, ridge, jitter, "ridge")
    return Prediction(k_test @ alpha, None, alpha, jitter, condition)


def gp_posterior(
    k_train: Array, y: Array, k_test: Array, k_test_test: Array, *, noise: Any, jitter: float = 0.0
) -> Prediction:
    """Posterior of a Gaussian process with observation noise of variance `noise`.

    **Arguments:**

    - `k_train`, `y`, `k_test`, `jitter`: as for `ridge`.
    - `k_test_test`: (P*, P*) kernel of the test inputs.
    - `noise`: variance of the observation noise, at least 0.

    **Returns:** `Prediction` with the posterior covariance of the noiseless outputs.

    **Raises:** `ValueError` as `ridge`.
    """
    k_test_test = jnp.asarray(as_array("the kernel of the test inputs", k_test_test))
    k_test, alpha, inverse, condition = _solve(k_train, y, k_test, noise, jitter, "noise")
    if k_test_test.shape != (k_test.shape[0],) * 2:
        raise ValueError(
            f"the kernel of the test inputs has shape {(k_test.shape[0],) * 2}, "
            f"got {k_test_test.shape}"
        )
    _finite("kernel of the test inputs", k_test_test)
    covariance = k_test_test - k_test @ inverse(k_test.T)
    return Prediction(k_test @ alpha, (covariance + covariance.T) / 2, alpha, jitter, condition)


def gradient_flow(
    k_train: Array, y: Array, k_test: Array, *, time: Any, learning_rate: float = 1.0
) -> Array:
    """Mean prediction of a linearised network after gradient flow on the squared error.

    Of the loss mean((f - y)^2) / 2, from f = 0: what is left of the error along an eigenvector of
    the kernel with eigenvalue l after the time t is exp(-l t / y.size) of it.

    **Arguments:**

    - `k_train`: (P, P) NTK of the training inputs.
    - `y`: (P,) or (P, outputs) targets.
    - `k_test`: (P*, P) NTK between test and training inputs.
    - `time`: training time, None for its end.
    - `learning_rate`: step size that the time is counted in.

    **Returns:** (P*,) or (P*, outputs).

    **Raises:** `ValueError` as `ridge`; a negative time or step; a singular kernel with
    `time=None`.
    """
    if time is not None:
        _number("time", time)
    _number("learning_rate", learning_rate)
    k_train, y, k_test, values, vectors, slack = _system(k_train, y, k_test)
    if time is None and known(values) and float(values[0]) <= slack:
        raise ValueError(
            "the training kernel is singular to rounding (smallest eigenvalue "
            f"{float(values[0]):.3g}), so training has no end; give a time"
        )
    columns = y.reshape(y.shape[0], -1)
    if time is None:
        alpha = cho_solve(cho_factor(k_train), columns)
    else:
        # What is learned along an eigenvector, over its eigenvalue; nothing where that is 0 or,
        # by rounding, below: the test kernel has no part there either.
        positive = values > 0
        rates = jnp.where(positive, values, 1.0)
        learned = jnp.where(positive, -jnp.expm1(-rates * (time * learning_rate / y.size)), 0.0)
        alpha = vectors @ ((learned / rates)[:, None] * (vectors.T @ columns))
    return (k_test @ alpha).reshape(k_test.shape[0], *y.shape[1:])
