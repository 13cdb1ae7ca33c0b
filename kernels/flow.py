"""Networks trained by gradient flow in their tangent kernel: their outputs at any time."""

from typing import Any, NamedTuple, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, ArrayLike, Float, Real

from theorykit.common.arguments import as_array, shown
from theorykit.common.precision import highest
from theorykit.kernels.devices import at_home
from theorykit.kernels.inputs import floating, known, number
from theorykit.kernels.systems import array, finite, result_dtype, system

Times = Real[ArrayLike, "..."]
Kernels = tuple[
    Float[ArrayLike, "train train"], Float[ArrayLike, "test train"], Float[ArrayLike, "test test"]
]


class Ensemble(NamedTuple):
    """Outputs of trained networks, each from an initialisation of its own: a Gaussian process.

    **Fields:**

    - `mean`: (..., P*) or (..., P*, outputs), after the axes of the times.
    - `covariance`: (..., P*, P*), of each output; different outputs are independent.
    """

    mean: Float[Array, "..."]
    covariance: Float[Array, "..."]


@overload
def gradient_flow(
    k_train: Float[ArrayLike, "train train"],
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"],
    *,
    time: Times | None,
    learning_rate: Any = ...,
    nngp: None = ...,
) -> Float[Array, "..."]: ...
@overload
def gradient_flow(
    k_train: Float[ArrayLike, "train train"],
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"],
    *,
    time: Times | None,
    learning_rate: Any = ...,
    nngp: Kernels,
) -> Ensemble: ...
@highest
@at_home
def gradient_flow(
    k_train: Float[ArrayLike, "train train"],
    y: Real[ArrayLike, "train ..."],
    k_test: Float[ArrayLike, "test train"],
    *,
    time: Any,
    learning_rate: Any = 1.0,
    nngp: Any = None,
) -> Any:
    """Return the prediction of linearised networks after gradient flow on the squared error.

    The loss is mean((f - y)^2) / 2. Along an eigenvector of the kernel with eigenvalue l, the error
    at time t is exp(-l t / y.size) times the initial one. An eigenvalue below P eps of the largest
    counts as 0. The mean starts from f = 0; given the NNGP at initialisation, the covariance over
    networks is returned too (Lee et al. 2019, eq. 16):

        k = joint(network, x, x_test, key=key)
        nngp = k.train.nngp, k.cross.nngp, k.test.nngp
        gradient_flow(k.train.ntk, y, k.cross.ntk, time=[0.1, 1, jnp.inf], nngp=nngp)

    **Arguments:**

    - `k_train`: (P, P) NTK of the training inputs.
    - `y`: (P,) or (P, outputs) targets.
    - `k_test`: (P*, P) NTK between test and training inputs.
    - `time`: training time, or an array of times; infinity, or None, for its end.
    - `learning_rate`: step size that the time is counted in.
    - `nngp`: three kernels of the outputs at initialisation: (P, P) of the training inputs,
      (P*, P) between test and training inputs, (P*, P*) of the test inputs.

    **Returns:** (P*,) or (P*, outputs), after the axes of the times; with `nngp` an `Ensemble` of
    this mean and the covariance. A variance that rounding puts below 0 is 0. Works under `jit`,
    `vmap` and `grad`, also where eigenvalues are equal; values are then not checked. The second
    derivative in the kernel at a time before the end is NaN where eigenvalues are equal.

    **Raises:** `ValueError` as `ridge`; for a negative time or step; for the end of a singular
    kernel; for a variance that is negative beyond rounding, which kernels of one Gram matrix do not
    give.
    """
    times = _checked(time)
    learning_rate = number("learning_rate", learning_rate, 0)
    k, targets, cross, values, vectors, slack = system(k_train, y, k_test)
    own = None if nngp is None else _initial(nngp, k, cross)
    dtype = result_dtype(k_train, y, k_test)
    if own is not None:
        dtype = floating(jnp.zeros(0, dtype), *(as_array("nngp", a) for a in nngp))
    ends = times is None or (known(times) and bool(np.isinf(times).any()))
    if ends and known(values) and float(values[0]) <= slack:
        raise ValueError(
            "the training kernel is singular to rounding (smallest eigenvalue "
            f"{float(values[0]):.3g}), so training has no end; give a time"
        )
    # What rounding leaves of an eigenvalue 0 would count as learned after a long time.
    values = jnp.where(values > len(k) * jnp.finfo(k.dtype).eps * values[-1], values, 0.0)
    columns = targets.reshape(len(targets), -1)
    moved = columns if own is None else jnp.eye(len(k), dtype=k.dtype)
    rate = jnp.asarray(learning_rate, k.dtype) / columns.size
    clock = jnp.asarray(jnp.inf if times is None else times, k.dtype)
    if times is None:
        found = cross @ cho_solve(cho_factor(k), moved)
    else:
        at = lambda t: _flow(k, cross, moved, t, rate, values, vectors)
        found = jax.vmap(at)(clock.reshape(-1))
        found = found.reshape(*clock.shape, *found.shape[1:])
    mean = found if own is None else found @ columns
    mean = mean.reshape(*mean.shape[:-1], *targets.shape[1:]).astype(dtype)
    if own is None:
        return mean
    # How much larger a rounding of the kernel may be in what is carried over.
    least = jnp.maximum(values[0], jnp.finfo(k.dtype).eps * values[-1])
    loss = 1 + values[-1] * jax.vmap(lambda t: _learned(least, _clock(t, rate)))(clock.reshape(-1))
    loss = loss.reshape(clock.shape)
    train, between, test = own
    return Ensemble(mean, _covariance(found, train, between, test, loss).astype(dtype))


def _checked(time: Any) -> Any:
    """Return times, known or traced; None for the end."""
    if time is None:
        return None
    what = "time is a number of at least 0, or an array of them, or None for its end"
    try:
        times = as_array("time", time, "uif")
    except ValueError:
        raise ValueError(f"{what}, got {shown(time)}") from None
    if known(times) and not bool((times >= 0).all()):
        raise ValueError(f"{what}, got {shown(time)}")
    return times


def _initial(nngp: Any, k: Array, cross: Array) -> list[Array]:
    """Return the kernels of the outputs at initialisation, checked, in the dtype of the others."""
    if not isinstance(nngp, tuple | list) or len(nngp) != 3:
        raise ValueError(
            "nngp is three kernels: of the training inputs, between test and training inputs, and "
            f"of the test inputs; got {shown(nngp)}"
        )
    names = "training kernel", "test kernel", "kernel of the test inputs"
    shapes = k.shape, cross.shape, (len(cross),) * 2
    found = []
    for name, shape, given in zip((f"nngp {n}" for n in names), shapes, nngp, strict=True):
        array(name, given)
        one = jnp.asarray(as_array(f"the {name}", given))
        if one.shape != shape:
            raise ValueError(f"the {name} has shape {shape}, got {one.shape}")
        finite(name, one)
        found.append(one.astype(k.dtype))
    return found


def _covariance(carried, train, cross, test, loss) -> Array:
    """Return the covariance of f(test) - carried f(train), for each `carried` (..., P*, P)."""
    mixed = carried @ cross.T
    learned = carried @ train @ jnp.swapaxes(carried, -1, -2)
    covariance = test - mixed - jnp.swapaxes(mixed, -1, -2) + learned
    covariance = (covariance + jnp.swapaxes(covariance, -1, -2)) / 2
    variance, before = (jnp.diagonal(k, axis1=-2, axis2=-1) for k in (covariance, test + learned))
    eps = jnp.finfo(covariance.dtype).eps
    slack = 10 * len(train) * eps * jnp.sqrt(loss)[..., None] * before.max(-1, keepdims=True)
    if known(variance, slack) and bool((variance < -slack).any()):
        raise ValueError(
            f"a variance of the trained networks is {float(variance.min()):.3g}, but variances are "
            "at least 0: the three nngp kernels are not blocks of one Gram matrix, as those of "
            "separate Monte-Carlo calls are not; take them from kernels.joint, or more draws"
        )
    on = jnp.arange(variance.shape[-1])
    rounded = (variance < 0) & (variance >= -slack)
    return covariance.at[..., on, on].set(jnp.where(rounded, 0.0, variance))


@jax.custom_jvp
def _flow(k, cross, columns, time, rate, values, vectors):
    """Return `cross f(k) columns`, f(l) = (1 - exp(-l time rate)) / l, from the spectrum of `k`."""
    del k
    # Nothing is learned along an eigenvector whose eigenvalue is 0: the test kernel has no part
    # there either.
    learned = jnp.where(values > 0, _learned(values, _clock(time, rate)), 0.0)
    return cross @ (vectors @ (learned[:, None] * (vectors.T @ columns)))


@_flow.defjvp
@highest
def _flow_jvp(primals, tangents):
    """Differentiate a function of a matrix by divided differences (Daleckii and Krein)."""
    _, cross, columns, time, rate, values, vectors = primals
    dk, dcross, dcolumns, dtime, drate, _, _ = tangents
    clock = _clock(time, rate)
    modes = vectors.T @ columns
    # A change of the test kernel may reach eigenvalues of 0, where f is the time.
    f = _learned(values, clock)[:, None]
    dk = vectors.T @ ((dk + dk.T) / 2) @ vectors
    left = jnp.exp(-_times(values, clock))
    change = (_learned_difference(values, clock) * dk) @ modes + f * (vectors.T @ dcolumns)
    by_time, by_rate = rate * left, jnp.where(left > 0, time * left, 0.0)
    change = change + (by_time * dtime + by_rate * drate)[:, None] * modes
    slope = cross @ (vectors @ change) + dcross @ (vectors @ (f * modes))
    return _flow(*primals), slope


def _clock(time, rate):
    """Return `time * rate`; the end at any rate."""
    return jnp.where(time == jnp.inf, jnp.inf, time * rate)


def _times(l, t):
    """Return l t for l >= 0; 0 where l is, at the end too."""
    return jnp.where(l > 0, jnp.where(l > 0, l, 1.0) * t, 0.0)


def _learned(l, t):
    """Return (1 - exp(-l t)) / l for l >= 0."""
    return jnp.where(l > 0, -jnp.expm1(-_times(l, t)) / jnp.where(l > 0, l, 1.0), t)


def _learned_difference(l, t):
    """Return the divided differences of `_learned` between all pairs of l >= 0."""
    low, high = jnp.minimum(l[:, None], l), jnp.maximum(l[:, None], l)
    left = jnp.exp(-_times(low, t))
    later = jnp.where(left > 0, left * _learned(high - low, t), 0.0)
    large = (later - _learned(low, t)) / jnp.where(high > 0, high, 1.0)
    # The series about 0, where the differences above cancel.
    small = _times(high, t) < 0.5
    step = jnp.where(t == jnp.inf, 0.0, t)
    low, near = (jnp.where(small, k, 0.0) * step for k in (low, high))
    power, monomial, factorial = jnp.ones_like(low), jnp.ones_like(low), 2.0
    series = jnp.full_like(low, -0.5)
    for n in range(2, 15):
        power = power * low
        monomial = near * monomial + power
        factorial *= n + 1
        series = series + (-1) ** n * monomial / factorial
    return jnp.where(small, step**2 * series, large)
