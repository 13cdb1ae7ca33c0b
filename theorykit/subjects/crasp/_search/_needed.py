"""How long strings must be to tell a task from every small program that is not right."""

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
"""Prefixes of the short strings that programs are compared on, and how many long ones, at most."""


@dataclasses.dataclass(frozen=True)
class Needed:
    """The length up to which a program must be right for it to be right everywhere.

    **Fields:**

    - `length`: every program of at most `operations` operations that is right on all strings up to
      this length is right on all that were tried.
    - `complete`: all strings up to this length were tried; 0 where a task draws its strings.
    - `longest`, `strings`: how long the strings were, at most, and how many with their prefixes.
    - `operations`; `fragment`: which programs were looked at.
    - `rival`: the last program to fall, right on all strings shorter than `wrong`, on which it is
      wrong; None if every program that is wrong is so on the empty string.
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
        """`"exhaustive"` if no shorter strings were left out; it is then needed, and not more."""
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
    """Return the length that programs of a size must be right up to, to be right everywhere.

    All programs are made, smaller ones first, and compared on all short strings and on some long
    ones. Of those that are wrong somewhere, the length is that of the shortest string on which the
    one that is right for longest is wrong. A learner that picks one of these programs, whichever it
    is, and is right up to this length, has learned the task.

    **Arguments:**

    - `task`, `alphabet`, `seed`: as for `search`.
    - `fragment`: what programs may be made of; `Fragment()` if it is left out.
    - `most`: how many operations they have, at most.
    - `expressions`: how many are compared, on 64 prefixes, at most; a size that would go beyond is
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
    """Return strings to compare programs on, and up to which length all of them are there."""
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
    """Show all programs to the rivals; return the size up to which all were shown."""
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
    """The program that is wrong, and right for longest.

    **Fields:** `node`: the first at which it is wrong; `made`, `negate`: how it is made.
    """

    def __init__(self, sample: Sample, truths: Int[np.ndarray, " nodes"]):
        self.target, self.care = sample.pack(np.stack([truths == 1, truths >= 0]))
        self.node, self.made, self.negate = 0, None, False  # type: int, np.ndarray | None, bool

    def see(self, words: Words, made: Made) -> None:
        """Look at Booleans, each of which stands for its negation too."""
        differ = (words ^ self.target) & self.care
        for negate, wrong in ((False, differ), (True, differ ^ self.care)):
            nodes = first(wrong)
            k = int(nodes.argmax()) if len(nodes) else 0
            if len(nodes) and nodes[k] > self.node:
                self.node, self.negate = int(nodes[k]), negate
                self.made = made(np.array([k]))[0]


def first(words: UInt64[np.ndarray, "rows words"]) -> Int[np.ndarray, " rows"]:
    """Return the place of the first bit that is set, -1 where none is."""
    place = (words != 0).argmax(1)
    word = words[np.arange(len(words)), place]
    lowest = word & (~word + np.uint64(1))
    bit = np.bitwise_count(lowest - np.uint64(1)).astype(int)
    return np.where(word == 0, -1, WORD * place + bit)
