"""A Python predicate over whole numbers, fractions, tuples and lists as a Gallina function.

Its source is translated, with the functions that it calls; nothing of it is run. What of Python has
no translation here (dictionaries, text, `while`, libraries) is refused, and the reason says what.
"""

import ast
import contextlib
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from theorykit.export import _calls
from theorykit.export._expressions import Expressions
from theorykit.export._terms import ATOM, NotExportable, Term, Type, applied, let, written
from theorykit.export._values import (
    Closure,
    Frame,
    Items,
    Known,
    Value,
    held,
    opened,
    source,
    surroundings,
    term,
    unwritten,
)

RESERVED = {
    "as", "at", "cofix", "else", "end", "exists", "fix", "for", "forall", "fun", "if", "in", "let",
    "match", "mod", "return", "Set", "Prop", "Type", "then", "using", "where", "with", "R", "Z",
    "Q",
    "S", "O", "N", "I", "range", "range_by", "len", "empty", "at_index", "slice", "enumerate",
    "tuples",
    "count", "comb", "factorial", "ones", "bit_count", "map", "filter", "seq", "length", "nth",
    "fst",
    "snd", "true", "false", "nil", "cons", "list", "nat", "bool", "universe", "claim", "control",
    "negb", "xorb", "andb", "orb", "combine", "repeat", "rev", "hd", "tl", "firstn", "skipn", "not",
}  # fmt: skip


class Translation(Expressions):
    """The definitions that one predicate needs, in the order in which they are written."""

    def __init__(self) -> None:
        self.definitions: list[str] = []
        self.defined = set(RESERVED)
        self.used: list[set[str]] = [set()]  # what each definition that is being written binds
        self.made: dict[Any, Any] = {}
        self.lets: list[list[tuple[str, Term]]] = []
        self.inside: list[Any] = []  # functions whose bodies stand where they are called

    # Definitions

    def define(self, value: Any, name: str, arguments: Sequence[Value]) -> tuple[str, Type]:
        """Define a function for arguments of these types; return its name and the result's type."""
        key = (value, *(a if isinstance(a, Known) and not _writable(a) else term(a).type
                        for a in arguments))  # fmt: skip
        with contextlib.suppress(TypeError):  # of what has no hash
            if (found := self.made.get(key)) is not None:
                if isinstance(found, NotExportable):
                    raise found
                return found
            self.made[key] = NotExportable("a function calls itself.")
        try:
            made = self._define(value, name, arguments)
        except NotExportable as error:
            with contextlib.suppress(TypeError):
                self.made[key] = error
            raise
        with contextlib.suppress(TypeError):
            self.made[key] = made
        return made

    def _define(self, value: Any, name: str, arguments: Sequence[Value]) -> tuple[str, Type]:
        node, outer = source(value), surroundings(value)
        names: dict[str, Value] = {}
        given: list[Value] = []
        binders = []
        self.used.append(set())
        try:
            for index, argument in enumerate(arguments):
                if isinstance(argument, Known) and not _writable(argument):
                    given.append(argument)
                    continue
                type_ = term(argument).type
                called, parts_of = _called(node, index)
                fresh = [self.fresh(n) for n in (parts_of or [])]
                pattern, bound = opened(self.fresh(called), type_, fresh)
                typed = f"({pattern} : {written(type_)})"
                binders.append(f"'{typed}" if pattern.startswith("(") else typed)
                given.append(bound)
            frame = Frame(names, outer)
            self.bind(node, frame, given, {}, held(value))
            body = self.within(lambda: term(self.body(node, frame)))
        finally:
            self.used.pop()
        called = self.fresh(name, every=True)
        self.defined.add(called)
        head = " ".join([called, *binders])
        text = laid_out(f"Definition {head} : {written(body.type)} :=\n{body.text()}.")
        self.definitions.append(text)
        return called, body.type

    def fresh(self, name: str, every: bool = False) -> str:
        """Return a name that is not in use, as near to this one as may be.

        **Arguments:** `every`: not in use in any definition that is being written.
        """
        name = "".join(c if (c.isalnum() and c.isascii()) or c == "_" else "x" for c in name)
        name = name.lstrip("_") or "x"
        made, number_ = name, 1
        taken = self.defined.union(*(self.used if every else self.used[-1:]))
        while made in taken:
            number_ += 1
            made = f"{name}{number_}" if not name[-1].isdigit() else f"{name}_{number_}"
        self.used[-1].add(made)
        return made

    # Bindings by let

    def within(self, value: Callable[[], Term]) -> Term:
        """Return a term with what is bound on its way around it."""
        self.lets.append([])
        try:
            made = value()
        finally:
            bound = self.lets.pop()
        for name, given in reversed(bound):
            made = let(name, given, made)
        return made

    def named(self, name: str, value: Value) -> Value:
        """Return a value under a name, if it is worth one."""
        if isinstance(value, Items):
            held = tuple(self.named(f"{name}_{i}", p) for i, p in enumerate(value.parts))
            return Items(held, value.is_list)
        if not isinstance(value, Term) or (value.level == ATOM and not value.parts):
            return value
        called = self.fresh(name)
        pattern, bound = opened(called, value.type)
        self.lets[-1].append((f"'{pattern}" if pattern != called else called, value))
        return bound

    # Calls

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        called = None if isinstance(node.func, ast.Attribute) else self.evaluate(node.func, frame)
        if any(isinstance(a, ast.GeneratorExp) for a in node.args) and _is_own(called):
            raise NotExportable("it hands an iterator to a function, which may walk it once; that "
                                "is not translated.", "hands on an iterator")  # fmt: skip
        arguments = self._elements(node.args, frame)
        if any(k.arg is None for k in node.keywords):
            raise NotExportable("a call hands on keywords, which is not translated.")
        keywords = {k.arg: self.evaluate(k.value, frame) for k in node.keywords if k.arg}
        if isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value, frame)
            if not (isinstance(owner, Known) and isinstance(owner.value, types.ModuleType)):
                return _calls.method(self, owner, node.func.attr, arguments)
        called = called or self.evaluate(node.func, frame)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return self.call(called, arguments, keywords, name)

    def call(
        self,
        called: Value,
        arguments: Sequence[Value],
        keywords: dict[str, Value] | None = None,
        name: str = "",
    ) -> Value:
        """Return what a function returns; `name` is what it is called where it has no name."""
        keywords = keywords or {}
        if isinstance(called, Closure):
            frame = Frame({}, called.frame.look)
            given = self.defaults(called.node, called.frame)
            return self._inlined(called.node, frame, arguments, keywords, given)
        if not isinstance(called, Known):
            raise NotExportable("what is called is no function that is known.")
        value = called.value
        while isinstance(value, functools._lru_cache_wrapper):
            value = value.__wrapped__
        made = _calls.builtin(self, value, arguments, keywords)
        if made is not None:
            return made
        if not isinstance(value, types.FunctionType):
            raise unwritten(value)
        node = source(value)
        plain = not keywords and len(arguments) == len(node.args.args) and not node.args.vararg
        first: NotExportable | None = None
        if plain and not any(isinstance(a, Closure) or _holds_closure(a) for a in arguments):
            try:
                own = value.__name__ if value.__name__ != "<lambda>" else name or "condition"
                made_as, type_ = self.define(value, own, arguments)
                handed = [term(a) for a in arguments if not (isinstance(a, Known)
                                                             and not _writable(a))]  # fmt: skip
                return applied(type_, made_as, *handed)
            except NotExportable as error:
                first = error
        try:
            frame = Frame({}, surroundings(value))
            return self._inlined(node, frame, arguments, keywords, held(value))
        except NotExportable as error:
            raise first or error from None

    def _inlined(
        self,
        node: Any,
        frame: Frame,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        defaults: dict[str, Value],
    ) -> Value:
        if self.inside.count(node) > 12:  # it may end where what it is called with is known
            raise NotExportable("a function calls itself.")
        names = [a.arg for a in node.args.args]
        rest = [node.args.vararg.arg] * len(arguments) if node.args.vararg else []
        pairs = zip([*names, *rest], arguments, strict=False)
        self.bind(node, frame, [self.named(n, a) for n, a in pairs], keywords, defaults)
        self.inside.append(node)
        try:
            return self.body(node, frame)
        finally:
            self.inside.pop()


def _called(node: Any, index: int) -> tuple[str, list[str]]:
    """Return what a parameter is called, and its parts where the function takes it apart."""
    names = [a.arg for a in node.args.args]
    name = names[index] if index < len(names) else "rest"
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Name):
            target = inner.targets[0]
            if inner.value.id == name and isinstance(target, ast.Tuple):
                plain = [e.id for e in target.elts if isinstance(e, ast.Name)]
                return name, plain if len(plain) == len(target.elts) else []
    return name, []


def laid_out(text: str) -> str:
    """Return text whose lines are moved in by how deep in parentheses they stand."""
    made: list[str] = []
    depth = 0
    for line in text.split("\n"):
        made.append("  " * (depth + bool(made)) + line.strip())
        depth += sum(line.count(c) for c in "([") - sum(line.count(c) for c in ")]")
    return "\n".join(made)


def _is_own(value: Value | None) -> bool:
    """Whether a value is a function that would be translated."""
    return isinstance(value, Closure) or (
        isinstance(value, Known) and isinstance(value.value, types.FunctionType)
    )


def _writable(value: Value) -> bool:
    try:
        term(value)
    except NotExportable:
        return False
    return True


def _holds_closure(value: Value) -> bool:
    return isinstance(value, Items) and any(
        isinstance(p, Closure) or _holds_closure(p) for p in value.parts
    )
