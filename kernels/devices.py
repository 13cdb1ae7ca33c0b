"""Where arrays are: the device of an input, and the axes that `jax.shard_map` maps over."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import PyTree

Function = TypeVar("Function", bound=Callable[..., Any])


def home(*arrays: Any) -> Any:
    """Return the one device that an array was put on, or None if it may be anywhere."""
    for a in arrays:
        if isinstance(a, jax.Array) and not isinstance(a, jax.core.Tracer) and a.committed:
            return next(iter(a.devices())) if len(a.devices()) == 1 else None
    return None


def at_home(function: Function) -> Function:
    """Return a function that computes on the device that an argument was put on, if one was."""

    @functools.wraps(function)
    def placed(*args: Any, **kwargs: Any) -> Any:
        device = home(*jax.tree.leaves((args, kwargs)))
        if device is None:
            return function(*args, **kwargs)
        with jax.default_device(device):
            found = function(*args, **kwargs)
        return jax.tree.map(
            lambda a: jax.device_put(a, device) if isinstance(a, jax.Array) else a, found
        )

    return placed  # type: ignore[return-value]


def spread(kernel: PyTree, x1: Any, x2: Any) -> PyTree:
    """Return a kernel whose rows lie where the inputs `x1` lie, and its columns where `x2` do.

    That is so if `x1` is spread over several devices by its first axis; else it stays as it is.
    """
    rows, columns = (_first_axis(x) for x in (x1, x2))
    if rows is None:
        return kernel
    if columns is None or columns.mesh != rows.mesh or columns.spec[0] == rows.spec[0]:
        columns = None
    second = None if columns is None else columns.spec[0]

    def put(a: Any) -> Any:
        if a is None or a.ndim not in (2, 4):
            return a
        axes = (rows.spec[0], second) if a.ndim == 2 else (rows.spec[0], None, second)
        return jax.device_put(a, NamedSharding(rows.mesh, PartitionSpec(*axes)))

    return jax.tree.map(lambda a: put(a) if isinstance(a, jax.Array) else a, kernel)


def _first_axis(x: Any) -> Any:
    """Return the sharding of an array whose first axis lies on several devices, else None."""
    if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer) or not x.committed:
        return None
    where = x.sharding
    named = isinstance(where, NamedSharding) and len(where.spec) > 0 and where.spec[0] is not None
    return where if named and len(where.device_set) > 1 else None


def varying(tree: PyTree, *like: PyTree) -> PyTree:
    """Return arrays, such as the zeros that a sum starts from, marked as varying like others.

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
