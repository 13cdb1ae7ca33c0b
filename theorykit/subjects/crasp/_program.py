"""C-RASP programs: an alphabet and a sequence of definitions."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theorykit.common import picture
from theorykit.common.arguments import as_strings, listed, shown
from theorykit.subjects.crasp import _run
from theorykit.subjects.crasp._expand import expand
from theorykit.subjects.crasp._print import show
from theorykit.subjects.crasp._syntax import (
    BooleanRef,
    CountRef,
    Definition,
    Expression,
    Kind,
    Periodic,
    ProgramError,
    Symbol,
    walk,
)


@dataclasses.dataclass(frozen=True)
class Program:
    """A C-RASP[periodic, local] program: an alphabet and a sequence of definitions.

    The last Boolean definition, read at the last position, decides acceptance. Programs are values:
    they are equal if written alike, hashable, and `str` prints text that parses back.

    **Raises:** `ProgramError` for a name used twice or before it is defined, a symbol outside the
    alphabet, or a program without a Boolean definition.
    """

    alphabet: Sequence[str]
    definitions: tuple[Definition, ...]

    def __post_init__(self):
        for what in ("alphabet", "definitions"):
            if not isinstance(given := getattr(self, what), Iterable):
                raise ProgramError(f"the {what} of a program are a sequence, not {shown(given)}.")
            object.__setattr__(self, what, tuple(given))
        named = all(isinstance(s, str) and s for s in self.alphabet)
        if not named or len(set(self.alphabet)) < len(self.alphabet):
            raise ProgramError(f"an alphabet has distinct symbols, not {shown(self.alphabet)}.")
        known: dict[str, Kind] = {}
        symbols = frozenset(self.alphabet)
        for d in self.definitions:
            if not isinstance(d, Definition):
                raise ProgramError(f"a program has definitions, not {shown(d)}.")
            if d.name in known:
                raise ProgramError(f"{d.name} is defined twice.")
            if not isinstance(d.expression, Expression):
                raise ProgramError(
                    f"{d.name} is defined by an expression, not by {shown(d.expression)}; equality "
                    "of counts is written A.equals(B)."
                )
            for node in walk(d.expression):
                self._check(d.name, node, known, symbols)
            known[d.name] = d.expression.kind
        if "Boolean" not in known.values():
            raise ProgramError("a program needs a Boolean definition, which decides acceptance.")

    def _check(
        self, name: str, node: Expression, known: Mapping[str, Kind], symbols: frozenset[str]
    ) -> None:
        if isinstance(node, Symbol) and node.symbol not in symbols:
            some = listed(self.alphabet)
            raise ProgramError(f"{name}: {node.symbol!r} is not in the alphabet {some}.")
        if isinstance(node, BooleanRef | CountRef) and known.get(node.name) != node.kind:
            found = known.get(node.name)
            why = f"is a {found}, not a {node.kind}" if found else "is not defined before"
            raise ProgramError(f"{name}: {node.name} {why}.")

    @functools.cached_property
    def output(self) -> str:
        """The name of the definition that decides acceptance."""
        return next(d.name for d in reversed(self.definitions) if d.expression.kind == "Boolean")

    @functools.cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each definition: Boolean or count."""
        return {d.name: d.expression.kind for d in self.definitions}

    @functools.cached_property
    def nodes(self) -> tuple[Expression, ...]:
        """All expressions of the program, inner ones before outer ones."""
        return tuple(node for d in self.definitions for node in walk(d.expression))

    @property
    def periodic(self) -> bool:
        """Whether a periodic relation is used."""
        return any(isinstance(node, Periodic) for node in self.nodes)

    @property
    def local(self) -> bool:
        """Whether a local relation is used."""
        return any(getattr(node, "offsets", None) is not None for node in self.nodes)

    @functools.cached_property
    def core(self) -> "Program":
        """The same program in the operations of Definition 8, one per definition."""
        return Program(self.alphabet, expand(self.definitions))

    def encode(self, string: Iterable[str]) -> list[int]:
        """Return each symbol of a string as an index into the alphabet.

        **Raises:** `ValueError` for a symbol outside the alphabet.
        """
        return _run.encode(self.alphabet, string)

    def accepts(self, strings: Any) -> Any:
        """Return whether each string is accepted: `evaluate` at its last position.

        Time is linear in the total number of symbols, whether in one string or in many.

        **Arguments:** `strings`: one string, as text or a tuple of symbols (returns a bool), or a
        list of strings (returns an array of bools).

        **Raises:** `ValueError` for anything else, a symbol outside the alphabet, or a program
        whose counts could exceed 2^31 on strings of this length.
        """
        if isinstance(strings, str | tuple):
            return bool(self.accepts([strings])[0])
        found = as_strings(strings)
        return _run.accepts(tuple(self.alphabet), self.core.definitions, self.output, found)

    def __str__(self) -> str:
        return show(self.alphabet, self.definitions)

    _repr_html_ = picture.html


def program(alphabet: Sequence[str], /, **definitions: Expression) -> Program:
    """Return a program from named expressions; the last Boolean one decides acceptance.

    Expressions may contain each other as Python values, or refer to each other by
    `BooleanRef("name")` and `CountRef("name")`.
    """
    return Program(alphabet, tuple(Definition(n, e) for n, e in definitions.items()))
