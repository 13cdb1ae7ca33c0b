"""The mechanisms that have a name, and what may stand in for one."""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp

from theorykit.common.spelling import nearest
from theorykit.kernels.attention.base import Exact, Mechanism, Settled
from theorykit.kernels.attention.identity import Identity
from theorykit.kernels.attention.softmax import Softmax

NAMES: Mapping[str, Mechanism] = MappingProxyType({"softmax": Softmax(), "identity": Identity()})


def mechanism(attention: Any) -> Mechanism:
    """Return the mechanism of that name, or the object itself if it is one.

    **Raises:** `ValueError` for anything else; for a class that changes the weights of a shipped
    mechanism and would keep its derivatives; for one that cannot be hashed, whose weights have
    another signature or shape, or that gives weights to tokens that are not allowed.
    """
    known = NAMES.get(attention) if isinstance(attention, str) else attention
    if isinstance(known, type) and issubclass(known, Mechanism):
        raise ValueError(
            f"attention is an object, and {known.__name__} is a class: write {known.__name__}()"
        )
    if not isinstance(known, Mechanism):
        meant = nearest(attention, NAMES) if isinstance(attention, str) else ""
        raise ValueError(
            f"attention is one of {', '.join(map(repr, NAMES))}, got {attention!r}; other "
            f"mechanisms are objects, such as kernels.attention.Sigmoid().{meant}"
        )
    if known.exact and not isinstance(known, Exact):
        raise ValueError(
            f"an exact mechanism is derived from Exact or Settled, but {known!r} is not"
        )
    if isinstance(known, Settled) and type(known).closed is not Settled.closed:
        raise ValueError(
            f"the layer of a Settled mechanism is A V A', and {type(known).__name__} has another "
            "closed form: derive it from Exact"
        )
    lies = lambda name: next(c for c in type(known).__mro__ if name in vars(c))
    weights = lies("weights")
    for other in map(lies, ("settled",) if known.exact else ("rows", "step")):
        if other is not Mechanism and other is not weights and issubclass(weights, other):
            raise ValueError(
                f"a mechanism brings its weights with their derivatives, but {weights.__name__} "
                f"changes the weights of {other.__name__} and keeps its derivatives: derive it "
                "from Mechanism, Elementwise or Normalised"
            )
    try:
        hash(known)
    except TypeError:
        if jax.tree_util.all_leaves([known]):
            raise ValueError(
                "a mechanism is hashed, since code is compiled for it: make "
                f"{type(known).__name__} a frozen dataclass of numbers and names"
            ) from None
        return known  # one with parameters that are arrays or traced
    if not _hides(known):
        raise ValueError(
            "tokens that are not allowed have weight 0 and change no other weight, but those of "
            f"{known!r} do"
        )
    return known


@lru_cache(maxsize=256)
def _hides(of: Mechanism) -> bool:
    """Return whether a token that a row may not see counts for nothing in a row of four.

    **Raises:** `ValueError` if the weights are asked for in another way, or have another shape.
    """
    name, signature = type(of).__name__, inspect.signature(of.weights)
    try:
        signature.bind("scores", "allowed")
    except TypeError:
        raise ValueError(
            f"the weights of a mechanism are a method weights(self, scores, allowed); {name} has "
            f"weights{signature}, without self"
        ) from None
    with jax.ensure_compile_time_eval():
        see = jnp.array([True, True, True, False])
        scores = (jnp.array([0.3, -0.7, 0.2, s]) for s in (1.1, -2.0))
        one, other = (jnp.asarray(of.weights(score, see)) for score in scores)
        if one.shape != see.shape:
            raise ValueError(
                f"weights have the shape of their scores, {see.shape} for a row of four tokens; "
                f"those of {name} have {one.shape}"
            )
        return bool((one == other).all() & (one[3] == 0))
