"""Networks that learn sums of parities, one function each, in parallel.

Where the text is open, it is read as follows. Functions have variance 1 and are not centred, since
their coefficients are positive. A training set is drawn with replacement; if all 2^T inputs fit,
the loss on them is exact. The gap is the loss on all inputs minus that on the training set. The
network is the standard transformer with two layers and one head, without layer norm, with one-hot
positions and logits scaled by log(T + 1); the output is read at an extra position with bit 0. There
is no weight decay and no dropout.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int, Num

from theorykit.experiments import Adam, Plan, Setting
from theorykit.subjects import boolean, sharpness

Class = tuple[int, int]
"""Degree and sparsity."""


@dataclasses.dataclass(frozen=True)
class Interpolation:
    """Classes of functions, a network and a budget.

    **Fields:** `functions`: the number per class; `samples`: the size of a training set;
    `threshold`: the training loss at which a network stops; `batch`: the batch size; `judged`: the
    number of inputs that stand for all of them if 2^T is too many.
    """

    T: int = 8
    degrees: tuple[int, ...] = (1, 2, 3)
    sparsities: tuple[int, ...] = (1, 3, 8)
    functions: int = 5
    samples: int = 128
    width: int = 32
    mlp_width: int = 64
    steps: int = 3000
    every: int = 100
    rate: float = 3e-3
    batch: int = 32
    threshold: float = 0.02
    judged: int = 8192

    @property
    def classes(self) -> list[Class]:
        """All (degree, sparsity)."""
        return list(itertools.product(self.degrees, self.sparsities))

    @property
    def network(self) -> dict[str, Any]:
        """The options of `nets.Transformer`."""
        return dict(
            vocabulary=2, width=self.width, heads=1, depth=2, mlp="two", mlp_width=self.mlp_width,
            activation="relu", residual=True, positions="onehot", max_tokens=self.T + 1,
            log_length=True, parameterisation="standard",
        )  # fmt: skip


PLANS = {
    "cpu": Interpolation(),
    "paper": Interpolation(
        T=20, degrees=(1, 2, 3, 4, 5), sparsities=(1, 5, 10, 20), functions=11, samples=8192,
        width=51, mlp_width=128, steps=200_000, every=1000, rate=1e-3, batch=256,
    ),
}  # fmt: skip
"""As printed where the numbers are given; rate, steps and sparsities are missing."""


@dataclasses.dataclass(frozen=True)
class Learned:
    """Networks, one per function, in the order of the classes.

    **Fields:** `labels`, the class of each; `functions`; `fit`; `x` (networks, samples, T) and `y`,
    the training data; `inputs` (N, T) and `targets` (networks, N): all inputs, or some of them.
    """

    labels: list[Class]
    functions: list[boolean.Parities]
    fit: Any
    x: Int[np.ndarray, "networks samples bits"]
    y: Float[np.ndarray, "networks samples"]
    inputs: Int[np.ndarray, "N bits"]
    targets: Float[np.ndarray, "networks N"]

    @property
    def train(self) -> Float[np.ndarray, " networks"]:
        """The training loss of each network."""
        return np.asarray(self.fit.history["loss"][-1])

    @property
    def test(self) -> Float[np.ndarray, " networks"]:
        """The loss on all inputs, or on those that stand for them."""
        return np.asarray(self.fit.history["all/loss"][-1])


def padded(x: Num[np.ndarray, "*inputs bits"]) -> Int[np.ndarray, "*inputs bits_and_one"]:
    """Return bits followed by the 0 of the output position, (..., T + 1), int32."""
    x = np.asarray(x, np.int32)
    return np.concatenate([x, np.zeros((*x.shape[:-1], 1), np.int32)], -1)


def learn(study: Interpolation, setting: Setting) -> Learned:
    """Train a network for each function of each class, in parallel, until they interpolate."""
    from theorykit.networks.training import OnData, reaches

    rng = np.random.default_rng([setting.seed, study.T])
    cases = list(itertools.product(study.classes, range(study.functions)))
    labels = [label for label, _ in cases]
    functions = [
        boolean.random(study.T, d, s, seed=setting.seed * 1000 + i, normalised="variance")
        for (d, s), i in cases
    ]
    if study.judged >= 2**study.T:
        inputs = boolean.bits(study.T)
    else:
        inputs = rng.integers(0, 2, (study.judged, study.T))
    x = rng.integers(0, 2, (len(cases), study.samples, study.T))
    y = np.stack([f(one) for f, one in zip(functions, x, strict=True)]).astype(np.float32)
    targets = np.stack([f(inputs) for f in functions]).astype(np.float32)
    everywhere = np.broadcast_to(padded(inputs), (len(cases), len(inputs), study.T + 1))
    setting.say(f"{len(cases)} networks, {study.samples} inputs of {study.T} bits each")
    plan = Plan(
        OnData(
            padded(x), y, loss=squared, each=True, minibatch=study.batch,
            evaluate={"all": (everywhere, targets)},
        ),
        study.network,
        Adam(study.rate),
        steps=study.steps,
        every=study.every,
        seeds=len(cases),
        stop=reaches("loss", study.threshold, below=True),
    )  # fmt: skip
    fit = plan.train(setting, "fit", progress=setting.folder is not None)
    return Learned(labels, functions, fit, padded(x), y, padded(inputs), targets)


def squared(out: Float[Array, "1"], y: Float[Array, ""]) -> Float[Array, ""]:
    """Return (f - y)^2, since the paper's loss has no factor 1/2."""
    return (out[0] - y) ** 2


def by_class(
    found: Learned, values: Float[np.ndarray, " networks"]
) -> dict[Class, Float[np.ndarray, " functions"]]:
    """Return the values of each class's functions."""
    labels = np.array(found.labels)
    return {label: values[(labels == label).all(1)] for label in dict.fromkeys(found.labels)}


def construction(f: boolean.Parities, inputs: Int[np.ndarray, "N bits"]) -> tuple[float, float]:
    """Return |theta|^2 and the trace of the loss Hessian of the construction, over these inputs."""
    network, bits = boolean.transformer(f), np.asarray(inputs)[:, : f.T].astype(np.float32)
    return sum(network.squared_norms().values()), float(sharpness.trace(network, bits).value)
