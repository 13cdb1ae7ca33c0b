"""Figure 1 of the limit paper: which tasks generalise to longer inputs.

The settings of `--size paper` are Tables 4 to 7. Next to each accuracy are the prediction, i.e.
whether a C-RASP program is known (Tables 2 and 3), and the figures that the authors published with
their code, the repository lacoco-lab/length_generalization.
"""

import contextlib
import csv
import importlib.resources
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from theorykit.experiments import Finding, Line, Panel, Plot, Setting, reproduces
from theorykit.experiments._tables import share
from theorykit.experiments.limit._extrapolate import POSITIONS, Extrapolation, trained
from theorykit.experiments.limit._plans import algorithmic_plan, language_plan
from theorykit.subjects import crasp

COLUMNS = ("acc_1_50", "acc_51_100", "acc_101_150")
"""The bins of the published figures."""

BINS = (1, 2, 3)

Accuracies = dict[tuple[str, str], Float[np.ndarray, " bins"]]
"""Mean accuracies in each bin, by task and positions."""


@reproduces("limit", "fig1-algorithmic", ref="Fig. 1 (left), App. E.2")
def fig1_algorithmic(setting: Setting) -> Finding:
    """Accuracy at longer lengths on algorithmic tasks; the paper: it follows C-RASP programs."""
    return figure(setting, "algorithmic", crasp.table(3), algorithmic_plan)


@reproduces("limit", "fig1-languages", ref="Fig. 1 (right), App. E.1")
def fig1_languages(setting: Setting) -> Finding:
    """Accuracy at longer lengths on regular languages; the paper: it follows C-RASP programs."""
    return figure(setting, "languages", crasp.table(2), language_plan)


def figure(
    setting: Setting,
    which: str,
    table: list[dict[str, str]],
    plan: Callable[[str, str, str], Extrapolation],
) -> Finding:
    """Train every task of one half of Figure 1; compare with prediction and published figures."""
    predicted = {row["task"]: row for row in table}
    theirs = published(which)
    program = lambda name, positions: predicted[name][
        "positions" if positions == "APE" else "no_positions"
    ]
    studies = {}
    for name, positions in sorted(theirs):
        with contextlib.suppress(KeyError):  # not among the small plans
            studies[name, positions] = plan(name, positions, setting.size)
    points = [(study, setting, name) for (name, _), study in studies.items()]
    rows, measured = [], {}
    for (name, positions), found in zip(studies, setting.each(trained, points), strict=True):
        study = studies[name, positions]
        mean = measured[name, positions] = averaged(found)
        rows.append(
            {
                "task": predicted[name]["printed"],
                "positions": positions,
                "C-RASP": program(name, positions),
                "trained to": study.trained,
                "fitted": share(found["fitted"]),
            }
            | {f"bin {k}": round(float(v), 3) for k, v in zip(BINS, mean, strict=True)}
            | {"published": " ".join(f"{v:.2f}" for v in theirs[name, positions])}
        )
    yes = {key: program(*key) == "yes" for key in measured}
    return _written(rows, measured, yes, theirs)


def published(which: str) -> Accuracies:
    """Return the authors' published accuracies for one half of the figure."""
    file = importlib.resources.files("theorykit.experiments.limit") / "data" / f"fig1_{which}.csv"
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {
        (row["task"], row["positions"]): np.array([float(row[column]) for column in COLUMNS])
        for row in rows
    }


def averaged(found: Mapping[str, np.ndarray]) -> Float[np.ndarray, " bins"]:
    """Return the mean accuracy in each bin over the fitted seeds, or over all if none is fitted."""
    fitted = found["fitted"]
    return found["accuracy"][:, fitted if fitted.any() else slice(None)].mean(1)


def _written(rows: list, measured: Accuracies, yes: Mapping[Any, bool], theirs: Accuracies):
    last = lambda wanted: [float(v[-1]) for k, v in measured.items() if yes[k] == wanted]
    mean = lambda values: float(np.mean(values)) if values else float("nan")
    gap = np.mean([abs(v[-1] - theirs[k][-1]) for k, v in measured.items()])
    summary = (
        f"Bin 1 has the trained lengths, bin 3 up to three times these. In bin 3 the mean is "
        f"{mean(last(True)):.2f} for the {len(last(True))} rows with a C-RASP program and "
        f"{mean(last(False)):.2f} for the {len(last(False))} without. The authors' figures "
        f"differ by {gap:.2f} there, in the mean."
    )
    numbers = {
        "accuracy": {" ".join(k): v.tolist() for k, v in measured.items()},
        "with a program": last(True),
        "without": last(False),
    }
    return Finding(summary, rows, numbers, _plot(measured, yes, theirs))


def _plot(measured: Accuracies, yes: Mapping[Any, bool], theirs: Accuracies) -> Plot:
    """Return accuracy against the bin, one panel per task, with published figures in grey."""

    def panel(name: str, first: bool) -> Panel:
        lines = []
        for positions, line in zip(POSITIONS, ("-", ":"), strict=True):
            if (key := (name, positions)) in measured:
                colour = "seagreen" if yes[key] else "crimson"
                grey = dict(linestyle=line, color="0.7", marker=".")
                lines.append(Line(BINS, theirs[key], style=grey))
                own = dict(linestyle=line, color=colour)
                lines.append(Line(BINS, measured[key], positions, own))
        return Panel(
            lines, dict(title=name, ylim=(-0.05, 1.05)), ticks=BINS, legend={} if first else None
        )

    names = list(dict.fromkeys(name for name, _ in measured))
    below = "bin of lengths; green: C-RASP program, red: none, grey: published"
    panels = [panel(name, name == names[0]) for name in names]
    return Plot(panels, size=(2, 1.8), below=below)
