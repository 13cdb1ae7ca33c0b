"""The values of a program on a batch of strings, in JAX."""

from collections.abc import Mapping, Sequence, Set

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Int, Int32

from theorykit.common.arguments import instance, numbered, shown
from theorykit.subjects.crasp import _run
from theorykit.subjects.crasp._program import Program


def evaluate(
    program: Program,
    x: Int[ArrayLike, "*batch n"] | Sequence[int],
    names: Sequence[str] | None = None,
) -> dict[str, Bool[Array, "*batch positions"] | Int32[Array, "*batch positions"]]:
    """Return the values of definitions at every position of many strings.

    **Arguments:** `x`: symbols as indices into the alphabet, integers (..., n); -1 stands for no
    symbol, and shorter strings are padded with it on the right. `names`: the definitions wanted,
    all of them by default.

    **Returns:** an array (..., n + 1), bool or int32, for each name. Entry 0 of the last axis is
    the position before the string. Works under `jit` and `vmap`.

    **Raises:** `ValueError` for an undefined name, an index outside the alphabet, or a program
    whose counts could exceed 2^31 on strings of this length.
    """
    instance("program", program, Program, "a Program")
    what = "None or a list of names of definitions"
    instance("names", names, (type(None), tuple, list, Mapping, Set), what)
    wanted = tuple(program.kinds if names is None else names)
    known = program.core.kinds
    if unknown := [n for n in wanted if not isinstance(n, str) or n not in known]:
        raise ValueError(f"{shown(unknown[0])} is not defined by the program.")
    numbered(x, len(program.alphabet), -1)
    x = jnp.asarray(x, int)
    _run.refuse_overflow(program.core.definitions, x.shape[-1])
    values = _run.scan(program.alphabet, program.core.definitions, wanted, jnp.moveaxis(x, -1, 0))
    return {name: jnp.moveaxis(v, 0, -1) for name, v in values.items()}
