"""Training on a task: fresh samples at each step."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from theorykit.common.arguments import size
from theorykit.common.hashes import stable_name
from theorykit.networks.training._problem import Apply, Problem, Split, named_sets


@dataclass(frozen=True, eq=False)
class OnTask(Problem):
    """Train on fresh samples of a task, drawn on the device from the key of each step.

    **Arguments:**

    - `task`: has `sample(key, length)`, which makes one example with an input `x`, and
      `loss(outputs, sample)`; to be evaluated also `metrics(outputs, sample)`, a dictionary of
      numbers.
    - `length`, `batch`: the length of the samples, and how many of them each step draws.
    - `evaluate`: name -> `dict(length=..., batch=...)`, each by default that of training. Fresh
      samples are drawn at the end of each chunk; their mean loss and metrics are called
      `"name/loss"`, `"name/accuracy"`, ...

    **Raises:** `ValueError` for something else in place of a task, a size below 1, or sets to
    evaluate that are not described by `length` and `batch`.
    """

    task: Any
    length: int = 16
    batch: int = 64
    evaluate: Mapping[str, Mapping[str, int]] | None = None

    def __post_init__(self) -> None:
        """Check everything, and complete the sizes of `evaluate`."""
        if isinstance(self.task, type):
            raise ValueError(f"task is an object, such as {self.task.__name__}(), not its class.")
        sizes = {"length": size("length", self.length), "batch": size("batch", self.batch)}
        sets = {n: _sizes(n, at, sizes) for n, at in named_sets(self.evaluate).items()}
        for method in ("sample", "loss", *(["metrics"] if sets else [])):
            if not callable(getattr(self.task, method, None)):
                raise ValueError(
                    f"a task has the method {method}, which this {type(self.task).__name__} lacks."
                )
        for name, value in {**sizes, "evaluate": sets}.items():
            object.__setattr__(self, name, value)

    @property
    def arrays(self) -> dict[str, Any]:
        """No arrays: samples follow from keys."""
        return {}

    @property
    def seed_axis(self) -> None:
        """No arrays are kept that could differ between seeds."""
        return None

    def inputs(self) -> dict[str, tuple[int, jax.ShapeDtypeStruct]]:
        """Return, for each use, its length and the shape of one input."""
        lengths = {"length": self.length}
        lengths |= {f"evaluate[{name!r}]": at["length"] for name, at in self._sets.items()}
        shape = lambda n: jax.eval_shape(lambda key: self.task.sample(key, n), jax.random.key(0)).x
        return {name: (length, shape(length)) for name, length in lengths.items()}

    def batches(self) -> dict[str, int]:
        """Return how many samples a step draws."""
        return {"batch": self.batch}

    def check_seeds(self, count: int) -> None:
        """Accept any number of seeds: each draws its own samples."""

    def objective(
        self, apply: Apply, arrays: Any, key: Key[Array, ""], split: Split
    ) -> Float[Array, ""]:
        """Return the mean loss of one fresh batch."""

        def one(key: Array) -> Array:
            sample_key, apply_key = jax.random.split(key)
            sample = self.task.sample(sample_key, self.length)
            return self.task.loss(apply(sample.x, apply_key), sample)

        return jax.vmap(one)(split(jax.random.split(key, self.batch))).mean()

    def measure(
        self, apply: Apply, arrays: Any, key: Key[Array, ""], split: Split
    ) -> dict[str, Float[Array, ""]]:
        """Return the mean loss and metrics of a fresh batch for each entry of `evaluate`."""
        found: dict[str, Array] = {}
        for name, at in self._sets.items():

            def one(key: Array, length: int = at["length"]) -> dict[str, Array]:
                sample_key, apply_key = jax.random.split(key)
                sample = self.task.sample(sample_key, length)
                out = apply(sample.x, apply_key)
                return {"loss": self.task.loss(out, sample), **self.task.metrics(out, sample)}

            keys = jax.random.split(jax.random.fold_in(key, zlib.crc32(name.encode())), at["batch"])
            means = jax.tree.map(lambda v: jnp.mean(v, dtype=float), jax.vmap(one)(keys))
            found |= {f"{name}/{metric}": value for metric, value in means.items()}
        return found

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""
        return {
            "task": stable_name(self.task),
            "batch": self.batch,
            "length": self.length,
            "evaluate": self._sets,
        }

    @property
    def _sets(self) -> Mapping[str, Mapping[str, int]]:
        return self.evaluate or {}


def _sizes(name: str, given: Any, default: dict[str, int]) -> dict[str, int]:
    """Return the length and batch of one set of `evaluate`."""
    if not isinstance(given, Mapping) or set(given) - set(default):
        raise ValueError(f"evaluate[{name!r}] takes length and batch, got {given!r}.")
    return {
        what: size(f"the {what} of evaluate[{name!r}]", count)
        for what, count in (default | dict(given)).items()
    }
