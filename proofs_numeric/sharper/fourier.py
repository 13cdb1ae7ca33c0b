"""Eq. (1): the expansion in even-parity indicators, its degree and sparsity."""

import itertools
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive
from theorykit.subjects import boolean


def even(S, x):
    """Return chi_S(x): 1 if the input has an even number of ones in S, both as bit masks."""
    return 1 - (S & x).bit_count() % 2


def rank(rows):
    """Return the rank of an integer matrix, by elimination without fractions."""
    rows, found = [list(r) for r in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        top = rows[found]
        for i in range(found + 1, len(rows)):
            a = rows[i][column]
            rows[i] = [top[column] * u - a * v for u, v in zip(rows[i], top, strict=True)]
        found += 1
    return found


def spans(indicator):
    """Return whether the 2^T indicators of T bits are a basis."""
    table = lambda T: [[indicator(S, x) for x in range(1 << T)] for S in range(1 << T)]
    return lambda T: rank(table(T)) == (1 << T)


@claim(
    "sharper.fourier",
    ref="Eq. (1)",
    statement=r"f = \sum_S c_S \chi_S \text{ for unique } c_S, \quad \chi_S(x) = "
    r"[\textstyle\sum_{j \in S} x_j \text{ even}]",
    mathematics=True,
)
def expansion():
    """The 2^T even-parity indicators are linearly independent, so every f has one expansion.

    chi of the empty set is the constant. Exact, T = 1 ... 4. Control: odd-parity indicators, of
    which the empty set's is zero.
    """
    return exhaustive(
        predicate=spans(even),
        universe=range(1, 5),
        control=dict(predicate=spans(lambda S, x: 1 - even(S, x))),
    )


@claim(
    "sharper.fourier.transform",
    ref="Eq. (1), Appendix H",
    statement=r"c_S = 2^{1 - T} \sum_x (-1)^{|x \cap S|} f(x) \ (S \ne \emptyset), \quad "
    r"f = \sum_S c_S \chi_S",
)
def transform():
    """The expansion that `boolean.expansion` finds by the fast transform reproduces its table.

    All 256 tables of 3 bits with values 0 and 1. Control: the coefficients of the signs, halves of
    these.
    """

    def predicate(table, scale=1.0):
        found = boolean.expansion(np.array(table, float))
        halved = boolean.Parities(3, found.sets, tuple(scale * c for c in found.coefficients))
        return np.allclose(halved.table(), table, atol=1e-12)

    return exhaustive(
        predicate=predicate,
        universe=list(itertools.product((0, 1), repeat=8)),
        telling=lambda table: len(set(table)) > 1,
        control=dict(predicate=lambda table: predicate(table, 0.5)),
    )


def moments(member, constant=0):
    """Return mean and variance of constant + sum_i c_i chi_i over all inputs, exactly."""
    T, sets, coefficients = member
    pairs = list(zip(sets, coefficients, strict=True))
    values = [constant + sum(c * even(S, x) for S, c in pairs) for x in range(1 << T)]
    mean = Fraction(sum(values), 1 << T)
    return mean, Fraction(sum(v * v for v in values), 1 << T) - mean * mean


def functions():
    """Return all sums of one or two parities of 3 bits, of one degree, coefficients 1 and 2."""
    found = []
    for s in (1, 2):
        for sets in itertools.combinations(range(1, 8), s):
            if len({S.bit_count() for S in sets}) == 1:
                found += [(3, sets, c) for c in itertools.product((1, 2), repeat=s)]
    return found


@claim(
    "sharper.fourier.centred",
    ref="Sec. 2.1",
    statement=r"c_i > 0 \text{ can be normalised so that } \mathbb{E} f = 0,\ \mathrm{Var} f = 1",
    expect="refuted",
    falls="wording",
    consequence="The signs 2 chi - 1 can be centred, or f without its mean; degree and sparsity "
    "are the same.",
    mathematics=True,
)
def centred():
    """A sum of even-parity indicators with positive coefficients has mean C / 2, never 0.

    The signs 2 chi - 1 are centred. Control: the mean is C.
    """
    return exhaustive(
        predicate=lambda m: moments(m)[0] == 0,
        universe=functions(),
        control=dict(predicate=lambda m: moments(m)[0] == sum(m[2])),
    )


@claim(
    "sharper.fourier.centred.repaired",
    ref="Sec. 2.1",
    statement=r"\mathbb{E} f = C / 2, \quad \mathrm{Var} f = \tfrac14 \sum_i c_i^2",
    repairs="sharper.fourier.centred",
    mathematics=True,
)
def centred_repaired():
    """A quarter, so that variance 1 is a norm 2 of the coefficients, not the 1 of appendix K.

    Control: the variance is the sum of squares.
    """
    holds = lambda k: (
        lambda m: (
            moments(m)
            == (
                Fraction(sum(m[2]), 2),
                Fraction(sum(c * c for c in m[2]), k),
            )
        )
    )
    return exhaustive(predicate=holds(4), universe=functions(), control=dict(predicate=holds(1)))
