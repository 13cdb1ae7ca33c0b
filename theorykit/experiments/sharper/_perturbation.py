"""Section 2.3 of the sharper paper: traces of perturbed constructions against sigma."""

import dataclasses
import itertools
from typing import Any

import jax
import numpy as np

from theorykit.experiments import Finding, Line, Panel, Plot, Setting, reproduces
from theorykit.subjects import boolean, sharpness


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Constructions and the sigmas with which they are perturbed.

    **Fields:** `inputs`: the most of the 2^T to use; `draws`: the number of noise draws per
    function and sigma.
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


def perturbed(mesh: Mesh, number: int, T: int, d: int, s: int, seed: int) -> Any:
    """Return the traces of the constructions of one class, by `sharpness.perturbed`."""
    seeds = range(seed, seed + mesh.functions)
    networks = [boolean.transformer(boolean.random(T, d, s, one)) for one in seeds]
    few = np.random.default_rng(seed).integers(0, 2, (mesh.inputs, T))
    inputs = few if mesh.inputs < 2**T else boolean.bits(T)
    return sharpness.perturbed(
        networks, inputs.astype(np.float32), sigmas=mesh.sigmas,
        key=jax.random.fold_in(jax.random.key(seed), number), draws=mesh.draws,
    )  # fmt: skip


@reproduces("sharper", "perturbation", ref="Sec. 2.3, App. M")
def perturbation(setting: Setting) -> Finding:
    """The trace of perturbed constructions against sigma, the empirical term of the bound."""
    mesh, rows = MESHES[setting.size], []

    def one(number: int, T: int, d: int, s: int) -> Any:
        setting.say(f"T = {T}, degree {d}, sparsity {s}")
        return setting.call(perturbed, mesh, number, T, d, s, setting.seed)

    classes = list(itertools.product(mesh.tokens, mesh.degrees, mesh.sparsities))
    points = [(number, *of) for number, of in enumerate(classes)]
    for (T, d, s), found in zip(classes, setting.each(one, points), strict=True):
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
        "The largest excess of the perturbed trace, relative to the trace: "
        + ", ".join(f"{v:.2g} at sigma = {s:.2g}" for s, v in worst.items())
        + "; the perturbed loss is "
        + ", ".join(f"{v:.2f} +- {error[s]:.2f}" for s, v in ratio.items())
        + " times sigma^2 / 2 times the trace. The paper: the excess is small beside its bound."
    )
    numbers = {"worst": worst, "loss": ratio, "+-": error}
    return Finding(summary, rows, numbers, _plot(rows))


def _plot(rows: list[dict[str, Any]]) -> Plot:
    lines = []
    for label in dict.fromkeys((r["T"], r["degree"], r["sparsity"]) for r in rows):
        own = [r for r in rows if (r["T"], r["degree"], r["sparsity"]) == label]
        sigmas, worst = ([r[what] for r in own] for what in ("sigma", "worst excess / trace"))
        lines.append(Line(sigmas, worst, "T = {}, d = {}, s = {}".format(*label)))
    axes = dict(xscale="log", yscale="symlog", xlabel="sigma", ylabel="worst excess / trace")
    return Plot([Panel(lines, axes, legend=dict(fontsize=5, ncols=2))], size=(4.5, 3.2))
