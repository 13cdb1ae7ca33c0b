"""Figure 1, G.2 and G.6 of the limit paper: who generalises to longer inputs, and by which heads.

The settings of `--size paper` are Tables 4 to 7. Beside each accuracy stand the prediction, whether
a C-RASP program is known (Tables 2 and 3), and what the authors published with their code, the
repository lacoco-lab/length_generalization.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.experiments._experiment import Finding, Setting, experiment
from theorykit.experiments.limit._lengths import POSITIONS, Plan, accuracy, data, train
from theorykit.experiments.limit._positions import (
    FUNCTIONS,
    JUDGED,
    fit_function,
    head_products,
    of_zero,
    offset_variance,
)
from theorykit.networks.tasks import ALGORITHMIC, LANGUAGES

COLUMNS = ("acc_1_50", "acc_51_100", "acc_101_150")

ALGORITHMIC_PLANS: dict[tuple[str, str], tuple[int, int, int, float]] = {
    ("bin_majority", "APE"): (1, 1, 16, 1e-3),
    ("bin_majority_interleave", "APE"): (2, 4, 256, 1e-4),
    ("majority", "APE"): (1, 2, 256, 1e-3),
    ("sort", "APE"): (1, 2, 256, 1e-4),
    ("unique_copy", "APE"): (2, 1, 64, 1e-3),
    ("repeat_copy", "APE"): (4, 4, 256, 1e-3),
    ("parity", "APE"): (4, 2, 256, 1e-4),
    ("addition", "APE"): (12, 12, 768, 1e-4),
    ("bin_majority", "NoPE"): (1, 1, 16, 1e-3),
    ("bin_majority_interleave", "NoPE"): (12, 12, 768, 1e-4),
    ("majority", "NoPE"): (1, 1, 64, 1e-3),
    ("sort", "NoPE"): (1, 1, 256, 1e-3),
    ("unique_copy", "NoPE"): (4, 4, 256, 1e-3),
    ("repeat_copy", "NoPE"): (4, 4, 256, 1e-3),
    ("parity", "NoPE"): (12, 12, 768, 3e-5),
    ("addition", "NoPE"): (12, 12, 768, 1e-4),
}
"""Tables 6 and 7: layers, heads, width and rate."""

_GROUPS = {
    "APE": {
        "tomita1 tomita2": (1, 1, 16, 1e-3, 30_000),
        "d2 d3 d4 d12": (1, 4, 128, 1e-4, 30_000),
        "tomita4 tomita7": (4, 2, 128, 1e-3, 30_000),
        "ab_d_bc abcde": (4, 4, 64, 1e-4, 30_000),
        "aa_star aaaa_star abab_star parity": (4, 4, 128, 1e-4, 40_000),
        "012_02 tomita3 tomita5 tomita6": (6, 4, 128, 1e-3, 30_000),
    },
    "NoPE": {
        "tomita1 tomita2": (1, 1, 16, 1e-3, 30_000),
        "d2 d3 d4 d12": (1, 4, 128, 1e-4, 30_000),
        "tomita4 tomita7": (4, 2, 64, 1e-3, 30_000),
        "ab_d_bc abcde": (6, 4, 64, 1e-4, 30_000),
        "aa_star aaaa_star abab_star": (6, 4, 256, 1e-4, 60_000),
        "tomita3 tomita5 tomita6": (6, 4, 256, 1e-4, 60_000),
        "012_02 parity": (6, 4, 256, 1e-4, 60_000),
    },
}

LANGUAGE_PLANS = {
    (name, positions): row
    for positions, groups in _GROUPS.items()
    for names, row in groups.items()
    for name in names.split()
}
"""Tables 4 and 5: layers, heads, width, rate and steps."""


def algorithmic_plan(name: str, positions: str, size: str = "paper") -> Plan:
    """Return the plan of an algorithmic task, of Tables 6 and 7 or small."""
    if size == "cpu":
        return SMALL_ALGORITHMIC[name, positions]
    layers, heads, width, rate = ALGORITHMIC_PLANS[name, positions]
    plan = Plan(ALGORITHMIC[name], positions, layers, heads, width, rate)
    return plan if layers < 12 else dataclasses.replace(plan, steps=60_000, warmup=3_000)


def language_plan(name: str, positions: str, size: str = "paper") -> Plan:
    """Return the plan of a regular language, of Tables 4 and 5 or small."""
    if size == "cpu":
        return SMALL_LANGUAGES[name, positions]
    layers, heads, width, rate, steps = LANGUAGE_PLANS[name, positions]
    return Plan(LANGUAGES[name], positions, layers, heads, width, rate, steps)


def small(task: Any, positions: str, *network: int, **more: Any) -> Plan:
    """Return a plan for minutes on two cores.

    It is looked at once, after 3,000 steps, as often as the authors do: who stops as soon as the
    first bin is right generalises less.
    """
    options = dict(rate=1e-3, steps=3_000, batch=32, seeds=2, judged=500, every=3_000) | more
    return Plan(task, positions, *network, **options)


SMALL_ALGORITHMIC = {
    **{
        ("bin_majority", p): small(ALGORITHMIC["bin_majority"], p, 1, 1, 16, batch=64)
        for p in POSITIONS
    },
    **{("parity", p): small(ALGORITHMIC["parity"], p, 2, 2, 32, trained=8) for p in POSITIONS},
}
SMALL_LANGUAGES = {
    (name, p): small(LANGUAGES[name], p, layers, 2, 32, trained=16)
    for name, layers in {"d2": 1, "tomita4": 2, "012_02": 2}.items()
    for p in POSITIONS
}


# Figure 1 --------------------------------------------------------------------------------------


def trained(plan: Plan, setting: Setting, name: str) -> dict[str, np.ndarray]:
    """Train and judge: `accuracy` (bins, seeds), and `fitted`, which seeds had the first right."""
    setting.say(f"{name}, {plan.positions}")
    fit = train(plan, setting, name)
    return {"accuracy": accuracy(plan, fit, setting.seed), "fitted": fit.stopped_at >= 0}


def averaged(found: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the mean accuracy in each bin of the fitted seeds, or of all if none is."""
    fitted = found["fitted"]
    return found["accuracy"][:, fitted if fitted.any() else slice(None)].mean(1)


def figure(
    setting: Setting, which: str, printed: str, plan: Callable[[str, str, str], Plan]
) -> Finding:
    """Train every task of a half of Figure 1 and write it beside prediction and figures."""
    predicted = {row["task"]: row for row in data(printed)}
    published = {(row["task"], row["positions"]): row for row in data(f"fig1_{which}")}
    rows, measured = [], {}
    for name, positions in sorted(published):
        try:
            one = plan(name, positions, setting.size)
        except KeyError:  # not among the small ones
            continue
        found = trained(one, setting, name)
        mean = averaged(found)
        measured[name, positions] = mean
        known = predicted[name]["positions" if positions == "APE" else "no_positions"]
        row: dict[str, Any] = {
            "task": predicted[name]["printed"],
            "positions": positions,
            "C-RASP": known,
            "trained to": one.trained,
            "fitted": f"{int(found['fitted'].sum())}/{one.seeds}",
        }
        row |= {f"bin {k}": round(float(v), 3) for k, v in enumerate(mean, 1)}
        theirs = [float(published[name, positions][c]) for c in COLUMNS]
        rows.append({**row, "published": " ".join(f"{v:.2f}" for v in theirs)})
    return _figure_finding(rows, measured, predicted, published)


def _figure_finding(rows: list, measured: dict, predicted: dict, published: dict) -> Finding:
    column = {"APE": "positions", "NoPE": "no_positions"}
    yes = {k: predicted[k[0]][column[k[1]]] == "yes" for k in measured}
    last = lambda wanted: [float(v[-1]) for k, v in measured.items() if yes[k] == wanted]
    mean = lambda values: float(np.mean(values)) if values else float("nan")
    gap = np.mean([abs(v[-1] - float(published[k][COLUMNS[-1]])) for k, v in measured.items()])
    summary = (
        f"Bin 1 has the trained lengths, bin 3 up to three times these. There the mean accuracy is "
        f"{mean(last(True)):.2f} over the {len(last(True))} rows with a C-RASP program and "
        f"{mean(last(False)):.2f} over the {len(last(False))} without. Figures of the authors "
        f"differ by {gap:.2f} there, in the mean."
    )
    numbers = {
        "accuracy": {" ".join(k): v.tolist() for k, v in measured.items()},
        "with a program": last(True),
        "without": last(False),
    }
    return Finding(summary, rows, numbers, functools.partial(draw, measured, yes, published))


def draw(measured: dict, yes: dict, published: dict, file: Path) -> None:
    """Draw accuracy against the bin, a panel a task, with the published figures in grey."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in measured))
    across = min(len(names), 6)
    down = -(-len(names) // across)
    drawn = Figure(figsize=(2 * across, 1.8 * down), layout="constrained")
    panels = drawn.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        panel.set_title(name, fontsize="small")
        for positions, line in (("APE", "-"), ("NoPE", ":")):
            if (key := (name, positions)) not in measured:
                continue
            theirs = [float(published[key][c]) for c in COLUMNS]
            panel.plot((1, 2, 3), theirs, line, color="0.7", marker=".")
            colour = "seagreen" if yes[key] else "crimson"
            panel.plot((1, 2, 3), measured[key], line, color=colour, marker="o", label=positions)
        panel.set(xticks=(1, 2, 3), ylim=(-0.05, 1.05))
    panels[0].legend(frameon=False, fontsize="small")
    drawn.supxlabel("bin of lengths; green: C-RASP program, red: none, grey: published")
    drawn.savefig(file, dpi=150)


@experiment("limit", "fig1-algorithmic", ref="Fig. 1 (left), App. E.2")
def fig1_algorithmic(setting: Setting) -> Finding:
    """Accuracy at longer lengths on algorithmic tasks: follows C-RASP programs, says the paper."""
    return figure(setting, "algorithmic", "table3", algorithmic_plan)


@experiment("limit", "fig1-languages", ref="Fig. 1 (right), App. E.1")
def fig1_languages(setting: Setting) -> Finding:
    """Accuracy at longer lengths on regular languages: follows C-RASP programs, says the paper."""
    return figure(setting, "languages", "table2", language_plan)


# G.2 and G.6 -----------------------------------------------------------------------------------

SMALL_FUNCTIONS, SMALL_STEPS = ("j = i - 1", "i - j = 0 mod 3", "i - j prime"), 1_500


@experiment("limit", "positional-fit", ref="App. G.2, Figs. 5 and 6")
def positional_fit(setting: Setting) -> Finding:
    """Products of positions extrapolate local functions at width 256, periodic ones at width 32."""
    paper = setting.size == "paper"
    steps, seeds = (15_000, 3) if paper else (SMALL_STEPS, 2)
    errors = {}
    for name in FUNCTIONS if paper else SMALL_FUNCTIONS:
        for width in (32, 256):
            setting.say(f"{name}, width {width}")
            errors[name, width] = fit_function(name, width, setting, steps=steps, seeds=seeds)
    rows = [
        {"function": name, "kind": FUNCTIONS[name][0], "width": width}
        | {f"MSE at {n}": float(f"{e:.3g}") for n, e in zip(JUDGED, error.mean(1), strict=True)}
        | {"of predicting 0": float(f"{error[-1].mean() / of_zero(name, JUDGED[-1]):.2g}")}
        for (name, width), error in errors.items()
    ]
    names = list(dict.fromkeys(name for name, _ in errors))
    said = "; ".join(
        f"{name} ({FUNCTIONS[name][0]}) {errors[name, 32][-1].mean():.2g} at width 32, "
        f"{errors[name, 256][-1].mean():.2g} at 256, {of_zero(name, JUDGED[-1]):.2g} if 0 is said"
        for name in names
    )
    summary = f"Mean square error at length 150 after training at 50: {said}."
    numbers = {f"{name} {width}": e.tolist() for (name, width), e in errors.items()}
    return Finding(summary, rows, numbers, functools.partial(_draw_errors, errors))


def _draw_errors(errors: dict, file: Path) -> None:
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _ in errors))
    drawn = Figure(figsize=(2.2 * len(names), 2.4), layout="constrained")
    panels = drawn.subplots(1, len(names), sharey=True)
    for panel, name in zip(panels, names, strict=True):
        for width in (32, 256):
            panel.plot(JUDGED, errors[name, width].mean(1), "o-", label=f"width {width}")
        panel.set(yscale="log", xticks=JUDGED, title=name)
        panel.title.set_fontsize("small")
    panels[0].legend(frameon=False, fontsize="small")
    drawn.supxlabel("length")
    drawn.savefig(file, dpi=150)


def variances(plan: Plan, setting: Setting, name: str) -> dict[str, np.ndarray]:
    """Train and return the offset variance of each head, (seeds, layers, heads).

    **Returns:** `offset`; `whole`, the variance of all products of a head on and below the
    diagonal; `fitted`, which seeds had the first bin right.
    """
    import jax
    from flax import nnx

    setting.say(f"{name}, {plan.positions}")
    fit = train(plan, setting, name)
    key = jax.random.key(setting.seed)
    of = jax.jit(lambda p: head_products(nnx.merge(fit.graph, p), plan, key))
    products = np.asarray(jax.lax.map(of, fit.state.parameters()))
    over = lambda f: np.apply_along_axis(
        lambda M: f(M.reshape(plan.places, plan.places)),
        -1,
        products.reshape(*products.shape[:3], -1),
    )
    causal = np.tri(plan.places, dtype=bool)
    return {
        "offset": over(offset_variance),
        "whole": over(lambda M: M[causal].var()),
        "fitted": fit.stopped_at >= 0,
    }


@experiment("limit", "offset-variance", ref="App. G.6.2, eq. (81), Fig. 7")
def offset_variances(setting: Setting) -> Finding:
    """How far products of positions in trained heads are from depending on the distance only."""
    names = ["bin_majority", "bin_majority_interleave", "majority", "sort", "unique_copy"]
    rows, numbers = [], {}
    for name in names if setting.size == "paper" else names[:1]:
        plan = algorithmic_plan(name, "APE", setting.size)
        found = variances(plan, setting, name)
        numbers[name] = found["offset"].tolist()
        for layer, head in np.ndindex(found["offset"].shape[1:]):
            row = {"task": name, "layer": layer, "head": head}
            for what in ("offset", "whole"):
                row[f"{what} variance"] = round(float(found[what][:, layer, head].mean()), 4)
            rows.append(row | {"fitted": f"{int(found['fitted'].sum())}/{plan.seeds}"})
    values = np.concatenate([np.ravel(v) for v in numbers.values()])
    summary = (
        f"Of {len(values)} heads {(values < 0.5).sum()} have an offset variance below 0.5; the "
        f"largest has {values.max():.2f}. The paper: most are close to 0, one of five networks' "
        "has 8.4."
    )
    return Finding(summary, rows, numbers, functools.partial(_draw_variances, values))


def _draw_variances(values: np.ndarray, file: Path) -> None:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(4, 2.8), layout="constrained")
    axes = drawn.subplots()
    axes.hist(values, bins=20)
    axes.set(xlabel="offset variance, eq. (81)", ylabel="heads")
    drawn.savefig(file, dpi=150)
