"""Samples of any length in one shape: padding that does not count, and a mix of lengths."""

import abc
import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Float, Int, PRNGKeyArray

from theorykit.networks.tasks._base import Sample, Task


class AnyLength(Task):
    """A task whose samples can be padded to a larger size, their length then being a number.

    What is padded has weight 0 and lies behind all that counts, so that a causal network without
    a mask computes the same as on the sample alone.
    """

    @abc.abstractmethod
    def padded(self, key: PRNGKeyArray, length: Int[Array, ""] | int, size: int) -> Sample:
        """Return one example of this length in the shape of those of length `size`.

        **Arguments:** `length`: may be traced, at most `size`, one of `lengths`; `size`: a Python
        integer.
        """

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths from `low` to `high` that have examples."""
        return list(range(max(low, self.smallest), high + 1))

    def check(self, length: int) -> None:
        """Raise a `ValueError` if there are no examples of this length."""
        super().check(length)
        if not self.lengths(length, length):
            raise ValueError(f"{self!r} has no example of length {length}.")

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return one example without padding."""
        return self.padded(key, length, length)


@dataclasses.dataclass(frozen=True)
class LengthBins(Task):
    """A task at mixed lengths: L stands for the lengths above L - `width`, up to L.

    With a width of 50 the lengths 50, 100 and 150 are the bins [1, 50], [51, 100] and [101, 150] of
    the limit paper (Section 5). Each length of a bin that has examples is equally likely; samples
    are padded to L.

    **Arguments:** `task`; `width`; `places`: if given, x is a pair of the tokens and an offset,
    uniform among those at which the sample without its padding fits into so many positions.
    """

    task: AnyLength
    width: int = 50
    places: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What `nets.Transformer` needs for the task."""
        return self.task.options

    def tokens(self, length: int) -> int:
        """Return how many tokens the longest examples of the bin have."""
        return self.task.tokens(length)

    def check(self, length: int) -> None:
        """Raise a `ValueError` if the bin is empty or its examples have no room."""
        if length < 1 or not self.task.lengths(length - self.width + 1, length):
            raise ValueError(
                f"there are no examples of {self.task!r} at lengths {length - self.width + 1} to "
                f"{length}."
            )
        if self.places is not None and self.tokens(length) > self.places:
            raise ValueError(
                f"examples of length {length} have {self.tokens(length)} tokens, more than the "
                f"{self.places} places."
            )

    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return one example of a random length of the bin."""
        for_sample, for_place = random.split(key)
        u = random.uniform(for_place, (2,))
        possible = self.task.lengths(length - self.width + 1, length)
        n = jnp.asarray(possible)[(u[0] * len(possible)).astype(int)]
        sample = self.task.padded(for_sample, n, length)
        return sample if self.places is None else placed(sample, self.places, u[1])

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens d"], Float[Array, ""]]:
        """Return a problem of the task at its largest length in the bin."""
        return self.task.problem(key, self.task.lengths(length - self.width + 1, length)[-1])


def placed(sample: Sample, places: int, u: Float[Array, ""]) -> Sample:
    """Return the sample with an offset at which it fits, without its padding, into the places.

    **Arguments:** `u`: a uniform number, to choose among them.
    """
    used = len(sample.weight) - jnp.argmax(sample.weight[::-1] > 0)
    return sample._replace(x=(sample.x, (u * (places - used + 1)).astype(int)))
