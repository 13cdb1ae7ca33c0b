"""What the names of a Python function stand for while it is written as a Gallina term.

A value is `Known` before (a constant of the claim, a function, a module), a `Term`, or `Items`: a
tuple or list of which the length is known, and each part a value. A `Closure` is a function that is
made inside another.
"""

import ast
import builtins
import dataclasses
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from theorykit.export._terms import (
    NotExportable,
    Term,
    Type,
    join,
    listed,
    literal,
    tupled,
    variable,
)

MOST = 64
"""A sequence of more parts is written as a list, not part by part."""


@dataclasses.dataclass(frozen=True)
class Known:
    """A value that Python has."""

    value: Any


@dataclasses.dataclass(frozen=True)
class Items:
    """A tuple or list of so many values."""

    parts: tuple[Any, ...]
    is_list: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Closure:
    """A function that is made inside another, with the names that it sees."""

    node: Any
    frame: "Frame"


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """The names of a function: those bound so far, how others are found, and all that it binds."""

    names: dict[str, Any]
    outer: Callable[[str], Any]
    local: set[str] = dataclasses.field(default_factory=set)

    def look(self, name: str) -> Any:
        """Return what a name stands for."""
        if name in self.names:
            return self.names[name]
        if name in self.local:
            raise NotExportable(f"the name {name} may not be bound where it is used.",
                                "a name may not be bound where it is used")  # fmt: skip
        return self.outer(name)

    def copy(self) -> "Frame":
        """Return a frame whose names may be bound anew."""
        return Frame(dict(self.names), self.outer, self.local)


Value = Known | Items | Closure | Term


def is_sequence(value: Value) -> bool:
    """Whether the parts of a value are known one by one."""
    return isinstance(value, Items) or (
        isinstance(value, Known) and isinstance(value.value, tuple | list | range)
    )


def parts(value: Value) -> list[Value]:
    """Return the parts of such a value."""
    if isinstance(value, Items):
        return list(value.parts)
    assert isinstance(value, Known)
    return [Known(v) for v in value.value]


def term(value: Value) -> Term:
    """Return a value as a term."""
    if isinstance(value, Term):
        return value
    if isinstance(value, Closure):
        raise NotExportable("a function stands where a number or a list is needed.")
    if is_sequence(value):
        made = [term(p) for p in parts(value)]
        tuple_ = not value.is_list if isinstance(value, Items) else isinstance(value.value, tuple)
        return tupled(made) if tuple_ and made else listed(made)
    given = value.value  # type: ignore[union-attr]
    if type(given) in (bool, int, Fraction):
        return literal(given)
    raise unwritten(given)


def unwritten(value: Any) -> NotExportable:
    """Return the error of a value that Rocq is not given."""
    kind = type(value)
    if isinstance(value, types.ModuleType):
        name = f"the module {value.__name__}"
    elif callable(value):
        name = getattr(value, "__qualname__", kind.__name__)
        home = getattr(value, "__module__", None)
        return NotExportable(f"it uses {home}.{name}, which is not translated.",
                             f"uses {home}.{name}")  # fmt: skip
    else:
        name = "text" if kind is str else f"a {kind.__name__}"
    return NotExportable(f"it works with {name}, which is not translated.", f"works with {name}")


def as_list(value: Value) -> Term:
    """Return a sequence as a list."""
    if is_sequence(value):
        return listed([term(p) for p in parts(value)])
    made = term(value)
    match made.type:
        case ("list", _):
            return made
        case ("prod", types_):
            names = [f"item{i}" for i in range(len(types_))]
            from theorykit.export._terms import let

            whole = listed([variable(n, t) for n, t in zip(names, types_, strict=True)])
            return let(f"'({', '.join(names)})", made, whole)
    raise NotExportable("a number stands where a sequence is needed.")


def type_of(members: Sequence[Any]) -> Type:
    """Return the type that has all these objects of Python's.

    Tuples of one length are products, of different lengths lists.
    """
    kinds = {type(m) for m in members}
    if kinds <= {bool} and kinds:
        return "bool"
    if kinds <= {int, bool, Fraction}:
        return "Q" if Fraction in kinds else "Z" if kinds else None
    if kinds == {tuple} and len({len(m) for m in members}) == 1 and len(members[0]):
        return ("prod", tuple(type_of([m[i] for m in members]) for i in range(len(members[0]))))
    if kinds <= {tuple, list}:
        return ("list", type_of(list(itertools.chain(*members))))
    raise unwritten(next(m for m in members if type(m) not in (bool, int, Fraction, tuple, list)))


def of_type(member: Any, type_: Type) -> Term:
    """Return an object of Python's as a term of a type that has it."""
    match type_:
        case ("prod", types_):
            return tupled([of_type(m, t) for m, t in zip(member, types_, strict=True)])
        case ("list", inner):
            made = listed([of_type(m, inner) for m in member])
            return dataclasses.replace(made, type=type_)
        case "Q":
            return literal(Fraction(member))
        case "Z":
            return literal(int(member))
    return literal(bool(member))


def opened(name: str, type_: Type, names: Sequence[str] = ()) -> tuple[str, Value]:
    """Return the pattern of a bound variable, and the value that it has: a product's parts.

    **Arguments:** `names`: what the parts are called; numbered where there are none.
    """
    match type_:
        case ("prod", types_):
            called = (
                names if len(names) == len(types_) else [f"{name}_{i}" for i in range(len(types_))]
            )
            found = [opened(n, t) for n, t in zip(called, types_, strict=True)]
            pattern = "(" + ", ".join(p for p, _ in found) + ")"
            return pattern, Items(tuple(v for _, v in found))
    return name, variable(name, type_)


def widened(a: Value, b: Value) -> Type:
    """Return the type of what may be one value or the other."""
    return join(term(a).type, term(b).type)


# Functions as they are written ---------------------------------------------------------------


@functools.lru_cache(64)
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text())


def source(function: types.FunctionType) -> Any:
    """Return the syntax of a function: a FunctionDef, or a Lambda.

    **Raises:** `NotExportable` if it cannot be read.
    """
    code = function.__code__
    try:
        tree = _tree(inspect.getsourcefile(function) or "")
    except (OSError, TypeError, SyntaxError):
        raise NotExportable(f"the source of {function.__qualname__} cannot be read.") from None
    spans = [
        (p[0], p[2], p[1], p[3]) for p in code.co_positions()
        if None not in p and (p[0], p[2]) != (code.co_firstlineno, 0)
    ]  # fmt: skip
    found: list[tuple[int, int, int, ast.Lambda]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            body = node.body
            begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
            if all(begin <= s[:2] and s[2:] <= end for s in spans):
                found.append(((end[0] or 0) - begin[0], (end[1] or 0) - begin[1], len(found), node))
    named = [f for f in found if [a.arg for a in f[3].args.args] == list(
        code.co_varnames[: code.co_argcount])]  # fmt: skip
    if not named:
        raise NotExportable(f"the source of {function.__qualname__} cannot be read.")
    return min(named)[3]


def held(function: types.FunctionType) -> dict[str, Any]:
    """Return the defaults of a function, as Python holds them."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given = zip(names[::-1], (function.__defaults__ or ())[::-1], strict=False)
    return {n: Known(v) for n, v in [*given, *(function.__kwdefaults__ or {}).items()]}


def surroundings(function: types.FunctionType) -> Callable[[str], Known]:
    """Return how a function looks up the names that it does not bind."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def look(name: str) -> Known:
        try:
            if name in cells:
                return Known(cells[name].cell_contents)
            if name in function.__globals__:
                return Known(function.__globals__[name])
            return Known(vars(builtins)[name])
        except (KeyError, ValueError):
            raise NotExportable(f"the name {name} is not bound where it is used.") from None

    return look
