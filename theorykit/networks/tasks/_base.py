"""What every task has: a sampler, a loss, metrics, and what a network needs for it."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from theorykit.common.arguments import whole

Array = Any


class Sample(NamedTuple):
    """One example.

    **Fields:** `x`, token ids (tokens,) or features (tokens, d); `target`, the right class, of a
    token or of the example; `weight`, of the same shape: how much each prediction counts.
    """

    x: Array
    target: Array
    weight: Array


@dataclasses.dataclass(frozen=True)
class Task(abc.ABC):
    """A distribution over examples of each length, and how outputs on them are judged."""

    smallest: ClassVar[int] = 2
    """The smallest length."""

    def sample(self, key: Array, length: int) -> Sample:
        """Return one example, a function of the key; `jax.vmap` over keys makes a batch.

        **Arguments:** `length`: the size T of the problem, a Python integer.

        **Raises:** `ValueError` for a length that the task does not have.
        """
        self.check(length)
        return self._draw(key, length)

    def check(self, length: int) -> None:
        """Raise a `ValueError` if there are no examples of this length."""
        whole("a length", length, 0)
        if length < self.smallest:
            raise ValueError(
                f"{type(self).__name__} needs a length of {self.smallest} or more, not {length}."
            )

    def loss(self, outputs: Array, sample: Sample) -> Array:
        """Return the cross entropy over the last axis of `outputs`, a weighted mean over tokens."""
        logs = jax.nn.log_softmax(outputs, -1)
        right = jnp.take_along_axis(logs, sample.target[..., None], -1)[..., 0]
        return -weighted_mean(right, sample.weight)

    def metrics(self, outputs: Array, sample: Sample) -> dict[str, Array]:
        """Return the `accuracy`, a weighted mean over tokens.

        Where an example has several targets, `exact` is 1 if all that count are right, else 0.
        """
        right = outputs.argmax(-1) == sample.target
        found = {"accuracy": weighted_mean(right.astype(outputs.dtype), sample.weight)}
        if right.ndim:
            found["exact"] = (right | (sample.weight == 0)).all().astype(outputs.dtype)
        return found

    @property
    @abc.abstractmethod
    def options(self) -> dict[str, Any]:
        """What `nets.Transformer` needs for this task."""

    @abc.abstractmethod
    def tokens(self, length: int) -> int:
        """Return how many tokens an example of this length has."""

    @abc.abstractmethod
    def problem(self, key: Array, length: int) -> tuple[Array, Array]:
        """Return one input as floats (tokens, d) and one number to predict from it."""

    @abc.abstractmethod
    def _draw(self, key: Array, length: int) -> Sample: ...


def weighted_mean(values: Array, weight: Array) -> Array:
    """Return the mean of `values` under weights that are not all zero."""
    return jnp.sum(values * weight) / jnp.sum(weight)


def regression(task: Task, key: Array, count: int, length: int) -> tuple[Array, Array]:
    """Return inputs (count, tokens, d) and numbers (count,) for regression by a kernel.

    Token ids come as one-hot vectors. Numbers are +1 and -1, or standardised: each task's
    `problem` says what is predicted.

    **Raises:** `ValueError` for a count below 1, or a length that the task does not have.
    """
    task.check(length)
    whole("count", count)
    return jax.vmap(lambda k: task.problem(k, length))(jax.random.split(key, count))
