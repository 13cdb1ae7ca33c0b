"""The search: expressions by size on a few strings, and more strings where a program is wrong."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from theorykit.common.arguments import flag, function, instance, number, whole
from theorykit.subjects.crasp._parse import parse
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search import _write
from theorykit.subjects.crasp._search._apart import untold
from theorykit.subjects.crasp._search._bank import ClashError
from theorykit.subjects.crasp._search._checkpoint import Checkpoint, digest
from theorykit.subjects.crasp._search._cover import joined
from theorykit.subjects.crasp._search._found import Found, Part, Traded
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._possible import impossible
from theorykit.subjects.crasp._search._questions import Labelled, Language, Question, question
from theorykit.subjects.crasp._search._sample import WORD, Sample, String
from theorykit.subjects.crasp._search._seek import Goal, Tally
from theorykit.subjects.crasp._search._space import Space, negated
from theorykit.subjects.crasp._syntax import And, Boolean, Expression, Or

ROWS = 2**24
"""Behaviours that are held, at most: two to four GiB."""

JOINED = 400_000
"""Booleans of which conjunctions are looked for, at most: seconds."""

ROUNDS = 8
"""How many times strings are changed to find one on which a program is wrong."""

WRONG, FEW = (40, 6), 20_000
"""Joined programs of one size that may be wrong before no more are tried there: of few Booleans,
and of more than that."""

NODES = 4096
"""Positions of all labelled strings, at most, where labels may be wrong."""


def search(
    task: Any,
    fragment: Fragment | None = None,
    *,
    most: int = 7,
    alphabet: Any = None,
    agree: float = 1.0,
    join: bool = True,
    seed: int = 0,
    folder: Any = None,
    say: Callable[[str], None] | None = None,
) -> Found:
    """Return the smallest C-RASP program for a task, or that there is none of up to some size.

    All expressions are made, smaller ones first, and of those with the same values on a few
    strings one is kept. One that is right there is tried on many strings more, by the exact
    evaluator; where it is wrong, such a string joins the few, and all begins again. Beyond the
    sizes that are looked at in full, conjunctions and disjunctions of what is known are tried;
    a program that is found like that may not be the smallest, which `Found.smallest` says.

    **Arguments:**

    - `task`: a function of a string that is true for those of a language; a `RegularLanguage`; a
      task of `theorykit.tasks` that draws symbols; a `Program`; or labelled strings, a dictionary
      or pairs.
    - `fragment`: what programs may be made of; `Fragment()` if it is left out.
    - `most`: how many operations are looked at in full. They are counted as `operations` does.
    - `alphabet`: the symbols, for a function or for labelled strings.
    - `agree`: the share of labels that a program must get right; below 1 some may be wrong.
    - `join`: whether larger programs are joined from small ones.
    - `seed`: of random strings, and of what a task draws.
    - `folder`: where to keep what is done; a search that was killed goes on from there.
    - `say`: is called with a line for each size.

    **Raises:** `ValueError` for an empty language, a task that is not a function of the prefix, one
    with too many symbols or with numbers for symbols, a sampler that fails, labels that contradict
    each other, or a folder of another search.
    """
    fragment = instance("fragment", Fragment() if fragment is None else fragment, Fragment,
                        "a crasp.Fragment")  # fmt: skip
    most, seed = whole("most", most, 0, 40), whole("seed", seed, 0, 2**32 - 1)
    agree = number("agree", agree, "a share above 0 and up to 1", lambda share: 0 < share <= 1)
    flag("join", join)
    if say is None:
        say = lambda line: None
    function("say", say, "a function of a line of text")
    asked = question(task, alphabet, agree < 1, seed)
    if agree < 1:
        if not isinstance(asked, Labelled):
            raise ValueError("agree is for labelled strings; for a language it is 1.")
        return _noisy(asked, fragment, most, agree)
    return _Search(asked, fragment, most, join, seed, folder, say).run()


@dataclasses.dataclass
class _Answer:
    """What is known of one output: a program that is right, and below which size there is none."""

    program: Program | None = None
    size: int | None = None
    excluded: int = -1
    settled: bool = False


class _Search:
    def __init__(self, asked: Question, fragment: Fragment, most: int, join: bool, seed: int,
                 folder: Any, say: Callable[[str], None]):  # fmt: skip
        self.asked, self.fragment, self.most, self.join = asked, fragment, most, join
        self.say, self.keys = say, 0
        self.rng = np.random.default_rng(seed)
        self.short = asked.short()
        self.long = asked.long(self.rng)
        self.tried = [*self.short, *self.long]
        self.truths = asked.truths(self.tried)
        self.answers = {output: _Answer() for output in asked.outputs}
        self.strings = self.first()
        self.failed: dict[int, int] = {}
        self.space: Space | None = None
        header = dict(task=asked.name, alphabet=list(asked.alphabet), most=most, join=join)
        header |= dict(seed=seed, truths=digest(self.truths)) | vars(fragment)
        header["local"] = [sorted(d) for d in fragment.local]
        self.checkpoint = Checkpoint(folder, header, most)

    def first(self) -> list[String]:
        """Return the strings to begin with: the shortest, and some right and wrong ones."""
        strings, symbols = [s for s in self.short if len(s) <= 2], len(self.asked.alphabet)
        strings = strings[: WORD // 2 if symbols < 6 else WORD]
        near = [k for k, s in enumerate(self.short) if 3 <= len(s) <= 12]
        for right in (1, 0) * 4:
            fit = [k for k in near if (self.truths[k] == right).any()]
            if fit:
                added = self.short[fit[int(self.rng.integers(len(fit)))]]
                if Sample([*strings, added]).size <= WORD - 8:
                    strings.append(added)
        return strings

    # The loop --------------------------------------------------------------------------------

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
        """Go through the sizes; return False if the strings have changed, and all begins again."""
        sample = Sample(self.strings)
        self.space = space = Space(self.fragment, self.asked.alphabet, sample, self.most, self.keys)
        truths = self.asked.truths(sample.strings)
        try:
            self.checkpoint.restore(space, self.done)
            for size in range(space.sizes, self.most + 1):
                goals = self.goals(sample, truths, size)
                if not goals:
                    return True
                keep = size < self.most
                space.level(size, lambda words, made, g=goals: _show(g, words, made), keep)
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
                if len(space.booleans) + len(space.counts) > ROWS:
                    self.say("what is held fills the memory that a search may take")
                    return True
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

    def goals(self, sample: Sample, truths: np.ndarray, size: int) -> dict[str, Goal]:
        """Return what is still to be found."""
        return {
            output: Goal(sample, truths[:, k])
            for k, output in enumerate(self.asked.outputs)
            if not self.answers[output].settled
        }

    def settle(self, goals: dict[str, Goal], size: int) -> bool:
        """Try what was found; return whether some was wrong, so that there is a string more."""
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
        """Join what is known; return whether some was wrong, so that there is a string more."""
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

    # The judge -------------------------------------------------------------------------------

    def right(self, output: str, e: Boolean) -> Program | None:
        """Return the program if it is right on all that is tried; else hold a string against it."""
        program = _write.program(self.asked.alphabet, {"L": e})
        truth = self.truths[:, self.asked.outputs.index(output)]
        wrong = np.flatnonzero((program.accepts(self.tried) != truth) & (truth >= 0))
        string = self.tried[wrong[0]] if len(wrong) else self.hunted(program)
        if string is None:
            return program
        self.strings.append(self.shorter(program, string))
        return None

    def hunted(self, program: Program) -> String | None:
        """Return a string on which a program is wrong, among those near what it accepts.

        A program that accepts too much is told by strings that few would think of; changing what
        it accepts, and keeping what it still accepts, comes to them.
        """
        rng = np.random.default_rng(len(self.strings))
        strings = self.long
        for _ in range(ROUNDS):
            strings = self.asked.near(strings, rng)
            if not strings:
                return None
            accepted = program.accepts(strings)
            wrong = np.flatnonzero(accepted != self.asked.truths(strings)[:, 0])
            if len(wrong):
                return strings[wrong[0]]
            kept = [s for s, holds in zip(strings, accepted.tolist(), strict=True) if holds]
            strings = (kept or strings) * (len(self.long) // max(len(kept), 1) + 1)
            strings = strings[: len(self.long)]
        return None

    def shorter(self, program: Program, string: String) -> String:
        """Return a string on which a program is wrong, with as much left out as can be."""
        if not self.asked.everywhere:
            return string
        size = len(string) // 2
        while size:
            cuts = [string[:k] + string[k + size :] for k in range(len(string) - size + 1)]
            truth = self.asked.truths(cuts)[:, 0]
            wrong = np.flatnonzero(program.accepts(cuts) != truth)
            if len(wrong):
                string = cuts[wrong[0]]
            else:
                size //= 2
        return string

    # What is kept, and what comes out ------------------------------------------------------------

    done = 0

    def state(self, done: int) -> dict[str, Any]:
        answers = {
            output: dict(program=str(a.program) if a.program else None, size=a.size,
                         excluded=a.excluded, settled=a.settled)
            for output, a in self.answers.items()
        }  # fmt: skip
        return dict(strings=[list(s) for s in self.strings], keys=self.keys, done=done,
                    failed=list(self.failed.items()), answers=answers)  # fmt: skip

    def recall(self) -> None:
        state = self.checkpoint.state()
        if state is None:
            return
        self.strings = [tuple(s) for s in state["strings"]]
        self.keys, self.done, self.failed = state["keys"], state["done"], dict(state["failed"])
        for output, kept in state["answers"].items():
            text = kept.pop("program")
            self.answers[output] = _Answer(parse(text) if text else None, **kept)

    def line(self, size: int) -> str:
        assert self.space is not None
        space, known = self.space, [a.size for a in self.answers.values() if a.size is not None]
        return (
            f"{size} operations: {space.compared:,} expressions compared, "
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
            tried=asked.said(self.short, self.long),
            strings=tuple(self.strings),
        )
        if program is not None or not isinstance(asked, Language):
            return found
        pair = untold(asked, self.fragment, found.excluded)
        reason = impossible(asked, self.fragment)
        if pair is None:
            return dataclasses.replace(found, reason=reason)
        return dataclasses.replace(found, apart=pair[:2], untold=pair[2], reason=reason)


def _show(goals: dict[str, Goal], words: np.ndarray, made: Any) -> None:
    for goal in goals.values():
        goal.see(words, made)


def _together(asked: Question, parts: tuple[Part, ...]) -> Program:
    """Return one program with a definition for each output."""
    outputs: dict[str, Boolean] = {}
    for part in parts:
        assert part.program is not None
        name = _write.next_name(part.output, asked.outputs)
        outputs[name] = _inlined(part.program)
    return _write.program(asked.alphabet, outputs)


def _inlined(program: Program) -> Boolean:
    """Return the last definition with all names replaced by what they stand for."""
    known: dict[str, Expression] = {}

    def inline(e: Expression) -> Expression:
        if hasattr(e, "name"):
            return known[e.name]
        parts = {k: inline(v) if isinstance(v, Expression) else v for k, v in vars(e).items()}
        return type(e)(**parts)

    for d in program.definitions:
        known[d.name] = inline(d.expression)
    return known[program.output]  # type: ignore[return-value]


def _noisy(asked: Labelled, fragment: Fragment, most: int, agree: float) -> Found:
    """Return the smallest program that gets a share of the labels right, and larger ones."""
    sample = Sample(asked.strings)
    if sample.size > NODES:
        raise ValueError(
            f"the labelled strings have {sample.size:,} prefixes, which is too many to search with "
            f"errors; give strings with at most {NODES:,}."
        )
    yes, no = ([counts.get(s, 0) for s in sample.strings] for counts in (asked.yes, asked.no))
    total = sum(yes) + sum(no)
    keys, traded = 0, list[Traded]()
    while True:
        space, tally = Space(fragment, asked.alphabet, sample, most, keys), Tally(sample, yes, no)
        traded = []
        try:
            for size in range(most + 1):
                before = tally.errors
                space.level(size, tally.see, keep=size < most)
                if tally.errors < before and tally.made is not None:
                    e = space.written(tally.made)
                    e = negated(e) if tally.negate else e
                    program = _write.program(asked.alphabet, {"L": e})
                    traded.append(Traded(program, size, tally.errors))
                if tally.errors == tally.floor:
                    break
            break
        except ClashError:
            keys += 1
    enough = [t for t in traded if t.errors <= (1 - agree) * total + 1e-9]
    part = Part("L", None, None, most)
    if enough:
        part = Part("L", enough[0].program, enough[0].operations, enough[0].operations - 1)
    return Found(
        name=asked.name,
        fragment=fragment,
        parts=(part,),
        program=part.program,
        compared=space.compared,
        distinct=len(space.booleans) + len(space.counts),
        tried=f"{total - enough[0].errors if enough else 0:,} of {total:,} labels",
        strings=sample.strings,
        traded=tuple(traded),
    )
