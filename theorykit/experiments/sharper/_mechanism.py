"""A network small enough to read: one attention, one number a position, one MLP, one sum.

Section 2.4 of the sharper paper: one-hot positions and a bit a token, logits scaled by log(T + 1),
a projection to one number after the attention, an MLP of 32 hidden units on that number, and a
linear map over positions in place of the second attention.
"""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit.experiments._experiment import Setting
from theorykit.experiments.sharper._parities import squared

Array = Any


@dataclasses.dataclass(frozen=True)
class Plan:
    """Functions, a network and a budget: all 2^T inputs are trained on where they are few."""

    T: int = 8
    degree: int = 2
    sparsity: int = 3
    networks: int = 8
    hidden: int = 32
    samples: int = 256
    steps: int = 3000
    every: int = 100
    rate: float = 1e-2
    batch: int = 64
    threshold: float = 0.02


PLANS = {
    "cpu": Plan(),
    "paper": Plan(T=20, degree=3, samples=8192, steps=50_000, every=1000, rate=1e-3, batch=256),
}


class Network(nnx.Module):
    """f(x) = sum_i w_i (relu(z_i F + b) G) + c with z = softmax(log(T + 1) X W X') X v."""

    def __init__(self, T: int, hidden: int, rngs: nnx.Rngs):
        """Draw all weights with variance 1 / fan in; those of the attention smaller."""
        r = T + 2
        normal = lambda scale, *shape: nnx.Param(scale * jax.random.normal(rngs.params(), shape))
        self.score, self.value = normal(1 / r, r, r), normal(0.5, r)
        self.mlp_in, self.bias = normal(1.0, hidden), normal(1.0, hidden)
        self.mlp_out, self.readout = normal(hidden**-0.5, hidden), normal(r**-0.5, T + 1)
        self.constant = nnx.Param(jnp.zeros(()))

    def attention(self, x: Array) -> Array:
        """Return the weights (T + 1, T + 1) at one input (T,)."""
        X = self._tokens(x)
        return jax.nn.softmax(jnp.log(len(X)) * (X @ self.score[...] @ X.T), -1)

    def __call__(self, x: Array) -> Array:
        """Return (1,) of one input of bits (T,)."""
        z = self.attention(x) @ (self._tokens(x) @ self.value[...])
        h = jax.nn.relu(z[:, None] * self.mlp_in[...] + self.bias[...]) @ self.mlp_out[...]
        return (h @ self.readout[...] + self.constant[...])[None]

    @staticmethod
    def _tokens(x: Array) -> Array:
        return jnp.column_stack([jnp.eye(len(x) + 1), jnp.append(x, 0).astype(jnp.float32)])


@dataclasses.dataclass(frozen=True)
class Examined:
    """One network: its function, whether it learned it, its mean attention (T + 1, T).

    **Fields:** `own` and `others`: the cosine of the nearest row with each component, and with each
    other set of as many positions.
    """

    function: Any
    learned: bool
    rows: Array
    own: Array
    others: Array


def examine(plan: Plan, setting: Setting) -> list[Examined]:
    """Train the networks, a function each, and compare their attention rows with the sets."""
    import optax

    from theorykit.networks import training
    from theorykit.subjects import boolean

    rng = np.random.default_rng([setting.seed, plan.T, 5])
    functions = [
        boolean.random(plan.T, plan.degree, plan.sparsity, setting.seed * 1000 + i, "variance")
        for i in range(plan.networks)
    ]
    few = plan.samples >= 2**plan.T
    draw = lambda: boolean.bits(plan.T) if few else rng.integers(0, 2, (plan.samples, plan.T))
    x = np.stack([draw() for _ in functions]).astype(np.int32)
    y = np.stack([f(one) for f, one in zip(functions, x, strict=True)]).astype(np.float32)
    fit = training.fit(
        lambda rngs: Network(plan.T, plan.hidden, rngs), optimizer=optax.adam(plan.rate),
        data=(x, y), each=True, minibatch=plan.batch, loss=squared, steps=plan.steps,
        every=plan.every, seeds=plan.networks, key=setting.seed,
        stop=training.reaches("loss", plan.threshold, below=True), folder=setting.at("fit"),
        config=dict(optimizer=f"adam({plan.rate})"), progress=setting.folder is not None,
    )  # fmt: skip
    rows = [_rows(fit.network(i), one) for i, one in enumerate(x)]
    return [
        Examined(f, bool(fit.stopped_at[i] >= 0), A, *_cosines(A, f))
        for i, (f, A) in enumerate(zip(functions, rows, strict=True))
    ]


def _rows(network: Network, x: Array) -> np.ndarray:
    """Return the mean attention to the T bits."""
    weights = jax.vmap(network.attention)(x[:1024])
    return np.asarray(weights.mean(0))[:, :-1]


def _cosines(rows: np.ndarray, f: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest cosine over rows with each of f's sets, and with each other set."""
    sets = list(itertools.combinations(range(f.T), f.degree))
    indicator = np.array([[j in S for j in range(f.T)] for S in sets]) / f.degree**0.5
    best = (rows / np.linalg.norm(rows, axis=1, keepdims=True) @ indicator.T).max(0)
    own = np.array([sets.index(S) for S in f.sets])
    return best[own], np.delete(best, own)


def draw(one: Examined, file: Path) -> None:
    """Draw the attention rows beside the components."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.imshow(one.rows, vmin=0, cmap="viridis")
    left.set(title="attention, mean over inputs", xlabel="bit", ylabel="position")
    right.imshow(one.function.membership, cmap="gray_r")
    names = [f"{float(c):.2f}" for c in one.function.coefficients]
    right.set(title="components", xlabel="bit", ylabel="coefficient")
    right.set_yticks(range(len(names)), names)
    figure.savefig(file, dpi=150)
