"""From numbers of tokens to a string: every token at a position of its residue."""

import numpy as np
from jaxtyping import Int, Int64

from theorykit.common.arguments import affordable, integers, shown, whole


def _table(given: Int[np.ndarray, "symbols period"]) -> Int64[np.ndarray, "symbols period"]:
    m = integers("m", given)
    if m.ndim != 2 or not m.size or (m < 0).any() or m.astype(float).sum() > 2**62:
        raise ValueError(
            "m holds numbers of tokens, at least 0 and below 2^62 together, by symbol and residue; "
            f"got {shown(given)}."
        )
    return m


def slots(prefix: int, period: int) -> Int[np.ndarray, " {period}"]:
    """Return how many of the first positions have each residue."""
    return (prefix - np.arange(period) + period - 1) // period


def shortest(m: Int[np.ndarray, "symbols period"], residue: int, tau: int, least: int) -> int:
    """Return the least prefix length with room for m, of a residue, with `least` symbols in all.

    **Arguments:** `m`: (symbols, period); `residue`: that of the last of the tau + 1 symbols
    which follow.

    **Raises:** `ValueError` for numbers below 0.
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
    """Return a prefix with m[s, i] tokens s at residue i, and fillers wherever there is room.

    **Arguments:** `fillers`: (period,), a symbol to fill up with, or -1 where there is none.

    **Returns:** the symbols, (prefix,); None where a filler is missing, or there is no room.

    **Raises:** `ValueError` for numbers below 0, or another number of fillers than residues.
    """
    m, fillers, prefix = _table(m), integers("fillers", fillers), whole("prefix", prefix, 0)
    affordable("a prefix", prefix, 2**30, "symbols")
    if np.shape(fillers) != (m.shape[1],):
        raise ValueError(f"there are {m.shape[1]} residues, and fillers of {np.shape(fillers)}.")
    period = m.shape[1]
    found = np.empty(prefix, np.int64)
    for i, room in enumerate(slots(prefix, period)):
        many = int(m[:, i].sum())
        if many > room or (many < room and fillers[i] < 0):
            return None
        tokens = np.repeat(np.arange(len(m)), m[:, i])
        found[i::period] = np.concatenate([tokens, np.full(room - len(tokens), fillers[i])])
    return found
