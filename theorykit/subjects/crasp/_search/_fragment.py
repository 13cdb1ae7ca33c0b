"""The expressions that are searched, and how their operations are counted."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from theorykit.common.arguments import flag, instance, members, whole
from theorykit.common.deep import Deep, deep
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    Boolean,
    BooleanRef,
    Compare,
    Counting,
    CountRef,
    Exists,
    Expression,
    If,
    Not,
    Or,
    Periodic,
    Subtract,
    Symbol,
    Times,
    Truth,
)

FAR = 1000
"""The largest constants, moduli and distances."""


@dataclasses.dataclass(frozen=True)
class Fragment:
    """A fragment of C-RASP: the expressions allowed, and how deeply counting may nest.

    Every fragment has symbols, `not`, `and`, `or`, comparisons, `#`, `exists` and `+`. Leaving out
    `-` and `?:` loses no expressive power; they only make some programs shorter.

    **Arguments:**

    - `constants`: the integers that may be written.
    - `periodic`: moduli m; `i % m = r` may then be written, for each residue r.
    - `local`: distances, or sets of them, that `#` and `exists` may be limited to.
    - `depth`: how deeply `#` and `exists` may nest; None for any depth.
    - `conditional`, `subtract`: whether `P ? C : D`, and `C - D`, may be written.

    **Raises:** `ValueError` for invalid values.
    """

    constants: tuple[int, ...] = (0, 1, 2)
    periodic: tuple[int, ...] = ()
    local: tuple[Any, ...] = ()
    depth: int | None = None
    conditional: bool = False
    subtract: bool = False

    def __post_init__(self):
        setting = lambda name, value: object.__setattr__(self, name, value)
        constants = members("constants", self.constants, "integers")
        found = [whole("a constant", c, -FAR, FAR) for c in constants]
        setting("constants", tuple(dict.fromkeys(found)))
        moduli = members("periodic", self.periodic, "moduli")
        found = [whole("a modulus", m, 2, FAR) for m in moduli]
        setting("periodic", tuple(dict.fromkeys(found)))
        local = members("local", self.local, "distances, or of sets of them")
        sets = [members("a set in `local`", d, "distances") if isinstance(d, Iterable) else [d]
                for d in local]  # fmt: skip
        distances = [frozenset(whole("a distance", d, 0, FAR) for d in some) for some in sets]
        if not all(distances):
            raise ValueError("a set of distances in `local` is empty; it needs one or more.")
        setting("local", tuple(dict.fromkeys(distances)))
        if self.depth is not None:
            setting("depth", whole("depth", self.depth, 1, 8))
        flag("conditional", self.conditional)
        flag("subtract", self.subtract)

    @property
    def masks(self) -> tuple[frozenset[int] | None, ...]:
        """The distances to which `#` and `exists` may be limited; None means no limit."""
        return (None, *self.local)

    def leaves(self, alphabet: Iterable[str]) -> Iterator[Boolean]:
        """Yield the Booleans that take no operation."""
        yield Truth()
        for symbol in alphabet:
            yield Symbol(symbol)
        for modulus in self.periodic:
            for residue in range(modulus):
                yield Periodic(modulus, frozenset({residue}))

    def __str__(self) -> str:
        """Describe the fragment in words."""
        said = [f"constants {', '.join(map(str, self.constants))}" if self.constants
                else "no constants"]  # fmt: skip
        if self.periodic:
            said.append(f"positions modulo {', '.join(map(str, self.periodic))}")
        if self.local:
            sets = ", ".join("{" + ", ".join(map(str, sorted(d))) + "}" for d in self.local)
            said.append(f"distances {sets}")
        if not self.periodic and not self.local:
            said.append("no positions")
        if self.depth is not None:
            said.append(f"counting nested at most {self.depth} deep")
        said += [sign for sign, may in (("?:", self.conditional), ("-", self.subtract)) if may]
        return "; ".join(said)


def operations(program: Program) -> int:
    """Return how many operations a program has.

    They are the `and`, `or`, comparisons, `#`, `exists`, `+`, `-` and `?:` in its last Boolean
    definition, after names are expanded; `not`, symbols, constants and `i % m` are free, and `3 *
    C` counts as C + C + C.
    """
    instance("program", program, Program, "a Program")
    found: dict[str, int] = {}
    for d in program.definitions:
        found[d.name] = deep(_operations(d.expression, found))
    return found[program.output]


_OPERATIONS = (And, Or, Compare, Counting, Exists, Add, Subtract, If)


def _operations(e: Expression, known: dict[str, int]) -> Deep[int]:
    match e:
        case BooleanRef(name) | CountRef(name):
            return known[name]
        case Not(inner):
            return (yield _operations(inner, known))
        case Times(factor, inner):
            once = yield _operations(inner, known)
            written = max(abs(factor) * (once + 1) - 1, 0)
            return written + (factor < 0)
    total = int(isinstance(e, _OPERATIONS))
    for part in e.parts:
        total += yield _operations(part, known)
    return total
