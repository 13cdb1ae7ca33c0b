"""Wrong arguments: what is wrong everywhere, and what a right one becomes when it is spoiled."""

import dataclasses

import hypothesis.strategies as st
import jax
import numpy as np
from flax import nnx

PLAIN = [
    lambda: float("nan"), lambda: float("inf"), lambda: -float("inf"), lambda: -1, lambda: 0,
    lambda: 10**30, lambda: -(10**30), lambda: 1e300, lambda: 0.5, lambda: 1j, lambda: None,
    lambda: "", lambda: "x\0", lambda: b"", lambda: b"ab", lambda: [], lambda: [[1], [2, 3]],
    lambda: {}, lambda: {"a": 1}, lambda: object(), lambda: int, lambda: (i for i in (1, 2)),
    lambda: np.array([]), lambda: np.array([np.nan]), lambda: np.array(["a"]),
    lambda: np.array([None], object), lambda: np.zeros((2, 2, 2, 2)), lambda: jax.numpy.nan,
]  # fmt: skip


def poked(array, value, at: int):
    """Return a copy of an array with another entry."""
    copy = np.array(array, np.result_type(array, type(value)))
    copy.flat[at % copy.size] = value
    return copy


def spoiled(make):
    """Return thunks of an example that was spoiled: its entries, its axes, its dtype."""
    example = make()
    if isinstance(example, jax.Array | np.ndarray):
        if jax.numpy.issubdtype(example.dtype, jax.dtypes.prng_key):
            return [lambda: jax.random.split(make()), lambda: make()[None]]
        yield from (lambda: np.asarray(make())[None], lambda: np.asarray(make())[:0])
        for dtype in (complex, bool, object, str):
            yield lambda dtype=dtype: np.asarray(make()).astype(dtype)
        if example.size and example.dtype.kind in "iuf":
            values = [np.nan, np.inf, 1e300, 1j] if example.dtype.kind == "f" else [0.5, -1, 2**62]
            for value in values:
                for at in (0, example.size - 1):
                    yield lambda value=value, at=at: poked(make(), value, at)
        if example.ndim:
            yield lambda: np.asarray(make())[0]
    elif isinstance(example, tuple | list) and not hasattr(example, "_fields"):
        for at in range(min(len(example), 2)):
            for value in (float("nan"), None, "q", -1, 10**30):
                yield lambda at=at, value=value: type(make())(
                    value if k == at else v for k, v in enumerate(make())
                )
    elif isinstance(example, nnx.Rngs):
        yield lambda: nnx.Rngs
    elif dataclasses.is_dataclass(example) or hasattr(example, "_fields"):
        yield lambda: type(make())
        names = getattr(example, "_fields", None) or [
            f.name for f in dataclasses.fields(example) if f.init
        ]
        for name in names:
            for value in (None, float("nan"), np.array([[np.nan]]), ()):
                yield lambda name=name, value=value: replaced(make(), name, value)
    elif isinstance(example, dict):
        for value in (float("nan"), None, "q", -1):
            yield lambda value=value: dict.fromkeys(make(), value)
    elif isinstance(example, nnx.Module):
        yield lambda: type(make())
    elif callable(example) and not isinstance(example, type):
        for value in (float("nan"), None, "q"):
            yield lambda value=value: lambda *_, **__: value


def replaced(record, name: str, value):
    """Return a record with another field, made by its constructor, which may refuse."""
    if hasattr(record, "_fields"):
        return record._replace(**{name: value})
    return dataclasses.replace(record, **{name: value})


def wrong(make):
    """Return a strategy of thunks that make a wrong argument."""
    numbers = st.one_of(st.floats(min_value=1e30), st.integers(10**20, 10**40), st.integers(-9, -1))
    drawn = numbers.map(lambda n: lambda: n)
    listed = st.sampled_from([None, *PLAIN, *spoiled(make)])
    return listed.flatmap(lambda one: drawn if one is None else st.just(one))
