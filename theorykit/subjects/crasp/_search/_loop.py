"""The search: enumerate expressions by size on a few strings; add strings that expose mistakes."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from theorykit.common.arguments import flag, function, instance, number, whole
from theorykit.subjects.crasp._parse import parse
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search import _write
from theorykit.subjects.crasp._search._apart import untold
from theorykit.subjects.crasp._search._asked import Labelled, question
from theorykit.subjects.crasp._search._bank import ClashError
from theorykit.subjects.crasp._search._checkpoint import Checkpoint, digest
from theorykit.subjects.crasp._search._cover import joined
from theorykit.subjects.crasp._search._found import Found, Part, so_many
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._judge import Judge
from theorykit.subjects.crasp._search._maker import level
from theorykit.subjects.crasp._search._noise import noisy
from theorykit.subjects.crasp._search._possible import reason
from theorykit.subjects.crasp._search._questions import Language, Question
from theorykit.subjects.crasp._search._sample import WORD, Sample, String
from theorykit.subjects.crasp._search._seek import Goal
from theorykit.subjects.crasp._search._space import Space, negated
from theorykit.subjects.crasp._syntax import And, Boolean, Or

JOINED = 400_000
"""The most Booleans that are tried in conjunctions: seconds."""

WRONG, FEW = (40, 6), 20_000
"""Wrong joined programs of one size before that size is given up: of few Booleans, and of more."""


def search(
    task: Any,
    fragment: Fragment | None = None,
    *,
    most: int = 7,
    alphabet: Any = None,
    agree: float = 1.0,
    join: bool = True,
    expressions: int = 10**9,
    seed: int = 0,
    folder: Any = None,
    say: Callable[[str], None] | None = None,
) -> Found:
    """Return the smallest C-RASP program for a task, or that there is none up to some size.

    All expressions are enumerated, smaller ones first; of those that agree on a few strings, one is
    kept. A program that is right there is tested on many more strings by the exact evaluator. If it
    is wrong on one of them, that string joins the few and the search starts again. Beyond the sizes
    that are enumerated in full, conjunctions and disjunctions of known Booleans are tried. A
    program found in this way may not be the smallest; `Found.smallest` says whether it is.

    **Arguments:**

    - `task`: a predicate on strings that defines a language; a `RegularLanguage`; a task of
      `theorykit.tasks` that draws symbols; a `Program`; or labelled strings, as a dictionary or
      pairs.
    - `fragment`: the fragment to search; `Fragment()` by default.
    - `most`: the size up to which programs are enumerated in full, counted as `operations` does.
    - `alphabet`: the symbols, for a function or for labelled strings.
    - `agree`: the share of labels that a program must get right; below 1, some may be wrong.
    - `join`: whether larger programs are joined from small ones.
    - `expressions`: a bound on the total number compared, on 64 prefixes; a size that would exceed
      it is not begun, and the result is what was found by then.
    - `seed`: for random strings and for samples of a task.
    - `folder`: where to save progress; a killed search resumes from there.
    - `say`: called with one line per size.

    **Raises:** `ValueError` for an empty language, a task that is not a function of the prefix, one
    with too many symbols or with numbers for symbols, a sampler that fails, contradictory labels,
    or a folder of another search.
    """
    fragment = instance("fragment", Fragment() if fragment is None else fragment, Fragment,
                        "a crasp.Fragment")  # fmt: skip
    most, seed = whole("most", most, 0, 40), whole("seed", seed, 0, 2**32 - 1)
    agree = number("agree", agree, "a share above 0 and up to 1", lambda share: 0 < share <= 1)
    expressions = whole("expressions", expressions, 1, 10**12)
    flag("join", join)
    if say is None:
        say = lambda line: None
    function("say", say, "a function of a line of text")
    asked = question(task, alphabet, agree < 1, seed)
    if agree < 1:
        if not isinstance(asked, Labelled):
            raise ValueError("agree is for labelled strings; for a language it is 1.")
        return noisy(asked, fragment, most, agree)
    return _Search(asked, fragment, most, join, expressions, seed, folder, say).run()


@dataclasses.dataclass
class _Answer:
    """What is known about one output: a program that is right, and the size below which none is."""

    program: Program | None = None
    size: int | None = None
    excluded: int = -1
    settled: bool = False


class _Search:
    def __init__(self, asked: Question, fragment: Fragment, most: int, join: bool,
                 expressions: int, seed: int, folder: Any, say: Callable[[str], None]):  # fmt: skip
        self.asked, self.fragment, self.most, self.join = asked, fragment, most, join
        self.left = expressions  # the budget, on 64 prefixes
        self.say, self.keys = say, 0
        self.rng = np.random.default_rng(seed)
        self.judge = Judge(asked, self.rng)
        self.answers = {output: _Answer() for output in asked.outputs}
        self.strings = self.first()
        self.failed: dict[int, int] = {}
        self.space: Space | None = None
        self.done = 0  # sizes saved so far
        header = dict(task=asked.name, alphabet=list(asked.alphabet), most=most, join=join)
        header |= dict(expressions=expressions, seed=seed, truths=digest(self.judge.truths)) | vars(
            fragment
        )
        header["local"] = [sorted(d) for d in fragment.local]
        self.checkpoint = Checkpoint(folder, header, most)

    def first(self) -> list[String]:
        """Return the initial strings: the shortest, and some right and wrong ones."""
        strings, symbols = [s for s in self.judge.short if len(s) <= 2], len(self.asked.alphabet)
        strings = strings[: WORD // 2 if symbols < 6 else WORD]
        near = [k for k, s in enumerate(self.judge.short) if 3 <= len(s) <= 12]
        for right in (1, 0) * 4:
            fit = [k for k in near if (self.judge.truths[k] == right).any()]
            if fit:
                added = self.judge.short[fit[int(self.rng.integers(len(fit)))]]
                if Sample([*strings, added]).size <= WORD - 8:
                    strings.append(added)
        return strings

    # The loop ----------------------------------------------------------------------------------

    def run(self) -> Found:
        try:
            self.recall()
            while not self.enumerated():
                pass
            found = self.found()
            self.checkpoint.keep(self.state(0))
            return found
        finally:
            self.checkpoint.close()

    def enumerated(self) -> bool:
        """Go through the sizes; return False if a string was added, so that all starts again."""
        sample = Sample(self.strings)
        self.space = space = Space(self.fragment, self.asked.alphabet, sample, self.most, self.keys)
        truths = self.asked.truths(sample.strings)
        try:
            self.checkpoint.restore(space, self.done)
            for size in range(space.sizes, self.most + 1):
                goals = self.goals(sample, truths)
                if not goals:
                    return True
                if space.too_large(size) or space.cost(size) * sample.words > self.left:
                    self.say(f"{so_many(size)} are too many for the time and memory allowed")
                    return True
                keep, before = size < self.most, space.compared
                level(space, size, functools.partial(_show, goals), keep)
                self.left -= (space.compared - before) * sample.words
                self.say(self.line(size))
                if self.settle(goals, size):
                    return self.again()
                for answer in self.answers.values():
                    if not answer.settled:
                        answer.excluded = size
                        answer.settled = answer.size == size + 1
                if not keep:
                    return True
                if self.join and self.joins(sample, truths):
                    return self.again()
                self.checkpoint.keep_level(space, size)
                self.done = size + 1
                self.checkpoint.keep(self.state(self.done))
            return True
        except ClashError:
            self.keys += 1
            return self.again()

    def again(self) -> bool:
        self.done = 0
        self.checkpoint.keep(self.state(0))
        return False

    def goals(self, sample: Sample, truths: np.ndarray) -> dict[str, Goal]:
        """Return the goals that are still open."""
        return {
            output: Goal(sample, truths[:, k])
            for k, output in enumerate(self.asked.outputs)
            if not self.answers[output].settled
        }

    def settle(self, goals: dict[str, Goal], size: int) -> bool:
        """Test what was found; return whether any of it was wrong, so that a string was added."""
        assert self.space is not None
        before = len(self.strings)
        for output, goal in goals.items():
            if goal.made is not None:
                e = self.space.written(goal.made)
                program = self.right(output, negated(e) if goal.negate else e)
                if program is not None:
                    self.answers[output] = _Answer(program, size, size - 1, True)
        return len(self.strings) > before

    def joins(self, sample: Sample, truths: np.ndarray) -> bool:
        """Join known Booleans; return whether a result was wrong, so that a string was added."""
        space, before = self.space, len(self.strings)
        assert space is not None
        failed, many = self.failed.get(space.sizes, 0), len(space.booleans) > FEW
        if len(space.booleans) > JOINED or failed >= WRONG[many]:
            return False
        words, sizes = space.booleans.rows.all, space.sizes_of_booleans()
        for k, (output, answer) in enumerate(self.answers.items()):
            if answer.settled:
                continue
            goal = Goal(sample, truths[:, k])
            found = joined(sample, words, sizes, goal.target, goal.care)
            if found is None or (answer.size is not None and found.size >= answer.size):
                continue
            parts = [space.signed(n) for n in found.parts]
            e: Boolean = parts[0]
            for part in parts[1:]:
                e = And(e, part) if found.every else Or(e, part)
            program = self.right(output, e)
            if program is not None:
                answer.program, answer.size = program, found.size
                answer.settled = found.size == answer.excluded + 1
        wrong = len(self.strings) - before
        self.failed[space.sizes] = failed + wrong
        return wrong > 0

    def right(self, output: str, e: Boolean) -> Program | None:
        """Return the program if it is right on all strings; else add one that refutes it."""
        program = _write.program(self.asked.alphabet, {"L": e})
        string = self.judge.against(program, output, len(self.strings))
        if string is None:
            return program
        self.strings.append(string)
        return None

    # Saved state, and results ------------------------------------------------------------

    def state(self, done: int) -> dict[str, Any]:
        answers = {
            output: dict(program=str(a.program) if a.program else None, size=a.size,
                         excluded=a.excluded, settled=a.settled)
            for output, a in self.answers.items()
        }  # fmt: skip
        return dict(strings=[list(s) for s in self.strings], keys=self.keys, done=done,
                    left=self.left, failed=list(self.failed.items()), answers=answers)  # fmt: skip

    def recall(self) -> None:
        state = self.checkpoint.state()
        if state is None:
            return
        self.strings = [tuple(s) for s in state["strings"]]
        self.keys, self.done, self.failed = state["keys"], state["done"], dict(state["failed"])
        self.left = state["left"]
        for output, kept in state["answers"].items():
            text = kept.pop("program")
            self.answers[output] = _Answer(parse(text) if text else None, **kept)

    def line(self, size: int) -> str:
        assert self.space is not None
        space, known = self.space, [a.size for a in self.answers.values() if a.size is not None]
        return (
            f"{so_many(size)}: {space.compared:,} expressions compared, "
            f"{len(space.booleans) + len(space.counts):,} behaviours on {space.sample.size} "
            f"prefixes, {len(known)} of {len(self.answers)} found"
        )

    def found(self) -> Found:
        asked, space = self.asked, self.space
        assert space is not None
        parts = tuple(Part(o, a.program, a.size, a.excluded) for o, a in self.answers.items())
        program = None
        if all(p.program for p in parts):
            program = parts[0].program if len(parts) == 1 else _together(asked, parts)
        found = Found(
            name=asked.name,
            fragment=self.fragment,
            parts=parts,
            program=program,
            compared=space.compared,
            distinct=len(space.booleans) + len(space.counts),
            tried=asked.said(self.judge.short, self.judge.long),
            strings=tuple(self.strings),
        )
        if program is not None or not isinstance(asked, Language):
            return found
        pair = untold(asked, self.fragment, found.excluded)
        found = dataclasses.replace(found, impossible=reason(asked))
        if pair is None:
            return found
        return dataclasses.replace(found, apart=pair[:2], untold=pair[2])


def _show(goals: dict[str, Goal], words: np.ndarray, made: Any) -> None:
    for goal in goals.values():
        goal.see(words, made)


def _together(asked: Question, parts: tuple[Part, ...]) -> Program:
    """Return one program with a definition for each output."""
    outputs = {_write.next_name(p.output, asked.outputs): _write.inlined(p.program)
               for p in parts if p.program is not None}  # fmt: skip
    return _write.program(asked.alphabet, outputs)
