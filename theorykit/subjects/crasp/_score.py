"""Programs as one-layer transformers of the quantitative paper; the output is a score."""

import dataclasses

import numpy as np

from theorykit.common.arguments import instance
from theorykit.subjects import limit
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._search import inlined
from theorykit.subjects.crasp._syntax import (
    Add,
    And,
    Boolean,
    Compare,
    Count,
    Counting,
    Exists,
    Integer,
    Not,
    Or,
    Subtract,
    Symbol,
    Times,
    Truth,
)

PRECISION = 8
"""Fractional bits of logits and exponentials; any number will do, since attention is uniform."""

_NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "=": "!=", "!=": "="}


def score(program: Program) -> limit.Transformer:
    """Return a one-layer transformer whose output is a score for a program's verdict.

    Uniform attention turns counts into shares, c / T, and an MLP of ReLU units turns these into one
    number. For one comparison C <= D it is (D - C) / T; for several joined by `and` it is minus the
    sum of the amounts by which they fail, and for `or` the sum of the amounts by which they hold.
    Its sign is the program's verdict, except on strings where a comparison is settled by less than
    two symbols. Theorem 4.1 (quantitative paper) applies to this transformer; it does not apply to
    a compiled program, which has Heaviside steps and a start symbol.

    **Raises:** `ValueError` for a program that counts anything but symbols, compares with a
    constant, uses positions, or mixes `and` with `or`.
    """
    instance("program", program, Program, "a Program")
    every, atoms = _joined(inlined(program), False)
    return _transformer(tuple(program.alphabet), every, atoms)


@dataclasses.dataclass(frozen=True)
class _Atom:
    """A condition on a weighted sum of shares (>= 0, = 0 or != 0), or on the last symbol.

    **Fields:** `kind`: ">=", "=", "!=" or "symbol"; `weights`: of the shares of the symbols, or 1
    for each symbol that may come last.
    """

    kind: str
    weights: tuple[float, ...]


def _joined(e: Boolean, negate: bool) -> tuple[bool, list]:
    """Return whether conditions are joined by `and`, and the conditions with their negations."""
    match e:
        case Not(inner):
            return _joined(inner, not negate)
        case And(a, b) | Or(a, b):
            every = isinstance(e, And) != negate
            found = []
            for part in (a, b):
                same, conditions = _joined(part, negate)
                if len(conditions) > 1 and same != every:
                    raise ValueError("a score needs conditions joined by `and` or by `or`; this "
                                     "program mixes the two.")  # fmt: skip
                found += conditions
            return every, found
    return True, [(e, negate)]


def _transformer(alphabet: tuple[str, ...], every: bool, conditions: list) -> limit.Transformer:
    atoms = [_atom(alphabet, e, negate) for e, negate in conditions]
    if len(atoms) == 1:  # joined to nothing
        every = atoms[0].kind == "="
    S, d = len(alphabet), len(alphabet) + len(atoms) + 1
    V, units = np.zeros((d, d)), list[limit.Unit]()
    sign = -1.0 if every else 1.0

    def unit(reads: dict[int, float], bias: float, weight: float) -> None:
        units.append((reads, bias, False, {d - 1: weight}))

    for k, atom in enumerate(atoms, S):
        if atom.kind == "symbol":  # a token holds 1 for its symbol; its mean is not read
            right = {s: sign for s in range(S) if atom.weights[s]}
            unit(right, 1.0 if every else 0.0, sign)
            continue
        V[k, :S] = atom.weights
        if atom.kind == ">=" and len(atoms) == 1:
            unit({k: 1.0}, 0.0, 1.0)
            unit({k: -1.0}, 0.0, -1.0)
        elif atom.kind == ">=":
            unit({k: sign}, 0.0, sign)
        elif (atom.kind == "=") == every:
            unit({k: 1.0}, 0.0, sign)
            unit({k: -1.0}, 0.0, sign)
        else:
            raise ValueError(f"a share that {'differs' if every else 'is equal'} to another cannot "
                             "be scored along with other conditions.")  # fmt: skip
    none = np.zeros((0, d))
    layer = limit.Layer((limit.Head(none, none, V),), *limit.mlp(d, units))
    U = np.eye(d)[d - 1 :]
    return limit.Transformer(alphabet, np.eye(S, d), np.zeros((1, d)), (layer,), U,
                             precision=PRECISION, shift=True)  # fmt: skip


def _atom(alphabet: tuple[str, ...], e: Boolean, negate: bool) -> _Atom:
    match e:
        case Symbol() | Truth():
            return _Atom("symbol", tuple(float(_holds(e, s) != negate) for s in alphabet))
        case Exists(body, None):
            return _Atom("=" if negate else "!=", _weights(alphabet, body))
        case Compare(relation, a, b):
            relation = _NEGATED[relation] if negate else relation
            (left, c), (right, d) = _linear(alphabet, a), _linear(alphabet, b)
            weights, constant = (
                np.subtract(right, left),
                d - c,
            )  # <=: the weighted sum is at least 0
            if relation in (">", ">="):
                weights, constant = -weights, -constant
            constant -= relation in ("<", ">")
            if relation in ("=", "!="):
                if constant == 0:
                    return _Atom(relation, tuple(weights))
            elif constant == -1 and (weights >= 0).all():  # at least one: not none
                return _Atom("!=", tuple(weights))
            elif constant in (0, -1) or (constant == 1 and relation in ("<", ">")):
                return _Atom(">=", tuple(weights))
            raise ValueError("a score sees only shares, which do not show the constant with which "
                             "a count of this program is compared.")  # fmt: skip
    raise ValueError(f"a score needs symbols that are counted and compared; this program has "
                     f"`{type(e).__name__}`.")  # fmt: skip


def _linear(alphabet: tuple[str, ...], c: Count) -> tuple[np.ndarray, int]:
    """Return a count as weights of the counts of symbols, and a constant."""
    match c:
        case Integer(value):
            return np.zeros(len(alphabet)), value
        case Counting(body, None):
            return np.array(_weights(alphabet, body)), 0
        case Add(a, b) | Subtract(a, b):
            sign = 1 if isinstance(c, Add) else -1
            (one, m), (other, n) = _linear(alphabet, a), _linear(alphabet, b)
            return one + sign * other, m + sign * n
        case Times(factor, inner):
            weights, constant = _linear(alphabet, inner)
            return factor * weights, factor * constant
    raise ValueError(f"a score counts symbols, everywhere before, and this program has "
                     f"`{type(c).__name__}` at distances or of counts.")  # fmt: skip


def _weights(alphabet: tuple[str, ...], body: Boolean) -> tuple[float, ...]:
    return tuple(float(_holds(body, s)) for s in alphabet)


def _holds(e: Boolean, symbol: str) -> bool:
    """Return the value of a Boolean without counts at a symbol."""
    match e:
        case Symbol(known):
            return known == symbol
        case Truth(value):
            return value
        case Not(inner):
            return not _holds(inner, symbol)
        case And(a, b):
            return _holds(a, symbol) and _holds(b, symbol)
        case Or(a, b):
            return _holds(a, symbol) or _holds(b, symbol)
    raise ValueError("a score counts symbols only, and this program counts more than "
                     "symbols.")  # fmt: skip
