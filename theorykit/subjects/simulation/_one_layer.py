"""One-layer Limit Transformers at finite precision: attention at the last token (section 3.2).

Positions count from 1; residues are (position - 1) mod Delta, so `positions[residue]` is the
encoding. The suffix is the last tau + 1 tokens, since phi(j, i) may be nonzero for i - j = 0 ...
tau. (The paper's suffix has tau tokens, one too few.)
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Int64, Integer

from theorykit.common.arguments import (
    affordable,
    as_array,
    instance,
    integers,
    listed,
    numbered,
    whole,
)
from theorykit.subjects.limit import SOS, Local, Transformer


def one_layer(transformer: Transformer, name: str = "f") -> None:
    """Raise a `ValueError` unless this is a transformer as in section 4 of the paper.

    One layer of one head, periodic, local, finite precision, largest logit subtracted first.
    """
    limit_transformer(transformer, name)
    if transformer.depth != 1 or transformer.heads != 1:
        raise ValueError(
            f"{name} must have one layer with one head, not {transformer.depth} layers of at most "
            f"{transformer.heads} heads."
        )
    if transformer.precision is None or not transformer.shift:
        raise ValueError(
            f"hard attention needs precision=p and shift=True; {name} has "
            f"precision={transformer.precision} and shift={transformer.shift}."
        )
    if transformer.scaling != "length":
        raise ValueError(
            f'{name} scales its logits with log |x|, scaling="length", not {transformer.scaling!r}.'
        )


def limit_transformer(transformer: Transformer, name: str) -> None:
    """Raise a `ValueError` unless this is periodic and local, without a start symbol."""
    instance(name, transformer, Transformer, "a limit.Transformer")
    if transformer.context is not None:
        raise ValueError(
            f"{name} is not periodic: it has a context of {transformer.context}, and a Limit "
            "Transformer has none."
        )
    if transformer.locality is None:
        raise ValueError(f"{name} is not local: each positional function is a limit.Local or None.")
    if SOS in transformer.alphabet:
        raise ValueError(
            f"{name} has the start symbol {SOS!r}, which transformers of this paper do not have."
        )


def together(f: Transformer, g: Transformer) -> tuple[int, int]:
    """Return a common period and locality of two transformers.

    **Raises:** `ValueError` if their alphabets differ.
    """
    if f.alphabet != g.alphabet:
        raise ValueError(
            f"f and g must share an alphabet, not {listed(f.alphabet)} and {listed(g.alphabet)}."
        )
    return math.lcm(f.period or 1, g.period or 1), max(f.locality or 0, g.locality or 0)


def rounded(v: Float[np.ndarray, "*shape"], bits: int | None) -> Float[np.ndarray, "*shape"]:
    """Round to the nearest multiple of 2^-bits, ties upward."""
    return v if bits is None else np.floor(v * 2.0**bits + 0.5) * 2.0**-bits


def tokens(f: Transformer, period: int) -> Float[np.ndarray, "symbols period d"]:
    """Return E_s + p_i."""
    return f.E[:, None, :] + f.encodings(period)[None]


def scores(f: Transformer, period: int) -> Float[np.ndarray, "symbols period symbols period"]:
    """Return A[y, i, s, j], the logit of key (s, j) for query (y, i), without phi or rounding."""
    e = tokens(f, period)
    return np.einsum("sjd,de,yie->yisj", e, f.layers[0].heads[0].KQ, e)


def offsets(f: Transformer, reach: int) -> Float[np.ndarray, " {reach}+1"]:
    """Return phi at distances 0 ... reach."""
    phi = f.layers[0].heads[0].phi
    values = phi.values if isinstance(phi, Local) else ()
    return np.array([*values, *[0.0] * (reach + 1)])[: reach + 1]


@dataclasses.dataclass(frozen=True, eq=False)
class Attention:
    """The tokens of largest logit, to which the last token of a string attends.

    **Fields:** `pairs`: which (symbol, residue) pairs of the prefix; `below`: the pairs with a
    logit below the largest, whether or not they occur, which can be put into the prefix without
    being attended to; `suffix`: which of the last tau + 1 tokens, the last one first.
    """

    pairs: Bool[np.ndarray, "symbols period"]
    below: Bool[np.ndarray, "symbols period"]
    suffix: Bool[np.ndarray, " suffix"]


def string(x: Any, symbols: int) -> Integer[np.ndarray, " T"]:
    """Return a string of integers.

    **Raises:** `ValueError` for anything else, an empty string, or a symbol outside 0 ... symbols -
    1.
    """
    x = np.asarray(as_array("x", x))
    if x.ndim != 1 or not len(x) or not np.issubdtype(x.dtype, np.integer):
        raise ValueError(f"x is a string of integers, (T,), not {x.dtype} of shape {x.shape}.")
    if x.min() < 0 or x.max() >= symbols:
        bad = x[(x < 0) | (x >= symbols)][0]
        raise ValueError(f"symbols are 0 ... {symbols - 1}, and {bad} is not in the alphabet.")
    return x


def counts(
    x: Integer[np.ndarray, " T"], symbols: int, period: int, tau: int
) -> Int64[np.ndarray, "{symbols} {period}"]:
    """Return n(s, i, x), (symbols, period) integers: counts of the prefix's pairs (Definition A.1).

    **Raises:** `ValueError` for symbols outside 0 ... symbols - 1, or other arguments out of range.
    """
    symbols, period, tau = whole("symbols", symbols), whole("period", period), whole("tau", tau, 0)
    affordable("a table of counts", symbols * period, 2**27)
    x = as_array("x", x)
    numbered(x, symbols)
    x = integers("x", x)
    prefix = x[: max(len(x) - tau - 1, 0)]
    table = np.zeros((symbols, period), np.int64)
    np.add.at(table, (prefix, np.arange(len(prefix)) % period), 1)
    return table


def attention(
    f: Transformer,
    n: Int[np.ndarray, "symbols period"],
    suffix: Integer[np.ndarray, " suffix"],
    residue: int,
) -> Attention:
    """Return the attention of the last token.

    **Arguments:** `n`: counts of the prefix; `suffix`: the last tau + 1 tokens, the last one first;
    `residue`: of the last token.
    """
    period, back = n.shape[1], np.arange(len(suffix))
    table = scores(f, period)[suffix[0], residue]
    far = rounded(table, f.precision)
    raw = table[suffix, (residue - back) % period] + offsets(f, len(suffix) - 1)
    near = rounded(raw, f.precision)
    top = max(near.max(), np.where(n > 0, far, -np.inf).max())
    return Attention((far == top) & (n > 0), far < top, near == top)


def average(
    f: Transformer,
    n: Int[np.ndarray, "symbols period"],
    suffix: Integer[np.ndarray, " suffix"],
    residue: int,
) -> Float[np.ndarray, " d"]:
    """Return the attention layer's output at the last token, eq. (2)."""
    found, period = attention(f, n, suffix, residue), n.shape[1]
    values = tokens(f, period) @ f.layers[0].heads[0].V.T
    near = values[suffix, (residue - np.arange(len(suffix))) % period][found.suffix]
    weight = np.where(found.pairs, n, 0)
    total = np.tensordot(weight, values, 2) + near.sum(0)
    return total / (weight.sum() + found.suffix.sum())


def output(
    f: Transformer,
    n: Int[np.ndarray, "symbols period"],
    suffix: Integer[np.ndarray, " suffix"],
    residue: int,
) -> Float[np.ndarray, " outputs"]:
    """Return f at the last token under hard attention, eq. (3) with p_T in it."""
    token = tokens(f, n.shape[1])[suffix[0], residue]
    return readout(f, token + average(f, n, suffix, residue))


def readout(
    f: Transformer, Y: Float[np.ndarray, "*batch d"]
) -> Float[np.ndarray, "*batch outputs"]:
    """Return U (Y + B psi(A Y + b)) of the last layer."""
    return feed(f, len(f.layers) - 1, Y) @ f.U.T


def feed(
    f: Transformer, layer: int, Y: Float[np.ndarray, "*batch d"]
) -> Float[np.ndarray, "*batch d"]:
    """Return Y + B psi(A Y + b)."""
    l = f.layers[layer]
    inside = Y @ l.A.T + l.b
    return Y + np.where(l.heaviside, inside >= 0, np.maximum(inside, 0)) @ l.B.T


def parts(
    x: Integer[np.ndarray, " T"], symbols: int, period: int, tau: int
) -> tuple[Int64[np.ndarray, "{symbols} {period}"], Integer[np.ndarray, " {tau}+1"], int]:
    """Return the counts of the prefix, the suffix (last token first) and the last residue.

    **Raises:** `ValueError` for a string of length at most tau.
    """
    if len(x) <= tau:
        raise ValueError(
            f"a string must be longer than tau = {tau}; this one has {len(x)} symbols."
        )
    return counts(x, symbols, period, tau), x[::-1][: tau + 1], (len(x) - 1) % period


def hard_output(f: Transformer, x: Sequence[str]) -> Float[np.ndarray, " outputs"]:
    """Return the last output of a one-layer transformer under hard attention, (outputs,).

    Attention is the uniform average over the tokens of largest logit; time is linear in |x|. From
    `hard_length(f)` symbols on, this equals `limit.forward`.

    **Raises:** `ValueError` for another kind of transformer, a symbol outside the alphabet, or a
    string of length at most tau.
    """
    one_layer(f)
    period, tau = together(f, f)
    return output(f, *parts(np.array(f.encode(x), int), len(f.alphabet), period, tau))
