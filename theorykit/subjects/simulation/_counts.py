"""The numbers of tokens in the simulating string: the cases of the proof of Theorem 4.1.

Arrays are flat over (symbol, residue) pairs: `n` counts the occurrences of a pair in the prefix of
x, and `Af` and `Ag` mark the pairs that f and g attend to, with |P_f| <= |P_g|. Integers are exact.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Int64, Real

from theorykit.common.arguments import integers, positive, shown, whole

LARGEST = 2**63 - 1

Bounds = dict[str, tuple[float, float]]
"""Both sides of the numbered inequalities, by number."""


def apportion(
    weights: Real[np.ndarray, " parts"] | Sequence[float], total: int
) -> Int64[np.ndarray, " parts"]:
    """Return integers m of sum `total`, |m_i - total p_i| < 1, p = weights / sum (Lemma A.4).

    The largest remainders are rounded up.

    **Raises:** `ValueError` for numbers that are not nonnegative integers, weights all 0 unless the
    total is 0, or a total of 2^63 or more.
    """
    row = np.asarray(weights, None if hasattr(weights, "dtype") else object)
    if row.ndim != 1:
        raise ValueError(f"weights are a row of whole numbers, got {shown(weights)}.")
    w, total = [whole("a weight", v, 0) for v in row.tolist()], whole("the total", total, 0)
    if total > LARGEST:
        raise ValueError(f"the total is at most 2^63 - 1, got {shown(total)}.")
    if total and not any(w):
        raise ValueError(f"{total} cannot be apportioned by weights of sum 0.")
    every = max(sum(w), 1)
    floors = [total * v // every for v in w]
    left = total - sum(floors)
    order = sorted(range(len(w)), key=lambda k: -(total * w[k] % every))
    for k in order[:left]:
        floors[k] += 1
    return np.array(floors, np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Counted:
    """Numbers m of tokens, the case of the proof, and both sides of its numbered inequalities.

    **Fields:** `m`: flat, int64; `case`; `bounds`.
    """

    m: Int64[np.ndarray, " pairs"]
    case: str
    bounds: Bounds


def inverse(eps: float) -> Fraction:
    """Return 1 / eps as a fraction, via the nearest float, so that 0.1 gives 10.

    **Raises:** `ValueError` for an eps that is not a positive number.
    """
    eps = positive("eps", eps)
    return Fraction(1 / eps) if 1 / eps < math.inf else 1 / Fraction(eps)


def counted(
    n: Int[np.ndarray, " pairs"],
    Af: Bool[np.ndarray, " pairs"],
    Ag: Bool[np.ndarray, " pairs"],
    eps: float,
) -> Counted:
    """Return the numbers of tokens, by the cases of the proof of Theorem 4.1.

    **Arguments:** flat arrays over pairs: `n`: the count of each (symbol, residue) in the prefix;
    `Af`, `Ag`: the pairs that f and g attend to, f to no more tokens than g.

    **Raises:** `ValueError` for negative counts or a sum of 2^63 or more, arrays of different
    lengths, or an eps that is not a positive number.
    """
    n, Af, Ag = integers("n", n), np.asarray(Af), np.asarray(Ag)
    if not Af.dtype == Ag.dtype == bool:
        raise ValueError(
            f"Af and Ag hold True or False for each pair, got {shown(Af)}, {shown(Ag)}."
        )
    if not n.shape == Af.shape == Ag.shape or n.ndim != 1:
        raise ValueError(
            f"n, Af and Ag are rows of the same length, got {n.shape}, {Af.shape}, {Ag.shape}."
        )
    if (n < 0).any() or sum(n.tolist()) > LARGEST:
        raise ValueError("numbers of tokens are at least 0, and their sum is below 2^63.")
    most, Pf, Pg = inverse(eps), int(n[Af].sum()), int(n[Ag].sum())
    if Pg <= most:
        return Counted(np.where(Af | Ag, n, 0), "copy both", {})
    both = int(n[Af & Ag].sum())
    if both * most > Pg:
        if Pf <= most:
            return Counted(np.where(Af | Ag, n, 0), "copy both, |P_g| <= 1/eps^2", {})
        m, bounds = scaled(n, Af, Ag, eps)
        return proportional(n, Af, Ag, eps, m, bounds)
    if Pf <= most:
        m, bounds, case = np.where(Af, n, 0), {}, "copy f"
    else:
        (m, bounds), case = scaled(n, Af, Ag, eps), "scale f"
    return separate(n, Af, Ag, eps, m, bounds, case)


def scaled(
    n: Int[np.ndarray, " pairs"],
    Af: Bool[np.ndarray, " pairs"],
    Ag: Bool[np.ndarray, " pairs"],
    eps: float,
) -> tuple[Int64[np.ndarray, " pairs"], Bounds]:
    """Return ceil(1 / eps) tokens for f, and eqs. (5) to (8)."""
    C, Pf = math.ceil(inverse(eps)), int(n[Af].sum())
    shared, only = Af & Ag, Af & ~Ag
    floors, remainders = _divided(C, n, Pf)
    m = np.where(Af, floors, 0)
    _raise(m, shared, remainders, C * int(n[shared].sum()) // Pf - int(m[shared].sum()))
    _raise(m, only, remainders, C - int(m[Af].sum()))
    away = np.abs(m - np.where(Af, _exactly(C, n) / Pf, 0).astype(float))
    worst = lambda where: float(away[where].max(initial=0.0))
    missing = lambda where: C * int(n[where].sum()) / Pf - int(m[where].sum())
    ratio = np.abs(m[Af] / m[Af].sum() - n[Af] / Pf).max()
    return m, {
        "5 each": (worst(shared), 1.0),
        "5 sum": (missing(shared), 1.0),
        "6 each": (worst(only), 1.0),
        "6 sum": (abs(missing(only)), 1.0),
        "7": (abs(C - int(m[Af].sum())), 2.0),
        "8": (float(ratio), eps),
    }


def _exactly(times: int, n: Int[np.ndarray, " pairs"]) -> Any:
    """Return a multiple of n, in Python integers if int64 would overflow."""
    fits = times * int(n.max(initial=0)) <= LARGEST
    return times * (n if fits else n.astype(object))


def _divided(
    times: int, n: Int[np.ndarray, " pairs"], by: int
) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """Return the quotients and remainders of times min(n, by), divided by `by`."""
    product = _exactly(times, np.minimum(n, by))
    return (product // by).astype(np.int64), (product % by).astype(np.int64)


def _raise(
    m: Int[np.ndarray, " pairs"],
    where: Bool[np.ndarray, " pairs"],
    remainder: Int[np.ndarray, " pairs"],
    by: int,
) -> None:
    """Add 1 at the `by` places with the largest remainders."""
    places = np.flatnonzero(where)
    m[places[np.argsort(-remainder[places], kind="stable")][:by]] += 1


def separate(
    n: Int[np.ndarray, " pairs"],
    Af: Bool[np.ndarray, " pairs"],
    Ag: Bool[np.ndarray, " pairs"],
    eps: float,
    m: Int[np.ndarray, " pairs"],
    bounds: Bounds,
    case: str,
) -> Counted:
    """Return the case |P_f and P_g| <= eps |P_g|, eq. (15): ceil(1 / eps^2) tokens for g."""
    C = math.ceil(inverse(eps) ** 2)
    rest = Ag & ~Af
    wanted = np.zeros_like(m)
    wanted[Ag] = apportion(n[Ag], C)
    m = np.where(rest, wanted, m)
    D, Pg = int(m[rest].sum()), int(n[Ag].sum())
    ratio = np.abs(m[rest] / max(D, 1) - n[rest] / Pg).sum()
    bounds = bounds | {
        "15": (C * (1 - 2 * eps), D),
        "15 ratios": (float(ratio), 4 * eps + 2 * len(n) * eps * eps),
        "17 shared": (int(m[Ag & Af].sum()) / max(D, 1), 3 * eps),
    }
    return Counted(m, f"{case}, g apart", bounds)


def proportional(
    n: Int[np.ndarray, " pairs"],
    Af: Bool[np.ndarray, " pairs"],
    Ag: Bool[np.ndarray, " pairs"],
    eps: float,
    m: Int[np.ndarray, " pairs"],
    bounds: Bounds,
) -> Counted:
    """Return the case |P_f and P_g| > eps |P_g|, eqs. (18) to (29): one scale for f and g."""
    first = np.flatnonzero(Af)[n[Af].argmax()]
    top, under = int(m[first]), int(n[first])
    rest = Ag & ~Af
    product = _exactly(top, np.where(rest, n, 0))
    more = (product // under).astype(np.int64)
    exact = Fraction(top * int(n[rest].sum()), under)
    _raise(more, rest, (product % under).astype(np.int64), math.floor(exact) - int(more.sum()))
    m = m + more
    S, Pf, Pg = len(n), int(n[Af].sum()), int(n[Ag].sum())
    C, both = math.ceil(inverse(eps)), Af & Ag
    rho, outside = top / under, int(n[rest].sum())
    lag = rho * int(n[both].sum()) - int(m[both].sum())
    total = int(m[Ag].sum())
    shares, wanted = m[Ag] / max(total, 1), n[Ag] / Pg
    low = (rho * n[Ag] - 1) / (rho * Pg + 2 + S)
    tight = np.argmax(low - shares)
    bounds = bounds | {
        "18 each": (float(np.abs(m - rho * n)[rest].max(initial=0.0)), 1.0),
        "18 sum": (abs(float(exact) - int(m[rest].sum())), 1.0),
        "21": (rho * outside + 1, C / Pf * outside + S / under + 1),
        "22": (int(m[rest].sum()), C / eps + S**2 / eps + 1),
        "24": (abs(lag), rho * int(n[both].sum()) - C / Pf * int(n[both].sum()) + 1),
        "26": (abs(rho * Pg - total), 2 + S),
        "27": (float(low[tight]), float(shares[tight])),
        "29": (float(np.abs(shares - wanted).max()), 2 * eps * (4 + S)),
        "29 sum": (float(np.abs(shares - wanted).sum()), 10 * S * eps),
    }
    return Counted(m, "one scale", bounds)


def balanced(
    n: Int[np.ndarray, "symbols period"],
    Af: Bool[np.ndarray, "symbols period"],
    Ag: Bool[np.ndarray, "symbols period"],
    eps: float,
    slots: Int[np.ndarray, " period"],
) -> tuple[Int[np.ndarray, "symbols period"], Int[np.ndarray, " period"]]:
    """Return numbers of tokens that fill the slots of every residue (not in the paper).

    This is for positional encodings where all tokens at some residue of x are attended to: whatever
    is put there counts, so the numbers of the proof cannot be used. If f attends to many tokens,
    all pairs are scaled alike; otherwise the pairs of f are as in the proof and the others share
    the rest.

    **Arguments:** `slots`, of at least ceil(1 / eps^2).

    **Returns:** the numbers m, and for each residue the number of remaining tokens that nobody
    attends to.
    """
    positions = n.sum(0)
    seen = np.where(Af | Ag, n, 0)
    weights = np.concatenate([seen, (positions - seen.sum(0))[None]])
    few = int(n[Af].sum()) < eps * positions.min()
    m = np.zeros_like(weights)
    if few:
        mine = np.where(Af, n, 0).ravel()
        if mine.sum() > inverse(eps):
            mine = scaled(n.ravel(), Af.ravel(), Ag.ravel(), eps)[0]
        m[:-1] = mine.reshape(n.shape)
        weights[:-1][Af] = 0
    for i in range(n.shape[1]):
        m[:, i] += apportion(weights[:, i], int(slots[i] - m[:, i].sum()))
    return m[:-1], m[-1]
