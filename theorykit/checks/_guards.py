"""Division and powers that say when they make a float.

A function's source is compiled once more, with `a / b`, `a ** b` and `pow(a, b)` written as calls
of the operations below, which compute the same and look at the result. Its code then does what it
did, and reports in the thread that watches.
"""

import ast
import contextlib
import dis
import functools
import linecache
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from theorykit.common.trees import compiled, parse

_watched = threading.local()


@contextlib.contextmanager
def watching() -> Iterator[list[str]]:
    """Collect what guarded operations of this thread report: the first float, with its line."""
    before = getattr(_watched, "seen", None)
    seen: list[str] = []
    _watched.seen = seen
    try:
        yield seen
    finally:
        _watched.seen = before


def _divide(a: Any, b: Any) -> Any:
    made = a / b
    if isinstance(made, float | complex):
        _report("divides {} by {}", f"Fraction({a}, {b})", a, b)
    return made


def _power(a: Any, b: Any) -> Any:
    made = a**b
    if isinstance(made, float | complex):
        _report("raises {} to the power {}", f"Fraction({a}) ** {b}", a, b)
    return made


def _call_power(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    made = function(*args, **named)
    if isinstance(made, float | complex) and len(args) == 2:
        a, b = args
        _report("raises {} to the power {}", f"pow(Fraction({a}), {b})", a, b)
    elif isinstance(made, float | complex):
        _report("takes a power", "", None, None)
    return made


def _report(what: str, instead: str, a: Any, b: Any) -> None:
    seen = getattr(_watched, "seen", None)
    if seen is None or seen:
        return
    frame = sys._getframe(2)
    kind = [isinstance(x, int | Fraction) for x in (a, b)]
    stays = all(kind) and isinstance(b, int) and not isinstance(a, Fraction)
    shown = what.format(a, b)
    found = f"line {frame.f_lineno} of {Path(frame.f_code.co_filename).name} {shown}"
    seen.append(f"{found}, which makes a float" + (f"; {instead} stays exact" if stays else ""))


_CALLED = {"/": _divide, "**": _power, "pow": _call_power}
_MARK = {f"the guarded {name}": function for name, function in _CALLED.items()}

GUARDED_POWER = _call_power
"""What stands before the name `pow` in guarded code."""


class _Guarding(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "/", ast.Pow: "**"}.get(type(node.op))
        return _call(name, node, [node.left, node.right]) if name else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Div: "/", ast.Pow: "**"}.get(type(node.op))
        if not name or not isinstance(node.target, ast.Name):
            return node
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        made = _call(name, node, [old, node.value])
        return ast.copy_location(ast.Assign([node.target], made), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "pow":
            return _call("pow", node, [node.func, *node.args], node.keywords)
        return node


def _call(name: str, at: ast.AST, args: list[Any], keywords: list[Any] | None = None) -> ast.Call:
    mark = ast.copy_location(ast.Constant(f"the guarded {name}"), at)
    return ast.copy_location(ast.Call(mark, args, keywords or []), at)


@functools.lru_cache(maxsize=4096)
def unguarded(code: types.CodeType) -> bool:
    """Whether a code object, or one inside it, divides or raises to a power."""
    return (
        "pow" in code.co_names
        or any(
            step.opname == "BINARY_OP" and step.argrepr in ("/", "/=", "**", "**=")
            for step in dis.get_instructions(code)
        )
        or any(unguarded(c) for c in code.co_consts if isinstance(c, types.CodeType))
    )


def guarded(code: types.CodeType) -> types.CodeType | None:
    """Return the guarded form of a code object; None if its source is not to be found."""
    lines = "".join(linecache.getlines(code.co_filename))
    return _compiled(code.co_filename, lines).get(_place(code), {}).get(code)


@functools.lru_cache(maxsize=64)
def _compiled(file: str, source: str) -> dict[Any, dict[types.CodeType, types.CodeType]]:
    """Return the guarded form of every code object of a file, by its place and itself."""
    found: dict[Any, dict[types.CodeType, types.CodeType]] = {}
    if not source:
        return found
    try:
        tree = parse(source, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a call of a constant, which is replaced below
            plain = compiled(tree, file)
            tree = ast.fix_missing_locations(_Guarding().visit(tree))
            new = compiled(tree, file)
    except (SyntaxError, ValueError):
        return found

    def pair(old: types.CodeType, new: types.CodeType) -> types.CodeType:
        inner = [c for c in old.co_consts if isinstance(c, types.CodeType)]
        waiting = iter(inner)
        consts = tuple(
            pair(next(waiting), c)
            if isinstance(c, types.CodeType)
            else _MARK.get(c, c) if isinstance(c, str) else c
            for c in new.co_consts
        )  # fmt: skip
        made = new.replace(co_consts=consts)
        if old.co_freevars == made.co_freevars:
            found.setdefault(_place(old), {})[old] = made
        return made

    pair(plain, new)
    return found


def _place(code: types.CodeType) -> tuple[Any, ...]:
    return code.co_qualname, code.co_firstlineno, tuple(code.co_positions())[:4]
