"""Figure 1 of the capture paper: the cost of transferring a task to longer inputs.

A network is trained at one length until its accuracy reaches a threshold; then, for each longer
length, training continues until it does so again. The samples of that second phase are the cost. A
task is captured if the cost grows like the logarithm of the length.
"""

from typing import Any

import numpy as np

from theorykit.experiments import Finding, Line, Mean, Panel, Plot, Setting, reproduces
from theorykit.experiments._tables import plain, share
from theorykit.experiments.capture._adapt import Adaptation, adapt, growth
from theorykit.networks.tasks import InductionHead, MinCut, ShortestPath, Sorting, Task


def network(width: int, depth: int, heads: int = 4, **more: Any) -> dict[str, Any]:
    """Return the options of the decoder of appendix C."""
    layers = dict(
        parameterisation="standard", mlp="two", activation="gelu", norm="layer", residual=True
    )
    return dict(width=width, depth=depth, heads=heads, **layers, **more)


def on_graphs(task: Task, lengths: tuple[int, ...], later: int) -> dict[str, Adaptation]:
    """Return the plans of a graph task, by size; those at size "cpu" differ between tasks."""
    return {
        "cpu": Adaptation(
            task, network(64, 3, mlp_width=128), 8, lengths, batch=128, seeds=5, steps=4_000,
            later=later, threshold=0.6, metric="exact", every_later=10, judged=512,
        ),
        "paper": Adaptation(
            task, network(128, 4), 16, (20, 24, 32, 48, 64), batch=1024, seeds=5, steps=100_000,
            later=50_000, threshold=0.95, every_later=5,
        ),
    }  # fmt: skip


PLANS: dict[str, dict[str, Adaptation]] = {
    "induction": {
        "cpu": Adaptation(
            InductionHead(vocabulary=32), network(64, 2, mlp_width=128, causal=True), 16,
            (20, 24, 32, 48, 64), batch=64, seeds=4, steps=3_000, later=400, threshold=0.95,
            every_later=5,
        ),
        "paper": Adaptation(
            InductionHead(vocabulary=1024), network(256, 2, causal=True), 32,
            (48, 64, 96, 128, 192, 256, 384),
            batch=512, seeds=5, steps=50_000, later=20_000, threshold=0.95, every_later=1,
        ),
    },
    "sorting": {
        "cpu": Adaptation(
            Sorting(vocabulary=64), network(64, 2, mlp_width=128), 8, (12, 16, 24, 32),
            batch=128, seeds=6, steps=3_000, later=600, threshold=0.95, every_later=4,
        ),
        "paper": Adaptation(
            Sorting(vocabulary=1000), network(128, 4), 16, (24, 32, 48, 64, 96, 128),
            batch=512, seeds=5, steps=50_000, later=20_000, threshold=0.95, every_later=1,
        ),
    },
    "spp": on_graphs(ShortestPath(ties="all"), (12, 14, 16), 3_000),
    "mincut": on_graphs(MinCut(), (9, 10, 11, 12), 2_500),
}  # fmt: skip
"""The plans of each experiment, small and as printed."""


@reproduces("capture", "induction", ref="Fig. 1")
def induction(setting: Setting) -> Finding:
    """Samples to transfer an induction head to longer inputs; the paper says logarithmic."""
    plan = PLANS["induction"][setting.size]
    return carry_over(plan, setting, "Induction head", "the cost grows like log(T / T0)")


@reproduces("capture", "sorting", ref="Fig. 1")
def sorting(setting: Setting) -> Finding:
    """Samples to transfer sorting to longer lists; the paper says logarithmic."""
    plan = PLANS["sorting"][setting.size]
    return carry_over(plan, setting, "Sorting", "the cost grows like log(T / T0)")


@reproduces("capture", "spp", ref="Fig. 1")
def shortest_path(setting: Setting) -> Finding:
    """Samples to transfer shortest paths to larger graphs; the paper says faster than linear."""
    plan = PLANS["spp"][setting.size]
    return carry_over(plan, setting, "Shortest path", "the cost grows faster than linearly")


@reproduces("capture", "mincut", ref="Fig. 1")
def minimum_cut(setting: Setting) -> Finding:
    """Samples to transfer minimum cuts to larger graphs; the paper says faster than linear."""
    plan = PLANS["mincut"][setting.size]
    return carry_over(plan, setting, "Minimum cut", "the cost grows faster than linearly")


def carry_over(study: Adaptation, setting: Setting, what: str, printed: str) -> Finding:
    """Run a plan and report its result beside the paper's."""
    found = adapt(study, setting)
    grown = growth(study.lengths, study.first, found["samples"], study.later * study.batch)
    missing = int(np.isnan(found["samples"]).sum())
    first = _over_known(np.nanmean, found["first"], float("nan"))
    exponent = lambda of: format(Mean(of["mean"], *of["interval"]), ".2f")
    summary = (
        f"{what}: trained at length {study.first} to {study.metric} {study.threshold:g} with "
        f"{first:.0f} samples (mean of {study.seeds} seeds), then adapted. The samples of that "
        f"grow with exponent {exponent(grown['log'])} in log(T / T0): a logarithm has 1, growth "
        f"in proportion to T - T0 has {grown['linear']:.2f} on these lengths. In T / T0 the "
        f"exponent is {exponent(grown['power'])}. The paper: {printed}."
        + (
            f" {missing} of {found['samples'].size} adaptations did not end and count with their "
            "budget, so the exponents are lower bounds."
            if missing
            else ""
        )
    )
    numbers = {
        **{name: plain(found[name]) for name in ("first", "before", "samples")},
        "lengths": list(study.lengths),
        "first_length": study.first,
        "growth": plain(grown),
    }
    rows = [
        {
            "length": length,
            "T / T0": length / study.first,
            f"{study.metric} before": float(np.nanmean(before)),
            "samples": _over_known(np.nanmean, samples),
            "least": _over_known(np.nanmin, samples),
            "most": _over_known(np.nanmax, samples),
            "seeds": share(np.isfinite(samples)),
        }
        for length, before, samples in zip(
            study.lengths, found["before"], found["samples"], strict=True
        )
    ]
    return Finding(summary, rows, numbers, _plot(study, found["samples"], what))


def _over_known(statistic: Any, values: np.ndarray, otherwise: Any = "-") -> Any:
    return float(statistic(values)) if np.isfinite(values).any() else otherwise


def _plot(study: Adaptation, samples: np.ndarray, what: str) -> Plot:
    """Return the samples against T / T0, with a fitted logarithm and a fitted line.

    Points are seeds; a mean is drawn where all seeds finished.
    """
    ratio = np.asarray(study.lengths) / study.first
    mean = samples.mean(1)
    known = np.isfinite(mean) & (mean > 0)
    seeds = [Line(ratio, one, style=dict(linestyle="", color="0.6")) for one in samples.T]
    lines = [*seeds, Line(ratio, mean, "mean over seeds", dict(color="C0"))]
    if known.any():
        for label, shape, style in (
            ("log(T / T0)", np.log(ratio), "--"),
            ("T - T0", ratio - 1, ":"),
        ):
            scale = np.exp(np.log(mean[known] / shape[known]).mean())
            drawn = dict(linestyle=style, color="0.3", marker="")
            lines.append(Line(ratio, scale * shape, f"in proportion to {label}", drawn))
    axes = dict(xscale="log", xlabel="T / T0", ylabel="samples to adapt", ylim=(0, None))
    return Plot([Panel(lines, axes | dict(title=what), ticks=ratio)])
