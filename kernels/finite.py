"""Kernels of any network, estimated from networks of finite width."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from theorykit.common.arguments import as_array, shown, size
from theorykit.common.keys import is_key
from theorykit.common.precision import highest
from theorykit.kernels.devices import at_home
from theorykit.kernels.inputs import floating, known, wanted
from theorykit.kernels.moments import Moments
from theorykit.kernels.progress import bar
from theorykit.kernels.result import Kernel


@highest
@at_home
def monte_carlo(
    network: tuple[Callable, ...],
    x1: PyTree,
    x2: PyTree = None,
    *,
    key: Any,
    draws: int,
    replicates: int = 8,
    get: tuple[str, ...] | str = ("nngp", "ntk"),
    progress: bool | None = None,
    **nt_options: Any,
) -> Kernel:
    """Return neural-tangents' finite-width estimate of NNGP and NTK, with standard errors.

    Everything is a function of `key`: of `replicates * draws` networks, initialised one after
    the other, each run of `draws` makes one of the independent estimates that are averaged. What
    is estimated is the mean kernel at the network's own width; its distance to the kernel of
    infinite width is not in the standard error.

    **Arguments:**

    - `network`: the pair `(init_fn, apply_fn)`, or what `stax` makes, which begins with it:
      `init_fn(key, x1.shape)` returns `(output shape, parameters)`, and
      `apply_fn(parameters, x, rng=key)` the outputs, (P, ..., outputs).
    - `x1`: (P1, ...) floating-point inputs, or a pytree of such arrays.
    - `x2`: (P2, ...) of the same kind; `None` means `x1`.
    - `key`: a key of `jax.random`, of either kind.
    - `draws`: networks in each replicate.
    - `replicates`: independent estimates.
    - `get`: "nngp", "ntk" or both.
    - `progress`: show a bar on standard error; None: if that is a terminal.
    - `nt_options`: passed on to `nt.monte_carlo_kernel_fn`: `vmap_axes=0` makes the NTK of a
      network that treats its inputs one by one much cheaper; also `implementation`,
      `batch_size`, `device_count`, `trace_axes` (the last axis if not given), `diagonal_axes`.

    **Returns:** a `Kernel` whose `nngp` and `ntk` are (P1, P2), with two axes more for each output
    axis that is not traced, in the dtype of the inputs. The standard errors have the same shapes
    and are those of the mean over the replicates, `None` when there is only one replicate.

    **Raises:** `ValueError` for a network that is no such pair, `draws` or `replicates` below 1,
    another name in `get`, NaN or infinity in an input.
    """
    from theorykit.kernels.tangents import nt

    if not (isinstance(network, tuple | list) and len(network) > 1 and all(map(callable, network))):
        raise ValueError(f"network is a pair (init_fn, apply_fn) of functions, got {network!r}")
    draws, replicates, get = size("draws", draws), size("replicates", replicates), wanted(get)
    if not jax.tree.leaves(x1):
        raise ValueError(f"x1 has floating-point inputs along its first axis, got {shown(x1)}")
    if not is_key(key):
        raise ValueError(f"key is one random key, such as jax.random.key(0), got {shown(key)}")
    for name, x in (("x1", x1), ("x2", x2)):
        for leaf in jax.tree.leaves(x):
            leaf = as_array(name, leaf)
            if not leaf.ndim or not len(leaf) or not jnp.issubdtype(leaf.dtype, jnp.floating):
                raise ValueError(
                    f"{name} has floating-point inputs along its first axis, got {leaf.dtype} in "
                    f"shape {leaf.shape}"
                )
            if known(leaf) and not jnp.isfinite(leaf).all():
                raise ValueError(f"{name} must be finite, but it holds NaN or infinity")

    outputs = lambda x: network[1](network[0](key, jax.tree.map(jnp.shape, x1))[1], x, rng=key)
    axes = {}
    for name, x in (("x1", x1), ("x2", x1 if x2 is None else x2)):
        try:
            axes[name] = jax.tree.map(jnp.ndim, jax.eval_shape(outputs, x))
        except (TypeError, ValueError) as error:
            shapes = jax.tree.map(jnp.shape, x)
            raise ValueError(f"the network fails on {name} of shape {shapes}: {error}") from error
    if axes["x1"] != axes["x2"]:
        raise ValueError(f"outputs at x1 and x2 have equally many axes, got {axes}")

    # One estimator, so one compilation: it yields its running mean at the end of each replicate.
    stops = range(draws, draws * replicates + 1, draws)
    estimator = nt.monte_carlo_kernel_fn(*network[:2], key, stops, **nt_options)
    found: Moments | None = None
    with bar("networks", replicates, progress) as tick:
        for running in estimator(x1, x2, get):
            mean = tick(tuple(running))
            found = Moments(mean) if found is None else found.moved(mean)
            tick.replicate()
    values, errors = found.mean, found.stderr()  # type: ignore[union-attr]
    dtype = floating(*map(jnp.asarray, jax.tree.leaves((x1, x2))))
    values, errors = jax.tree.map(lambda k: k.astype(dtype), (values, errors))
    fields: dict[str, Any] = dict(zip(get, values, strict=True))
    if errors is not None:
        fields |= {f"{name}_stderr": e for name, e in zip(get, errors, strict=True)}
    return Kernel(**fields, draws=draws, replicates=replicates, draw="networks")
