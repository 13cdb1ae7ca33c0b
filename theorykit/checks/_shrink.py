"""Make a witness small: zeros, equal entries and short numbers, while it stays a witness.

Greedy, as property testing does it: list simpler neighbours, most ambitious first; move to the
first that still refutes; stop when none does. Every move makes the point strictly simpler
(`complexity`), so it ends.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from theorykit.checks._inputs import Case

Refutes = Callable[[Sequence[Case]], Bool[np.ndarray, " cases"]]

MOST_TRIES, MOST_WORK = 20_000, 2_000_000
"""How many neighbours are examined, and how many numbers in them."""


LINE = 100
"""Characters in a line of a shown array."""


def shrink(case: Case, refutes: Refutes, allowed: Callable[[Case], bool]) -> Case:
    """Return the simplest point found that still refutes.

    **Arguments:** `case`: an array for each argument; `refutes`: says of many points at once if
    they refute; `allowed`: whether a point lies in the domain.
    """
    tries = 0
    most = min(MOST_TRIES, MOST_WORK // max(1, sum(a.size for a in case.values())))
    while tries < most:
        here = complexity(case)
        found = None
        for batch in _batches(_simpler(case), 64):
            tries += len(batch)
            batch = [c for c in batch if complexity(c) < here and allowed(c)]
            if not batch:
                continue
            kept = _that_refute(batch, refutes)
            if kept:
                found = min(kept, key=complexity)
                break
            if tries >= most:
                break
        if found is None:
            return case
        case = found
    return case


def _that_refute(batch: list[Case], refutes: Refutes) -> list[Case]:
    """Return the points that refute; one at which a side fails in Python does not."""
    try:
        return [c for c, yes in zip(batch, refutes(batch), strict=True) if yes]
    except Exception:
        return [c for c in batch if len(batch) > 1 and _that_refute([c], refutes)]


def complexity(case: Case) -> tuple[float, ...]:
    """Order points: fewer nonzero entries, fewer fractions, fewer distinct, fewer digits, ..."""
    entries = np.concatenate([np.asarray(a, float).ravel() for a in case.values()] or [np.zeros(0)])
    distinct = set(np.abs(entries).tolist())
    digits = sum(len(repr(v).rstrip("0").replace(".", "").lstrip("0")) for v in distinct)
    return (
        int((entries != 0).sum()),
        int((entries != np.round(entries)).sum()),
        len(distinct),
        digits,
        int((entries < 0).sum()),
        float(np.abs(entries).sum()),
    )


def _simpler(case: Case) -> Iterator[Case]:
    """Yield candidates, from the most ambitious to single digits."""
    names = list(case)
    for name in names:  # a whole argument at once
        for value in (0.0, 1.0):
            yield case | {name: _like(case[name], np.full(case[name].shape, value))}
    for digits in (0, 1, 2, 3):  # all numbers shorter
        yield {name: _like(a, np.round(np.asarray(a, float), digits)) for name, a in case.items()}
    for name in names:
        a = np.asarray(case[name], float)
        flat = a.ravel()
        for block in _blocks(flat.size):  # halves, quarters, ..., single entries: to zero
            if flat[block].any():
                yield case | {name: _like(case[name], _with(a, block, 0.0))}
        common = _most_common(flat)
        for i in range(flat.size):
            options = [1.0, abs(flat[i]), *common]
            if np.isfinite(flat[i]):
                options += [float(np.round(flat[i], d)) for d in (0, 1, 2, 3)]
                outwards = float(np.sign(flat[i]) * np.ceil(abs(flat[i])))
                options += [outwards, float(np.trunc(flat[i])), flat[i] / 2]
                options += [float(np.trunc(flat[i])) - float(np.sign(flat[i]))]
            for value in dict.fromkeys(options):
                if value != flat[i]:
                    yield case | {name: _like(case[name], _with(a, slice(i, i + 1), value))}
        yield from _together({name: case[name]}, case)
    if len(names) > 1:
        yield from _together(case, case)


def _together(among: Case, case: Case) -> Iterator[Case]:
    """Yield candidates in which all entries that share a value move: equal entries stay equal."""
    floats = {name: np.asarray(a, float) for name, a in among.items()}
    values = [v for a in floats.values() for v in a.ravel().tolist() if v and np.isfinite(v)]
    for value in dict.fromkeys(v for v in values if values.count(v) > 1):
        for new in dict.fromkeys(
            (
                1.0,
                float(np.round(value)),
                float(np.round(value, 1)),
                float(np.trunc(value)),
                value - float(np.sign(value)),
            )
        ):
            if new != value:
                moved = {n: _like(case[n], np.where(a == value, new, a)) for n, a in floats.items()}
                yield case | moved


def _blocks(size: int) -> Iterator[slice]:
    width = size
    while width > 1:
        width = (width + 1) // 2
        for start in range(0, size, width):
            yield slice(start, start + width)
    if size == 1:
        yield slice(0, 1)


def _with(a: np.ndarray, block: slice, value: float) -> np.ndarray:
    flat = a.ravel().copy()
    flat[block] = value
    return flat.reshape(a.shape)


def _most_common(flat: np.ndarray) -> list[float]:
    values, counts = np.unique(flat, return_counts=True)
    return values[np.argsort(-counts, kind="stable")][:3].tolist()


def _like(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.asarray(new).astype(np.asarray(old).dtype)


def _batches(candidates: Iterator[Case], size: int) -> Iterator[list[Case]]:
    batch: list[Case] = []
    for candidate in candidates:
        batch.append(candidate)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def show_arrays(arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Return numpy assignments that give back exactly these arrays, one for each name."""
    lines = []
    for name, value in arrays.items():
        value = np.asarray(value)
        if value.ndim == 0:
            lines.append(f"{name} = {value.item()!r}")
        elif value.size == 0:
            lines.append(f"{name} = np.zeros({value.shape})")
        else:
            start = f"{name} = np.array("
            kind = "" if value.dtype == np.float64 else f", dtype={value.dtype.name!r}"
            body = _nested((value + 0).tolist(), len(start))  # -0.0 is shown as 0.0
            lines.append(f"{start}{body}{kind})")
    return lines


def _nested(values: list, indent: int) -> str:
    """Write nested lists: a line for each row, long rows wrapped, numbers as short as they go."""
    pad = " " * (indent + 1)
    if isinstance(values[0], list):
        return "[" + f",\n{pad}".join(_nested(row, indent + 1) for row in values) + "]"
    numbers = ", ".join(re.sub(r"\.0$", ".", repr(v)) for v in values)
    rows = textwrap.wrap(numbers, max(40, LINE - indent), break_long_words=False)
    return "[" + f"\n{pad}".join(rows) + "]"
