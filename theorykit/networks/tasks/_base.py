"""What every task has: a sampler, a loss, metrics, and what a network needs for it."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from theorykit.common.arguments import instance, size, whole
from theorykit.common.keys import as_key
from theorykit.common.spelling import Spelt


class Sample(NamedTuple):
    """One example.

    **Fields:** `x`, token ids (tokens,) or features (tokens, d), or a pair of these and an offset;
    `target`, the right class, of a token or of the example, or what else the task's loss compares
    with; `weight`, how much each prediction counts.
    """

    x: Any
    target: Array
    weight: Array


FAR = 10**18
"""The largest length that is asked about."""


@dataclasses.dataclass(frozen=True)
class Task(Spelt, abc.ABC):
    """A distribution over examples of each length, and how outputs on them are judged.

    The author of a task writes a frozen dataclass with `draw` and `options`. All else has a
    default: classification of every target by cross entropy, lengths from 2 on, no `problem`.
    """

    smallest: ClassVar[int] = 2
    """The smallest length."""

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return one example of a length that `check` let pass, a function of the key."""

    @property
    @abc.abstractmethod
    def options(self) -> dict[str, Any]:
        """What `nets.Transformer` needs for this task."""

    def sample(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return one example, a function of the key; `jax.vmap` over keys makes a batch.

        **Arguments:** `length`: the size T of the problem, a Python integer.

        **Raises:** `ValueError` for a length that the task does not have.
        """
        length = size("a length", length, 0)
        self.check(length)
        return self.draw(as_key(key), length)

    def check(self, length: int) -> None:
        """Raise a `ValueError` if there are no examples of this length."""
        whole("a length", length, 0, FAR)
        if length < self.smallest:
            raise ValueError(
                f"{type(self).__name__} needs a length of {self.smallest} or more, not {length}."
            )

    def tokens(self, length: int) -> int:
        """Return how many tokens an example of this length has."""
        return len(jax.eval_shape(lambda key: self.draw(key, length), jax.random.key(0)).x)

    def loss(self, outputs: Float[Array, "*tokens classes"], sample: Sample) -> Float[Array, ""]:
        """Return the cross entropy over the last axis of `outputs`, a weighted mean over tokens."""
        logs = jax.nn.log_softmax(outputs, -1)
        right = jnp.take_along_axis(logs, sample.target[..., None], -1)[..., 0]
        return -weighted_mean(right, sample.weight)

    def metrics(
        self, outputs: Float[Array, "*tokens classes"], sample: Sample
    ) -> dict[str, Float[Array, ""]]:
        """Return the `accuracy`, a weighted mean over tokens.

        Where an example has several targets, `exact` is 1 if all that count are right, else 0.
        """
        right = outputs.argmax(-1) == sample.target
        found = {"accuracy": weighted_mean(right.astype(outputs.dtype), sample.weight)}
        if right.ndim:
            found["exact"] = (right | (sample.weight == 0)).all().astype(outputs.dtype)
        return found

    def problem(
        self, key: PRNGKeyArray, length: int
    ) -> tuple[Float[Array, "tokens d"], Float[Array, ""]]:
        """Return one input as floats (tokens, d) and one number to predict from it.

        **Raises:** `ValueError` if the task has no such problem.
        """
        raise ValueError(
            f"{type(self).__name__} has no regression by a kernel: it does not say, as `problem`, "
            "which number is to be predicted."
        )


def weighted_mean(
    values: Float[Array, "*tokens"], weight: Float[Array, "*tokens"]
) -> Float[Array, ""]:
    """Return the mean of `values` under weights that are not all zero."""
    return jnp.sum(values * weight) / jnp.sum(weight)


def regression(
    task: Task, key: PRNGKeyArray, count: int, length: int
) -> tuple[Float[Array, "count tokens d"], Float[Array, " count"]]:
    """Return inputs (count, tokens, d) and numbers (count,) for regression by a kernel.

    Token ids come as one-hot vectors. Numbers are +1 and -1, or standardised: each task's
    `problem` says what is predicted.

    **Raises:** `ValueError` for a count below 1, a length that the task does not have, or a task
    without a `problem`.
    """
    instance("task", task, Task, "a task, an object and no class")
    key, count, length = as_key(key), size("count", count), size("a length", length, 0)
    task.check(length)
    return jax.vmap(lambda k: task.problem(k, length))(jax.random.split(key, count))
