"""Gradient ascent on the relative gap of two sides, from many starts at once."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.checks._compile import compile_for
from theorykit.checks._inputs import Case
from theorykit.checks._sides import Sides, stack, unstack

FASTEST, SLOWEST = 0.5, 0.02
"""Step sizes in latent units; each start has its own, so none has to be tuned."""

STEEPEST = 1e100
"""Slopes are cut to this size."""

FARTHEST = 40.0
"""Latents are kept within this distance: beyond lies overflow, not mathematics."""


def attack(sides: Sides, starts: Sequence[Case], steps: int, floor: float) -> list[Case]:
    """Return the worst latent that each start passed through.

    **Arguments:** `starts`: latents; arguments without a gradient stay as they are. `floor`: what
    counts as rounding of either side.
    """
    import optax

    columns = stack(starts)
    moves = {name: domain.differentiable for name, domain in sides.over.arguments.items()}
    moving = {k: v for k, v in columns.items() if moves[k]}
    fixed = {k: v for k, v in columns.items() if not moves[k]}

    def objective(vector: jax.Array, fixed: dict[str, Any]) -> jax.Array:
        latents = {**_split(vector, moving), **fixed}
        left, right = sides.both(sides.over.squash(latents, jnp))
        gap = left - right
        relative = gap / (jnp.abs(left) + jnp.abs(right) + 1e3 * floor)
        # Where rhs = 0 the relative gap is flat; the gap itself still points uphill.
        score = relative + 1e-3 * gap / (1 + jnp.abs(gap))
        one_sided = jnp.isinf(left) ^ jnp.isinf(right)
        score = jnp.where(one_sided, jnp.sign(gap), score)
        return jnp.where(jnp.isinf(left) & jnp.isinf(right), -2.0, score).max()

    adam = optax.scale_by_adam(b1=0.9, b2=0.99)
    ascend = jax.vmap(jax.value_and_grad(objective))

    def run(vectors: jax.Array, fixed: dict[str, Any], rates: jax.Array) -> jax.Array:
        def step(carry: Any, rate: jax.Array) -> tuple[Any, None]:
            here, state, best, best_score = carry
            score, gradient = ascend(here, fixed)
            # A NaN is the worst that can be found: keep the point, the caller reports it.
            score = jnp.where(jnp.isnan(score), jnp.inf, score)
            best = jnp.where((score > best_score)[:, None], here, best)
            # An infinite slope (a root at zero) has a direction; its square must stay finite.
            gradient = jnp.clip(jnp.nan_to_num(gradient), -STEEPEST, STEEPEST)
            move, state = adam.update(gradient, state)
            here = jnp.clip(here + rate[:, None] * move, -FARTHEST, FARTHEST)
            return (here, state, best, jnp.maximum(score, best_score)), None

        start = (vectors, adam.init(vectors), vectors, jnp.full(len(vectors), -jnp.inf))
        (_, _, best, _), _ = jax.lax.scan(step, start, rates)
        return best

    count = len(starts)
    vectors = np.concatenate([v.reshape(count, -1) for v in moving.values()], axis=1)
    vectors = vectors.clip(-FARTHEST, FARTHEST)
    own = np.geomspace(FASTEST, SLOWEST, 8)[np.arange(count) % 8]
    decay = 0.5 * (1 + np.cos(np.pi * np.arange(steps) / steps))
    rates = decay[:, None] * own
    best = compile_for(run, vectors, fixed, rates, repeats=steps)(vectors, fixed, rates)
    return unstack({**fixed, **_split(np.asarray(best), moving)})


def _split(vector: Any, like: dict[str, np.ndarray]) -> dict[str, Any]:
    """Cut the last axis into the arguments, each of the shape of one row of `like`."""
    parts, start = {}, 0
    for name, column in like.items():
        size = column[0].size
        part = vector[..., start : start + size]
        parts[name] = part.reshape(vector.shape[:-1] + column.shape[1:])
        start += size
    return parts
