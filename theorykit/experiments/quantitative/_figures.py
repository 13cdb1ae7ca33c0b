"""Figures 1 to 4 of the quantitative paper: the error on long inputs after training on short ones.

Appendix C does not give the training and test lengths; those here are ours. Networks are
`nets.LocalTransformer`, which has what the tasks need beyond the trained lengths: periodic
encodings, and local functions with log i scaling.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from theorykit.experiments import Finding, Line, Mean, Panel, Plot, Setting, reproduces
from theorykit.experiments._tables import rounded
from theorykit.experiments.quantitative._counts import Counting, Judged, attention, losses_beyond
from theorykit.experiments.quantitative._trends import plateau, trend
from theorykit.networks.tasks import InContextKGram, ModPTask, SimpleTask

PAPER = Counting()
SMALL = Counting(
    trained=(8, 16, 32), judged=(64, 128, 256, 512), mlp_width=64, rate=3e-2, decay=True,
    loss=None, steps=600, every=200, batch=64, seeds=3, examples=2048,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A parameter, the task at each of its values, and the plan of their networks."""

    name: str
    tasks: Mapping[Any, Any]
    plan: Counting


def sweeps(which: str, size: str) -> list[Sweep]:
    """Return the sweeps of a figure, as printed or small."""
    paper = size == "paper"
    plan = PAPER if paper else SMALL
    if which == "simple":
        values: Any = np.arange(2, 6, 0.5).tolist() if paper else (2.0, 3.0, 4.0)
        return [Sweep("omega", {w: SimpleTask(w) for w in values}, plan)]
    if which == "modp":
        return [Sweep("Delta", {p: ModPTask(p) for p in range(3, 9 if paper else 6)}, plan)]
    wide = narrow = two = dataclasses.replace(plan, rate=3e-2, loss=None)
    if paper:
        wide = dataclasses.replace(two, width=32)
        narrow = dataclasses.replace(two, seeds=14)
    symbols, orders = (range(3, 9), range(2, 5)) if paper else ((2, 3, 4), (2, 3, 4))
    return [
        Sweep("S", {S: InContextKGram(S, 2) for S in symbols}, wide),
        Sweep("k", {k: InContextKGram(2, k) for k in orders}, narrow),
    ]


def measured(sweep: Sweep, setting: Setting, known: Judged) -> dict[str, Any]:
    """Train a sweep's networks.

    **Returns:** `losses`, (values, trained, judged, seeds), and their statistics: `plateau`, and
    the trends of the last loss in the trained length and in the parameter of the sweep.
    """
    losses = losses_beyond(sweep.plan, list(sweep.tasks.values()), setting, known)
    final = losses[:, :, -1]
    return {
        "losses": losses,
        "plateau": plateau(losses),
        "trained": trend(sweep.plan.trained, final.transpose(0, 2, 1), falling=True),
        sweep.name: trend(list(sweep.tasks), final.transpose(1, 2, 0), falling=False),
    }


def said(name: str, found: Mapping[str, Any]) -> str:
    """Return a trend in words."""
    exponent = Mean(found["exponent"], *found["interval"])
    return f"{name}: exponent {exponent:.2f}, p = {found['p']:.1g}"


Losses = Float[np.ndarray, "values trained judged seeds"]


def over_runs(losses: Losses) -> Float[np.ndarray, "values trained judged"]:
    """Return geometric means over seeds."""
    return np.exp(np.log(losses).mean(-1))


def table(sweep: Sweep, losses: Losses) -> list[dict[str, Any]]:
    """Return one row per value and trained length: geometric means over seeds."""
    return [
        {sweep.name: value, "trained to": n}
        | {f"at {t}": rounded(e) for t, e in zip(sweep.plan.judged, errors, strict=True)}
        for value, of_value in zip(sweep.tasks, over_runs(losses), strict=True)
        for n, errors in zip(sweep.plan.trained, of_value, strict=True)
    ]


def finding(made: list[Sweep], setting: Setting) -> tuple[Finding, Judged]:
    """Run all sweeps of a figure."""
    known: Judged = {}
    runs = [measured(sweep, setting, known) for sweep in made]
    rows, sentences, numbers = [], [], {}
    for sweep, found in zip(made, runs, strict=True):
        rows += table(sweep, found["losses"])
        flat = Mean(found["plateau"]["factor"], *found["plateau"]["interval"])
        sentences.append(
            f"Test loss at length {sweep.plan.judged[-1]} over that at {sweep.plan.judged[-2]}: "
            f"{flat:.2f}. Its trends there, by "
            f"{said('trained length', found['trained'])}; by {said(sweep.name, found[sweep.name])}."
        )
        numbers[sweep.name] = found | {"losses": found["losses"].tolist()}
    sentences.append(
        "Intervals are 95%, p is from Page's test, with one block per seed and setting."
    )
    plot = _plot(made, [over_runs(found["losses"]) for found in runs])
    return Finding(" ".join(sentences), rows, numbers, plot), known


def _plot(made: list[Sweep], means: list[np.ndarray]) -> Plot:
    """Return test loss against length at the first value, and last loss against trained length."""
    log = dict(xscale="log", yscale="log")
    plan, first = made[0].plan, next(iter(made[0].tasks))
    lines = [
        Line(plan.judged, errors, f"trained to {n}")
        for n, errors in zip(plan.trained, means[0][0], strict=True)
    ]
    axes = dict(xlabel="test length", ylabel="test loss", title=f"{made[0].name} = {first}")
    panels = [Panel(lines, log | axes)]
    for sweep, mean in zip(made, means, strict=True):
        lines = [
            Line(sweep.plan.trained, errors[:, -1], f"{sweep.name} = {value}")
            for value, errors in zip(sweep.tasks, mean, strict=True)
        ]
        tested = f"trained length; tested at {sweep.plan.judged[-1]}"
        panels.append(Panel(lines, log | dict(xlabel=tested)))
    return Plot(panels, size=(3.2, 3))


@reproduces("quantitative", "simple", ref="Fig. 1, App. C")
def simple(setting: Setting) -> Finding:
    """SimpleTask: the test loss flattens, lower for longer training inputs and smaller omega."""
    return finding(sweeps("simple", setting.size), setting)[0]


@reproduces("quantitative", "modp", ref="Figs. 2 and 3, App. C")
def modp(setting: Setting) -> Finding:
    """ModPTask: the same for the period, and attention is near uniform on positions = k mod p."""
    (sweep,) = sweeps("modp", setting.size)
    found, known = finding([sweep], setting)
    plan, task = sweep.plan, sweep.tasks[5]
    fits = {n: known[plan, task, n][0] for n in plan.trained}
    looked = {n: attention(task, fit, plan.judged[0], setting.seed) for n, fit in fits.items()}
    means = {n: {what: float(v.mean()) for what, v in seen.items()} for n, seen in looked.items()}
    numbers = {**found.numbers, "attention": {str(n): seen for n, seen in means.items()}}
    end = means[plan.trained[-1]]
    summary = (
        f"{found.summary} At p = 5, trained to {plan.trained[-1]}, positions = k mod p have "
        f"{end['mass']:.3f} of the attention at length {plan.judged[0]}; their weights "
        f"spread by {end['spread']:.3f} of their mean, and other positions have "
        f"{end['other']:.4f} of it."
    )
    return dataclasses.replace(found, summary=summary, numbers=numbers)


@reproduces("quantitative", "kgram", ref="Fig. 4, App. C")
def kgram(setting: Setting) -> Finding:
    """In-context k-gram: the test loss flattens, higher for a larger alphabet S or order k."""
    return finding(sweeps("kgram", setting.size), setting)[0]
