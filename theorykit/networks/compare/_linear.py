"""Training of a network that is linear in its weights: the predictor of its tangent kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any


def after(k: Array, errors: Array, *, rate: float, steps: float, flow: bool = False) -> np.ndarray:
    """Return the coefficients K^-1 (1 - (1 - rate K / P)^steps) errors, or those of gradient flow.

    Flow: 1 - exp(-rate steps K / P). No inverse is formed, so that K may be singular.
    """
    values, vectors = np.linalg.eigh((k + k.T) / 2)
    speed = rate * values / len(k)
    learned = -np.expm1(-speed * steps) if flow else 1 - (1 - speed) ** steps
    tiny = np.abs(speed) < 1e-12
    gain = np.where(tiny, rate * steps / len(k), learned / np.where(tiny, 1.0, values))
    return vectors @ (gain[:, None] * (vectors.T @ errors))


def fastest_rate(k: Array) -> float:
    """Return the learning rate at which the fastest direction is learned in one step."""
    return float(len(k) / np.linalg.eigvalsh((k + k.T) / 2)[-1])


def predict(
    kernel: Callable[[int, int], np.ndarray],
    stages: Sequence[tuple],
    start: Array,
    starts: Sequence[Array],
    flow: bool = False,
) -> list[np.ndarray]:
    """Return the outputs (times, P*, outputs) at the test inputs for each stage.

    The predictor of a stage is the one that the last stage ended with plus the kernel predictor
    of the errors that it makes on the new data (capture paper, Sec. 4.1; Bennani et al., 2020).

    **Arguments:**

    - `kernel`: `kernel(i, j)` between the inputs of two stages; i = -1 for the test inputs.
    - `stages`: for each, targets, learning rate and numbers of steps.
    - `start`, `starts`: outputs at initialisation, at the test inputs and those of each stage.
    """
    test, at = start, list(starts)
    found = []
    for i, (y, rate, steps) in enumerate(stages):
        alphas = [after(kernel(i, i), y - at[i], rate=rate, steps=n, flow=flow) for n in steps]
        found.append(np.stack([test + kernel(-1, i) @ alpha for alpha in alphas]))
        test = found[-1][-1]
        at = [f + kernel(j, i) @ alphas[-1] if j > i else f for j, f in enumerate(at)]
    return found
