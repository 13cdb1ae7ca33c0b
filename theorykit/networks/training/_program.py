"""What is compiled: the first state, and the chunk that makes the next one of it."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import optax
from flax import nnx
from jaxtyping import Array, Key

from theorykit.common.devices import platform
from theorykit.common.hashes import program_hash, stable_name, tree_hash
from theorykit.networks.nets.scales import shapes_of
from theorykit.networks.training import _stop
from theorykit.networks.training._checks import check_network
from theorykit.networks.training._chunk import Chunk, Metrics, Stop
from theorykit.networks.training._placement import Placement
from theorykit.networks.training._problem import Problem
from theorykit.networks.training._state import State, first_state, trainable

Train = Callable[[State, int, int], tuple[State, Metrics]]


@dataclass(frozen=True, eq=False)
class Program:
    """Everything that is compiled for one configuration.

    **Arguments:** `make`, `problem`, `optimizer`, `stop`, `train`: as in `fit`; `keys`: of each
    seed, for the weights, the steps and the evaluations; `start`: the networks to continue from,
    made fresh if None; `placement`: on which devices.

    **Raises:** `ValueError` if nothing is trained, the networks to continue from are of another
    kind, or the stop rule does not fit the metrics.
    """

    make: Callable[[nnx.Rngs], nnx.Module]
    problem: Problem
    optimizer: optax.GradientTransformation
    keys: Key[Array, "seeds 3"]
    stop: Stop | None = None
    train: str | Callable[[tuple], bool] = "all"
    start: nnx.State | None = None
    placement: Placement = Placement()

    def __post_init__(self) -> None:
        """Place the keys, and look at the shapes of everything without computing anything."""
        check_network(self.network, self.problem)
        object.__setattr__(self, "keys", self.placement.put_seeds(self.keys))
        if not jax.tree.leaves(self._split(nnx.state(self.network))[0]):
            raise ValueError(f"train={self.train!r} selects none of the network's parameters.")
        if self.start is not None:
            self._check_start(self.start)
        if self.stop is not None:
            one = {n: jax.ShapeDtypeStruct((), v.dtype) for n, v in self.metrics.items()}
            _stop.check(self.stop, one)

    @functools.cached_property
    def network(self) -> nnx.Module:
        """One network, with shapes in place of arrays."""
        return shapes_of(self.make)

    @functools.cached_property
    def arrays(self) -> Any:
        """The problem's arrays, where the program wants them."""
        return self.placement.put_data(self.problem.arrays, self.problem.seed_axis)

    @functools.cached_property
    def shapes(self) -> State:
        """The state, with shapes in place of arrays."""
        return jax.eval_shape(self._first, self.keys[:, 0], self.start)

    @functools.cached_property
    def metrics(self) -> dict[str, jax.ShapeDtypeStruct]:
        """The metrics, with shapes in place of arrays."""
        of = (self.shapes, self.arrays, self.keys[:, 1], 0)
        _, loss = jax.eval_shape(self._chunk.steps, *of)
        return jax.eval_shape(self._chunk.evaluate, *of, loss)

    def first(self) -> State:
        """Return the state before the first step."""
        made = jax.jit(self._first, out_shardings=self.placement.along("seed"))
        start = None if self.start is None else self.placement.put_seeds(self.start)
        lowered = made.lower(self.keys[:, 0], start)
        # A CPU would spend seconds optimising the random numbers of every weight, to draw them
        # once.
        cheap: dict[str, str | bool] = {}
        if platform() == "cpu":
            cheap["xla_backend_optimization_level"] = "0"
        return lowered.compile(cheap)(self.keys[:, 0], start)

    def compile(self, state: State) -> Train:
        """Return the compiled chunk: state, first step, number of steps -> state, metrics.

        The memory of the given state is reused.
        """
        where = None
        if self.placement.mesh is not None:
            where = self.placement.along("seed"), self.placement.along()
        chunk = jax.jit(self._chunk, donate_argnums=0, out_shardings=where)
        run = chunk.lower(state, self.arrays, self.keys, 0, 1).compile()
        return lambda state, first, count: run(state, self.arrays, self.keys, first, count)

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with, down to a hash of all arithmetic."""
        name = lambda path: "/".join(str(getattr(p, "key", getattr(p, "name", p))) for p in path)
        leaves = jax.tree_util.tree_flatten_with_path(nnx.to_pure_dict(nnx.state(self.network)))[0]
        chunk = jax.make_jaxpr(self._chunk)(self.shapes, self.arrays, self.keys, 0, 1)
        first = jax.make_jaxpr(self._first)(self.keys[:, 0], self.start)
        return {
            **self.problem.describe(),
            "stop": stable_name(self.stop),
            "train": stable_name(self.train),
            "start": None if self.start is None else tree_hash(self.start),
            "mesh": self.placement.shape,
            "parameters": {name(path): f"{leaf.dtype}{list(leaf.shape)}" for path, leaf in leaves},
            "program": program_hash(chunk, first),
        }

    @functools.cached_property
    def graph(self) -> nnx.GraphDef:
        """What `flax.nnx.merge` needs to make a network of its arrays."""
        return nnx.graphdef(self.network)

    @functools.cached_property
    def _chunk(self) -> Chunk:
        return Chunk(self.graph, self.problem, self.optimizer, self.stop, self.placement)

    def _split(self, state: nnx.State) -> tuple[nnx.State, nnx.State]:
        """Return what is trained and what is not."""
        return nnx.split_state(state, trainable(self.train, self.network), ...)

    def _first(self, keys: Array, start: nnx.State | None) -> State:
        return first_state(self.make, self._split, self.optimizer, keys, start)

    def _check_start(self, start: nnx.State) -> None:
        """Raise a `ValueError` unless the networks to continue from are like those made here."""
        fresh = lambda key: nnx.state(self.make(nnx.Rngs(key)))
        shapes = lambda tree: [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]
        made = jax.eval_shape(jax.vmap(fresh), self.keys[:, 0])
        trees: list[Any] = [jax.tree.structure(state) for state in (made, start)]
        if trees[0] != trees[1] or shapes(made) != shapes(start):
            raise ValueError("start holds networks of another kind or size than make gives.")
