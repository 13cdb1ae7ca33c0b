"""Programs on padded words h(w) as programs on w: Lemmas 34 and 40, and Lemma 42.

The morphism h writes a block for every symbol. A value of the program at place c of the block of
position i becomes a value of a new program at position i: one operation per place, written when it
is needed.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from theorykit.common.arguments import affordable, instance, shown
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._pump import period
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    BooleanRef,
    Compare,
    Counting,
    CountRef,
    Definition,
    Expression,
    If,
    Integer,
    Not,
    Periodic,
    ProgramError,
    Subtract,
    Symbol,
    Truth,
)

TRUE, FALSE = Truth(), Truth(False)
INDICATOR = (Integer(1), Integer(0))


def reach(program: Program) -> int:
    """Return how far back nested local relations look in total."""
    far: dict[str, int] = {}
    for d in program.core.definitions:
        inner = [far[p.name] for p in d.expression.parts if isinstance(p, BooleanRef | CountRef)]
        step = max(d.expression.offsets or (0,)) if isinstance(d.expression, Counting) else 0
        far[d.name] = max(inner, default=0) + step
    return max(far.values())


MOST = 10**6
"""The most operations times letters of a block."""


def padding(program: Program) -> int:
    """Return s of Lemma 40: a multiple of all moduli that exceeds the program's `reach`.

    The paper asks only that s exceeds each single distance, which is not enough for nested
    relations.

    **Raises:** `ValueError` if the blocks would be too long.
    """
    M = period(program)
    s = M * (reach(program) // M + 1)
    what = f"padding beyond distances of {shown(reach(program))} and moduli of {shown(M)}"
    affordable(what, 2 * s * len(program.core.definitions), MOST, "operations")
    return s


@dataclasses.dataclass(frozen=True)
class Unpadded:
    """A program without positional relations whose verdict on w is another's verdict on h(w).

    **Fields:** `program`, over the kept symbols; `s` and `neutral`: h(a) = neutral^s a neutral^(s -
    1).
    """

    program: Program
    s: int
    neutral: str

    def pad(self, w: Sequence[str]) -> tuple[str, ...]:
        """Return h(w)."""
        return pad(w, self.s, self.neutral)


def pad(w: Sequence[str], s: int, neutral: str) -> tuple[str, ...]:
    """Return h(w) for h(a) = neutral^s a neutral^(s - 1)."""
    left, right = (neutral,) * s, (neutral,) * (s - 1)
    return tuple(c for a in w for c in (*left, a, *right))


def unpad(program: Program, neutral: str, keep: Sequence[str]) -> Unpadded:
    """Return the program of Lemma 40 (with one kept symbol) or Lemma 34.

    For every nonempty w over the kept symbols, the new program accepts w if and only if the given
    one accepts h(w).

    **Raises:** `ValueError` for a symbol that is not in the program's alphabet, no symbol to keep,
    or distances and moduli that need too long a padding.
    """
    instance("program", program, Program, "a Program")
    instance("neutral", neutral, str, "a symbol")
    keep = tuple(instance("the symbols to keep", keep, Sequence, "a sequence of symbols"))
    named = all(isinstance(symbol, str) for symbol in keep)
    if not keep or not named or len(set(keep)) < len(keep):
        raise ValueError(
            f"the symbols to keep are one or more distinct symbols, got {shown(keep)}."
        )
    program.encode([neutral, *keep])
    s = padding(program)
    blocks = {a: pad((a,), s, neutral) for a in keep}
    made = _Blocks(program, blocks, free=True)
    return Unpadded(made.program(), s, neutral)


def inverse_image(program: Program, blocks: dict[str, str | tuple[str, ...]]) -> Program:
    """Return a program for {w : h(w) is accepted}, where h is uniform (Lemma 42).

    This is for nonempty w; the new program's values at position 0 decide the empty string.

    **Arguments:** `blocks`: h, one word per symbol, all of the same length.

    **Raises:** `ValueError` for words of different lengths, or symbols that the program lacks.
    """
    instance("program", program, Program, "a Program")
    instance("blocks", blocks, Mapping, "a dictionary with one word per symbol")
    words = {a: tuple(instance("a word", word, Sequence, "text or symbols"))
             for a, word in blocks.items()}  # fmt: skip
    if len({len(word) for word in words.values()}) != 1 or not all(words.values()):
        raise ValueError(
            "a uniform morphism maps every symbol to a nonempty word, all of the same length."
        )
    for word in words.values():
        program.encode(word)
    places = len(next(iter(words.values()))) * len(program.core.definitions)
    affordable("the inverse image", places, MOST, "operations")
    return _Blocks(program, words, free=False).program()


class _Blocks:
    """Writes operations for places of blocks.

    A value is requested at place c of the block of position i, 0 <= c < width; or, if the new
    program may use no local relation (`free`), at a place c < 0 of the previous block. There, only
    places after that block's symbol are requested.
    """

    def __init__(self, program: Program, blocks: dict[str, tuple[str, ...]], free: bool):
        self.old, self.blocks, self.free = program.core, blocks, free
        self.width = len(next(iter(blocks.values())))
        self.operations = {d.name: d.expression for d in self.old.definitions}
        self.lines: dict[str, Definition] = {}
        self.names: dict[
            tuple[str, int | None], str
        ] = {}  # None means counted in all blocks so far

    def program(self) -> Program:
        last = BooleanRef(self.value(self.old.output, self.width - 1).name)
        if list(self.lines)[-1] != last.name:
            self.write("L", last & last)
        return Program(tuple(self.blocks), tuple(self.lines.values()))

    def write(self, name: str, e: Expression) -> str:
        """Write an operation and return its name."""
        while name in self.lines:
            name += "x"
        self.lines[name] = Definition(name, e)
        return name

    def value(self, name: str, c: int) -> BooleanRef | CountRef:
        """Return a reference to an operation at place c, writing the operation if it is new."""
        if (name, c) not in self.names:
            e = self.at(self.operations[name], name, c)
            place = f"p{c}" if c >= 0 else f"m{-c}"
            self.names[name, c] = self.write(f"{name}_{place}", e)
        ref = BooleanRef if self.old.kinds[name] == "Boolean" else CountRef
        return ref(self.names[name, c])

    def at(self, e: Expression, name: str, c: int) -> Expression:
        match e:
            case Symbol(symbol):
                return self.holds([a for a, word in self.blocks.items() if word[c] == symbol], c)
            case Periodic(modulus, residues):
                return self.periodic(modulus, residues, c)
            case Truth() | Integer():
                return e
            case Not(BooleanRef(a)):
                return Not(self.value(a, c))  # type: ignore[arg-type]
            case And(BooleanRef(a), BooleanRef(b)) | Compare(_, CountRef(a), CountRef(b)):
                args = self.value(a, c), self.value(b, c)
                return And(*args) if isinstance(e, And) else Compare("<=", *args)  # type: ignore[arg-type]
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                return If(self.value(p, c), self.value(a, c), self.value(b, c))  # type: ignore[arg-type]
            case Add(CountRef(a), CountRef(b)) | Subtract(CountRef(a), CountRef(b)):
                return type(e)(self.value(a, c), self.value(b, c))  # type: ignore[arg-type]
            case Counting(BooleanRef(a), None):
                return self.counted(a, c)
            case Counting(BooleanRef(a), offsets):
                return self.local(a, sorted(offsets or ()), c)
        raise ProgramError(f"{e!r} is not a core operation.")

    def holds(self, symbols: list[str], c: int) -> Expression:
        """Return whether the block's symbol is one of these."""
        if c < 0 and 0 < len(symbols) < len(self.blocks):
            raise ProgramError("the padding is too short for this program.")
        if len(symbols) == len(self.blocks):
            return TRUE
        e: Expression = FALSE
        for a in symbols:
            e = Symbol(a) if e == FALSE else e | Symbol(a)  # type: ignore[arg-type]
        return e

    def periodic(self, modulus: int, residues: frozenset[int], c: int) -> Expression:
        """Place c of block i is position (i - 1) width + c + 1."""
        step = math.gcd(self.width, modulus)
        every = modulus // step
        affordable("the inverse image", step * len(residues), MOST, "residues")
        here: set[int] = set()
        for r in residues:  # the solutions i modulo `every`, if any
            if (r - c - 1) % step == 0:
                first = (r - c - 1) // step * pow(self.width // step, -1, every) + 1
                here.update((first + every * k) % modulus for k in range(step))
        if len(here) in (0, modulus):
            return TRUE if here else FALSE
        return Periodic(modulus, frozenset(here))

    def counted(self, a: str, c: int) -> Expression:
        """Count up to the end of block i, then subtract what lies after place c."""
        key = (a, None)
        if key not in self.names:
            whole: Expression = Integer(0)
            for t in range(self.width):
                whole = whole + Counting(self.value(a, t))  # type: ignore[operator, arg-type]
            self.names[key] = self.write(f"{a}_all", whole)
        count: Expression = CountRef(self.names[key])
        for t in range(c + 1, self.width):
            count = count - self.value(a, t).then(*INDICATOR)  # type: ignore[operator, union-attr]
        return count

    def local(self, a: str, distances: list[int], c: int) -> Expression:
        """Count at given distances, in this block or in earlier ones."""
        count: Expression = Integer(0)
        for d in distances:
            back, place = divmod(c - d, self.width)
            if back == 0:
                term = self.value(a, place).then(*INDICATOR)  # type: ignore[union-attr]
            elif self.free:
                inner = self.value(a, c - d) & ~self.first  # type: ignore[operator, arg-type]
                term = inner.then(*INDICATOR)
            else:
                there = self.value(a, place)
                term = Counting(there, frozenset({-back}))  # type: ignore[arg-type]
            count = count + term  # type: ignore[operator]
        return count

    @property
    def first(self) -> BooleanRef:
        """Whether i = 1, without positional relations."""
        if "first" not in self.lines:
            self.write("first", Counting(TRUE) <= 1)
        return BooleanRef("first")
