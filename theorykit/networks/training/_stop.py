"""When a seed has trained enough."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
from jaxtyping import Array, Bool, Float

from theorykit.common.arguments import as_array, flag, instance, real, shown


@dataclass(frozen=True)
class reaches:
    """Whether a metric has reached a value: is at least that, or at most with `below=True`.

    **Arguments:** `metric`: its name in the history, such as `"16/accuracy"` or `"loss"`; `value`.
    """

    metric: str
    value: float
    below: bool = False

    def __post_init__(self) -> None:
        """Check everything."""
        instance("metric", self.metric, str, "the name of a metric")
        real("value", self.value)
        flag("below", self.below)

    def __call__(self, metrics: dict[str, Float[Array, ""]]) -> Bool[Array, ""]:
        """Return a bool for the metrics of one seed."""
        instance("metrics", metrics, Mapping, "a dictionary of the metrics of one seed")
        if self.metric not in metrics and not isinstance(metrics, _Known):
            raise ValueError(f"there is no metric {self.metric!r} among {shown(list(metrics))}.")
        found = as_array(f"the metric {self.metric!r}", metrics[self.metric])
        return found <= self.value if self.below else found >= self.value


class _Known(dict):
    def __missing__(self, name: str) -> Array:
        raise ValueError(
            f"stop asks for the metric {name!r}; evaluate gives {', '.join(map(repr, self))}."
        )


def check(stop: Any, metrics: dict[str, Any]) -> None:
    """Try a stop rule on the shapes of one seed's metrics.

    **Raises:** `ValueError` if it asks for another metric or does not return one bool.
    """
    if not callable(stop):
        raise ValueError(
            f"stop is a function of a seed's metrics, such as reaches(...), not {stop!r}."
        )
    try:
        out = jax.eval_shape(lambda m: stop(_Known(m)), metrics)
    except jax.errors.ConcretizationTypeError:
        raise ValueError(
            "stop is compiled: it returns a jax bool, made with & and | and not by `if`, `and` or "
            "bool()."
        ) from None
    if getattr(out, "shape", None) != () or out.dtype != bool:
        raise ValueError(f"stop returns one bool from the metrics of one seed, got {out}.")
