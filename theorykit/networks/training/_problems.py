"""What is trained on: a task that makes fresh samples, or fixed data.

Both offer the same: `arrays` that live on the device; `loss(apply, arrays, key)`, the number whose
gradient is followed; `metrics(apply, arrays, key)`, what is evaluated between chunks.
`apply(x, key)` is the network on one example.
"""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.common.arguments import finite, whole

Array = Any


class OnTask:
    """Fresh samples each step, drawn on the device from the step's key.

    **Raises:** `ValueError` if `evaluate` is not a dictionary of dictionaries with `length` and
    `batch`.
    """

    def __init__(self, task: Any, batch: int, length: int, evaluate: Mapping[str, Any] | None):
        self.task, self.batch, self.length = task, batch, length
        self.evaluate = {}
        for name, at in _sets(evaluate).items():
            at = dict(at) if isinstance(at, Mapping) else {"?": at}
            unknown = set(at) - {"length", "batch"}
            if unknown:
                raise ValueError(f"evaluate[{name!r}] takes length and batch, got {at}.")
            at = {"length": length, "batch": batch} | at
            self.evaluate[name] = {
                what: whole(f"the {what} of evaluate[{name!r}]", n) for what, n in at.items()
            }
        self.arrays: dict[str, Any] = {}
        self.axis: int | None = None
        self.split = lambda value: value

    def example(self, length: int) -> Any:
        """Return the shapes of an input."""
        return jax.eval_shape(lambda key: self.task.sample(key, length), jax.random.key(0)).x

    def inputs(self) -> dict[str, Any]:
        """Return, for each use, its length and the shapes of its input."""
        lengths = {"length": self.length}
        lengths |= {f"evaluate[{name!r}]": at["length"] for name, at in self.evaluate.items()}
        return {name: (length, self.example(length)) for name, length in lengths.items()}

    def batches(self) -> dict[str, int]:
        """Return how many examples each use takes."""
        return {"batch": self.batch}

    def loss(self, apply: Callable, arrays: Any, key: Array) -> Array:
        """Return the mean loss of one fresh batch."""

        def one(key):
            sample_key, apply_key = jax.random.split(key)
            sample = self.task.sample(sample_key, self.length)
            return self.task.loss(apply(sample.x, apply_key), sample)

        return jax.vmap(one)(self.split(jax.random.split(key, self.batch))).mean()

    def metrics(self, apply: Callable, arrays: Any, key: Array) -> dict[str, Array]:
        """Return the mean metrics and the loss of fresh batches, a batch an entry of `evaluate`."""
        found: dict[str, Array] = {}
        for name, at in self.evaluate.items():

            def one(key, length=at["length"]):
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
            "task": named(self.task),
            "batch": self.batch,
            "length": self.length,
            "evaluate": self.evaluate,
        }


class OnData:
    """A fixed set: one for all seeds, or one `each`, along a first axis.

    Each step takes the whole of it, or as many of its examples as a `minibatch` has, drawn with
    replacement.

    **Raises:** `ValueError` if inputs and targets differ in number.
    """

    def __init__(
        self,
        data: Any,
        loss: Callable | None,
        evaluate: Mapping[str, Any] | None,
        each: bool = False,
        minibatch: int | None = None,
    ):
        self.arrays = {}
        self.minibatch = None if minibatch is None else whole("minibatch", minibatch)
        self.axis = 0 if each else None
        examples = int(each)
        evaluate = _sets(evaluate)
        if "data" in evaluate:
            raise ValueError('evaluate has no set named "data", which is what is trained on.')
        for name, pair in {"data": data, **evaluate}.items():
            where = "data" if name == "data" else f"evaluate[{name!r}]"
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"{where} is a pair (x, y), got {type(pair).__name__}.")
            x, y = map(jnp.asarray, pair)
            shapes = x.shape[: examples + 1], y.shape[: examples + 1]
            if len(shapes[0]) <= examples or shapes[0] != shapes[1] or 0 in shapes[0]:
                raise ValueError(
                    f"{where} has inputs of shape {x.shape} and targets of shape {y.shape}; "
                    "they need the same number of examples, at least 1."
                )
            finite(f"the inputs of {where}", x)
            finite(f"the targets of {where}", y)
            if jnp.iscomplexobj(y):
                raise ValueError(f"the targets of {where} are real, not {y.dtype}.")
            self.arrays[name] = (x, y)
        self.one_loss = loss
        self.split = lambda value: value

    def inputs(self) -> dict[str, Any]:
        """Return, for each use, its length and the shapes of its input."""
        first = 1 if self.axis is None else 2
        shape = lambda x: jax.ShapeDtypeStruct(x.shape[first:], x.dtype)
        length = lambda x: x.shape[first] if x.ndim > first else 1
        return {n: (length(x), shape(x)) for n, (x, _) in self.arrays.items()}

    def batches(self) -> dict[str, int]:
        """Return how many examples each use takes."""
        return {"data": self.arrays["data"][0].shape[0 if self.axis is None else 1]}

    def error(self, out: Array, y: Array) -> Array:
        """Return the loss of one example: half the squared error, summed over the outputs."""
        if self.one_loss is not None:
            return self.one_loss(out, y)
        if out.shape != y.shape and not out.size == y.size == 1:
            raise ValueError(
                f"the network puts out the shape {out.shape} and a target has the shape {y.shape}."
            )
        return 0.5 * jnp.sum((out - y.reshape(out.shape)) ** 2)

    def mean(self, apply: Callable, pair: Any, key: Array) -> Array:
        """Return the mean loss of a set."""
        x, y = map(self.split, pair)
        keys = jax.random.split(key, len(x))
        return jax.vmap(lambda x, y, key: self.error(apply(x, key), y))(x, y, keys).mean()

    def loss(self, apply: Callable, arrays: Any, key: Array) -> Array:
        """Return the mean loss of the data, or of a minibatch of it."""
        pair = arrays["data"]
        if self.minibatch is not None:
            key, draw = jax.random.split(key)
            chosen = jax.random.randint(draw, (self.minibatch,), 0, len(pair[0]))
            pair = jax.tree.map(lambda a: a[chosen], pair)
        return self.mean(apply, pair, key)

    def metrics(self, apply: Callable, arrays: Any, key: Array) -> dict[str, Array]:
        """Return the loss on the data and on each set of `evaluate`, after the last step."""
        losses = {
            n if n == "data" else f"{n}/loss": self.mean(apply, pair, key)
            for n, pair in arrays.items()
        }
        return {"loss": losses.pop("data"), **losses}

    def describe(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""
        hashes = {name: [fingerprint(a) for a in pair] for name, pair in self.arrays.items()}
        facts = {"data": hashes, "loss": named(self.one_loss)}
        return facts if self.minibatch is None else facts | {"minibatch": self.minibatch}


def _sets(evaluate: Any) -> dict[str, Any]:
    named = isinstance(evaluate or {}, Mapping)
    if not named or not all(isinstance(name, str) for name in evaluate or {}):
        raise ValueError(f"evaluate is a dictionary with names of sets, got {evaluate!r}.")
    return dict(evaluate or {})


def named(thing: Any) -> str:
    """Return what can be said about an object in every process: no addresses."""
    said = repr(thing)
    if " at 0x" not in said:
        return said
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def fingerprint(array: Array) -> str:
    """Return a short hash of shape, type and content."""
    array = np.asarray(array)
    content = f"{array.shape}{array.dtype}".encode() + np.ascontiguousarray(array).tobytes()
    return hashlib.sha256(content).hexdigest()[:16]
