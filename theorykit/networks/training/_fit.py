"""`fit`: train many networks at once, chunk by chunk."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Key

from theorykit.common import precision as precisions
from theorykit.common.arguments import as_path, at_least_0, flag, shown, size
from theorykit.common.spelling import spelt
from theorykit.networks.training import _checks
from theorykit.networks.training._checkpoints import Checkpoints, Shared
from theorykit.networks.training._on_data import OnData
from theorykit.networks.training._on_task import OnTask
from theorykit.networks.training._placement import Placement
from theorykit.networks.training._program import Program
from theorykit.networks.training._result import Fit
from theorykit.networks.training._run import Run
from theorykit.networks.training._state import State
from theorykit.networks.training._step import check_optimizer
from theorykit.networks.training._together import check_same, going_on


@spelt
def fit(
    make: Callable[[nnx.Rngs], nnx.Module],
    problem: OnTask | OnData,
    optimizer: optax.GradientTransformation,
    *,
    steps: int = 1000,
    every: int = 100,
    seeds: int | Sequence[int] | None = None,
    key: int | Key[Array, ""] = 0,
    stop: Callable[[dict[str, Array]], Bool[Array, ""]] | None = None,
    start: State | Fit | None = None,
    train: str | Callable[[tuple], bool] = "all",
    mesh: Mesh | None = None,
    precision: str | None = None,
    folder: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    progress: bool = True,
) -> Fit:
    """Train networks of several seeds at once, each on its own samples.

    All random numbers follow from `key` and a seed's number: a seed trains in the same way
    whichever seeds train alongside it. Each step follows the gradient of the problem's mean loss.
    On a task, `history["loss"]` is the mean over the steps of a chunk; on data, the loss after its
    last step.

    **Arguments:**

    - `make`: makes a network from `nnx.Rngs`; it is called as `network(x)` on one example, or as
      `network(x, offset=o)` with a random o, in training and in evaluation, if it has
      `random_offset`. Where it draws random numbers, as `nnx.Dropout` does, each example of each
      step has its own in training, and `network.eval()` is evaluated.
    - `problem`: `OnTask(task, ...)` for fresh samples at each step, or `OnData(x, y, ...)` for a
      fixed set; it also says what is evaluated.
    - `optimizer`: an optax transformation.
    - `steps`: the number of steps. `every`: how many of them are one chunk, a single call of
      compiled code, which ends with the evaluation, the stopping rule and the checkpoint.
    - `seeds`: how many networks (4), or their numbers.
    - `stop`: whether a seed has trained enough, a bool from a dictionary of its metrics, such as
      `reaches("16/accuracy", 0.95)`. The seed keeps its parameters from then on; the fit ends when
      all seeds have stopped.
    - `start`: an earlier fit, or its state: its networks are trained on, with a fresh optimizer.
    - `train`: `"all"`, `"readout"` (the last layer), or a function of a parameter's path.
    - `mesh`: devices with axes "data", over which batches are split, and "seed". Under
      `jax.distributed` they may be those of all processes, each of which makes the same call:

          jax.distributed.initialize()
          devices = np.array(jax.devices()).reshape(-1, 1)
          fit(make, problem, optimizer, mesh=jax.sharding.Mesh(devices, ("data", "seed")))

      Each then returns the whole fit, on a device of its own. Only the first one reads and writes
      the folder and reports progress.
    - `precision`: of matrix products that state none: "highest" (the full precision of their
      dtype), "high" or "default"; None: what JAX is set to, which is the backend's default unless
      you set it (TensorFloat-32 on a GPU, bfloat16 on a TPU).
    - `folder`: keeps checkpoints. If a fit is killed and called again, it continues to the same
      numbers, bit for bit. `config`: what else its numbers depend on, to be written down and
      compared, such as the name of the optimizer.
    - `seconds`: with a folder, how long to train now, not counting compilation. At the end of the
      first chunk that ends after that time, a checkpoint is written and `Paused` is raised.
    - `progress`: a bar on a terminal, lines elsewhere, on standard error.

    **Raises:** `Diverged` for a loss or parameter that is not finite; `Paused`; `ValueError` for
    arguments that do not fit together, a folder that is in use or belongs to another configuration,
    and if another process of the mesh is gone.
    """
    problem = _checks.checked_problem(problem)
    check_optimizer(optimizer)
    if not isinstance(config, Mapping | None):
        raise ValueError(f"config is a dictionary, not {type(config).__name__}.")
    steps, every, progress = size("steps", steps), size("every", every), flag("progress", progress)
    word = isinstance(train, str) and train in ("all", "readout")
    if not word and (not callable(train) or isinstance(train, type)):
        raise ValueError(f'train is "all", "readout" or a function of a path, got {shown(train)}.')
    folder = None if folder is None else as_path("folder", folder)
    if seconds is not None:
        seconds = at_least_0("seconds", seconds)
        if folder is None:
            raise ValueError("seconds goes with a folder, in which the fit can go on.")
    state, placement = _checks.starting_state(start), Placement(mesh)
    numbers = _checks.numbers_of(seeds, state)
    problem.check_seeds(len(numbers))
    placement.check(len(numbers), problem.batches())
    root = _checks.root_key(key)

    keys = jax.vmap(lambda seed: jax.random.split(jax.random.fold_in(root, seed), 3))
    with contextlib.ExitStack() as stack:
        if placement.several:
            stack.enter_context(going_on())
        stack.enter_context(precisions.scope(precision))
        program = Program(
            make,
            problem,
            optimizer,
            keys(jnp.asarray(numbers, jnp.uint32)),
            stop=stop,
            train=train,
            start=None if state is None else state.parameters(),
            placement=placement,
        )
        kept: Checkpoints | Shared | None = None
        facts: dict[str, Any] = {}
        if folder is not None or placement.several:
            facts = {
                "steps": steps,
                "every": every,
                "key": np.asarray(jax.random.key_data(root)).tolist(),
                "seeds": numbers,
                "precision": precision,
                "config": dict(config or {}),
                **program.describe(),
            }
        if placement.several:
            check_same({**facts, "folder": folder is not None, "seconds": seconds is not None})
        if folder is not None:
            kept = Shared(folder, facts) if placement.several else Checkpoints(folder, facts)
            stack.callback(kept.close)
        return Run(program, numbers, steps, every, kept).to_the_end(progress, seconds)
