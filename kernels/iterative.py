"""Linear systems with a kernel that is read tile by tile: conjugate gradients.

The preconditioner is a Nyström approximation from columns spread evenly over the inputs (Frangella,
Tropp and Udell, 2023): with its eigenvectors U and eigenvalues l, and the ridge r,

    P^-1 = U (l_last + r) / (l + r) U' + (1 - U U').

All is float64 whatever the kernel's dtype: the tiles are read from disk anyway.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from theorykit.common.arguments import as_array
from theorykit.kernels.stored import Stored
from theorykit.kernels.systems import finite

RANK = 256  # columns of the preconditioner
STEPS = 1000
AT_ONCE = 2**23  # numbers in one of the vectors that are kept

Matrix = Float[np.ndarray, "train columns"]


class Spectrum(NamedTuple):
    """The largest part of a kernel.

    **Fields:** `vectors` (P, rank), `values` (rank,); `rest`: the trace that they leave out.
    """

    vectors: Matrix
    values: Float[np.ndarray, " rank"]
    rest: float


class Solution(NamedTuple):
    """The solution of (K + ridge) a = b.

    **Fields:** `alpha`; `left`: b - (K + ridge) a, computed anew; `residual`: the largest of its
    norms relative to those of b; `steps` that were made.
    """

    alpha: Matrix
    left: Matrix
    residual: float
    steps: int


def spectrum(k: Stored) -> Spectrum:
    """Return the largest part of a stored kernel, from one pass over it."""
    n = len(k)
    chosen = np.unique(np.linspace(0, n - 1, min(RANK, n)).astype(int))
    columns = np.empty((n, len(chosen)))
    trace = 0.0
    for down, across, values in k.upper():
        i, j = (np.flatnonzero((chosen >= s.start) & (chosen < s.stop)) for s in (down, across))
        columns[down, j] = values[:, chosen[j] - across.start]
        columns[across, i] = values[chosen[i] - down.start].T
        if down.start == across.start:
            trace += float(np.trace(values.astype(np.float64)))
    middle = columns[chosen]
    values, vectors = np.linalg.eigh((middle + middle.T) / 2)
    kept = values > len(chosen) * np.finfo(k.dtype).eps * max(float(values[-1]), 0.0)
    if not kept.any():
        return Spectrum(np.zeros((n, 0)), np.zeros(0), trace)
    factor = columns @ (vectors[:, kept] / np.sqrt(values[kept]))
    u, s, _ = np.linalg.svd(factor, full_matrices=False)
    return Spectrum(u, s**2, max(trace - float((s**2).sum()), 0.0))


def solve(k: Stored, largest: Spectrum, ridge: float, b: Matrix, tolerance: float) -> Solution:
    """Solve (K + ridge) a = b for all columns, as many at a time as memory allows.

    **Raises:** `ValueError` if the tolerance is not reached, or K + ridge is not positive definite.
    """
    many = max(1, AT_ONCE // len(b))
    parts = [b[:, i : i + many] for i in range(0, b.shape[1], many)]
    found = [_solve(k, largest, ridge, part, tolerance) for part in parts]
    alpha, left = (np.concatenate([getattr(f, n) for f in found], 1) for n in ("alpha", "left"))
    return Solution(alpha, left, max(f.residual for f in found), max(f.steps for f in found))


def _solve(k: Stored, largest: Spectrum, ridge: float, b: Matrix, tolerance: float) -> Solution:
    u, values, _ = largest
    last = (values[-1] if values.size else 0.0) + ridge
    gain = last / (values + ridge) - 1.0

    def preconditioned(r: Matrix) -> Matrix:
        return r + u @ (gain[:, None] * (u.T @ r))

    times = lambda a: k @ a + ridge * a
    size = np.linalg.norm(b, axis=0)
    size = np.where(size > 0, size, 1.0)
    alpha, r = np.zeros_like(b), b.copy()
    z = preconditioned(r)
    p, rz = z.copy(), (r * z).sum(0)
    steps = 0
    while (np.linalg.norm(r, axis=0) > tolerance * size).any():
        if steps == STEPS:
            break
        steps += 1
        going = np.linalg.norm(r, axis=0) > tolerance * size
        kp = times(p)
        curvature = (p * kp).sum(0)
        if (curvature[going] <= 0).any() or not np.isfinite(curvature).all():
            raise ValueError(
                "the training kernel is not positive definite with this ridge, or is singular to "
                "rounding: give a larger ridge; a Monte-Carlo kernel of pairwise draws may need "
                "more draws"
            )
        step = np.where(going, rz / np.where(going, curvature, 1.0), 0.0)
        alpha += step * p
        r -= step * kp
        z = preconditioned(r)
        new = (r * z).sum(0)
        p = z + np.where(going, new / np.where(rz > 0, rz, 1.0), 0.0) * p
        rz = new
    left = b - times(alpha)
    residual = float((np.linalg.norm(left, axis=0) / size).max(initial=0.0))
    if not residual <= 10 * tolerance:
        raise ValueError(
            f"conjugate gradients stopped at a relative residual of {residual:.2g} after "
            f"{steps} steps, above the tolerance of {tolerance:.2g}: a larger ridge, or a larger "
            "tolerance, would be right"
        )
    return Solution(alpha, left, residual, steps)


class Regression(NamedTuple):
    """What `kernels.predictors.Prediction` is made of: float64."""

    mean: Float[np.ndarray, "test ..."]
    covariance: Float[np.ndarray, "test test"] | None
    alpha: Float[np.ndarray, "train ..."]
    condition: float
    residual: float


def regression(
    k: Stored, y: Any, k_test: Any, k_test_test: Any, ridge: float, tolerance: float
) -> Regression:
    """Return the prediction from a kernel on disk; with the kernel of test inputs, the covariance.

    An unfinished solution makes the covariance larger, never smaller: with Z solving K Z = C up to
    R, what is subtracted in place of C' K^-1 C is Z' C + Z' R = C' K^-1 C - R' K^-1 R.

    **Raises:** `ValueError` for shapes that do not fit, NaN, or what `solve` refuses.
    """
    n = len(k)
    y = np.asarray(as_array("targets", y), np.float64)
    if k.rows != k.columns:
        raise ValueError(
            f"the training kernel is a square matrix, got shape {k.shape} of a cross one"
        )
    if y.ndim < 1 or len(y) != n:
        raise ValueError(
            f"there must be one target per input: {n} inputs, targets of shape {y.shape}"
        )
    cross = k_test if isinstance(k_test, Stored) else as_array("the test kernel", k_test)
    if cross.ndim != 2 or cross.shape[1] != n:
        raise ValueError(
            f"the test kernel has shape (test inputs, {n} training inputs), got {cross.shape}"
        )
    finite("targets", y)
    wide = lambda a: np.asarray(a, np.float64)
    largest = spectrum(k)
    found = solve(k, largest, ridge, y.reshape(n, -1), tolerance)
    mean = cross @ found.alpha if isinstance(cross, Stored) else wide(cross) @ found.alpha
    finite("test kernel", mean)
    mean, alpha = mean.reshape(len(mean), *y.shape[1:]), found.alpha.reshape(y.shape)
    top = float(largest.values[0]) if largest.values.size else 0.0
    # A bound, if K is positive semidefinite.
    condition = np.inf if ridge <= 0 else (top + largest.rest + ridge) / ridge
    if k_test_test is None:
        return Regression(mean, None, alpha, condition, found.residual)
    own = wide(as_array("the kernel of the test inputs", k_test_test))
    if own.shape != (len(mean),) * 2:
        raise ValueError(
            f"the kernel of the test inputs has shape {(len(mean),) * 2}, got {own.shape}"
        )
    finite("kernel of the test inputs", own)
    columns = wide(cross).T
    z = solve(k, largest, ridge, columns, tolerance)
    covariance = own - z.alpha.T @ (columns + z.left)
    covariance = (covariance + covariance.T) / 2
    variance = np.diagonal(covariance)
    # What the kernel lost when it was rounded.
    slack = 10 * n * np.finfo(k.dtype).eps * np.sqrt(condition) * np.abs(np.diagonal(own)).max()
    if variance.min() < -slack:
        raise ValueError(
            f"a posterior variance is {variance.min():.3g}, but variances are at least 0: the "
            "kernels are not blocks of one Gram matrix; take all three from one call of "
            "kernels.gram, or more noise"
        )
    np.fill_diagonal(covariance, np.maximum(variance, 0.0))
    return Regression(mean, covariance, alpha, condition, max(found.residual, z.residual))
