"""Predictors built on a kernel: ridge regression, Gaussian process posterior, gradient flow."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, ArrayLike, Float, Real

from theorykit.common.arguments import as_array
from theorykit.kernels.inputs import computed, floating, known, number
from theorykit.kernels.result import Kernel


class Prediction(NamedTuple):
    """A prediction and how well the linear system behind it was conditioned.

    **Fields:**

    - `mean`: (P*, ...) predicted outputs.
    - `covariance`: (P*, P*) posterior covariance, or None.
    - `alpha`: (P, ...) coefficients: `mean = K_* alpha`.
    - `jitter`: what was added to the diagonal besides the ridge (what was asked for; never more).
    - `condition`: condition number of the matrix that was inverted.
    """

    mean: Float[Array, "test ..."]
    covariance: Float[Array, "test test"] | None
    alpha: Float[Array, "train ..."]
    jitter: float
    condition: Float[Array, ""]


def _system(k, y, k_test, jitter=0.0):
    """Return the arrays of a regression and the spectrum of its kernel, all checked.

    The spectrum is constant to JAX: eigenvectors of a repeated eigenvalue have no derivative, but
    what is solved with them has.
    """
    for name, array in (("training kernel", k), ("test kernel", k_test)):
        _array(name, array)
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
    kind = computed(floating(k, y, k_test))
    k, y, k_test = (a.astype(kind) for a in (k, y, k_test))
    for name, array in (("training kernel", k), ("targets", y), ("test kernel", k_test)):
        _finite(name, array)
    values, vectors = jnp.linalg.eigh(jax.lax.stop_gradient((k + k.T) / 2))
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


def _array(name: str, kernel: Any) -> None:
    if isinstance(kernel, Kernel):
        raise ValueError(f"the {name} is an array: give the field nngp or ntk of the Kernel")
    if kernel is None:
        raise ValueError(f"the {name} is an array, got None: was this kernel asked for?")


def _finite(name: str, array: Array) -> None:
    if known(array) and not bool(jnp.isfinite(array).all()):
        raise ValueError(f"the {name} must be finite, but it holds NaN or infinity")


def _dtype(*arrays: Any) -> Any:
    """Return the floating dtype of a prediction from arrays."""
    for name, array in zip(("training kernel", "targets", "test kernel"), arrays, strict=True):
        _array(name, array)
    return floating(*(as_array("a kernel", a) for a in arrays))


def _returned(dtype: Any, mean, covariance, alpha, jitter, condition) -> Prediction:
    own = None if covariance is None else covariance.astype(dtype)
    return Prediction(mean.astype(dtype), own, alpha.astype(dtype), jitter, condition)


def _solve(k, y, k_test, noise, jitter, name):
    noise = number(name, noise, 0)
    jitter = number("jitter", jitter, 0)
    k, y, k_test, values, vectors, slack = _system(k, y, k_test, jitter)
    symmetric = (k + k.T) / 2
    # The eigenvalues again, as they change with the kernel.
    moving = jnp.einsum("pi,pq,qi->i", vectors, symmetric, vectors)
    shifted = values + (moving - jax.lax.stop_gradient(moving)) + noise + jitter
    if known(shifted) and float(shifted[0]) <= (slack if noise + jitter == 0 else 0.0):
        smallest, given = float(values[0]), float(noise + jitter)
        raise ValueError(
            "the training kernel is singular to rounding (smallest eigenvalue "
            f"{smallest:.3g}); give a {name} or a jitter above "
            + (f"{-smallest:.2g}, got {given:.3g} in all" if given else f"{max(-smallest, 0):.2g}")
        )

    def matvec(b):
        return symmetric @ b + (noise + jitter) * b

    def solve(_, b):
        scales = jax.lax.stop_gradient(shifted).reshape(-1, *[1] * (b.ndim - 1))
        return vectors @ ((vectors.T @ b) / scales)

    def inverse(b):
        b = b.astype(jnp.result_type(b, shifted))
        return jax.lax.custom_linear_solve(matvec, b, solve, symmetric=True)

    condition = jnp.max(jnp.abs(shifted)) / jnp.min(jnp.abs(shifted))
    return k_test, inverse(y), inverse, condition


def ridge(
    k_train: Float[ArrayLike, "train train"],
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"],
    *,
    ridge: Any,
    jitter: Any = 0.0,
) -> Prediction:
    """Kernel ridge regression: `K_* (K + ridge I)^-1 y` (capture paper, eq. 1).

    **Arguments:**

    - `k_train`: (P, P) kernel of the training inputs, positive semidefinite.
    - `y`: (P,) or (P, outputs) targets.
    - `k_test`: (P*, P) kernel between test and training inputs.
    - `ridge`: kappa >= 0.
    - `jitter`: added to the diagonal as well, and reported; nothing is added unasked.

    **Returns:** `Prediction` without a covariance. Works under `jit`, `vmap` and `grad`, where
    eigenvalues are equal too; values are then not checked.

    **Raises:** `ValueError` for shapes that do not fit, NaN, a negative ridge, a kernel that is not
    positive semidefinite, or one that is singular with no ridge.
    """
    cross, alpha, _, condition = _solve(k_train, y, k_test, ridge, jitter, "ridge")
    dtype = _dtype(k_train, y, k_test)
    return _returned(dtype, cross @ alpha, None, alpha, jitter, condition)


def gp_posterior(
    k_train: Float[ArrayLike, "train train"],
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"],
    k_test_test: Float[ArrayLike, "test test"],
    *,
    noise: Any,
    jitter: Any = 0.0,
) -> Prediction:
    """Posterior of a Gaussian process with observation noise of variance `noise`.

    All three kernels are best blocks of one Gram matrix, as `kernels.joint` gives them:

        k = joint(network, x, x_test, key=key, get="nngp")
        gp_posterior(k.train.nngp, y, k.cross.nngp, k.test.nngp, noise=0.1)

    **Arguments:**

    - `k_train`, `y`, `k_test`, `jitter`: as for `ridge`.
    - `k_test_test`: (P*, P*) kernel of the test inputs.
    - `noise`: variance of the observation noise, at least 0.

    **Returns:** `Prediction` with the posterior covariance of the noiseless outputs. A variance
    that rounding puts below 0 is 0.

    **Raises:** `ValueError` as `ridge`; for a variance that is negative beyond rounding, which
    kernels of one Gram matrix do not give.
    """
    own = jnp.asarray(as_array("the kernel of the test inputs", k_test_test))
    cross, alpha, inverse, condition = _solve(k_train, y, k_test, noise, jitter, "noise")
    if own.shape != (cross.shape[0],) * 2:
        raise ValueError(
            f"the kernel of the test inputs has shape {(cross.shape[0],) * 2}, got {own.shape}"
        )
    _finite("kernel of the test inputs", own)
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
    dtype = _dtype(k_train, y, k_test)
    return _returned(dtype, cross @ alpha, covariance, alpha, jitter, condition)


def gradient_flow(
    k_train: Float[ArrayLike, "train train"],
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"],
    *,
    time: Any,
    learning_rate: Any = 1.0,
) -> Float[Array, "test ..."]:
    """Mean prediction of a linearised network after gradient flow on the squared error.

    Of the loss mean((f - y)^2) / 2, from f = 0: what is left of the error along an eigenvector of
    the kernel with eigenvalue l after the time t is exp(-l t / y.size) of it.

    **Arguments:**

    - `k_train`: (P, P) NTK of the training inputs.
    - `y`: (P,) or (P, outputs) targets.
    - `k_test`: (P*, P) NTK between test and training inputs.
    - `time`: training time, None for its end.
    - `learning_rate`: step size that the time is counted in.

    **Returns:** (P*,) or (P*, outputs). Works under `jit`, `vmap` and `grad`; its second derivative
    in the kernel is NaN where eigenvalues are equal.

    **Raises:** `ValueError` as `ridge`; for a negative time or step; a singular kernel with
    `time=None`.
    """
    if time is not None:
        time = number("time", time, 0)
    learning_rate = number("learning_rate", learning_rate, 0)
    k, targets, cross, values, vectors, slack = _system(k_train, y, k_test)
    if time is None and known(values) and float(values[0]) <= slack:
        raise ValueError(
            "the training kernel is singular to rounding (smallest eigenvalue "
            f"{float(values[0]):.3g}), so training has no end; give a time"
        )
    columns = targets.reshape(len(targets), -1)
    if time is None:
        alpha = cho_solve(cho_factor(k), columns)
        mean = cross @ alpha
    else:
        mean = _flow(k, cross, columns, time * learning_rate / columns.size, values, vectors)
    return mean.reshape(len(cross), *targets.shape[1:]).astype(_dtype(k_train, y, k_test))


@jax.custom_jvp
def _flow(k, cross, columns, time, values, vectors):
    """Return `cross f(k) columns` for f(l) = (1 - exp(-l time)) / l, from the spectrum of `k`."""
    del k
    # What is learned along an eigenvector, over its eigenvalue; nothing where that is 0 or,
    # by rounding, below: the test kernel has no part there either.
    positive = values > 0
    rates = jnp.where(positive, values, 1.0)
    learned = jnp.where(positive, -jnp.expm1(-rates * time), 0.0)
    return cross @ (vectors @ ((learned / rates)[:, None] * (vectors.T @ columns)))


@_flow.defjvp
def _flow_jvp(primals, tangents):
    """Differentiate a function of a matrix by divided differences (Daleckii and Krein)."""
    _, cross, columns, time, values, vectors = primals
    dk, dcross, dcolumns, dtime, _, _ = tangents
    modes = vectors.T @ columns
    z = jnp.maximum(values, 0.0) * time
    # A change of the test kernel may reach eigenvalues of 0, where f is the time.
    f = time * _learned(z)[:, None]
    dk = vectors.T @ ((dk + dk.T) / 2) @ vectors
    change = time**2 * (_learned_difference(z) * dk) @ modes + f * (vectors.T @ dcolumns)
    change = change + dtime * jnp.exp(-z)[:, None] * modes
    slope = cross @ (vectors @ change) + dcross @ (vectors @ (f * modes))
    return _flow(*primals), slope


def _learned(z):
    """Return (1 - exp(-z)) / z for z >= 0."""
    return jnp.where(z > 0, -jnp.expm1(-z) / jnp.where(z > 0, z, 1.0), 1.0)


def _learned_difference(z):
    """Return the divided differences of `_learned` between all pairs of z >= 0."""
    low, high = jnp.minimum(z[:, None], z), jnp.maximum(z[:, None], z)
    large = (jnp.exp(-low) * _learned(high - low) - _learned(low)) / jnp.where(high > 0, high, 1.0)
    # The series about 0, where the differences above cancel.
    low, near = jnp.minimum(low, 0.5), jnp.minimum(high, 0.5)
    power, monomial, factorial = jnp.ones_like(low), jnp.ones_like(low), 2.0
    small = jnp.full_like(low, -0.5)
    for n in range(2, 15):
        power = power * low
        monomial = near * monomial + power
        factorial *= n + 1
        small = small + (-1) ** n * monomial / factorial
    return jnp.where(high < 0.5, small, large)
