"""Where arrays are: the device of an input, and the axes that `jax.shard_map` maps over."""

from typing import Any

import jax
from jaxtyping import PyTree


def home(*arrays: Any) -> Any:
    """Return the one device that an array was put on, or None if it may be anywhere."""
    for a in arrays:
        if isinstance(a, jax.Array) and not isinstance(a, jax.core.Tracer) and a.committed:
            return next(iter(a.devices())) if len(a.devices()) == 1 else None
    return None


def varying(tree: PyTree, *like: PyTree) -> PyTree:
    """Return arrays, such as the zeros that a sum starts from, as ones that vary as others do.

    Inside `jax.shard_map` a loop keeps the axes along which its values vary from device to device.
    """
    axes = frozenset().union(*map(_axes, jax.tree.leaves(like)))

    def moved(a: Any) -> Any:
        missing = tuple(sorted(axes - _axes(a)))
        return jax.lax.pcast(a, missing, to="varying") if missing else a

    return jax.tree.map(moved, tree) if axes else tree


def _axes(a: Any) -> frozenset:
    kind = jax.typeof(a)
    if hasattr(kind, "manual_axis_type"):
        return kind.manual_axis_type.varying
    return getattr(kind, "vma", frozenset())  # its name before JAX 0.10
