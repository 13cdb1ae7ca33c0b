"""The length of strings needed to tell a task from every small program that is wrong."""

import dataclasses
from typing import Any, Literal

import numpy as np
from jaxtyping import Int, UInt64

from theorykit.common.arguments import instance, whole
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search import _write
from theorykit.subjects.crasp._search._asked import question
from theorykit.subjects.crasp._search._bank import ClashError
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._maker import level
from theorykit.subjects.crasp._search._questions import Question
from theorykit.subjects.crasp._search._sample import WORD, Sample, String
from theorykit.subjects.crasp._search._seek import Made, Words
from theorykit.subjects.crasp._search._space import Space, negated

NODES, LONG = 1000, 24
"""The most prefixes of short strings on which programs are compared, and the most long strings."""


@dataclasses.dataclass(frozen=True)
class Needed:
    """The length up to which a program must be right in order to be right everywhere.

    **Fields:**

    - `length`: every program of at most `operations` operations that is right on all strings up to
      this length is right on all strings tried.
    - `complete`: all strings up to this length were tried; 0 where a task draws its strings.
    - `longest`, `strings`: the largest length of a string tried, and the number of strings with
      their prefixes.
    - `operations`; `fragment`: the programs that were enumerated.
    - `rival`: the last program to fall, right on all strings shorter than `wrong`, on which it is
      wrong; None if every wrong program is wrong on the empty string.
    """

    length: int
    complete: int
    longest: int
    strings: int
    operations: int
    fragment: Fragment
    rival: Program | None
    wrong: String | None

    @property
    def evidence(self) -> Literal["exhaustive", "searched"]:
        """`"exhaustive"` if all shorter strings were tried, so that the length is exact."""
        return "exhaustive" if self.length <= self.complete else "searched"


def needed(
    task: Any,
    fragment: Fragment | None = None,
    *,
    most: int = 5,
    alphabet: Any = None,
    expressions: int = 10**8,
    seed: int = 0,
) -> Needed:
    """Return the length up to which programs of a size must be right to be right everywhere.

    All programs are enumerated, smaller ones first, and compared on all short strings and some long
    ones. Each wrong program has a shortest string on which it is wrong; the length is the largest
    of these. A learner that picks any of these programs and is right up to this length has learned
    the task.

    **Arguments:**

    - `task`, `alphabet`, `seed`: as for `search`.
    - `fragment`: what programs may be made of; `Fragment()` if it is left out.
    - `most`: the largest number of operations.
    - `expressions`: a bound on the number compared, on 64 prefixes; a size that would exceed it is
      not begun.

    **Raises:** `ValueError` as `search`.
    """
    fragment = instance("fragment", Fragment() if fragment is None else fragment, Fragment,
                        "a crasp.Fragment")  # fmt: skip
    most, seed = whole("most", most, 0, 40), whole("seed", seed, 0, 2**32 - 1)
    expressions = whole("expressions", expressions, 1, 10**12)
    asked = question(task, alphabet, False, seed)
    sample, complete = _strings(asked, np.random.default_rng(seed))
    truths, keys = asked.truths(sample.strings), seed
    while True:
        space = Space(fragment, asked.alphabet, sample, most, keys)
        rivals = [_Rivals(sample, column) for column in truths.T]
        try:
            size = _looked(space, rivals, most, expressions)
            break
        except ClashError:
            keys += 1
    last = max(rivals, key=lambda r: r.node)
    program = None
    if last.made is not None:
        e = space.written(last.made)
        program = _write.program(asked.alphabet, {"L": negated(e) if last.negate else e})
    wrong = sample.strings[last.node] if program else None
    return Needed(len(wrong or ()), complete, sample.longest, sample.size, size, fragment,
                  program, wrong)  # fmt: skip


def _strings(asked: Question, rng: np.random.Generator) -> tuple[Sample, int]:
    """Return strings to compare programs on, and the length up to which all are included."""
    short, fit = asked.short(), list[String]()
    if not asked.everywhere:
        prefixes = set[String]()
        for string in short:
            prefixes.update(string[:n] for n in range(len(string) + 1))
            if len(prefixes) > 2 * NODES:
                break
            fit.append(string)
        return Sample(fit), 0
    lengths = np.array([len(s) for s in short])
    complete = max(n for n in range(lengths[-1] + 1) if (lengths <= n).sum() <= NODES or n <= 1)
    fit = [s for s in short if len(s) <= complete]
    long = [s for s in asked.long(rng) if len(s) > complete]
    picked = [long[k] for k in rng.permutation(len(long))[:LONG]]
    return Sample([*fit, *picked, *((symbol,) * 32 for symbol in asked.alphabet[:4])]), complete


def _looked(space: Space, rivals: list["_Rivals"], most: int, expressions: int) -> int:
    """Show programs to the rivals; return the size up to which all were shown."""
    for size in range(most + 1):
        cost = space.compared + space.cost(size)
        if space.too_large(size) or cost * space.sample.words > expressions:
            return size - 1

        def see(words: Words, made: Made) -> None:
            for rival in rivals:
                rival.see(words, made)

        level(space, size, see, keep=size < most)
    return most


class _Rivals:
    """The wrong program that stays right for longest.

    **Fields:** `node`: the first at which it is wrong; `made`, `negate`: how it was made.
    """

    def __init__(self, sample: Sample, truths: Int[np.ndarray, " nodes"]):
        self.target, self.care = sample.pack(np.stack([truths == 1, truths >= 0]))
        self.node, self.made, self.negate = 0, None, False  # type: int, np.ndarray | None, bool

    def see(self, words: Words, made: Made) -> None:
        """Process Booleans, each of which also stands for its negation."""
        differ = (words ^ self.target) & self.care
        for negate, wrong in ((False, differ), (True, differ ^ self.care)):
            nodes = first(wrong)
            k = int(nodes.argmax()) if len(nodes) else 0
            if len(nodes) and nodes[k] > self.node:
                self.node, self.negate = int(nodes[k]), negate
                self.made = made(np.array([k]))[0]


def first(words: UInt64[np.ndarray, "rows words"]) -> Int[np.ndarray, " rows"]:
    """Return the index of the first bit that is set, or -1 if there is none."""
    place = (words != 0).argmax(1)
    word = words[np.arange(len(words)), place]
    lowest = word & (~word + np.uint64(1))
    bit = np.bitwise_count(lowest - np.uint64(1)).astype(int)
    return np.where(word == 0, -1, WORD * place + bit)
