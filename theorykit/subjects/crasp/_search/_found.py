"""The result of a search: a program, or that there is none up to some size."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from theorykit.common.arguments import shown as written
from theorykit.subjects.crasp._compile import Compiled, compile
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._sample import String
from theorykit.subjects.crasp._search._write import line, words

BRIEF = 24
"""The most symbols of a string that is shown in full."""


@dataclasses.dataclass(frozen=True)
class Part:
    """The result for one output: `"L"` for a language, or an output of a task.

    **Fields:**

    - `output`.
    - `program`: one that is right on all strings tried, or None. - `operations`: how many it has.
    - `excluded`: no program of the fragment with at most this many operations is right; -1 if
      nothing is excluded.
    """

    output: str
    program: Program | None
    operations: int | None
    excluded: int

    @property
    def smallest(self) -> bool:
        """Whether no smaller program is right."""
        return self.operations is not None and self.excluded == self.operations - 1


@dataclasses.dataclass(frozen=True)
class Traded:
    """A program for labels some of which may be wrong.

    **Fields:** `program`; `operations`; `errors`: the labels that it gets wrong, the fewest of all
    programs with at most this many operations.
    """

    program: Program
    operations: int
    errors: int


@dataclasses.dataclass(frozen=True)
class Impossible:
    """What is known about whether a program of any size exists.

    **Fields:** `words`: why there is none, in a sentence or two; `proved`: that there is none `"at
    all"`, that there is none `"without periodic relations"`, or `"nothing"`; `period`: the period,
    in symbols, of the powers that a program without periodic relations cannot follow.
    """

    words: str
    proved: Literal["at all", "without periodic relations", "nothing"]
    period: int | None = None

    def __str__(self) -> str:
        return self.words


@dataclasses.dataclass(frozen=True)
class Found:
    """The result of `search`.

    **Fields:**

    - `name`: of the task; `fragment`: the fragment that was searched.
    - `parts`: one for a language, one for each output of a task.
    - `program`: all of them in one, or None if one is missing.
    - `compared`: the number of expressions compared; `distinct`: the number of distinct behaviours,
      both on the last choice of strings.
    - `tried`: in words, the strings on which programs were tried.
    - `strings`: the strings on which programs were compared, with all their prefixes.
    - `apart`: two strings, one in the language and one not, that no program of at most `untold`
      operations tells apart; None if none were found.
    - `impossible`: why there is no program of any size, where that is known.
    - `traded`: for labels that may be wrong, programs of increasing size with fewer and fewer
      errors.
    """

    name: str
    fragment: Fragment
    parts: tuple[Part, ...]
    program: Program | None
    compared: int
    distinct: int
    tried: str
    strings: tuple[String, ...]
    apart: tuple[String, String] | None = None
    untold: int = -1
    impossible: Impossible | None = None
    traded: tuple[Traded, ...] = ()

    @property
    def operations(self) -> int | None:
        """The number of operations of the program, summed over outputs."""
        sizes = [p.operations for p in self.parts if p.operations is not None]
        return sum(sizes) if len(sizes) == len(self.parts) else None

    @property
    def excluded(self) -> int:
        """No program of the fragment with at most this many operations is right."""
        return min(p.excluded for p in self.parts if self.program or p.program is None)

    @property
    def smallest(self) -> bool:
        """Whether no smaller program of the fragment is right."""
        return all(p.smallest for p in self.parts)

    @property
    def evidence(self) -> Literal["exhaustive", "searched"]:
        """`"exhaustive"` if every smaller program was tried, or every one up to `excluded`."""
        return "exhaustive" if self.program is None or self.smallest else "searched"

    def compile(self) -> Compiled:
        """Return the program as a Limit Transformer.

        **Raises:** `ValueError` if there is no program.
        """
        if self.program is None:
            raise ValueError(
                f"no program was found for {self.name}, so there is nothing to compile."
            )
        return compile(self.program)

    def explain(self) -> str:
        """Return the program line by line, each with its meaning in words."""
        if self.program is None:
            return str(self)
        rows = [(line(d), words(d.expression)) for d in self.program.definitions]
        width = max(len(text) for text, _ in rows)
        return "\n".join(f"{text.ljust(width)}  -- {said}" for text, said in rows)

    def __str__(self) -> str:
        """Return the result in sentences."""
        return "\n".join(_sentences(self))


def shown(string: Sequence[str]) -> str:
    """Return a string as text, with repeated parts of a long one written as powers.

    **Raises:** `ValueError` for anything but text or a sequence of symbols.
    """
    if not isinstance(string, Sequence) or not all(isinstance(s, str) for s in string):
        raise ValueError(f"a string is text or a sequence of symbols, not {written(string)}.")
    string = tuple(string)
    apart = " " if any(len(s) > 1 for s in string) or len(string) > BRIEF else ""
    return apart.join(_powers(string) if len(string) > BRIEF else string) or "the empty string"


def _powers(string: String) -> list[str]:
    found, k = list[str](), 0
    while k < len(string):
        size, times = 1, 1
        for n in range(1, 13):
            part, again = string[k : k + n], 1
            while string[k + again * n : k + (again + 1) * n] == part:
                again += 1
            if again > 3 and again * n > size * times:
                size, times = n, again
        word = "".join(string[k : k + size])
        power = f"^{times}" if times > 1 else ""
        found.append(f"({word}){power}" if size > 1 else f"{word}{power}")
        k += size * times
    return found


def _sentences(found: Found) -> list[str]:
    said = []
    for part in found.parts:
        of = f"{found.name}: " if len(found.parts) == 1 else f"{found.name}, {part.output}: "
        if part.program is None:
            most = so_many(part.excluded)
            said.append(f"{of}no program with at most {most} ({found.fragment}).")
        elif part.smallest:
            said.append(f"{of}{so_many(part.operations)}; fewer are not enough.")
        elif part.excluded < 0:
            said.append(f"{of}{so_many(part.operations)}.")
        else:
            said.append(f"{of}{so_many(part.operations)}; {part.excluded} are not enough.")
    if found.program is not None:
        said += ["", str(found.program).rstrip(), "", f"Right on {found.tried}."]
    said.append(f"{found.compared:,} expressions compared, {found.distinct:,} behaviours.")
    if found.apart is not None:
        x, y = map(shown, found.apart)
        said.append(f"Of {x} and {y}, one is in the language and the other is not, and no program "
                    f"with at most {so_many(found.untold)} tells them apart.")  # fmt: skip
    if found.impossible is not None:
        said.append(str(found.impossible))
    for t in found.traded:
        said.append(f"{so_many(t.operations)}: {t.errors} error{'s' * (t.errors != 1)}.")
    return said


def so_many(count: int | None) -> str:
    """Return a number of operations in words."""
    return "1 operation" if count == 1 else f"{count} operations"
