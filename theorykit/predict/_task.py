"""What is asked: a task by its name, as a regular expression, in a Python file, or as an object."""

import dataclasses
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from theorykit.common.arguments import as_alphabet, shown
from theorykit.common.errors import explain
from theorykit.common.spelling import nearest
from theorykit.networks.tasks import ALGORITHMIC, LANGUAGES, RegularLanguage, Task

OPERATORS = "|*+?&^.(){} "
LENGTHS = (*range(1, 11), 12, 16, 24)
"""Lengths at which a sampler is asked for strings."""

NUMBERS = 8
"""How many numbers `sort` and `unique_copy` have here: no search could try their 150."""

DRAWN = 64
"""Strings of each length that a sampler is asked for."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """A task and how it was given.

    **Fields:** `name`; `given`: what it is, in words; `task`: as `crasp.search` takes it;
    `alphabet`: for a function of a string or for labelled strings.
    """

    name: str
    given: str
    task: Any
    alphabet: Any = None

    @property
    def draws(self) -> bool:
        """Whether it is a task that draws its examples, for next symbols."""
        return isinstance(self.task, Task) and not isinstance(self.task, RegularLanguage)


def asked(task: Any, alphabet: Any = None) -> Asked:
    """Return what is asked by a name, a regular expression, a Python file or an object.

    **Raises:** `ValueError` for anything else, for a file that fails or has no task, and for an
    alphabet where the task has its own.
    """
    if isinstance(task, Path) or (isinstance(task, str) and task.endswith(".py")):
        return _from_file(Path(task), alphabet)
    if isinstance(task, str) and task not in LANGUAGES and task not in ALGORITHMIC:
        return _from_text(task, alphabet)
    if isinstance(task, str | Task):
        _no_other(alphabet, task if isinstance(task, str) else repr(task))
    if isinstance(task, str):
        if task in LANGUAGES:
            return Asked(task, _regular(LANGUAGES[task]), LANGUAGES[task])
        return _algorithmic(task)
    if isinstance(task, RegularLanguage):
        return Asked(task.name, _regular(task), task)
    if isinstance(task, Task):
        return Asked(repr(task), "a task that draws its examples", task)
    name = getattr(task, "__name__", "")
    name = "the language" if name in ("", "<lambda>") else name
    given = "a function of a string" if callable(task) else "labelled strings"
    if isinstance(task, Mapping):
        name = "labelled strings"
    elif not callable(task):
        raise ValueError(
            "a task is given as a name, a regular expression, a Python file, a function of a "
            "string, a task of theorykit.tasks or a dictionary of labelled strings, not as "
            f"{shown(task)}."
        )
    return Asked(name, given, task, alphabet)


def _algorithmic(name: str) -> Asked:
    """Return a task of the limit paper, with fewer numbers where it has too many to search."""
    task = ALGORITHMIC[name]
    if getattr(task, "vocabulary", 0) > NUMBERS:
        task = dataclasses.replace(task, vocabulary=NUMBERS)  # type: ignore[call-arg]
        name = f"{name} with {NUMBERS} numbers"
    return Asked(name, "an algorithmic task of the limit paper", task)


def _regular(language: RegularLanguage) -> str:
    what = "all words except those of" if language.complement else "the words of"
    return f"{what} {language.pattern} over {' '.join(language.alphabet)}"


def _no_other(alphabet: Any, name: str) -> None:
    """Raise if an alphabet is given for a task that has its own."""
    if alphabet is not None:
        raise ValueError(f"{name} has an alphabet of its own; leave out alphabet, which is "
                         f"{shown(alphabet)}.")  # fmt: skip


def _from_text(text: str, alphabet: Any) -> Asked:
    if not set(text) & set(OPERATORS.strip()):
        known = list(dict.fromkeys([*LANGUAGES, *ALGORITHMIC]))
        raise ValueError(
            f"there is no task {shown(text)}; the tasks are {', '.join(known)}. A regular "
            f"expression needs an operator, such as * or |.{nearest(text, known)}"
        )
    symbols = "".join(as_alphabet(alphabet)) if alphabet is not None else ""
    seen = "".join(sorted({c for c in _without_counts(text) if c not in OPERATORS}))
    language = RegularLanguage(text, text, symbols or seen)
    _ = language.automaton  # a pattern that does not parse says so here
    return Asked(text, _regular(language), language)


def _without_counts(pattern: str) -> str:
    """Return a pattern without what stands in braces, which are no symbols."""
    kept, inside = [], False
    for c in pattern:
        inside = (inside or c == "{") and c != "}"
        if not inside:
            kept.append(c)
    return "".join(kept)


def _from_file(file: Path, given: Any) -> Asked:
    if not file.is_file():
        raise ValueError(f"there is no file {file}.")
    module = _imported(file)
    alphabet = getattr(module, "alphabet", None)
    if alphabet is not None or isinstance(getattr(module, "task", None), Task):
        _no_other(given, str(file))
    else:
        alphabet = given
    if isinstance(found := getattr(module, "task", None), Task):
        return dataclasses.replace(asked(found), name=file.stem)
    for name in ("accepts", "sample"):
        if not callable(function := getattr(module, name, None)):
            continue
        if alphabet is None:
            raise ValueError(f'{file} has {name} but no alphabet; add one, as in alphabet = "ab".')
        symbols = as_alphabet(alphabet)
        if name == "accepts":
            return Asked(file.stem, f"accepts of {file.name}", _named(function, file.stem),
                         symbols)  # fmt: skip
        return Asked(file.stem, f"strings that sample of {file.name} drew",
                     _drawn(function, file, symbols), symbols)  # fmt: skip
    raise ValueError(
        f"{file} has no task: it should define `accepts(string)` or `sample(rng, length)` with "
        "an `alphabet`, or a `task` of theorykit.tasks."
    )


def _imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{file} fails: {explain(error, file.resolve())}.") from error
    return module


def _named(function: Any, name: str) -> Any:
    """Return an acceptor that is called as its file is."""

    def accepts(string: Any) -> Any:
        return function(string)

    accepts.__name__ = name
    return accepts


def _drawn(sample: Any, file: Path, alphabet: tuple[str, ...]) -> dict[Any, bool]:
    """Return the labelled strings that a sampler draws, which must not contradict each other."""
    found: dict[Any, bool] = {}
    for length in LENGTHS:
        rng = np.random.default_rng(length)
        for _ in range(DRAWN):
            try:
                string, label = sample(rng, length)
                string = string if isinstance(string, str) else tuple(string)
                label = bool(label)
            except Exception as error:
                said = explain(error, file.resolve())
                raise ValueError(f"sample of {file} fails at length {length}: {said}.") from error
            if unknown := [s for s in string if s not in alphabet]:
                raise ValueError(f"sample of {file} draws the symbol {shown(unknown[0])}, which is "
                                 f"not in its alphabet, {' '.join(alphabet)}.")  # fmt: skip
            if found.setdefault(string, label) != label:
                raise ValueError(f"the labels of {file} contradict each other: {shown(string)} was "
                                 "drawn both as True and as False.")  # fmt: skip
    return found
