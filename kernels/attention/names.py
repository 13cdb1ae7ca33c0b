"""The mechanisms that have a name, and what may stand in for one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jax

from theorykit.kernels.attention.base import Mechanism
from theorykit.kernels.attention.identity import Identity
from theorykit.kernels.attention.softmax import Softmax

NAMES: Mapping[str, Mechanism] = MappingProxyType({"softmax": Softmax(), "identity": Identity()})


def mechanism(attention: Any) -> Mechanism:
    """Return the mechanism of that name, or the object itself if it is one.

    **Raises:** `ValueError` for anything else; for a class that changes the weights of a shipped
    mechanism and would keep its derivatives; for one that cannot be hashed.
    """
    known = NAMES.get(attention) if isinstance(attention, str) else attention
    if not isinstance(known, Mechanism):
        raise ValueError(
            f"attention is one of {', '.join(map(repr, NAMES))}, got {attention!r}; other "
            "mechanisms are objects, such as kernels.attention.Sigmoid()"
        )
    lies = lambda name: next(c for c in type(known).__mro__ if name in vars(c))
    weights, others = lies("weights"), [lies(name) for name in ("rows", "settled", "step")]
    for other in others:
        if other is not Mechanism and other is not weights and issubclass(weights, other):
            raise ValueError(
                f"a mechanism brings its weights with their derivatives, but {weights.__name__} "
                f"changes the weights of {other.__name__} and keeps its derivatives: derive it "
                "from Mechanism, Elementwise or Normalised"
            )
    if known.exact and others[1] is Mechanism:
        raise ValueError(f"an exact mechanism brings settled(), but {known!r} does not")
    if jax.tree_util.all_leaves([known]):
        try:
            hash(known)
        except TypeError:
            raise ValueError(
                "a mechanism is hashed, since code is compiled for it: make "
                f"{type(known).__name__} a frozen dataclass of numbers and names"
            ) from None
    return known
