"""What the code of a function loads: constants, names and attributes, each with its line."""

import dis
import functools
import itertools
import re
import string
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

PLAIN = {int, bool, str, bytes, Fraction, type(None), range, type(Ellipsis), type(NotImplemented)}
_SPECIAL = {
    "__name__", "__qualname__", "__class__", "__doc__", "__init__", "__post_init__", "__new__",
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__", "__iter__",
    "__next__", "__getitem__", "__contains__", "__add__", "__sub__", "__mul__", "__neg__",
    "__setattr__", "__delattr__", "__str__", "__repr__", "__wrapped__",
}  # fmt: skip
_FROM_FLOATS = {"fromhex", "from_float", "from_decimal", "format_map", "cast"}
_SAFE_PERCENT = re.compile(r"%(?:\(\w*\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?[diouxXcrsa%]")
_FLOAT_FIELD = re.compile(r"\{[^{}]*:[^{}]*[eEfFgGn%]\}")
_FIELD = re.compile(r"\{[^{}]*\}")
_CELLS = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE"}
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", *_CELLS}
_NOTHING = {"CACHE", "EXTENDED_ARG", "PUSH_NULL"}  # the last stands elsewhere from 3.13 on
ASKED = object()
"""Stands for the constant before `Kind` in `isinstance(x, Kind)`."""


def exact_value(value: Any) -> bool:
    """Whether a value is made of integers, fractions, truth values and text."""
    kind = type(value)
    if kind in PLAIN:
        if kind is bytes:
            return b"%" not in value or _written_exactly(value.decode("latin-1"))
        return kind is not str or not ("%" in value or "{" in value) or _written_exactly(value)
    if kind in (tuple, list, set, frozenset):
        return all(map(exact_value, value))
    if kind is dict:
        return all(map(exact_value, value)) and all(map(exact_value, value.values()))
    return False


@functools.lru_cache(maxsize=4096)
def loads(code: types.CodeType) -> list[tuple[str, Any, Any, tuple[str, ...], int]]:
    """Return what a code object loads: kind, name, the constant before, attributes after, line.

    The constant before is `ASKED` for a class of which nothing is run.
    """
    found: list[tuple[str, Any, Any, tuple[str, ...], int]] = []
    steps = [s for s in dis.get_instructions(code) if s.opname not in _NOTHING]
    for i, step in enumerate(steps):
        line = (step.positions.lineno if step.positions else None) or code.co_firstlineno
        say = lambda kind, name, path=(), line=line, before=None: found.append(
            (kind, name, before, path, line)
        )
        alone = i and steps[i - 1].opname == "LOAD_CONST" and not step.is_jump_target
        previous = steps[i - 1].argval if alone else None
        after = tuple(
            itertools.takewhile(
                bool,
                (
                    s.argval if s.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
                    for s in steps[i + 1 : i + 9]
                ),
            )
        )
        match step.opname:
            case "LOAD_CONST" | "RETURN_CONST":
                if isinstance(step.argval, types.CodeType):
                    say("code", step.argval)
                elif not (exact_value(step.argval) or callable(step.argval)):
                    text = "writes with" if isinstance(step.argval, str | bytes) else "uses"
                    say("rounds", f"{text} {step.argval!r}, {_why(step.argval)}")
            case "LOAD_ATTR" | "LOAD_METHOD" | "LOAD_SUPER_ATTR":
                rounds = unsafe(step.argval)
                if step.argval == "format":
                    rounds = not (isinstance(previous, str) and _formats_exactly(previous))
                if rounds:
                    say("rounds", f"uses {step.argval}, which can make or write floats")
            case "BINARY_OP" if step.argrepr in ("/", "/=", "**", "**="):
                say(
                    "rounds",
                    f"uses {step.argrepr}, which cannot be watched there: its source cannot be "
                    "found, or it changes something in place",
                )
            case "FORMAT_VALUE" | "FORMAT_WITH_SPEC" if (
                step.opname == "FORMAT_WITH_SPEC" or (step.arg or 0) & 4
            ):
                if not isinstance(previous, str) or previous[-1:] in tuple("eEfFgGn%"):
                    say("rounds", f"writes with the format {previous or 'that is computed'!r}, "
                        "which is for floats")  # fmt: skip
            case "IMPORT_NAME":
                names = tuple(
                    s.argval
                    for s in itertools.takewhile(
                        lambda s: s.opname in ("IMPORT_FROM", "STORE_FAST", "STORE_DEREF"),
                        steps[i + 1 :],
                    )
                    if s.opname == "IMPORT_FROM"
                )
                level = steps[i - 2].argval
                if names:
                    say("import", (step.argval, level if isinstance(level, int) else 0), names)
                else:
                    say("rounds", "imports a module; import it outside the predicate")
            case name if name in _LOADS:
                kind = "cell" if name in _CELLS else "global"
                say(kind, step.argval, after, before=ASKED if _asked(steps, i) else previous)
    return found


def _asked(steps: list[dis.Instruction], i: int) -> bool:
    """Whether what is loaded is B in `isinstance(a.b.c, B)`, where no code of B runs."""
    calls = [s for s in steps[i + 1 : i + 3] if s.opname != "PRECALL"][:1]
    while i and steps[i - 1].opname == "LOAD_ATTR" and not steps[i].is_jump_target:
        i -= 1
    before = steps[i - 2 : i] if i > 1 else []
    return (
        [(s.opname, s.arg) for s in calls] == [("CALL", 2)]
        and [s.argval for s in before[:1]] == ["isinstance"]
        and before[0].opname == "LOAD_GLOBAL"
        and before[1].opname in ("LOAD_FAST", "LOAD_FAST_BORROW", *_LOADS)
        and not any(s.is_jump_target for s in (before[1], steps[i]))
    )


def names_in(code: types.CodeType) -> Iterator[str]:
    """Yield the names by which a code object may reach methods: also in patterns and in fields."""
    yield from code.co_names
    waiting = list(code.co_consts)
    while waiting:
        constant = waiting.pop()
        if isinstance(constant, tuple | frozenset):
            waiting.extend(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant
        elif isinstance(constant, str):
            for field in _FIELD.findall(constant):
                yield from re.findall(r"\w+", field)


def _why(value: Any) -> str:
    if isinstance(value, str | bytes):
        return "which can write a float"
    if isinstance(value, float | complex):
        return f"which is {an(type(value).__name__)}"
    return "which holds a float"


def _written_exactly(text: str) -> bool:
    """Whether no `%`, and no field in braces, can write a float."""
    return "%" not in _SAFE_PERCENT.sub("", text) and not _FLOAT_FIELD.search(text)


def _formats_exactly(text: str) -> bool:
    try:
        specs = [spec or "" for _, _, spec, _ in string.Formatter().parse(text)]
    except ValueError:
        return False
    return not any("{" in s or s[-1:] in tuple("eEfFgGn%") for s in specs if s)


def unsafe(name: str) -> bool:
    return (name.startswith("__") and name not in _SPECIAL) or name in _FROM_FLOATS


def an(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in tuple('aeio') else 'a'} {noun}"
