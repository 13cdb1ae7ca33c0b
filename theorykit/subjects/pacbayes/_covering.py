"""The covering-number bound for transformers of bounded norms (Edelman et al., 2022)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Real

from theorykit.common.arguments import number, positive, reals, shown, whole
from theorykit.subjects.pacbayes._bounds import log_inverse, samples, square


class Layer(NamedTuple):
    """One layer X -> relu(softmax(X qk X') X value) output, as matrices.

    `qk` (d, d), `value` (d, k), `output` (k, d'); None means the identity, without an activation.
    """

    qk: Real[ArrayLike, "d d"]
    value: Real[ArrayLike, "d k"]
    output: Real[ArrayLike, "k d2"] | None = None


def covering_constant(
    layers: Sequence[Layer], readout: Real[ArrayLike, "..."], inputs: float = 1.0
) -> float:
    """Return C with log N(eps) <= C log(d n T) / eps^2 for networks of these norms.

    For layers i, with |.| the spectral norm and |.|_(2,1) the sum over columns of their 2-norms,

        C = (|w|^(2/3) + sum_i (a_i |w|)^(2/3) (|W_C|_(2,1)^(2/3)
             + (2 |W_C| |W_V| |W_QK|_(2,1) B)^(2/3) + (|W_C| |W_V|_(2,1))^(2/3)))^3 B^2,

    a_i = prod_(j > i) |W_C| |W_V| (1 + 4 |W_QK| B^2), where ReLU has Lipschitz constant 1 and the
    rows of inputs have norm at most B. The structure is that of their theorem for L layers. Factors
    that only make it larger (universal constants, dimensions) are left out, so a bound that beats
    this one beats theirs.

    **Raises:** `ValueError` for matrices or a readout that are not finite, an empty list of layers,
    or `inputs` that is not positive.
    """
    several = isinstance(layers, list | tuple) and not isinstance(layers, Layer)
    if not several or not layers or not all(isinstance(one, Layer) for one in layers):
        raise ValueError(f"layers is a nonempty list of pacbayes.Layer, got {shown(layers)}.")
    inputs = positive("inputs, their largest norm,", inputs)
    readout = reals("readout", readout).reshape(-1, 1)
    scale = float(np.linalg.norm(readout))
    total, after = scale ** (2 / 3), scale
    for layer in reversed(layers):
        (qk, qk_wide), (value, value_wide) = _norms("qk", layer.qk), _norms("value", layer.value)
        out, wide = (1.0, 0.0) if layer.output is None else _norms("output", layer.output)
        parts = (wide, 2 * out * value * qk_wide * inputs, out * value_wide)
        total += sum((after * part) ** (2 / 3) for part in parts)
        after *= out * value * (1 + 4 * qk * square(inputs))
    total = square(total) * total if total > 1e100 else total**3
    if math.isnan(found := total * square(inputs)):
        raise ValueError("the product of these norms overflows.")
    return found


def _norms(name: str, matrix: Real[ArrayLike, "rows columns"]) -> tuple[float, float]:
    """Return the spectral norm, and the sum over columns of their 2-norms."""
    found = reals(name, matrix)
    if found.ndim != 2 or not found.size:
        raise ValueError(f"a layer has matrices, not arrays of shape {found.shape}.")
    return float(np.linalg.norm(found, 2)), float(np.linalg.norm(found, axis=0).sum())


def covering(
    constant: float,
    n: int,
    dimension: int,
    tokens: int,
    bounded: float = 1.0,
    lipschitz: float = 1.0,
    delta: float = 0.05,
) -> float:
    """Return the bound on the generalisation gap that follows from a covering number.

        4 l sqrt(E / n) (1 + log(A sqrt(n / E))) + 2 A sqrt(log(1/delta) / 2n),
        E = C log(d n T + 1)

    for a loss with Lipschitz constant `lipschitz` and values of at most A = `bounded`; the
    logarithm is left out where it is negative. The universal constant is taken as 1.
    """
    n = samples(n)
    numbers = {"the constant": constant, "bounded": bounded, "lipschitz": lipschitz}
    for name, value in numbers.items():
        positive(name, value)
    number("delta, a probability,", delta, "a number between 0 and 1", lambda v: 0 < v < 1)
    entropy = constant * math.log(whole("dimension", dimension) * n * whole("tokens", tokens) + 1)
    chaining = 1 + max(0.0, math.log(bounded * math.sqrt(n / entropy)))
    chance = 2 * bounded * math.sqrt(log_inverse(delta) / (2 * n))
    return 4 * lipschitz * math.sqrt(entropy / n) * chaining + chance
