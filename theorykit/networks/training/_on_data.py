"""Training on data: the same examples at each step."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key, Shaped

from theorykit.common.arguments import as_array, finite, flag, function, size
from theorykit.common.hashes import content_hash, stable_name
from theorykit.networks.training._problem import Apply, Problem, Split, named_sets

Pair = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class OnData(Problem):
    """Train on a fixed set of P examples: all of them in each step, or a minibatch.

    Without a `loss`, it is

        L = 1 / P sum_i 1/2 |f(x_i) - y_i|^2        (summed over the outputs of f).

    Then t steps of `optax.sgd(lr)` are t Euler steps of size lr / P of df/dt = -Theta (f - y), with
    the empirical NTK Theta: t steps stand for the time lr t / P. `history["loss"]` is L after the
    last step of a chunk.

    **Arguments:**

    - `x`, `y`: inputs (P, ...) and real targets (P, ...).
    - `loss`: the loss of one example from the network's outputs and the target.
    - `each`: whether every seed has data of its own, along a first axis of `x`, `y` and what is
      evaluated.
    - `minibatch`: how many examples each step takes, drawn with replacement; None for all.
    - `evaluate`: name -> `(x, y)`, whose loss is called `"name/loss"`.

    **Raises:** `ValueError` if inputs and targets differ in number, a value is not finite, or
    `evaluate` does not name pairs.
    """

    x: Shaped[ArrayLike, "..."]
    y: Shaped[ArrayLike, "..."]
    _: KW_ONLY
    loss: Callable[[Array, Array], Array] | None = None
    each: bool = False
    minibatch: int | None = None
    evaluate: Mapping[str, tuple[Any, Any]] | None = None

    def __post_init__(self) -> None:
        """Check everything."""
        if self.minibatch is not None:
            object.__setattr__(self, "minibatch", size("minibatch", self.minibatch))
        if self.loss is not None:
            function("loss", self.loss, "a function of the outputs and the target of one example")
        object.__setattr__(self, "each", flag("each", self.each))
        sets = named_sets(self.evaluate)
        object.__setattr__(self, "evaluate", sets)
        if "data" in sets:
            raise ValueError('evaluate has no set named "data", which is what is trained on.')
        self._check_pair("data", self.x, self.y)
        for name, pair in sets.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"evaluate[{name!r}] is a pair (x, y), got {type(pair).__name__}.")
            self._check_pair(f"evaluate[{name!r}]", *pair)

    def _check_pair(self, where: str, x: Any, y: Any) -> None:
        x = as_array(f"the inputs of {where}", x, "buifc")
        y = as_array(f"the targets of {where}", y, "buifc")
        axes = 2 if self.each else 1  # those that inputs and targets share
        shapes = x.shape[:axes], y.shape[:axes]
        if len(shapes[0]) < axes or shapes[0] != shapes[1] or 0 in shapes[0]:
            raise ValueError(
                f"{where} has inputs of shape {x.shape} and targets of shape {y.shape}; "
                "they need the same number of examples, at least 1."
            )
        finite(f"the inputs of {where}", x)
        finite(f"the targets of {where}", y)
        if np.iscomplexobj(y):
            raise ValueError(f"the targets of {where} are real, not {y.dtype}.")

    @property
    def arrays(self) -> dict[str, Pair]:
        """Inputs and targets of the data and of each set that is evaluated."""
        pairs = {"data": (self.x, self.y), **(self.evaluate or {})}
        return {name: (jnp.asarray(x), jnp.asarray(y)) for name, (x, y) in pairs.items()}

    @property
    def seed_axis(self) -> int | None:
        """The first axis, if each seed has data of its own."""
        return 0 if self.each else None

    def inputs(self) -> dict[str, tuple[int, jax.ShapeDtypeStruct]]:
        """Return, for each use, its length and the shape of one input."""
        first = 2 if self.each else 1
        shape = lambda x: jax.ShapeDtypeStruct(x.shape[first:], x.dtype)
        length = lambda x: x.shape[first] if x.ndim > first else 1
        return {name: (length(x), shape(x)) for name, (x, _) in self.arrays.items()}

    def batches(self) -> dict[str, int]:
        """Return how many examples a step takes."""
        return {"data": np.shape(self.x)[1 if self.each else 0]}

    def check_seeds(self, count: int) -> None:
        """Raise a `ValueError` if each seed has data of its own and the counts differ."""
        for name, (x, _) in self.arrays.items() if self.each else ():
            if len(x) != count:
                raise ValueError(
                    f"with each=True the first axis of {name} is one of {count} seeds, "
                    f"not {len(x)}."
                )

    def of_seeds(self, places: range) -> "OnData":
        """Return the problem of some of the seeds: their data, if each has its own."""
        if not self.each:
            return self
        part = lambda pair: tuple(a[places.start : places.stop] for a in pair)
        x, y = part((self.x, self.y))
        sets = {name: part(pair) for name, pair in (self.evaluate or {}).items()}
        return replace(self, x=x, y=y, evaluate=sets)

    def objective(
        self, apply: Apply, arrays: dict[str, Pair], key: Key[Array, ""], split: Split
    ) -> Float[Array, ""]:
        """Return the mean loss of the data, or of a minibatch of it."""
        pair = arrays["data"]
        if self.minibatch is not None:
            key, draw = jax.random.split(key)
            chosen = jax.random.randint(draw, (self.minibatch,), 0, len(pair[0]))
            pair = jax.tree.map(lambda a: a[chosen], pair)
        return self._mean(apply, pair, key, split)

    def measure(
        self, apply: Apply, arrays: dict[str, Pair], key: Key[Array, ""], split: Split
    ) -> dict[str, Float[Array, ""]]:
        """Return the loss on the data and on each set of `evaluate`."""
        losses = {
            n if n == "data" else f"{n}/loss": self._mean(apply, pair, key, split)
            for n, pair in arrays.items()
        }
        return {"loss": losses.pop("data"), **losses}

    def _mean(self, apply: Apply, pair: Pair, key: Array, split: Split) -> Array:
        """Return the mean loss of a set."""
        x, y = map(split, pair)
        keys = jax.random.split(key, len(x))
        return jax.vmap(lambda x, y, key: self._one(apply(x, key), y))(x, y, keys).mean()

    def _one(self, out: Array, y: Array) -> Array:
        """Return the loss of one example: half the squared error, summed over the outputs."""
        if self.loss is not None:
            return self.loss(out, y)
        if out.shape != y.shape and not out.size == y.size == 1:
            raise ValueError(
                f"the network puts out the shape {out.shape} and a target has the shape {y.shape}."
            )
        return 0.5 * jnp.sum((out - y.reshape(out.shape)) ** 2)

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""
        hashes = {name: [content_hash(a) for a in pair] for name, pair in self.arrays.items()}
        facts = {"data": hashes, "loss": stable_name(self.loss)}
        return facts if self.minibatch is None else facts | {"minibatch": self.minibatch}
