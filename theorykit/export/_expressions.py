"""Expressions of Python as terms."""

import ast
import functools
import operator
import types
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeGuard

from theorykit.export import _calls
from theorykit.export._statements import Statements
from theorykit.export._terms import (
    ATOM,
    COMPARED,
    LOOSE,
    POWER,
    SIGNS,
    NotExportable,
    Term,
    Type,
    applied,
    both,
    chosen,
    coerced,
    conjunction,
    disjunction,
    equal,
    function,
    infix,
    join,
    less,
    literal,
    negated,
    number,
    truth,
    variable,
    zero,
)
from theorykit.export._values import (
    MOST,
    Closure,
    Frame,
    Items,
    Known,
    Value,
    as_list,
    is_sequence,
    opened,
    parts,
    term,
)

FOLDED = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul}
"""What is done at once where both numbers are known."""


class Expressions(Statements):
    """The part of a translation that follows expressions; calls are the other part's."""

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """Return the value of an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotExportable(f"it has {_kind(node)}, which is not translated.",
                                f"has {_kind(node)}")  # fmt: skip
        return method(node, frame)

    def condition(self, node: ast.expr, frame: Frame) -> bool | Term:
        """Return whether an expression is true, a truth value where that is known."""
        value = self.evaluate(node, frame)
        if isinstance(value, Known):
            return bool(value.value)
        if isinstance(value, Items):
            return bool(value.parts)
        return truth(term(value))

    def _constant(self, node: ast.Constant, frame: Frame) -> Value:
        if isinstance(node.value, float | complex):
            raise NotExportable("it works with floats, which round.", "works with floats")
        return Known(node.value)

    def _name(self, node: ast.Name, frame: Frame) -> Value:
        return frame.look(node.id)

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Value:
        return Closure(node, frame)

    def _tuple(self, node: ast.Tuple, frame: Frame) -> Value:
        return self._display(node.elts, frame, False)

    def _list(self, node: ast.List, frame: Frame) -> Value:
        return self._display(node.elts, frame, True)

    def _display(self, nodes: Sequence[ast.expr], frame: Frame, is_list: bool) -> Value:
        """Return a tuple or list that is written down; lists that it takes in are appended."""
        made: Value = Items((), is_list)
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.evaluate(node.value, frame)
                known = is_sequence(value) or term(value).type[0] == "prod"
                more = Items(tuple(self.split(value)), is_list) if known else value
            else:
                more = Items((self.evaluate(node, frame),), is_list)
            made = (
                more
                if isinstance(made, Items) and not made.parts
                else self.operate("Add", made, more)
            )
        return made

    def _elements(self, nodes: Sequence[ast.expr], frame: Frame) -> list[Value]:
        made: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                made += self.split(self.evaluate(node.value, frame))
            else:
                made.append(self.evaluate(node, frame))
        return made

    def split(self, value: Value) -> list[Value]:
        """Return the parts of a value whose number of parts is known."""
        if is_sequence(value):
            return parts(value)
        match term(value).type:
            case ("prod", _):
                opened_ = self.named("part", value)
                assert isinstance(opened_, Items)
                return list(opened_.parts)
        raise NotExportable("a sequence of unknown length is unpacked.")

    def _unaryop(self, node: ast.UnaryOp, frame: Frame) -> Value:
        value = self.evaluate(node.operand, frame)
        if isinstance(node.op, ast.Not):
            known = self.condition(node.operand, frame)
            return Known(not known) if isinstance(known, bool) else negated(known)
        if isinstance(value, Known) and type(value.value) in (int, bool, Fraction):
            return Known({ast.USub: lambda v: -v, ast.UAdd: lambda v: +v,
                          ast.Invert: lambda v: ~v}[type(node.op)](value.value))  # fmt: skip
        made = number(term(value))
        if isinstance(node.op, ast.USub):
            return Term(made.type, "- {}", ((made, POWER),), 35, made.type)
        if isinstance(node.op, ast.UAdd):
            return made
        return applied("Z", "Z.lnot", coerced(made, "Z"))

    def _binop(self, node: ast.BinOp, frame: Frame) -> Value:
        return self.operate(type(node.op).__name__, self.evaluate(node.left, frame),
                            self.evaluate(node.right, frame))  # fmt: skip

    def operate(self, op: str, left: Value, right: Value) -> Value:
        """Return what an operator makes of two values."""
        if is_sequence(left) and is_sequence(right) and op == "Add":
            return Items((*parts(left), *parts(right)), _is_list(left))
        if is_sequence(left) and isinstance(right, Known) and op == "Mult":
            return Items(tuple(parts(left) * right.value), _is_list(left))
        if op in FOLDED and _is_number(left) and _is_number(right):
            return Known(FOLDED[op](left.value, right.value))
        a, b = term(left), term(right)
        if op == "Add" and isinstance(a.type, tuple):
            c, d = as_list(a), as_list(b)
            type_ = join(c.type, d.type)
            return applied(type_, "app", coerced(c, type_), coerced(d, type_))
        if op in SIGNS:
            a, b, type_ = both(a, b)
            sign, level = SIGNS[op]
            return infix(type_, sign, a, b, level, type_)
        a, b = number(a), number(b)
        if op == "Div":
            if "Q" not in (a.type, b.type):
                raise NotExportable("it divides whole numbers by /, which gives a float.",
                                    "works with floats")  # fmt: skip
            return infix("Q", "/", coerced(a, "Q"), coerced(b, "Q"), 40, "Q")
        if op == "FloorDiv" and "Q" in (a.type, b.type):
            return applied("Z", "Qfloor", term(self.operate("Div", a, b)))
        if op == "Pow" and b.type == "Z":
            made = Term(a.type, "{} ^ {}", ((a, POWER - 1), (b, ATOM)), POWER, a.type)
            if a.type == "Q":
                return Term("Q", "{} ^ {}", ((a, ATOM), (_as_z(b), ATOM)), POWER, "Q")
            return made
        whole = {"FloorDiv": "/", "Mod": "mod"}
        if a.type == b.type == "Z":
            if op in whole:
                return infix("Z", whole[op], a, b, 40, "Z")
            bits = {"LShift": "Z.shiftl", "RShift": "Z.shiftr", "BitAnd": "Z.land",
                    "BitOr": "Z.lor", "BitXor": "Z.lxor"}  # fmt: skip
            if op in bits:
                return applied("Z", bits[op], a, b)
        raise NotExportable(f"it has the operator {op} of {a.type} and {b.type}, which is not "
                            "translated.", f"has the operator {op} of other numbers")  # fmt: skip

    def _boolop(self, node: ast.BoolOp, frame: Frame) -> Value:
        is_and = isinstance(node.op, ast.And)
        made: list[Term] = []
        for inner in node.values:
            value = self.evaluate(inner, frame)
            if not isinstance(value, Known) and term(value).type != "bool":
                raise NotExportable("it has and, or of what are no truth values.")
            found = self.condition(inner, frame)
            if isinstance(found, bool):
                if found is not is_and:
                    made.append(literal(found))
                    break
                continue
            if isinstance(found, Term):
                made.append(found)
        if not made:
            return Known(is_and)
        if len(made) == 1 and made[0].pattern in ("true", "false"):
            return Known(made[0].pattern == "true")
        return conjunction(made) if is_and else disjunction(made)

    def _compare(self, node: ast.Compare, frame: Frame) -> Value:
        values = [self.evaluate(v, frame) for v in (node.left, *node.comparators)]
        made = []
        for op, a, b in zip(node.ops, values, values[1:], strict=False):
            made.append(self.compared(type(op).__name__, a, b))
        known = [m for m in made if isinstance(m, Known)]
        if len(known) == len(made):
            return Known(all(m.value for m in known))
        return conjunction([term(m) for m in made])

    def compared(self, op: str, a: Value, b: Value) -> Value:
        """Return how two values compare."""
        if op in ("Is", "IsNot") and isinstance(a, Known) and isinstance(b, Known):
            return Known((a.value is b.value) == (op == "Is"))
        if op in ("In", "NotIn"):
            found = self.contained(a, b)
            return found if op == "In" else negated(found)
        if op in ("Gt", "GtE"):
            op, a, b = {"Gt": "Lt", "GtE": "LtE"}[op], b, a
        if op == "NotEq":
            return negated(term(self.compared("Eq", a, b)))
        if op == "Eq" and is_sequence(a) and is_sequence(b):
            left, right = parts(a), parts(b)
            if len(left) != len(right) or _is_list(a) != _is_list(b):
                return literal(False)
            pairs = zip(left, right, strict=True)
            return conjunction([term(self.compared("Eq", x, y)) for x, y in pairs])
        x, y = term(a), term(b)
        if op == "Eq":
            if {type(x.type), type(y.type)} == {str, tuple}:
                raise NotExportable("a number is compared with a sequence.")
            if isinstance(x.type, tuple) and x.type[0] != y.type[0]:
                if _is_list(a) or _is_list(b):
                    raise NotExportable("a tuple is compared with a list.")
                x, y = as_list(a), as_list(b)
            return equal(x, y)
        if op in COMPARED:
            return less(x, y, COMPARED[op])
        raise NotExportable(f"it has the comparison {op}, which is not translated.")

    def contained(self, a: Value, b: Value) -> Term:
        """Return whether a value is among others."""
        among: list[Value] | None = parts(b) if is_sequence(b) else None
        if isinstance(b, Known) and isinstance(b.value, set | frozenset):
            among = [Known(v) for v in sorted(b.value)]
        if among is not None:
            return disjunction([term(self.compared("Eq", a, x)) for x in among])
        inside = as_list(b)
        x = variable(self.fresh("member"), inside.type[1])
        test = function([x.pattern], equal(x, term(a)))
        return applied("bool", "existsb", test, inside)

    def _ifexp(self, node: ast.IfExp, frame: Frame) -> Value:
        found = self.condition(node.test, frame)
        if isinstance(found, bool):
            return self.evaluate(node.body if found else node.orelse, frame)
        first = self.within(lambda: term(self.evaluate(node.body, frame)))
        return chosen(found, first, self.within(lambda: term(self.evaluate(node.orelse, frame))))

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        value = self.evaluate(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            return self._slice(value, node.slice, frame)
        index = self.evaluate(node.slice, frame)
        if isinstance(index, Known) and isinstance(index.value, int):
            if is_sequence(value):
                return parts(value)[index.value]
            if isinstance(value, Term) and value.type[0] == "prod":
                return self.split(value)[index.value]
        if isinstance(value, Known) and isinstance(value.value, dict) and isinstance(index, Known):
            return Known(value.value[index.value])
        row = as_list(value)
        return applied(row.type[1], "at_index", row, number(term(index)), zero(row.type[1]))

    def _slice(self, value: Value, node: ast.Slice, frame: Frame) -> Value:
        ends = [None if e is None else self.evaluate(e, frame) for e in (node.lower, node.upper)]
        if node.step is not None:
            raise NotExportable("it has a slice with a step, which is not translated.")
        if is_sequence(value) and all(e is None or isinstance(e, Known) for e in ends):
            low, high = (e.value if isinstance(e, Known) else None for e in ends)
            return Items(tuple(parts(value)[low:high]), _is_list(value))
        row = self.named("row", as_list(value))
        assert isinstance(row, Term)
        low = literal(0) if ends[0] is None else term(ends[0])
        high = applied("Z", "len", row) if ends[1] is None else term(ends[1])
        return applied(row.type, "slice", row, low, high)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        value = self.evaluate(node.value, frame)
        if isinstance(value, Known) and isinstance(value.value, types.ModuleType):
            return Known(getattr(value.value, node.attr))
        return _calls.attribute(term(value), node.attr)

    # Comprehensions

    def _listcomp(self, node: ast.ListComp, frame: Frame) -> Value:
        made = self.comprehension(node, frame)
        return Items(made.parts, True) if isinstance(made, Items) else made

    def _generatorexp(self, node: ast.GeneratorExp, frame: Frame) -> Value:
        return self.comprehension(node, frame)

    def comprehension(self, node: Any, frame: Frame) -> Value:
        """Return the sequence of a comprehension."""
        return self._generated(node.elt, list(node.generators), frame)

    def _generated(self, element: ast.expr, loops: list[Any], frame: Frame) -> Value:
        if not loops:
            return Items((self.evaluate(element, frame),))
        loop, *rest = loops
        over = self.evaluate(loop.iter, frame)
        if is_sequence(over) and len(parts(over)) <= MOST:
            return self._unrolled(element, loop, rest, parts(over), frame)
        row = as_list(over)
        pattern, kept, inner = self.each(loop.target, row.type[1], frame)
        for test in loop.ifs:
            body = self.within(functools.partial(self._true, test, inner))
            row = applied(row.type, "filter", function([pattern], body), row)
        if not rest:
            body = self.within(lambda: term(self.evaluate(element, inner)))
            if body.pattern == pattern:
                return row
            return applied(("list", body.type), "map", function([pattern], body), row)
        body = self.within(lambda: as_list(self._generated(element, rest, inner)))
        del kept
        return applied(body.type, "flat_map", function([pattern], body), row)

    def _true(self, node: ast.expr, frame: Frame) -> Term:
        return truth(term(self.evaluate(node, frame)))

    def _unrolled(
        self, element: ast.expr, loop: Any, rest: list[Any], over: Sequence[Value], frame: Frame
    ) -> Value:
        found: list[Value] = []
        lists: list[Term] = []
        for value in over:
            inner = frame.copy()
            self.assign(loop.target, value, inner)
            tests = [self.condition(test, inner) for test in loop.ifs]
            if any(t is False for t in tests):
                continue
            made = self._generated(element, rest, inner)
            asked = [t for t in tests if isinstance(t, Term)]
            if not asked and is_sequence(made):
                found += parts(made)
                continue
            whole = as_list(made)
            if asked:
                whole = chosen(conjunction(asked), whole, Term(whole.type, "[]"))
            if found:
                lists.append(as_list(Items(tuple(found))))
                found = []
            lists.append(whole)
        if not lists:
            return Items(tuple(found))
        if found:
            lists.append(as_list(Items(tuple(found))))
        return functools.reduce(lambda a, b: term(self.operate("Add", a, b)), lists)

    def each(self, target: ast.expr, type_: Type, frame: Frame) -> tuple[str, Value, Frame]:
        """Return the pattern of a loop's variable, its value, and a frame in which it is bound."""
        inner = frame.copy()
        if isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
            names = [self.fresh(e.id) for e in target.elts]  # type: ignore[attr-defined]
        else:
            names = []
        called = target.id if isinstance(target, ast.Name) else "item"
        pattern, value = opened(self.fresh(called), type_, names)
        self.assign(target, value, inner)
        return f"'{pattern}" if pattern.startswith("(") else pattern, value, inner


def _as_z(exponent: Term) -> Term:
    return Term("Z", "{}", ((exponent, LOOSE),), exponent.level, "Z")


def _is_number(value: Value) -> TypeGuard[Known]:
    return isinstance(value, Known) and type(value.value) in (int, bool, Fraction)


def _is_list(value: Value) -> bool:
    if isinstance(value, Known):
        return isinstance(value.value, list)
    return isinstance(value, Items) and value.is_list


def _kind(node: ast.AST) -> str:
    return {"Dict": "a dictionary", "DictComp": "a dictionary", "JoinedStr": "text", "Set": "a set",
            "SetComp": "a set"}.get(type(node).__name__, f"a {type(node).__name__}")  # fmt: skip
