"""Sugar written out: every definition becomes one operation of Definition 8."""

from collections.abc import Sequence

from theorykit.common.deep import Deep, deep
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    Boolean,
    BooleanRef,
    Compare,
    Count,
    Counting,
    CountRef,
    Definition,
    Exists,
    Expression,
    If,
    Integer,
    Not,
    Or,
    Periodic,
    Subtract,
    Symbol,
    Times,
    Truth,
)


def expand(definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """Return a program's definitions in core operations, each over the names of earlier ones.

    Inner expressions are named after their definition, with a number; equal ones are written once.
    """
    writer = _Writer({d.name for d in definitions})
    for d in definitions:
        writer.define(d)
    return tuple(writer.lines)


class _Writer:
    """Collects core definitions."""

    def __init__(self, taken: set[str]):
        self.taken, self.lines = taken, []  # type: set[str], list[Definition]
        self.names: dict[tuple, str] = {}
        self.number = 1

    def define(self, definition: Definition) -> None:
        """Write a definition under its own name."""
        self.current, self.number = definition.name, 1
        core = deep(self.operation(definition.expression))
        if isinstance(core, BooleanRef):  # an alias; the definition has no copy operation
            core = And(core, core)
        elif isinstance(core, CountRef):
            core = If(deep(self.boolean(Truth())), core, core)
        self.write(definition.name, core)

    def write(self, name: str, core: Expression) -> None:
        self.lines.append(Definition(name, core))
        self.names.setdefault(_key(core), name)

    def name(self, core: Expression) -> str:
        """Return the name of a core operation, written now if it is new."""
        if isinstance(core, BooleanRef | CountRef):
            return core.name
        if (known := self.names.get(_key(core))) is not None:
            return known
        while (fresh := f"{self.current}_{self.number}") in self.taken:
            self.number += 1
        self.taken.add(fresh)
        self.write(fresh, core)
        return fresh

    def boolean(self, e: Boolean) -> Deep[BooleanRef]:
        return BooleanRef(self.name((yield self.operation(e))))

    def count(self, e: Count) -> Deep[CountRef]:
        return CountRef(self.name((yield self.operation(e))))

    def operation(self, e: Expression) -> Deep[Expression]:
        """Return one core operation over names that equals the expression."""
        match e:
            case Symbol() | Periodic() | Truth(True) | BooleanRef() | CountRef() | Integer(1):
                return e
            case Truth():
                return Not((yield self.boolean(Truth())))
            case Not(inner):
                return Not((yield self.boolean(inner)))
            case And(left, right):
                return And((yield self.boolean(left)), (yield self.boolean(right)))
            case Or(left, right):
                return Not((yield self.boolean(Not(left) & Not(right))))
            case Exists():
                return (yield self.operation(Integer(1) <= e.counting()))
            case Compare("<=", left, right):
                return Compare("<=", (yield self.count(left)), (yield self.count(right)))
            case Compare(relation, left, right):
                return (yield self.operation(_COMPARED[relation](left, right)))
            case Counting(body, None, True):  # Proposition 39
                return (yield self.operation(Counting(body) - body.then(1, 0)))
            case Counting(body, frozenset() as offsets, True):
                further = offsets - {0}
                return (yield self.operation(Counting(body, further) if further else Integer(0)))
            case Counting(body, offsets):
                return Counting((yield self.boolean(body)), offsets)
            case If(condition, yes, no):
                return If(
                    (yield self.boolean(condition)), (yield self.count(yes)), (yield self.count(no))
                )
            case Add(left, right):
                return Add((yield self.count(left)), (yield self.count(right)))
            case Subtract(left, right):
                return Subtract((yield self.count(left)), (yield self.count(right)))
            case Integer(value):
                return self.repeated(value, (yield self.count(Integer(1))))
            case Times(factor, inner):
                return self.repeated(factor, (yield self.count(inner)))
        raise TypeError(f"{e!r} is not an expression of C-RASP.")

    def repeated(self, factor: int, unit: CountRef) -> Count:
        """Return a multiple of a count by doubling, from the leading bit of the factor on."""
        named = lambda core: CountRef(self.name(core))
        if factor < 0:
            return Subtract(named(self.repeated(0, unit)), named(self.repeated(-factor, unit)))
        if factor == 0:
            return Subtract(unit, unit)
        found: Count = unit
        for bit in bin(factor)[3:]:
            half = named(found)
            found = Add(named(Add(half, half)), unit) if bit == "1" else Add(half, half)
        return found


def _key(core: Expression) -> tuple:
    """Return a key that identifies a core operation: its type and fields, with parts by name."""
    fields = (v.name if isinstance(v, BooleanRef | CountRef) else v for v in vars(core).values())
    return type(core), *fields


_COMPARED = {
    ">=": lambda a, b: b <= a,
    "<": lambda a, b: Not(b <= a),
    ">": lambda a, b: Not(a <= b),
    "=": lambda a, b: (a <= b) & (b <= a),
    "!=": lambda a, b: Not((a <= b) & (b <= a)),
}
