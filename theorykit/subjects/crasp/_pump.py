"""The verdicts of a program on x u^n z, exactly and for all n at once.

The argument is that of Lemma 37 with a word in place of one letter: as functions of n, every count
is piecewise linear and every Boolean piecewise constant, provided that |u| is a multiple of all
moduli, so that periodic relations do not see n.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

from theorykit.common.arguments import affordable, function, instance, whole
from theorykit.subjects.crasp import _lines as lines
from theorykit.subjects.crasp._lines import Line
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    BooleanRef,
    Compare,
    Counting,
    CountRef,
    Expression,
    If,
    Integer,
    Not,
    Periodic,
    Subtract,
    Symbol,
    Truth,
)

MOST_LETTERS = 10**7
"""The most operations times letters of x u z."""

MOST_PIECES = 3 * 10**6
"""The most pieces in all piecewise linear functions together: seconds."""


@dataclasses.dataclass(frozen=True)
class Pumped:
    """The verdict on x u^n z as a function of n; it changes exactly at `changes`.

    **Fields:** `first`, the verdict at n = 0; `changes`, increasing.
    """

    first: bool
    changes: tuple[int, ...]

    @property
    def threshold(self) -> int:
        """The smallest n from which the verdict is constant."""
        return self.changes[-1] if self.changes else 0

    def __call__(self, n: int) -> bool:
        """Return the verdict at an integer n >= 0."""
        n = whole("n", n, 0)
        return self.first ^ (sum(c <= n for c in self.changes) % 2 == 1)

    def mistake(self, right: Callable[[int], bool]) -> int | None:
        """Return the smallest n where the verdict is wrong, for a truth of period 1 or 2 in n."""
        function("right", right, "a function of n")
        near = sorted({n for c in (0, *self.changes) for n in (c, c + 1)})
        return next((n for n in near if self(n) != right(n)), None)


def pump(
    program: Program, u: Sequence[str], x: Sequence[str] = (), z: Sequence[str] = ()
) -> Pumped:
    """Return the verdicts of a program on x u^n z, for n = 0, 1, 2, ...

    **Raises:** `ValueError` for an empty u, or one whose length is not a multiple of the moduli of
    the program's periodic relations, for which the verdict may change for ever.
    """
    instance("program", program, Program, "a Program")
    words = [tuple(instance("a word", w, Sequence, "text or symbols")) for w in (u, x, z)]
    f = _Pump(program, *words).verdict()
    return Pumped(bool(f[0][1]), tuple(start for start, _, _ in f[1:]))


def period(program: Program) -> int:
    """Return the least common multiple of the moduli of a program's periodic relations."""
    return math.lcm(*(e.modulus for e in program.nodes if isinstance(e, Periodic)))


@dataclasses.dataclass(frozen=True)
class _Values:
    """One operation: one number per position of x, functions of the cycle on u and of n on z.

    `before` starts at position 0; `cycle` and `after` have one entry per letter.
    """

    before: list[int]
    cycle: list[Line]
    after: list[Line]


class _Pump:
    def __init__(self, program: Program, u: tuple, x: tuple, z: tuple):
        for part in (u, x, z):
            program.encode(part)
        if not u or len(u) % period(program):
            raise ValueError(
                f"the length of u is a multiple of {period(program)}, the common modulus of "
                f"the program, not {len(u)}."
            )
        letters = len(u) + len(x) + len(z)
        affordable("pumping", letters * len(program.core.definitions), MOST_LETTERS, "operations")
        self.program, self.u, self.x, self.z = program, u, x, z
        self.values: dict[str, _Values] = {}

    def verdict(self) -> Line:
        pieces, definitions = 0, self.program.core.definitions
        for done, d in enumerate(definitions, 1):
            made = self.values[d.name] = self.operation(d.expression)
            pieces += sum(map(len, made.cycle)) + sum(map(len, made.after))
            if pieces > MOST_PIECES:
                all_in_all = pieces * len(definitions) // done
                affordable("a verdict that changes so often with n", all_in_all, MOST_PIECES,
                           "pieces of linear functions")  # fmt: skip
        final = self.values[self.program.output]
        return final.after[-1] if self.z else lines.delayed(final.cycle[-1], final.before[-1:])

    def operation(self, e: Expression) -> _Values:
        value = self.values.__getitem__
        match e:
            case Symbol(symbol):
                holds = lambda word: [lines.constant(s == symbol) for s in word]
                before = [0, *(int(s == symbol) for s in self.x)]
                return _Values(before, holds(self.u), holds(self.z))
            case Periodic(modulus, residues):
                before = [int(i % modulus in residues) for i in range(len(self.x) + 1)]
                later = lambda word: [
                    lines.constant((len(self.x) + 1 + k) % modulus in residues)
                    for k in range(len(word))
                ]
                return _Values(before, later(self.u), later(self.z))
            case Truth() | Integer():
                one = lines.constant(1)
                size = len(self.x) + 1
                return _Values([1] * size, [one] * len(self.u), [one] * len(self.z))
            case Not(BooleanRef(a)):
                return self.pointwise(lambda f: lines.subtract(lines.constant(1), f), value(a))
            case And(BooleanRef(a), BooleanRef(b)):
                false = lines.constant(0)
                both = lambda f, g: lines.choose(f, g, false)
                return self.pointwise(both, value(a), value(b))
            case Compare("<=", CountRef(a), CountRef(b)):
                at_most = lambda f, g: lines.at_least_zero(lines.subtract(g, f))
                return self.pointwise(at_most, value(a), value(b))
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                return self.pointwise(lines.choose, value(p), value(a), value(b))
            case Add(CountRef(a), CountRef(b)):
                return self.pointwise(lines.add, value(a), value(b))
            case Subtract(CountRef(a), CountRef(b)):
                return self.pointwise(lines.subtract, value(a), value(b))
            case Counting(BooleanRef(a), None):
                return self.counted(value(a))
            case Counting(BooleanRef(a), offsets):
                return self.local(value(a), sorted(offsets or ()))
        raise TypeError(f"{e!r} is not a core operation.")

    def pointwise(self, f, *args: _Values) -> _Values:
        alone = lambda *v: f(*map(lines.constant, v))[0][1]
        return _Values(
            [alone(*v) for v in zip(*(a.before for a in args), strict=True)],
            [f(*v) for v in zip(*(a.cycle for a in args), strict=True)],
            [f(*v) for v in zip(*(a.after for a in args), strict=True)],
        )

    def counted(self, a: _Values) -> _Values:
        before = [0]
        for v in a.before[1:]:
            before.append(before[-1] + v)
        whole = lines.constant(0)
        for f in a.cycle:
            whole = lines.add(whole, f)
        start = lines.add(lines.constant(before[-1]), lines.total(whole))
        return _Values(before, _running(start, a.cycle), _running(start, a.after))

    def local(self, a: _Values, distances: list[int]) -> _Values:
        before = [
            sum(a.before[i - d] for d in distances if i - d >= 1) for i in range(len(self.x) + 1)
        ]
        cycle: list[Line] = []
        after: list[Line] = []
        for found, word in ((cycle, a.cycle), (after, a.after)):
            for k in range(len(word)):
                near = [word[k - d] if k >= d else self.back(a, k - d) for d in distances]
                found.append(_running(lines.constant(0), near)[-1])
        return _Values(before, cycle, after)

    def back(self, a: _Values, k: int) -> Line:
        """Return the value k < 0 letters from the start of cycle t (or of z) as a function of t.

        That is in cycle t - 1 or earlier or, for small t, in x; before x there is nothing.
        """
        cycles, letter = divmod(k, len(self.u))
        early = []
        for t in range(-cycles):
            place = len(self.x) + 1 + t * len(self.u) + k  # of a.before, for this t
            early.append(a.before[place] if place >= 1 else 0)
        return lines.delayed(a.cycle[letter], early)


def _running(start: Line, parts: list[Line]) -> list[Line]:
    found = []
    for f in parts:
        start = lines.add(start, f)
        found.append(start)
    return found
