"""Appendix A, eq. (2): the average in numbers of tokens, and the length from which it holds."""

import itertools
import math

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.proofs_numeric.quantitative._strings import away, state, uniform
from theorykit.subjects import limit, simulation

UNSURE = range(12)
"""Seeds of transformers."""


def at_length(long):
    """Return the distance of the output from that of hard attention, on a string of this length."""

    def build(seed):
        f = simulation.random_one_layer(np.random.default_rng(seed), "abc", seed % 3, 1 + seed % 2)
        return away(f, seed, max(int(long(f)), (f.locality or 0) + 2))

    return build


def printed_length(f):
    """Return 2^gamma, or 64 where gamma is large."""
    return math.ceil(min(2 ** simulation.logit_margin(f), 64))


@claim(
    "quantitative.A.length",
    ref="App. A, above eq. (2)",
    statement=r"|x| \ge 2^{\gamma(f)} \Rightarrow \text{eq. (2)}",
    expect="refuted",
    falls="wording",
    consequence="It is 2^(p / gamma(f)), as in section 3.2 and in the theorems.",
)
def length():
    """At that length the softmax is not hard; for smaller margins it would even be shorter.

    Random transformers with p = 1, strings of 2^gamma symbols or one more. Control: four symbols.
    """
    return construction(
        build=at_length(printed_length),
        has=lambda gap: gap < 1e-9,
        cases=UNSURE,
        control=dict(build=at_length(lambda f: 4)),
    )


@claim(
    "quantitative.A.length.repaired",
    ref="App. A, above eq. (2)",
    statement=r"|x| > 2^{(p + 1) / \gamma(f)} \Rightarrow \text{eq. (2)}",
)
def length_repaired():
    """From there on it is hard; p + 1, since rounding is to the nearest. Control: as printed."""
    return construction(
        build=at_length(simulation.hard_length),
        has=lambda gap: gap < 1e-9,
        cases=UNSURE,
        control=dict(build=at_length(printed_length)),
    )


@claim(
    "quantitative.A.eq2",
    ref="Definition A.1, eq. (2)",
    statement=r"\tilde f(x) = \frac{\sum_{A} n(s,i,x) V(E_s + p_i) + \sum_{A^\tau} V(E_s + p_i)}"
    r"{\sum_A n(s,i,x) + |A^\tau|},\ n \text{ counts positions } 1, \dots, |x| - \tau",
    expect="refuted",
    falls="wording",
    consequence="The suffix has tau + 1 tokens, since phi(i - tau, i) may be nonzero; with tau + 1 "
    "for tau the bounds of appendix A stand.",
)
def equation_two():
    """phi(j, i) may be nonzero at i = j + tau, but position |x| - tau is counted in the prefix.

    Whether it is attended to then depends on more than (token, position mod Delta). Two symbols,
    uniform logits, phi(tau) = -1: that position is not attended to, and eq. (2) counts it. Members
    are (tau, string). Control: n counts one position more.
    """
    return exhaustive(
        predicate=lambda m: shares_agree(m, 0),
        universe=suffixes(),
        control=dict(predicate=lambda m: shares_agree(m, -1)),
    )


@claim(
    "quantitative.A.eq2.repaired",
    ref="Definition A.1, eq. (2)",
    statement=r"\text{eq. (2) with } n \text{ counting positions } 1, \dots, |x| - \tau - 1",
)
def equation_two_repaired():
    """With a suffix of tau + 1 tokens, eq. (2) holds. Control: with one of tau tokens."""
    return exhaustive(
        predicate=lambda m: shares_agree(m, 1),
        universe=suffixes(),
        control=dict(predicate=lambda m: shares_agree(m, 0)),
    )


def suffixes():
    """Return (tau, string)."""
    return [
        (tau, "".join(x)) for tau in (1, 2) for n in range(tau + 2, 7)
        for x in itertools.product("ab", repeat=n)
    ]  # fmt: skip


def shares_agree(member, more):
    """Whether eq. (2) with a suffix of tau + more tokens is what the library attends to."""
    tau, x = member
    T = len(x)
    f = uniform("ab", 2, np.eye(2), phi=limit.Local((*[0.0] * tau, -1.0)))
    attended = [j for j in range(1, T + 1) if T - j != tau]
    prefix = range(1, T - (tau + more) + 1)
    # A holds the symbols that occur in the prefix where phi is 0.
    A = {x[j - 1] for j in prefix if j in attended}
    counted = [j for j in prefix if x[j - 1] in A] + [j for j in attended if j not in prefix]
    mean = [sum(x[j - 1] == s for j in counted) / len(counted) for s in "ab"]
    return bool(np.abs(state(f, x) - mean).max() < 1e-9)
