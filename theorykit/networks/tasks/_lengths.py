"""Samples of any length in one shape: padding with weight 0, and mixtures of lengths."""

import abc
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import random
from jaxtyping import Array, Float, Int, PRNGKeyArray

from theorykit.common.arguments import affordable, as_array, instance, number, size, whole
from theorykit.networks.tasks._base import FAR, Sample, Task


def span(low: int, high: int) -> tuple[int, int]:
    """Return the ends of a range of lengths; the lower one may be negative.

    **Raises:** `ValueError` for invalid numbers, or for more than 2^24 lengths.
    """
    low, high = whole("low", low, -FAR, FAR), whole("high", high, -FAR, FAR)
    affordable("a list of lengths", high - max(low, 0), 2**24, "lengths")
    return low, high


class AnyLength(Task):
    """A task whose samples can be padded to a larger size, so that the length may be traced.

    Padding has weight 0 and comes after everything that counts, so a causal network without a mask
    computes the same as on the sample alone.
    """

    @abc.abstractmethod
    def padded(self, key: PRNGKeyArray, length: Int[Array, ""] | int, size: int) -> Sample:
        """Return one example of this length, in the shape of an example of length `size`.

        **Arguments:** `length`: may be traced, at most `size`, one of `lengths`; `size`: a Python
        integer.
        """

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths from `low` to `high` that have examples."""
        low, high = span(low, high)
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
    """A task at mixed lengths: length L stands for the lengths from L - `width` + 1 to L.

    With a width of 50 the lengths 50, 100 and 150 are the bins [1, 50], [51, 100] and [101, 150] of
    the limit paper (Section 5). Each length of a bin that has examples is equally likely; samples
    are padded to L.

    **Arguments:** `task`; `width`; `places`: if given, x is a pair of tokens and an offset, uniform
    among those at which the sample without its padding fits into this many positions.
    """

    task: AnyLength
    width: int = 50
    places: int | None = None

    def __post_init__(self):
        instance("task", self.task, AnyLength, "a task of any length, such as Majority()")
        size("width", self.width)
        if self.places is not None:
            size("places", self.places)

    @property
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer` on this task."""
        return self.task.options

    def tokens(self, length: int) -> int:
        """Return the number of tokens of the longest examples of the bin."""
        return self.task.tokens(length)

    def check(self, length: int) -> None:
        """Raise a `ValueError` if the bin is empty or its examples do not fit."""
        whole("a length", length, 1, FAR)
        if not self.task.lengths(length - self.width + 1, length):
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
    """Return the sample with an offset at which it fits, without its padding, into the positions.

    **Arguments:** `u`: a uniform number that selects the offset.
    """
    instance("sample", sample, Sample, "a tasks.Sample")
    places, weight = size("places", places), as_array("the sample's weight", sample.weight, "biuf")
    if not isinstance(u, jax.core.Tracer):
        number("u", as_array("u", u), "a number from 0 to 1", lambda v: 0 <= v <= 1)
    if weight.ndim != 1:
        raise ValueError(f"a sample has one weight per token, got shape {weight.shape}.")
    weight = jnp.asarray(weight)
    used = len(weight) - jnp.argmax(weight[::-1] > 0)
    return sample._replace(x=(sample.x, (u * (places - used + 1)).astype(int)))
