"""Product functions (Definition 43), the hypothesis class, the regularisers."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from theorykit.common.arguments import affordable, instance, reals, shown, whole
from theorykit.subjects.limit._transformer import Head, Transformer

Path = tuple[tuple[int, int], ...]
"""Value matrices (layer, head) in ascending order of layers, at most one per layer."""

Vector = tuple
"""The name of a vector parameter: ("p", i), ("E", symbol), ("B", layer, s), ("A", layer, s) or
("U", output)."""


def paths(transformer: Transformer, below: int | None = None, above: int = 0) -> list[Path]:
    """Return the sets P of value matrices in layers above < l < below (all by default)."""
    _transformer(transformer)
    top, above = transformer.depth + 1, whole("above", above, 0)
    last = top if below is None else whole("below", below, 0, top)
    many = math.prod(len(l.heads) + 1 for l in transformer.layers[above : max(last - 1, above)])
    affordable("all paths", many, 10**6, "paths")
    choices = [
        [(), *(((l, h),) for h in range(1, len(transformer.layers[l - 1].heads) + 1))]
        for l in range(above + 1, last)
    ]
    return [tuple(itertools.chain(*c)) for c in itertools.product(*choices)]


def outgoing(
    transformer: Transformer, positions: int
) -> Iterator[tuple[Vector, Float[np.ndarray, " d"]]]:
    """Yield VO: positional encodings, token embeddings, nonzero columns of B."""
    for i, p in enumerate(transformer.encodings(positions), 1):
        yield ("p", i), p
    for symbol, e in zip(transformer.alphabet, transformer.E, strict=True):
        yield ("E", symbol), e
    for l, layer in enumerate(transformer.layers, 1):
        for s in np.flatnonzero(layer.B.any(0)).tolist():
            yield ("B", l, s + 1), layer.B[:, s]


def incoming(transformer: Transformer) -> Iterator[tuple[Vector, Float[np.ndarray, " d"]]]:
    """Yield VI: nonzero rows of A and rows of U."""
    for l, layer in enumerate(transformer.layers, 1):
        for s in np.flatnonzero(layer.A.any(1)).tolist():
            yield ("A", l, s + 1), layer.A[s]
    for output, u in enumerate(transformer.U, 1):
        yield ("U", output), u


def carried(
    transformer: Transformer, path: Path, vectors: Float[np.ndarray, "*batch d"]
) -> Float[np.ndarray, "*batch d"]:
    """Return a product of value matrices, lowest layer first, applied to vectors."""
    if not isinstance(path, tuple | list) or not all(
        isinstance(at, tuple | list) and len(at) == 2 for at in path
    ):
        raise ValueError(f"a path is pairs (layer, head), got {shown(path)}.")
    for l, h in path:
        vectors = vectors @ _head(transformer, l, h).V.T
    return vectors


def _transformer(given: Transformer) -> Transformer:
    return instance("transformer", given, Transformer, "a limit.Transformer")


def _head(transformer: Transformer, l: int, h: int) -> Head:
    l = whole("a layer", l, 1, transformer.depth)
    heads = transformer.layers[l - 1].heads
    return heads[whole(f"a head of layer {l}", h, 1, len(heads)) - 1]


def _vectors(transformer: Transformer, *given: Float[np.ndarray, "*batch n d"]) -> list:
    _transformer(transformer)
    found = [reals(name, a) for name, a in zip("vw", given, strict=True)]
    for name, a in zip("vw", found, strict=True):
        if a.ndim < 2 or a.shape[-1] != transformer.width:
            raise ValueError(
                f"{name} has rows of {transformer.width} numbers, got shape {a.shape}."
            )
    try:
        np.broadcast_shapes(*(a.shape[:-2] for a in found))
    except ValueError:
        shapes = " and ".join(str(a.shape) for a in found)
        raise ValueError(f"v and w have the same batch shape, got {shapes}.") from None
    return found


def alpha(
    transformer: Transformer,
    l: int,
    h: int,
    first: Path,
    second: Path,
    v: Float[np.ndarray, "*#batch m d"],
    w: Float[np.ndarray, "*#batch n d"],
) -> Float[np.ndarray, "*batch m n"]:
    """Return v^T (prod first)^T K^T Q (prod second) w of head h in layer l, (..., m, n).

    **Arguments:** `v`, of keys, (..., m, d); `w`, of queries, (..., n, d).
    """
    (v, w), head = _vectors(transformer, v, w), _head(transformer, l, h)
    key = carried(transformer, first, v) @ head.K.T
    query = carried(transformer, second, w) @ head.Q.T
    return key @ np.swapaxes(query, -1, -2)


def beta(
    transformer: Transformer,
    path: Path,
    v: Float[np.ndarray, "*#batch m d"],
    w: Float[np.ndarray, "*#batch n d"],
) -> Float[np.ndarray, "*batch m n"]:
    """Return v^T (prod path) w, (..., m, n), of rows v (..., m, d) and columns w (..., n, d)."""
    v, w = _vectors(transformer, v, w)
    return v @ np.swapaxes(carried(transformer, path, w), -1, -2)


def variant_product(transformer: Transformer) -> str | None:
    """Return the first product function that breaks translation invariance, or None.

    Condition 3 of Definitions 4 and 46: products with one positional encoding are constant, those
    with two depend on the difference of the positions only. The check is exact: products are sums
    of parameters with few bits, which floats hold.

    **Raises:** `ValueError` without a context: Theta_n is a class of finite transformers.
    """
    n = _transformer(transformer).context
    if n is None:
        raise ValueError(
            "the hypothesis class consists of transformers with a context, and this one has none."
        )
    p = _reached(transformer, transformer.encodings(n))
    others = [
        (f"{name}, {where}", v)
        for name, vector in outgoing(transformer, 0)
        for where, v in _reached(transformer, vector[None])
    ]
    for where, vectors in p:
        for name, a in incoming(transformer):
            if np.ptp(vectors @ a):
                return f"beta of {name} and p_i, {where}"
    for l, layer in enumerate(transformer.layers, 1):
        for h, head in enumerate(layer.heads, 1):
            for where, keys in p:
                for there, queries in p:
                    if not toeplitz((keys @ head.K.T) @ (queries @ head.Q.T).T):
                        return f"alpha of layer {l}, head {h}, p_i, {where}, and p_j, {there}"
                for what, v in others:
                    as_keys = (keys @ head.K.T) @ (v @ head.Q.T).T
                    as_queries = (v @ head.K.T) @ (keys @ head.Q.T).T
                    if np.ptp(as_keys) or np.ptp(as_queries):
                        return f"alpha of layer {l}, head {h}, p_i, {where}, and {what}"
    return None


def _reached(
    transformer: Transformer, vectors: Float[np.ndarray, "n d"]
) -> list[tuple[str, Float[np.ndarray, "n d"]]]:
    """Return the images of vectors along all paths of value matrices, without duplicates."""
    found = [("as it is", vectors)]
    seen = {vectors.tobytes(), np.zeros_like(vectors).tobytes()}
    for l, layer in enumerate(transformer.layers, 1):
        before = list(found)
        for h, head in enumerate(layer.heads, 1):
            for where, v in before:
                passed = v @ head.V.T + 0.0  # -0.0 is 0.0
                if passed.tobytes() not in seen:
                    seen.add(passed.tobytes())
                    found.append((f"{where}, V_{l},{h}", passed))
    return found


def in_hypothesis_class(transformer: Transformer, n: int) -> bool:
    """Whether a transformer is in Theta_n (Definitions 4 and 46).

    Its parameters are floats, so they have finite precision; `transformer.bits` says which.
    """
    n = whole("n", n)
    return _transformer(transformer).context == n and variant_product(transformer) is None


def toeplitz(G: Float[np.ndarray, "n n"]) -> bool:
    """Whether a square matrix is constant along its diagonals."""
    return bool((G[1:, 1:] == G[:-1, :-1]).all())


# Regularisers -----------------------------------------------------------------------------------


def attention_to_start(transformer: Transformer) -> float:
    """Return eq. (8): the sum over layers, heads and j of |p_1^T K^T Q p_j|^2."""
    p = transformer.encodings(transformer.context or len(transformer.positions))
    return float(sum(((p[:1] @ h.KQ @ p.T) ** 2).sum() for h in _heads(transformer)))


def regularizer_minus(transformer: Transformer) -> float:
    """Return R_-(T): the regulariser without its sum over positions (Definition 16)."""
    t, norm = _transformer(transformer), lambda a: float(np.linalg.norm(a, 2)) if a.size else 0.0
    largest = lambda values: max(values, default=0.0)
    length = lambda a: float(np.linalg.norm(a))
    return (
        t.depth + t.heads
        + t.bits + (t.precision or 0)
        + largest(int(np.linalg.matrix_rank(h.V)) for h in _heads(t))
        + largest(norm(h.KQ) for h in _heads(t))
        + largest(norm(h.V) for h in _heads(t))
        + largest(length(layer.A) for layer in t.layers)
        + largest(length(layer.B) for layer in t.layers)
        + norm(t.U)
        + largest(length(p) for p in t.positions)
        + largest(length(e) for e in t.E)
        + largest(length(layer.b) for layer in t.layers)
    )  # fmt: skip


def regularizer(transformer: Transformer) -> float:
    """Return R(T) of a finite transformer (Definition 5)."""
    if _transformer(transformer).context is None:
        raise ValueError(
            "R is defined for a transformer with a context; R_inf is for a Limit Transformer."
        )
    return regularizer_minus(transformer) + attention_to_start(transformer)


def regularizer_infinity(transformer: Transformer) -> float:
    """Return R_inf(T) of a Limit Transformer (Definition 50).

    Its item 4 is the smallest period of the encodings: the printed footnote's formula is infinite
    unless the encodings are constant.

    **Raises:** `ValueError` for a transformer with a context or one that is not LOCAL.
    """
    t = _transformer(transformer)
    if t.context is not None or t.locality is None:
        raise ValueError("R_inf is defined for a Limit Transformer that is LOCAL.")
    phis = [h.phi.values for h in _heads(t) if h.phi is not None]  # type: ignore[attr-defined]
    return (
        t.depth + t.heads + t.width
        + t.bits + (t.precision or 0)
        + max(float(np.abs(a).max(initial=0.0)) for a in t.parameters)
        + (t.period or 0)
        + max((float((np.array(v[1:]) ** 2).sum()) for v in phis), default=0.0)
    )  # fmt: skip


def _heads(transformer: Transformer) -> list[Head]:
    return [head for layer in transformer.layers for head in layer.heads]
