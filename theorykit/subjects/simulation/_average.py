"""Lemma A.10 as a function: the last tokens of a random string simulate it on average."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theorykit.common.arguments import (
    affordable,
    as_array,
    at_least_0,
    positive,
    shown,
    size,
    whole,
)
from theorykit.subjects.limit import Transformer
from theorykit.subjects.simulation._margins import sensitivity
from theorykit.subjects.simulation._one_layer import (
    counts,
    hard_output,
    one_layer,
    string,
    together,
)


@dataclasses.dataclass(frozen=True, eq=False)
class AverageSimulation:
    """The last tokens of a string.

    **Fields:** `string`: z, of the same kind as x; `difference`: |f(x) - f(z)| and
    |g(x) - g(z)| under hard attention.
    """

    string: Any
    difference: tuple[float, float]


def simulate_average(f: Transformer, g: Transformer, x: Sequence[str], N: int) -> AverageSimulation:
    """Return sim_N(x): the last N' tokens of x, N <= N' < N + Delta, N' = |x| mod Delta.

    If tokens are independent and their residues do not matter, z is distributed like strings of
    length N': no mass moves to unlikely ones.

    **Raises:** `ValueError` for transformers that `simulate_hard` would refuse, tau > N, an N for
    which there is no N' <= |x|, or a symbol outside the alphabet.
    """
    for name, t in (("f", f), ("g", g)):
        one_layer(t, name)
    period, tau = together(f, g)
    f.encode(x)
    N = whole("N", N)
    if tau >= N:
        raise ValueError(f"tau = {tau} exceeds N = {N}.")
    length = N + (len(x) - N) % period
    if length > len(x):
        raise ValueError(
            f"no N' >= N = {N} is at most |x| = {len(x)} and congruent to it mod {period}."
        )
    z = x[len(x) - length :]
    gaps = [np.linalg.norm(hard_output(t, x) - hard_output(t, z)) for t in (f, g)]
    return AverageSimulation(z, (float(gaps[0]), float(gaps[1])))


def in_bulk(
    x: Integer[np.ndarray, " T"],
    p: Float[np.ndarray, " symbols"],
    period: int,
    tau: int,
    delta: float,
) -> bool:
    """Whether |n(s, i, x) / (T / Delta) - p_s| <= delta for all s and i (Lemma A.5).

    **Arguments:** `x`: (T,) symbols as integers; `p`: (symbols,) probabilities.

    **Raises:** `ValueError` for symbols outside 0 ... symbols - 1, or an empty string; for
    probabilities that are negative or do not sum to 1, or a negative delta.
    """
    p = probabilities(p)
    x, period, tau = string(x, len(p)), whole("period", period), whole("tau", tau, 0)
    delta = at_least_0("delta", delta)
    affordable("a table of counts", len(p) * period, 2**27)
    n = counts(x, len(p), period, tau)
    return bool((abs(n * period / len(x) - np.asarray(p)[:, None]) <= delta).all())


def probabilities(p: Any) -> Float[np.ndarray, " symbols"]:
    """Return probabilities as an array.

    **Raises:** `ValueError` for anything else.
    """
    found = np.asarray(as_array("p", p), float)
    if found.ndim != 1 or not (found >= 0).all() or not abs(found.sum() - 1) <= 1e-6:
        raise ValueError(f"p is a row of probabilities, which sum to 1, not {shown(p)}.")
    return found


def bulk_error(
    f: Transformer, symbols: int, period: int, tau: int, gamma: float, delta: float, N: int
) -> float:
    """Return the bound of Lemma A.8, with a suffix of tau + 1 tokens.

    6 L_MLP M^V ((|Sigma| Delta)^2 delta / gamma + (tau + 1) Delta / ((gamma - delta) N)).

    **Raises:** `ValueError` unless 0 <= delta < gamma.
    """
    symbols, period, N = size("symbols", symbols), size("period", period), size("N", N)
    tau = size("tau", tau, 0)
    gamma = positive("gamma", gamma)
    if not at_least_0("delta", delta) < gamma:
        raise ValueError(f"delta lies between 0 and gamma = {gamma}, not {delta}.")
    pairs = (symbols * period) ** 2 * delta / gamma
    return 6 * sensitivity(f) * (pairs + (tau + 1) * period / ((gamma - delta) * N))
