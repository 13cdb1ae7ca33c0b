"""Products of positions: fitted to a function (G.2), and how they vary with the offset (G.6)."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import random

from theorykit.experiments._experiment import Setting
from theorykit.experiments.limit._lengths import Decoder, Plan
from theorykit.networks.tasks import Sample

Array = Any

TRAINED, PLACES, JUDGED = 50, 200, (50, 100, 150)
HIGH = 2 * math.log(50)
"""What the functions of G.2 are where their condition holds; elsewhere they are 0."""


def prime(n: np.ndarray) -> np.ndarray:
    """Return which numbers are prime."""
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
    """The products p_j' K' Q p_i of positions and two matrices, all entries uniform at the start.

    Its input are the positions of a window, (n,); it puts out (n, n), query by key.
    """

    def __init__(self, width: int, rngs: nnx.Rngs):
        """Draw 200 positions in [-1, 1] and matrices in [-1, 1] / sqrt(width)."""
        uniform = lambda *shape: random.uniform(rngs.params(), shape, minval=-1.0, maxval=1.0)
        self.positions = nnx.Param(uniform(PLACES, width))
        self.query = nnx.Param(uniform(width, width) / math.sqrt(width))
        self.key = nnx.Param(uniform(width, width) / math.sqrt(width))

    def all(self) -> Array:
        """Return the products of all positions (200, 200)."""
        p = self.positions[...]
        return (p @ self.query[...]) @ (p @ self.key[...]).T

    def __call__(self, x: Array) -> Array:
        """Return the products within a window."""
        start = (x[0], x[0])
        return jax.lax.dynamic_slice(self.all(), start, (len(x), len(x)))


@dataclasses.dataclass(frozen=True)
class Window:
    """A window of n positions at a uniform offset; what is wanted is a function of the distance."""

    name: str

    def sample(self, key: Array, length: int) -> Sample:
        """Return positions (n,), the function (n, n) and weight 1 on and below the diagonal."""
        offset = random.randint(key, (), 0, PLACES - length + 1)
        return Sample(offset + jnp.arange(length), *map(jnp.asarray, wanted(self.name, length)))

    def loss(self, outputs: Array, sample: Sample) -> Array:
        """Return the mean square error where keys are not after queries."""
        away = sample.weight * (outputs - sample.target) ** 2
        return away.sum() / sample.weight.sum()

    def metrics(self, outputs: Array, sample: Sample) -> dict[str, Array]:
        """Return nothing but the loss."""
        return {}


def wanted(name: str, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a function of G.2 and where it counts, (n, n) each, query by key."""
    lag = np.arange(length)[:, None] - np.arange(length)
    value = np.asarray(FUNCTIONS[name][1](np.arange(length)))[np.maximum(lag, 0)]
    return np.where(lag >= 0, HIGH * value, 0.0), (lag >= 0).astype(float)


def penalised(rate: float, coefficient: float = 0.01) -> Any:
    """Return Adam on the loss plus the mean square of each array, times a coefficient."""
    import optax

    def update(slopes, state, parameters):
        add = lambda g, p: g + 2 * coefficient / p.size * p
        return jax.tree.map(add, slopes, parameters), state

    return optax.chain(
        optax.GradientTransformation(lambda parameters: optax.EmptyState(), update),
        optax.adam(rate),
    )


def fit_function(
    name: str, width: int, setting: Setting, *, steps: int, seeds: int, batch: int = 64
) -> np.ndarray:
    """Fit a function on windows of 50 positions.

    **Returns:** the mean square error over all windows of 50, 100 and 150 positions, (3, seeds).
    """
    from theorykit.networks import training

    fit = training.fit(
        lambda rngs: Products(width, rngs), Window(name), penalised(1e-3), steps=steps,
        batch=batch, length=TRAINED, seeds=seeds, key=setting.seed, every=steps, progress=False,
        folder=setting.at(name.replace(" ", ""), str(width)), config=dict(width=width),
    )  # fmt: skip
    products = np.array([np.asarray(fit.network(s).all()) for s in range(seeds)])
    return np.array([[error(M, name, n) for M in products] for n in JUDGED])


def error(products: np.ndarray, name: str, length: int) -> float:
    """Return the mean square error over all windows of a length."""
    target, weight = wanted(name, length)
    starts = range(len(products) - length + 1)
    away = [(products[o : o + length, o : o + length] - target) ** 2 for o in starts]
    return float((np.mean(away, 0) * weight).sum() / weight.sum())


def of_zero(name: str, length: int) -> float:
    """Return the mean square of a function, the error of saying 0 everywhere."""
    return error(np.zeros((length, length)), name, length)


def offset_variance(products: Array) -> Array:
    """Return the variance of products (N, N) along each sub-diagonal, the mean over all entries.

    Limit paper, eqs. (80) and (81): entries above the diagonal do not count. It is 0 exactly when
    the products depend on the distance only.
    """
    M = np.asarray(products)
    along = [np.diagonal(M, -c) for c in range(len(M))]
    spread = sum(((d - d.mean()) ** 2).sum() for d in along)
    return 2 * spread / (len(M) * (len(M) + 1))


def head_products(decoder: Decoder, plan: Plan, key: Array, count: int = 64) -> Array:
    """Return the products of positions in every head, (layers, heads, places, places).

    Layer norm is a linear map once its variance is fixed at its mean over the tokens of so many
    samples, as the paper has it. The head's scale of scores, 1 / sqrt(head size), is part of it.
    """
    network = decoder.network
    if not network.learned:
        raise ValueError("offset variance needs learned positions; this network has none.")
    samples = jax.vmap(lambda k: plan.bins.sample(k, plan.trained))(random.split(key, count))
    (ids, offsets), counts = samples.x, samples.weight
    used = jnp.cumsum(counts[:, ::-1], 1)[:, ::-1] > 0

    def entering(ids: Array, offset: Array) -> list[Array]:
        z, found = network.embed(ids, offset), []
        for block in network.blocks:
            found.append(z.var(-1))
            z = block(z, network.visible(len(ids), None), None)
        return found

    positions = network.positions * network.position_table[...][: plan.places]
    found = []
    for block, variance in zip(network.blocks, jax.vmap(entering)(ids, offsets), strict=True):
        p = positions
        if network.options.norm == "layer":
            p = (p - p.mean(-1, keepdims=True)) / jnp.sqrt((variance * used).sum() / used.sum())
        q = jnp.einsum("td,hde->hte", p, block.attention.query.effective())
        k = jnp.einsum("td,hde->hte", p, block.attention.key.effective())
        found.append(jnp.einsum("hae,hce->hac", q, k) / math.sqrt(network.options.head_size))
    return jnp.asarray(found)
