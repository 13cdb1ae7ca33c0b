"""Pairwise draws: each pair of inputs is a set of its own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.kernels.engine import assemble
from theorykit.kernels.recursion import again


def each_pair(estimate: Callable[[Any, int], Any], n: int, n1: int) -> tuple[Any, ...]:
    """Return what `estimate` gives for n1 rows and the other columns, or for all n if n1 is n.

    **Arguments:** `estimate`, a function of the indices of inputs and of how many of them are rows,
    all if it is as many. It returns NNGP, NTK, the trace left out, and the share of the draws.
    """
    i, j = np.triu_indices(n) if n1 == n else np.indices((n1, n - n1)).reshape(2, -1)
    j = j if n1 == n else j + n1
    one: Any = lambda k: k[0, :, 0] if k.ndim == 4 else k[0, 0]

    def pair(at):
        nngp, ntk, left, share = estimate(at, 1)
        return *jax.tree.map(one, (nngp, ntk)), left, one(share)

    same = i == j  # an input with itself is a set of one: its variances are its kernel to the bit
    parts = [
        jax.lax.map(again(pair), jnp.stack([i[on], j[on]][: 1 + k], 1)) for k, on in _sides(same)
    ]
    place = np.argsort(np.concatenate([np.flatnonzero(on) for _, on in _sides(same)]))
    nngp, ntk, left, share = jax.tree.map(lambda *p: jnp.concatenate(p)[place], *parts)
    grams = jax.tree.map(lambda v: assemble(v, n, n1), (nngp, ntk, share))
    return *grams[:2], left.max(), grams[2]


def _sides(same: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return the pairs of one input and those of two, leaving out a kind that has none."""
    return [(k, on) for k, on in enumerate((same, ~same)) if on.any()]
