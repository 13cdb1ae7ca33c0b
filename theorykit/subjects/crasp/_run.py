"""Core operations over many strings at once, in JAX or numpy.

One scan over positions carries the counts; each step computes all operations for all strings.
"""

import functools
import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int32

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
    Subtract,
    Symbol,
    Truth,
)

Values = dict[str, Bool[Array, " positions *strings"] | Int32[Array, " positions *strings"]]
Rows = dict[str, Bool[np.ndarray, "positions strings"] | Int32[np.ndarray, "positions strings"]]

LARGEST = 2**31 - 1
"""Counts are int32; a program whose counts could pass it is refused."""

CHUNK = 2**15
"""Strings per compiled call of `accepts`: what one step touches then stays in the cache."""

WORTH_COMPILING = 2**20
"""Symbols from which on `accepts` compiles a program instead of looping over positions."""


class _Machine:
    """Core operations as a step from position to position, on arrays of numpy or of JAX.

    The state: the running total of each counting, and for each Boolean that a local counting
    looks back at, its last values, newest first.
    """

    def __init__(
        self,
        alphabet: Sequence[str],
        definitions: Sequence[Definition],
        shape: tuple[int, ...],
        xp: Any,
    ):
        self.definitions, self.shape, self.xp = definitions, shape, xp
        self.place = {s: k for k, s in enumerate(alphabet)}
        reach: dict[str, int] = {}
        totals = []
        for d in definitions:
            match d.expression:
                case Counting(_, None):
                    totals.append(d.name)
                case Counting(BooleanRef(a), offsets) if offsets is not None:
                    reach[a] = max(reach.get(a, 0), *offsets)
        none = xp.zeros(shape, bool)
        zero = xp.zeros(shape, np.int32)
        self.start = (dict.fromkeys(totals, zero), {a: (none,) * far for a, far in reach.items()})

    def step(self, state: Any, i: Any, symbol: Any) -> tuple[Any, dict[str, Any]]:
        """Return the next state, and all values at position i, where `symbol` is."""
        total, past = state
        inside = i > 0
        at: dict[str, Any] = {}
        for d in self.definitions:
            value = self._value(d.name, d.expression, i, symbol, at, state)
            at[d.name] = self.xp.broadcast_to(value, self.shape)
        past = {a: ((at[a] & inside), *old)[: len(old)] for a, old in past.items()}
        return ({t: at[t] for t in total}, past), at

    def _value(
        self, name: str, e: Expression, i: Any, symbol: Any, at: dict[str, Any], state: Any
    ) -> Any:
        xp = self.xp
        match e:
            case Symbol(s):
                return symbol == self.place[s]
            case Periodic(modulus, residues):
                return functools.reduce(operator.or_, [i % modulus == r for r in sorted(residues)])
            case Truth():
                return xp.asarray(True)
            case Integer():
                return xp.asarray(1, np.int32)
            case Not(BooleanRef(a)):
                return ~at[a]
            case And(BooleanRef(a), BooleanRef(b)):
                return at[a] & at[b]
            case Compare("<=", CountRef(a), CountRef(b)):
                return at[a] <= at[b]
            case Counting(BooleanRef(a), None):
                return state[0][name] + (at[a] & (i > 0))
            case Counting(BooleanRef(a), offsets):
                back = [at[a] & (i > 0), *state[1][a]]
                return functools.reduce(
                    operator.add, [back[d].astype(np.int32) for d in sorted(offsets or ())]
                )
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                return xp.where(at[p], at[a], at[b])
            case Add(CountRef(a), CountRef(b)):
                return at[a] + at[b]
            case Subtract(CountRef(a), CountRef(b)):
                return at[a] - at[b]
        raise TypeError(f"{e!r} is no core operation.")


def scan(
    alphabet: Sequence[str],
    definitions: Sequence[Definition],
    wanted: Sequence[str],
    x: Int[Array, " n *strings"],
) -> Values:
    """Return the values wanted, at n + 1 positions, traced by JAX."""
    machine = _Machine(alphabet, definitions, x.shape[1:], jnp)

    def step(state: Any, now: Any) -> Any:
        state, at = machine.step(state, *now)
        return state, {name: at[name] for name in wanted}

    x = jnp.concatenate([jnp.full((1, *x.shape[1:]), -1, x.dtype), x])
    return jax.lax.scan(step, machine.start, (jnp.arange(len(x)), x))[1]


def _loop(
    alphabet: Sequence[str],
    definitions: Sequence[Definition],
    wanted: Sequence[str],
    x: Int[np.ndarray, "n strings"],
) -> Rows:
    """Return the same in numpy, with nothing to compile: for programs that are used once."""
    machine = _Machine(alphabet, definitions, x.shape[1:], np)
    state, values = machine.start, []
    for i in range(len(x) + 1):
        state, at = machine.step(state, i, x[i - 1] if i else np.full(x.shape[1:], -1))
        values.append([at[name] for name in wanted])
    return {name: np.stack(v) for name, v in zip(wanted, zip(*values, strict=True), strict=True)}


def refuse_overflow(definitions: Sequence[Definition], n: int) -> None:
    """Raise a `ValueError` if counts on strings of length n might not fit into int32."""
    most: dict[str, int] = {}
    for d in definitions:
        match d.expression:
            case Counting(_, offsets):
                most[d.name] = n if offsets is None else len(offsets)
            case Integer():
                most[d.name] = 1
            case If(_, CountRef(a), CountRef(b)):
                most[d.name] = max(most[a], most[b])
            case Add(CountRef(a), CountRef(b)) | Subtract(CountRef(a), CountRef(b)):
                most[d.name] = most[a] + most[b]
    if max(most.values(), default=0) > LARGEST:
        raise ValueError(
            f"counts of this program could pass 2^31 at length {n}; `interpret` has no limit."
        )


@functools.lru_cache(256)
def _verdicts(alphabet: tuple[str, ...], definitions: tuple[Definition, ...], output: str) -> Any:
    """Return the compiled function from symbols and lengths to verdicts."""

    def verdicts(
        x: Int[Array, "strings n"], lengths: Int[Array, " strings"]
    ) -> Bool[Array, " strings"]:
        values = scan(alphabet, definitions, [output], x.T)[output].T
        return jnp.take_along_axis(values, lengths[:, None], 1)[:, 0]

    return jax.jit(verdicts)


def accepts(
    alphabet: tuple[str, ...],
    definitions: tuple[Definition, ...],
    output: str,
    strings: Sequence[Sequence[str]],
) -> Bool[np.ndarray, " strings"]:
    """Return whether each of several strings is accepted; `Program.accepts` documents it."""
    x, lengths = pad(alphabet, strings)
    refuse_overflow(definitions, x.shape[1])
    if x.size <= WORTH_COMPILING:
        values = _loop(alphabet, definitions, (output,), x.T)[output]
        return values[lengths, np.arange(len(x))]
    parts = []
    verdicts = _verdicts(alphabet, definitions, output)
    for start in range(0, len(x), CHUNK):
        part = slice(start, start + CHUNK)
        parts.append(np.asarray(verdicts(x[part], lengths[part])))
    return np.concatenate(parts)


def encode(alphabet: Sequence[str], string: Iterable[str]) -> list[int]:
    """Return the place of each symbol of a string; `Program.encode` documents it."""
    places = {s: k for k, s in enumerate(alphabet)}
    try:
        return [places[s] for s in string]
    except KeyError as unknown:
        symbols = " ".join(alphabet)
        raise ValueError(f"{unknown} is not in the alphabet {symbols}.") from None


def pad(
    alphabet: Sequence[str], strings: Sequence[Sequence[str]]
) -> tuple[Int32[np.ndarray, "strings longest"], Int32[np.ndarray, " strings"]]:
    """Return strings as symbols, padded with -1, and their lengths."""
    lengths = np.array([len(s) for s in strings], np.int32)
    x = np.full((len(strings), lengths.max(initial=0)), -1, np.int32)
    x[np.arange(x.shape[1]) < lengths[:, None]] = _encoded(alphabet, strings)
    return x, lengths


def _encoded(alphabet: Sequence[str], strings: Sequence[Sequence[str]]) -> Any:
    """Return the symbols of all strings in a row; text of single characters by one look-up."""
    texts = [s for s in strings if isinstance(s, str)]
    if len(texts) < len(strings) or any(len(s) > 1 for s in alphabet):
        return encode(alphabet, itertools.chain(*strings))
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    table = np.full(int(codes.max(initial=0)) + 1, -1, np.int32)
    for place, symbol in enumerate(alphabet):
        if ord(symbol) < len(table):
            table[ord(symbol)] = place
    found = table[codes]
    if (found < 0).any():
        encode(alphabet, chr(codes[found.argmin()]))
    return found
