"""The networks of the template paper and their training budgets, as printed or small."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from theorykit.networks import nets
from theorykit.subjects.templates import Distribution

HELD_OUT = 100
"""The number of symbols, and of samples, for validation and for the test."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """The sizes of networks and the training budget.

    **Fields:** `samples`: the values of n; `rates`: learning rates of Adam, from which the one with
    the smallest validation loss is chosen; `draws`: for the kernel, 0 for no kernel.
    """

    samples: tuple[int, ...]
    trials: int
    steps: int
    every: int
    rates: tuple[float, ...]
    width: int
    heads: int
    head_size: int
    mlp_width: int
    depth: int = 2
    draws: int = 2048

    def transformer(self, **more: Any) -> dict[str, Any]:
        """Return the options of the paper's transformer, updated with others."""
        return dict(
            width=self.width, heads=self.heads, head_size=self.head_size, depth=self.depth,
            mlp="two", mlp_width=self.mlp_width, activation="gelu", norm="layer", residual=True,
            positions="learned", parameterisation="standard",
        ) | more  # fmt: skip


BUDGETS = {
    "cpu": Budget(
        samples=(64, 128, 256), trials=4, steps=200, every=20, rates=(1e-3,), width=32,
        heads=4, head_size=16, mlp_width=64,
    ),
    "paper": Budget(
        samples=(64, 128, 256, 512, 1024, 2048), trials=5, steps=1000, every=10,
        rates=(1e-5, 1e-4, 1e-3, 1e-2), width=128, heads=16, head_size=64, mlp_width=256,
        draws=8192,
    ),
}  # fmt: skip
"""As printed, except that a step takes all n samples: the paper's batches have 1,024."""


class Incidence(nnx.Module):
    """An MLP that is also given XX', the paper's data augmentation.

    **Arguments:** `vocabulary`; `tokens`; `options` of `nets.MLP`; `rngs`.
    """

    def __init__(self, vocabulary: int, tokens: int, options: dict[str, Any], rngs: nnx.Rngs):
        self.vocabulary = vocabulary
        features = tokens * vocabulary + tokens * tokens
        self.mlp = nets.MLP(features=features, rngs=rngs, **options)

    def __call__(self, x: Int[Array, " tokens"]) -> Float[Array, " outputs"]:
        """Return the output at symbols x (tokens,)."""
        same = (x[:, None] == x[None, :]).astype(float)
        return self.mlp(jnp.append(jax.nn.one_hot(x, self.vocabulary).ravel(), same.ravel()))


def network(
    kind: str, task: Distribution, budget: Budget, **options: Any
) -> Callable[[nnx.Rngs], nnx.Module]:
    """Return a function that makes a network of a kind: "transformer", "mlp" or "incidence"."""
    vocabulary = task.vocabulary + 2 * HELD_OUT
    if kind == "transformer":
        plain = budget.transformer(**options)
        plain |= dict(vocabulary=vocabulary, max_tokens=task.length)
        symbol = isinstance(task.templates[0].label, str)
        plain |= dict(tied=True, outputs=vocabulary) if symbol else dict(outputs=1)
        return functools.partial(_made, nets.Transformer, plain)
    dense = dict(width=4 * budget.width, depth=2, parameterisation="standard", **options)
    if kind == "mlp":
        return functools.partial(
            _made, nets.MLP, dict(vocabulary=vocabulary, tokens=task.length, **dense)
        )
    return functools.partial(Incidence, vocabulary, task.length, dense)


def _made(kind: type[nnx.Module], options: dict[str, Any], rngs: nnx.Rngs) -> nnx.Module:
    return kind(rngs=rngs, **options)
