"""Programs to Limit Transformers: the construction of Theorem 27 (limit paper, appendix B.6).

A Boolean is a dimension that holds 0 or 1; a count c at position i is one that holds c / (i + 1).
`$` stands at position 0 and holds the program's values before the string. Operations that can run
in parallel share a layer, and all counting in a layer shares a head. Where the printed construction
fails (`proofs_numeric/limit/compile.py` shows it), this one differs:

- every counted Boolean is masked at `$`, since a negation is true there;
- a conditional scales its gate with a bound on the count, which may exceed 1 or be negative;
- its two branches are swapped;
- local counting at a distance of 2 or more also checks that the position exists.
"""

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from theorykit.common import picture
from theorykit.common.arguments import affordable, instance, whole
from theorykit.subjects import limit
from theorykit.subjects.crasp._print import expression
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    Boolean,
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


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a core operation is computed.

    **Fields:** `operation`, as text; `layer`, 0 for the embedding; `part`: `"embedding"`,
    `"positions"`, `"MLP"`, `"head 1"` and so on, or for local counting an MLP and the heads of the
    previous layer that attend at its distances; `dimension`: the coordinate of the residual stream
    that holds 0 or 1 or c / (i + 1) from that layer on.
    """

    operation: str
    layer: int
    part: str
    dimension: int


@dataclasses.dataclass(frozen=True, eq=False)
class Compiled:
    """A program as a Limit Transformer.

    **Fields:** `program`; `transformer`; `places`: the `Place` of every core definition, by name.
    """

    program: Program
    transformer: limit.Transformer
    places: dict[str, Place]

    def accepts(self, strings: Any) -> Any:
        """Return whether the transformer accepts one string, or each of a list, exactly."""
        return limit.accepts(self.transformer, strings)

    _repr_html_ = picture.html

    def __str__(self) -> str:
        """Return it in a line."""
        return f"Compiled: {self.size}"

    @property
    def size(self) -> str:
        """The size of the transformer in words."""
        t = self.transformer
        several = lambda n, what: f"{n} {what}{'s' * (n != 1)}"
        layers, heads = several(t.depth, "layer"), several(t.heads, "head")
        return f"{layers}, {heads}, width {t.width}, period {t.period}"

    def explain(self) -> str:
        """Return a table: every operation, its layer, its head or MLP, and its dimension."""
        width = max(len(p.operation) for p in self.places.values())
        lines = [self.size]
        for p in self.places.values():
            where = f"layer {p.layer}, {p.part}" if p.layer else p.part
            lines.append(f"{p.operation.ljust(width)}  {where}, dimension {p.dimension}")
        return "\n".join(lines)


def compile(program: Program, precision: int = 1) -> Compiled:
    """Return a Limit Transformer that accepts the same strings as the program.

    It is PERIODIC and LOCAL. If the program has no positional relations, it uses no positions
    (`transformer.nope`).

    **Arguments:** `precision`: fractional bits of its logits and exponentials; logits are 0 and 1
    and exponentials integers, so any precision computes the same.

    **Raises:** `ValueError` for a program with the symbol `$`, or one whose transformer is too
    large because of many operations, far distances or large moduli.
    """
    instance("program", program, Program, "a Program")
    if limit.SOS in program.alphabet:
        raise ValueError(
            f"the program has the symbol {limit.SOS!r}, with which inputs of transformers start; "
            "name it otherwise."
        )
    return _Compiler(program).compiled(whole("precision", precision, 0))


MOST = 2**28
"""The most parameters of a transformer: two GiB."""


class _Compiler:
    """Assigns dimensions and times: 2 l - 1 for the attention of layer l, 2 l for its MLP."""

    def __init__(self, program: Program):
        self.program = program
        self.operations = {d.name: d.expression for d in program.core.definitions}
        self.width = 0
        self.units: dict[int, list[limit.Unit]] = {}
        self.values: dict[tuple[int, int | None], list[tuple[int, int]]] = {}  # read, written
        self.dim: dict[str, int] = {}
        self.time: dict[str, int] = {}
        self.bound: dict[str, int] = {}  # |c / (i + 1)| at most
        self.means: dict[str, list[int]] = {}  # of local counting: one dimension per distance
        self.gates: dict[str, tuple[int, int]] = {}  # dimension and time of a counted Boolean
        self.sos = self.dimension()
        self.reciprocal: int | None = None

    def dimension(self) -> int:
        self.width += 1
        return self.width - 1

    @property
    def one(self) -> int:
        """The dimension of 1 / (i + 1), the weight of `$` in the uniform attention of layer 1."""
        if self.reciprocal is None:
            self.reciprocal = self.attended(self.sos, 1, None)
        return self.reciprocal

    def attended(self, read: int, layer: int, distance: int | None) -> int:
        """Return a new dimension to which a head of the layer copies the mean of another."""
        written = self.dimension()
        self.values.setdefault((layer, distance), []).append((read, written))
        return written

    def unit(self, layer: int, reads: dict, bias: float, step: bool, writes: dict) -> None:
        self.units.setdefault(layer, []).append((reads, bias, step, writes))

    # Operations ------------------------------------------------------------------------------

    def compiled(self, precision: int) -> Compiled:
        for name, e in self.operations.items():
            match e:
                case Boolean():
                    self.boolean(name, e)
                case _:
                    self.count(name, e)
        return self.assembled(precision)

    def boolean(self, name: str, e: Expression) -> None:
        self.dim[name] = self.dimension()
        self.time[name] = 0
        if not isinstance(e, Symbol | Periodic | Truth):
            args = [p.name for p in e.parts if isinstance(p, BooleanRef | CountRef)]
            layer = self.after(*args)
            self.time[name] = 2 * layer
            reads, bias, step = self.preactivation(e)
            self.unit(layer, reads, bias, step, {self.dim[name]: 1})

    def preactivation(self, e: Expression) -> tuple[dict[int, float], float, bool]:
        """Return the hidden unit of a Boolean operation: weights, bias, whether it is Heaviside."""
        reads: dict[int, float] = {}

        def read(name: str, weight: float) -> None:
            reads[self.dim[name]] = reads.get(self.dim[name], 0) + weight

        match e:
            case Not(BooleanRef(a)):
                read(a, -1)
                return reads, 1, False
            case And(BooleanRef(a), BooleanRef(b)):
                read(a, 1)
                read(b, 1)
                return reads, -1, False
            case Compare("<=", CountRef(a), CountRef(b)):
                read(b, 1)
                read(a, -1)
                return reads, 0, True
        raise TypeError(f"{e!r} is not a Boolean operation that an MLP can compute.")

    def gate(self, name: str) -> tuple[int, int]:
        """Return the place of a copy of a Boolean that is false at `$`, ready to be counted."""
        if name in self.gates:
            return self.gates[name]
        e = self.operations[name]
        if isinstance(e, Symbol):
            return self.dim[name], 0
        dim = self.dimension()
        if isinstance(e, Truth):
            self.gates[name] = dim, 0
        elif isinstance(e, Periodic):
            self.unit(1, {self.dim[name]: 1, self.sos: -1}, 0, False, {dim: 1})
            self.gates[name] = dim, 2
        else:
            reads, bias, step = self.preactivation(e)
            sides = [self.bound[p.name] for p in e.parts if isinstance(p, CountRef)]
            reads = reads | {self.sos: -(1 + sum(sides))}
            self.unit(self.time[name] // 2, reads, bias, step, {dim: 1})
            self.gates[name] = dim, self.time[name]
        return self.gates[name]

    def count(self, name: str, e: Expression) -> None:
        match e:
            case Integer():
                self.dim[name], self.time[name], self.bound[name] = self.one, 1, 1
            case Counting(BooleanRef(a), None):
                read, ready = self.gate(a)
                layer = ready // 2 + 1
                self.dim[name] = self.attended(read, layer, None)
                self.time[name], self.bound[name] = 2 * layer - 1, 1
            case Counting(BooleanRef(a), offsets):
                self.local(name, a, sorted(offsets or ()))
            case Add(CountRef(a), CountRef(b)) | Subtract(CountRef(a), CountRef(b)):
                self.bound[name] = self.bound[a] + self.bound[b]
                sign = 1 if isinstance(e, Add) else -1
                reads: dict[int, float] = {self.dim[a]: 1}
                reads[self.dim[b]] = reads.get(self.dim[b], 0) + sign
                layer = self.written(name, a, b)
                for s in (1, -1):  # v = ReLU(v) - ReLU(-v)
                    weights = {dim: s * w for dim, w in reads.items()}
                    self.unit(layer, weights, 0, False, {self.dim[name]: s})
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                self.bound[name] = max(self.bound[a], self.bound[b])
                layer = self.written(name, p, a, b)
                self.branch(layer, name, p, a, taken=True)
                self.branch(layer, name, p, b, taken=False)

    def branch(self, layer: int, name: str, p: str, count: str, taken: bool) -> None:
        """Add a count where a Boolean holds: f(P, V) = ReLU(V - r P) - ReLU(-r P), |V| <= r."""
        r = self.bound[count]
        gate = {self.dim[p]: 2 * r if taken else -2 * r}  # P = 1 - 2 p, or 2 p - 1
        bias = -r if taken else r
        self.unit(layer, gate | {self.dim[count]: 1}, bias, False, {self.dim[name]: 1})
        self.unit(layer, gate, bias, False, {self.dim[name]: -1})

    def local(self, name: str, a: str, distances: list[int]) -> None:
        """Count a Boolean at given distances: one head and one threshold each, then 1 / (i + 1)."""
        read, ready = self.gate(a)
        layer = ready // 2 + 1
        self.dim[name], self.bound[name] = self.dimension(), len(distances)
        self.time[name] = 2 * (layer + 1)
        for distance in distances:
            mean, holds = self.attended(read, layer, distance), self.dimension()
            self.means.setdefault(name, []).append(mean)
            self.unit(layer, {mean: 1}, -0.5, True, {holds: 1})
            reads: dict[int, float] = {self.one: 1, holds: 1}
            if distance >= 2:  # needs i >= distance + 1; otherwise the mean is over other positions
                exists = self.dimension()
                self.unit(layer, {self.one: -(distance + 2)}, 1, True, {exists: 1})
                reads[exists] = 1
            self.unit(layer + 1, reads, 1 - len(reads), False, {self.dim[name]: 1})

    def after(self, *names: str) -> int:
        """Return the first layer whose MLP can read all of these names."""
        return max(1, *(self.time[n] // 2 + 1 for n in names))

    def written(self, name: str, *reads: str) -> int:
        """Give a count its own dimension, written by the first MLP that can read its arguments."""
        layer = self.after(*reads)
        self.dim[name], self.time[name] = self.dimension(), 2 * layer
        return layer

    # Assembly --------------------------------------------------------------------------------

    def assembled(self, precision: int) -> Compiled:
        alphabet = (limit.SOS, *self.program.alphabet)
        E = np.zeros((len(alphabet), self.width))
        E[0, self.sos] = 1
        moduli = [e.modulus for e in self.operations.values() if isinstance(e, Periodic)]
        period = math.lcm(*moduli)
        self.affordable(period)
        positions = np.zeros((period, self.width))
        for name, e in self.operations.items():
            match e:
                case Symbol(symbol):
                    E[alphabet.index(symbol), self.dim[name]] = 1
                case Truth():
                    E[:, self.dim[name]] = 1
                    if name in self.gates:
                        E[1:, self.gates[name][0]] = 1
                case Periodic(modulus, residues):
                    at = [t in residues for t in range(modulus)]  # `$` is at position 0
                    positions[:, self.dim[name]] = np.tile(at, period // modulus)
        depth = max([layer for layer, _ in self.values] + list(self.units) + [1])
        U = np.zeros((1, self.width))
        U[0, self.dim[self.program.output]] = 1
        transformer = limit.Transformer(
            alphabet=alphabet,
            E=E,
            positions=positions,
            layers=tuple(self.layer(number) for number in range(1, depth + 1)),
            U=U,
            precision=precision,
        )
        return Compiled(self.program, transformer, self.places())

    def affordable(self, period: int) -> None:
        """Raise a `ValueError` if all parameters together are too many."""
        heads = sum(self.width**2 + (distance or 0) for _, distance in self.values)
        hidden = sum(map(len, self.units.values()))
        rows = len(self.program.alphabet) + period + 1 + 2 * hidden
        affordable("the transformer of this program", heads + rows * self.width, MOST, "parameters")

    def layer(self, number: int) -> limit.Layer:
        heads = []
        for (layer, distance), copies in self.heads.items():
            if layer == number:
                V = np.zeros((self.width, self.width))
                for read, written in copies:
                    V[written, read] = 1
                phi = None if distance is None else limit.Local((0.0,) * distance + (1.0,))
                none = np.zeros((0, self.width))
                heads.append(limit.Head(none, none, V, phi))
        return limit.Layer(tuple(heads), *limit.mlp(self.width, self.units.get(number, ())))

    @functools.cached_property
    def heads(self) -> dict[tuple[int, int | None], list[tuple[int, int]]]:
        """The copies that each head makes, by layer: the uniform head first, then by distance."""
        order = lambda key: (key[0], -1 if key[1] is None else key[1])
        return {key: self.values[key] for key in sorted(self.values, key=order)}

    def places(self) -> dict[str, Place]:
        found = {}
        for name, e in self.operations.items():
            time, part = self.time[name], "MLP"
            if time == 0:
                part = "positions" if isinstance(e, Periodic) else "embedding"
            elif time % 2:
                part = f"head {self.number(self.dim[name])}"
            elif isinstance(e, Counting):
                looked = ", ".join(str(self.number(dim)) for dim in self.means[name])
                part = f"MLP over head {looked} of layer {time // 2 - 1}"
            text = f"{name}(i) := {expression(e)}"
            found[name] = Place(text, (time + 1) // 2, part, self.dim[name])
        return found

    def number(self, dim: int) -> int:
        """Return the number, within its layer, of the head that writes a dimension."""
        key = next(k for k, copies in self.heads.items() if dim in [w for _, w in copies])
        return [k for k in self.heads if k[0] == key[0]].index(key) + 1
