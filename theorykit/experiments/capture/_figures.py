"""Figure 1 of the capture paper: what it costs to carry a task over to longer inputs.

A network is trained at one length until its accuracy reaches a threshold; then, for each longer
length, it is trained on until it does so again. The samples of that second phase are the cost. A
task is captured if the cost grows like the logarithm of the length.
"""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.common import exponents
from theorykit.experiments._experiment import Finding, Setting, experiment


@dataclasses.dataclass(frozen=True)
class Plan:
    """A task, a network and a budget.

    **Fields:** `metric` and `threshold`: when a length counts as learned; `steps`, `later`: the
    most steps of the first phase and of each adaptation; `every`: how often is looked.
    """

    task: Any
    network: dict[str, Any]
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


def adapt(plan: Plan, setting: Setting) -> dict[str, np.ndarray]:
    """Train at the first length, then on to each longer one.

    **Returns:** `first`, samples of the first phase, (seeds,); `before`, the metric at each length
    before adaptation, and `samples` of adaptation, (lengths, seeds): 0 where none was needed, NaN
    where the budget did not suffice, or the first phase did not.
    """
    import optax

    from theorykit.networks import nets, training

    options = {**plan.task.options, **plan.network}
    make = lambda rngs: nets.Transformer(**options, rngs=rngs)
    judge = lambda length: {"at": dict(length=length, batch=plan.judged)}
    learned = training.reaches(f"at/{plan.metric}", plan.threshold)
    common = dict(
        optimizer=optax.adam(plan.rate),
        batch=plan.batch,
        seeds=plan.seeds,
        key=setting.seed,
        stop=learned,
        config=dict(optimizer=f"adam({plan.rate})", task=repr(plan.task)),
    )
    setting.say(f"first phase at length {plan.first}")
    first = training.fit(
        make, plan.task, length=plan.first, steps=plan.steps, every=plan.every,
        evaluate=judge(plan.first), folder=setting.at("first"), **common,
    )  # fmt: skip
    started = first.stopped_at >= 0
    cost, before = [], []
    for length in plan.lengths:
        if not started.any():
            cost.append(np.full(plan.seeds, np.nan))
            before.append(np.full(plan.seeds, np.nan))
            continue
        setting.say(f"adaptation to length {length}")
        unadapted = _judged(plan, first, length, setting.seed)
        longer = training.fit(
            make, plan.task, length=length, steps=plan.later, every=plan.every_later,
            evaluate=judge(length), start=first, folder=setting.at(f"to_{length}"), **common,
        )  # fmt: skip
        samples = np.where(longer.stopped_at >= 0, longer.stopped_at * plan.batch, np.nan)
        samples = np.where(unadapted >= plan.threshold, 0.0, samples)
        cost.append(np.where(started, samples, np.nan))
        before.append(unadapted)
    spent = np.where(started, first.stopped_at * plan.batch, np.nan)
    return {"first": spent, "before": np.array(before), "samples": np.array(cost)}


def _judged(plan: Plan, fit: Any, length: int, seed: int) -> np.ndarray:
    """Return each seed's metric at a length that it was not adapted to."""
    import jax
    from flax import nnx

    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), length), plan.judged)
    samples = jax.vmap(lambda k: plan.task.sample(k, length))(keys)

    def of(parameters):
        network = nnx.merge(fit.graph, parameters)
        one = lambda s: plan.task.metrics(network(s.x), s)[plan.metric]
        return jax.vmap(one)(samples).mean()

    return np.asarray(jax.jit(lambda p: jax.lax.map(of, p))(fit.state.parameters()))


def growth(lengths: Sequence[int], first: int, samples: np.ndarray) -> dict[str, Any]:
    """Return how the cost grows, a seed at a time.

    Two exponents of the samples: in T / T0, and in log(T / T0), where a logarithm has exactly 1
    and growth in proportion to T - T0 more (`linear`, on these lengths). Only the second tells them
    apart: near T = T0 a logarithm is steep in T / T0.

    **Returns:** for each of `power` and `log`: `values` a seed (NaN with fewer than three lengths
    of positive cost), `mean`, and its 95% `interval` over seeds; and `linear`.
    """
    ratio = np.asarray(lengths, float) / first
    slope = lambda x, y: float(np.polyfit(np.log(x), np.log(y), 1)[0])

    def exponents(x: np.ndarray) -> np.ndarray:
        good = [np.isfinite(c) & (c > 0) for c in samples.T]
        pairs = zip(good, samples.T, strict=True)
        return np.array([slope(x[g], c[g]) if g.sum() > 2 else np.nan for g, c in pairs])

    return {
        "power": _spread(exponents(ratio)),
        "log": _spread(exponents(np.log(ratio))),
        "linear": slope(np.log(ratio), ratio - 1) if len(ratio) > 2 else float("nan"),
    }


def _spread(values: np.ndarray) -> dict[str, Any]:
    """Return the mean of the known values with its 95% interval; NaN for fewer than two."""
    known = values[np.isfinite(values)]
    nothing = (float("nan"),) * 3
    mean, low, high = exponents.mean(known, 0.95) if len(known) > 1 else nothing
    return {"values": values.tolist(), "mean": mean, "interval": (low, high)}


def carry_over(plan: Plan, setting: Setting, what: str, printed: str) -> Finding:
    """Run a plan and write down what it says beside what the paper says."""
    found = adapt(plan, setting)
    grown = growth(plan.lengths, plan.first, found["samples"])
    rows = [
        {
            "length": length,
            "T / T0": length / plan.first,
            f"{plan.metric} before": float(np.nanmean(found["before"][i])),
            "samples": float(np.nanmean(found["samples"][i])) if _any(found["samples"][i]) else "-",
            "least": float(np.nanmin(found["samples"][i])) if _any(found["samples"][i]) else "-",
            "most": float(np.nanmax(found["samples"][i])) if _any(found["samples"][i]) else "-",
            "seeds": f"{int(np.isfinite(found['samples'][i]).sum())}/{plan.seeds}",
        }
        for i, length in enumerate(plan.lengths)
    ]
    missing = int(np.isnan(found["samples"]).sum())
    first = float(np.nanmean(found["first"])) if _any(found["first"]) else float("nan")
    said = lambda e: f"{e['mean']:.2f} [{e['interval'][0]:.2f}, {e['interval'][1]:.2f}]"
    summary = (
        f"{what}: trained at length {plan.first} to {plan.metric} {plan.threshold:g} with "
        f"{first:.0f} samples (mean of {plan.seeds} seeds), then adapted. The samples of that "
        f"grow with exponent {said(grown['log'])} in log(T / T0): a logarithm has 1, growth in "
        f"proportion to T - T0 has {grown['linear']:.2f} on these lengths. In T / T0 the exponent "
        f"is {said(grown['power'])}. The paper: {printed}. "
        + (f"{missing} of {found['samples'].size} adaptations did not end. " if missing else "")
    )
    numbers = {
        "first": _plain(found["first"]),
        "before": _plain(found["before"]),
        "samples": _plain(found["samples"]),
        "lengths": list(plan.lengths),
        "first_length": plan.first,
        "growth": _plain(grown),
    }
    return Finding(summary.strip(), rows, numbers, functools.partial(draw, plan, found, what))


def draw(plan: Plan, found: dict[str, np.ndarray], what: str, file: Path) -> None:
    """Draw the samples of adaptation against T / T0, with a logarithm and a line as near as can be.

    Points are seeds; a mean is drawn where all seeds ended.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    ratio = np.asarray(plan.lengths) / plan.first
    axes.plot(ratio, found["samples"], "o", color="0.6", markersize=4)
    mean = found["samples"].mean(1)
    axes.plot(ratio, mean, "o-", color="C0", label="mean over seeds")
    known = np.isfinite(mean) & (mean > 0)
    if known.any():
        for label, shape, style in (
            ("log(T / T0)", np.log(ratio), "--"),
            ("T - T0", ratio - 1, ":"),
        ):
            scale = np.exp(np.log(mean[known] / shape[known]).mean())
            axes.plot(ratio, scale * shape, style, color="0.3", label=f"in proportion to {label}")
    axes.set(xscale="log", xlabel="T / T0", ylabel="samples to adapt", title=what)
    axes.set_xticks(ratio, [f"{r:g}" for r in ratio])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)


def _any(x: np.ndarray) -> bool:
    return bool(np.isfinite(x).any())


def _plain(value: Any) -> Any:
    """Return numbers as JSON has them, None for NaN."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    return None if value != value else float(value)


LAYERS = dict(
    parameterisation="standard", mlp="two", activation="gelu", norm="layer", residual=True
)


def network(width: int, depth: int, heads: int = 4, **more: Any) -> dict[str, Any]:
    """Return the options of appendix C's decoder."""
    return dict(width=width, depth=depth, heads=heads, **LAYERS, **more)


def induction_plan(size: str) -> Plan:
    """Return the induction head, as printed or small."""
    from theorykit.networks.tasks import InductionHead

    if size == "paper":
        return Plan(
            InductionHead(vocabulary=1024), network(256, 2, causal=True), 32,
            (48, 64, 96, 128, 192, 256, 384),
            batch=512, seeds=5, steps=50_000, later=20_000, threshold=0.95, every_later=1,
        )  # fmt: skip
    return Plan(
        InductionHead(vocabulary=32), network(64, 2, mlp_width=128, causal=True), 16,
        (20, 24, 32, 48, 64), batch=64, seeds=4, steps=3_000, later=400, threshold=0.95,
        every_later=5,
    )  # fmt: skip


def sorting_plan(size: str) -> Plan:
    """Return sorting, as printed or small."""
    from theorykit.networks.tasks import Sorting

    if size == "paper":
        return Plan(
            Sorting(vocabulary=1000), network(128, 4), 16, (24, 32, 48, 64, 96, 128),
            batch=512, seeds=5, steps=50_000, later=20_000, threshold=0.95, every_later=1,
        )  # fmt: skip
    return Plan(
        Sorting(vocabulary=64), network(64, 2, mlp_width=128), 8, (12, 16, 24, 32),
        batch=128, seeds=6, steps=3_000, later=600, threshold=0.95, every_later=4,
    )  # fmt: skip


def graph_plan(task: Any, size: str) -> Plan:
    """Return a task on graphs, as printed or small."""
    if size == "paper":
        return Plan(
            task, network(128, 4), 16, (20, 24, 32, 48, 64), batch=1024, seeds=5, steps=100_000,
            later=50_000, threshold=0.95, every_later=5,
        )  # fmt: skip
    return Plan(
        task, network(64, 3, mlp_width=128), 8, (12, 14, 16), batch=128, seeds=5, steps=4_000,
        later=3_000, threshold=0.6, metric="exact", every_later=10, judged=512,
    )  # fmt: skip


def _shortest_path_plan(size: str) -> Plan:
    from theorykit.networks.tasks import ShortestPath

    return graph_plan(ShortestPath(ties="all"), size)


def _minimum_cut_plan(size: str) -> Plan:
    from theorykit.networks.tasks import MinCut

    return graph_plan(MinCut(), size)


PLANS = {
    "induction": induction_plan,
    "sorting": sorting_plan,
    "spp": _shortest_path_plan,
    "mincut": _minimum_cut_plan,
}
"""The plan of each experiment, a function of the size."""


@experiment("capture", "induction", ref="Fig. 1")
def induction(setting: Setting) -> Finding:
    """Samples to carry an induction head over to longer inputs: logarithmic, says the paper."""
    plan = PLANS["induction"](setting.size)
    return carry_over(plan, setting, "Induction head", "the cost grows like log(T / T0)")


@experiment("capture", "sorting", ref="Fig. 1")
def sorting(setting: Setting) -> Finding:
    """Samples to carry sorting over to longer lists: logarithmic, says the paper."""
    plan = PLANS["sorting"](setting.size)
    return carry_over(plan, setting, "Sorting", "the cost grows like log(T / T0)")


@experiment("capture", "spp", ref="Fig. 1")
def shortest_path(setting: Setting) -> Finding:
    """Samples to carry shortest paths over to larger graphs: faster than linear, says the paper."""
    plan = PLANS["spp"](setting.size)
    return carry_over(plan, setting, "Shortest path", "the cost grows faster than linearly")


@experiment("capture", "mincut", ref="Fig. 1")
def minimum_cut(setting: Setting) -> Finding:
    """Samples to carry minimum cuts over to larger graphs: faster than linear, says the paper."""
    plan = PLANS["mincut"](setting.size)
    return carry_over(plan, setting, "Minimum cut", "the cost grows faster than linearly")
