"""A task that is known only through its samples."""

from collections.abc import Callable, Iterator, Sequence

import jax
import numpy as np

from theorykit.common.errors import explain
from theorykit.networks.tasks import Algorithmic, AnyLength, Task
from theorykit.subjects.crasp._search._questions import Question, Truths, few
from theorykit.subjects.crasp._search._sample import String

FARTHEST = 64
"""The length of the longest examples that are drawn."""


class Drawn(Question):
    """A task that is known only through its samples: the target after each prefix seen."""

    def __init__(self, task: Task, seed: int):
        self.name = repr(task)
        names = self._names(task)
        self._targets: dict[String, str] = {}
        seen: set[str] = set()
        for x, target, weight in drawn(task, seed):
            string = tuple(names(int(c)) for c in x)
            seen.update(string)
            ends = [len(x)] if target.ndim == 0 else range(1, len(x) + 1)
            for end, goal, counts in zip(ends, target.reshape(-1), weight.reshape(-1),
                                         strict=True):  # fmt: skip
                if counts:
                    self._hold(string[:end], names(int(goal)))
        self.alphabet = tuple(sorted(seen, key=lambda s: (len(s), s)))
        self.outputs = tuple(sorted(set(self._targets.values()), key=lambda s: (len(s), s)))
        self._place = {name: k for k, name in enumerate(self.outputs)}

    def _names(self, task: Task) -> Callable[[int], str]:
        if isinstance(task, Algorithmic):
            known = (*task.symbols, "SOS", "SEP", "EOS")
            few(known)
            return lambda c: known[c]
        few(range(task.options.get("vocabulary") or 1))
        return str

    def _hold(self, prefix: String, goal: str) -> None:
        known = self._targets.setdefault(prefix, goal)
        if known != goal:
            raise ValueError(
                f"{self.name} is not a function of the prefix: after {' '.join(prefix)} it asks "
                f"for {known} and, another time, for {goal}."
            )

    def truths(self, strings: Sequence[String]) -> Truths:
        """Return, for each output, whether each string asks for it, where that was seen."""
        found = np.full((len(strings), len(self.outputs)), -1, np.int8)
        for row, string in zip(found, strings, strict=True):
            if string in self._targets:
                row[:] = 0
                row[self._place[self._targets[string]]] = 1
        return found

    def short(self) -> list[String]:
        """Return the prefixes seen."""
        return sorted(self._targets, key=len)

    def said(self, short: Sequence[String], long: Sequence[String]) -> str:
        """Describe the strings on which a program was tried."""
        return f"{len(short):,} prefixes drawn from the task, of up to {len(short[-1])} symbols"


def drawn(task: Task, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield tokens, targets and weights of examples of all short and some longer lengths."""
    lengths = [n for n in range(task.smallest, task.smallest + 8) if has(task, n)]
    lengths += [n for n in (16, 32, FARTHEST) if n > task.smallest + 8 and has(task, n)]
    if not lengths:
        raise ValueError(f"{task!r} has no examples of up to {FARTHEST} symbols.")
    padded = None
    if isinstance(task, AnyLength):  # compiled once for all lengths
        padded = jax.jit(jax.vmap(lambda key, n: task.padded(key, n, lengths[-1]), (0, None)))
    for n in lengths:
        keys = jax.random.split(jax.random.key(seed + n), 256 if n < 12 else 64)
        try:
            made = padded(keys, n) if padded else jax.vmap(lambda k, n=n: task.sample(k, n))(keys)
        except Exception as error:
            said = explain(error)
            raise ValueError(f"the sampler of {task!r} fails at length {n}: {said}.") from error
        if isinstance(made.x, tuple) or made.x.ndim != 2 or made.x.dtype.kind not in "iu":
            raise ValueError(
                f"{task!r} has no symbols as inputs, so there is nothing that a program could read."
            )
        if made.target.dtype.kind not in "iu" or made.target.ndim > 2:
            raise ValueError(
                f"{task!r} asks for numbers and not for symbols, which a program cannot answer."
            )
        for x, target, weight in zip(*(np.asarray(part) for part in made), strict=True):
            if target.ndim:  # after the last symbol that counts there is only padding, or nothing
                end = int(np.flatnonzero(weight).max(initial=-1)) + 1
                x, target, weight = x[:end], target[:end], weight[:end]
            yield x, target, weight


def has(task: Task, length: int) -> bool:
    """Return whether a task has examples of a length."""
    try:
        task.check(length)
    except ValueError:
        return False
    return True
