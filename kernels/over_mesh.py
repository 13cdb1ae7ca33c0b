"""A Gram matrix over a mesh of devices: rows over one axis, columns over another."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from theorykit.kernels.tiles import Block, Set


def mesh_of(mesh: Any, *inputs: Any) -> Mesh | None:
    """Return the mesh that is asked for, or that the inputs are spread over, or None.

    **Raises:** `ValueError` for anything but a mesh of one or two axes.
    """
    if mesh is None:
        for x in inputs:
            where = getattr(x, "sharding", None)
            if isinstance(where, NamedSharding) and len(where.device_set) > 1:
                mesh = where.mesh
                break
        else:
            return None
    if not isinstance(mesh, Mesh) or len(mesh.axis_names) not in (1, 2):
        raise ValueError(
            "mesh is a jax.sharding.Mesh of one axis (rows) or two (rows, columns), got "
            + (f"one of {mesh.axis_names}" if isinstance(mesh, Mesh) else type(mesh).__name__)
        )
    # A mesh made with explicit axes would ask for a sharding of every operation.
    return Mesh(mesh.devices, mesh.axis_names)


def side(mesh: Mesh | None, count: int) -> int:
    """Return the fewest inputs that a device has rows or columns of.

    **Raises:** `ValueError` unless the inputs divide over each axis.
    """
    if mesh is None:
        return count
    for name, devices in mesh.shape.items():
        if count % devices:
            raise ValueError(
                f"{count} inputs do not divide over the {devices} devices of the mesh's axis "
                f"{name!r}; leave some out, or take another mesh"
            )
    return count // max(mesh.shape.values())


def program(run: Block, names: tuple[str, ...], inputs: Set, mesh: Mesh) -> Callable:
    """Return the compiled computation: key, rows, their mask, columns, their mask -> matrices."""
    rows, columns = (*map(PartitionSpec, mesh.axis_names), PartitionSpec())[:2]
    across = mesh.axis_names[1] if len(mesh.axis_names) > 1 else None
    n = inputs.tile

    def cut(a: Array) -> Array:
        """Return (tiles, n, ...), the last tile filled up with the first input."""
        short = -len(a) % n
        filled = jnp.concatenate([a, jnp.broadcast_to(a[:1], (short, *a.shape[1:]))])
        return filled.reshape(-1, n, *a.shape[1:])

    def local(key: Any, x1: Array, mask1: Array, x2: Array, mask2: Array) -> Any:
        one, two = (cut(x1), cut(mask1)), (cut(x2), cut(mask2))
        i, j = np.indices((len(one[0]), len(two[0]))).reshape(2, -1)

        def tile(at: tuple[Array, Array]) -> Any:
            i, j = at
            return run(key, one[0][i], one[1][i], two[0][j], two[1][j])

        def whole(tiles: Float[Array, "tiles n n"]) -> Float[Array, "rows columns"]:
            grid = tiles.reshape(len(one[0]), len(two[0]), n, n).transpose(0, 2, 1, 3)
            return grid.reshape(len(one[0]) * n, -1)[: len(x1), : len(x2)]

        found = jax.lax.map(tile, (jnp.asarray(i), jnp.asarray(j)))
        return {name: whole(v).astype(inputs.dtype) for name, v in zip(names, found, strict=True)}

    spread = PartitionSpec(mesh.axis_names[0], across)
    specs = PartitionSpec(), rows, rows, columns, columns
    return jax.jit(jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=spread))


def placed(inputs: Set, key: Any, mesh: Mesh) -> tuple[Any, ...]:
    """Return what the program takes: all inputs, read once, by rows and by columns."""
    x, mask = inputs.read(0, inputs.total)
    specs = (*map(PartitionSpec, mesh.axis_names), PartitionSpec())[:2]
    put = lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec))
    # A key has no numpy value that every process could be given.
    return key, *(put(a, spec) for spec in specs for a in (x, mask))


def computed(
    run: Block, names: tuple[str, ...], inputs: Set, key: Any, mesh: Mesh
) -> dict[str, Float[Array, "inputs inputs"]]:
    """Return the whole matrices, each device having its rows and columns alone."""
    return program(run, names, inputs, mesh)(*placed(inputs, key, mesh))
