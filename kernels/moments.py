"""Mean and spread of independent estimates, one after the other."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree


class Moments(NamedTuple):
    """The mean of independent estimates and the sum of their squared deviations from it.

    **Fields:** `mean`, a pytree of arrays like one estimate; `squares`, the same or None while
    there is one estimate; `number`, how many there are. Both are updated as by Welford (1962),
    without the cancellation between two sums. The previous arrays are donated, and cannot be used
    again.
    """

    mean: PyTree
    squares: PyTree = None
    number: int = 1

    def add(self, value: PyTree) -> "Moments":
        """Return the moments with one more estimate."""
        mean, squares = _add(self.mean, self._squares(), value, self.number + 1)
        return self._replace(mean=mean, squares=squares, number=self.number + 1)

    def stderr(self) -> PyTree:
        """Return the standard errors of the mean; None while there is one estimate."""
        return None if self.squares is None else standard_error(self.squares, self.number)

    def _squares(self) -> PyTree:
        return jax.tree.map(jnp.zeros_like, self.mean) if self.squares is None else self.squares


def standard_error(squares: PyTree, count: int) -> PyTree:
    """Return the standard errors of means of `count` estimates, 2 or more, from their squares."""
    return jax.tree.map(lambda s: jnp.sqrt(s / (count * (count - 1))), squares)


@partial(jax.jit, donate_argnums=(0, 1))
def _add(mean: PyTree, squares: PyTree, value: PyTree, count: Any) -> tuple[PyTree, PyTree]:
    # One pass for each: nothing that both need is kept.
    share = 1 / count
    away = lambda s, m, v: s + (v - m) ** 2 * (1 - share)
    squares = jax.tree.map(away, squares, mean, value)
    return jax.tree.map(lambda m, v: m + (v - m) * share, mean, value), squares
