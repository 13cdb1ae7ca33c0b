"""Descriptions as trees: the real scalars of a frozen dataclass are what JAX differentiates."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import jax

Class = TypeVar("Class", bound=type)


def parameters(*names: str) -> Callable[[Class], Class]:
    """Make a frozen dataclass a pytree in these fields, and in all that are pytrees of this kind.

    The other fields are constants, which are compared and hashed. A tree that JAX fills with
    derivatives and batches is put together unchecked.
    """

    def register(cls: Class) -> Class:
        every = [f.name for f in fields(cls)]

        def flatten(of: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
            given = [n for n in every if n not in names and _is_tree(getattr(of, n))]
            moving = (*names, *given)
            leaves = [(jax.tree_util.GetAttrKey(n), getattr(of, n)) for n in moving]
            return leaves, (moving, tuple((n, getattr(of, n)) for n in every if n not in moving))

        def unflatten(static: tuple[Any, ...], leaves: Any) -> Any:
            moving, constant = static
            made: Any = object.__new__(cls)
            for name, value in (*constant, *zip(moving, leaves, strict=True)):
                object.__setattr__(made, name, value)
            return made

        jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
        return cls

    return register


def _is_tree(value: Any) -> bool:
    return is_dataclass(value) and not jax.tree_util.all_leaves([value])
