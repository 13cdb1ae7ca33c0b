"""Predictors built on a kernel: ridge regression and the posterior of a Gaussian process."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from theorykit.common import picture
from theorykit.common.arguments import as_array, between
from theorykit.common.precision import highest
from theorykit.common.spelling import spelt
from theorykit.kernels.devices import at_home
from theorykit.kernels.inputs import floating, known, number, together
from theorykit.kernels.iterative import regression
from theorykit.kernels.stored import Stored
from theorykit.kernels.systems import finite, result_dtype, system


class Prediction(NamedTuple):
    """A prediction and how well the linear system behind it was conditioned.

    **Fields:**

    - `mean`: (P*, ...) predicted outputs.
    - `covariance`: (P*, P*) posterior covariance, or None.
    - `alpha`: (P, ...) coefficients: `mean = K_* alpha`, computed before `alpha` is rounded to its
      dtype.
    - `jitter`: what was added to the diagonal besides the ridge (what was asked for; never more).
    - `condition`: condition number of the matrix that was inverted; a bound if it is stored.
    - `residual`: how far conjugate gradients left the system unsolved, |b - (K + ridge) a| / |b|,
      the worst over all right-hand sides, in float64; an `alpha` that is rounded to float32 leaves
      about its epsilon times |K| |alpha| / |b| besides. None where it was solved directly.
    """

    mean: Float[Array, "test ..."]
    covariance: Float[Array, "test test"] | None
    alpha: Float[Array, "train ..."]
    jitter: float
    condition: Float[Array, ""]
    residual: float | None = None

    def __str__(self) -> str:
        """Return it in a line."""
        return (
            f"Prediction: {self.mean.shape[0]} outputs, condition number "
            f"{_number(self.condition)}, jitter {_number(self.jitter)}"
        )

    def _repr_html_(self) -> str | None:
        return picture.html(self)


@picture.pieces.register
def _(found: Prediction) -> list[Any]:
    mean = np.asarray(found.mean)
    columns = mean.reshape(len(mean), -1)
    band: list[tuple[float, float, float]] = []
    said = "Predicted mean of each test input"
    if found.covariance is not None and columns.shape[1] == 1:
        deviation = np.sqrt(np.maximum(np.diag(np.asarray(found.covariance)), 0))
        rows = zip(columns[:, 0].tolist(), deviation.tolist(), strict=True)
        band = [(float(i), m - 2 * d, m + 2 * d) for i, (m, d) in enumerate(rows)]
        said += ", with two posterior standard deviations"
    lines = [list(enumerate(column)) for column in columns.T[:8].tolist()]
    return [picture.Words(f"{found}."), picture.Lines(f"{said}.", "test input", lines, band)]


def _number(value: Any) -> str:
    return f"{float(value):.3g}" if known(value) else "traced"


def _returned(dtype: Any, mean, covariance, alpha, jitter, condition) -> Prediction:
    own = None if covariance is None else covariance.astype(dtype)
    return Prediction(mean.astype(dtype), own, alpha.astype(dtype), jitter, condition)


def _solve(k, y, k_test, noise, jitter, name):
    noise = number(name, noise, 0)
    jitter = number("jitter", jitter, 0)
    k, y, k_test, values, vectors, slack = system(k, y, k_test, jitter)
    symmetric = (k + k.T) / 2
    # The eigenvalues again, as they change with the kernel.
    moving = jnp.einsum("pi,pq,qi->i", vectors, symmetric, vectors)
    shifted = values + (moving - jax.lax.stop_gradient(moving)) + noise + jitter
    if known(shifted) and float(shifted[0]) <= (slack if noise + jitter == 0 else 0.0):
        smallest, given = float(values[0]), float(noise + jitter)
        raise ValueError(
            "the training kernel is singular to rounding (smallest eigenvalue "
            f"{smallest:.3g}); give a {name} or a jitter above {max(0.0, -smallest):.2g}"
            + (f", got {given:.3g} in all" if given else "")
        )

    def matvec(b):
        return symmetric @ b + (noise + jitter) * b

    def solve(_, b):
        scales = jax.lax.stop_gradient(shifted).reshape(-1, *[1] * (b.ndim - 1))
        return vectors @ ((vectors.T @ b) / scales)

    def inverse(b):
        b = b.astype(together(b, shifted))
        return jax.lax.custom_linear_solve(matvec, b, solve, symmetric=True)

    condition = jnp.max(jnp.abs(shifted)) / jnp.min(jnp.abs(shifted))
    return k_test, inverse(y), inverse, condition


def _stored(k, y, k_test, own, noise, jitter, name, tolerance) -> Prediction:
    """Return a prediction from a kernel on disk."""
    dtype = floating(k, as_array("targets", y))
    total = number(name, noise, 0) + number("jitter", jitter, 0)
    found = regression(k, y, k_test, own, total, between("tolerance", tolerance))
    mean, alpha, condition = (
        jnp.asarray(a, dtype) for a in (found.mean, found.alpha, found.condition)
    )
    covariance = None if found.covariance is None else jnp.asarray(found.covariance, dtype)
    return Prediction(mean, covariance, alpha, jitter, condition, found.residual)


@spelt
@highest
@at_home
def ridge(
    k_train: Float[ArrayLike, "train train"] | Stored,
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"] | Stored,
    *,
    ridge: Any,
    jitter: Any = 0.0,
    tolerance: float = 1e-6,
) -> Prediction:
    """Kernel ridge regression: `K_* (K + ridge I)^-1 y` (capture paper, eq. 1).

    **Arguments:**

    - `k_train`: (P, P) kernel of the training inputs, positive semidefinite.
    - `y`: (P,) or (P, outputs) targets.
    - `k_test`: (P*, P) kernel between test and training inputs.
    - `ridge`: kappa >= 0.
    - `jitter`: added to the diagonal as well, and reported; nothing is added unasked.
    - `tolerance`: for a kernel on disk (`kernels.gram` with a store), the relative residual at
      which preconditioned conjugate gradients, in float64, stop.

    **Returns:** `Prediction` without a covariance. Works under `jit`, `vmap` and `grad`, also where
    eigenvalues are equal; values are then not checked.

    **Raises:** `ValueError` for shapes that do not fit, NaN, a negative ridge, a kernel that is not
    positive semidefinite, or one that is singular with no ridge. The eigenvalues of a kernel on
    disk are not known, so the last two are raised only if conjugate gradients run into them;
    without a ridge its `condition` is inf.
    """
    if isinstance(k_train, Stored):
        return _stored(k_train, y, k_test, None, ridge, jitter, "ridge", tolerance)
    cross, alpha, _, condition = _solve(k_train, y, k_test, ridge, jitter, "ridge")
    dtype = result_dtype(k_train, y, k_test)
    return _returned(dtype, cross @ alpha, None, alpha, jitter, condition)


@spelt
@highest
@at_home
def gp_posterior(
    k_train: Float[ArrayLike, "train train"] | Stored,
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"] | Stored,
    k_test_test: Float[ArrayLike, "test test"] | Stored,
    *,
    noise: Any,
    jitter: Any = 0.0,
    tolerance: float = 1e-6,
) -> Prediction:
    """Posterior of a Gaussian process with observation noise of variance `noise`.

    All three kernels should be blocks of one Gram matrix, as `kernels.joint` gives them:

        k = joint(network, x, x_test, key=key, get="nngp")
        gp_posterior(k.train.nngp, y, k.cross.nngp, k.test.nngp, noise=0.1)

    **Arguments:**

    - `k_train`, `y`, `k_test`, `jitter`, `tolerance`: as for `ridge`.
    - `k_test_test`: (P*, P*) kernel of the test inputs.
    - `noise`: variance of the observation noise, at least 0.

    **Returns:** `Prediction` with the posterior covariance of the noiseless outputs. A variance
    that rounding puts below 0 is 0.

    **Raises:** `ValueError` as `ridge`; for a variance that is negative beyond rounding, which
    kernels of one Gram matrix do not give.
    """
    if isinstance(k_train, Stored):
        return _stored(k_train, y, k_test, k_test_test, noise, jitter, "noise", tolerance)
    own = jnp.asarray(as_array("the kernel of the test inputs", k_test_test))
    cross, alpha, inverse, condition = _solve(k_train, y, k_test, noise, jitter, "noise")
    if own.shape != (cross.shape[0],) * 2:
        raise ValueError(
            f"the kernel of the test inputs has shape {(cross.shape[0],) * 2}, got {own.shape}"
        )
    finite("kernel of the test inputs", own)
    own = own.astype(cross.dtype)
    covariance = own - cross @ inverse(cross.T)
    covariance = (covariance + covariance.T) / 2
    variance = jnp.diagonal(covariance)
    # What the solve loses of the kernel's digits.
    eps = jnp.finfo(covariance.dtype).eps
    slack = 10 * len(alpha) * eps * jnp.sqrt(condition) * jnp.max(jnp.abs(jnp.diagonal(own)))
    if known(variance) and float(variance.min()) < -float(slack):
        raise ValueError(
            f"a posterior variance is {float(variance.min()):.3g}, but variances are at least 0: "
            "the kernels are not blocks of one Gram matrix, as those of separate Monte-Carlo calls "
            "are not, or lost too many digits (condition number "
            f"{float(condition):.2g} in {covariance.dtype}); take all three from kernels.joint, "
            "more draws, or more noise"
        )
    below = variance < 0
    on = jnp.arange(len(variance))
    covariance = covariance.at[on, on].set(jnp.where(below & (variance >= -slack), 0.0, variance))
    dtype = result_dtype(k_train, y, k_test)
    return _returned(dtype, cross @ alpha, covariance, alpha, jitter, condition)
