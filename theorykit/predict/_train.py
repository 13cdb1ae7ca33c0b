"""Networks that are trained at the predicted length and below it, and what became of them."""

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from theorykit.common.arguments import instance, number, whole
from theorykit.experiments import Mean, Setting
from theorykit.experiments.limit import Extrapolation, trained
from theorykit.networks.tasks import AnyLength, Sample
from theorykit.predict._task import Asked
from theorykit.subjects import crasp

POSITIONS = ("NoPE", "APE")

TESTED = 6
"""Lengths beyond those of training at which networks are judged, of each bin."""


@dataclasses.dataclass(frozen=True)
class Training:
    """How networks are trained and judged.

    **Fields:**

    - `steps`, `batch`, `seeds`, `width`, `rate`: of each training; layers and heads are those of
      the Limit Transformer, at most `layers` and `heads`.
    - `beyond`: lengths are half of the predicted one, that one, and so many times it.
    - `default`: the length where none is predicted.
    - `line`: a network is right at a length if it is on such a share of the strings, at every
      prefix, as a mean over seeds.

    **Raises:** `ValueError` for other numbers.
    """

    steps: int = 2000
    batch: int = 32
    seeds: int = 3
    width: int = 32
    rate: float = 1e-3
    layers: int = 2
    heads: int = 4
    beyond: int = 4
    default: int = 8
    longest: int = 24
    strings: int = 64
    line: float = 0.9

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.type is int or field.type == "int":
                whole(field.name, getattr(self, field.name), 1)
        number("rate", self.rate, "a rate above 0", lambda rate: rate > 0)
        number("line", self.line, "a share from 0 to 1", lambda share: 0 <= share <= 1)

    def __str__(self) -> str:
        return (f"{self.steps:,} steps of {self.batch} strings at rate {self.rate:g}, "
                f"width {self.width}, {self.seeds} seeds")  # fmt: skip

    def lengths(self, predicted: int | None) -> tuple[int, ...]:
        """Return the lengths to train at: below the predicted one, that one, and beyond."""
        at = max(predicted or self.default, 2)
        return tuple(sorted({max(at // 2, 1), at, max(at, min(self.beyond * at, self.longest))}))


@dataclasses.dataclass(frozen=True)
class Trial:
    """What became of the networks of one encoding, trained up to one length.

    **Fields:** `positions`: "NoPE" or "APE"; `length`: of training; `ends`: of the three bins of
    lengths, the first being that of training; `accuracy`: (bins, seeds), the share of strings that
    are right at every prefix.
    """

    positions: str
    length: int
    ends: tuple[int, ...]
    accuracy: Float[np.ndarray, "bins seeds"]

    def means(self) -> list[Mean]:
        """Return the mean over seeds of each bin, with its interval within 0 and 1."""
        shares = (Mean.of(row) for row in self.accuracy)
        return [Mean(m.value, *(float(end) for end in np.clip(m.interval, 0, 1))) for m in shares]

    def outcome(self, line: float) -> str:
        """Return "yes" if the last bin is right, "no" if not, "not learned" if the first is not."""
        means = self.accuracy.mean(1)
        if means[0] < line:
            return "not learned"
        return "yes" if means[-1] >= line else "no"

    def json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"positions": self.positions, "length": self.length, "ends": list(self.ends),
                "accuracy": self.accuracy.tolist()}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Prefixes(AnyLength):
    """Say of every prefix of a string whether it is in a language; strings are of a fixed stock.

    **Fields:** `name`; `symbols`: of the alphabet; `at`: the lengths that there are; `x`, `y`:
    ids, and labels of all prefixes, -1 for those that do not count.
    """

    name: str
    symbols: int
    at: tuple[int, ...]
    x: Int[np.ndarray, "lengths strings size"]
    y: Int[np.ndarray, "lengths strings size+1"]
    smallest = 1

    def __repr__(self) -> str:
        digest = hashlib.sha256(self.x.tobytes() + self.y.tobytes()).hexdigest()[:12]
        return f"Prefixes({self.name!r}, {digest})"

    @property
    def options(self) -> dict[str, Any]:
        """What `nets.Transformer` needs: ids in (the start symbol is the last), two scores out."""
        return dict(vocabulary=self.symbols + 1, outputs=2, readout="tokens", causal=True)

    def tokens(self, length: int) -> int:
        """Return n + 1."""
        return length + 1

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths from `low` to `high` that have strings."""
        return [n for n in self.at if low <= n <= high]

    def padded(self, key: PRNGKeyArray, length: Int[Array, ""] | int, size: int) -> Sample:
        """Return one string of this length, padded to `size` symbols."""
        place = jnp.searchsorted(jnp.asarray(self.at), length)
        row = jax.random.randint(key, (), 0, self.x.shape[1])
        fit = lambda a, n, fill: np.pad(
            a[..., :n], [(0, 0)] * 2 + [(0, max(n - a.shape[-1], 0))], constant_values=fill
        )
        word = jnp.asarray(fit(self.x, size, 0))[place, row]
        label = jnp.asarray(fit(self.y, size + 1, -1))[place, row]
        counts = (jnp.arange(size + 1) <= length) & (label >= 0)
        x = jnp.concatenate([jnp.full(1, self.symbols, word.dtype), word])
        return Sample(x, jnp.maximum(label, 0), counts.astype(float))


def stock(asked: Asked, train: int, far: int, count: int, seed: int) -> Prefixes:
    """Return strings to train on, of all lengths up to one, and to judge on, of some beyond."""
    ends = np.unique(np.linspace(train + 1, far, 2 * TESTED).round().astype(int))
    wanted = sorted({*range(1, train + 1), *ends.tolist()})
    found = crasp.labelled(asked.task, wanted, count, alphabet=asked.alphabet, seed=seed)
    if not found or min(found) > train or max(found) <= train:
        raise ValueError(
            f"{asked.name} needs strings of up to {train} symbols to train on, and longer ones to "
            "judge by."
        )
    strings = [s for rows in found.values() for s, _ in rows]
    alphabet = _alphabet(asked, strings)
    x = np.zeros((len(found), count, far), np.int32)
    y = np.full((len(found), count, far + 1), -1, np.int32)
    for place, (n, rows) in enumerate(found.items()):
        for k, (string, labels) in enumerate(_balanced(rows, count)):
            x[place, k, :n] = [alphabet.index(s) for s in string]
            y[place, k, : n + 1] = labels
    return Prefixes(asked.name, len(alphabet), tuple(found), x, y)


def _alphabet(asked: Asked, strings: list) -> tuple[str, ...]:
    given = asked.alphabet or getattr(asked.task, "alphabet", None)
    return tuple(given) if given else tuple(sorted({s for string in strings for s in string}))


def _balanced(rows: list, count: int) -> list:
    """Return so many strings, some more than once, half of them in the language if any is."""
    inside = [row for row in rows if row[1][-1] == 1]
    outside = [row for row in rows if row[1][-1] != 1]
    parts = [part for part in (inside, outside) if part]
    return [parts[k % len(parts)][k // len(parts) % len(parts[k % len(parts)])]
            for k in range(count)]  # fmt: skip


def trials(
    asked: Asked, predicted: int | None, size: tuple[int, int], training: Training, setting: Setting
) -> list[Trial]:
    """Train networks without positions and with, at each length, and judge them.

    **Arguments:** `predicted`: the length that is predicted, if there is one; `size`: layers and
    heads.
    """
    instance("training", training, Training, "a predict.Training")
    layers, heads = min(size[0], training.layers), min(max(size[1], 1), training.heads)
    heads = max(h for h in range(1, heads + 1) if training.width % h == 0)
    found = []
    for length in training.lengths(predicted):
        task = asked.task
        if not asked.draws:
            task = stock(asked, length, 3 * length, training.strings, setting.seed)
        elif not isinstance(task, AnyLength):
            raise ValueError(f"networks can be trained on a tasks.AnyLength, a task that has all "
                             f"lengths; {asked.name} is not one.")  # fmt: skip
        for positions in POSITIONS:
            plan = Extrapolation(
                task, positions, layers, heads, training.width, training.rate, training.steps,
                batch=training.batch, seeds=training.seeds, judged=4 * training.strings,
                every=max(training.steps // 4, 1), trained=length,
            )  # fmt: skip
            judged = trained(plan, setting, f"trained-{length}")
            found.append(Trial(positions, length, plan.ends, judged["accuracy"]))
    return found


def task_length(asked: Asked, tokens: int) -> int:
    """Return the length of a task's examples for a number of tokens; of strings it is the same."""
    if not asked.draws:
        return tokens
    fits = [n for n in range(1, tokens + 1) if asked.task.tokens(n) <= tokens]
    return max(fits, default=asked.task.smallest)


def from_json(found: Mapping[str, Any]) -> Trial:
    """Return a trial from its JSON object."""
    return Trial(found["positions"], found["length"], tuple(found["ends"]),
                 np.array(found["accuracy"]))  # fmt: skip
