"""Figure 2 of the sharper paper: norm and trace of learned networks and of the construction."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import numpy as np

from theorykit.experiments import Finding, Setting, reproduces
from theorykit.experiments._plots import figure
from theorykit.experiments.sharper._parities import PLANS, Learned, construction, learn
from theorykit.subjects import pacbayes, sharpness


def dominated(found: Learned, seed: int = 0, draws: int = 32) -> list[dict[str, Any]]:
    """Return the norm and trace of each interpolating network and of its construction.

    The trace of a learned network is over its training set, by random signs.
    """
    rows = []
    for i, label in enumerate(found.labels):
        if found.fit.stopped_at[i] < 0:
            continue
        network = found.fit.network(i)
        trace = sharpness.hutchinson(
            network, found.x[i], found.y[i], key=jax.random.key(seed), draws=draws
        )
        norm, sharp = construction(found.functions[i], found.x[i])
        rows.append({
            "degree": label[0], "sparsity": label[1],
            "norm^2": round(pacbayes.distance(network), 1), "norm^2 built": round(norm, 1),
            "trace": round(float(trace.value), 1), "+-": round(float(trace.stderr), 1),
            "trace built": round(sharp, 1),
        })  # fmt: skip
    return rows


@reproduces("sharper", "domination", ref="Sec. 2.2, Fig. 2")
def domination(setting: Setting) -> Finding:
    """Norm and sharpness of learned networks and the construction; the paper: both are lower."""
    study = PLANS[setting.size]
    if setting.size == "cpu":
        study = dataclasses.replace(study, functions=2)
    rows = dominated(learn(study, setting), setting.seed)
    if not rows:
        return Finding("No network interpolates, so nothing is compared.", [], {})
    orders = {
        what: np.log10([row[f"{what} built"] / row[what] for row in rows])
        for what in ("norm^2", "trace")
    }
    both = int(((orders["norm^2"] > 0) & (orders["trace"] > 0)).sum())
    summary = (
        f"{both} of {len(rows)} learned networks have a lower norm and a lower trace than the "
        f"construction. The construction's |theta|^2 is 10^{orders['norm^2'].mean():.2f} and its "
        f"trace 10^{orders['trace'].mean():.2f} times theirs (means of the logarithms). The paper: "
        "both are lower, by about two orders of magnitude."
    )
    numbers = {what: values.tolist() for what, values in orders.items()}
    return Finding(summary, rows, numbers, functools.partial(_draw, rows))


def _draw(rows: list[dict[str, Any]], file: Path) -> None:
    with figure(file, 7, 3.2) as drawn:
        for axes, what in zip(drawn.subplots(1, 2), ("norm^2", "trace"), strict=True):
            built, learned = ([row[name] for row in rows] for name in (f"{what} built", what))
            axes.loglog(built, learned, "o", alpha=0.6)
            ends = min(built + learned), max(built + learned)
            axes.loglog(ends, ends, ":", color="0.4")
            axes.set(xlabel=f"{what}, construction", ylabel=f"{what}, learned")
