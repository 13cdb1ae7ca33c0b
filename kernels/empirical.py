"""NNGP and NTK of one finite network, in blocks of inputs and by group of parameters."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree, Shaped

from theorykit.common.arguments import as_array, function, one_of, shown, size
from theorykit.common.precision import highest
from theorykit.common.spelling import spelt
from theorykit.kernels.devices import varying
from theorykit.kernels.inputs import computed, known, together, wanted
from theorykit.kernels.result import Kernel

MEMORY = 2**28  # bytes of Jacobian that are held at once if no block is given


@spelt
@highest
def empirical(
    network: Any,
    x1: Shaped[ArrayLike, "inputs1 ..."],
    x2: Shaped[ArrayLike, "inputs2 ..."] | None = None,
    *,
    get: tuple[str, ...] | str = ("nngp", "ntk"),
    groups: bool | Callable[[tuple], str] | None = None,
    block: int | None = None,
    outputs: str = "trace",
) -> Kernel:
    """Return the kernels of this network with these weights; nothing is drawn or averaged.

    The NTK is J1 J2' for one block of rows and one block of columns at a time, where J holds the
    gradients of a block's outputs. Two blocks of gradients are held in memory, 2 x block x tokens x
    parameters numbers, and what the backward pass of one block keeps. (Tokens are those that are
    read out, usually 1; traced outputs are taken one after another.) Gradients are recomputed for
    every block: n^2 / block of them for n inputs, and n^2 / 2 inner products over all parameters.

    **Arguments:**

    - `network`: maps one input to outputs (outputs,) or (T, outputs). An `nnx.Module`, whose
      `nnx.Param`s are the parameters; or a pair `(apply, params)` of a function
      `apply(params, x)` and a pytree; or a pair `(module, variables)` of a `flax.linen` module,
      whose parameters are `variables["params"]`.
    - `x1`: (P1, ...) inputs, vectors or token ids.
    - `x2`: (P2, ...); None means `x1`, and gives exactly symmetric matrices.
    - `get`: "nngp", "ntk" or both.
    - `groups`: split the NTK by parameters. True: by the attribute of the network that they belong
      to, the first key of a pytree; or a function of a parameter's path, such as ("blocks", 0,
      "attention", "query", "weight").
    - `block`: inputs per block; None: as many as keep the gradients within 256 MiB.
    - `outputs`: "trace", the mean over the last output axis; or "full", no mean.

    **Returns:** `Kernel` of (P1, P2) arrays in the dtype of the outputs, which follows from
    parameters and inputs; products are summed in float32 at least. Other output axes follow their
    input: (P1, T1, P2, T2), or (P1, outputs, P2, outputs) for "full". With groups `ntk` is a
    dictionary of such arrays, which add up to the whole. Works under `jit`, `vmap` and `grad`. The
    network's own products have the full precision of their dtype too, unless it states another.

    **Raises:** `ValueError` for anything but a network, no inputs, NaN or infinity in an input, a
    block below 1, unknown names, a group that is not a string.
    """
    apply, weights, rest = parts(network)
    get = wanted(get)
    one_of("outputs", outputs, ("trace", "full"))
    if not isinstance(groups, bool | None):
        function("groups", groups, "True, or a function of a parameter's path")
    sides = [checked(f"x{i}", x) for i, x in enumerate((x1, x2), 1) if x is not None]
    symbols: Any = getattr(network, "vocabulary", None)
    for x in sides if symbols is not None else []:
        if known(x) and not (x.min() >= 0 and x.max() < symbols):
            raise ValueError(
                f"token ids lie between 0 and {symbols - 1}, got {x.min()} to {x.max()}"
            )
    names = _names(weights, groups, isinstance(apply, _Nnx))
    if block is not None:
        block = min(size("block", block), max(map(len, sides)))
    try:
        hash(apply)
        run: Any = _compiled
    except TypeError:  # a network that keeps something unhashable is compiled anew in every call
        run = kernels_of
    nngp, ntk = run(apply, tuple(names), get, outputs, block, weights, rest, *sides)
    return Kernel(nngp=nngp, ntk=ntk if groups or ntk is None else ntk[""])


@dataclass(frozen=True)
class _Nnx:
    """An `nnx.Module` as a function of its parameters, of what else it holds, and of an input."""

    graph: Any

    def __call__(self, weights, rest, x):
        from flax import nnx

        return nnx.merge(self.graph, weights, rest)(x)


@dataclass(frozen=True)
class _Linen:
    """The same of a `flax.linen` module."""

    module: Any

    def __call__(self, weights, rest, x):
        return self.module.apply({**rest, "params": weights}, x)


@dataclass(frozen=True)
class _Plain:
    """The same of a function of parameters and an input."""

    apply: Callable

    def __call__(self, weights, rest, x):
        return self.apply(weights, x)


def parts(network: Any) -> tuple[Callable, PyTree, PyTree]:
    """Return a network as a function, its parameters, and what else it holds."""
    from flax import linen, nnx

    if isinstance(network, nnx.Module):
        graph, weights, rest = nnx.split(network, nnx.Param, ...)
        return _Nnx(graph), weights, rest
    if isinstance(network, tuple) and len(network) == 2:
        first, held = network
        if isinstance(first, linen.Module):
            if not isinstance(held, Mapping) or "params" not in held:
                raise ValueError(
                    f'the variables of a linen module have "params", got {shown(held)}'
                )
            return _Linen(first), held["params"], {k: v for k, v in held.items() if k != "params"}
        if callable(first):
            leaves = [as_array("a parameter", leaf) for leaf in jax.tree.leaves(held)]
            if not leaves or not all(jnp.issubdtype(a.dtype, jnp.floating) for a in leaves):
                raise ValueError(f"params is a pytree of floating arrays, got {shown(held)}")
            return _Plain(first), held, None
    raise ValueError(
        "network is an nnx.Module, or a pair (apply, params) or (linen module, variables), got "
        f"{shown(network) if isinstance(network, tuple) else type(network).__name__}"
    )


def kernels_of(network, names, get, outputs, block, weights, rest, x1, x2=None):
    """Return the NNGP and the NTK of every group, or None for those not asked for."""
    apply = lambda weights, x: _table(network(weights, rest, x), outputs)
    sides = [x1] if x2 is None else [x1, x2]
    shapes = [jax.eval_shape(apply, weights, x[0]) for x in sides]
    axes = [s.shape[:-1] for s in (shapes[0], shapes[-1])]
    traced, dtype = shapes[0].shape[-1], together(*shapes)
    shape = (len(x1), *axes[0], len(sides[-1]), *axes[1])
    nngp = ntk = None
    if "nngp" in get:
        f1, f2 = (_outputs(apply, weights, x, block) for x in (x1, sides[-1]))
        nngp = (_wide(f1) @ _wide(f2).T / traced).reshape(shape).astype(dtype)
    if "ntk" in get:
        leaves = jax.tree.leaves(weights)
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
        size *= 2 * max(math.prod(a) for a in axes)
        parts = _tangent(apply, weights, sides, names, block or max(1, MEMORY // size), traced)
        ntk = {name: part.reshape(shape).astype(dtype) for name, part in parts.items()}
    return nngp, ntk


def _wide(a: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return an array in the dtype that products of it are summed in."""
    return a.astype(computed(a.dtype))


_compiled = jax.jit(kernels_of, static_argnums=(0, 1, 2, 3, 4))


def checked(name: str, x: Any) -> Any:
    """Return inputs as an array.

    **Raises:** `ValueError` for no inputs, NaN or infinity.
    """
    x = as_array(name, x)
    if x.ndim < 1 or len(x) == 0:
        raise ValueError(f"{name} holds inputs along its first axis, got shape {x.shape}")
    if known(x) and not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, but NaN or infinity was given")
    return x


def _table(out: Any, outputs: str) -> Float[Array, "... k"]:
    """Return outputs (..., k): k is the axis that is averaged over, of size 1 for "full"."""
    if not isinstance(out, jax.Array):
        raise ValueError(f"a network returns one array, got {type(out).__name__}")
    if out.ndim == 0 or outputs == "full":
        return out[..., None]
    return out


def _outputs(
    apply: Callable, weights: PyTree, x: Array, block: int | None
) -> Float[Array, "rows k"]:
    """Return the outputs of all inputs, of shape (inputs x other axes, k)."""
    f = jax.lax.map(lambda x: apply(weights, x), x, batch_size=min(len(x), block or 64))
    return f.reshape(-1, f.shape[-1])


def _names(
    weights: Any, groups: bool | Callable[[tuple], str] | None, variables: bool
) -> list[str]:
    """Return the group of every leaf of the parameters, which may be nnx's variables."""
    if not groups:
        return [""] * len(jax.tree.leaves(weights))
    paths = [_path(path, variables) for path, _ in jax.tree_util.tree_leaves_with_path(weights)]
    names = [str(path[0] if path else "") if groups is True else groups(path) for path in paths]
    for path, name in zip(paths, names, strict=True):
        if not isinstance(name, str):
            raise ValueError(f"groups names each parameter, but {path} is called {name!r}")
    return names


def _path(path: tuple, variables: bool) -> tuple:
    """Return attribute names and indices, without a variable's own last step."""
    keys = [
        getattr(step, "key", getattr(step, "idx", getattr(step, "name", None))) for step in path
    ]
    return tuple(keys[:-1] if variables and keys and keys[-1] == "value" else keys)


def _tangent(
    apply: Callable, weights: Any, sides: list, names: tuple, block: int, mean_over: int
) -> dict[str, Array]:
    """Return the NTK of each group, of shape (inputs x other axes) on both sides."""
    x1, x2 = sides[0], sides[-1]
    same = len(sides) == 1

    def gradients(x: Array, k: Array) -> list[Array]:
        """Return the gradients of output k, leaf by leaf: (inputs x other axes, size)."""

        def one(x):
            f, pull = jax.vjp(lambda w: apply(w, x), weights)
            cotangents = jnp.eye(f.size // f.shape[-1], dtype=f.dtype).reshape(-1, *f.shape[:-1])
            pick = jax.nn.one_hot(k, f.shape[-1], dtype=f.dtype)
            return jax.vmap(lambda c: pull(c[..., None] * pick)[0])(cotangents)

        leaves = jax.tree.leaves(jax.vmap(one)(x))
        return [leaf.reshape(leaf.shape[0] * leaf.shape[1], -1) for leaf in leaves]

    def products(left: Array, right: Array | None) -> dict[str, Array]:
        """Return the NTK of two blocks; of one block with itself where right is None."""

        def output(k):
            J1 = gradients(left, k)
            J2 = J1 if right is None else gradients(right, k)
            found: dict[str, Array] = {}
            for name, a, b in zip(names, J1, J2, strict=True):
                found[name] = found.get(name, 0) + _wide(a) @ _wide(b).T
            return found

        total = jax.tree.map(jnp.zeros_like, jax.eval_shape(output, 0))
        total = varying(total, x1, x2, weights)
        step = lambda total, k: (jax.tree.map(jnp.add, total, output(k)), None)
        total, _ = jax.lax.scan(step, total, jnp.arange(mean_over))
        return jax.tree.map(lambda t: t / mean_over, total)

    if max(len(x1), len(x2)) <= block:
        whole = products(x1, None if same else x2)
        return jax.tree.map(lambda t: (t + t.T) / 2, whole) if same else whole
    blocks1, blocks2 = _blocks(x1, block), _blocks(x2, block)
    pairs = list(itertools.product(range(len(blocks1)), range(len(blocks2))))
    kept = np.array([(i, j) for i, j in pairs if i <= j or not same])
    tiles = jax.lax.map(lambda p: products(blocks1[p[0]], blocks2[p[1]]), jnp.asarray(kept))

    def assemble(tiles):
        per_row, per_column = (tiles.shape[1] // block, tiles.shape[2] // block)
        where = {(int(i), int(j)): n for n, (i, j) in enumerate(kept)}
        tile = lambda i, j: tiles[where[i, j]] if (i, j) in where else tiles[where[j, i]].T
        table = jnp.block([[tile(i, j) for j in range(len(blocks2))] for i in range(len(blocks1))])[
            : len(x1) * per_row, : len(x2) * per_column
        ]
        return (table + table.T) / 2 if same else table

    return jax.tree.map(assemble, tiles)


def _blocks(
    x: Shaped[Array | np.ndarray, "inputs ..."], block: int
) -> Shaped[Array, "blocks {block} ..."]:
    """Return (blocks, block, ...) with the first input repeated where the last block is short."""
    short = -len(x) % block
    x = jnp.concatenate([jnp.asarray(x), jnp.broadcast_to(x[:1], (short, *x.shape[1:]))])
    return x.reshape(-1, block, *x.shape[1:])
