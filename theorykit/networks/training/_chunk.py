"""What is traced: one step, the evaluation, and a chunk of both for all seeds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key

from theorykit.networks.training._placement import Placement
from theorykit.networks.training._problem import Apply, Problem
from theorykit.networks.training._state import State
from theorykit.networks.training._step import gradient_step

Metrics = dict[str, Float[Array, " seeds"]]
Stop = Callable[[dict[str, Array]], Bool[Array, ""]]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Training of all seeds for a number of steps, then the evaluation and the stop rule.

    **Fields:** `graph`: of one network; the others as in `fit`.
    """

    graph: nnx.GraphDef
    problem: Problem
    optimizer: optax.GradientTransformation
    stop: Stop | None
    placement: Placement

    def __call__(
        self,
        state: State,
        arrays: Any,
        keys: Key[Array, "seeds 3"],
        first: Int[Array, ""] | int,
        count: Int[Array, ""] | int,
    ) -> tuple[State, Metrics]:
        """Return the state after `count` steps; `first` is the number of the first step."""
        # A chunk that was dispatched before the host knew that training is over does nothing.
        over = (state.diverged_at >= 0).any() | (state.stopped_at >= 0).all()
        last = jnp.where(over, first, first + count)

        def body(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
            state, total = carry
            state, loss = self.steps(state, arrays, keys[:, 1], i)
            return state, total + loss

        _, loss = jax.eval_shape(self.steps, state, arrays, keys[:, 1], first)
        nothing = jnp.zeros(loss.shape, loss.dtype)
        state, total = jax.lax.fori_loop(first, last, body, (state, nothing))
        metrics = self.evaluate(state, arrays, keys[:, 2], last, total / count)
        if self.stop is not None:
            met = jax.vmap(self.stop)(metrics) & (state.stopped_at < 0) & (state.diverged_at < 0)
            state = state._replace(stopped_at=jnp.where(met & ~over, last, state.stopped_at))
        return state, metrics

    def steps(
        self, state: State, arrays: Any, keys: Key[Array, " seeds"], step: Int[Array, ""] | int
    ) -> tuple[State, Float[Array, " seeds"]]:
        """Make one step of every seed, and return the losses before it."""
        axes, name = (0, self.problem.seed_axis, 0, None), self.placement.seed_axis
        return jax.vmap(self._step, in_axes=axes, spmd_axis_name=name)(state, arrays, keys, step)

    def evaluate(
        self,
        state: State,
        arrays: Any,
        keys: Key[Array, " seeds"],
        step: Int[Array, ""] | int,
        loss: Float[Array, " seeds"],
    ) -> Metrics:
        """Return all metrics; `loss`: the mean over the chunk."""

        def one(trained: nnx.State, fixed: nnx.State, arrays: Any, key: Array) -> dict[str, Array]:
            apply = self._apply(trained, fixed, training=False)
            key = jax.random.fold_in(key, step)
            return self.problem.measure(apply, arrays, key, self.placement.split)

        axes, name = (0, 0, self.problem.seed_axis, 0), self.placement.seed_axis
        many = jax.vmap(one, in_axes=axes, spmd_axis_name=name)
        return {"loss": loss, **many(state.trained, state.fixed, arrays, keys)}

    def _apply(self, trained: nnx.State, fixed: nnx.State, training: bool) -> Apply:
        """Return the network as a function of one example and a key."""

        def apply(x: Array, key: Array) -> Array:
            # A copy of its own: drawing numbers changes it.
            network = nnx.merge(self.graph, trained, fixed, copy=True)
            streams = [n for _, n in nnx.iter_graph(network) if isinstance(n, nnx.RngStream)]
            for number, stream in enumerate(streams):
                stream.key[...] = jax.random.fold_in(key, number)
                stream.count[...] = jnp.zeros_like(stream.count[...])
            if streams:
                network.train() if training else network.eval()
            if not getattr(network, "random_offset", False):
                return network(x)
            room = network.max_tokens - x.shape[0]
            return network(x, offset=jax.random.randint(key, (), 0, room + 1))

        return apply

    def _step(
        self, state: State, arrays: Any, key: Array, step: Array | int
    ) -> tuple[State, Array]:
        """Make one step of one seed, unless it has stopped or is about to diverge."""

        def loss(trained: nnx.State) -> Array:
            apply = self._apply(trained, state.fixed, training=True)
            own = jax.random.fold_in(key, step)
            return self.problem.objective(apply, arrays, own, self.placement.split)

        value, trained, memory = gradient_step(loss, self.optimizer, state.trained, state.optimizer)
        going = (state.stopped_at < 0) & (state.diverged_at < 0)
        finite = jnp.isfinite(value)
        for leaf in jax.tree.leaves(trained):
            finite = finite & jnp.isfinite(leaf).all()
        keep = lambda new, old: jnp.where(going & finite, new, old)
        new = State(
            jax.tree.map(keep, trained, state.trained),
            state.fixed,
            jax.tree.map(keep, memory, state.optimizer),
            state.stopped_at,
            jnp.where(going & ~finite, step, state.diverged_at),
        )
        return new, value
