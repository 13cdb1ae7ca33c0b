"""The arrays of a regression with a kernel, checked, and the spectrum of the kernel."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from theorykit.common.arguments import as_array
from theorykit.kernels.inputs import computed, floating, known
from theorykit.kernels.result import Kernel


def system(k, y, k_test, jitter=0.0):
    """Return the arrays of a regression and the spectrum of its kernel, all checked.

    The spectrum is constant to JAX: eigenvectors of a repeated eigenvalue have no derivative, but
    what is solved with them has.
    """
    for name, given in (("training kernel", k), ("test kernel", k_test)):
        array(name, given)
    k = jnp.asarray(as_array("the training kernel", k))
    y = jnp.asarray(as_array("targets", y))
    k_test = jnp.asarray(as_array("the test kernel", k_test))
    if k.ndim != 2 or k.shape[0] != k.shape[1]:
        raise ValueError(f"the training kernel is a square matrix, got shape {k.shape}")
    if y.ndim < 1 or y.shape[0] != k.shape[0]:
        raise ValueError(
            f"there must be one target per input: {k.shape[0]} inputs, targets of shape {y.shape}"
        )
    if k_test.ndim != 2 or k_test.shape[1] != k.shape[0]:
        raise ValueError(
            f"the test kernel has shape (test inputs, {k.shape[0]} training inputs), "
            f"got {k_test.shape}"
        )
    kind = computed(floating(k, y, k_test))
    k, y, k_test = (a.astype(kind) for a in (k, y, k_test))
    for name, given in (("training kernel", k), ("targets", y), ("test kernel", k_test)):
        finite(name, given)
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


def array(name: str, kernel: Any) -> None:
    """Refuse a `Kernel` in place of an array, or the None of a kernel that was not asked for."""
    if isinstance(kernel, Kernel):
        raise ValueError(f"the {name} is an array: give the field nngp or ntk of the Kernel")
    if kernel is None:
        raise ValueError(f"the {name} is an array, got None: was this kernel asked for?")


def finite(name: str, given: Array | np.ndarray) -> None:
    """Refuse an array whose values are known and not all finite."""
    if known(given) and not bool(jnp.isfinite(given).all()):
        raise ValueError(f"the {name} must be finite, but NaN or infinity was given")


def result_dtype(*arrays: Any) -> Any:
    """Return the floating dtype of a prediction from arrays."""
    for name, given in zip(("training kernel", "targets", "test kernel"), arrays, strict=True):
        array(name, given)
    return floating(*(as_array("a kernel", a) for a in arrays))
