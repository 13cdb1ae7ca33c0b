"""The interface of a task: a sampler, a loss, metrics, and the options of a network."""

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
    `target`, the right class of a token or of the example, or whatever the loss of the task
    compares with; `weight`, the weight of each prediction.
    """

    x: Any
    target: Array
    weight: Array


FAR = 10**18
"""The largest length allowed."""


@dataclasses.dataclass(frozen=True)
class Task(Spelt, abc.ABC):
    """A distribution over examples of each length, and how outputs on them are judged.

    To define a task, write a frozen dataclass with `draw` and `options`. Everything else has a
    default: classification of every target by cross entropy, lengths from 2 on, no `problem`.
    """

    smallest: ClassVar[int] = 2
    """The smallest length."""

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray, length: int) -> Sample:
        """Return one example of a length that passed `check`, a function of the key."""

    @property
    @abc.abstractmethod
    def options(self) -> dict[str, Any]:
        """Options for `nets.Transformer` on this task."""

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
        """Return the number of tokens of an example of this length."""
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

        If an example has several targets, `exact` is 1 if all with nonzero weight are right, else
        0.
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
            f"{type(self).__name__} cannot be used for kernel regression: it has no `problem`, "
            "which says what number to predict."
        )


def weighted_mean(
    values: Float[Array, "*tokens"], weight: Float[Array, "*tokens"]
) -> Float[Array, ""]:
    """Return the weighted mean of `values`; the weights are not all zero."""
    return jnp.sum(values * weight) / jnp.sum(weight)


def regression(
    task: Task, key: PRNGKeyArray, count: int, length: int
) -> tuple[Float[Array, "count tokens d"], Float[Array, " count"]]:
    """Return inputs (count, tokens, d) and targets (count,) for kernel regression.

    Token ids become one-hot vectors. Targets are +1 and -1, or standardised; the `problem` of each
    task says what is predicted.

    **Raises:** `ValueError` for a count below 1, a length that the task does not have, or a task
    without a `problem`.
    """
    instance("task", task, Task, "a task, an object and not a class")
    key, count, length = as_key(key), size("count", count), size("a length", length, 0)
    task.check(length)
    return jax.vmap(lambda k: task.problem(k, length))(jax.random.split(key, count))
