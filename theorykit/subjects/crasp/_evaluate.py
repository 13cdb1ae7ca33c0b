"""Programs over many strings at once, in JAX.

One scan over positions carries the counts; each step computes all operations for all strings.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from theorykit.common.arguments import numbered
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

Array = Any

LARGEST = 2**31 - 1
"""Counts are int32; a program whose counts could pass it is refused."""

CHUNK = 2**15
"""Strings an evaluation call of `accepts`: what one step touches then stays in the cache."""

WORTH_COMPILING = 2**20
"""Symbols from which on `accepts` compiles a program instead of looping over positions."""


def evaluate(program: Program, x: Array, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the values of definitions at every position of many strings.

    **Arguments:** `x`: symbols by their place in the alphabet, integers (..., n); -1 is no symbol,
    and strings of other lengths are padded on the right with it. `names`: of the definitions
    wanted, all of them by default.

    **Returns:** a name an array (..., n + 1), bool or int32. Entry 0 of the last axis is the
    position before the string. Works under `jit` and `vmap`.

    **Raises:** `ValueError` for a name that is not defined, other symbols, or a program whose
    counts could pass 2^31 on strings of this length.
    """
    wanted = tuple(program.kinds if names is None else names)
    if unknown := [name for name in wanted if name not in program.core.kinds]:
        raise ValueError(f"{unknown[0]} is not defined by the program.")
    numbered(x, len(program.alphabet), -1)
    x = jnp.asarray(x, int)
    n = x.shape[-1]
    largest_count(program, n, refuse=True)
    values = _scan(program, wanted, jnp.moveaxis(x, -1, 0))
    return {name: jnp.moveaxis(v, 0, -1) for name, v in values.items()}


class _Machine:
    """A core program as a step from position to position, on arrays of numpy or of JAX.

    The state: the running total of each counting, and for each Boolean that a local counting
    looks back at, its last values, newest first.
    """

    def __init__(self, program: Program, shape: tuple[int, ...], xp: Any):
        self.program, self.shape, self.xp = program.core, shape, xp
        self.place = {s: k for k, s in enumerate(program.alphabet)}
        reach: dict[str, int] = {}
        totals = []
        for d in self.program.definitions:
            match d.expression:
                case Counting(_, None):
                    totals.append(d.name)
                case Counting(BooleanRef(a), offsets) if offsets is not None:
                    reach[a] = max(reach.get(a, 0), *offsets)
        none = xp.zeros(shape, bool)
        zero = xp.zeros(shape, np.int32)
        self.start = (dict.fromkeys(totals, zero), {a: (none,) * far for a, far in reach.items()})

    def step(self, state: Any, i: Any, symbol: Array) -> tuple[Any, dict[str, Array]]:
        """Return the next state, and all values at position i, where `symbol` is."""
        total, past = state
        inside = i > 0
        at: dict[str, Array] = {}
        for d in self.program.definitions:
            value = self._value(d.name, d.expression, i, symbol, at, state)
            at[d.name] = self.xp.broadcast_to(value, self.shape)
        past = {a: ((at[a] & inside), *old)[: len(old)] for a, old in past.items()}
        return ({t: at[t] for t in total}, past), at

    def _value(
        self, name: str, e: Expression, i: Any, symbol: Array, at: dict[str, Array], state: Any
    ) -> Array:
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


def _scan(program: Program, wanted: tuple[str, ...], x: Array) -> dict[str, Array]:
    """Return wanted values (n + 1, ...) on symbols (n, ...), traced by JAX."""
    machine = _Machine(program, x.shape[1:], jnp)

    def step(state: Any, now: Any) -> Any:
        state, at = machine.step(state, *now)
        return state, {name: at[name] for name in wanted}

    x = jnp.concatenate([jnp.full((1, *x.shape[1:]), -1, x.dtype), x])
    return jax.lax.scan(step, machine.start, (jnp.arange(len(x)), x))[1]


def _loop(program: Program, wanted: tuple[str, ...], x: np.ndarray) -> dict[str, np.ndarray]:
    """Return the same in numpy, with nothing to compile: for programs that are used once."""
    machine = _Machine(program, x.shape[1:], np)
    state, values = machine.start, []
    for i in range(len(x) + 1):
        state, at = machine.step(state, i, x[i - 1] if i else np.full(x.shape[1:], -1))
        values.append([at[name] for name in wanted])
    return {name: np.stack(v) for name, v in zip(wanted, zip(*values, strict=True), strict=True)}


def largest_count(program: Program, n: int, *, refuse: bool = False) -> int:
    """Return a bound on the absolute counts of a program on strings of length n.

    **Raises:** `ValueError` if told to `refuse` what does not fit into int32.
    """
    most: dict[str, int] = {}
    for d in program.core.definitions:
        match d.expression:
            case Counting(_, offsets):
                most[d.name] = n if offsets is None else len(offsets)
            case Integer():
                most[d.name] = 1
            case If(_, CountRef(a), CountRef(b)):
                most[d.name] = max(most[a], most[b])
            case Add(CountRef(a), CountRef(b)) | Subtract(CountRef(a), CountRef(b)):
                most[d.name] = most[a] + most[b]
    largest = max(most.values(), default=0)
    if refuse and largest > LARGEST:
        raise ValueError(
            f"counts of this program could pass 2^31 at length {n}; `interpret` has no limit."
        )
    return largest


@functools.lru_cache(256)
def _verdicts(program: Program) -> Any:
    """Return the compiled function from symbols (strings, n) and lengths to verdicts."""

    def verdicts(x: Array, lengths: Array) -> Array:
        values = evaluate(program, x, [program.output])[program.output]
        return jnp.take_along_axis(values, lengths[:, None], 1)[:, 0]

    return jax.jit(verdicts)


def accepts(program: Program, strings: Any) -> Any:
    """Return whether strings are accepted; `Program.accepts` documents it."""
    if isinstance(strings, str | tuple):
        return bool(accepts(program, [strings])[0])
    x, lengths = pad(program, strings)
    if x.size <= WORTH_COMPILING:
        largest_count(program, x.shape[1], refuse=True)
        values = _loop(program, (program.output,), x.T)[program.output]
        return values[lengths, np.arange(len(x))]
    parts = []
    for start in range(0, len(x), CHUNK):
        part = slice(start, start + CHUNK)
        parts.append(np.asarray(_verdicts(program)(x[part], lengths[part])))
    return np.concatenate(parts)


def pad(program: Program, strings: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return strings as symbols (strings, longest), padded with -1, and their lengths."""
    lengths = np.array([len(s) for s in strings], np.int32)
    x = np.full((len(strings), lengths.max(initial=0)), -1, np.int32)
    x[np.arange(x.shape[1]) < lengths[:, None]] = _encoded(program, strings)
    return x, lengths


def _encoded(program: Program, strings: Sequence[Sequence[str]]) -> Any:
    """Return the symbols of all strings in a row; text of single characters by one look-up."""
    texts = [s for s in strings if isinstance(s, str)]
    if len(texts) < len(strings) or any(len(s) > 1 for s in program.alphabet):
        return program.encode(itertools.chain(*strings))
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    table = np.full(int(codes.max(initial=0)) + 1, -1, np.int32)
    for place, symbol in enumerate(program.alphabet):
        if ord(symbol) < len(table):
            table[ord(symbol)] = place
    found = table[codes]
    if (found < 0).any():
        program.encode(chr(codes[found.argmin()]))
    return found
