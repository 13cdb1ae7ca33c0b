"""Training of a network that is linear in its weights, by its tangent kernel."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

Matrix = Float[np.ndarray, "inputs outputs"]


class Stage(NamedTuple):
    """Gradient descent on one data set.

    **Fields:** `x`, `y`: inputs and targets; `rate`: the learning rate; `steps`: increasing numbers
    of steps at which outputs are recorded; the last one ends the stage.
    """

    x: Real[Array | np.ndarray, "inputs ..."]
    y: Real[Array | np.ndarray, "inputs outputs"]
    rate: Real[Array | np.ndarray, ""] | float
    steps: tuple[int, ...]


def after(
    k: Float[np.ndarray, "inputs inputs"],
    errors: Matrix,
    *,
    rate: Real[Array | np.ndarray, ""] | float,
    steps: float,
    flow: bool = False,
) -> Matrix:
    """Return the coefficients K^-1 (1 - (1 - rate K / P)^steps) errors, or those of gradient flow.

    For flow the factor is 1 - exp(-rate steps K / P). No inverse is formed, so K may be singular.
    """
    values, vectors = np.linalg.eigh((k + k.T) / 2)
    speed = rate * values / len(k)
    learned = -np.expm1(-speed * steps) if flow else 1 - (1 - speed) ** steps
    tiny = np.abs(speed) < 1e-12
    gain = np.where(tiny, rate * steps / len(k), learned / np.where(tiny, 1.0, values))
    return vectors @ (gain[:, None] * (vectors.T @ errors))


def fastest_rate(k: Float[np.ndarray, "inputs inputs"]) -> float:
    """Return the learning rate that learns the fastest direction in one step."""
    return float(len(k) / np.linalg.eigvalsh((k + k.T) / 2)[-1])


def predict(
    kernel: Callable[[int, int], np.ndarray],
    stages: Sequence[Stage],
    start: Float[np.ndarray, "tested outputs"],
    starts: Sequence[Float[np.ndarray, "_ outputs"]],
    flow: bool = False,
) -> list[Float[np.ndarray, "_ tested outputs"]]:
    """Return the outputs at the test inputs for each stage.

    The predictor of a stage is the final predictor of the previous stage plus the kernel predictor
    of its errors on the new data (capture paper, Sec. 4.1; Bennani et al., 2020).

    **Arguments:**

    - `kernel`: `kernel(i, j)` between the inputs of two stages; i = -1 for the test inputs.
    - `start`, `starts`: outputs at initialisation at the test inputs, and at the inputs of each
      stage.
    """
    test, at = start, list(starts)
    found = []
    for i, (_, y, rate, steps) in enumerate(stages):
        alphas = [
            after(kernel(i, i), np.asarray(y) - at[i], rate=rate, steps=n, flow=flow) for n in steps
        ]
        found.append(np.stack([test + kernel(-1, i) @ alpha for alpha in alphas]))
        test = found[-1][-1]
        at = [f + kernel(j, i) @ alphas[-1] if j > i else f for j, f in enumerate(at)]
    return found
