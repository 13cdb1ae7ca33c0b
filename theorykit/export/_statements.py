"""Statements: assignments, branches and loops as lets, conditionals and folds."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from theorykit.export._scopes import bound, checked, local
from theorykit.export._terms import (
    LOOSE,
    NotExportable,
    Term,
    Type,
    applied,
    chosen,
    coerced,
    join,
    tupled,
)
from theorykit.export._values import (
    MOST,
    Closure,
    Frame,
    Items,
    Value,
    as_list,
    is_sequence,
    opened,
    parts,
    term,
)


class Statements:
    """The part of a translation that follows statements; expressions are the other part's."""

    lets: list[list[tuple[str, Term]]]
    evaluate: Callable[[ast.expr, Frame], Value]
    condition: Callable[[ast.expr, Frame], bool | Term]
    within: Callable[[Callable[[], Term]], Term]
    named: Callable[[str, Value], Value]
    split: Callable[[Value], list[Value]]
    operate: Callable[[str, Value, Value], Value]
    each: Callable[..., Any]
    fresh: Callable[[str], str]
    call: Callable[..., Value]

    def bind(
        self,
        node: Any,
        frame: Frame,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        defaults: Mapping[str, Value],
    ) -> None:
        """Bind the parameters of a function."""
        args = node.args
        if args.kwarg or args.posonlyargs:
            raise NotExportable("a function takes any keywords, which is not translated.")
        names = [a.arg for a in args.args]
        frame.names.update(defaults)
        frame.names.update(zip(names, arguments, strict=False))
        rest = arguments[len(names) :]
        if args.vararg:
            frame.names[args.vararg.arg] = Items(tuple(rest))
        elif rest:
            raise NotExportable("a function is called with more than it takes.")
        frame.names.update(keywords)
        if {*names, *(a.arg for a in args.kwonlyargs)} - {*frame.names}:
            raise NotExportable("a function is called with less than it takes.")

    def defaults(self, node: Any, frame: Frame) -> dict[str, Value]:
        """Return the defaults of a function that is made inside another."""
        args = node.args
        pairs = [*zip([a.arg for a in args.args][::-1], args.defaults[::-1], strict=False),
                 *zip([a.arg for a in args.kwonlyargs], args.kw_defaults, strict=True)]  # fmt: skip
        return {name: self.evaluate(v, frame) for name, v in pairs if v is not None}

    def body(self, node: Any, frame: Frame) -> Value:
        """Return what a function returns."""
        if isinstance(node, ast.Lambda):
            return self.evaluate(node.body, frame)
        checked(node)
        frame.local.update(local(node))
        return self.block(node.body, frame, _nothing)

    def block(
        self, statements: Sequence[ast.stmt], frame: Frame, end: Callable[[Frame], Value]
    ) -> Value:
        """Return what statements return; `end` says what comes of running past the last one."""
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            match statement:
                case ast.Return(value=None):
                    return _nothing(frame)
                case ast.Return(value=value):
                    assert value is not None
                    return self.evaluate(value, frame)
                case ast.Continue():
                    return end(frame)
                case ast.If() if _leaves(statement):
                    found = self.condition(statement.test, frame)
                    ways = ([*statement.body, *rest], [*statement.orelse, *rest])
                    if isinstance(found, bool):
                        return self.block(ways[not found], frame, end)
                    return chosen(found, *(self.apart(way, frame, end) for way in ways))
                case _:
                    self.run(statement, frame)
        return end(frame)

    def apart(
        self, statements: Sequence[ast.stmt], frame: Frame, end: Callable[[Frame], Value]
    ) -> Term:
        """Return what a branch returns, in lets of its own."""
        return self.within(lambda: term(self.block(statements, frame.copy(), end)))

    def run(self, statement: ast.stmt, frame: Frame) -> None:
        """Run a statement that neither returns nor leaves a loop."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                made = self.evaluate(value, frame)
                for target in targets:
                    self.assign(target, made, frame)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.assign(target, self.evaluate(value, frame), frame)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                made = self.operate(
                    type(op).__name__, frame.look(name), self.evaluate(value, frame)
                )
                frame.names[name] = self.named(name, made)
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[new]
                )
            ):
                row, last = frame.look(name), self.evaluate(new, frame)
                if is_sequence(row):
                    frame.names[name] = Items((*parts(row), last), True)
                else:
                    longer = self.operate("Add", row, Items((last,), True))
                    frame.names[name] = self.named(name, longer)
            case ast.FunctionDef(name=name):
                frame.names[name] = Closure(statement, frame)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(test, body, orelse, frame)
            case ast.For():
                self.loop(statement, frame)
            case ast.Pass():
                pass
            case _:
                kind = type(statement).__name__.lower()
                raise NotExportable(f"it has the statement {kind}, which is not translated.",
                                    f"has the statement {kind}")  # fmt: skip

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Bind a name, or several to the parts of a value."""
        match target:
            case ast.Name(id=name):
                frame.names[name] = self.named(name, value)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                found = self.split(value)
                stars = [i for i, e in enumerate(elts) if isinstance(e, ast.Starred)]
                if stars:
                    i, after = stars[0], len(elts) - stars[0] - 1
                    middle = Items(tuple(found[i : len(found) - after]), True)
                    found = [*found[:i], middle, *found[len(found) - after :]]
                if len(found) != len(elts):
                    raise NotExportable("a sequence of another length is unpacked.")
                for inner, part in zip(elts, found, strict=True):
                    target = inner.value if isinstance(inner, ast.Starred) else inner
                    self.assign(target, part, frame)
            case _:
                raise NotExportable("a part of a list or object is assigned to, which is not "
                                    "translated.", "assigns to a part of a list")  # fmt: skip

    # Branches and loops

    def branch(
        self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], frame: Frame
    ) -> None:
        """Run one of two branches, and bind anew what they bind."""
        found = self.condition(test, frame)
        if isinstance(found, bool):
            for statement in body if found else orelse:
                self.run(statement, frame)
            return
        always = {*bound(body)} & {*bound(orelse)}
        names = [n for n in bound([*body, *orelse]) if n in frame.names or n in always]
        if not names:
            return
        type_: dict[str, Type] = {}

        def end_of(way: Sequence[ast.stmt]) -> Callable[[], Term]:
            def last(inner: Frame) -> Value:
                made = [term(inner.look(n)) for n in names]
                for n, m in zip(names, made, strict=True):
                    type_[n] = join(type_.get(n), m.type)
                return tupled([coerced(m, type_[n]) for n, m in zip(names, made, strict=True)])

            return lambda: term(self.block(list(way), frame.copy(), last))

        for _ in range(2):  # once to see the types
            a, b = (self.within(end_of(way)) for way in (body, orelse))
        self.rebind(names, chosen(found, a, b), frame)

    def rebind(self, names: Sequence[str], value: Term, frame: Frame) -> None:
        """Bind names to the parts of a tuple, or one to a value."""
        if len(names) == 1:
            frame.names[names[0]] = self.named(names[0], value)
            return
        called = [self.fresh(n) for n in names]
        pattern, opened_ = opened("state", value.type, called)
        assert isinstance(opened_, Items)
        self.lets[-1].append((f"'{pattern}", value))
        frame.names.update(zip(names, opened_.parts, strict=True))

    def loop(self, statement: ast.For, frame: Frame) -> None:
        """Run a loop: statement by statement where its length is known, else as a fold."""
        if statement.orelse or any(isinstance(s, ast.Break) for s in ast.walk(statement)):
            raise NotExportable("it has a loop that breaks, which is not translated.",
                                "has a loop that breaks")  # fmt: skip
        if any(isinstance(s, ast.Return) for s in ast.walk(statement)):
            raise NotExportable("a loop returns before its end, which is not translated.",
                                "a loop returns before its end")  # fmt: skip
        over = self.evaluate(statement.iter, frame)
        skips = any(isinstance(s, ast.Continue) for s in ast.walk(statement))
        if is_sequence(over) and len(parts(over)) <= MOST and not skips:
            for value in parts(over):
                self.assign(statement.target, value, frame)
                for inner in statement.body:
                    self.run(inner, frame)
            return
        row = as_list(over)
        kept = [n.id for n in ast.walk(statement.target) if isinstance(n, ast.Name)]
        if again := [n for n in kept if n in frame.names]:
            raise NotExportable(f"a loop binds {again[0]} again, which is not translated.",
                                "a loop binds a name again")  # fmt: skip
        names = [n for n in bound(statement.body) if n in frame.names]
        if not names:
            raise NotExportable("it has a loop that changes nothing, which is not translated.")
        start = [term(frame.names[n]) for n in names]
        types_ = [s.type for s in start]
        for _ in range(4):
            step, found = self._step(statement, row, names, types_, frame)
            wider = [join(t, f) for t, f in zip(types_, found, strict=True)]
            if wider == types_:
                break
            types_ = wider
        first = tupled([coerced(s, t) for s, t in zip(start, types_, strict=True)])
        whole = applied(first.type, "fold_left", step, row, first)
        self.rebind(names, whole, frame)

    def _step(
        self, statement: ast.For, row: Term, names: Sequence[str], types_: list[Type], frame: Frame
    ) -> tuple[Term, list[Type]]:
        """Return one step of a fold, and the types that it gives what it binds."""
        called = [self.fresh(n) for n in names]
        state = [opened(c, t) for c, t in zip(called, types_, strict=True)]
        pattern = state[0][0] if len(state) == 1 else f"({', '.join(p for p, _ in state)})"
        pattern = f"'{pattern}" if pattern.startswith("(") else pattern
        item, _, inner = self.each(statement.target, row.type[1], frame)
        inner.names.update(zip(names, (v for _, v in state), strict=True))
        found: list[Type] = list(types_)

        def last(ended: Frame) -> Value:
            made = [term(ended.names[n]) for n in names]
            for i, m in enumerate(made):
                found[i] = join(found[i], m.type)
            return tupled([coerced(m, t) for m, t in zip(made, found, strict=True)])

        body = self.within(lambda: term(self.block(statement.body, inner, last)))
        return Term(None, f"fun {pattern} {item} =>\n{{}}", ((body, LOOSE),), LOOSE), found


def _nothing(frame: Frame) -> Value:
    raise NotExportable("a function ends without returning a value.")


def _leaves(statement: ast.stmt) -> bool:
    """Whether a branch returns, or goes on with the next round of a loop that is outside."""
    if isinstance(statement, ast.Return | ast.Continue):
        return True
    if isinstance(statement, ast.If):
        return any(_leaves(s) for s in (*statement.body, *statement.orelse))
    return isinstance(statement, ast.For) and any(
        isinstance(s, ast.Return) for s in ast.walk(statement)
    )
