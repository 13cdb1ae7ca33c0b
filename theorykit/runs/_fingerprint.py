"""Tell whether a claim, or code that it reaches, changed since its result was written."""

import ast
import functools
import hashlib
import inspect
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from theorykit.claims import Claim
from theorykit.common.trees import parse
from theorykit.runs._reach import Code, reached


def fingerprint(claim: Claim) -> str:
    """Return a hash of the claim, of what its file says outside of other claims, and of the rest.

    The rest is every module that these import, directly or indirectly, if it is the toolkit's or
    the user's. The standard library does not count, nor do other distributions, except the one that
    the claim belongs to. A file beside a module that the module names counts as well, as data that
    it reads. Docstrings, comments and layout do not count, nor do file names assembled at run time,
    nor the environment. A module that this process has imported counts as it was at that time.
    """
    parts = [claim.id, claim.paper, claim.ref, claim.statement, *claim.assumptions, claim.expect]
    own = _own(claim.build)
    package = claim.build.__module__.split(".")[0]
    others = reached(own.imports, package, claim.file.parent)
    marks = [f"{name} {mark}" for name, mark in others.items()]
    marks.append(own.data(claim.file.parent))
    return hashlib.sha256("\0".join([*parts, own.mark, *marks]).encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=4096)
def _own(build: Any) -> Code:
    """Return what a claim's file says outside of other claims, as of the first call."""
    code = build.__code__
    module = build.__globals__.get("__spec__")
    package = module.parent if module is not None else ""
    file = Path(code.co_filename).resolve()
    pieces = _pieces(file, _stamp(file), package or "")
    if pieces is None:
        return _without_a_file(build)
    kept = [piece for line, piece in pieces if line in (None, code.co_firstlineno)]
    return _together(kept)


def _together(pieces: list[Code]) -> Code:
    imports = frozenset[str]().union(*(piece.imports for piece in pieces))
    texts = frozenset[str]().union(*(piece.texts for piece in pieces))
    return Code("\n".join(piece.mark for piece in pieces), imports, texts)


@functools.lru_cache(maxsize=64)
def _pieces(file: Path, stamp: int, package: str) -> list[tuple[int | None, Code]] | None:
    """Return the statements of a file: for a claim the line where it starts, None for others."""
    try:
        tree = parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:]
    return [(_line_of_claim(node), Code.of(node, package)) for node in tree.body]


def _stamp(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _line_of_claim(node: ast.stmt) -> int | None:
    """Return where a claim starts, None for a statement that is not a claim."""
    if not isinstance(node, ast.FunctionDef):
        return None
    calls = [d.func for d in node.decorator_list if isinstance(d, ast.Call)]
    names = [getattr(f, "id", getattr(f, "attr", "")) for f in calls]
    return node.decorator_list[0].lineno if "claim" in names else None


# In a notebook ------------------------------------------------------------------------------


def _without_a_file(build: Any) -> Code:
    """Return what a function says, and what it uses of the names around it."""
    pieces: list[Code] = []
    seen: set[int] = set()
    waiting: list[Any] = [build]
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        pieces.append(_function(function))
        for name in _names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, Claim):
                continue
            if isinstance(value, types.ModuleType):
                pieces.append(Code("", frozenset([value.__name__])))
            elif inspect.isfunction(value) and value.__globals__ is build.__globals__:
                waiting.append(value)
            elif isinstance(value, bool | int | float | complex | str | bytes | tuple):
                pieces.append(Code(f"{name} = {value!r}", frozenset()))
            elif isinstance(getattr(value, "__module__", None), str):
                pieces.append(Code("", frozenset([value.__module__])))
    return _together(pieces)


def _function(function: types.FunctionType) -> Code:
    try:
        return Code.of(parse(textwrap.dedent(inspect.getsource(function))), "")
    except (OSError, TypeError, SyntaxError):
        code = function.__code__
        consts = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
        inner = [c.co_code.hex() for c in _codes(code)]
        return Code("\n".join([repr(consts), *inner]), frozenset())


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> list[str]:
    return sorted({name for inner in _codes(code) for name in inner.co_names})
