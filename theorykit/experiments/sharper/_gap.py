"""Figure 1 of the sharper paper: the generalisation gap over degree and sparsity.

`_parities` draws functions and trains networks; the gap is the loss on all inputs minus that on the
training set.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from theorykit.experiments import Finding, Line, Panel, Plot, Setting, reproduces
from theorykit.experiments._tables import share
from theorykit.experiments.sharper._parities import PLANS, Class, Interpolation, by_class, learn
from theorykit.subjects import boolean, pacbayes

SAID = 0.1
"""The sub-Gaussian constant of appendix A, the upper end of the paper's measurements."""


def analytic(f: boolean.Parities, samples: int) -> Any:
    """Return the bound of Theorem 2 from f's construction, in closed form, unperturbed."""
    return pacbayes.semi_analytic(boolean.squared_norm(f), boolean.trace_bound(f), samples, SAID)


@reproduces("sharper", "gap", ref="Sec. 2.1, Fig. 1")
def gap(setting: Setting) -> Finding:
    """Generalisation gap over degree and sparsity; the paper says both increase it."""
    study = PLANS[setting.size]
    found = learn(study, setting)
    rows, numbers, means = [], {}, {}
    gaps = by_class(found, found.test - found.train)
    trained = by_class(found, found.train)
    for (d, s), values in gaps.items():
        own = [f for f, label in zip(found.functions, found.labels, strict=True) if label == (d, s)]
        bound = min((analytic(f, study.samples) for f in own), key=lambda b: b.value)
        stderr = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        means[d, s] = float(values.mean())
        rows.append({
            "degree": d, "sparsity": s, "gap": round(means[d, s], 4), "+-": round(stderr, 4),
            "training loss": round(float(trained[d, s].mean()), 4),
            "interpolate": share(trained[d, s] <= study.threshold),
            "bound": round(bound.value, 2),
        })  # fmt: skip
        numbers[f"{d}, {s}"] = values.tolist()
    return Finding(said(study, means, rows), rows, numbers, _plot(study, means))


def said(
    study: Interpolation, means: Mapping[Class, float], rows: Sequence[Mapping[str, Any]]
) -> str:
    """Return the summary: the growth of the gap, and whether the bound is above it."""
    in_degree, in_sparsity = slopes(study, means)
    above = all(row["bound"] >= row["gap"] for row in rows)
    return (
        f"The gap grows with the degree for {in_degree} and with the sparsity for {in_sparsity} of "
        f"neighbouring classes, from {min(means.values()):.3g} to {max(means.values()):.3g}, at "
        f"{study.samples} samples of T = {study.T}. The paper: it grows with both. The truncated "
        f"bound of Theorem 2, with norm and trace bound of the construction and C = {SAID}, is "
        + ("never below it." if above else "below it for some class.")
    )


def slopes(study: Interpolation, means: Mapping[Class, float]) -> tuple[str, str]:
    """Return how often the gap grows with the next degree, and with the next sparsity."""
    up = lambda pairs: f"{sum(means[a] < means[b] for a, b in pairs)} of {len(pairs)}"
    steps = lambda values: list(itertools.pairwise(values))
    degrees = [((a, s), (b, s)) for s in study.sparsities for a, b in steps(study.degrees)]
    sparsities = [((d, a), (d, b)) for d in study.degrees for a, b in steps(study.sparsities)]
    return up(degrees), up(sparsities)


def _plot(study: Interpolation, means: Mapping[Class, float]) -> Plot:
    lines = [
        Line(study.degrees, [means[d, s] for d in study.degrees], f"sparsity {s}")
        for s in study.sparsities
    ]
    axes = dict(xlabel="degree", ylabel="generalisation gap")
    return Plot([Panel(lines, axes, ticks=study.degrees)], size=(4.5, 3.2))
