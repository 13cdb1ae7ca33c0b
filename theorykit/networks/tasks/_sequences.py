"""Induction heads and sorting, as in section 6 of the capture paper."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Float, Int, PRNGKeyArray

from theorykit.common.arguments import whole
from theorykit.networks.tasks._base import Sample, Task


@dataclasses.dataclass(frozen=True)
class InductionHead(Task):
    """Find the earlier occurrence of the last token and copy the token after it.

    T random tokens, in which those equal to the random trigger are replaced by the next symbol
    modulo V; then the trigger is put at a uniform place below T / 2 and at the end. The target is
    the token after the first trigger. At T = 2 that is the trigger at the end; otherwise at V = 2
    it is always the symbol that is not the trigger.

    **Arguments:** `vocabulary`: V, at least 2.

    **Raises:** `ValueError` for a smaller vocabulary.
    """

    vocabulary: int = 1024

    def __post_init__(self):
        whole("vocabulary", self.vocabulary, 0)
        if self.vocabulary < 2:
            raise ValueError(
                "InductionHead needs a vocabulary of 2 or more (a trigger and another symbol), "
                f"not {self.vocabulary}."
            )

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer`: ids in, scores of the symbols out at the last token."""
        return dict(
            vocabulary=self.vocabulary,
            outputs=self.vocabulary,
            readout="last",
            causal=False,
            positions="rotary",
        )

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return T tokens and the one after the first trigger."""
        for_tokens, for_trigger, for_place = random.split(key, 3)
        tokens = random.randint(for_tokens, (length,), 0, self.vocabulary)
        trigger = random.randint(for_trigger, (), 0, self.vocabulary)
        place = random.randint(for_place, (), 0, length // 2)
        x = jnp.where(tokens == trigger, (trigger + 1) % self.vocabulary, tokens)
        x = x.at[jnp.stack([place, jnp.asarray(length - 1)])].set(trigger)
        return Sample(x, x[place + 1], jnp.ones(()))

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens symbols"], Float[Array, ""]]:
        """Return one-hot tokens (T, V), and +1 if the target is in the upper half, else -1."""
        x, target, _ = self.sample(key, length)
        return jax.nn.one_hot(x, self.vocabulary), jnp.where(
            2 * target >= self.vocabulary, 1.0, -1.0
        )


@dataclasses.dataclass(frozen=True)
class Sorting(Task):
    """Next-token prediction of `[u, SEP, s]`, a list followed by the sorted list.

    u is a list of T distinct integers below V, s is u sorted, and SEP is the id V. The inputs are
    the first 2T tokens, the targets the last 2T. Loss and accuracy count T + 1 predictions with
    weight one: SEP (predicted from the last token of u) and s.

    **Arguments:** `vocabulary`: V; lengths go up to V.

    **Raises:** `ValueError` for a vocabulary below 2, and for a length above it.
    """

    vocabulary: int = 1000

    def __post_init__(self):
        whole("vocabulary", self.vocabulary, 0)
        if self.vocabulary < 2:
            raise ValueError(f"Sorting needs a vocabulary of 2 or more, not {self.vocabulary}.")

    @property
    def separator(self) -> int:
        """The id of SEP."""
        return self.vocabulary

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer`: ids in, scores of all symbols out at each token."""
        return dict(
            vocabulary=self.vocabulary + 1,
            outputs=self.vocabulary + 1,
            readout="tokens",
            causal=True,
            positions="rotary",
        )

    def check(self, length: int) -> None:
        """Raise a `ValueError` if there are no examples of this length."""
        super().check(length)
        if length > self.vocabulary:
            raise ValueError(
                f"Sorting draws {length} distinct integers, but its vocabulary has only "
                f"{self.vocabulary}."
            )

    def _unsorted(self, key: PRNGKeyArray, length: int) -> Int[Array, " length"]:
        return random.permutation(key, self.vocabulary)[:length]

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return the first 2T tokens of `[u, SEP, s]` and the last 2T."""
        u = self._unsorted(key, length)
        whole = jnp.concatenate([u, jnp.full(1, self.separator, u.dtype), jnp.sort(u)])
        weight = jnp.where(jnp.arange(2 * length) >= length - 1, 1.0, 0.0)
        return Sample(whole[:-1], whole[1:], weight)

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens symbols"], Float[Array, ""]]:
        """Return one-hot `[u, SEP]` (T + 1, V + 1), and the smallest of u, standardised.

        The number is the first token to write, minus its mean, over its standard deviation.
        """
        self.check(length)
        T, V = length, self.vocabulary
        u = self._unsorted(key, length)
        x = jnp.append(u, self.separator)
        mean = (V + 1) / (T + 1) - 1
        deviation = math.sqrt(T * (V + 1) * max(V - T, 1) / ((T + 1) ** 2 * (T + 2)))
        return jax.nn.one_hot(x, V + 1), (u.min() - mean) / deviation
