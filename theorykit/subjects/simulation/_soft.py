"""Lemma 5.3 as a function: a random subset of a string that preserves an average along it.

A function p of the last tau + 1 symbols and of the shares of symbols so far is averaged over all
positions. The subset consists of the positions where a Markov chain with long runs is 1, and the
last tau + 1 positions.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64, Int, Int64, Integer, PRNGKeyArray

from theorykit.common.arguments import affordable, as_array, as_rng, between, finite, function, size
from theorykit.common.keys import generator
from theorykit.subjects.simulation._one_layer import string

Statistic = Callable[[Int[Array, " suffix"], Float[Array, " symbols"]], Float[Array, "*m"]]
"""p(w, mu): w, (tau + 1,) symbols in order, -1 before the string begins; mu, (symbols,)
shares so far. Returns (m,). Traced by JAX."""

ROWS, COLUMNS = 16, 1024
"""Positions are evaluated in blocks of this shape, so each function is compiled once."""


@dataclasses.dataclass(frozen=True, eq=False)
class SoftSimulation:
    """The best of many random subsets of a string.

    **Fields:** `indices`: the subset I, increasing, from 0; `string`: x at I; `error`: the norm of
    the difference between the averages of p over x and over z; `errors`: the same for every
    candidate; `sizes`: |I| of every candidate as drawn; `q`: the probability that a run ends.
    """

    indices: Int[np.ndarray, " n"]
    string: Integer[np.ndarray, " n"]
    error: float
    errors: Float[np.ndarray, " candidates"]
    sizes: Int[np.ndarray, " candidates"]
    q: float


def chain(
    rng: np.random.Generator, length: int, share: float, q: float
) -> Int64[np.ndarray, " ones"]:
    """Return the positions where a stationary two-state chain is 1, increasing, counted from 0.

    P(1 -> 0) = q and P(0 -> 1) = r = share q / (1 - share), so that P(1) = share. It is drawn run
    by run, in time linear in the number of ones.

    **Raises:** `ValueError` unless length is at least 0, share and q lie between 0 and 1, and r is
    at most 1; for too many ones.
    """
    rng, length = as_rng(rng), size("length", length, 0)
    share, q = between("share", share), between("q", q)
    if not 0 < share * q / (1 - share) <= 1:
        raise ValueError(
            f"r = share q / (1 - share) must be a probability, which it is not at {share} and {q}."
        )
    affordable("a chain", int(length * share), 2**30, "ones")
    r = share * q / (1 - share)
    starts, stops, place = [], [], 0
    if rng.random() >= share:
        place = int(rng.geometric(r))
    many = int(length / (1 / q + 1 / r)) + 16
    while place < length:
        # A run may go beyond the end; it is cut there.
        ones = np.minimum(rng.geometric(q, many), length + 1)
        zeros = np.minimum(rng.geometric(r, many), length + 1)
        ends = place + np.cumsum(ones + zeros)
        first = ends - zeros - ones
        starts.append(first)
        stops.append(ends - zeros)
        place = int(ends[-1])
    if not starts:
        return np.zeros(0, np.int64)
    begin, end = np.concatenate(starts), np.minimum(np.concatenate(stops), length)
    begin, end = begin[begin < length], end[begin < length]
    sizes = end - begin
    steps = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(begin, sizes) + steps


def subset(
    rng: np.random.Generator, length: int, n: int, tau: int, q: float | None = None
) -> Int64[np.ndarray, " size"]:
    """Return a random subset I of 0 ... length - 1 of about n indices, increasing (section B.1).

    **Arguments:** `q`: n^(-1/3) if None.

    **Raises:** `ValueError` unless n and tau are below the length, 0 < q < 1, and
    r = (n/T) q / (1 - n/T) is at most 1.
    """
    rng = as_rng(rng)
    length, n, tau = size("length", length), size("n", n), size("tau", tau, 0)
    if tau >= length:
        raise ValueError(f"a string is longer than tau = {tau}; this one has {length} symbols.")
    q = None if q is None else between("q", q)
    q = n ** (-1 / 3) if q is None and n > 1 else q
    share = n / length
    if q is None or not share < 1 or share * q > 1 - share:
        raise ValueError(
            f"the chain needs n < T, 0 < q < 1 and n q <= T - n, not n = {n}, T = {length} "
            f"and q = {q}."
        )
    last = np.arange(length - tau - 1, length)
    found = chain(rng, length, share, q)
    return np.concatenate([found[found < last[0]], last])


def trimmed(
    indices: Int[np.ndarray, " size"], length: int, n: int, tau: int
) -> Int[np.ndarray, " trimmed"]:
    """Return the subset trimmed or filled to | |I| - n | <= tau + 1 + n^(1/3), as in the lemma.

    Indices are removed or added at the end, before the last tau + 1, so shares of symbols further
    in front do not change. The proof of the lemma derives this size from the variance of |I|, which
    gives only n^(2/3).
    """
    reach = tau + 1 + int(n ** (1 / 3))
    inner, last = indices[: len(indices) - tau - 1], indices[len(indices) - tau - 1 :]
    over, under = len(indices) - n - reach, n - reach - len(indices)
    if over > 0:
        inner = inner[: max(len(inner) - over, 0)]
    elif under > 0:
        out = np.ones(int(last[0]), bool)
        out[inner] = False
        inner = np.sort(np.concatenate([inner, np.flatnonzero(out)[-under:]]))
    return np.concatenate([inner, last])


def path_average(
    p: Statistic, x: Integer[np.ndarray, " T"], symbols: int, tau: int
) -> Float64[np.ndarray, " m"]:
    """Return (1/T) sum_t p(x_{t - tau : t}, mu(x_{<= t})), (m,), float64.

    **Arguments:** `x`: (T,) integers below `symbols`.

    **Raises:** `ValueError` for symbols outside 0 ... symbols - 1, or an empty string.
    """
    function("p", p, "a function p(w, mu)")
    symbols, tau = size("symbols", symbols), size("tau", tau, 0)
    x = string(x, symbols)
    affordable("windows", ROWS * COLUMNS * (tau + 1 + symbols), 2**30)
    T = len(x)
    rows = -(-T // COLUMNS)
    padded = np.full(tau + rows * COLUMNS, -1, np.int32)
    padded[tau : tau + T] = x
    window = np.arange(rows)[:, None] * COLUMNS + np.arange(COLUMNS + tau)
    before = np.zeros((rows, symbols), np.int64)
    tables = padded[tau : tau + rows * COLUMNS].reshape(rows, COLUMNS)
    for s in range(symbols):
        before[1:, s] = np.cumsum((tables == s).sum(1))[:-1]
    total = 0.0
    step = _block(p, symbols, tau)
    for top in range(0, rows, ROWS):
        some = slice(top, min(top + ROWS, rows))
        short = [(0, ROWS - (some.stop - top)), (0, 0)]
        w = np.pad(padded[window[some]], short, constant_values=-1)
        seen = np.pad(before[some], short)
        total = total + np.asarray(step(w, seen.astype(np.int32)), float).sum(0)
    return np.asarray(total) / T


@functools.lru_cache(32)
def _block(p: Statistic, symbols: int, tau: int) -> Callable[..., Float[Array, "rows m"]]:
    """Return a compiled function for the sum of p over the rows of a block."""

    def row(w: Int[Array, " columns"], before: Int[Array, " symbols"]) -> Float[Array, " m"]:
        here = w[tau:]
        hits = (here[:, None] == jnp.arange(symbols)).astype(jnp.int32)
        seen = before + jnp.cumsum(hits, 0)
        number = jnp.asarray(seen, jnp.result_type(float))
        mu = number / jnp.maximum(number.sum(1, keepdims=True), 1)
        back = jnp.stack([w[k : k + COLUMNS] for k in range(tau + 1)], 1)
        values = as_array("p(w, mu)", jax.vmap(p)(back, mu))
        values = values.reshape(COLUMNS, -1)
        return jnp.where((here >= 0)[:, None], values, 0).sum(0)

    return jax.jit(jax.vmap(row))


def simulate_soft(
    p: Statistic,
    x: Integer[np.ndarray, " T"],
    n: int,
    key: PRNGKeyArray,
    *,
    symbols: int,
    tau: int = 0,
    candidates: int = 64,
    q: float | None = None,
) -> SoftSimulation:
    """Return a subset of about n positions of x that keeps the average of p (Lemma 5.3).

    It is the best of many subsets drawn as in section B.1, each cut or filled to the size of the
    lemma. Time grows like T + candidates n.

    **Arguments:** `p`: p(w, mu) at one position, see `Statistic`; `x`: (T,) integers; `n`: the
    size; `key`: a JAX key; `symbols`: the size S of the alphabet; `candidates`: the number of
    subsets drawn; `q`: the probability that a run ends, n^(-1/3) if None, as in the proof.

    **Raises:** `ValueError` for symbols outside 0 ... S - 1, tau beyond the length, an n that is
    not between tau + 1 and T, a p whose average is not finite, or an invalid key.
    """
    function("p", p, "a function p(w, mu)")
    S, tau = size("symbols", symbols), size("tau", tau, 0)
    n, candidates = size("n", n), size("candidates", candidates)
    x = string(x, S)
    if len(x) <= tau:
        raise ValueError(f"a string is longer than tau = {tau}; this one has {len(x)} symbols.")
    if not tau + 1 < n < len(x):
        raise ValueError(f"n lies between tau + 1 = {tau + 1} and T = {len(x)}, not {n}.")
    rng = generator(key)
    target = path_average(p, x, S, tau)
    finite("the average of p", target)
    best: np.ndarray | None = None
    sizes: list[int] = []
    errors: list[float] = []
    for _ in range(candidates):
        drawn = subset(rng, len(x), n, tau, q)
        indices = trimmed(drawn, len(x), n, tau)
        found = path_average(p, x[indices], S, tau)
        finite("the average of p over a subset", found)
        error = float(np.linalg.norm(found - target))
        best = indices if not errors or error < min(errors) else best
        sizes.append(len(drawn))
        errors.append(error)
    assert best is not None
    q = n ** (-1 / 3) if q is None else q
    return SoftSimulation(best, x[best], min(errors), np.array(errors), np.array(sizes), q)
