"""Networks that learn sums of parities, a function each, side by side.

What the text leaves open is read as follows. Functions have variance 1 and are not centred, since
their coefficients are positive. A training set is drawn with replacement; where all 2^T inputs fit,
the loss on them is exact. The gap is the loss of all inputs less that of the training set. The
network is the standard transformer of two layers and one head, without layer norm, with one-hot
positions and logits scaled by log(T + 1); the output is read at one more position, whose bit is 0.
There is no weight decay and no dropout.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np

from theorykit.experiments._experiment import Setting

Array = Any


@dataclasses.dataclass(frozen=True)
class Plan:
    """Classes of functions, a network and a budget.

    **Fields:** `functions`: of each class; `samples`: of a training set; `threshold`: the training
    loss at which a network stops; `batch`: of a step; `judged`: how many inputs stand for all of
    them where 2^T are too many.
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
    def classes(self) -> list[tuple[int, int]]:
        """Return all (degree, sparsity)."""
        return list(itertools.product(self.degrees, self.sparsities))


PLANS = {
    "cpu": Plan(),
    "paper": Plan(
        T=20, degrees=(1, 2, 3, 4, 5), sparsities=(1, 5, 10, 20), functions=11, samples=8192,
        width=51, mlp_width=128, steps=200_000, every=1000, rate=1e-3, batch=256,
    ),
}  # fmt: skip
"""As printed where the numbers are there: rate, steps and sparsities are lost."""


@dataclasses.dataclass(frozen=True)
class Learned:
    """Networks, a function each, in the order of the classes.

    **Fields:** `labels`, the class of each; `functions`; `fit`; `x` (networks, samples, T) and `y`,
    what was trained on; `inputs` (N, T) and `targets` (networks, N): all inputs, or some of them.
    """

    labels: list[tuple[int, int]]
    functions: list[Any]
    fit: Any
    x: Array
    y: Array
    inputs: Array
    targets: Array

    @property
    def train(self) -> np.ndarray:
        """The training loss of each network."""
        return np.asarray(self.fit.history["loss"][-1])

    @property
    def test(self) -> np.ndarray:
        """The loss on all inputs, or on those that stand for them."""
        return np.asarray(self.fit.history["all/loss"][-1])


def padded(x: Array) -> np.ndarray:
    """Return bits with the output position's 0 behind them, (..., T + 1) int32."""
    x = np.asarray(x, np.int32)
    return np.concatenate([x, np.zeros((*x.shape[:-1], 1), np.int32)], -1)


def learn(plan: Plan, setting: Setting, what: str = "") -> Learned:
    """Train a network for each function of each class, side by side, until they interpolate."""
    import optax

    from theorykit.networks import nets, training
    from theorykit.subjects import boolean

    rng = np.random.default_rng([setting.seed, plan.T])
    cases = list(itertools.product(plan.classes, range(plan.functions)))
    labels = [label for label, _ in cases]
    functions = [
        boolean.random(plan.T, d, s, seed=setting.seed * 1000 + i, normalised="variance")
        for (d, s), i in cases
    ]
    if plan.judged >= 2**plan.T:
        inputs = boolean.bits(plan.T)
    else:
        inputs = rng.integers(0, 2, (plan.judged, plan.T))
    x = rng.integers(0, 2, (len(cases), plan.samples, plan.T))
    y = np.stack([f(one) for f, one in zip(functions, x, strict=True)]).astype(np.float32)
    targets = np.stack([f(inputs) for f in functions]).astype(np.float32)
    everywhere = np.broadcast_to(padded(inputs), (len(cases), len(inputs), plan.T + 1))
    setting.say(f"{len(cases)} networks, {plan.samples} inputs of {plan.T} bits each")
    make = lambda rngs: nets.Transformer(
        vocabulary=2, width=plan.width, heads=1, depth=2, mlp="two", mlp_width=plan.mlp_width,
        activation="relu", residual=True, positions="onehot", max_tokens=plan.T + 1,
        log_length=True, parameterisation="standard", rngs=rngs,
    )  # fmt: skip
    fit = training.fit(
        make, optimizer=optax.adam(plan.rate), data=(padded(x), y), each=True,
        minibatch=plan.batch, loss=squared, steps=plan.steps, every=plan.every, seeds=len(cases),
        key=setting.seed, evaluate={"all": (everywhere, targets)},
        stop=training.reaches("loss", plan.threshold, below=True), folder=setting.at("fit" + what),
        config=dict(optimizer=f"adam({plan.rate})"), progress=setting.folder is not None,
    )  # fmt: skip
    return Learned(labels, functions, fit, padded(x), y, padded(inputs), targets)


def squared(out: Array, y: Array) -> Array:
    """Return (f - y)^2: the paper's loss has no factor 1/2."""
    return (out[0] - y) ** 2


def by_class(found: Learned, values: Array) -> dict[tuple[int, int], np.ndarray]:
    """Return the values of each class's functions."""
    labels = np.array(found.labels)
    return {label: values[(labels == label).all(1)] for label in dict.fromkeys(found.labels)}


def construction(f: Any, inputs: Array) -> tuple[float, float]:
    """Return |theta|^2 and the trace of the loss Hessian of f's construction, over these inputs."""
    from theorykit.subjects import boolean, sharpness

    network, bits = boolean.transformer(f), np.asarray(inputs)[:, : f.T].astype(np.float32)
    return sum(network.squared_norms().values()), float(sharpness.trace(network, bits).value)
