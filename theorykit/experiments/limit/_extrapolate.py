"""Networks trained at lengths up to 50 and judged beyond: section 5 of the limit paper."""

import csv
import dataclasses
import functools
import importlib.resources
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.experiments._experiment import Setting
from theorykit.networks.nets import Transformer
from theorykit.networks.tasks import AnyLength, LengthBins
from theorykit.networks.tasks._lengths import placed

Array = Any

POSITIONS = ("APE", "NoPE")
DEVIATION = 0.02
"""Of all weights at the start, as in GPT-2."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """A task, a network and a budget; a row of Tables 4 to 7.

    **Fields:** `positions`: "APE", learned positions at random offsets, or "NoPE", none; `layers`,
    `heads`, `width`; `rate`, of AdamW, that falls to 0 linearly over `steps` after `warmup`;
    `judged`: examples of a bin; `every`: how often is looked whether all of the first are right;
    `trained`: the longest length of training, where the first bin ends.
    """

    task: AnyLength
    positions: str
    layers: int
    heads: int
    width: int
    rate: float
    steps: int = 30_000
    warmup: int = 0
    batch: int = 64
    seeds: int = 5
    judged: int = 2_000
    every: int = 3_000
    trained: int = 50

    @property
    def ends(self) -> tuple[int, ...]:
        """The lengths that end the bins: 50, 100 and 150 for [1, 50], [51, 100], [101, 150]."""
        return self.trained, 2 * self.trained, 3 * self.trained

    @property
    def places(self) -> int:
        """How many positions the longest examples have."""
        return self.task.tokens(self.ends[-1])

    @property
    def bins(self) -> LengthBins:
        """The task at mixed lengths, with an offset where there are positions."""
        return LengthBins(self.task, self.trained, self.places if self.positions == "APE" else None)


class Decoder(nnx.Module):
    """A decoder like GPT-2 with an untied readout, whose input brings its offset with it.

    **Arguments:** `plan`; `rngs`. Its input is token ids, or with positions a pair of token ids and
    an offset. There are more positions than places, since what is padded has some too.
    """

    def __init__(self, plan: Plan, rngs: nnx.Rngs):
        """Draw all weights with deviation 0.02."""
        absolute = plan.positions == "APE"
        self.network = Transformer(
            **plan.task.options, width=plan.width, heads=plan.heads, depth=plan.layers,
            parameterisation="standard", mlp="two", activation="gelu", norm="layer", residual=True,
            positions="learned" if absolute else None,
            max_tokens=plan.places + plan.task.tokens(plan.trained), rngs=rngs,
        )  # fmt: skip
        state = nnx.state(self.network)
        alike = lambda w: w * (DEVIATION / jnp.maximum(jnp.std(w), 1e-6))
        nnx.update(self.network, jax.tree.map(alike, state))

    def __call__(self, x: Any) -> Array:
        """Return the scores (tokens, outputs) of one input."""
        ids, offset = x if isinstance(x, tuple | list) else (x, 0)
        return self.network(ids, offset=offset)


def optimizer(plan: Plan) -> Any:
    """Return AdamW with weight decay 0.01 (E.3) and a linear schedule (the authors' code)."""
    import optax

    falling = optax.linear_schedule(plan.rate, 0.0, plan.steps - plan.warmup)
    rising = optax.linear_schedule(0.0, plan.rate, max(plan.warmup, 1))
    schedule = optax.join_schedules([rising, falling], [plan.warmup])
    return optax.adamw(schedule, weight_decay=0.01)


def train(plan: Plan, setting: Setting, name: str) -> Any:
    """Train all seeds until every example of the first bin is right, or the steps are over."""
    from theorykit.networks import training

    return training.fit(
        functools.partial(Decoder, plan), plan.bins, optimizer(plan),
        steps=plan.steps, batch=plan.batch, length=plan.trained, seeds=plan.seeds, key=setting.seed,
        every=plan.every, evaluate={"in": dict(length=plan.trained, batch=plan.judged)},
        stop=training.reaches("in/exact", 1.0), folder=setting.at(name, plan.positions),
        config=dict(plan=repr(plan)), progress=False,
    )  # fmt: skip


def accuracy(plan: Plan, fit: Any, seed: int) -> np.ndarray:
    """Return which share of the examples is right at every step, (bins, seeds).

    Each bin's lengths take turns.
    """
    size = plan.ends[-1]

    def right(parameters: Any, key: Array, n: Array) -> Array:
        network = nnx.merge(fit.graph, parameters)
        sample = plan.task.padded(key, n, size)
        if plan.positions == "APE":
            sample = placed(sample, plan.places, jax.random.uniform(jax.random.fold_in(key, 1)))
        return plan.task.metrics(network(sample.x), sample)["exact"]

    def share(parameters: Any, keys: Array, lengths: Array) -> Array:
        one = lambda at: right(parameters, *at)
        return jax.lax.map(one, (keys, lengths), batch_size=100).mean()

    judge = jax.jit(lambda p, keys, n: jax.lax.map(lambda one: share(one, keys, n), p))
    found = []
    for end in plan.ends:
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), end), plan.judged)
        lengths = np.resize(plan.task.lengths(end - plan.trained + 1, end), plan.judged)
        found.append(np.asarray(judge(fit.state.parameters(), keys, lengths)))
    return np.array(found)


def data(name: str) -> list[dict[str, str]]:
    """Return a table of the paper, or figures that its authors published, as rows."""
    file = importlib.resources.files("theorykit.experiments.limit") / "data" / f"{name}.csv"
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
