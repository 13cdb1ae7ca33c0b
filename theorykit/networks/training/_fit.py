"""`fit`: train many networks at once, chunk by chunk."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh

from theorykit.common.arguments import seed_numbers, whole
from theorykit.common.keys import as_key
from theorykit.networks.training._checkpoints import Checkpoints
from theorykit.networks.training._chunk import Program
from theorykit.networks.training._history import History
from theorykit.networks.training._problems import OnData, OnTask, fingerprint, named
from theorykit.networks.training._progress import Report
from theorykit.networks.training._state import State

Array = Any


class Seconds(NamedTuple):
    """Where the time went in this process: `total` of the training, `inside` compiled code.

    `compiling` came before it and is not part of `total`.
    """

    total: float
    inside: float
    compiling: float


@dataclass(frozen=True)
class Fit:
    """Trained networks.

    **Fields:** `history`; `state`: the arrays of all seeds; `seconds`; `graph`: what
    `flax.nnx.merge` needs to make a network of one seed's arrays.
    """

    history: History
    state: State
    seconds: Seconds
    graph: Any

    @property
    def stopped_at(self) -> np.ndarray:
        """The step at which each seed met the stop rule, or -1."""
        return np.asarray(self.state.stopped_at)

    def network(self, index: int) -> nnx.Module:
        """Return the network of one seed, by its place among the seeds."""
        count = len(self.history.seeds)
        if not -count <= index < count:
            raise ValueError(f"there are {count} seeds, and none at the index {index}.")
        return nnx.merge(self.graph, jax.tree.map(lambda a: a[index], self.state.parameters()))


class Diverged(ValueError):
    """Training stopped: a loss or a parameter is not finite.

    **Fields:** `fit`: everything until then, in which a seed that diverged has its last finite
    parameters; its history ends with the chunk in which it happened.
    """

    def __init__(self, message: str, fit: Fit):
        super().__init__(message)
        self.fit = fit


def fit(
    make: Callable[[nnx.Rngs], nnx.Module],
    task: Any = None,
    optimizer: optax.GradientTransformation | None = None,
    *,
    data: tuple[Array, Array] | None = None,
    loss: Callable[[Array, Array], Array] | None = None,
    each: bool = False,
    minibatch: int | None = None,
    steps: int = 1000,
    batch: int = 64,
    length: int = 16,
    seeds: int | Sequence[int] | None = None,
    key: int | Array = 0,
    every: int = 100,
    evaluate: Mapping[str, Any] | None = None,
    stop: Callable[[dict[str, Array]], Array] | None = None,
    start: State | Fit | None = None,
    train: str | Callable[[tuple], bool] = "all",
    folder: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    mesh: Mesh | None = None,
    progress: bool = True,
) -> Fit:
    """Train networks of several seeds at once, each on its own samples.

    All random numbers follow from `key` and a seed's number: a seed trains in the same way whatever
    seeds train beside it. On a task, each step draws a fresh batch on the device and follows the
    gradient of its mean loss; `history["loss"]` is the mean over the steps of a chunk.

    With `data=(x, y)` each step takes all P examples, and the loss is

        L = 1 / P sum_i 1/2 |f(x_i) - y_i|^2        (summed over the outputs of f).

    Then t steps of `optax.sgd(lr)` are t Euler steps of size lr / P of df/dt = -Theta (f - y), with
    the empirical NTK Theta: t steps stand for the time lr t / P. `history["loss"]` is L after the
    last step of a chunk.

    **Arguments:**

    - `make`: makes a network from `nnx.Rngs`; it is called as `network(x)` on one example, or as
      `network(x, offset=o)` with a random o, in training and in evaluation, if it has
      `random_offset`.
    - `task`: has `sample(key, length)`, which makes one example with an input `x`,
      `loss(outputs, sample)` and `metrics(outputs, sample)`, a dictionary of numbers.
    - `optimizer`: an optax transformation.
    - `data`: inputs and targets to train on instead of a task; `loss`: another loss of one
      example's outputs and target; `each`: every seed has data of its own, along a first axis of
      `data` and of what is evaluated. `minibatch`: a step takes as many of the P examples, drawn
      with replacement, in place of all.
    - `steps`, `batch`, `length`: how many steps, of how many examples, of which length.
    - `seeds`: how many networks (4), or their numbers.
    - `every`: how many steps a chunk, one call of compiled code, has. At its end come evaluation,
      stop rule and checkpoint.
    - `evaluate`: name -> `dict(length=..., batch=...)`, fresh samples each time, whose mean loss
      and metrics are `"name/loss"`, `"name/accuracy"`, ...; with `data`, name -> `(x, y)`, whose
      loss is `"name/loss"`.
    - `stop`: whether a seed has trained enough, a bool from a dictionary of its metrics, such as
      `reaches("16/accuracy", 0.95)`. The seed keeps its parameters from then on; the fit ends when
      all seeds have stopped.
    - `start`: an earlier fit, or its state: its networks are trained on, with a fresh optimizer.
    - `train`: `"all"`, `"readout"` (the last layer), or a function of a parameter's path.
    - `folder`: keeps checkpoints. A fit that was killed and is called again goes on to the same
      numbers, bit for bit. `config`: what else its numbers depend on, to be written down and
      compared, such as the name of the optimizer.
    - `mesh`: devices with axes "data", over which batches are split, and "seed".
    - `progress`: a bar on a terminal, lines elsewhere, on standard error.

    **Raises:** `Diverged` for a loss or parameter that is not finite; `ValueError` for arguments
    that do not fit each other, a folder in use or of another configuration.
    """
    if (task is None) == (data is None):
        raise ValueError("fit takes either a task or data=(x, y).")
    if loss is not None and data is None:
        raise ValueError("loss goes with data; a task has its own.")
    if each and data is None:
        raise ValueError("each goes with data; on a task every seed has its own samples anyway.")
    if minibatch is not None and data is None:
        raise ValueError("minibatch goes with data; on a task, batch says how many are drawn.")
    if optimizer is None:
        raise ValueError("fit takes an optimizer, such as optax.adam(1e-3).")
    if not callable(getattr(optimizer, "update", None)):
        raise ValueError(f"optimizer is one of optax's, such as optax.adam(1e-3), not {optimizer}.")
    if isinstance(task, type):
        raise ValueError(f"task is an object, such as {task.__name__}(), and not its class.")
    if not isinstance(start, Fit | State | None):
        raise ValueError(f"start is an earlier fit or its state, not {type(start).__name__}.")
    if not isinstance(mesh, Mesh | None):
        raise ValueError(f"mesh is a jax.sharding.Mesh, not {type(mesh).__name__}.")
    if not isinstance(config, Mapping | None):
        raise ValueError(f"config is a dictionary, not {type(config).__name__}.")
    steps, every = whole("steps", steps), whole("every", every)
    batch, length = whole("batch", batch), whole("length", length)
    state = start.state if isinstance(start, Fit) else start
    numbers = _numbers(seeds, state)
    problem = (
        OnData(data, loss, evaluate, each, minibatch)
        if task is None
        else OnTask(task, batch, length, evaluate)
    )
    if each and isinstance(problem, OnData):
        _check_each(problem, len(numbers))
    if mesh is not None:
        _check_mesh(mesh, len(numbers), problem.batches())
    network = nnx.eval_shape(lambda: make(nnx.Rngs(0)))
    _check_positions(network, problem)
    _check_sizes(network, task)

    root = as_key(key)
    keys = jax.vmap(lambda seed: jax.random.split(jax.random.fold_in(root, seed), 3))
    program = Program(
        make,
        problem,
        optimizer,
        keys(jnp.asarray(numbers, jnp.uint32)),
        stop,
        train,
        None if state is None else state.parameters(),
        mesh,
    )
    with contextlib.ExitStack() as stack:
        kept = None
        if folder is not None:
            facts = {
                "steps": steps,
                "every": every,
                "key": np.asarray(jax.random.key_data(root)).tolist(),
                "seeds": numbers,
                **problem.describe(),
                "stop": named(stop),
                "train": named(train),
                "start": None if state is None else _content(state),
                "mesh": None if mesh is None else dict(mesh.shape),
                "config": dict(config or {}),
                **program.describe(),
            }
            kept = stack.enter_context(Checkpoints(folder, facts))
        run = _Run(program, numbers, steps, every, kept)
        return run.to_the_end(progress)


class _Run:
    """A fit under way: sends chunks off one ahead, and takes in their metrics as they end."""

    def __init__(
        self,
        program: Program,
        seeds: list[int],
        steps: int,
        every: int,
        kept: Checkpoints | None,
    ):
        self.program, self.seeds, self.kept = program, seeds, kept
        self.steps, self.every = steps, every
        self.ends: list[int] = []
        self.rows: dict[str, list[np.ndarray]] = {
            name: [] for name in ["loss", *sorted(program.metrics.keys() - {"loss"})]
        }
        self.total = self.inside = self.compiling = 0.0
        self.state: Any = None  # a State, from the first step on
        self.sent = 0  # steps that were sent off
        if kept is not None and (found := kept.newest(program.shapes)) is not None:
            self.sent, state, past = found
            self.state = program.place(state)
            self.ends = past[0].tolist()
            for rows, values in zip(self.rows.values(), past[1:], strict=True):
                rows.extend(values)

    def to_the_end(self, progress: bool) -> Fit:
        """Train until all steps are made or all seeds have stopped."""
        begun = time.perf_counter()
        if self.state is None:
            self.state = self.program.first()
        over = self.sent >= self.steps or bool((np.asarray(self.state.stopped_at) >= 0).all())
        if not over:
            chunk = self.program.compile(self.state)
            copy = jax.jit(lambda state: jax.tree.map(jnp.copy, state)).lower(self.state).compile()
            jax.block_until_ready(self.state)
            self.compiling = time.perf_counter() - begun
            begun = time.perf_counter()
            with Report(progress, self.steps, self.sent) as report:
                self._loop(chunk, copy, report, begun)
        if self.kept is not None:
            self.kept.finish()
            self.history().save(self.kept.path / "history.json")
        self.total = 0.0 if over else time.perf_counter() - begun
        return self.fit()

    def _loop(self, chunk: Callable, copy: Callable, report: Report, begun: float) -> None:
        # The next chunk waits on the device while the host looks at the last one's metrics.
        waiting: deque[tuple] = deque()
        watcher = ThreadPoolExecutor(1)
        ended = begun
        try:
            while waiting or self.sent < self.steps:
                while self.sent < self.steps and len(waiting) < 2:
                    at, count = time.perf_counter(), min(self.every, self.steps - self.sent)
                    self.state, metrics = chunk(self.state, self.sent, count)
                    marks = (jnp.copy(self.state.stopped_at), jnp.copy(self.state.diverged_at))
                    saved = None if self.kept is None else copy(self.state)
                    self.sent += count
                    seen = watcher.submit(_when_ready, metrics)
                    waiting.append((at, self.sent, metrics, marks, saved, seen))
                at, end, metrics, marks, saved, seen = waiting.popleft()
                done = seen.result()
                self.inside += done - max(at, ended)
                ended = done
                stopped, diverged = map(np.asarray, marks)
                self.ends.append(end)
                for name, rows in self.rows.items():
                    rows.append(np.array(metrics[name]))
                if (diverged >= 0).any():
                    self.total = time.perf_counter() - begun
                    raise Diverged(self._complaint(diverged), self.fit())
                over = end >= self.steps or bool((stopped >= 0).all())
                report.show(end, {n: r[-1] for n, r in self.rows.items()}, int((stopped < 0).sum()))
                if self.kept is not None:
                    self._keep(self.kept, end, saved, over)
                if over:
                    return
        finally:
            watcher.shutdown(wait=False, cancel_futures=True)

    def _keep(self, kept: Checkpoints, end: int, saved: State, last: bool) -> None:
        if kept.busy() and not last:
            return
        past = [np.asarray(self.ends), *(np.stack(rows) for rows in self.rows.values())]
        kept.save(end, saved, past)

    def _complaint(self, diverged: np.ndarray) -> str:
        first = int(np.argmin(np.where(diverged >= 0, diverged, np.iinfo(diverged.dtype).max)))
        others = int((diverged >= 0).sum()) - 1
        also = f", and {others} more seeds in the same chunk" if others else ""
        return (
            f"the loss or a parameter is not finite after step {diverged[first]} of seed "
            f"{self.seeds[first]}{also}; .fit holds what was trained until then."
        )

    def history(self) -> History:
        """Return the history so far."""
        none = np.zeros((0, len(self.seeds)))
        values = {name: np.stack(rows) if rows else none for name, rows in self.rows.items()}
        return History(self.ends, values, self.seeds)

    def fit(self) -> Fit:
        """Return everything so far."""
        seconds = Seconds(self.total, self.inside, self.compiling)
        return Fit(self.history(), self.state, seconds, self.program.graph)


def _when_ready(arrays: Any) -> float:
    jax.block_until_ready(arrays)
    return time.perf_counter()


def _numbers(seeds: int | Sequence[int] | None, start: State | None) -> list[int]:
    count = None if start is None else len(start.stopped_at)
    if seeds is None:
        seeds = 4 if count is None else count
    numbers = seed_numbers(seeds)
    if count not in (None, len(numbers)):
        raise ValueError(f"start holds {count} networks, and there are {len(numbers)} seeds.")
    return numbers


def _check_each(problem: OnData, seeds: int) -> None:
    for name, (x, _) in problem.arrays.items():
        if len(x) != seeds:
            raise ValueError(
                f"with each=True the first axis of {name} is one of {seeds} seeds, not {len(x)}."
            )


def _check_mesh(mesh: Mesh, seeds: int, batches: dict[str, int]) -> None:
    if set(mesh.axis_names) != {"data", "seed"}:
        raise ValueError(f'a mesh has the axes "data" and "seed", got {mesh.axis_names}.')
    if seeds % mesh.shape["seed"]:
        raise ValueError(
            f'{seeds} seeds do not divide over the {mesh.shape["seed"]} devices of the axis "seed".'
        )
    for name, count in batches.items():
        if count % mesh.shape["data"]:
            raise ValueError(
                f"{name} of {count} examples does not divide over the {mesh.shape['data']} devices "
                'of the axis "data".'
            )


def _check_sizes(network: nnx.Module, task: Any) -> None:
    """Compare a network's sizes with those that a task of ours says it needs."""
    wanted = getattr(task, "options", None)
    for name, value in (wanted if isinstance(wanted, Mapping) else {}).items():
        has = getattr(network, name, value)
        enough = has >= value if name in ("vocabulary", "outputs") and has else has == value
        if name in ("vocabulary", "outputs", "readout") and not enough:
            raise ValueError(
                f"{type(task).__name__} needs a network with {name} {value!r}, this one has "
                f"{has!r}; make it with the task's options."
            )


def _check_positions(network: nnx.Module, problem: Any) -> None:
    most, offset = getattr(network, "max_tokens", None), getattr(network, "random_offset", False)
    if most is None or (getattr(network, "positions", None) in (None, "rotary") and not offset):
        return
    for name, (length, x) in problem.inputs().items():
        if x.shape[0] > most:
            raise ValueError(
                f"the length {length} of {name} makes {x.shape[0]} tokens, more than the {most} "
                "positions; make the network with a larger max_tokens."
            )


def _content(state: State) -> str:
    leaves = jax.tree.leaves(state.parameters())
    return fingerprint(np.frombuffer("".join(map(fingerprint, leaves)).encode(), np.uint8))
