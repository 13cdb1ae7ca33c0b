"""The transformer in JAX, in floating point."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Integer

from theorykit.common.arguments import affordable, as_array, as_floating, instance, numbered, size
from theorykit.common.precision import promoting
from theorykit.subjects.limit._transformer import Transformer

MOST = 2**30
"""The most attention weights of all strings together: four GiB in float32."""


@promoting
def forward(
    transformer: Transformer,
    x: Integer[ArrayLike, "*batch n"] | Sequence[int],
    offset: int = 0,
    dtype: Any = None,
) -> Float[Array, "*batch n outputs"]:
    """Return the outputs U y^(L), (..., n, outputs), on symbols (..., n).

    Works under `jit` (close over the transformer) and `vmap`. Rounding has derivative zero, so
    `grad` is informative only at `precision=None`.

    **Arguments:** `x`: integers, indices into the alphabet, the first of them 0 for `$`; `dtype`:
    of the computation, JAX's default float if None.

    **Raises:** `ValueError` for an input longer than the context, an index outside the alphabet (if
    `x` is not traced), or more than 2^30 attention weights.
    """
    instance("transformer", transformer, Transformer, "a limit.Transformer")
    x, dtype = as_array("x", x), as_floating("dtype", dtype)
    numbered(x, len(transformer.alphabet))
    offset = size("offset", offset, 0)
    x = jnp.asarray(x, int)
    n = x.shape[-1]
    if not n:
        raise ValueError("an input has at least one symbol, got none.")
    if transformer.context is not None and n + offset > transformer.context:
        raise ValueError(
            f"{n} symbols at offset {offset} exceed the context {transformer.context}."
        )
    affordable(f"attention over {n} symbols", math.prod(x.shape) * n, MOST)
    number = lambda a: jnp.asarray(a, dtype)
    y = number(transformer.E)[x] + number(transformer.encodings(n, offset))
    place = np.arange(1, n + 1)
    causal = jnp.asarray(place[:, None] >= place[None, :])
    for layer in transformer.layers:
        Y = y
        for head in layer.heads:
            key, query = y @ number(head.K).T, y @ number(head.Q).T
            phi = 0.0 if head.phi is None else number(head.phi(place[None, :], place[:, None]))
            scores = query @ jnp.swapaxes(key, -1, -2)
            w = _weights(transformer, scores, phi, causal, number(place)[:, None])
            Y = Y + (w / w.sum(-1, keepdims=True)) @ (y @ number(head.V).T)
        inside = Y @ number(layer.A).T + number(layer.b)
        hidden = jnp.where(layer.heaviside, number(inside >= 0), jnp.maximum(inside, 0))
        y = Y + hidden @ number(layer.B).T
    return y @ number(transformer.U).T


def _weights(
    t: Transformer,
    scores: Float[Array, "*batch n n"],
    phi: Float[Array, "n n"] | float,
    causal: Bool[Array, "n n"],
    place: Float[Array, "n 1"],
) -> Float[Array, "*batch n n"]:
    """Return attention weights before normalisation, eq. (3)."""
    n = causal.shape[-1]
    if t.scaling == "suffix":
        a, scale = _round(scores + jnp.log(place) * phi, t.precision), 1.0
    else:
        a = _round(scores + phi, t.precision)
        scale = float(np.log(n)) if t.scaling == "length" else 1.0
    a = jnp.where(causal, a, -jnp.inf)
    if t.shift or t.precision is None:  # without rounding, the shift changes nothing
        a = a - a.max(-1, keepdims=True)
    return jnp.where(causal, _round(jnp.exp(scale * a), t.precision), 0.0)


def _round(v: Float[Array, "*shape"], bits: int | None) -> Float[Array, "*shape"]:
    """Round to the nearest multiple of 2^-bits, ties upward."""
    return v if bits is None else jnp.floor(v * 2.0**bits + 0.5) * 2.0**-bits
