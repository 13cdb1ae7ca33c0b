"""Exact piecewise linear functions on 0, 1, 2, ..., closed under the operations of programs.

A function is a tuple of pieces (start, value at the start, slope); the first starts at 0 and the
last goes on for ever. Booleans are functions with values 0 and 1.
"""

import functools
from collections.abc import Iterator, Sequence

Line = tuple[tuple[int, int, int], ...]


def constant(value: int) -> Line:
    """Return the constant function with this value."""
    return ((0, int(value), 0),)


def at(f: Line, n: int) -> int:
    """Return f(n)."""
    start, value, slope = next(p for p in reversed(f) if p[0] <= n)
    return value + slope * (n - start)


def joined(pieces: Sequence[tuple[int, int, int]]) -> Line:
    """Return the function with these pieces, merging a piece that continues the one before it."""
    found: list[tuple[int, int, int]] = []
    for start, value, slope in pieces:
        if found:
            s, v, m = found[-1]
            if m == slope and v + m * (start - s) == value:
                continue
        found.append((start, value, slope))
    return tuple(found)


def _common(*functions: Line) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield the start of every common piece, with the values and slopes of all functions there."""
    starts = sorted({p[0] for f in functions for p in f})
    places = [0] * len(functions)
    for start in starts:
        here = []
        for k, f in enumerate(functions):
            while places[k] + 1 < len(f) and f[places[k] + 1][0] <= start:
                places[k] += 1
            s, v, m = f[places[k]]
            here.append((v + m * (start - s), m))
        yield start, here


@functools.lru_cache(2**14)
def add(f: Line, g: Line) -> Line:
    """Return f + g."""
    return joined([(s, a + b, m + n) for s, ((a, m), (b, n)) in _common(f, g)])


@functools.lru_cache(2**14)
def subtract(f: Line, g: Line) -> Line:
    """Return f - g."""
    return joined([(s, a - b, m - n) for s, ((a, m), (b, n)) in _common(f, g)])


@functools.lru_cache(2**14)
def choose(p: Line, f: Line, g: Line) -> Line:
    """Return f where the Boolean p holds and g elsewhere."""
    return joined([(s, *(a if q[0] else b)) for s, (q, a, b) in _common(p, f, g)])


@functools.lru_cache(2**14)
def at_least_zero(f: Line) -> Line:
    """Return the Boolean f >= 0."""
    pieces = []
    for k, (start, value, slope) in enumerate(f):
        pieces.append((start, int(value >= 0), 0))
        if slope > 0 > value:
            turn = start + -(value // slope)  # the first place where value + slope t >= 0
        elif slope < 0 <= value:
            turn = start + value // -slope + 1
        else:
            continue
        if k + 1 == len(f) or turn < f[k + 1][0]:
            pieces.append((turn, int(slope > 0), 0))
    return joined(pieces)


@functools.lru_cache(2**14)
def total(f: Line) -> Line:
    """Return the sum of f over 0, ..., n - 1 as a function of n, for a piecewise constant f."""
    pieces, so_far = [], 0
    for k, (start, value, _) in enumerate(f):
        pieces.append((start, so_far, value))
        if k + 1 < len(f):
            so_far += value * (f[k + 1][0] - start)
    return joined(pieces)


def delayed(f: Line, first: Sequence[int]) -> Line:
    """Return the function that takes the given first values and then f(0), f(1), ..."""
    later = [(start + len(first), value, slope) for start, value, slope in f]
    return joined([*((n, value, 0) for n, value in enumerate(first)), *later])
