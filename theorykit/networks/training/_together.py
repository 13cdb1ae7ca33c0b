"""Several processes that train together: all of them learn what the first one finds out.

All processes have to call these functions, in the same order.
"""

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from theorykit.common.errors import explain
from theorykit.common.folders import difference

Made = TypeVar("Made")


def is_first() -> bool:
    """Return whether this is the process that reads, writes and decides for all."""
    return jax.process_index() == 0


def agreed(make: Callable[[], Made]) -> Made:
    """Return what the first process makes, or raise in all of them what it raises there."""
    said = b""
    raised: Exception | None = None
    if is_first():
        try:
            said = pickle.dumps((True, make()))
        except Exception as error:
            raised = error
            said = pickle.dumps((False, _portable(error)))
    length = _sent(np.frombuffer(np.int64(len(said)).tobytes(), np.uint8))
    size = int(np.frombuffer(length, np.int64)[0])
    returned, value = pickle.loads(
        _sent(np.frombuffer(said, np.uint8) if said else np.zeros(size, np.uint8))
    )
    if not returned:
        raise value if raised is None else raised
    return value


def _portable(error: Exception) -> Exception:
    """Return an error that the other processes can read: some do not survive pickling."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@contextlib.contextmanager
def going_on() -> Iterator[None]:
    """Return a scope that reports in one sentence that processes have lost each other.

    **Raises:** `ValueError` in place of JAX's error, which depends on the backend and the moment.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" in str(error):
            raise
        raise ValueError(
            f"{jax.process_count()} processes train together, and cannot go on "
            f"({explain(error)}); if one is gone, start all of them again: with a folder, they go "
            "on from its last checkpoint."
        ) from error


def check_same(arguments: Mapping[str, Any]) -> None:
    """Raise a `ValueError` in all processes unless all were called with the same arguments."""
    found = difference(agreed(lambda: arguments), arguments)
    others = np.asarray(multihost_utils.process_allgather(np.array([found is not None])))
    if not others.any():
        return
    here = f"process {jax.process_index()} of {jax.process_count()}"
    if found is None:
        said = f"process {int(others.ravel().argmax())} calls fit with other arguments than {here}"
    else:
        name, first, own = found
        said = f"{here} calls fit with {name} {own}, the first one with {name} {first}"
    raise ValueError(f"{said}; all processes of a mesh give the same arguments.")


def _sent(data: np.ndarray) -> bytes:
    """Return the bytes of the first process; all processes know their number."""
    return np.asarray(multihost_utils.broadcast_one_to_all(data)).astype(np.uint8).tobytes()
