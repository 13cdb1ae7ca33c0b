"""The mutations of a function: each replaces one piece of its text."""

import ast
import dataclasses
import difflib
import math
from collections.abc import Iterator

from theorykit.audit._functions import Function
from theorykit.common.trees import parse

SWAPPED = {
    "min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil",
    "sin": "cos", "sqrt": "square", "zeros": "ones", "triu": "tril",
}  # fmt: skip
SWAPPED |= {b: a for a, b in SWAPPED.items()}

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"}
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*"}
COMPARED = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
COMPARED |= {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "==")}


@dataclasses.dataclass(frozen=True)
class Fault:
    """One change of one function.

    **Fields:** `function`, its dotted name; `file`, `line`; `kind`, in a word or two; the bytes
    from `start` to `end` of the file, which are `before`, are replaced by `after`.
    """

    function: str
    file: str
    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    @property
    def change(self) -> str:
        """The change, on one line."""
        return f"{' '.join(self.before.split())} -> {' '.join(self.after.split())}"

    @property
    def place(self) -> str:
        """The location: file:line, and the function."""
        return f"{self.file}:{self.line} {self.function}"

    @property
    def key(self) -> str:
        """An identifier among the faults of its function, stable while the function's text is."""
        return f"{self.function}:{self.line}:{self.start}:{self.kind}:{self.change}"

    def planted(self, source: bytes) -> bytes:
        """Return the text of the file with the fault planted."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def diff(self) -> str:
        """Return the change as a diff."""
        with open(self.file, "rb") as file:
            source = file.read()
        was, now = source.decode().split("\n"), self.planted(source).decode().split("\n")
        return "\n".join(list(difflib.unified_diff(was, now, n=0, lineterm=""))[3:])


def faults(function: Function) -> list[Fault]:
    """Return the faults that can be planted in a function, in the order of its text.

    Docstrings, annotations, decorators and error messages are left alone.
    """
    source = function.file.read_bytes()
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def span(node: ast.AST) -> tuple[int, int]:
        start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    found: dict[tuple[int, int, str], Fault] = {}
    for node in _looked_at(function.node):
        start, end = span(node)
        before = source[start:end].decode()
        text = lambda inner: source[slice(*span(inner))].decode()
        for kind, after in _changed(node, text):
            fault = Fault(
                function.name, str(function.file), node.lineno, kind, start, end, before, after
            )
            if after != before and _parses(fault.planted(source)):
                found.setdefault((start, end, after), fault)
    return sorted(found.values(), key=lambda f: (f.start, f.end, f.kind))


def _parses(source: bytes) -> bool:
    try:
        parse(source)
    except SyntaxError:
        return False
    return True


def _looked_at(function: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of a function in which a fault can be planted."""
    waiting: list[ast.AST] = [*function.body, *_defaults(function)]  # type: ignore[attr-defined]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            waiting += [*node.body, *_defaults(node)]
            continue
        if isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value else []
            continue
        if isinstance(node, ast.Subscript):
            yield node
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield _Condition(node.test)
        if isinstance(node, ast.expr):
            yield node
        waiting += ast.iter_child_nodes(node)


def _defaults(node: ast.AST) -> list[ast.expr]:
    given = getattr(node, "args", None)
    return [d for d in [*given.defaults, *given.kw_defaults] if d] if given else []


class _Condition(ast.expr):
    """The condition of an `if`."""

    def __init__(self, test: ast.expr):
        super().__init__()
        self.test = test
        ast.copy_location(self, test)


def _changed(node: ast.AST, text) -> Iterator[tuple[str, str]]:
    match node:
        case _Condition():
            yield "condition", f"(not ({text(node.test)}))"
        case ast.BoolOp(op=op, values=values):
            word, other = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            parts = [f"({text(v)})" for v in values]
            yield "condition", f"({f' {other} '.join(parts)})"
            for k in range(len(parts)):
                kept = parts[:k] + parts[k + 1 :]
                yield "half a condition", f"({f' {word} '.join(kept)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            yield "comparison", f"({text(left)}) {COMPARED[type(op)][1]} ({text(right)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            sign, a, b = OPERATORS[type(op)], text(left), text(right)
            if sign in "+-" and not (isinstance(left, ast.Constant | ast.JoinedStr) and '"' in a):
                yield "sign", f"(({a}) {OTHER[sign]} ({b}))"
                yield "dropped term", f"({a})"
            elif sign not in "+-":
                yield "factor", f"(({a}) {OTHER[sign]} ({b}))"
                yield "dropped factor", f"({a})"
                if sign == "*":
                    yield "dropped factor", f"({b})"
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            yield "dropped factor", f"({text(left)})"
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            yield "transposed", f"(({text(left)}) @ ({text(right)}).T)"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign", f"({text(operand)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "condition", f"(bool({text(operand)}))"
        case ast.Constant(value=bool() as value):
            yield "constant", repr(not value)
        case ast.Constant(value=int() as value):
            yield "constant", repr(value + 1)
        case ast.Constant(value=float() as value):
            yield "constant", repr(value * 1.1 if value else 0.1)
        case ast.Subscript(value=value, slice=ast.Name() | ast.BinOp() as index):
            yield "index", f"{text(value)}[({text(index)}) - 1]"
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield "swapped", SWAPPED[name] + text(node)[len(name) :]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name)) if not hasattr(
            math, SWAPPED.get(name, "")
        ):
            return  # there is no math.square
        case ast.Call(func=ast.Attribute(value=value, attr=name) as called) if name in SWAPPED:
            yield "swapped", f"{text(value)}.{SWAPPED[name]}{text(node)[len(text(called)) :]}"
