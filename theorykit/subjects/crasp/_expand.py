"""Sugar written out: every definition becomes one operation of Definition 8."""

from collections.abc import Sequence

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

    Inner expressions get the name of their definition and a number; equal ones are written once.
    """
    writer = _Writer({d.name for d in definitions})
    for d in definitions:
        writer.define(d)
    return tuple(writer.lines)


class _Writer:
    """Collects core definitions."""

    def __init__(self, taken: set[str]):
        self.taken, self.lines = taken, []  # type: set[str], list[Definition]
        self.names: dict[Expression, str] = {}

    def define(self, definition: Definition) -> None:
        """Write a definition under its own name."""
        self.current = definition.name
        core = self.operation(definition.expression)
        if isinstance(core, BooleanRef):  # an alias; the definition has no copy operation
            core = And(core, core)
        elif isinstance(core, CountRef):
            core = If(self.boolean(Truth()), core, core)
        self.write(definition.name, core)

    def write(self, name: str, core: Expression) -> None:
        self.lines.append(Definition(name, core))
        self.names.setdefault(core, name)

    def name(self, core: Expression) -> str:
        """Return the name of a core operation, written now if it is new."""
        if isinstance(core, BooleanRef | CountRef):
            return core.name
        if core not in self.names:
            number = 1
            while (fresh := f"{self.current}_{number}") in self.taken:
                number += 1
            self.taken.add(fresh)
            self.write(fresh, core)
        return self.names[core]

    def boolean(self, e: Boolean) -> BooleanRef:
        return BooleanRef(self.name(self.operation(e)))

    def count(self, e: Count) -> CountRef:
        return CountRef(self.name(self.operation(e)))

    def operation(self, e: Expression) -> Expression:
        """Return one core operation over names that equals the expression."""
        match e:
            case Symbol() | Periodic() | Truth(True) | BooleanRef() | CountRef() | Integer(1):
                return e
            case Truth():
                return Not(self.boolean(Truth()))
            case Not(inner):
                return Not(self.boolean(inner))
            case And(left, right):
                return And(self.boolean(left), self.boolean(right))
            case Or(left, right):
                return Not(self.boolean(Not(left) & Not(right)))
            case Exists():
                return self.operation(Integer(1) <= e.counting())
            case Compare("<=", left, right):
                return Compare("<=", self.count(left), self.count(right))
            case Compare(relation, left, right):
                return self.operation(_COMPARED[relation](left, right))
            case Counting(body, None, True):  # Proposition 39
                return self.operation(Counting(body) - body.then(1, 0))
            case Counting(body, frozenset() as offsets, True):
                further = offsets - {0}
                return self.operation(Counting(body, further) if further else Integer(0))
            case Counting(body, offsets):
                return Counting(self.boolean(body), offsets)
            case If(condition, yes, no):
                return If(self.boolean(condition), self.count(yes), self.count(no))
            case Add(left, right):
                return Add(self.count(left), self.count(right))
            case Subtract(left, right):
                return Subtract(self.count(left), self.count(right))
            case Integer(value):
                return self.repeated(value, self.count(Integer(1)))
            case Times(factor, inner):
                return self.repeated(factor, self.count(inner))
        raise TypeError(f"{e!r} is no expression of C-RASP.")

    def repeated(self, factor: int, unit: CountRef) -> Count:
        """Return a count a number of times, by doubling."""
        named = lambda core: CountRef(self.name(core))
        if factor < 0:
            return Subtract(named(self.repeated(0, unit)), named(self.repeated(-factor, unit)))
        if factor == 0:
            return Subtract(unit, unit)
        if factor == 1:
            return unit
        half = named(self.repeated(factor // 2, unit))
        return Add(named(Add(half, half)), unit) if factor % 2 else Add(half, half)


_COMPARED = {
    ">=": lambda a, b: b <= a,
    "<": lambda a, b: Not(b <= a),
    ">": lambda a, b: Not(a <= b),
    "=": lambda a, b: (a <= b) & (b <= a),
    "!=": lambda a, b: Not((a <= b) & (b <= a)),
}
