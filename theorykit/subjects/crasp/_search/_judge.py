"""Decide whether a program is right and, if not, find a short string on which it is wrong."""

import numpy as np

from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search._questions import Question
from theorykit.subjects.crasp._search._sample import String

ROUNDS = 8
"""The number of rounds of mutations in the search for a string on which a program is wrong."""


class Judge:
    """Tests programs with the exact evaluator.

    **Fields:** `short`, `long`: the strings on which each program is tried; `tried`: both together;
    `truths`: the known truth on them.
    """

    def __init__(self, asked: Question, rng: np.random.Generator):
        self.asked, self.short, self.long = asked, asked.short(), asked.long(rng)
        self.tried = [*self.short, *self.long]
        self.truths = asked.truths(self.tried)

    def against(self, program: Program, output: str, seed: int) -> String | None:
        """Return a string on which a program is wrong about an output, or None if none is found."""
        truth = self.truths[:, self.asked.outputs.index(output)]
        wrong = np.flatnonzero((program.accepts(self.tried) != truth) & (truth >= 0))
        string = self.tried[wrong[0]] if len(wrong) else self._hunted(program, seed)
        if string is None or not self.asked.everywhere:
            return string
        return self._shorter(program, string)

    def _hunted(self, program: Program, seed: int) -> String | None:
        """Return a string near those that a program accepts on which it is wrong.

        A program that accepts too much is exposed by unlikely strings. They are reached by mutating
        the strings that it accepts and keeping those that it still accepts.
        """
        rng, strings = np.random.default_rng(seed), self.long
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

    def _shorter(self, program: Program, string: String) -> String:
        """Shrink a string on which a program is wrong, for as long as it stays wrong."""
        size = len(string) // 2
        while size:
            cuts = [string[:k] + string[k + size :] for k in range(len(string) - size + 1)]
            wrong = np.flatnonzero(program.accepts(cuts) != self.asked.truths(cuts)[:, 0])
            if len(wrong):
                string = cuts[wrong[0]]
            else:
                size //= 2
        return string
