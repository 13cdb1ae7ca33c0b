"""Random transformers of the paper's two kinds."""

from collections.abc import Sequence

import numpy as np

from theorykit.common.arguments import affordable, as_alphabet, as_rng, positive, whole
from theorykit.subjects.limit import Head, Layer, Local, Transformer, mlp


def random_one_layer(
    rng: np.random.Generator, alphabet: Sequence[str], tau: int, period: int = 1, width: int = 4
) -> Transformer:
    """Return a transformer for `simulate_hard`: 1 bit of precision, logits that often tie.

    A third of them attend uniformly up to phi; the others have keys of rank 1 or 2 with entries -1,
    0, 1.

    **Raises:** `ValueError` for a negative tau, or a period or width below 1.
    """
    rng, alphabet = as_rng(rng), as_alphabet(alphabet)
    tau, period, width = whole("tau", tau, 0), whole("period", period), whole("width", width)
    affordable("this transformer", tau + (period + len(alphabet) + width) * width, 2**24)
    some = lambda low, high, *shape: rng.integers(low, high + 1, shape).astype(float)
    rank = int(rng.integers(0, 3))
    phi = Local(tuple(some(-2, 2, tau + 1) / 2))
    head = Head(some(-1, 1, rank, width), some(-1, 1, rank, width), some(-2, 2, width, width), phi)
    layer = Layer(
        (head,), some(-1, 1, 3, width), some(-1, 1, width, 3), some(-1, 1, 3), np.zeros(3, bool)
    )
    positions = some(-1, 1, period, width) if period > 1 else np.zeros((1, width))
    E, U = some(-1, 1, len(alphabet), width), some(-1, 1, 2, width)
    return Transformer(
        tuple(alphabet), E, positions, (layer,), U, precision=1, shift=True, scaling="length"
    )


def random_two_layers(
    rng: np.random.Generator,
    alphabet: Sequence[str],
    tau: int,
    heads: int = 2,
    width: int = 4,
    scale: float = 1.0,
) -> Transformer:
    """Return a transformer for `simulate_two_layers`, with Gaussian weights of a given scale.

    phi has values among 0, 1/2, 1 and 3/2; embeddings have norm 1.

    **Raises:** `ValueError` for a negative tau or number of heads, or a width below 1.
    """
    rng, alphabet, scale = as_rng(rng), as_alphabet(alphabet), positive("scale", scale)
    tau, heads, width = whole("tau", tau, 0), whole("heads", heads, 0), whole("width", width)
    affordable("this transformer", heads * (tau + width**2) + len(alphabet) * width, 2**24)
    some = lambda *shape: scale * rng.standard_normal(shape) / np.sqrt(width)
    phi = lambda: Local(tuple(rng.integers(0, 4, tau + 1) / 2))
    head = lambda phi: Head(some(2, width), some(2, width), some(width, width), phi)
    hidden = (some(3, width), some(width, 3), some(3), np.zeros(3, bool))
    first = Layer(tuple(head(phi()) for _ in range(heads)), *hidden)
    E = rng.standard_normal((len(alphabet), width))
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    return Transformer(
        tuple(alphabet), E, np.zeros((1, width)), (first, Layer((head(None),), *mlp(width))),
        some(2, width), precision=None, scaling="suffix",
    )  # fmt: skip
