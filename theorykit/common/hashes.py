"""Hashes and names of arrays, programs and objects: alike in every process."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr
from jaxtyping import ArrayLike, Shaped


def content_hash(array: Shaped[ArrayLike, "..."]) -> str:
    """Return a short hash of shape, type and content."""
    if isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    array = np.asarray(array)
    content = f"{array.shape}{array.dtype}".encode() + np.ascontiguousarray(array).tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def tree_hash(tree: Any) -> str:
    """Return a short hash of all arrays of a tree."""
    hashes = "".join(map(content_hash, jax.tree.leaves(tree)))
    return hashlib.sha256(hashes.encode()).hexdigest()[:16]


def program_hash(*traced: ClosedJaxpr) -> str:
    """Return a short hash of traced programs and of the arrays that they close over."""
    text = "\n".join(line for program in traced for line in _written(program))
    return hashlib.sha256(re.sub(r"0x[0-9a-f]+", "", text).encode()).hexdigest()[:16]


def stable_name(thing: Any) -> str:
    """Return an object's `repr`, or its qualified name where that holds an address."""
    said = repr(thing)
    if " at 0x" not in said:
        return said
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def _written(program: Any) -> Iterator[str]:
    """Return a traced program as text, with a hash of each array that it closes over."""
    yield str(program.jaxpr)
    constants = list(program.consts)
    _collect(program.jaxpr, constants)
    for constant in constants:
        if not jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
            yield content_hash(constant)


def _collect(jaxpr: Any, found: list) -> None:
    """Append the arrays of programs inside a program."""
    for equation in jaxpr.eqns:
        values = (getattr(v, "val", None) for v in equation.invars)
        found.extend(v for v in values if isinstance(v, np.ndarray | jax.Array))
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if hasattr(value, "consts"):
                found.extend(value.consts)
            if _is_program(value):
                _collect(getattr(value, "jaxpr", value), found)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
