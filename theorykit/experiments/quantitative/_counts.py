"""Networks that are trained on counts up to a length, judged beyond, and how their errors go."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.common import exponents
from theorykit.experiments._experiment import Setting
from theorykit.networks.nets import LocalTransformer
from theorykit.networks.tasks import ModPTask, PrefixTask

Array = Any

EMBEDDING_RATE = 1e-2


@dataclasses.dataclass(frozen=True)
class Plan:
    """Networks and a budget; the defaults are appendix C's for one layer.

    **Fields:** `trained`: lengths N; `judged`: lengths beyond; `width`, `mlp_width`; `rate`, of
    Adam, over d for hidden layers by muP; `decay`: whether rates fall to 0 like a cosine; `loss`:
    training ends below it; `steps`, at most; `every`: how often is looked; `examples` at each
    length that is judged.
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

    def optimizer(self) -> Any:
        """Return Adam, at a rate of its own for embeddings."""
        import optax

        falling = lambda r: optax.cosine_decay_schedule(r, self.steps) if self.decay else r
        rates = {"embedding": EMBEDDING_RATE, "hidden": self.rate}
        hidden = lambda path: any(name in str(path[0]) for name in ("layers", "head"))
        labels = lambda parameters: jax.tree_util.tree_map_with_path(
            lambda path, _: "hidden" if hidden(path) else "embedding", parameters
        )
        return optax.partition({k: optax.adam(falling(r)) for k, r in rates.items()}, labels)


def train(plan: Plan, task: PrefixTask, length: int, setting: Setting, name: str) -> Any:
    """Return the fit of a task at all lengths T <= `length`."""
    from theorykit.networks import training

    options = {**task.options, "width": plan.width, "mlp_width": plan.mlp_width}
    stop = None if plan.loss is None else training.reaches("loss", plan.loss, below=True)
    return training.fit(
        lambda rngs: LocalTransformer(**options, rngs=rngs), task, plan.optimizer(),
        steps=plan.steps, batch=plan.batch, length=length, seeds=plan.seeds, key=setting.seed,
        every=plan.every, stop=stop, folder=setting.at(name, str(length)),
        config=dict(plan=repr(plan)), progress=False,
    )  # fmt: skip


@functools.cache
def _judge(graph: Any, task: PrefixTask, lengths: tuple[int, ...], examples: int) -> Any:
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


def test_loss(plan: Plan, task: PrefixTask, fit: Any, seed: int) -> np.ndarray:
    """Return the squared error of whole inputs of each length, (lengths, seeds).

    Each seed has its own inputs, the same for all trained lengths, so that an interval over seeds
    has the noise of the inputs in it.
    """
    judge = _judge(fit.graph, task, plan.judged, plan.examples)
    keys = jax.random.split(jax.random.key(seed), plan.seeds)
    return np.asarray(judge(fit.state.parameters(), keys)).T


def attention(task: ModPTask, fit: Any, length: int, seed: int, count: int = 256) -> dict:
    """Return how the first head attends at the end of inputs of a length (Fig. 3), (seeds,) each.

    **Returns:** `mass` on the positions = k mod p; `spread`: the standard deviation of their
    weights over the mean; `other`: the mean weight of another position over that of these.
    """
    keys = jax.random.split(jax.random.key(seed), count)
    xs = jax.vmap(lambda k: task.sample(k, length).x)(keys)
    one = lambda p: jax.vmap(nnx.merge(fit.graph, p).attention)(xs)[:, 0]
    weights = np.asarray(jax.jit(lambda p: jax.lax.map(one, p))(fit.state.parameters()))
    right = np.asarray(task.counts(length))
    inside, outside = weights[..., right], weights[..., ~right]
    return {
        "mass": inside.sum(-1).mean(-1),
        "spread": (inside.std(-1) / inside.mean(-1)).mean(-1),
        "other": (outside.mean(-1) / inside.mean(-1)).mean(-1),
    }


Judged = dict[tuple[Plan, PrefixTask, int], tuple[Any, np.ndarray]]
"""The fit and the test loss of a task at a trained length."""


def curves(plan: Plan, tasks: Sequence[PrefixTask], setting: Setting, known: Judged) -> np.ndarray:
    """Train every task at every length, but for what is known, which grows.

    **Returns:** test losses, (tasks, trained, judged, seeds).
    """
    for task, n in itertools.product(tasks, plan.trained):
        if (plan, task, n) not in known:
            setting.say(f"{task}, trained to length {n}")
            name = re.sub(r"\W+", "_", repr(task)).strip("_")
            fit = train(plan, task, n, setting, f"{name}_{plan.seeds}_{plan.width}")
            known[plan, task, n] = fit, test_loss(plan, task, fit, setting.seed)
    losses = [[known[plan, task, n][1] for n in plan.trained] for task in tasks]
    return np.array(losses)


def trend(sizes: Sequence[float], losses: np.ndarray, falling: bool) -> dict[str, Any]:
    """Return how losses (..., sizes) go with the sizes.

    **Returns:** `exponent`: the mean over all leading axes of the slope of log(loss) over log(size)
    with its 95% t `interval`; `p`: of Page's test for a rise (or fall), each row a block. All
    are NaN where there are too few sizes.
    """
    from scipy.stats import page_trend_test

    nan = float("nan")
    if len(sizes) < 2:
        return {"exponent": nan, "interval": (nan, nan), "p": nan}

    rows = np.asarray(losses, float).reshape(-1, len(sizes))
    mean, low, high = exponents.mean(exponents.slopes(sizes, rows), 0.95)
    p = nan if len(sizes) < 3 else float(page_trend_test(-rows if falling else rows).pvalue)
    return {"exponent": mean, "interval": (low, high), "p": p}


def plateau(losses: np.ndarray) -> dict[str, Any]:
    """Return how far the losses (..., judged, seeds) still move at the end.

    **Returns:** `factor`, the geometric mean of the loss at the longest length over that at the
    one before, with a 95% t `interval`; `before`, the same a step earlier.
    """
    logs = np.log(losses)
    ends = lambda k: np.exp(exponents.mean((logs[..., k, :] - logs[..., k - 1, :]).ravel(), 0.95))
    last, before = ends(-1), ends(-2)
    return {"factor": float(last[0]), "interval": tuple(last[1:].tolist()), "before": before[0]}
