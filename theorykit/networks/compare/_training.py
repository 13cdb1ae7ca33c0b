"""The convergence of trained finite networks to the predictor of the tangent kernel."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real

from theorykit.common.arguments import as_array, finite, flag, real, shown, size
from theorykit.common.precision import highest
from theorykit.networks.compare._gaps import Curve, curves, plot
from theorykit.networks.compare._linear import Stage, fastest_rate, predict
from theorykit.networks.compare._networks import Ensemble, Make, descend, known
from theorykit.networks.compare._networks import inputs as checked

Inputs = Real[Array | np.ndarray, "inputs ..."]
Targets = Real[Array | np.ndarray, "inputs ..."]
Data = tuple[Real[Array | np.ndarray, "_ ..."], Real[Array | np.ndarray, "_ ..."]]


@dataclasses.dataclass(frozen=True)
class TrainingGap:
    """Outputs of trained networks at test inputs, and their distance to the kernel's prediction.

    **Fields:** `steps`, at which outputs were recorded (in the last stage); `learning_rates`, one
    per stage; `bias`, for each of the steps, the distance of the mean over networks, corrected for
    noise; `single`, the root mean square distance of one network; both relative to the prediction.
    `predicted`: the prediction from the average outputs at initialisation; `flow`: the same for
    gradient flow; `means`: over networks.
    """

    steps: tuple[int, ...]
    learning_rates: tuple[float, ...]
    bias: tuple[Curve, ...]
    single: tuple[Curve, ...]
    predicted: Float[np.ndarray, "steps tested outputs"]
    flow: Float[np.ndarray, "steps tested outputs"]
    means: Float[np.ndarray, "widths steps tested outputs"]

    def plot(self, file: str | Path) -> None:
        """Plot the distances against the widths, at each of the steps."""
        pairs = zip(self.steps, self.bias, self.single, strict=True)
        lines: dict[str, Any] = {}
        for n, mean, one in pairs:
            lines |= {f"mean of networks, {n} steps": mean, f"one network, {n} steps": one}
        plot(file, lines, "Trained networks and the kernel predictor")


@highest
def gradient_descent(
    make: Make,
    kernel: Callable[..., Any],
    x: Inputs,
    y: Targets,
    x_test: Real[Array | np.ndarray, "tested ..."],
    *,
    steps: Sequence[int],
    widths: Sequence[int],
    seeds: int | Sequence[int],
    key: Key[Array, ""] | int,
    learning_rate: float | None = None,
    subtract: bool = True,
    batch: int = 16,
) -> TrainingGap:
    """Compare networks trained by full-batch gradient descent with the predictor of their NTK.

    The loss is the mean over the data of half the squared error. An infinitely wide network has

        f_n(x) = f_0(x) + Theta(x, X) Theta^-1 (1 - (1 - eta Theta / P)^n) (y - f_0(X))

    after n steps. For gradient flow up to time eta n, which `kernels.gradient_flow` predicts, the
    power is replaced by exp(-eta n Theta / P).

    **Arguments:**

    - `make`, `kernel`: as `theorykit.networks.compare` says.
    - `x`, `y`: (P, ...) inputs and (P,) or (P, outputs) targets; `x_test`: test inputs, of any
      length.
    - `steps`: the increasing numbers of steps at which outputs are compared.
    - `widths`, `seeds`: which networks; `key`: where their weights come from.
    - `learning_rate`: eta; None means P / 4 over the largest eigenvalue of the kernel. It must be
      below 2 P over that eigenvalue; narrow networks may have a much larger NTK and need a smaller
      rate.
    - `subtract`: train f - f_0, so that only the kernel is random; if False, each network is
      compared with the prediction for its own f_0.
    - `batch`: how many networks at once.

    **Raises:** `ValueError` for fewer than three seeds, steps that do not increase, targets that do
    not fit, or a learning rate at which training diverges.
    """
    ensemble = Ensemble(make, widths, seeds, key, batch)
    return _compare(ensemble, kernel, [((x, y), learning_rate, steps)], x_test, subtract)


@highest
def two_stage(
    make: Make,
    kernel: Callable[..., Any],
    first: Data,
    second: Data,
    x_test: Real[Array | np.ndarray, "tested ..."],
    *,
    steps: tuple[int, Sequence[int]],
    widths: Sequence[int],
    seeds: int | Sequence[int],
    key: Key[Array, ""] | int,
    learning_rates: tuple[float | None, float | None] = (None, None),
    subtract: bool = True,
    batch: int = 16,
) -> TrainingGap:
    """Compare networks trained on two data sets in turn with the two-stage predictor.

    The predictor is that of the first stage plus the NTK predictor of its errors on the second data
    set (capture paper, Sec. 4.1).

    **Arguments:**

    - `first`, `second`: pairs of inputs and targets; lengths of inputs may differ.
    - `steps`: the number of steps of the first stage, and those of the second at which to compare.
    - `learning_rates`: of the two stages; other arguments as for `gradient_descent`.

    **Raises:** as `gradient_descent`.
    """
    ensemble = Ensemble(make, widths, seeds, key, batch)
    for name, pair in dict(steps=steps, learning_rates=learning_rates).items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"{name} must be two, one per stage, got {shown(pair)}")
    stages = [(first, learning_rates[0], steps[:1]), (second, learning_rates[1], steps[1])]
    return _compare(ensemble, kernel, stages, x_test, subtract)


class TangentKernel:
    """The NTK between the inputs of any two stages, each computed once; -1 means test inputs."""

    def __init__(self, kernel: Callable[..., Any], inputs: Sequence[Array]):
        self.kernel, self.inputs = kernel, inputs
        self.known: dict[tuple[int, int], np.ndarray] = {}

    def __call__(self, i: int, j: int) -> Float[np.ndarray, "inputs1 inputs2"]:
        """Return the NTK between the inputs of two stages."""
        i, j = i % len(self.inputs), j % len(self.inputs)
        if (i, j) not in self.known:
            pair = (self.inputs[i], None if i == j else self.inputs[j])
            self.known[i, j] = np.asarray(known(self.kernel, *pair).ntk, float)
        return self.known[i, j]


def _compare(
    ensemble: Ensemble,
    kernel: Callable[..., Any],
    given: Sequence[tuple[Data, float | None, Sequence[int]]],
    x_test: Array | np.ndarray,
    subtract: bool,
) -> TrainingGap:
    """Compare networks with the predictor; `given`: data, rate and steps of each stage."""
    flag("subtract", subtract)
    data = [_pair(pair) for pair, *_ in given]
    inputs = [jnp.asarray(x) for x, _ in data] + [jnp.asarray(checked("x_test", x_test))]
    for x in inputs:
        finite("inputs", x)
    targets = [_columns(x, y) for x, y in data]
    counts = [_increasing(steps) for *_, steps in given]
    theta = TangentKernel(kernel, inputs)
    rates = [_rate(theta(i, i), rate) for i, (_, rate, _) in enumerate(given)]
    stages = list(map(Stage, inputs, targets, rates, counts))
    on_device = [stage._replace(y=jnp.asarray(stage.y)) for stage in stages]
    found = ensemble.map(lambda network: descend(network, on_device, inputs[-1], subtract))

    zeros = [np.zeros_like(y) for y in targets]
    origin = np.zeros((len(inputs[-1]), targets[0].shape[1]))
    predicted = predict(theta, stages, origin, zeros)[-1]
    samples = [np.asarray(f["test"][-1], float) for f in found]  # (seeds, steps, P*, outputs)
    if subtract:
        own = [np.broadcast_to(predicted, s.shape) for s in samples]
    else:
        own = [_from_own_start(theta, stages, f) for f in found]
    lines = [
        curves(ensemble.widths, [s[:, t] for s in samples], [r[:, t] for r in own])
        for t in range(len(counts[-1]))
    ]
    return TrainingGap(
        steps=counts[-1],
        learning_rates=tuple(rates),
        bias=tuple(line["bias"] for line in lines),
        single=tuple(line["single"] for line in lines),
        predicted=predicted,
        flow=predict(theta, stages, origin, zeros, flow=True)[-1],
        means=np.stack([s.mean(0) for s in samples]),
    )


def _from_own_start(
    theta: TangentKernel, stages: Sequence[Stage], found: dict[str, Any]
) -> Float[np.ndarray, "seeds steps tested outputs"]:
    """Return the predictions from each network's own f_0."""
    start = np.asarray(found["start"], float)
    starts = [np.asarray(s, float) for s in found["starts"]]
    seeds = range(len(start))
    return np.stack([predict(theta, stages, start[s], [f[s] for f in starts])[-1] for s in seeds])


def _pair(given: Any) -> tuple[Any, Any]:
    """Return inputs and targets of one stage."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"data are a pair of inputs and targets, got {shown(given)}")
    return checked("inputs", given[0]), given[1]


def _rate(theta: Float[np.ndarray, "inputs inputs"], given: float | None) -> float:
    fastest = fastest_rate(theta)
    rate = fastest / 4 if given is None else real("learning_rate", given)
    if not 0 < rate < 2 * fastest:
        raise ValueError(
            f"gradient descent converges with a learning_rate between 0 and {2 * fastest:.3g} "
            f"(2 P over the largest eigenvalue of the NTK), got {given}"
        )
    return rate


def _columns(x: Inputs, y: Targets) -> Real[np.ndarray, "inputs outputs"]:
    y = np.asarray(as_array("targets", y))
    if y.ndim not in (1, 2) or len(y) != len(x):
        raise ValueError(
            f"targets have shape (P,) or (P, outputs) for P inputs; got {len(x)} inputs and "
            f"targets of shape {y.shape}"
        )
    finite("targets", y)
    return y.reshape(len(y), -1)


def _increasing(steps: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(steps, Sequence | np.ndarray) or isinstance(steps, str | bytes):
        raise ValueError(f"steps are whole numbers, such as [10, 20], got {shown(steps)}")
    steps = tuple(size("a number of steps", n) for n in steps)
    if not steps or any(b <= a for a, b in zip((0, *steps), steps, strict=False)):
        raise ValueError(f"steps are increasing whole numbers of at least 1, got {steps}")
    return steps
