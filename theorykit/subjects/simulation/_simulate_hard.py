"""Theorem 4.1 as a function: a short string on which two transformers act as they do on x."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Integer

from theorykit.common.arguments import between, positive, whole
from theorykit.subjects.limit import Transformer
from theorykit.subjects.simulation import _layout as layout
from theorykit.subjects.simulation._counts import Bounds, balanced, counted, inverse
from theorykit.subjects.simulation._margins import hard_length, sensitivity
from theorykit.subjects.simulation._one_layer import (
    Attention,
    attention,
    one_layer,
    output,
    parts,
    together,
)


@dataclasses.dataclass(frozen=True, eq=False)
class HardSimulation:
    """A string that simulates another under hard attention, and the proof's bounds for it.

    **Fields:**

    - `string`: z, of the same kind as x.
    - `case`: of the proof; "whole" if z is x, since the construction is no shorter; "balanced" for
      our own construction, used if encodings leave no room for the proof's.
    - `eps`: that of the construction; smaller than requested if z had to be longer for attention to
      be hard.
    - `difference`: |f(x) - f(z)| and |g(x) - g(z)|; `bound`: a bound on each of them with explicit
      constants, proved for eps <= 1 / (8 |Sigma| Delta).
    - `before`, `after`: for f and g, the share of every (symbol, residue) among the attended tokens
      of the prefix, (2, symbols, period).
    - `inequalities`: those of the proof's inequalities (5) to (29) that belong to the case, as
      (left side, right side).
    - `length_bound`: no smaller than |z|.
    """

    string: Any
    case: str
    eps: float
    difference: tuple[float, float]
    bound: tuple[float, float]
    before: Float[np.ndarray, "2 symbols period"]
    after: Float[np.ndarray, "2 symbols period"]
    inequalities: Bounds
    length_bound: int


def share_error(symbols: int, period: int, tau: int, eps: float) -> float:
    """Return a bound on the distance of the attention outputs of x and z, in units of M^V.

    (10 |Sigma| Delta + 15 (tau + 1)) eps for eps <= 1 / (8 |Sigma| Delta), in all cases of the
    proof; the proof's own (29) leads to |Sigma|^3 Delta^3 in place of 10 |Sigma| Delta.

    **Raises:** `ValueError` for numbers that are not whole, or an eps that is not positive.
    """
    symbols, period, tau = whole("symbols", symbols), whole("period", period), whole("tau", tau, 0)
    eps = positive("eps", eps)
    return (10 * symbols * period + 15 * (tau + 1)) * eps


def length_bound(symbols: int, period: int, tau: int, eps: float, hard: int) -> int:
    """Return a bound on |z|: about Delta / eps^2, or 16 times the length where softmax is hard.

    **Raises:** `ValueError` for numbers that are not whole, or an eps that is not positive.
    """
    symbols, period, tau = whole("symbols", symbols), whole("period", period), whole("tau", tau, 0)
    hard = whole("hard", hard, 0)
    one = inverse(eps)
    pairs = (one + 1) ** 2 + (symbols * period + 1) * one + 2
    return period * (max(math.ceil(pairs), 16 * hard) + 2) + tau + 1


def simulate_hard(f: Transformer, g: Transformer, x: Sequence[str], eps: float) -> HardSimulation:
    """Return a string of length O(Delta / eps^2) on which f and g differ little from x.

    The construction of the proof of Theorem 4.1 on (symbol, residue) pairs, with four repairs: the
    suffix has tau + 1 tokens; z is as long as hard attention needs; if encodings leave no position
    unattended, numbers are balanced between residues; and if x is no longer than the construction,
    z is x.

    **Arguments:** `f`, `g`: one layer of one head, periodic and local, `precision=p`, `shift=True`,
    over the same alphabet; `x`: a string or sequence of symbols.

    **Raises:** `ValueError` for other transformers, eps outside (0, 1), a symbol outside the
    alphabet, or a string of length at most tau.
    """
    for name, t in (("f", f), ("g", g)):
        one_layer(t, name)
    eps = between("eps", eps)
    period, tau = together(f, g)
    symbols, size = np.array(f.encode(x), int), len(f.alphabet)
    hard = max(hard_length(f), hard_length(g))
    n, suffix, last = parts(symbols, size, period, tau)
    seen = [attention(t, n, suffix, last) for t in (f, g)]
    order = sorted((0, 1), key=lambda k: int(n[seen[k].pairs].sum()))
    inequalities: Bounds
    prefix, case, inequalities = symbols[: len(symbols) - tau - 1], "whole", {}
    while hard < len(symbols):
        found = _prefix(n, [seen[k] for k in order], last, tau, eps, hard, len(symbols) - tau - 1)
        if found is None:
            break
        if len(found[0]) + tau + 1 >= hard:
            prefix, case, inequalities = found
            break
        eps /= 2
    m = parts(np.concatenate([prefix, suffix[::-1]]), size, period, tau)[0]
    outputs = [[output(t, k, suffix, last) for k in (n, m)] for t in (f, g)]
    error = share_error(size, period, tau, eps)
    z = [f.alphabet[s] for s in np.concatenate([prefix, suffix[::-1]])]
    return HardSimulation(
        string="".join(z) if isinstance(x, str) else z,
        case=case,
        eps=eps,
        difference=tuple(float(np.linalg.norm(a - b)) for a, b in outputs),  # type: ignore[arg-type]
        bound=(sensitivity(f) * error, sensitivity(g) * error),
        before=_shares(n, seen),
        after=_shares(m, seen),
        inequalities=inequalities,
        length_bound=max(length_bound(size, period, tau, eps, hard), tau + 1),
    )


def _shares(
    n: Int[np.ndarray, "symbols period"], seen: list[Attention]
) -> Float[np.ndarray, "2 symbols period"]:
    kept = np.stack([np.where(a.pairs, n, 0) for a in seen])
    return kept / np.maximum(kept.sum((1, 2), keepdims=True), 1)


def _prefix(
    n: Int[np.ndarray, "symbols period"],
    seen: list[Attention],
    last: int,
    tau: int,
    eps: float,
    hard: int,
    below: int,
) -> tuple[Integer[np.ndarray, " prefix"], str, Bounds] | None:
    """Return a prefix, its case and the proof's inequalities; None if no prefix is short enough."""
    Af, Ag = (a.pairs for a in seen)
    free = seen[0].below & seen[1].below
    fillers = np.where(free.any(0), free.argmax(0), -1)
    found = counted(n.ravel(), Af.ravel(), Ag.ravel(), eps)
    m = found.m.reshape(n.shape)
    least = hard if (fillers >= 0).all() else 0
    length = layout.shortest(m, last, tau, least)
    prefix = layout.lay_out(m, length, fillers) if length < below else None
    if prefix is not None:
        return prefix, found.case, found.bounds
    if (fillers >= 0).all():
        return None
    goal = math.ceil(inverse(eps) ** 2)
    length = (last - tau) % n.shape[1] + n.shape[1] * goal
    if goal >= n.sum(0).min() or length >= below:
        return None
    m, spare = balanced(n, Af, Ag, eps, layout.slots(length, n.shape[1]))
    m[fillers, np.arange(n.shape[1])] += spare
    prefix = layout.lay_out(m, length, fillers)
    return None if prefix is None else (prefix, "balanced", {})
