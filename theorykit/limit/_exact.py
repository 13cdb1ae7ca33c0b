"""The transformer in exact arithmetic: every activation a fraction, nothing rounded but as defined.

Strings of one length run together. Activations at a position share a denominator, so a layer is
a few integer matrix products.
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from theorykit.limit import _integers as exactly
from theorykit.limit._transformer import Head, Layer, Transformer


@dataclasses.dataclass(frozen=True, eq=False)
class Fractions:
    """Vectors of fractions: `numerators` (..., d) over `denominators` (..., 1), in lowest terms."""

    numerators: np.ndarray
    denominators: np.ndarray

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
        """Return the vectors at some places of the leading axes, in order."""
        return Fractions(self.numerators[places], self.denominators[places])

    def fractions(self) -> np.ndarray:
        """Return an array of `Fraction`, (..., d)."""
        make = np.frompyfunc(lambda a, b: Fraction(int(a), int(b)), 2, 1)
        return np.asarray(make(self.numerators, self.denominators))

    def floats(self) -> np.ndarray:
        """Return the nearest floats, (..., d)."""
        return np.asarray(self.fractions(), float)


def apply(parameter: np.ndarray, y: Fractions, bits: int) -> Fractions:
    """Return a parameter matrix of that many fractional bits times vectors."""
    product = exactly.matmul(y.numerators, scaled(parameter, bits).T)
    return Fractions(*exactly.lowest(product, exactly.multiply(y.denominators, _two(bits))))


def scaled(parameter: np.ndarray, bits: int) -> np.ndarray:
    """Return a parameter times 2^bits, as integers."""
    big = np.asarray(parameter, float) * 2.0**bits
    if (np.abs(big) < exactly.WHOLE).all():
        return big.astype(np.int64)
    make = np.frompyfunc(lambda v: int(Fraction(float(v)) * 2**bits), 1, 1)
    return np.asarray(make(parameter), object)


def _two(bits: int) -> np.ndarray:
    return np.array([2**bits])


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """What a transformer computes on strings of one length.

    **Fields:** `layers`: y^(0), ..., y^(L), each of (strings, positions, d); `outputs`: (strings,
    positions, outputs), the logits U y^(L).
    """

    layers: tuple[Fractions, ...]
    outputs: Fractions


def exact(transformer: Transformer, strings: Sequence[Sequence[str]], offset: int = 0) -> Run:
    """Return all activations on `$` and strings of one length, exactly.

    **Raises:** `ValueError` for strings of several lengths, a symbol outside the alphabet, an
    input longer than the context, a transformer without rounding (its exponentials are no
    fractions), or attention whose weights all round to zero.
    """
    if len({len(s) for s in strings}) != 1:
        raise ValueError("an exact run takes one or more strings, all of one length.")
    if transformer.precision is None or transformer.scaling != "length":
        raise ValueError(
            "exact arithmetic needs a precision and length scaling: without, exponentials are "
            "no fractions. `forward` takes them as floats."
        )
    x = np.array([transformer.encode(s, offset) for s in strings])
    y = embedded(transformer, x, offset)
    found = [y]
    for layer in transformer.layers:
        y = feed(transformer, layer, attend(transformer, layer, y, offset))
        found.append(y)
    return Run(tuple(found), apply(transformer.U, y, transformer.bits))


def embedded(transformer: Transformer, x: np.ndarray, offset: int) -> Fractions:
    """Return y^(0) of symbols (strings, n), eq. (1)."""
    bits = transformer.bits
    p = scaled(transformer.encodings(x.shape[1], offset), bits)
    y = exactly.add(scaled(transformer.E, bits)[x], p)
    return Fractions(*exactly.lowest(y, np.full((*x.shape, 1), 2**bits, y.dtype)))


def attend(transformer: Transformer, layer: Layer, y: Fractions, offset: int) -> Fractions:
    """Return y plus what all heads add, eqs. (2) and (3)."""
    total = y
    for head in layer.heads:
        if head.V.any():
            values = apply(head.V, y, transformer.bits)
            total = total + average(weights(transformer, head, y, offset), values)
    return total


def weights(transformer: Transformer, head: Head, y: Fractions, offset: int) -> np.ndarray:
    """Return attention weights before normalisation, times 2^precision: (strings or 1, n, n).

    Entry [s, i, j] is of query i and key j; 0 for j > i.
    """
    n, p = y.numerators.shape[1], transformer.precision or 0
    rounded = logits(transformer, head, y, offset)
    causal = np.tril(np.ones((n, n), np.int64))
    if transformer.shift:
        floor = rounded.min()
        rounded = rounded - np.where(causal, rounded, floor).max(-1, keepdims=True)
    levels, places = np.unique(np.where(causal, rounded, 0), return_inverse=True)
    table = np.array([exactly.power(n, int(a), p) for a in levels], object)
    w = table[places].reshape(rounded.shape) * causal
    if not w.sum(-1).all():
        raise ValueError(
            f"all attention weights of a query round to zero at precision {p} and length {n}; "
            "`shift=True` subtracts the largest logit first."
        )
    return exactly._narrow(w)


def logits(transformer: Transformer, head: Head, y: Fractions, offset: int) -> np.ndarray:
    """Return the logits a_ij rounded to the precision, times 2^precision, eqs. (2) and (6)."""
    n, p, bits = y.numerators.shape[1], transformer.precision or 0, transformer.bits
    place = np.arange(1, n + 1)
    phi = np.zeros((n, n)) if head.phi is None else head.phi(place[None, :], place[:, None])
    number = scaled(phi, bits)[None]
    below = np.full((1, 1, 1), 2**bits)
    if head.K.any() and head.Q.any():
        key, query = apply(head.K, y, bits), apply(head.Q, y, bits)
        scores = exactly.matmul(query.numerators, np.swapaxes(key.numerators, 1, 2))
        under = exactly.multiply(query.denominators, np.swapaxes(key.denominators, 1, 2))
        common = exactly.lcm(under, below)
        number = exactly.add(
            exactly.multiply(scores, common // under), exactly.multiply(number, common // below)
        )
        below = common
    twice = exactly.multiply(below, np.array(2))
    return exactly.add(exactly.multiply(number, np.array(2 ** (p + 1))), below) // twice


def average(w: np.ndarray, values: Fractions) -> Fractions:
    """Return the weighted means of values, (strings, n, d)."""
    common = exactly.lcm_along(values.denominators, 1)
    raised = exactly.multiply(values.numerators, common // values.denominators)
    sums = exactly.matmul(w, raised)
    below = exactly.multiply(w.sum(-1, keepdims=True), common)
    return Fractions(*exactly.lowest(sums, np.broadcast_to(below, (*sums.shape[:-1], 1))))


def feed(transformer: Transformer, layer: Layer, y: Fractions) -> Fractions:
    """Return y + B psi(A y + b), eq. (4)."""
    if not len(layer.b):
        return y
    bits = transformer.bits
    below = exactly.multiply(y.denominators, _two(bits))
    inside = exactly.add(
        exactly.matmul(y.numerators, scaled(layer.A, bits).T),
        exactly.multiply(y.denominators, scaled(layer.b, bits)),
    )
    hidden = np.where(layer.heaviside, (inside >= 0) * below, np.maximum(inside, 0))
    return y + apply(layer.B, Fractions(*exactly.lowest(hidden, below)), bits)


def accepts(transformer: Transformer, strings: Sequence[Sequence[str]]) -> np.ndarray:
    """Return whether strings are accepted: the last output at the last position exceeds 0.

    In exact arithmetic; strings may have several lengths.
    """
    found = np.zeros(len(strings), bool)
    lengths = np.array([len(s) for s in strings], int)
    for n in np.unique(lengths):
        places = np.flatnonzero(lengths == n)
        outputs = exact(transformer, [strings[k] for k in places]).outputs
        found[places] = outputs.numerators[:, -1, -1] > 0
    return found
