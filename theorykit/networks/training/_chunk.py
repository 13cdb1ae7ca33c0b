"""The two compiled functions: the first state, and a chunk of training with its evaluation."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from theorykit.networks.training import _stop
from theorykit.networks.training._problems import fingerprint
from theorykit.networks.training._state import State, first_state, trainable

Array = Any


@dataclass
class Program:
    """Everything that is compiled for one configuration.

    **Arguments:** `make`, `problem`, `optimizer`, `stop`, `train`: as in `fit`; `keys`: (seeds, 3)
    keys, for the weights, the steps and the evaluations; `start`: the networks to go on from;
    `mesh`: where to.
    """

    make: Callable
    problem: Any
    optimizer: optax.GradientTransformation
    keys: Array
    stop: Callable | None = None
    train: Any = "all"
    start: nnx.State | None = None
    mesh: Mesh | None = None

    def __post_init__(self) -> None:
        """Look at the network without making it, and at the shapes of everything."""
        network = nnx.eval_shape(lambda: self.make(nnx.Rngs(0)))
        self.graph = nnx.graphdef(network)
        self.network, wanted = network, trainable(self.train, network)
        self.split = lambda state: nnx.split_state(state, wanted, ...)
        if not jax.tree.leaves(self.split(nnx.state(network))[0]):
            raise ValueError(f"train={self.train!r} selects none of the network's parameters.")
        self.arrays = self.problem.arrays
        self.axis: str | None = None
        if self.mesh is not None:
            self._spread(self.mesh)
        if self.start is not None:
            self._check_start(self.start)
        self.shapes = jax.eval_shape(self._first, self.keys[:, 0], self.start)
        keys = self.keys[:, 1]
        _, loss = jax.eval_shape(self._steps, self.shapes, self.arrays, keys, 0)
        self.metrics = jax.eval_shape(self._evaluate, self.shapes, self.arrays, self.keys, 0, loss)
        self.loss_type = loss.dtype
        if self.stop is not None:
            one = {n: jax.ShapeDtypeStruct((), v.dtype) for n, v in self.metrics.items()}
            _stop.check(self.stop, one)

    def _spread(self, mesh: Mesh) -> None:
        # A mesh made with explicit axes would ask for a sharding of every operation.
        mesh = Mesh(mesh.devices, mesh.axis_names)
        place = lambda *spec: NamedSharding(mesh, PartitionSpec(*spec))
        self.axis, ways = "seed", mesh.shape["data"]
        self.placed = {"seed": place("seed"), "all": place()}
        self.keys = jax.device_put(self.keys, self.placed["seed"])
        whole = lambda a: len(a) % ways == 0
        spread = lambda a: place("data") if whole(a) else place()
        if self.problem.axis == 0:
            spread = lambda a: place("seed")
        self.arrays = jax.tree.map(lambda a: jax.device_put(a, spread(a)), self.arrays)
        self.problem.split = lambda a: (
            jax.lax.with_sharding_constraint(a, place("data")) if whole(a) else a
        )

    def first(self) -> State:
        """Return the state before the first step."""
        where = None if self.mesh is None else self.placed["seed"]
        made = jax.jit(self._first, out_shardings=where).lower(self.keys[:, 0], self.start)
        # A CPU optimises the random numbers of every weight for seconds, to draw them once.
        cheap: dict[str, str | bool] = {}
        if jax.default_backend() == "cpu":
            cheap["xla_backend_optimization_level"] = "0"
        return made.compile(cheap)(self.keys[:, 0], self.start)

    def place(self, state: State) -> State:
        """Put a state that was read from a checkpoint where the program wants it."""
        return jax.device_put(state, None if self.mesh is None else self.placed["seed"])

    def compile(self, state: State) -> Callable:
        """Return the compiled chunk: state, first step, number of steps -> state, metrics.

        The given state's memory is used again.
        """
        where = None if self.mesh is None else (self.placed["seed"], self.placed["all"])
        chunk = jax.jit(self._chunk, donate_argnums=0, out_shardings=where)
        run = chunk.lower(state, self.arrays, self.keys, 0, 1).compile()
        return lambda state, first, count: run(state, self.arrays, self.keys, first, count)

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with: the shapes, and a hash of all arithmetic."""
        name = lambda path: "/".join(str(getattr(p, "key", getattr(p, "name", p))) for p in path)
        leaves = jax.tree_util.tree_flatten_with_path(nnx.to_pure_dict(nnx.state(self.network)))[0]
        chunk = jax.make_jaxpr(self._chunk)(self.shapes, self.arrays, self.keys, 0, 1)
        first = jax.make_jaxpr(self._first)(self.keys[:, 0], self.start)
        text = re.sub(r"0x[0-9a-f]+", "", "\n".join([*_written(chunk), *_written(first)]))
        return {
            "parameters": {name(path): f"{leaf.dtype}{list(leaf.shape)}" for path, leaf in leaves},
            "program": hashlib.sha256(text.encode()).hexdigest()[:16],
        }

    def _check_start(self, start: nnx.State) -> None:
        """Raise a `ValueError` unless the networks to go on from are like those that are made."""
        fresh = lambda key: nnx.state(self.make(nnx.Rngs(key)))
        shapes = lambda tree: [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]
        made = jax.eval_shape(jax.vmap(fresh), self.keys[:, 0])
        trees: list[Any] = [jax.tree.structure(state) for state in (made, start)]
        if trees[0] != trees[1] or shapes(made) != shapes(start):
            raise ValueError("start holds networks of another kind or size than make gives.")

    # What is traced ----------------------------------------------------------------------------

    def _first(self, keys: Array, start: Any) -> State:
        return first_state(self.make, self.split, self.optimizer, keys, start)

    def _apply(self, trained: nnx.State, fixed: nnx.State) -> Callable:
        """Return the network as a function of one example and a key."""
        network = nnx.merge(self.graph, trained, fixed)

        def apply(x: Array, key: Array) -> Array:
            if not getattr(network, "random_offset", False):
                return network(x)
            room = network.max_tokens - x.shape[0]
            return network(x, offset=jax.random.randint(key, (), 0, room + 1))

        return apply

    def _step(self, state: State, arrays: Any, key: Array, step: Array) -> tuple[State, Array]:
        """Make one step of one seed."""

        def loss(trained: nnx.State) -> Array:
            apply = self._apply(trained, state.fixed)
            return self.problem.loss(apply, arrays, jax.random.fold_in(key, step))

        value, slope = jax.value_and_grad(loss)(state.trained)
        moves, memory = self.optimizer.update(slope, state.optimizer, state.trained)
        trained = optax.apply_updates(state.trained, moves)
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

    def _steps(self, state: State, arrays: Any, keys: Array, step: Array) -> tuple[State, Array]:
        """Make one step of every seed."""
        own = self.problem.axis
        many = jax.vmap(self._step, in_axes=(0, own, 0, None), spmd_axis_name=self.axis)
        return many(state, arrays, keys, step)

    def _evaluate(self, state: State, arrays: Any, keys: Array, step: Array, loss: Array) -> Any:
        def one(trained: nnx.State, fixed: nnx.State, arrays: Any, key: Array) -> dict[str, Array]:
            apply = self._apply(trained, fixed)
            return self.problem.metrics(apply, arrays, jax.random.fold_in(key, step))

        axes = (0, 0, self.problem.axis, 0)
        many = jax.vmap(one, in_axes=axes, spmd_axis_name=self.axis)
        found = many(state.trained, state.fixed, arrays, keys[:, 2])
        return {"loss": loss, **found}

    def _chunk(self, state: State, arrays: Any, keys: Array, first: Array, count: Array) -> Any:
        # A chunk that was sent off before the host knew that all is over does nothing.
        over = (state.diverged_at >= 0).any() | (state.stopped_at >= 0).all()
        last = jnp.where(over, first, first + count)

        def body(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
            state, total = carry
            state, loss = self._steps(state, arrays, keys[:, 1], i)
            return state, total + loss

        nothing = jnp.zeros(state.stopped_at.shape, self.loss_type)
        state, total = jax.lax.fori_loop(first, last, body, (state, nothing))
        metrics = self._evaluate(state, arrays, keys, last, total / count)
        if self.stop is not None:
            met = jax.vmap(self.stop)(metrics) & (state.stopped_at < 0) & (state.diverged_at < 0)
            state = state._replace(stopped_at=jnp.where(met & ~over, last, state.stopped_at))
        return state, metrics


def _written(program: Any) -> Iterator[str]:
    """Return a traced program as text, with a hash of each array that it closes over."""
    yield str(program.jaxpr)
    constants = list(program.consts)
    yield from _constants(program.jaxpr, constants)
    yield from (
        fingerprint(c) for c in constants if not jnp.issubdtype(c.dtype, jax.dtypes.prng_key)
    )


def _constants(jaxpr: Any, found: list) -> Iterator[str]:
    """Collect the arrays of programs inside a program."""
    for equation in jaxpr.eqns:
        found.extend(v.val for v in equation.invars if isinstance(getattr(v, "val", None), ARRAYS))
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if hasattr(value, "consts"):
                found.extend(value.consts)
            if _is_program(value):
                yield from _constants(getattr(value, "jaxpr", value), found)


ARRAYS = (np.ndarray, jax.Array)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
