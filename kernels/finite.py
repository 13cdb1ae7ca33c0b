"""Kernels of any network, estimated from networks of finite width."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from theorykit.kernels.inputs import count, known
from theorykit.kernels.result import Kernel


def monte_carlo(
    init_fn: Callable,
    apply_fn: Callable,
    x1: Any,
    x2: Any = None,
    *,
    key: Any,
    draws: int,
    replicates: int = 8,
    get: tuple[str, ...] | str = ("nngp", "ntk"),
    **nt_options: Any,
) -> Kernel:
    """Return neural-tangents' finite-width estimate of NNGP and NTK, with standard errors.

    Everything is a function of `key`: of `replicates * draws` networks, initialised one after
    the other, each run of `draws` makes one of the independent estimates that are averaged. What
    is estimated is the mean kernel at the network's own width; its distance to the kernel of
    infinite width is not in the standard error.

    Args:
      init_fn: `init_fn(key, x1.shape)` returns `(output shape, parameters)`.
      apply_fn: `apply_fn(parameters, x, rng=key)` returns the outputs, (P, ..., outputs).
      x1: (P1, ...) floating-point inputs, or a pytree of such arrays.
      x2: (P2, ...) of the same kind; `None` means `x1`.
      key: a key of `jax.random`, of either kind.
      draws: networks in each replicate.
      replicates: independent estimates.
      get: "nngp", "ntk" or both.
      nt_options: passed on to `nt.monte_carlo_kernel_fn`: `vmap_axes=0` makes the NTK of a
        network that treats its inputs one by one much cheaper; also `implementation`,
        `batch_size`, `device_count`, `trace_axes` (the last axis if not given), `diagonal_axes`.

    Returns:
      A `Kernel` whose `nngp` and `ntk` are (P1, P2), with two axes more for each output axis that
      is not traced, in the dtype of the outputs. The standard errors have the same shapes and are
      those of the mean over the replicates, `None` when there is only one replicate.

    Raises:
      ValueError: `draws` or `replicates` below 1, another name in `get`, NaN or infinity in an
        input.
    """
    from theorykit.kernels.tangents import nt

    draws, replicates = count("draws", draws), count("replicates", replicates)
    get = (get,) if isinstance(get, str) else tuple(get)
    if not get or set(get) - {"nngp", "ntk"}:
        raise ValueError(f'get names "nngp", "ntk" or both, got {get!r}')
    for name, x in (("x1", x1), ("x2", x2)):
        for leaf in jax.tree.leaves(x):
            if known(leaf) and not jnp.isfinite(leaf).all():
                raise ValueError(f"{name} must be finite, but it holds NaN or infinity")

    # One estimator, so one compilation: it yields its running mean at the end of each replicate.
    stops = range(draws, draws * replicates + 1, draws)
    estimator = nt.monte_carlo_kernel_fn(init_fn, apply_fn, key, stops, **nt_options)
    mean, squares = None, None
    for r, running in enumerate(estimator(x1, x2, get), 1):
        running = tuple(running)
        if mean is None:
            squares = jax.tree.map(jnp.zeros_like, running)
        else:
            # Welford's update. The replicate itself is r * running - (r - 1) * mean, so it lies
            # r * (running - mean) away from the mean before it, and (r - 1) / r of that squared
            # is what it adds to the sum of squared deviations.
            step = lambda s, new, old, r=r: s + r * (r - 1) * (new - old) ** 2
            squares = jax.tree.map(step, squares, running, mean)
        mean = running

    def stderr(sum_of_squares: Any) -> Any:
        return jnp.sqrt(sum_of_squares / (replicates * (replicates - 1)))

    values: dict[str, Any] = dict(zip(get, mean, strict=True))  # type: ignore[arg-type]
    if replicates > 1:
        errors = jax.tree.map(stderr, squares)
        values |= {f"{name}_stderr": e for name, e in zip(get, errors, strict=True)}
    return Kernel(**values, draws=draws, replicates=replicates, draw="networks")
