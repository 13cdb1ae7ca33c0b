"""The transformer in exact arithmetic: activations are fractions, rounded only as defined.

Strings of one length run as a batch. Activations at a position share a denominator, so a layer is a
few integer matrix products.
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Integer, Real, Shaped

from theorykit.common.arguments import affordable, as_strings, instance, size
from theorykit.subjects.limit import _integers as exactly
from theorykit.subjects.limit._transformer import Head, Layer, Transformer


@dataclasses.dataclass(frozen=True, eq=False)
class Fractions:
    """Vectors of fractions: `numerators` (..., d) over `denominators` (..., 1), in lowest terms.

    Both are integers: int64 or, if too large, Python integers.
    """

    numerators: Shaped[np.ndarray, "*batch d"]
    denominators: Shaped[np.ndarray, "*batch 1"]

    def __add__(self, other: "Fractions") -> "Fractions":
        common = exactly.lcm(self.denominators, other.denominators)
        left = exactly.multiply(self.numerators, common // self.denominators)
        right = exactly.multiply(other.numerators, common // other.denominators)
        return Fractions(*exactly.lowest(exactly.add(left, right), common))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Fractions)
            and np.array_equal(self.numerators, other.numerators)
            and np.array_equal(self.denominators, other.denominators)
        )

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, places) -> "Fractions":
        """Return the vectors at some indices of the leading axes, in order."""
        return Fractions(self.numerators[places], self.denominators[places])

    def fractions(self) -> Shaped[np.ndarray, "*batch d"]:
        """Return an array of `Fraction`."""
        make = np.frompyfunc(lambda a, b: Fraction(int(a), int(b)), 2, 1)
        return np.asarray(make(self.numerators, self.denominators))

    def floats(self) -> Float64[np.ndarray, "*batch d"]:
        """Return the nearest floats."""
        return np.asarray(self.fractions(), float)


def apply(parameter: Float[np.ndarray, "rows d"], y: Fractions, bits: int) -> Fractions:
    """Return the product of a parameter matrix with `bits` fractional bits and vectors."""
    product = exactly.matmul(y.numerators, scaled(parameter, bits).T)
    return Fractions(*exactly.lowest(product, exactly.multiply(y.denominators, np.array(2**bits))))


def scaled(parameter: Real[np.ndarray, "*shape"], bits: int) -> Shaped[np.ndarray, "*shape"]:
    """Return a parameter times 2^bits, as integers."""
    big = np.asarray(parameter, float) * 2.0**bits
    if (np.abs(big) < exactly.WHOLE).all():
        return big.astype(np.int64)
    make = np.frompyfunc(lambda v: int(Fraction(float(v)) * 2**bits), 1, 1)
    return np.asarray(make(parameter), object)


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """The activations and outputs of a transformer on strings of one length.

    **Fields:** `layers`: y^(0), ..., y^(L), each of (strings, positions, d); `outputs`: (strings,
    positions, outputs), the logits U y^(L).
    """

    layers: tuple[Fractions, ...]
    outputs: Fractions


def exact(transformer: Transformer, strings: Sequence[Sequence[str]], offset: int = 0) -> Run:
    """Return all activations on `$` and strings of one length, exactly.

    **Raises:** `ValueError` for strings of different lengths, a symbol outside the alphabet, an
    input longer than the context, a transformer without rounding (its exponentials are not
    fractions), or attention whose weights all round to zero.
    """
    instance("transformer", transformer, Transformer, "a limit.Transformer")
    strings, offset = as_strings(strings), size("offset", offset, 0)
    if len({len(s) for s in strings}) != 1:
        raise ValueError("an exact run takes one or more strings, all of the same length.")
    n = len(strings[0])
    affordable(f"exact attention over {n} symbols", len(strings) * (n + 1) ** 2, MOST)
    x = np.array([transformer.encode(s, offset) for s in strings])
    return run(transformer, x, offset, x.shape[1])


def run(
    transformer: Transformer, x: Integer[np.ndarray, "strings n"], offset: int, length: int
) -> Run:
    """Return all activations on symbols that begin inputs of a given length.

    The length |x| scales the logits; what follows the given symbols does not matter.
    """
    _rounds(transformer)
    n = x.shape[1]
    place = np.arange(1, n + 1)
    y = embedded(transformer, x, place - 1 + offset)
    causal = np.tril(np.ones((n, n), np.int64))
    found = [y]
    for layer in transformer.layers:
        total = y
        for head in layer.heads:
            if head.V.any():
                keys = apply(head.K, y, transformer.bits)
                a = logits(transformer, head, y, keys, phis(head, place, place)[None])
                w = weights(transformer, a, causal, length)
                total = total + average(w, apply(head.V, y, transformer.bits))
        y = feed(transformer, layer, total)
        found.append(y)
    return Run(tuple(found), apply(transformer.U, y, transformer.bits))


def last(transformer: Transformer, x: Integer[np.ndarray, "strings n"]) -> Fractions:
    """Return the outputs at the last position of symbols, (strings, outputs).

    Attention is causal, so the activations at a position depend on a prefix only, and shared
    prefixes are computed once.
    """
    _rounds(transformer)
    n, bits = x.shape[1], transformer.bits
    strings, at, ancestors, leaves = _prefixes(x)
    y, place = embedded(transformer, x[strings, at], at), np.arange(n)
    before = (place <= at[:, None])[:, None]
    for layer in transformer.layers:
        total = y[:, None]
        for head in layer.heads:
            if head.V.any():
                phi = phis(head, at + 1, place + 1)[:, None]
                a = logits(transformer, head, y[:, None], apply(head.K, y, bits)[ancestors], phi)
                w = weights(transformer, a, before, n)
                total = total + average(w, apply(head.V, y, bits)[ancestors])
        y = feed(transformer, layer, total)[:, 0]
    return apply(transformer.U, y[leaves], bits)


def _prefixes(
    x: Integer[np.ndarray, "strings n"],
) -> tuple[
    Int[np.ndarray, " prefixes"],
    Int[np.ndarray, " prefixes"],
    Int[np.ndarray, "prefixes n"],
    Int[np.ndarray, " strings"],
]:
    """Return the distinct prefixes of symbols, shortest first.

    **Returns:** `strings` and `at`: a string with this prefix, and the position where the prefix
    ends; `ancestors`: the prefixes of that string; `leaves`: the longest.
    """
    n = x.shape[1]
    found = [
        np.unique(x[:, : i + 1], axis=0, return_index=True, return_inverse=True)[1:]
        for i in range(n)
    ]
    sizes = [len(strings) for strings, _ in found]
    start = np.cumsum([0, *sizes[:-1]])
    of = np.stack([s + p.reshape(-1) for s, (_, p) in zip(start, found, strict=True)], 1)
    strings = np.concatenate([strings for strings, _ in found])
    return strings, np.repeat(np.arange(n), sizes), of[strings], of[:, -1]


def _rounds(transformer: Transformer) -> None:
    if transformer.precision is None or transformer.scaling != "length":
        raise ValueError(
            "exact arithmetic needs a precision and length scaling; otherwise exponentials are "
            "not fractions. `forward` computes them in floats."
        )


def embedded(
    transformer: Transformer,
    x: Integer[np.ndarray, "*places"],
    places: Int[np.ndarray, "*#places"],
) -> Fractions:
    """Return y^(0) of symbols at positions counted from 0, eq. (1)."""
    bits = transformer.bits
    start, end = int(np.min(places)), int(np.max(places))
    p = scaled(transformer.encodings(end - start + 1, start), bits)[places - start]
    y = exactly.add(scaled(transformer.E, bits)[x], p)
    return Fractions(*exactly.lowest(y, np.full((*x.shape, 1), 2**bits, y.dtype)))


def phis(
    head: Head,
    queries: Int[np.ndarray, " n"] | Sequence[int],
    keys: Int[np.ndarray, " m"] | Sequence[int],
) -> Real[np.ndarray, "n m"]:
    """Return phi(j, i) with queries i along rows and keys j along columns."""
    if head.phi is None:
        return np.zeros((len(queries), len(keys)))
    return head.phi(np.asarray(keys)[None, :], np.asarray(queries)[:, None])


def logits(
    transformer: Transformer,
    head: Head,
    queries: Fractions,
    keys: Fractions,
    phi: Real[np.ndarray, "#strings n m"],
) -> Shaped[np.ndarray, "#strings n m"]:
    """Return logits a_ij rounded to the precision, times 2^precision, eqs. (2) and (6).

    **Arguments:** `queries`: activations y_i, (strings, n, d); `keys`: K y_j, (strings, m, r).
    """
    p, bits = transformer.precision or 0, transformer.bits
    added = scaled(phi, bits)
    if not (head.K.any() and head.Q.any()):
        return _rounded(added, np.full((1, 1, 1), 2**bits), p)
    query = apply(head.Q, queries, bits)
    products = exactly.matmul(query.numerators, np.swapaxes(keys.numerators, 1, 2))
    under = exactly.multiply(query.denominators, np.swapaxes(keys.denominators, 1, 2))
    common = exactly.lcm(under, np.full((1, 1, 1), 2**bits))
    number = exactly.add(
        exactly.multiply(products, common // under), exactly.multiply(added, common // 2**bits)
    )
    return _rounded(number, common, p)


def _rounded(
    number: Shaped[np.ndarray, "*shape"], below: Shaped[np.ndarray, "*#shape"], p: int
) -> Shaped[np.ndarray, "*shape"]:
    """Return floor(2^p number / below + 1/2)."""
    twice = exactly.multiply(below, np.array(2))
    return exactly.add(exactly.multiply(number, np.array(2 ** (p + 1))), below) // twice


def weights(
    transformer: Transformer,
    a: Shaped[np.ndarray, "strings n m"],
    mask: Bool[np.ndarray, "*#strings n m"] | Int[np.ndarray, "*#strings n m"],
    length: int,
) -> Shaped[np.ndarray, "strings n m"]:
    """Return attention weights before normalisation, times 2^precision, eq. (3).

    **Arguments:** `a`: rounded logits; `mask`: 1 where a key is visible; `length`: |x|.
    """
    p = transformer.precision or 0
    if transformer.shift:
        a = a - np.where(mask, a, a.min()).max(-1, keepdims=True)
    levels, places = np.unique(np.where(mask, a, 0), return_inverse=True)
    table = np.array([exactly.power(length, int(v), p) for v in levels], object)
    w = table[places].reshape(a.shape) * mask
    if not w.sum(-1).all():
        raise ValueError(
            f"all attention weights of a query round to zero at precision {p} and length "
            f"{length}; `shift=True` subtracts the largest logit first."
        )
    return exactly.narrow(w)


def average(
    w: Shaped[np.ndarray, "strings n m"],
    values: Fractions,
    count: Int[np.ndarray, " m"] | None = None,
) -> Fractions:
    """Return weighted means, (strings, n, d), of values (strings, m, d).

    **Arguments:** `count`: if given, each value is the sum over this many keys with equal weights.
    """
    common = exactly.lcm_along(values.denominators, 1)
    raised = exactly.multiply(values.numerators, common // values.denominators)
    sums = exactly.matmul(w, raised)
    total = w if count is None else exactly.multiply(w, count)
    below = exactly.multiply(total.sum(-1, keepdims=True), common)
    return Fractions(*exactly.lowest(sums, np.broadcast_to(below, (*sums.shape[:-1], 1))))


def feed(transformer: Transformer, layer: Layer, y: Fractions) -> Fractions:
    """Return y + B psi(A y + b), eq. (4)."""
    if not len(layer.b):
        return y
    bits = transformer.bits
    below = exactly.multiply(y.denominators, np.array([2**bits]))
    inside = exactly.add(
        exactly.matmul(y.numerators, scaled(layer.A, bits).T),
        exactly.multiply(y.denominators, scaled(layer.b, bits)),
    )
    hidden = np.where(layer.heaviside, (inside >= 0) * below, np.maximum(inside, 0))
    return y + apply(layer.B, Fractions(*exactly.lowest(hidden, below)), bits)


MOST = 2**27
"""The most attention weights of one string: one GiB for each of a few arrays."""

NUMBERS = 2**25
"""Strings share a batch as long as their attention weights number at most this many in all."""


def accepts(transformer: Transformer, strings: Any) -> Any:
    """Return whether strings are accepted: the last output at the last position exceeds 0.

    The arithmetic is exact. Strings may have different lengths, and are fastest in lexicographic
    order. A single string, text or a tuple of symbols, gives a bool.

    **Raises:** `ValueError` for anything but strings, a string too long for attention between all
    its positions, a symbol outside the alphabet, or anything that `exact` refuses.
    """
    instance("transformer", transformer, Transformer, "a limit.Transformer")
    if isinstance(strings, str | tuple):
        return accepts(transformer, [strings])[0]
    strings = as_strings(strings)
    found = np.zeros(len(strings), bool)
    lengths = np.array([len(s) for s in strings], int)
    for n in set(lengths.tolist()):
        affordable(f"exact attention over {n} symbols", (n + 1) ** 2, MOST)
        places = np.flatnonzero(lengths == n)
        many = max(1, NUMBERS // ((n + 1) ** 2 * transformer.E.shape[1]))
        for block in np.split(places, range(many, len(places), many)):
            x = np.array([transformer.encode(strings[int(k)]) for k in block])
            alone = len(block) == 1  # nothing to share
            y = run(transformer, x, 0, x.shape[1]).outputs[:, -1] if alone else last(transformer, x)
            found[block] = y.numerators[:, -1] > 0
    return found
