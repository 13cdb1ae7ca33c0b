"""Figures 1 to 4 of the quantitative paper: the error at long inputs after training at short ones.

Appendix C does not say which lengths are trained and judged; those here are ours. Networks are
`nets.LocalTransformer`, which has what the tasks need to go on beyond the trained lengths: periodic
encodings, and local functions with log i scaling.
"""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.experiments._experiment import Finding, Setting, experiment
from theorykit.experiments.quantitative._counts import (
    Judged,
    Plan,
    attention,
    curves,
    plateau,
    trend,
)
from theorykit.networks.tasks import InContextKGram, ModPTask, SimpleTask

PAPER = Plan()
SMALL = Plan(
    trained=(8, 16, 32), judged=(64, 128, 256, 512), mlp_width=64, rate=3e-2, decay=True,
    loss=None, steps=600, every=200, batch=64, seeds=3, examples=2048,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Panel:
    """A parameter and its values, with the plan of their networks."""

    name: str
    tasks: Mapping[Any, Any]
    plan: Plan


def panels(which: str, size: str) -> list[Panel]:
    """Return the panels of a figure, as printed or small."""
    paper = size == "paper"
    plan = PAPER if paper else SMALL
    if which == "simple":
        values: Any = np.arange(2, 6, 0.5).tolist() if paper else (2.0, 3.0, 4.0)
        return [Panel("omega", {w: SimpleTask(w) for w in values}, plan)]
    if which == "modp":
        return [Panel("Delta", {p: ModPTask(p) for p in range(3, 9 if paper else 6)}, plan)]
    wide = narrow = two = dataclasses.replace(plan, rate=3e-2, loss=None)
    if paper:
        wide = dataclasses.replace(two, width=32)
        narrow = dataclasses.replace(two, seeds=14)
    symbols, orders = (range(3, 9), range(2, 5)) if paper else ((2, 3, 4), (2, 3, 4))
    return [
        Panel("S", {S: InContextKGram(S, 2) for S in symbols}, wide),
        Panel("k", {k: InContextKGram(2, k) for k in orders}, narrow),
    ]


def measured(panel: Panel, setting: Setting, known: Judged) -> dict[str, Any]:
    """Train a panel's networks.

    **Returns:** `losses`, (values, trained, judged, seeds), and what they say: `plateau`, and the
    trends of the last in the trained length and in the panel's parameter.
    """
    losses = curves(panel.plan, list(panel.tasks.values()), setting, known)
    final = losses[:, :, -1]
    return {
        "losses": losses,
        "plateau": plateau(losses),
        "trained": trend(panel.plan.trained, final.transpose(0, 2, 1), falling=True),
        panel.name: trend(list(panel.tasks), final.transpose(1, 2, 0), falling=False),
    }


def said(name: str, found: Mapping[str, Any]) -> str:
    """Return a trend in words."""
    low, high = found["interval"]
    return f"{name}: exponent {found['exponent']:.2f} [{low:.2f}, {high:.2f}], p = {found['p']:.1g}"


def table(panel: Panel, losses: np.ndarray) -> list[dict[str, Any]]:
    """Return a row for each value and trained length: geometric means over seeds."""
    means = np.exp(np.log(losses).mean(-1))
    return [
        {panel.name: value, "trained to": n}
        | {f"at {t}": float(f"{e:.3g}") for t, e in zip(panel.plan.judged, errors, strict=True)}
        for value, of_value in zip(panel.tasks, means, strict=True)
        for n, errors in zip(panel.plan.trained, of_value, strict=True)
    ]


def finding(made: list[Panel], setting: Setting) -> tuple[Finding, Judged]:
    """Run all panels of a figure."""
    known: Judged = {}
    runs = [measured(panel, setting, known) for panel in made]
    rows, sentences, numbers = [], [], {}
    for panel, found in zip(made, runs, strict=True):
        rows += table(panel, found["losses"])
        flat = found["plateau"]
        low, high = flat["interval"]
        sentences.append(
            f"Test loss at length {panel.plan.judged[-1]} over that at {panel.plan.judged[-2]}: "
            f"{flat['factor']:.2f} [{low:.2f}, {high:.2f}]. Its trends there, by "
            f"{said('trained length', found['trained'])}; by {said(panel.name, found[panel.name])}."
        )
        numbers[panel.name] = found | {"losses": found["losses"].tolist()}
    plot = functools.partial(draw, made, [found["losses"] for found in runs])
    sentences.append("Intervals are 95%, p is of Page's test with a block a seed and setting.")
    return Finding(" ".join(sentences), rows, numbers, plot), known


def draw(made: list[Panel], all_losses: list[np.ndarray], file: Path) -> None:
    """Draw test loss against length at the first value, and its end against what is trained."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(3.2 * (1 + len(made)), 3), layout="constrained")
    axes = drawn.subplots(1, 1 + len(made), sharey=True)
    means = [np.exp(np.log(losses).mean(-1)) for losses in all_losses]
    plan, first = made[0].plan, next(iter(made[0].tasks))
    for n, errors in zip(plan.trained, means[0][0], strict=True):
        axes[0].plot(plan.judged, errors, "o-", label=f"trained to {n}")
    axes[0].set(xscale="log", xlabel="test length", ylabel="test loss")
    axes[0].set_title(f"{made[0].name} = {first}", fontsize="small")
    for panel, mean, ax in zip(made, means, axes[1:], strict=True):
        for value, errors in zip(panel.tasks, mean, strict=True):
            ax.plot(panel.plan.trained, errors[:, -1], "o-", label=f"{panel.name} = {value}")
        ax.set(xscale="log", xlabel=f"trained length; tested at {panel.plan.judged[-1]}")
    for ax in axes:
        ax.set_yscale("log")
        ax.legend(frameon=False, fontsize="x-small")
    drawn.savefig(file, dpi=150)


@experiment("quantitative", "simple", ref="Fig. 1, App. C")
def simple(setting: Setting) -> Finding:
    """SimpleTask: the test loss goes flat, at less for longer training inputs and smaller omega."""
    return finding(panels("simple", setting.size), setting)[0]


@experiment("quantitative", "modp", ref="Figs. 2 and 3, App. C")
def modp(setting: Setting) -> Finding:
    """ModPTask: the same with the period, and attention near uniform on positions = k mod p."""
    (panel,) = panels("modp", setting.size)
    found, known = finding([panel], setting)
    plan, task = panel.plan, panel.tasks[5]
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


@experiment("quantitative", "kgram", ref="Fig. 4, App. C")
def kgram(setting: Setting) -> Finding:
    """In-context k-gram: the test loss goes flat, at more for a larger alphabet S or order k."""
    return finding(panels("kgram", setting.size), setting)[0]
