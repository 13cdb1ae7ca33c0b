"""Networks trained at lengths up to 50 and tested beyond: section 5 of the limit paper."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float

from theorykit.experiments import Adam, Plan, Setting, over_seeds
from theorykit.networks.nets import Transformer
from theorykit.networks.tasks import AnyLength, LengthBins, placed

POSITIONS = ("APE", "NoPE")
DEVIATION = 0.02
"""The standard deviation of all weights at initialisation, as in GPT-2."""


@dataclasses.dataclass(frozen=True)
class Extrapolation:
    """A task, a network and a budget; a row of Tables 4 to 7.

    **Fields:** `positions`: "APE", learned positions at random offsets, or "NoPE", none; `layers`,
    `heads`, `width`; `rate`, of AdamW, which decays linearly to 0 over `steps` after `warmup`;
    `judged`: the number of examples per bin; `every`: the number of steps between evaluations,
    which check whether all examples of the first bin are right; `trained`: the longest training
    length, where the first bin ends.
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
        """The largest lengths of the bins: 50, 100 and 150 for [1, 50], [51, 100], [101, 150]."""
        return self.trained, 2 * self.trained, 3 * self.trained

    @property
    def places(self) -> int:
        """The number of positions of the longest examples."""
        return self.task.tokens(self.ends[-1])

    @property
    def bins(self) -> LengthBins:
        """The task at mixed lengths, with an offset if there are positions."""
        return LengthBins(self.task, self.trained, self.places if self.positions == "APE" else None)

    @property
    def plan(self) -> Plan:
        """Train until every example of the first bin is right, or until the steps run out.

        The weight decay of AdamW is from E.3, the linear schedule from the authors' code.
        """
        from theorykit.networks.training import OnTask, reaches

        first = {"in": dict(length=self.trained, batch=self.judged)}
        return Plan(
            OnTask(self.bins, length=self.trained, batch=self.batch, evaluate=first),
            functools.partial(Decoder, self),
            Adam(self.rate, falling="linear", warmup=self.warmup, decay=0.01),
            steps=self.steps,
            every=self.every,
            seeds=self.seeds,
            stop=reaches("in/exact", 1.0),
        )

    def train(self, setting: Setting, name: str) -> Any:
        """Return the fit of all seeds."""
        setting.say(f"{name}, {self.positions}")
        return self.plan.train(setting, name, self.positions, config=dict(plan=repr(self)))


class Decoder(nnx.Module):
    """A decoder like GPT-2 with an untied readout; the input includes its offset.

    **Arguments:** `study`; `rngs`. The input is token ids or, with positions, a pair of token ids
    and an offset. There are more positions than places, since padding needs positions too.
    """

    def __init__(self, study: Extrapolation, rngs: nnx.Rngs):
        """Draw all weights with standard deviation 0.02."""
        absolute = study.positions == "APE"
        self.network = Transformer(
            **study.task.options, width=study.width, heads=study.heads, depth=study.layers,
            parameterisation="standard", mlp="two", activation="gelu", norm="layer", residual=True,
            positions="learned" if absolute else None,
            max_tokens=study.places + study.task.tokens(study.trained), rngs=rngs,
        )  # fmt: skip
        state = nnx.state(self.network)
        alike = lambda w: w * (DEVIATION / jnp.maximum(jnp.std(w), 1e-6))
        nnx.update(self.network, jax.tree.map(alike, state))

    def __call__(self, x: Any) -> Float[Array, "tokens outputs"]:
        """Return the scores (tokens, outputs) of one input."""
        ids, offset = x if isinstance(x, tuple | list) else (x, 0)
        return self.network(ids, offset=offset)


def accuracy(study: Extrapolation, fit: Any, seed: int) -> Float[np.ndarray, "bins seeds"]:
    """Return the share of examples that are right at every step, (bins, seeds).

    The lengths of each bin take turns.
    """
    size = study.ends[-1]

    def right(network: Any, key: Array, n: Array) -> Array:
        sample = study.task.padded(key, n, size)
        if study.positions == "APE":
            sample = placed(sample, study.places, jax.random.uniform(jax.random.fold_in(key, 1)))
        return study.task.metrics(network(sample.x), sample)["exact"]

    def share(network: Any, keys: Array, lengths: Array) -> Array:
        one = lambda at: right(network, *at)
        return jax.lax.map(one, (keys, lengths), batch_size=100).mean()

    judge, found = over_seeds(fit, share), []
    for end in study.ends:
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), end), study.judged)
        lengths = np.resize(study.task.lengths(end - study.trained + 1, end), study.judged)
        found.append(judge(keys, lengths))
    return np.array(found)


def trained(study: Extrapolation, setting: Setting, name: str) -> dict[str, np.ndarray]:
    """Train and test: `accuracy` (bins, seeds); `fitted`, which seeds got the first bin right."""
    fit = study.train(setting, name)
    found = setting.call(accuracy, study, fit, setting.seed)
    return {"accuracy": found, "fitted": fit.stopped_at >= 0}
