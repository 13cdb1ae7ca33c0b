"""A network small enough to read: one attention, one number per position, one MLP, one sum.

Section 2.4 of the sharper paper: one-hot positions and one bit per token, logits scaled by
log(T + 1), a projection to one number after the attention, an MLP of 32 hidden units on that
number, and a linear map over positions in place of the second attention.
"""

import dataclasses
import functools
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from theorykit.experiments import Adam, Finding, Plan, Setting, reproduces
from theorykit.experiments._plots import figure
from theorykit.experiments.sharper._parities import squared
from theorykit.subjects import boolean


@dataclasses.dataclass(frozen=True)
class Examination:
    """Functions, a network and a budget; if there are few, all 2^T inputs are trained on."""

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


EXAMINATIONS = {
    "cpu": Examination(),
    "paper": Examination(
        T=20, degree=3, samples=8192, steps=50_000, every=1000, rate=1e-3, batch=256
    ),
}


class Network(nnx.Module):
    """f(x) = sum_i w_i (relu(z_i F + b) G) + c with z = softmax(log(T + 1) X W X') X v."""

    def __init__(self, T: int, hidden: int, rngs: nnx.Rngs):
        """Draw all weights with variance 1 / fan-in; attention weights are smaller."""
        r = T + 2
        normal = lambda scale, *shape: nnx.Param(scale * jax.random.normal(rngs.params(), shape))
        self.score, self.value = normal(1 / r, r, r), normal(0.5, r)
        self.mlp_in, self.bias = normal(1.0, hidden), normal(1.0, hidden)
        self.mlp_out, self.readout = normal(hidden**-0.5, hidden), normal(r**-0.5, T + 1)
        self.constant = nnx.Param(jnp.zeros(()))

    def attention(self, x: Num[Array, " T"]) -> Float[Array, "positions positions"]:
        """Return the weights (T + 1, T + 1) at one input (T,)."""
        X = self._tokens(x)
        return jax.nn.softmax(jnp.log(len(X)) * (X @ self.score[...] @ X.T), -1)

    def __call__(self, x: Num[Array, " T"]) -> Float[Array, "1"]:
        """Return the output (1,) at one input of bits (T,)."""
        z = self.attention(x) @ (self._tokens(x) @ self.value[...])
        h = jax.nn.relu(z[:, None] * self.mlp_in[...] + self.bias[...]) @ self.mlp_out[...]
        return (h @ self.readout[...] + self.constant[...])[None]

    @staticmethod
    def _tokens(x: Num[Array, " T"]) -> Float[Array, "positions features"]:
        return jnp.column_stack([jnp.eye(len(x) + 1), jnp.append(x, 0).astype(jnp.float32)])


@dataclasses.dataclass(frozen=True)
class Examined:
    """One network: its function, whether it was learned, and the mean attention (T + 1, T).

    **Fields:** `own` and `others`: the cosine of the nearest row with each component, and with each
    other set of the same size.
    """

    function: boolean.Parities
    learned: bool
    rows: Float[np.ndarray, "positions bits"]
    own: Float[np.ndarray, " sets"]
    others: Float[np.ndarray, " other_sets"]


def examine(study: Examination, setting: Setting) -> list[Examined]:
    """Train the networks, one function each, and compare their attention rows with the sets."""
    from theorykit.networks.training import OnData, reaches

    rng = np.random.default_rng([setting.seed, study.T, 5])
    functions = [
        boolean.random(study.T, study.degree, study.sparsity, setting.seed * 1000 + i, "variance")
        for i in range(study.networks)
    ]
    few = study.samples >= 2**study.T
    draw = lambda: boolean.bits(study.T) if few else rng.integers(0, 2, (study.samples, study.T))
    x = np.stack([draw() for _ in functions]).astype(np.int32)
    y = np.stack([f(one) for f, one in zip(functions, x, strict=True)]).astype(np.float32)
    plan = Plan(
        OnData(x, y, loss=squared, each=True, minibatch=study.batch),
        functools.partial(Network, study.T, study.hidden),
        Adam(study.rate),
        steps=study.steps,
        every=study.every,
        seeds=study.networks,
        stop=reaches("loss", study.threshold, below=True),
    )
    fit = plan.train(setting, "fit", progress=setting.folder is not None)
    rows = [_rows(fit.network(i), one) for i, one in enumerate(x)]
    return [
        Examined(f, bool(fit.stopped_at[i] >= 0), A, *cosines(A, f))
        for i, (f, A) in enumerate(zip(functions, rows, strict=True))
    ]


def _rows(
    network: Network, x: Num[np.ndarray, "inputs bits"]
) -> Float[np.ndarray, "positions bits"]:
    """Return the mean attention to the T bits."""
    weights = jax.vmap(network.attention)(jnp.asarray(x[:1024]))
    return np.asarray(weights.mean(0))[:, :-1]


def cosines(
    rows: Float[np.ndarray, "positions bits"], f: boolean.Parities
) -> tuple[Float[np.ndarray, " sets"], Float[np.ndarray, " other_sets"]]:
    """Return the largest cosine over rows with each of f's sets, and with each other set."""
    sets = list(itertools.combinations(range(f.T), f.degree))
    indicator = np.array([[j in S for j in range(f.T)] for S in sets]) / f.degree**0.5
    best = (rows / np.linalg.norm(rows, axis=1, keepdims=True) @ indicator.T).max(0)
    own = np.array([sets.index(S) for S in f.sets])
    return best[own], np.delete(best, own)


@reproduces("sharper", "mechanism", ref="Sec. 2.4, Fig. 5")
def mechanism(setting: Setting) -> Finding:
    """Whether attention rows of a small trained network align with Fourier components."""
    found = examine(EXAMINATIONS[setting.size], setting)
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
        return Finding("No network learned its function, so no rows are compared.", rows, {})
    own = np.concatenate([f.own for f in learned])
    others = np.concatenate([f.others for f in learned])
    summary = (
        f"In {len(learned)} of {len(found)} networks that learned, the attention row nearest to a "
        f"component has a cosine of {own.mean():.2f} with it (mean of {len(own)} components), and "
        f"of {others.mean():.2f} with another set of the same size. The paper: in most cases "
        "rows show the components."
    )
    numbers = {"own": own.tolist(), "others": float(others.mean())}
    return Finding(summary, rows, numbers, functools.partial(_draw, learned[0]))


def _draw(one: Examined, file: Path) -> None:
    """Draw the attention rows beside the components."""
    with figure(file, 7, 3.4) as drawn:
        left, right = drawn.subplots(1, 2)
        left.imshow(one.rows, vmin=0, cmap="viridis")
        left.set(title="attention, mean over inputs", xlabel="bit", ylabel="position")
        right.imshow(one.function.membership, cmap="gray_r")
        names = [f"{float(c):.2f}" for c in one.function.coefficients]
        right.set(title="components", xlabel="bit", ylabel="coefficient")
        right.set_yticks(range(len(names)), names)
