"""Distances of samples to their limits, corrected for noise, with standard errors."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from theorykit.common.arguments import as_path
from theorykit.common.exponents import Exponent, of_squares


@dataclasses.dataclass(frozen=True)
class Curve:
    """A distance at each width, and its rate of decay.

    **Fields:** `widths`; `values`, relative to the size of the limit, 0 where noise is larger;
    `stderr`, over seeds; `resolved`, whether the square is two standard errors above 0; `exponent`,
    fitted to the squares at all widths, weighted by their errors.
    """

    widths: Int[np.ndarray, " widths"]
    values: Float[np.ndarray, " widths"]
    stderr: Float[np.ndarray, " widths"]
    resolved: Bool[np.ndarray, " widths"]
    exponent: Exponent


def squares(samples: Float[np.ndarray, "samples entries"]) -> dict[str, tuple[float, float]]:
    """Return squared lengths of samples and their standard errors, by the jackknife.

    `bias`, of their mean, corrected for noise by using products of different samples only;
    `spread`, the mean squared distance to the mean; `single`, the mean over samples.
    """

    def three(whole, own, n):
        """Return all three from |sum of samples|^2 and the sum of |sample|^2."""
        spread = (own - whole / n) / (n - 1)
        return np.array([(whole - own) / (n * (n - 1)), spread, own / n])

    n, total = len(samples), samples.sum(0)
    own, along = (samples**2).sum(1), samples @ total
    value = three(total @ total, own.sum(), n)
    without = three(total @ total - 2 * along + own, own.sum() - own, n - 1)
    away = without - without.mean(1, keepdims=True)
    error = np.sqrt((n - 1) / n * (away**2).sum(1))
    return dict(zip(("bias", "spread", "single"), zip(value, error, strict=True), strict=True))


def curves(
    widths: Sequence[int],
    samples: Sequence[Real[np.ndarray, "seeds ..."]],
    reference: Real[np.ndarray, "..."] | list[Real[np.ndarray, "seeds ..."]],
    *,
    noise: float = 0.0,
    scale: float = 0.0,
) -> dict[str, Curve]:
    """Return, over widths, the `bias` of the mean of samples, their `spread`, and both: `single`.

    **Arguments:**

    - `samples`: for each width, (seeds, ...).
    - `reference`: the limit of the samples, one for all, or a list of (seeds, ...).
    - `noise`: the squared standard errors of the reference, summed over its entries.
    - `scale`: the divisor of distances; 0 means the size of the reference.

    **Raises:** `ValueError` for fewer than three seeds, or samples that are not finite.
    """
    references = reference if isinstance(reference, list) else [reference] * len(samples)
    pairs = [
        (np.asarray(s, float), np.asarray(r, float))
        for s, r in zip(samples, references, strict=True)
    ]
    for width, (s, r) in zip(widths, pairs, strict=True):
        if len(s) < 3:
            raise ValueError(f"a gap and its error need at least 3 seeds, got {len(s)}")
        if not (np.isfinite(s).all() and np.isfinite(r).all()):
            raise ValueError(
                f"networks or kernel are not finite at width {width}; "
                "if they were trained, use a smaller learning_rate"
            )
    if not scale:
        axes = lambda s, r: r[None] if r.ndim < s.ndim else r
        scale = math.sqrt(np.mean([(axes(s, r) ** 2).sum() / len(axes(s, r)) for s, r in pairs]))
    differences = [(s - r).reshape(len(s), -1) / scale for s, r in pairs]
    measured = [squares(d) for d in differences]
    found = {}
    for name in measured[0]:
        square, error = np.array([m[name] for m in measured]).T
        if name != "spread" and noise:
            square = square - noise / scale**2
            # The errors of the reference may all point in the direction of the difference.
            theirs = 2 * np.sqrt(np.maximum(square, 0) * noise) / scale + noise / scale**2
            error = np.hypot(error, theirs)
        found[name] = curve(widths, square, error)
    return found


def curve(
    widths: Sequence[int],
    square: Float[np.ndarray, " widths"],
    errors: Float[np.ndarray, " widths"],
) -> Curve:
    """Return the curve of distances from estimates of their squares with these errors."""
    values = np.sqrt(np.maximum(square, 0))
    resolved = square > 2 * errors
    stderr = np.sqrt(np.maximum(square, 0) + errors) - values
    stderr = np.where(resolved, errors / (2 * np.where(resolved, values, 1)), stderr)
    return Curve(np.asarray(widths), values, stderr, resolved, of_squares(widths, square, errors))


def plot(file: str | Path, lines: Mapping[str, Curve], title: str) -> None:
    """Plot distances against widths, both on logarithmic scales, to a file.

    **Raises:** `ImportError` if matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    path = as_path("file", file)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for label, line in lines.items():
        shown = line.resolved
        value, low, high = line.exponent
        label = f"{label}: {value:.2f} [{low:.2f}, {high:.2f}]" if shown.sum() > 1 else label
        axes.errorbar(
            line.widths[shown], line.values[shown], line.stderr[shown], fmt="o-", label=label
        )
    axes.set(xscale="log", yscale="log", xlabel="width", ylabel="relative distance", title=title)
    axes.legend(fontsize="small")
    figure.savefig(path)
