"""Gradient ascent on the relative gap of two sides, from many starts at once."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.checks._sides import Sides, stack, unstack
from theorykit.domains import Case

FASTEST, SLOWEST = 0.5, 0.02
"""Step sizes in latent units; each start has its own, so none has to be tuned."""

FARTHEST = 40.0
"""Latents are kept within this distance: beyond lies overflow, not mathematics."""


def attack(sides: Sides, starts: Sequence[Case], steps: int, floor: float) -> list[Case]:
    """Return the worst latent that each start came by.

    **Arguments:** `starts`: latents; arguments without a gradient stay as they are. `floor`: what
    counts as rounding of either side.
    """
    import optax

    def objective(moving: dict[str, Any], fixed: dict[str, Any]) -> jax.Array:
        parameters = sides.over.squash({**moving, **fixed}, jnp)
        left, right = sides.both(parameters)
        gap = left - right
        relative = gap / (jnp.abs(left) + jnp.abs(right) + 1e3 * floor)
        # Where rhs = 0 the relative gap is flat; the gap itself still points uphill.
        score = relative + 1e-3 * gap / (1 + jnp.abs(gap))
        one_sided = jnp.isinf(left) ^ jnp.isinf(right)
        score = jnp.where(one_sided, jnp.sign(gap), score)
        return jnp.where(jnp.isinf(left) & jnp.isinf(right), -2.0, score).max()

    adam = optax.scale_by_adam(b1=0.9, b2=0.99)

    def run(moving: dict[str, Any], fixed: dict[str, Any], rates: jax.Array) -> dict[str, Any]:
        ascend = jax.vmap(jax.value_and_grad(objective))

        def step(carry: Any, decay: jax.Array) -> tuple[Any, None]:
            here, state, best, best_score = carry
            score, gradient = ascend(here, fixed)
            # A NaN is the worst that can be found: keep the point, the caller reports it.
            score = jnp.where(jnp.isnan(score), jnp.inf, score)
            better = score > best_score
            best = jax.tree.map(
                lambda new, old: jnp.where(_wide(better, new), new, old), here, best
            )
            gradient = jax.tree.map(jnp.nan_to_num, gradient)
            move, state = adam.update(gradient, state)
            here = jax.tree.map(
                lambda z, m: jnp.clip(z + decay * _wide(rates, m) * m, -FARTHEST, FARTHEST),
                here,
                move,
            )
            return (here, state, best, jnp.maximum(score, best_score)), None

        decay = 0.5 * (1 + jnp.cos(jnp.pi * jnp.arange(steps) / steps))
        start = (moving, adam.init(moving), moving, jnp.full(len(rates), -jnp.inf))
        (_, _, best, _), _ = jax.lax.scan(step, start, decay)
        return best

    columns = stack(starts)
    moves = {name: domain.differentiable for name, domain in sides.over.arguments.items()}
    moving = {k: v for k, v in columns.items() if moves[k]}
    fixed = {k: v for k, v in columns.items() if not moves[k]}
    rates = np.geomspace(FASTEST, SLOWEST, 8)[np.arange(len(starts)) % 8]
    return unstack({**fixed, **jax.jit(run)(moving, fixed, rates)})


def _wide(lanes: jax.Array, like: jax.Array) -> jax.Array:
    """Give a number a start the trailing axes of `like`."""
    return lanes.reshape(lanes.shape + (1,) * (like.ndim - 1))
