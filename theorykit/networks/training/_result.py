"""What a fit returns, or raises."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from flax import nnx
from jaxtyping import Int

from theorykit.common import picture
from theorykit.common.arguments import LARGEST, whole
from theorykit.networks.training._history import History
from theorykit.networks.training._state import State


class Seconds(NamedTuple):
    """Where the time went in this process: `total` of the training, `inside` compiled code.

    `compiling` came before it and is not part of `total`.
    """

    total: float
    inside: float
    compiling: float


@dataclass(frozen=True)
class Fit:
    """Trained networks.

    **Fields:** `history`; `state`: the arrays of all seeds; `seconds`; `graph`: what
    `flax.nnx.merge` needs to make a network of one seed's arrays; `precision`: of matrix products,
    as it was set, or "default of gpu" (or another backend) if it was not set.
    """

    history: History
    state: State
    seconds: Seconds
    graph: Any
    precision: str = "default"

    def __str__(self) -> str:
        """Return the fit in one line."""
        values = self.history.values.items()
        ends = ", ".join(f"{name} {v[-1].mean():.4g}" for name, v in values if len(v))
        seeds, seconds = len(self.history.seeds), self.seconds.total
        return f"Fit: {seeds} seeds, {seconds:.1f} s; means at the end: {ends}"

    _repr_html_ = picture.html

    @property
    def stopped_at(self) -> Int[np.ndarray, " seeds"]:
        """The step at which each seed met the stop rule, or -1."""
        return np.asarray(self.state.stopped_at)

    def network(self, index: int | np.integer) -> nnx.Module:
        """Return the network of one seed, by its place among the seeds.

        **Raises:** `ValueError` if there is no such place.
        """
        count = len(self.history.seeds)
        if not -count <= (index := whole("index", index, -LARGEST)) < count:
            raise ValueError(f"there are {count} seeds, and none at the index {index}.")
        return nnx.merge(self.graph, jax.tree.map(lambda a: a[index], self.state.parameters()))


@picture.pieces.register
def _(fit: Fit) -> list[Any]:
    return picture.pieces(fit.history)


class Diverged(ValueError):
    """Training stopped: a loss or a parameter is not finite.

    **Fields:** `fit`: everything until then, in which a seed that diverged has its last finite
    parameters; its history ends with the chunk in which it happened.
    """

    def __init__(self, message: str, fit: Fit):
        super().__init__(message)
        self.fit = fit

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.fit)


class Paused(Exception):
    """The time given to a fit is over; called again with the same folder, the fit continues.

    **Fields:** `step`: how many steps have been made.
    """

    def __init__(self, step: int):
        super().__init__(f"the time is over after {step} steps; the same call goes on from there.")
        self.step = step

    def __reduce__(self) -> tuple:
        return type(self), (self.step,)
