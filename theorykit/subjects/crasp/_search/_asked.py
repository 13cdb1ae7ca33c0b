"""Questions from tasks, in any of the forms in which a task can be given."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from theorykit.common.arguments import as_alphabet, shown
from theorykit.networks.tasks import RegularLanguage, Task
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._refute import asked as answered
from theorykit.subjects.crasp._search._drawn import Drawn
from theorykit.subjects.crasp._search._questions import Language, Question, Regular, Truths, few
from theorykit.subjects.crasp._search._sample import String


class Labelled(Question):
    """Labelled strings; labels may contradict each other if noise is allowed.

    **Fields:** `yes`, `no`: how often each string has each label.
    """

    def __init__(self, labels: Iterable[tuple[Sequence[str], Any]], alphabet: Any, noise: bool):
        self.name, self.yes, self.no = "labelled strings", {}, {}  # type: str, dict, dict
        for string, label in labels:
            if not isinstance(label, bool | np.bool_ | int) or label not in (0, 1):
                raise ValueError(f"the label of {shown(string)} is {shown(label)}, not True or "
                                 "False.")  # fmt: skip
            counts = self.yes if label else self.no
            counts[tuple(string)] = counts.get(tuple(string), 0) + 1
        both = [s for s in self.yes if s in self.no]
        if both and not noise:
            raise ValueError(
                f"the labels contradict each other: {''.join(both[0])!r} is labelled True and "
                "False; with agree=0.95, say, a twentieth of the labels may be wrong."
            )
        self.strings = sorted({**self.yes, **self.no}, key=len)
        if not self.strings:
            raise ValueError(
                "there are no labelled strings; give some, as {string: True or False}."
            )
        seen = sorted({symbol for s in self.strings for symbol in s})
        self.alphabet = few(tuple(seen or "a") if alphabet is None else as_alphabet(alphabet))
        if unknown := [symbol for symbol in seen if symbol not in self.alphabet]:
            raise ValueError(f"a labelled string has the symbol {unknown[0]!r}, which is not in "
                             f"the alphabet {' '.join(self.alphabet)}.")  # fmt: skip

    def truths(self, strings: Sequence[String]) -> Truths:
        """Return the majority label of each string, and -1 for unlabelled ones."""
        known = lambda s: s in self.yes or s in self.no
        label = lambda s: int(self.yes.get(s, 0) >= self.no.get(s, 0)) if known(s) else -1
        return np.array([label(s) for s in strings], np.int8).reshape(-1, 1)

    def short(self) -> list[String]:
        """Return the labelled strings."""
        return self.strings


def question(task: Any, alphabet: Any, noise: bool, seed: int) -> Question:
    """Return the question that a task poses, in any of its forms."""
    if isinstance(task, RegularLanguage):
        return Regular(task)
    if isinstance(task, Task):
        return Drawn(task, seed)
    if isinstance(task, Program):
        accepts = lambda strings: task.accepts(list(strings))
        return Language("the program's language", task.alphabet, accepts)
    if isinstance(task, Mapping):
        return Labelled(task.items(), alphabet, noise)
    if isinstance(task, Iterable) and not isinstance(task, str):
        pairs = list(task)
        wrong = [p for p in pairs if not isinstance(p, tuple) or len(p) != 2]
        if wrong:
            raise ValueError(f"labelled strings are pairs of a string and a label, not "
                             f"{shown(wrong[0])}.")  # fmt: skip
        return Labelled(pairs, alphabet, noise)
    if not callable(task):
        raise ValueError(
            "a task is a function of a string, a RegularLanguage, a task, a Program, or labelled "
            f"strings, not {shown(task)}."
        )
    if alphabet is None:
        raise ValueError('a function of a string needs an alphabet, such as alphabet="ab".')
    symbols = as_alphabet(alphabet)
    text = all(len(s) == 1 for s in symbols)
    answer = lambda strings: [answered(task, "".join(s) if text else s) for s in strings]
    name = getattr(task, "__name__", "<lambda>")
    return Language("the language" if name == "<lambda>" else name, symbols, answer)
