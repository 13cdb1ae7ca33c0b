"""From numbers of tokens to a string, with every token at a position of its residue."""

import numpy as np
from jaxtyping import Int, Int64

from theorykit.common.arguments import affordable, integers, shown, whole


def _table(given: Int[np.ndarray, "symbols period"]) -> Int64[np.ndarray, "symbols period"]:
    m = integers("m", given)
    if m.ndim != 2 or not m.size or (m < 0).any() or m.astype(float).sum() > 2**62:
        raise ValueError(
            "m holds numbers of tokens by symbol and residue, at least 0 and of sum below 2^62; "
            f"got {shown(given)}."
        )
    return m


def slots(prefix: int, period: int) -> Int[np.ndarray, " {period}"]:
    """Return how many of the first positions have each residue."""
    return (prefix - np.arange(period) + period - 1) // period


def shortest(m: Int[np.ndarray, "symbols period"], residue: int, tau: int, least: int) -> int:
    """Return the least prefix length with the right residue, room for m and `least` symbols in all.

    **Arguments:** `m`: (symbols, period); `residue`: that of the last of the tau + 1 symbols that
    follow.

    **Raises:** `ValueError` for negative numbers.
    """
    m, residue = _table(m), whole("residue", residue, 0)
    tau, least = whole("tau", tau, 0), whole("least", least, 0)
    period = m.shape[1]
    start = (residue - tau) % period
    need = int((m.sum(0) - (np.arange(period) < start)).max(initial=0))
    length = start + period * max(need, 0)
    return length + period * max(0, -((length + tau + 1 - least) // period))


def lay_out(
    m: Int[np.ndarray, "symbols period"], prefix: int, fillers: Int[np.ndarray, " period"]
) -> Int64[np.ndarray, " {prefix}"] | None:
    """Return a prefix with m[s, i] tokens s at residue i, and fillers in the remaining places.

    **Arguments:** `fillers`: (period,), a symbol to fill up with, or -1 where there is none.

    **Returns:** the symbols, (prefix,), or None if a filler is missing or there is not enough room.

    **Raises:** `ValueError` for negative numbers, or if fillers are not one per residue.
    """
    m, fillers, prefix = _table(m), integers("fillers", fillers), whole("prefix", prefix, 0)
    affordable("a prefix", prefix, 2**30, "symbols")
    if np.shape(fillers) != (m.shape[1],):
        raise ValueError(
            f"there are {m.shape[1]} residues, but fillers has shape {np.shape(fillers)}."
        )
    period = m.shape[1]
    found = np.empty(prefix, np.int64)
    for i, room in enumerate(slots(prefix, period)):
        many = int(m[:, i].sum())
        if many > room or (many < room and fillers[i] < 0):
            return None
        tokens = np.repeat(np.arange(len(m)), m[:, i])
        found[i::period] = np.concatenate([tokens, np.full(room - len(tokens), fillers[i])])
    return found
