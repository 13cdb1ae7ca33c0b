"""What Python's scopes and mutable values would make of a function, looked at before translation.

A translation binds each name to a value, and values never change. Where Python's own rules give
another meaning to a function (a list with two names that grows, an inner function that reads a name
which is bound again, an iterator that is walked twice), it is refused.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from theorykit.export._terms import NotExportable

INNER = (ast.Lambda, ast.FunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
WALKED_ONCE = {"zip", "map", "filter", "reversed", "enumerate", "iter"}


def own(node: Any) -> Iterator[ast.AST]:
    """Yield the nodes of a function's own scope, without those of inner functions."""
    stack = list(node.body) if isinstance(node.body, list) else [node.body]
    while stack:
        inner = stack.pop()
        yield inner
        if not isinstance(inner, INNER):
            stack += ast.iter_child_nodes(inner)


def local(node: Any) -> set[str]:
    """Return the names that a function binds, parameters aside."""
    inside = {
        id(m) for n in own(node) if isinstance(n, COMPREHENSIONS) for g in n.generators
        for m in ast.walk(g.target)
    }  # fmt: skip
    names = {n.name for n in own(node) if isinstance(n, ast.FunctionDef)}
    stored = (n for n in own(node) if isinstance(n, ast.Name) and _stored(n))
    return names | {n.id for n in stored if id(n) not in inside}


def appended(node: ast.AST) -> str:
    """Return the name of the list that a call appends to, "" if it is none."""
    if isinstance(node, ast.Attribute) and node.attr == "append":
        return node.value.id if isinstance(node.value, ast.Name) else ""
    return ""


def bound(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the names that statements bind or append to, in their order."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if _stored(node):
                found[node.id] = None  # type: ignore[attr-defined]
            if isinstance(node, ast.FunctionDef):
                found[node.name] = None
            if name := appended(node):
                found[name] = None
    return list(found)


def checked(node: Any) -> None:
    """Raise if a function relies on what a translation does not keep.

    **Raises:** `NotExportable`.
    """
    parameters = [a.arg for a in node.args.args]
    count = dict.fromkeys(parameters, 1)
    loops = {id(m) for n in own(node) if isinstance(n, ast.For) for m in ast.walk(n)}
    grows: set[str] = set()
    copies: set[str] = set()
    for n in own(node):
        if _stored(n):
            name = n.id  # type: ignore[attr-defined]
            count[name] = count.get(name, 0) + 1 + (id(n) in loops)
        if name := appended(n):
            count[name] = 2
            grows.add(name)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            count[n.target.id] = 2
        if isinstance(n, ast.Assign):
            _assigned(n, copies)
        if isinstance(n, ast.Tuple | ast.List) and isinstance(n.ctx, ast.Load):
            copies |= {e.id for e in n.elts if isinstance(e, ast.Name)}
        if isinstance(n, ast.Global | ast.Nonlocal):
            raise NotExportable("it binds names of other scopes, which is not translated.")
    ends = {m.id for n in own(node) if isinstance(n, ast.Return) and n.value is not None
            for m in [*getattr(n.value, "elts", [])] if isinstance(m, ast.Name)}  # fmt: skip
    if shared := sorted(grows & (copies - ends | set(parameters))):
        raise NotExportable(f"the list {shared[0]} grows while it may have two names; that is not "
                            "translated.", "a list grows that may have two names")  # fmt: skip
    inner = [n for n in own(node) if isinstance(n, INNER)]
    read = {m.id for n in inner for m in ast.walk(n) if isinstance(m, ast.Name)}
    if again := sorted(n for n in read if count.get(n, 0) > 1):
        raise NotExportable(
            f"an inner function reads {again[0]}, which is bound again; that is not translated.",
            "an inner function reads what is bound again",
        )


def _assigned(node: ast.Assign, copies: set[str]) -> None:
    value = node.value
    if isinstance(value, ast.Name):
        copies |= {value.id, *(t.id for t in node.targets if isinstance(t, ast.Name))}
    once = isinstance(value, ast.GeneratorExp) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
        and value.func.id in WALKED_ONCE
    )  # fmt: skip
    if once and any(isinstance(t, ast.Name) for t in node.targets):
        raise NotExportable("it gives a name to an iterator, which can be walked once; that is not "
                            "translated.", "gives a name to an iterator")  # fmt: skip


def _stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
