"""Kernels of any network, estimated from networks of finite width."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Shaped

from theorykit.common.arguments import shown, size
from theorykit.common.keys import as_key
from theorykit.common.precision import highest
from theorykit.common.spelling import spelt
from theorykit.kernels.devices import at_home
from theorykit.kernels.empirical import checked, kernels_of, parts
from theorykit.kernels.inputs import computed, wanted
from theorykit.kernels.moments import Moments
from theorykit.kernels.progress import bar
from theorykit.kernels.result import Kernel


@spelt
@highest
@at_home
def monte_carlo(
    network: Callable | tuple[Callable, ...],
    x1: Shaped[ArrayLike, "inputs1 ..."],
    x2: Shaped[ArrayLike, "inputs2 ..."] | None = None,
    *,
    key: Any,
    draws: int,
    replicates: int = 8,
    get: tuple[str, ...] | str = ("nngp", "ntk"),
    block: int | None = None,
    progress: bool | None = None,
) -> Kernel:
    """Return the mean NNGP and NTK of networks of finite width, with standard errors.

    Everything is a function of `key`. In all, `replicates * draws` networks are initialised and
    evaluated one after another, and each run of `draws` makes one of the independent estimates that
    are averaged. What is estimated is the mean kernel at the network's own width; its distance from
    the kernel of infinite width is not in the standard error.

    **Arguments:**

    - `network`: a function of `nnx.Rngs` that returns an `nnx.Module`, which maps one input to
      outputs (outputs,) or (T, outputs); or a pair `(init_fn, apply_fn)`, as neural-tangents'
      `stax` makes: `init_fn(key, x1.shape)` returns `(output shape, parameters)`, and
      `apply_fn(parameters, x, rng=key)` the outputs, (P, ..., outputs), of a batch of inputs that
      do not see each other.
    - `x1`: (P1, ...) inputs, vectors or token ids.
    - `x2`: (P2, ...) of the same kind; `None` means `x1`, and gives exactly symmetric matrices.
    - `key`: a key of `jax.random`, of either kind.
    - `draws`: networks in each replicate.
    - `replicates`: independent estimates.
    - `get`: "nngp", "ntk" or both.
    - `block`: inputs whose gradients are held at once; None: as many as fit into 256 MiB.
    - `progress`: show a bar on standard error; None: only on a terminal or in a notebook.

    **Returns:** `Kernel` of (P1, P2) arrays, means over the last output axis; other output axes
    follow their input, (P1, T1, P2, T2). They have the dtype of the inputs, or of the outputs where
    the inputs are token ids, and are computed in float32 at least. The standard errors are those of
    the mean over the replicates, `None` when there is only one.

    **Raises:** `ValueError` for a network that is neither, or that fails on an input; `draws` or
    `replicates` below 1, another name in `get`, NaN or infinity in an input.
    """
    pair: Any = network if isinstance(network, tuple | list) else None
    members = (network,) if pair is None else tuple(pair[:2])
    if len(members) < (1 if pair is None else 2) or not all(map(callable, members)):
        raise ValueError(
            "network is a function of nnx.Rngs that returns an nnx.Module, or a pair (init_fn, "
            f"apply_fn) of functions, got {shown(network)}"
        )
    draws, replicates, get = size("draws", draws), size("replicates", replicates), wanted(get)
    key = as_key(key)
    sides = [checked(f"x{i}", x) for i, x in enumerate((x1, x2), 1) if x is not None]
    if block is not None:
        block = min(size("block", block), max(map(len, sides)))
    one = functools.partial(_one, members, get, block)
    dtype = _dtype(one, key, sides)
    replicate = jax.jit(functools.partial(_mean, one))
    found: Moments | None = None
    with bar("networks", replicates, progress) as tick:
        for keys in jax.random.split(key, (replicates, draws)):
            mean = tick(replicate(keys, *sides))
            found = Moments(mean) if found is None else found.add(mean)
            tick.replicate()
    assert found is not None  # there is a replicate
    as_asked = lambda kernels: jax.tree.map(lambda k: k.astype(dtype), kernels)
    fields: dict[str, Any] = dict(as_asked(found.mean))
    errors = found.stderr()
    if errors is not None:
        fields |= {f"{name}_stderr": e for name, e in as_asked(errors).items()}
    return Kernel(**fields, draws=draws, replicates=replicates, draw="networks")


def _one(
    members: tuple[Callable, ...], get: tuple[str, ...], block: int | None, key: Any, *sides: Array
) -> dict[str, Array]:
    """Return the kernels of the network whose weights follow from a key."""
    if len(members) == 1:
        from flax import nnx

        network = members[0](nnx.Rngs(key))
    else:
        init, run = members
        first, second = jax.random.split(key)
        alone = lambda weights, x: run(weights, x[None], rng=second)[0]
        network = alone, init(first, sides[0].shape)[1]
    apply, weights, rest = parts(network)
    names = ("",) * len(jax.tree.leaves(weights))
    nngp, ntk = kernels_of(apply, names, get, "trace", block, weights, rest, *sides)
    found = {"nngp": nngp, "ntk": None if ntk is None else ntk[""]}
    return {name: found[name] for name in get}


def _dtype(one: Callable, key: Any, sides: list[Array]) -> Any:
    """Return the dtype of inputs, that of the kernels where these are whole numbers.

    **Raises:** `ValueError` naming the inputs on which the network fails.
    """
    for i, x in enumerate(sides, 1):
        try:
            found = jax.eval_shape(one, key, *sides[:i])
        except (TypeError, ValueError) as error:
            shape = np.shape(x)
            raise ValueError(f"the network fails on x{i} of shape {shape}: {error}") from error
    dtype = jnp.result_type(*sides)
    return dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.result_type(*found.values())


def _mean(one: Callable, keys: Array, *sides: Array) -> dict[str, Array]:
    """Return the mean kernels of as many networks as there are keys, one after the other."""
    wide = lambda key: {k: v.astype(computed(v.dtype)) for k, v in one(key, *sides).items()}
    zero = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(wide, keys[0]))
    total, _ = jax.lax.scan(
        lambda sum, key: (jax.tree.map(jnp.add, sum, wide(key)), None), zero, keys
    )
    return jax.tree.map(lambda t: t / len(keys), total)
