"""Networks that are trained on counts up to some length and tested beyond."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float

from theorykit.experiments import Adam, Plan, Setting, over_seeds
from theorykit.networks.nets import LocalTransformer
from theorykit.networks.tasks import ModPTask, PrefixTask


@dataclasses.dataclass(frozen=True)
class MuP:
    """Adam with one rate for hidden layers and another for embeddings.

    **Fields:** `hidden`, which muP divides by d, and `embedding`.
    """

    hidden: Adam
    embedding: Adam

    def __call__(self, steps: int) -> Any:
        """Return the optax transformation for this many steps."""
        import optax

        hidden = lambda path: any(name in str(path[0]) for name in ("layers", "head"))
        labels = lambda parameters: jax.tree_util.tree_map_with_path(
            lambda path, _: "hidden" if hidden(path) else "embedding", parameters
        )
        parts = {"embedding": self.embedding(steps), "hidden": self.hidden(steps)}
        return optax.partition(parts, labels)


@dataclasses.dataclass(frozen=True)
class Counting:
    """Networks and a budget; the defaults are those of appendix C for one layer.

    **Fields:** `trained`: lengths N; `judged`: longer test lengths; `width`, `mlp_width`; `rate`,
    of Adam, divided by d for hidden layers as in muP; `decay`: whether rates follow a cosine to 0;
    `loss`: training ends below it; `steps`: the most steps; `every`: the number of steps between
    evaluations of the loss; `examples` at each test length.
    """

    trained: tuple[int, ...] = (8, 16, 32, 64, 128)
    judged: tuple[int, ...] = (64, 128, 256, 512, 1024)
    width: int = 16
    mlp_width: int = 256
    rate: float = 1e-2
    decay: bool = False
    loss: float | None = 1e-5
    steps: int = 2**15
    every: int = 128
    batch: int = 1024
    seeds: int = 8
    examples: int = 4096

    def plan(self, task: PrefixTask, length: int) -> Plan:
        """Return the plan for a task at all lengths T <= `length`."""
        from theorykit.networks.training import OnTask, reaches

        falling = "cosine" if self.decay else None
        return Plan(
            OnTask(task, length=length, batch=self.batch),
            self.network(task),
            MuP(hidden=Adam(self.rate, falling), embedding=Adam(1e-2, falling)),
            steps=self.steps,
            every=self.every,
            seeds=self.seeds,
            stop=None if self.loss is None else reaches("loss", self.loss, below=True),
        )

    def network(self, task: PrefixTask) -> Callable[[Any], LocalTransformer]:
        """Return a function that makes a network for a task."""
        options = {**task.options, "width": self.width, "mlp_width": self.mlp_width}
        return functools.partial(_local, options)

    def train(self, task: PrefixTask, length: int, setting: Setting, name: str) -> Any:
        """Return the fit of a task at all lengths T <= `length`."""
        plan = self.plan(task, length)
        return plan.train(setting, name, str(length), config=dict(plan=repr(self)))


def _local(options: dict[str, Any], rngs: nnx.Rngs) -> LocalTransformer:
    return LocalTransformer(**options, rngs=rngs)


@functools.cache
def _judge(
    graph: Any, task: PrefixTask, lengths: tuple[int, ...], examples: int
) -> Callable[[Any, Array], Float[Array, "seeds lengths"]]:
    """Return the compiled test loss, (seeds, lengths), of parameters with a leading seed axis."""

    def error(parameters: Any, key: Array, length: int) -> Array:
        sample = task.sample(key, length)
        away = nnx.merge(graph, parameters).last(sample.x) - sample.target[-1]
        return (away**2).sum() * sample.weight[-1]

    def of(parameters: Any, key: Array) -> Array:
        found = []
        for n in lengths:
            keys = jax.random.split(jax.random.fold_in(key, n), examples)
            one = lambda k, n=n: error(parameters, k, n)
            at_once = min(examples, max(1, 2**22 // n**2))
            found.append(jax.lax.map(one, keys, batch_size=at_once).mean())
        return jnp.array(found)

    return jax.jit(lambda p, keys: jax.lax.map(lambda at: of(*at), (p, keys)))


def loss_beyond(
    study: Counting, task: PrefixTask, fit: Any, seed: int
) -> Float[np.ndarray, "lengths seeds"]:
    """Return the squared error of whole inputs of each length, (lengths, seeds).

    Each seed has its own inputs, the same for all trained lengths, so an interval over seeds
    includes the noise of the inputs.
    """
    judge = _judge(fit.graph, task, study.judged, study.examples)
    keys = jax.random.split(jax.random.key(seed), study.seeds)
    return np.asarray(judge(fit.state.parameters(), keys)).T


def attention(
    task: ModPTask, fit: Any, length: int, seed: int, count: int = 256
) -> dict[str, Float[np.ndarray, " seeds"]]:
    """Return statistics of the first head's attention at the end of inputs (Fig. 3), (seeds,) each.

    **Returns:** `mass` on the positions = k mod p; `spread`: the standard deviation of their
    weights over the mean; `other`: the mean weight of the other positions over that of these.
    """
    keys = jax.random.split(jax.random.key(seed), count)
    xs = jax.vmap(lambda k: task.sample(k, length).x)(keys)
    weights = over_seeds(fit, lambda network, xs: jax.vmap(network.attention)(xs)[:, 0])(xs)
    right = np.asarray(task.counts(length))
    inside, outside = weights[..., right], weights[..., ~right]
    return {
        "mass": inside.sum(-1).mean(-1),
        "spread": (inside.std(-1) / inside.mean(-1)).mean(-1),
        "other": (outside.mean(-1) / inside.mean(-1)).mean(-1),
    }


Judged = dict[tuple[Counting, PrefixTask, int], tuple[Any, np.ndarray]]
"""The fit of a task at a trained length, and its test losses (lengths, seeds)."""


def losses_beyond(
    study: Counting, tasks: Sequence[PrefixTask], setting: Setting, known: Judged
) -> Float[np.ndarray, "tasks trained judged seeds"]:
    """Train every task at every length, except those in `known`, to which results are added.

    **Returns:** test losses, (tasks, trained, judged, seeds).
    """

    def one(task: PrefixTask, n: int) -> tuple[Any, np.ndarray]:
        setting.say(f"{task}, trained to length {n}")
        name = re.sub(r"\W+", "_", repr(task)).strip("_")
        fit = study.train(task, n, setting, f"{name}_{study.seeds}_{study.width}")
        return fit, setting.call(loss_beyond, study, task, fit, setting.seed)

    points = [p for p in itertools.product(tasks, study.trained) if (study, *p) not in known]
    for point, found in zip(points, setting.each(one, points), strict=True):
        known[study, *point] = found
    return np.array([[known[study, task, n][1] for n in study.trained] for task in tasks])
