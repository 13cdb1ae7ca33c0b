"""A program as an analytic function on a piece of its domain.

Within a piece every choice of the program is made once, from the range of its numbers over the
piece, and what is left is a straight list of operations (`Tape`), analytic beyond the piece's edges
and quick to run. Where a range leaves a choice open the program itself is run on complex balls, and
the integration bisects the piece until these settle it.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import acb, arb

from theorykit.certify import _numbers
from theorykit.certify._enclose import Program
from theorykit.certify._growth import OPERATIONS, Interval, Number, range_of
from theorykit.certify._machine import RULES, Doubt, Field, Machine, NotCertifiable, Unknown
from theorykit.certify._numbers import objects

Evaluator = Callable[[Sequence[acb], bool], Any]

# A function is analytic where this expression avoids the negative axis and zero, and real where
# it is positive.
CUTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("log", "sqrt", "rsqrt", "cbrt", "root", "lgamma", "pow"), lambda x: x),
    **dict.fromkeys(("asin", "acos", "atanh"), lambda x: 1 - x**2),
    **dict.fromkeys(("asinh", "atan"), lambda x: 1 + x**2),
    "log1p": lambda x: 1 + x,
    "acosh": lambda x: x - 1,
}


def _off(z: Any) -> bool:
    """Whether a complex ball certainly avoids the negative axis and zero."""
    z = acb(z)
    return bool(z.real > 0 or not z.imag.contains(0))


def _on(z: Any) -> bool:
    """Whether a ball on the real line certainly lies below zero."""
    z = acb(z)
    return bool(z.real < 0 and z.imag.contains(0))


class Tape:
    """The operations of a program on one piece, in order, without choices."""

    def __init__(self) -> None:
        self.template: list[Any] = []
        self.steps: list[tuple[int, Callable[..., Any], int, int, Any]] = []

    def slot(self, value: Any = None) -> int:
        """Return the index of a new value."""
        self.template.append(value)
        return len(self.template) - 1

    def index(self, x: Any) -> int:
        """Return where a number is kept."""
        return x.index if isinstance(x, Node) else self.slot(x)

    def record(self, op: Callable[..., Any], x: Any, y: Any = None, cut: Any = None) -> int:
        """Add an operation."""
        i, j = self.index(x), -1 if y is None else self.index(y)
        target = self.slot()
        self.steps.append((target, op, i, j, cut))
        return target

    def evaluator(self, inputs: int, out: "Node") -> Evaluator:
        """Return the function that runs the tape."""
        template, steps, last = self.template, self.steps, out.index

        def run(xs: Sequence[acb], analytic: bool) -> Any:
            values = template.copy()
            values[:inputs] = xs
            for target, op, i, j, cut in steps:
                x = values[i]
                if cut is not None and analytic and not _off(cut(x)):
                    return acb("nan")
                values[target] = op(x) if j < 0 else op(x, values[j])
            return values[last]

        return run


Multiple = tuple["Node", arb] | None


class Node(Number):
    """A number on a tape.

    **Fields:** `range`, over the piece; `moves`, whether it is a nonconstant analytic function of
    one input, which takes each value on a set of measure zero, so that it is never equal to a
    constant as far as an integral can tell; `multiple`, an input and a factor if it is a multiple
    of that input.
    """

    def __init__(
        self, tape: Tape, index: int, range: Interval, moves: bool, multiple: Multiple = None
    ):
        self.tape, self.index, self.moves = tape, index, moves
        self.multiple = multiple
        self.range = range if multiple is None else multiple[0].range * multiple[1]

    @classmethod
    def input(cls, tape: Tape, range: Interval) -> "Node":
        """Return a coordinate of the piece."""
        made = cls(tape, tape.slot(), range, True)
        made.multiple = (made, arb(1))
        return made

    def binary(self, name: str, x: Any, y: Any) -> Any:
        """Record a sum, difference, product or quotient."""
        if name == "mul" and (_is_zero(x) or _is_zero(y)):
            return arb(0)
        if not all(isinstance(v, arb | int | Node) for v in (x, y)):
            raise Doubt("a complex number")
        other = y if isinstance(x, Node) else x
        moves = not isinstance(other, Node) and (name in ("add", "sub") or bool(other != 0))
        made = OPERATIONS[name](range_of(x), range_of(y))
        index = self.tape.record(getattr(operator, name), x, y)
        multiple = _multiple(name, x, y)
        moves = (self.moves and moves) or (multiple is not None and bool(multiple[1] != 0))
        return Node(self.tape, index, made, moves, multiple)

    def power(self, n: Any) -> Any:
        """Record a power."""
        if n == 0:
            return arb(1)
        if isinstance(n, int):
            op = (operator.mul, self, self) if n == 2 else (operator.pow, self, n)
            return Node(self.tape, self.tape.record(*op), self.range**n, self.moves)
        if not isinstance(n, arb) or not n > 0 or not self.range.low >= 0:
            raise Doubt("the base may be negative, or the exponent is no positive constant")
        index = self.tape.record(operator.pow, self, n, cut=CUTS["pow"])
        made = Interval.of(self.range.low**n, self.range.high**n)
        return Node(self.tape, index, made, self.moves)

    def function(self, name: str) -> "Node":
        """Record a function."""
        cut = CUTS.get(name)
        if cut is not None and not cut(self.range).low >= 0:
            raise Doubt("the argument may leave the domain")
        index = self.tape.record(operator.methodcaller(name), self, cut=cut)
        return Node(self.tape, index, self.range.function(name), self.moves)

    def __neg__(self) -> "Node":
        index, multiple = self.tape.record(operator.neg, self), _multiple("mul", self, arb(-1))
        return Node(self.tape, index, -self.range, self.moves, multiple)

    def __abs__(self) -> "Node":
        if self.range.low >= 0:
            return self
        if self.range.high <= 0:
            return -self
        raise Doubt("the sign changes")

    def sgn(self) -> arb:
        """Return the sign, if it is one over the piece."""
        zero = arb(0)
        if _less(zero, self):
            return arb(1)
        if _less(self, zero):
            return arb(-1)
        raise Doubt("the sign may change")

    def is_finite(self) -> bool | None:
        """Whether it is finite over the whole piece."""
        return True if self.range.finite else None


def _multiple(name: str, x: Any, y: Any) -> Multiple:
    """Return the input and factor of a result that is a multiple of an input."""
    if isinstance(x, Node) and isinstance(y, Node):
        if name in ("add", "sub") and x.multiple and y.multiple:
            (root, a), (other, b) = x.multiple, y.multiple
            return (root, OPERATIONS[name](a, b)) if root is other else None
        return None
    node, factor = (x, y) if isinstance(x, Node) else (y, x)
    if node.multiple is None or name not in ("mul", "truediv") or (name == "truediv" and node is y):
        return None
    return node.multiple[0], OPERATIONS[name](node.multiple[1], factor)


def _is_zero(x: Any) -> bool:
    return isinstance(x, arb | int) and x == 0


def _less(a: Any, b: Any) -> bool | None:
    if a is b or not (isinstance(a, Node) or isinstance(b, Node)):
        return _numbers.less(a, b)
    low, high = range_of(a), range_of(b)
    if low.low >= high.high:
        return False
    if low.high < high.low or (_moves(a, b) and low.high <= high.low):
        return True
    between = _multiple("sub", b, a) if isinstance(a, Node) and isinstance(b, Node) else None
    if between is None:
        return None
    gap = between[0].range * between[1]
    if gap.high <= 0:
        return False
    return True if gap.low >= 0 and between[1] != 0 else None


def _equal(a: Any, b: Any) -> bool | None:
    if a is b or not (isinstance(a, Node) or isinstance(b, Node)):
        return _numbers.equal(a, b)
    return False if _moves(a, b) or _less(a, b) or _less(b, a) else None


def _moves(a: Any, b: Any) -> bool:
    """Whether the two differ except on a set of measure zero."""
    node, other = (a, b) if isinstance(a, Node) else (b, a)
    return node.moves and not isinstance(other, Node)


TAPES = Field(_numbers.constant, _less, _equal)


class Analytic(Machine):
    """A machine on complex balls that gives NaN wherever a program may not be analytic."""

    def _step(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        if any(_is_complex(v) for v in (*eqn.invars, *eqn.outvars)):
            return self._refused(eqn, "complex numbers within a function are not integrated")
        if RULES.get(name, _is_complex).__module__.endswith("_linalg") and self.analytic:
            return self._refused(eqn, "linear algebra is not continued to complex numbers")
        if self._lost(name, inputs):
            return [objects(acb("nan"), v.aval.shape) for v in eqn.outvars]
        return super()._step(eqn, inputs)

    def _lost(self, name: str, inputs: list[Any]) -> bool:
        """Whether numbers touch a cut (on the real line, lie on it), or an open choice."""
        if any(isinstance(x, Unknown) or x.dtype != object for x in inputs[:1]):
            return False
        if name == "convert_element_type":
            return self.analytic and any(x is None for x in inputs[0].flat)
        if name not in CUTS or (name == "pow" and all(map(_whole, inputs[1].flat))):
            return False
        seen = [CUTS[name](x) for x in inputs[0].flat if not isinstance(x, Number)]
        return any(not _off(z) if self.analytic else _on(z) for z in seen)

    def _refused(self, eqn: Any, why: str) -> list[Any]:
        return [Unknown(self.doubt(eqn, Doubt(why)))] * len(eqn.outvars)


def _is_complex(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, np.complexfloating)


def _whole(n: Any) -> bool:
    return not isinstance(n, arb | acb) or (isinstance(n, arb) and n.is_exact() and n.is_integer())


def evaluator(
    program: Program, arguments: Callable[[Sequence[Any]], list[Any]], ranges: Sequence[Interval]
) -> Evaluator | None:
    """Return the program on a piece, as a function of the piece's coordinates; None if it is 0."""
    tape = Tape()
    nodes = [Node.input(tape, r) for r in ranges]
    try:
        (out,) = program.run(Analytic(TAPES), [objects(x, ()) for x in arguments(nodes)])
    except NotCertifiable as error:
        if len(ranges) > 1:
            raise NotCertifiable(
                f"in the plane a function may have kinks and jumps where u or v is 0, and nowhere "
                f"else ({str(error).rstrip('.')}).",
                error.primitive,
                error.place,
            ) from None
        return lambda xs, analytic: _run(program, arguments(xs), analytic)
    made = out.item()
    if _is_zero(made):
        return None
    return tape.evaluator(len(nodes), made) if isinstance(made, Node) else lambda xs, analytic: made


def _run(program: Program, arguments: Sequence[Any], analytic: bool) -> Any:
    machine = Analytic(hull=True, analytic=analytic)
    try:
        return program.run(machine, [objects(acb(x), ()) for x in arguments])[0].item()
    except NotCertifiable:
        return acb("nan")
