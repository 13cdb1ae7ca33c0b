"""From numbers of tokens to a string: every token at a position of its residue."""

import numpy as np
from jaxtyping import Int, Int64


def slots(prefix: int, period: int) -> Int[np.ndarray, " {period}"]:
    """Return how many of the first positions have each residue."""
    return (prefix - np.arange(period) + period - 1) // period


def shortest(m: Int[np.ndarray, "symbols period"], residue: int, tau: int, least: int) -> int:
    """Return the least prefix length with room for m, of a residue, with `least` symbols in all.

    **Arguments:** `m`: (symbols, period); `residue`: that of the last of the tau + 1 symbols
    which follow.
    """
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

    **Returns:** the symbols, (prefix,); None where a filler is missing.
    """
    period = m.shape[1]
    found = np.empty(prefix, np.int64)
    for i, room in enumerate(slots(prefix, period)):
        tokens = np.repeat(np.arange(len(m)), m[:, i])
        if len(tokens) > room or (len(tokens) < room and fillers[i] < 0):
            return None
        found[i::period] = np.concatenate([tokens, np.full(room - len(tokens), fillers[i])])
    return found
