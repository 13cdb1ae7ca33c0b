"""Induction heads and sorting, as in section 6 of the capture paper."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import random

from theorykit.tasks._base import Array, Sample, Task


@dataclasses.dataclass(frozen=True)
class InductionHead(Task):
    """Find the earlier place of the last token and copy what follows it.

    T random tokens, each that equals the random trigger replaced by the next one modulo V; then
    the trigger at a uniform place below T / 2 and at the end. The target is the token after the
    first trigger. At T = 2 that is the trigger at the end, and at V = 2 it is always the symbol
    that is not the trigger.

    **Arguments:** `vocabulary`: V, at least 2.

    **Raises:** `ValueError` for a smaller vocabulary.
    """

    vocabulary: int = 1024

    def __post_init__(self):
        if self.vocabulary < 2:
            raise ValueError(
                "InductionHead needs a vocabulary of 2 or more (a trigger and another symbol), "
                f"not {self.vocabulary}."
            )

    @property
    def options(self) -> dict[str, Any]:
        """What `nets.Transformer` needs: ids in, scores of the symbols out at the last token."""
        return dict(
            vocabulary=self.vocabulary,
            outputs=self.vocabulary,
            readout="last",
            causal=False,
            positions="rotary",
        )

    def tokens(self, length: int) -> int:
        """Return T."""
        return length

    def _draw(self, key: Array, length: int) -> Sample:
        for_tokens, for_trigger, for_place = random.split(key, 3)
        tokens = random.randint(for_tokens, (length,), 0, self.vocabulary)
        trigger = random.randint(for_trigger, (), 0, self.vocabulary)
        place = random.randint(for_place, (), 0, length // 2)
        x = jnp.where(tokens == trigger, (trigger + 1) % self.vocabulary, tokens)
        x = x.at[jnp.stack([place, jnp.asarray(length - 1)])].set(trigger)
        return Sample(x, x[place + 1], jnp.ones(()))

    def problem(self, key: Array, length: int) -> tuple[Array, Array]:
        """Return one-hot tokens (T, V), and +1 if the target is in the upper half, else -1."""
        x, target, _ = self.sample(key, length)
        return jax.nn.one_hot(x, self.vocabulary), jnp.where(
            2 * target >= self.vocabulary, 1.0, -1.0
        )
