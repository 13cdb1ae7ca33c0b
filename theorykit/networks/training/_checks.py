"""What `fit` refuses before anything is compiled."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
from flax import nnx
from jaxtyping import Array, Key

from theorykit.common.arguments import seed_numbers
from theorykit.common.keys import as_key
from theorykit.networks.training._on_data import OnData
from theorykit.networks.training._on_task import OnTask
from theorykit.networks.training._problem import Problem
from theorykit.networks.training._result import Fit
from theorykit.networks.training._state import State


def checked_problem(problem: Any) -> OnTask | OnData:
    """Return the problem.

    **Raises:** `ValueError`, with the right call, for a task or data alone.
    """
    if isinstance(problem, OnTask | OnData):
        return problem
    if isinstance(problem, tuple | list) and len(problem) == 2:
        raise ValueError(
            "a pair is trained on as OnData(x, y): fit(make, OnData(x, y), optimizer)."
        )
    name = problem.__name__ if isinstance(problem, type) else type(problem).__name__
    if callable(getattr(problem, "sample", None)):
        raise ValueError(
            f"a task is trained on as OnTask(task, length=..., batch=...): "
            f"fit(make, OnTask({name}(...)), optimizer)."
        )
    raise ValueError(f"problem is OnTask(task, ...) or OnData(x, y, ...), not {name}.")


def starting_state(start: Any) -> State | None:
    """Return the state to continue from.

    **Raises:** `ValueError` unless it is a fit, a state or None.
    """
    state = start.state if isinstance(start, Fit) else start
    if start is not None and not isinstance(state, State):
        raise ValueError(f"start is an earlier fit or its state, not {type(start).__name__}.")
    return state


def numbers_of(seeds: int | Sequence[int] | None, start: State | None) -> list[int]:
    """Return the numbers of the seeds; by default as many as there are networks, or four.

    **Raises:** `ValueError` for anything but numbers, or if their count is not that of the
    networks.
    """
    count = None if start is None else len(start.stopped_at)
    if seeds is None:
        seeds = 4 if count is None else count
    numbers = seed_numbers(seeds)
    if count not in (None, len(numbers)):
        raise ValueError(f"start holds {count} networks, and there are {len(numbers)} seeds.")
    return numbers


def root_key(key: Any) -> Key[Array, ""]:
    """Return the key that all random numbers follow from.

    **Raises:** `ValueError` unless it is one, or a number from 0 to 2^32 - 1.
    """
    return as_key(key)


def check_network(network: nnx.Module, problem: Problem) -> None:
    """Raise a `ValueError` if the problem's inputs and targets do not fit the network.

    A network that keeps batch statistics does not fit either: examples pass through one by one.
    """
    if jax.tree.leaves(nnx.state(network, nnx.BatchStat)):
        raise ValueError(
            f"{type(network).__name__} keeps statistics of batches, which fit does not update; "
            "take a norm over the features, such as nnx.LayerNorm."
        )
    _check_positions(network, problem)
    if isinstance(problem, OnTask):
        _check_sizes(network, problem.task)


def _check_positions(network: nnx.Module, problem: Problem) -> None:
    most, offset = getattr(network, "max_tokens", None), getattr(network, "random_offset", False)
    if most is None or (getattr(network, "positions", None) in (None, "rotary") and not offset):
        return
    for name, (length, x) in problem.inputs().items():
        if x.shape[0] > most:
            raise ValueError(
                f"the length {length} of {name} makes {x.shape[0]} tokens, more than the {most} "
                "positions; make the network with a larger max_tokens."
            )


def _check_sizes(network: nnx.Module, task: Any) -> None:
    """Compare a network's sizes with those that one of our tasks states it needs."""
    wanted = getattr(task, "options", None)
    for name, value in (wanted if isinstance(wanted, Mapping) else {}).items():
        has = getattr(network, name, value)
        enough = has >= value if name in ("vocabulary", "outputs") and has else has == value
        if name in ("vocabulary", "outputs", "readout") and not enough:
            raise ValueError(
                f"{type(task).__name__} needs a network with {name} {value!r}, this one has "
                f"{has!r}; make it with the task's options."
            )
