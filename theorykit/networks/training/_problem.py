"""What training needs from a task or a data set."""

import abc
from collections.abc import Callable, Mapping
from typing import Any

import jax
from jaxtyping import Array, Float, Key

from theorykit.common.spelling import Spelt

Apply = Callable[[Array, Array], Array]
"""`apply(x, key)`: the outputs of the network on one example."""

Split = Callable[[Array], Array]
"""`split(examples)`: the same array, spread over devices along its first axis."""


class Problem(Spelt, abc.ABC):
    """A task or a data set, with the way in which outputs on it are judged."""

    @property
    @abc.abstractmethod
    def arrays(self) -> Any:
        """Arrays that live on the device while networks train, each with examples in front."""

    @property
    @abc.abstractmethod
    def seed_axis(self) -> int | None:
        """The axis of `arrays` along which each seed has its own; None if they share all."""

    @abc.abstractmethod
    def inputs(self) -> dict[str, tuple[int, jax.ShapeDtypeStruct]]:
        """Return, for each use, its length and the shape of one input."""

    @abc.abstractmethod
    def batches(self) -> dict[str, int]:
        """Return, by name, the numbers of examples that are split over devices."""

    @abc.abstractmethod
    def check_seeds(self, count: int) -> None:
        """Raise a `ValueError` if the problem is for another number of seeds."""

    def of_seeds(self, places: range) -> Any:
        """Return the problem of some of the seeds, by their places."""
        return self

    @abc.abstractmethod
    def objective(
        self, apply: Apply, arrays: Any, key: Key[Array, ""], split: Split
    ) -> Float[Array, ""]:
        """Return the number whose gradient one step follows."""

    @abc.abstractmethod
    def measure(
        self, apply: Apply, arrays: Any, key: Key[Array, ""], split: Split
    ) -> dict[str, Float[Array, ""]]:
        """Return what is measured between chunks; a `"loss"` takes the place of the objective."""

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""


def named_sets(evaluate: Any) -> dict[str, Any]:
    """Return what `evaluate` names as a dictionary.

    **Raises:** `ValueError` if it is not a dictionary, or a name is not a string.
    """
    sets = {} if evaluate is None else evaluate
    if not isinstance(sets, Mapping) or not all(isinstance(name, str) for name in sets):
        raise ValueError(f"evaluate is a dictionary with names of sets, got {evaluate!r}.")
    return dict(sets)
