"""Products of positions, fitted to a function of the distance (App. G.2)."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import random
from jaxtyping import Array, Float, Int

from theorykit.experiments import Adam, Finding, Line, Panel, Plan, Plot, Setting, reproduces
from theorykit.experiments._tables import rounded
from theorykit.networks.tasks import Sample, Task

TRAINED, PLACES, JUDGED, WIDTHS = 50, 200, (50, 100, 150), (32, 256)
HIGH = 2 * math.log(50)
"""The value of the functions of G.2 where their condition holds; elsewhere they are 0."""


def prime(n: np.ndarray) -> np.ndarray:
    """Return whether each number is prime."""
    return np.array([k > 1 and all(k % d for d in range(2, math.isqrt(k) + 1)) for k in n])


FUNCTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "j = i - 1": ("local", lambda lag: lag == 1),
    "j > i - 5": ("local", lambda lag: lag < 5),
    "i - j = 0 mod 3": ("periodic", lambda lag: lag % 3 == 0),
    "i - j = 2 mod 5": ("periodic", lambda lag: lag % 5 == 2),
    "j < i - 5": ("neither", lambda lag: lag > 5),
    "i - j prime": ("neither", prime),
}
"""Functions of the distance i - j of Figures 5 and 6, and their kind."""


class Products(nnx.Module):
    """The products p_j' K' Q p_i of positions and two matrices, all initialised uniformly.

    The input is the positions of a window, (n,); the output is (n, n), query by key.
    """

    def __init__(self, width: int, rngs: nnx.Rngs):
        """Draw 200 positions in [-1, 1] and matrices in [-1, 1] / sqrt(width)."""
        uniform = lambda *shape: random.uniform(rngs.params(), shape, minval=-1.0, maxval=1.0)
        self.positions = nnx.Param(uniform(PLACES, width))
        self.query = nnx.Param(uniform(width, width) / math.sqrt(width))
        self.key = nnx.Param(uniform(width, width) / math.sqrt(width))

    def all(self) -> Float[Array, "places places"]:
        """Return the products of all positions (200, 200)."""
        p = self.positions[...]
        return (p @ self.query[...]) @ (p @ self.key[...]).T

    def __call__(self, x: Int[Array, " n"]) -> Float[Array, "n n"]:
        """Return the products within a window."""
        start = (x[0], x[0])
        return jax.lax.dynamic_slice(self.all(), start, (len(x), len(x)))


@dataclasses.dataclass(frozen=True)
class Window(Task):
    """A window of n positions at a uniform offset; the target is a function of the distance."""

    name: str

    @property
    def options(self) -> dict[str, Any]:
        """None, since the network is `Products`."""
        return {}

    def draw(self, key: Array, length: int) -> Sample:
        """Return positions (n,), the function (n, n) and weight 1 on and below the diagonal."""
        offset = random.randint(key, (), 0, PLACES - length + 1)
        return Sample(offset + jnp.arange(length), *map(jnp.asarray, wanted(self.name, length)))

    def loss(self, outputs: Float[Array, "n n"], sample: Sample) -> Float[Array, ""]:
        """Return the mean squared error where keys are not after queries."""
        away = sample.weight * (outputs - sample.target) ** 2
        return away.sum() / sample.weight.sum()

    def metrics(self, outputs: Float[Array, "n n"], sample: Sample) -> dict[str, Array]:
        """Return nothing but the loss."""
        return {}


def wanted(name: str, length: int) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """Return a function of G.2 and its weight, (n, n) each, query by key."""
    lag = np.arange(length)[:, None] - np.arange(length)
    value = np.asarray(FUNCTIONS[name][1](np.arange(length)))[np.maximum(lag, 0)]
    return np.where(lag >= 0, HIGH * value, 0.0), (lag >= 0).astype(float)


@dataclasses.dataclass(frozen=True)
class Penalised:
    """Adam on the loss plus a coefficient times the mean square of each array."""

    rate: float = 1e-3
    coefficient: float = 0.01

    def __call__(self, steps: int) -> Any:
        """Return the optax transformation."""
        import optax

        def update(slopes, state, parameters):
            add = lambda g, p: g + 2 * self.coefficient / p.size * p
            return jax.tree.map(add, slopes, parameters), state

        penalty = optax.GradientTransformation(lambda parameters: optax.EmptyState(), update)
        return optax.chain(penalty, Adam(self.rate)(steps))


def fit_function(
    name: str, width: int, setting: Setting, *, steps: int, seeds: int, batch: int = 64
) -> Float[np.ndarray, "lengths seeds"]:
    """Fit a function on windows of 50 positions.

    **Returns:** the mean squared error over all windows of 50, 100 and 150 positions, (3, seeds).
    """
    from theorykit.networks.training import OnTask

    plan = Plan(
        OnTask(Window(name), length=TRAINED, batch=batch),
        functools.partial(Products, width),
        Penalised(),
        steps=steps,
        every=steps,
        seeds=seeds,
    )
    fit = plan.train(setting, name.replace(" ", ""), str(width), config=dict(width=width))
    products = np.array([np.asarray(fit.network(s).all()) for s in range(seeds)])
    return np.array([[error(M, name, n) for M in products] for n in JUDGED])


def error(products: Float[np.ndarray, "places places"], name: str, length: int) -> float:
    """Return the mean squared error over all windows of a length."""
    target, weight = wanted(name, length)
    starts = range(len(products) - length + 1)
    away = [(products[o : o + length, o : o + length] - target) ** 2 for o in starts]
    return float((np.mean(away, 0) * weight).sum() / weight.sum())


def of_zero(name: str, length: int) -> float:
    """Return the mean square of a function, the error of predicting 0 everywhere."""
    return error(np.zeros((length, length)), name, length)


SMALL_FUNCTIONS, SMALL_STEPS = ("j = i - 1", "i - j = 0 mod 3", "i - j prime"), 1_500


@reproduces("limit", "positional-fit", ref="App. G.2, Figs. 5 and 6")
def positional_fit(setting: Setting) -> Finding:
    """Products of positions extrapolate local functions at width 256, periodic ones at width 32."""
    paper = setting.size == "paper"
    steps, seeds = (15_000, 3) if paper else (SMALL_STEPS, 2)
    names = tuple(FUNCTIONS) if paper else SMALL_FUNCTIONS

    def one(name: str, width: int) -> np.ndarray:
        setting.say(f"{name}, width {width}")
        return fit_function(name, width, setting, steps=steps, seeds=seeds)

    points = list(itertools.product(names, WIDTHS))
    errors = dict(zip(points, setting.each(one, points), strict=True))
    rows = [
        {"function": name, "kind": FUNCTIONS[name][0], "width": width}
        | {f"MSE at {n}": rounded(e) for n, e in zip(JUDGED, error.mean(1), strict=True)}
        | {"of predicting 0": rounded(error[-1].mean() / of_zero(name, JUDGED[-1]), 2)}
        for (name, width), error in errors.items()
    ]
    said = "; ".join(
        f"{name} ({FUNCTIONS[name][0]}) {errors[name, 32][-1].mean():.2g} at width 32, "
        f"{errors[name, 256][-1].mean():.2g} at 256, {of_zero(name, JUDGED[-1]):.2g} for constant 0"
        for name in names
    )
    summary = f"Mean squared error at length 150 after training at 50: {said}."
    numbers = {f"{name} {width}": e.tolist() for (name, width), e in errors.items()}
    panels = [
        Panel(
            [Line(JUDGED, errors[name, w].mean(1), f"width {w}") for w in WIDTHS],
            dict(yscale="log", title=name),
            ticks=JUDGED,
            legend={} if name == names[0] else None,
        )
        for name in names
    ]
    return Finding(summary, rows, numbers, Plot(panels, size=(2.2, 2.4), below="length"))
