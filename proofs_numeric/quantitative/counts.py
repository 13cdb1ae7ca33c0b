"""Appendix A.2: the numbers of tokens in the string of Theorem 4.1, eqs. (5) to (29)."""

import functools
import itertools
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import alternative, exhaustive, rate
from theorykit.subjects.simulation import counted


def instances():
    """Return (n, what attends, 1 / eps): counts of three tokens, 1 for f, 2 for g, 3 for both.

    With |P_f| <= |P_g| and |P_g| > 1/eps, as the proof assumes.
    """
    kinds = [
        k for k in itertools.product((1, 2, 3), repeat=3) if {1, 3} & set(k) and {2, 3} & set(k)
    ]
    found = []
    for n in itertools.product((1, 2, 5, 13, 40), repeat=3):
        for k in kinds:
            Pf, Pg = mass(n, k, 1, 3), mass(n, k, 2, 3)
            found += [(n, k, E) for E in (3, 7) if Pf <= Pg and Pg > E]
    return found


def mass(n, kinds, *which):
    """Return how many tokens are of these kinds."""
    return sum(v for v, a in zip(n, kinds, strict=True) if a in which)


@functools.lru_cache(4096)
def laid(m):
    """Return the numbers of tokens that the library takes, and both sides of the equations."""
    n, kinds, E = np.array(m[0]), np.array(m[1]), m[2]
    return counted(n, kinds & 1 > 0, kinds & 2 > 0, 1 / E)


def with_one_scale(m):
    """Whether an instance is in the last case, |P_f and P_g| > eps |P_g| and |P_f| > 1/eps."""
    n, k, E = m
    return mass(n, k, 3) * E > mass(n, k, 2, 3) and mass(n, k, 1, 3) > E


def one_scale():
    """Return the instances of the last case."""
    return [m for m in instances() if with_one_scale(m)]


def equation_check(*names, at=(3, 7), less=0.5):
    """Return the check that equations hold in every instance where they occur.

    Control: that many times the right side.
    """

    def predicate(scale):
        def within(m):
            sides = [laid(m).bounds[name] for name in names if name in laid(m).bounds]
            return all(left <= scale * right + 1e-9 for left, right in sides)

        return within

    return exhaustive(
        predicate=predicate(1.0),
        universe=[m for m in instances() if m[2] in at and {*names} & {*laid(m).bounds}],
        control=dict(predicate=predicate(less)),
    )


@claim(
    "quantitative.thm4.1.eqs5-8",
    ref="App. A.2, eqs. (5) to (8)",
    statement=r"|m_s - \lceil 1/\varepsilon \rceil n_s / |P_f|| \le 1,\ \ldots,\ "
    r"|m_s / \sum m - n_s / |P_f|| \le \varepsilon",
)
def equations_five():
    """They hold; the sum in (7) is exact, so (8) holds with the constant 1.

    All counts of three tokens from 1, 2, 5, 13, 40, all ways to attend, eps = 1/3 and 1/7. Control:
    half of each right side.
    """
    return equation_check("5 each", "5 sum", "6 each", "6 sum", "7", "8")


@claim(
    "quantitative.thm4.1.eq5",
    ref="App. A.2, eq. (5)",
    statement=r"0 \le \tfrac{\lceil 1/\varepsilon \rceil}{|P_f|} |P_f \cap P_g| - "
    r"\sum_{s \in A_f \cap A_g} m_s < 1",
)
def equation_five():
    """Both ends of (5), which (24) uses: there are never too many tokens of both.

    In fractions. Control: there are too few, by at least a half.
    """

    def missing(m):
        n, kinds, E = m
        shared = sum(v for v, a in zip(laid(m).m.tolist(), kinds, strict=True) if a == 3)
        return Fraction(E * mass(n, kinds, 3), mass(n, kinds, 1, 3)) - shared

    return exhaustive(
        predicate=lambda m: 0 <= missing(m) < 1,
        universe=[m for m in instances() if mass(m[0], m[1], 1, 3) > m[2]],
        control=dict(predicate=lambda m: 1 <= 2 * missing(m) < 2),
    )


@claim(
    "quantitative.thm4.1.eq7",
    ref="App. A.2, eq. (7)",
    statement=r"\sum_{s \in A_f} m_s = \lceil 1/\varepsilon \rceil, \text{ where (7) has } "
    r"|\ldots| \le 2",
)
def equation_seven():
    """With the proof's R and R' nothing is left over. Control: one is."""

    def over(m):
        _, kinds, E = m
        return sum(v for v, a in zip(laid(m).m.tolist(), kinds, strict=True) if a & 1) - E

    return exhaustive(
        predicate=lambda m: over(m) == 0,
        universe=[m for m in instances() if mass(m[0], m[1], 1, 3) > m[2]],
        control=dict(predicate=lambda m: over(m) == 1),
    )


@claim(
    "quantitative.thm4.1.eqs15-17",
    ref="App. A.2, eqs. (15) to (17)",
    statement=r"\sum_{A_g \setminus A_f} m_s \ge \lceil 1/\varepsilon^2 \rceil (1 - 2 \varepsilon),"
    r"\ \sum_s |m_s / \sum m - n_s / |P_g|| \le 4 \varepsilon + 2 |\Sigma| \varepsilon^2",
    assumptions=[r"\varepsilon \le 1 / |\Sigma|, \varepsilon \le 1/4"],
)
def equations_fifteen():
    """These equations hold where |P_f and P_g| <= eps |P_g|.

    Control: a third of each right side.
    """
    return equation_check("15", "15 ratios", "17 shared", at=(7,), less=1 / 3)


@claim(
    "quantitative.thm4.1.eqs18-29",
    ref="App. A.2, eqs. (18), (22), (26)",
    statement=r"|m_s - \tfrac{m_{s^*}}{n_{s^*}} n_s| \le 1,\ \sum_{A_g \setminus A_f} m_s \le "
    r"\lceil 1/\varepsilon \rceil / \varepsilon + |\Sigma|^2 / \varepsilon + 1,\ "
    r"|\tfrac{m_{s^*}}{n_{s^*}} |P_g| - \sum_{A_g} m_s| \le 2 + |\Sigma|",
)
def equations_eighteen():
    """These equations hold where both have the same scale. Control: half of each right side."""
    return equation_check("18 each", "18 sum", "22", "26")


@claim(
    "quantitative.thm4.1.eq27",
    ref="App. A.2, eq. (27)",
    statement=r"\frac{m_s}{\sum_{A_g} m} \ge \frac{\frac{m_{s^*}}{n_{s^*}} n_s - 1}"
    r"{\frac{m_{s^*}}{n_{s^*}} \sum_{A_g} n + 2 + |\Sigma|}",
)
def equation_twentyseven():
    """It holds, although for tokens of both (5) gives - 2 where (27) has - 1.

    The slack in the denominator covers that. Control: half of the left side.
    """
    return equation_check("27")


@claim(
    "quantitative.thm4.1.eq29",
    ref="App. A.2, eq. (29)",
    statement=r"\left| \frac{m_s}{\sum m} - \frac{n_s}{\sum n} \right| \le 2 (4 + |\Sigma|) "
    r"\varepsilon,\quad \sum_{A_g} \left| \frac{m_s}{\sum m} - \frac{n_s}{\sum n} \right| \le "
    r"10 |\Sigma| \varepsilon",
)
def equation_twentynine():
    """The paper prints O(|Sigma|^2 eps) for each token, and |Sigma|^3 for the sum; this is sharper.

    Since |P_g| >= |P_f|, sum m >= 1/eps - 2 |Sigma| - 2, without the factor 1/|Sigma| of m_{s*}.
    Theorem 4.1 then has |Sigma|^2 Delta^3 instead of |Sigma|^6 Delta^7. Control: a twentieth of it.
    """
    return equation_check("29", "29 sum", less=0.05)


@claim(
    "quantitative.thm4.1.largest",
    ref="App. A.2, below eq. (29)",
    statement=r"n_{s^*} \ge |P_f| / |\Sigma| \Rightarrow m_{s^*} = \Omega(|\Sigma| / \varepsilon)",
    expect="refuted",
    falls="wording",
    consequence="It is Omega(1 / (|Sigma| eps)), which is what eq. (29) then uses.",
)
def largest():
    """With equal counts m_{s*} is 1/(|Sigma| eps): it falls with |Sigma| instead of rising.

    eps = 1/1024, f = g, |Sigma| tokens 5,000 times each. Control: it rises with the square.
    """
    return rate(measure=largest_count, at=(2, 4, 8, 16), at_least=1.0, control=dict(at_least=2.0))


@claim(
    "quantitative.thm4.1.largest.repaired",
    ref="App. A.2, below eq. (29)",
    statement=r"m_{s^*} = \Omega(1 / (|\Sigma| \varepsilon)), \text{ and no more}",
)
def largest_repaired():
    """The largest count has exponent -1 in |Sigma|.

    Control: what m_{s*} independent of |Sigma| would give.
    """
    return rate(measure=largest_count, at=(2, 4, 8, 16), exponent=-1.0, control=alternative(0.0))


def largest_count(symbols):
    """Return m_{s*} for equal counts of so many tokens, all attended to by both."""
    every = np.ones(int(symbols), bool)
    return int(counted(np.full(int(symbols), 5000), every, every, 1 / 1024).m.max())


# Steps from one line to the next ------------------------------------------------------------------


def scale(m):
    """Return |P_f|, n_{s*}, m_{s*} and |P_g minus P_f|, |P_g and P_f| of an instance."""
    n, kinds, _ = m
    top = max((v, -i) for i, (v, a) in enumerate(zip(n, kinds, strict=True)) if a & 1)
    raised = int(laid(m).m[-top[1]])
    return mass(n, kinds, 1, 3), top[0], raised, mass(n, kinds, 2), mass(n, kinds, 3)


def twenty(m, shared):
    """Return (20), with C n_{s*} over |P_f| or, as printed, not over it; C = ceil(1 / eps)."""
    Pf, top, _, outside, _ = scale(m)
    return Fraction(m[2] * top, Pf if shared else 1) * Fraction(outside, top) + Fraction(
        outside, top
    ) + 1  # fmt: skip


def twentyone(m, term):
    """Return (21) with a term over n_{s*}."""
    Pf, top, _, outside, _ = scale(m)
    return Fraction(m[2] * outside, Pf) + Fraction(term(m), top) + 1


outside = lambda m: mass(m[0], m[1], 2)
alphabet = lambda m: len(m[0])


@claim(
    "quantitative.thm4.1.eq20",
    ref="App. A.2, eqs. (20) to (21)",
    statement=r"\sum_{A_g \setminus A_f} \frac{\lceil 1/\varepsilon \rceil n_{s^*} + 1}{n_{s^*}} "
    r"n_s + 1 \le \frac{\lceil 1/\varepsilon \rceil}{|P_f|} |P_g \setminus P_f| + "
    r"\frac{|\Sigma|}{n_{s^*}} + 1",
    expect="refuted",
    falls="wording",
    consequence="|P_f| is missing below ceil(1/eps) n_{s*}; eq. (22) is still right.",
)
def equation_twenty():
    """As printed (20) is of the order of |P_g|/eps, and (21) of |P_g| / (|P_f| eps).

    In integers and fractions. Control: twice the left side.
    """
    return exhaustive(
        predicate=lambda m: twenty(m, False) <= twentyone(m, alphabet),
        universe=one_scale(),
        control=dict(predicate=lambda m: 2 * twenty(m, False) <= twentyone(m, alphabet)),
    )


@claim(
    "quantitative.thm4.1.eq20.repaired",
    ref="App. A.2, eqs. (19) to (20)",
    statement=r"\sum_{A_g \setminus A_f} \frac{m_{s^*}}{n_{s^*}} n_s + 1 \le "
    r"\sum_{A_g \setminus A_f} \frac{\frac{\lceil 1/\varepsilon \rceil}{|P_f|} n_{s^*} + 1}"
    r"{n_{s^*}} n_s + 1",
)
def equation_twenty_repaired():
    """With |P_f| in the denominator, (20) follows from (5).

    Control: without the 1 from rounding.
    """

    def within(one):
        def predicate(m):
            _, top, raised, rest, _ = scale(m)
            return Fraction(raised * rest, top) + 1 <= twenty(m, True) - Fraction(one * rest, top)

        return predicate

    return exhaustive(predicate=within(0), universe=one_scale(), control=dict(predicate=within(1)))


@claim(
    "quantitative.thm4.1.eq21",
    ref="App. A.2, eqs. (20) to (21)",
    statement=r"\sum_{A_g \setminus A_f} "
    r"\frac{\frac{\lceil 1/\varepsilon \rceil}{|P_f|} n_{s^*} + 1}{n_{s^*}} n_s + 1 \le "
    r"\frac{\lceil 1/\varepsilon \rceil}{|P_f|} |P_g \setminus P_f| + "
    r"\frac{|\Sigma|}{n_{s^*}} + 1",
    assumptions=[r"(20) \text{ with the } |P_f| \text{ that is missing in print}"],
    expect="refuted",
    falls="proof",
    consequence="|Sigma| stands where |P_g minus P_f| should; eq. (22) is still right.",
)
def equation_twentyone():
    """The sum of n_s / n_{s*} is |P_g minus P_f| / n_{s*}. Control: without the term."""
    return exhaustive(
        predicate=lambda m: twenty(m, True) <= twentyone(m, alphabet),
        universe=one_scale(),
        control=dict(predicate=lambda m: twenty(m, True) <= twentyone(m, lambda m: 0)),
    )


@claim(
    "quantitative.thm4.1.eq21.repaired",
    ref="App. A.2, eqs. (19) to (21)",
    statement=r"\sum_{A_g \setminus A_f} m_s \le \ldots \le "
    r"\frac{\lceil 1/\varepsilon \rceil}{|P_f|} |P_g \setminus P_f| + "
    r"\frac{|P_g \setminus P_f|}{n_{s^*}} + 1",
)
def equation_twentyone_repaired():
    """With |P_g minus P_f| the tokens of g alone are no more. Control: with |Sigma|."""

    def within(term):
        def predicate(m):
            alone = sum(v for v, a in zip(laid(m).m.tolist(), m[1], strict=True) if a == 2)
            return max(Fraction(alone), twenty(m, True)) <= twentyone(m, term)

        return predicate

    return exhaustive(
        predicate=within(outside), universe=one_scale(), control=dict(predicate=within(alphabet))
    )


def lag(m):
    """Return both factors of (24), and how far the tokens of both fall short of one scale."""
    _, kinds, E = m
    Pf, top, raised, _, both = scale(m)
    shared = sum(v for v, a in zip(laid(m).m.tolist(), kinds, strict=True) if a == 3)
    apart = Fraction(raised, top) - Fraction(E, Pf)
    return apart, both, abs(Fraction(raised * both, top) - shared)


def twentyfour(absolute, one):
    """Return whether (24) holds."""

    def predicate(m):
        apart, both, left = lag(m)
        return left <= (abs(apart) if absolute else apart) * both + one

    return predicate


@claim(
    "quantitative.thm4.1.eq24",
    ref="App. A.2, eq. (24)",
    statement=r"\left| \sum_{A_g \cap A_f} \tfrac{m_{s^*}}{n_{s^*}} n_s - \sum m_s \right| \le "
    r"\tfrac{m_{s^*}}{n_{s^*}} |P_g \cap P_f| - \tfrac{\lceil 1/\varepsilon \rceil}{|P_f|} "
    r"|P_g \cap P_f| + 1",
    expect="refuted",
    falls="proof",
    consequence="An absolute value was dropped; eq. (26), for which it is used, is right.",
)
def equation_twentyfour():
    """m_{s*} may be rounded down, and the right side is then too small, even negative.

    In fractions. Control: without + 1.
    """
    return exhaustive(
        predicate=twentyfour(False, 1),
        universe=one_scale(),
        control=dict(predicate=twentyfour(False, 0)),
    )


@claim(
    "quantitative.thm4.1.eq24.repaired",
    ref="App. A.2, eq. (24)",
    statement=r"\ldots \le \left| \tfrac{m_{s^*}}{n_{s^*}} - "
    r"\tfrac{\lceil 1/\varepsilon \rceil}{|P_f|} \right| |P_g \cap P_f| + 1",
)
def equation_twentyfour_repaired():
    """With the absolute value, (24) holds. Control: with 1/4 in place of 1."""
    return exhaustive(
        predicate=twentyfour(True, 1),
        universe=one_scale(),
        control=dict(predicate=twentyfour(True, Fraction(1, 4))),
    )


def twentyfive(shared, part=1):
    """Return whether (25) is at most the next line, with |P_f| or, as printed, without."""

    def predicate(m):
        Pf, top, _, _, both = scale(m)
        scaled = Fraction(m[2] * top, Pf if shared else 1)
        left = (Fraction(scaled + 1, top) - Fraction(m[2], Pf)) * both
        return left <= Fraction(part * both, top)

    return predicate


@claim(
    "quantitative.thm4.1.eq25",
    ref="App. A.2, eq. (25)",
    statement=r"2 + \left( \frac{\lceil 1/\varepsilon \rceil n_{s^*} + 1}{n_{s^*}} - "
    r"\frac{\lceil 1/\varepsilon \rceil}{|P_f|} \right) |P_g \cap P_f| \le "
    r"2 + \frac{|P_g \cap P_f|}{n_{s^*}}",
    expect="refuted",
    falls="wording",
    consequence="As in (20), |P_f| is missing below ceil(1/eps) n_{s*}; (26) is right.",
)
def equation_twentyfive():
    """The two terms in ceil(1/eps) should cancel. In fractions. Control: half of the right side."""
    return exhaustive(
        predicate=twentyfive(False),
        universe=one_scale(),
        control=dict(predicate=twentyfive(False, Fraction(1, 2))),
    )


@claim(
    "quantitative.thm4.1.eq25.repaired",
    ref="App. A.2, eqs. (24) to (26)",
    statement=r"\left| \tfrac{m_{s^*}}{n_{s^*}} - \tfrac{\lceil 1/\varepsilon \rceil}{|P_f|} "
    r"\right| |P_g \cap P_f| + 2 \le 2 + \frac{|P_g \cap P_f|}{n_{s^*}}",
)
def equation_twentyfive_repaired():
    """With |P_f| in the denominator and the absolute value of (24), (25) holds.

    Control: with half of the last term.
    """

    def within(part):
        def predicate(m):
            apart, both, _ = lag(m)
            return abs(apart) * both <= Fraction(part * both, scale(m)[1])

        return predicate

    return exhaustive(
        predicate=within(1), universe=one_scale(), control=dict(predicate=within(Fraction(1, 2)))
    )


@claim(
    "quantitative.thm4.1.crude",
    ref="App. A.2, above eq. for N",
    statement=r"|\Sigma|^3 + \tau \le |\Sigma|^3 \tau",
    expect="refuted",
    falls="wording",
    consequence="It needs tau >= 2 and two tokens; with a factor 2 it holds from tau = 1 on, which "
    "the O in Theorem 4.1 allows.",
    mathematics=True,
)
def crude():
    """It fails at tau = 0 and 1. Members are (|Sigma|, tau). Control: without |Sigma|^3 right."""
    return exhaustive(
        predicate=lambda m: m[0] * m[0] * m[0] + m[1] <= m[0] * m[0] * m[0] * m[1],
        universe=[(S, tau) for S in range(1, 30) for tau in range(30)],
        control=dict(predicate=lambda m: m[0] * m[0] * m[0] + m[1] <= m[1]),
    )


@claim(
    "quantitative.thm4.1.crude.repaired",
    ref="App. A.2, above eq. for N",
    statement=r"\tau \ge 1 \Rightarrow |\Sigma|^3 + \tau \le 2 |\Sigma|^3 \tau",
    mathematics=True,
)
def crude_repaired():
    """With a factor of 2 the inequality holds from tau = 1 on. Control: a factor of 1."""
    within = lambda c: lambda m: m[0] * m[0] * m[0] + m[1] <= c * m[0] * m[0] * m[0] * m[1]
    return exhaustive(
        predicate=within(2),
        universe=[(S, tau) for S in range(1, 30) for tau in range(1, 30)],
        control=dict(predicate=within(1)),
    )
