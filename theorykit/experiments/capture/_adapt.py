"""The cost of transferring a trained network to longer inputs, and its growth."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from theorykit.experiments import Adam, Mean, Plan, Setting, judged
from theorykit.networks.tasks import Task


@dataclasses.dataclass(frozen=True)
class Adaptation:
    """A task that is learned at a first length and then at each longer one.

    **Fields:** `network`: options of `nets.Transformer`; `metric` and `threshold`: when a length
    counts as learned; `steps`, `later`: the most steps of the first phase and of each adaptation;
    `every`, `every_later`: the number of steps between evaluations, on `judged` examples.
    """

    task: Task
    network: Mapping[str, Any]
    first: int
    lengths: tuple[int, ...]
    batch: int
    seeds: int
    steps: int
    later: int
    threshold: float
    metric: str = "accuracy"
    rate: float = 1e-3
    every: int = 50
    every_later: int = 5
    judged: int = 256

    def plan(self, length: int, steps: int, every: int) -> Plan:
        """Return the plan of one phase: train at a length until it counts as learned."""
        from theorykit.networks.training import OnTask, reaches

        judge = {"at": dict(length=length, batch=self.judged)}
        return Plan(
            OnTask(self.task, length=length, batch=self.batch, evaluate=judge),
            self.network,
            Adam(self.rate),
            steps=steps,
            every=every,
            seeds=self.seeds,
            stop=reaches(f"at/{self.metric}", self.threshold),
        )


def adapt(study: Adaptation, setting: Setting) -> dict[str, Float[np.ndarray, "... seeds"]]:
    """Train at the first length, then adapt to each longer one.

    **Returns:** `first`, samples of the first phase, (seeds,); `before`, the metric at each length
    before adaptation, and `samples` of adaptation, (lengths, seeds): 0 where none was needed, NaN
    where the budget, or that of the first phase, did not suffice.
    """
    setting.say(f"first phase at length {study.first}")
    plan = study.plan(study.first, study.steps, study.every)
    first = plan.train(setting, "first", progress=True)
    started = first.stopped_at >= 0

    def to(length: int) -> tuple[np.ndarray, np.ndarray]:
        if not started.any():
            return np.full(study.seeds, np.nan), np.full(study.seeds, np.nan)
        setting.say(f"adaptation to length {length}")
        before = setting.call(unadapted, study, first, length, setting.seed)
        plan = study.plan(length, study.later, study.every_later)
        longer = plan.train(setting, f"to_{length}", start=first, progress=True)
        samples = np.where(longer.stopped_at >= 0, longer.stopped_at * study.batch, np.nan)
        samples = np.where(before >= study.threshold, 0.0, samples)
        return before, np.where(started, samples, np.nan)

    before, cost = zip(*setting.each(to, [(length,) for length in study.lengths]), strict=True)
    spent = np.where(started, first.stopped_at * study.batch, np.nan)
    return {"first": spent, "before": np.array(before), "samples": np.array(cost)}


def unadapted(study: Adaptation, fit: Any, length: int, seed: int) -> Float[np.ndarray, " seeds"]:
    """Return the metric at a length for the networks of a fit, without adaptation."""
    return judged(fit, study.task, length, study.metric, count=study.judged, seed=seed)


def growth(
    lengths: Sequence[int],
    first: int,
    samples: Float[np.ndarray, "lengths seeds"],
    budget: float | None = None,
) -> dict[str, Any]:
    """Return the growth of the cost, for each seed.

    There are two exponents of the samples: in T / T0, and in log(T / T0). In the second, a
    logarithm has exactly 1, and growth in proportion to T - T0 has more (`linear`, on these
    lengths). Only the second tells the two apart, since near T = T0 a logarithm is steep in T / T0.

    **Arguments:** `samples`: NaN where adaptation did not end; `budget`: the samples that such an
    adaptation took at least. An exponent is then a lower bound, if the length is one at which more
    samples mean a larger exponent.

    **Returns:** for each of `power` and `log`: `values`, one per seed, their `mean` and its 95%
    `interval`, NaN for fewer than two; and `linear`. A value is NaN with fewer than three lengths
    of positive cost, and where an adaptation did not end and gives no lower bound.
    """
    ratio = np.asarray(lengths, float) / first
    slope = lambda x, y: float(np.polyfit(np.log(x), np.log(y), 1)[0])

    def exponent(x: Float[np.ndarray, " lengths"], cost: Float[np.ndarray, " lengths"]) -> float:
        counts = ~(cost <= 0)
        x, cost = np.log(x[counts]), cost[counts]
        open_ = np.isnan(cost)
        if len(x) < 3 or (open_.any() and (budget is None or (x[open_] < x.mean()).any())):
            return np.nan
        return slope(np.exp(x), np.where(open_, budget or np.nan, cost))

    def exponents(x: Float[np.ndarray, " lengths"]) -> dict[str, Any]:
        values = np.array([exponent(x, cost) for cost in samples.T])
        known = values[np.isfinite(values)]
        mean = Mean.of(known) if len(known) > 1 else Mean(np.nan, np.nan, np.nan)
        return {"values": values.tolist(), "mean": mean.value, "interval": mean.interval}

    return {
        "power": exponents(ratio),
        "log": exponents(np.log(ratio)),
        "linear": slope(np.log(ratio), ratio - 1) if len(ratio) > 2 else float("nan"),
    }
