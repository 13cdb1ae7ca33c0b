"""Core operations on a batch of strings.

In JAX a scan over positions carries the counts; in numpy all positions are computed at once.
"""

import abc
import functools
import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int32

from theorykit.common.arguments import listed, shown
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

LARGEST = 2**31 - 1
"""Counts are int32; a program whose counts could exceed this is refused."""

BLOCK = 2**16
"""Positions per batch in `accepts`, few enough for one operation's data to fit in the cache."""


NO_SYMBOL = -1
"""What stands before a string, and behind a shorter one: the place of no symbol."""


class _Machine(abc.ABC):
    """Core operations at positions 0 ... n, or at one of them, on arrays of numpy or of JAX."""

    def __init__(self, alphabet: Sequence[str], n: int, xp: Any):
        self.n, self.xp = n, xp
        self.place = {s: k for k, s in enumerate(alphabet)}

    @abc.abstractmethod
    def total(self, name: str, holds: Any) -> Any:
        """Return how often the Boolean that the operation `name` counts held so far."""

    @abc.abstractmethod
    def before(self, a: str, holds: Any, distance: int) -> Any:
        """Return whether a Boolean held at a distance; before the string it is false."""

    def value(self, name: str, e: Expression, i: Any, symbol: Any, at: dict[str, Any]) -> Any:
        """Return a core operation at positions i, which hold these symbols, from earlier values."""
        xp = self.xp
        match e:
            case Symbol(s):
                return symbol == self.place[s]
            case Periodic(modulus, residues):
                seen = min(modulus, self.n + 1)  # for a modulus above n, i <= n is its own residue
                holds = np.zeros(seen, bool)
                holds[[r for r in residues if r < seen]] = True
                return xp.asarray(holds)[i % seen]
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
                return self.total(name, at[a] & (i > 0))
            case Counting(BooleanRef(a), offsets):
                near = near_offsets(offsets, self.n)
                counts = [self.before(a, at[a] & (i > 0), d).astype(np.int32) for d in near]
                return functools.reduce(operator.add, counts, xp.asarray(0, np.int32))
            case If(BooleanRef(p), CountRef(a), CountRef(b)):
                return xp.where(at[p], at[a], at[b])
            case Add(CountRef(a), CountRef(b)):
                return at[a] + at[b]
            case Subtract(CountRef(a), CountRef(b)):
                return at[a] - at[b]
        raise TypeError(f"{e!r} is not a core operation.")


def near_offsets(offsets: Iterable[int] | None, n: int) -> list[int]:
    """Return the distances that occur within a string of length n."""
    return sorted(d for d in offsets or () if d < n)


class _Step(_Machine):
    """One position after another, for a batch of strings.

    The state is the running total of each counting, and a ring buffer of the last values of each
    Boolean that a local counting looks back at.
    """

    def __init__(
        self, alphabet: Sequence[str], definitions: Sequence[Definition], n: int, shape: tuple
    ):
        super().__init__(alphabet, n, jnp)
        self.definitions, self.shape = definitions, shape
        self.reach: dict[str, int] = {}
        totals = []
        for d in definitions:
            match d.expression:
                case Counting(_, None):
                    totals.append(d.name)
                case Counting(BooleanRef(a), offsets):
                    far = max(near_offsets(offsets, n), default=0)
                    self.reach[a] = max(self.reach.get(a, 0), far)
        none = {a: jnp.zeros((far, *shape), bool) for a, far in self.reach.items()}
        self.start = dict.fromkeys(totals, jnp.zeros(shape, np.int32)), none

    def step(self, state: Any, i: Any, symbol: Any) -> tuple[Any, dict[str, Any]]:
        """Return the next state, and all values at position i, which holds `symbol`."""
        (self.totals, self.past), self.i = state, i
        at: dict[str, Any] = {}
        for d in self.definitions:
            value = self.value(d.name, d.expression, i, symbol, at)
            at[d.name] = jnp.broadcast_to(value, self.shape)
        past = {
            a: old.at[i % len(old)].set(at[a] & (i > 0)) if len(old) else old
            for a, old in self.past.items()
        }
        return ({t: at[t] for t in self.totals}, past), at

    def total(self, name: str, holds: Any) -> Any:
        """Return the running total."""
        return self.totals[name] + holds

    def before(self, a: str, holds: Any, distance: int) -> Any:
        """Return the stored value."""
        return self.past[a][(self.i - distance) % self.reach[a]] if distance else holds


class _Whole(_Machine):
    """All positions at once, along the first axis, in numpy; nothing is compiled."""

    def __init__(self, alphabet: Sequence[str], n: int):
        super().__init__(alphabet, n, np)

    def total(self, name: str, holds: Any) -> Any:
        """Return the sums up to each position."""
        return np.cumsum(holds, 0, np.int32)

    def before(self, a: str, holds: Any, distance: int) -> Any:
        """Return the shifted values."""
        moved = np.zeros_like(holds)
        moved[distance:] = holds[: len(holds) - distance]
        return moved

    def last(
        self,
        definitions: Sequence[Definition],
        output: str,
        x: Int[np.ndarray, "n strings"],
        lengths: Int[np.ndarray, " strings"],
    ) -> Bool[np.ndarray, " strings"]:
        """Return the value of one Boolean operation at the end of each string."""
        shape = (len(x) + 1, x.shape[1])
        i = np.arange(shape[0])[:, None]
        x = np.concatenate([np.full((1, shape[1]), NO_SYMBOL, x.dtype), x])
        at: dict[str, Any] = {}
        for d, done in zip(definitions, _last_uses(definitions, output), strict=True):
            value = self.value(d.name, d.expression, i, x, at)
            at[d.name] = np.broadcast_to(value, shape)
            for name in done:
                del at[name]
        return at[output][lengths, np.arange(shape[1])]


def _last_uses(definitions: Sequence[Definition], output: str) -> list[list[str]]:
    """Return, for each operation, those that are not needed after it."""
    done: list[list[str]] = [[] for _ in definitions]
    seen = {output}
    for k in reversed(range(len(definitions))):
        d = definitions[k]
        for name in (d.name, *(p.name for p in d.expression.parts if hasattr(p, "name"))):
            if name not in seen:
                seen.add(name)
                done[k].append(name)
    return done


def scan(
    alphabet: Sequence[str],
    definitions: Sequence[Definition],
    wanted: Sequence[str],
    x: Int[Array, " n *strings"],
) -> Values:
    """Return the values of the wanted names at n + 1 positions, traced by JAX."""
    machine = _Step(alphabet, definitions, len(x), x.shape[1:])

    def step(state: Any, now: Any) -> Any:
        state, at = machine.step(state, *now)
        return state, {name: at[name] for name in wanted}

    x = jnp.concatenate([jnp.full((1, *x.shape[1:]), NO_SYMBOL, x.dtype), x])
    return jax.lax.scan(step, machine.start, (jnp.arange(len(x)), x))[1]


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
            f"counts of this program could exceed 2^31 at length {n}; `interpret` has no limit."
        )


def accepts(
    alphabet: tuple[str, ...],
    definitions: tuple[Definition, ...],
    output: str,
    strings: Sequence[Sequence[str]],
) -> Bool[np.ndarray, " strings"]:
    """Return whether each of several strings is accepted; `Program.accepts` documents it."""
    x, lengths = pad(alphabet, strings)
    n = x.shape[1]
    refuse_overflow(definitions, n)
    found = np.zeros(len(x), bool)
    many = max(1, BLOCK // (n + 1))
    machine = _Whole(alphabet, n)
    for start in range(0, len(x), many):
        part = slice(start, start + many)
        found[part] = machine.last(definitions, output, x[part].T, lengths[part])
    return found


def encode(alphabet: Sequence[str], string: Iterable[str]) -> list[int]:
    """Return the index of each symbol of a string; `Program.encode` documents it."""
    places = {s: k for k, s in enumerate(alphabet)}
    try:
        return [places[s] for s in string]
    except KeyError as unknown:
        raise ValueError(f"{unknown} is not in the alphabet {listed(alphabet)}.") from None
    except TypeError:
        raise ValueError(f"a string is text or a tuple of symbols, got {shown(string)}.") from None


def pad(
    alphabet: Sequence[str], strings: Sequence[Sequence[str]]
) -> tuple[Int32[np.ndarray, "strings longest"], Int32[np.ndarray, " strings"]]:
    """Return strings as symbols, padded with `NO_SYMBOL`, and their lengths."""
    lengths = np.array([len(s) for s in strings], np.int32)
    x = np.full((len(strings), lengths.max(initial=0)), NO_SYMBOL, np.int32)
    x[np.arange(x.shape[1]) < lengths[:, None]] = _encoded(alphabet, strings)
    return x, lengths


def _encoded(alphabet: Sequence[str], strings: Sequence[Sequence[str]]) -> Any:
    """Return the indices of all strings in one row; text of single characters takes one look-up."""
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
