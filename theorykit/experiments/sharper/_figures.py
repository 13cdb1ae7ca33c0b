"""The figures of the sharper paper: what learned networks are beside the construction.

How functions are drawn and networks trained is in `_parities`; the gap is the loss on all inputs
less that on the training set.
"""

import dataclasses
import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.experiments._experiment import Finding, Setting, experiment
from theorykit.experiments.sharper._parities import (
    PLANS,
    Learned,
    Plan,
    by_class,
    construction,
    learn,
)

SAID = 0.1
"""The sub-Gaussian constant of appendix A: the upper end of what the paper measured."""


# Figure 1 ----------------------------------------------------------------------------------------


def analytic(f: Any, samples: int) -> Any:
    """Return the bound of Theorem 2 from f's construction, in closed form, not perturbed."""
    from theorykit.subjects import boolean, pacbayes

    return pacbayes.semi_analytic(boolean.squared_norm(f), boolean.trace_bound(f), samples, SAID)


@experiment("sharper", "gap", ref="Sec. 2.1, Fig. 1")
def gap(setting: Setting) -> Finding:
    """Generalisation gap over degree and sparsity: both make it larger, says the paper."""
    plan = PLANS[setting.size]
    found = learn(plan, setting)
    rows, numbers, means = [], {}, {}
    gaps = by_class(found, found.test - found.train)
    trained = by_class(found, found.train)
    for (d, s), values in gaps.items():
        own = [f for f, label in zip(found.functions, found.labels, strict=True) if label == (d, s)]
        bound = min((analytic(f, plan.samples) for f in own), key=lambda b: b.value)
        stderr = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        means[d, s] = float(values.mean())
        rows.append({
            "degree": d, "sparsity": s, "gap": round(means[d, s], 4), "+-": round(stderr, 4),
            "training loss": round(float(trained[d, s].mean()), 4),
            "interpolate": f"{int((trained[d, s] <= plan.threshold).sum())}/{len(values)}",
            "bound": round(bound.value, 2),
        })  # fmt: skip
        numbers[f"{d}, {s}"] = values.tolist()
    in_degree, in_sparsity = slopes(plan, means)
    summary = (
        f"The gap grows with the degree for {in_degree} and with the sparsity for {in_sparsity} of "
        f"neighbouring classes, from {min(means.values()):.3g} to {max(means.values()):.3g}, at "
        f"{plan.samples} samples of T = {plan.T}. The paper: it grows with both. The truncated "
        f"bound of Theorem 2, with norm and trace bound of the construction and C = {SAID}, is "
        "never below it."
        if all(row["bound"] >= row["gap"] for row in rows)
        else "The bound of Theorem 2 is below the measured gap of some class."
    )
    return Finding(summary, rows, numbers, functools.partial(_draw_gap, plan, means))


def slopes(plan: Plan, means: dict[tuple[int, int], float]) -> tuple[str, str]:
    """Return how often the gap grows to the next degree, and to the next sparsity."""
    up = lambda pairs: f"{sum(means[a] < means[b] for a, b in pairs)} of {len(pairs)}"
    steps = lambda values: list(itertools.pairwise(values))
    degrees = [((a, s), (b, s)) for s in plan.sparsities for a, b in steps(plan.degrees)]
    sparsities = [((d, a), (d, b)) for d in plan.degrees for a, b in steps(plan.sparsities)]
    return up(degrees), up(sparsities)


def _draw_gap(plan: Plan, means: dict[tuple[int, int], float], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for s in plan.sparsities:
        axes.plot(plan.degrees, [means[d, s] for d in plan.degrees], "o-", label=f"sparsity {s}")
    axes.set(xlabel="degree", ylabel="generalisation gap", xticks=plan.degrees)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)


# Figure 2 ----------------------------------------------------------------------------------------


def dominated(found: Learned, seed: int = 0, draws: int = 32) -> list[dict[str, Any]]:
    """Return norm and trace of each network that interpolates, and of its construction.

    The trace of a network that was learned is over its training set, by random signs.
    """
    import jax

    from theorykit.subjects import pacbayes, sharpness

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


@experiment("sharper", "domination", ref="Sec. 2.2, Fig. 2")
def domination(setting: Setting) -> Finding:
    """Norm and sharpness of what is learned, against the construction's: both lower, it says."""
    plan = PLANS[setting.size]
    if setting.size == "cpu":
        plan = dataclasses.replace(plan, functions=2)
    rows = dominated(learn(plan, setting), setting.seed)
    if not rows:
        return Finding("No network interpolates, so that nothing is compared.", [], {})
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
    return Finding(summary, rows, numbers, functools.partial(_draw_domination, rows))


def _draw_domination(rows: list[dict[str, Any]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2), ("norm^2", "trace"), strict=True):
        axes.loglog([r[f"{what} built"] for r in rows], [r[what] for r in rows], "o", alpha=0.6)
        ends = [min(min(r[what], r[f"{what} built"]) for r in rows)] * 2
        ends[1] = max(max(r[what], r[f"{what} built"]) for r in rows)
        axes.loglog(ends, ends, ":", color="0.4")
        axes.set(xlabel=f"{what}, construction", ylabel=f"{what}, learned")
    figure.savefig(file, dpi=150)


# Section 2.3 -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Constructions and the sigmas that they are perturbed with.

    **Fields:** `inputs`: at most so many of the 2^T; `draws`: of the noise, a function and sigma.
    """

    tokens: tuple[int, ...] = (6, 8)
    degrees: tuple[int, ...] = (1, 2, 3)
    sparsities: tuple[int, ...] = (1, 4)
    sigmas: tuple[float, ...] = (1e-3, 3e-3, 1e-2, 3e-2)
    functions: int = 3
    draws: int = 4
    inputs: int = 64


MESHES = {
    "cpu": Mesh(),
    "paper": Mesh(
        tokens=(10, 15, 20), degrees=(1, 2, 3, 4, 5), sparsities=(1, 5, 10),
        sigmas=tuple(np.linspace(1e-5, 1e-2, 20).tolist()), functions=10, draws=8, inputs=8192,
    ),
}  # fmt: skip


@experiment("sharper", "perturbation", ref="Sec. 2.3, App. M")
def perturbation(setting: Setting) -> Finding:
    """The trace of perturbed constructions against sigma: the empirical term of the bound."""
    import jax

    from theorykit.subjects import boolean, sharpness

    mesh, rows = MESHES[setting.size], []
    classes = itertools.product(mesh.tokens, mesh.degrees, mesh.sparsities)
    for number, (T, d, s) in enumerate(classes):
        setting.say(f"T = {T}, degree {d}, sparsity {s}")
        seeds = range(setting.seed, setting.seed + mesh.functions)
        networks = [boolean.transformer(boolean.random(T, d, s, seed)) for seed in seeds]
        few = np.random.default_rng(setting.seed).integers(0, 2, (mesh.inputs, T))
        inputs = few if mesh.inputs < 2**T else boolean.bits(T)
        found = sharpness.perturbed(
            networks, inputs.astype(np.float32), sigmas=mesh.sigmas,
            key=jax.random.fold_in(jax.random.key(setting.seed), number), draws=mesh.draws,
        )  # fmt: skip
        base = found.unperturbed[:, None]
        loss = 2 * found.losses / (np.square(mesh.sigmas) * base)[..., None]
        for i, sigma in enumerate(mesh.sigmas):
            rows.append({
                "T": T, "degree": d, "sparsity": s, "sigma": sigma,
                "trace": round(float(base.mean()), 2),
                "worst excess / trace": round(float((found.excess() / base.mean())[i]), 4),
                "2 loss / sigma^2 / trace": round(float(loss[:, i].mean()), 3),
                "+-": round(float(loss[:, i].std(ddof=1) / np.sqrt(loss[:, i].size)), 3),
            })  # fmt: skip
    at = lambda what, sigma: [r[what] for r in rows if r["sigma"] == sigma]
    worst = {s: max(at("worst excess / trace", s)) for s in mesh.sigmas}
    ratio = {s: float(np.mean(at("2 loss / sigma^2 / trace", s))) for s in mesh.sigmas}
    error = {s: float(np.linalg.norm(at("+-", s)) / len(at("+-", s))) for s in mesh.sigmas}
    summary = (
        "The largest excess of the perturbed trace, a part of the trace: "
        + ", ".join(f"{v:.2g} at sigma = {s:.2g}" for s, v in worst.items())
        + "; the perturbed loss is "
        + ", ".join(f"{v:.2f} +- {error[s]:.2f}" for s, v in ratio.items())
        + " times sigma^2 / 2 times the trace. The paper: the excess is small beside its bound."
    )
    return Finding(
        summary, rows, {"worst": worst, "loss": ratio, "+-": error}, functools.partial(_draw, rows)
    )


def _draw(rows: list[dict[str, Any]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for label in dict.fromkeys((r["T"], r["degree"], r["sparsity"]) for r in rows):
        own = [r for r in rows if (r["T"], r["degree"], r["sparsity"]) == label]
        worst = [r["worst excess / trace"] for r in own]
        axes.plot(
            [r["sigma"] for r in own], worst, ".-", label="T = {}, d = {}, s = {}".format(*label)
        )
    axes.set(xscale="log", yscale="symlog", xlabel="sigma", ylabel="worst excess / trace")
    axes.legend(frameon=False, fontsize=5, ncols=2)
    figure.savefig(file, dpi=150)


# Figure 5 ----------------------------------------------------------------------------------------


@experiment("sharper", "mechanism", ref="Sec. 2.4, Fig. 5")
def mechanism(setting: Setting) -> Finding:
    """Whether attention rows of a small learned network line up with Fourier components."""
    from theorykit.experiments.sharper import _mechanism

    plan = _mechanism.PLANS[setting.size]
    found = _mechanism.examine(plan, setting)
    learned = [f for f in found if f.learned]
    rows = [
        {
            "network": i, "learned": f.learned, "set": list(S), "coefficient": round(float(c), 3),
            "cosine": round(float(own), 3), "other sets": round(float(f.others.mean()), 3),
            "rank": f"{1 + int((f.others > own).sum())}/{1 + len(f.others)}",
        }
        for i, f in enumerate(found)
        for S, c, own in zip(f.function.sets, f.function.coefficients, f.own, strict=True)
    ]  # fmt: skip
    if not learned:
        return Finding("No network learned its function, so that no row is read.", rows, {})
    own = np.concatenate([f.own for f in learned])
    others = np.concatenate([f.others for f in learned])
    summary = (
        f"In {len(learned)} of {len(found)} networks that learned, the attention row nearest to a "
        f"component has a cosine of {own.mean():.2f} with it (mean of {len(own)} components), and "
        f"of {others.mean():.2f} with another set of as many positions. The paper: in most cases "
        "rows show the components."
    )
    numbers = {"own": own.tolist(), "others": float(others.mean())}
    return Finding(summary, rows, numbers, functools.partial(_mechanism.draw, learned[0]))
