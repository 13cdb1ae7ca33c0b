"""Appendix A.2: the numbers of tokens in the string of Theorem 4.1, eqs. (5) to (29)."""

import itertools
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive
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
            Pf = sum(v for v, a in zip(n, k, strict=True) if a & 1)
            Pg = sum(v for v, a in zip(n, k, strict=True) if a & 2)
            found += [(n, k, E) for E in (3, 7) if Pf <= Pg and Pg > E]
    return found


def with_one_scale(m):
    """Whether an instance is in the last case, |P_f and P_g| > eps |P_g| and |P_f| > 1/eps."""
    n, k, E = m
    Pf, Pg, both = (sum(v for v, a in zip(n, k, strict=True) if a & w == w) for w in (1, 2, 3))
    return both * E > Pg and Pf > E


def prefix_counts(n, kinds, C):
    """Return m_s for f, eqs. (5) and (6), in integers: floors, then the first R and R' raised."""
    Pf = sum(v for v, a in zip(n, kinds, strict=True) if a & 1)
    m = [C * v // Pf if a & 1 else 0 for v, a in zip(n, kinds, strict=True)]
    for kind in (3, 1):
        places = [i for i, a in enumerate(kinds) if a == kind]
        mass = sum(n[i] for i, a in enumerate(kinds) if a & 1 and (kind == 1 or a == 3))
        R = C * mass // Pf - sum(
            m[i] for i, a in enumerate(kinds) if a & 1 and (kind == 1 or a == 3)
        )
        for i in places[:R]:
            m[i] += 1
    return m, Pf


def equation_check(*names, cases=instances, less=0.1):
    """Return the check that equations hold in every instance where they occur.

    Control: that many times the right side.
    """

    def predicate(scale):
        def within(m):
            n, kinds, E = m
            kinds = np.array(kinds)
            bounds = counted(np.array(n), kinds & 1 > 0, kinds & 2 > 0, 1 / E).bounds
            sides = [bounds[name] for name in names if name in bounds]
            return all(left <= scale * right + 1e-9 for left, right in sides)

        return within

    return exhaustive(
        predicate=predicate(1.0), universe=cases(), control=dict(predicate=predicate(less))
    )


@claim(
    "quantitative.thm4.1.eqs5-8",
    ref="App. A.2, eqs. (5) to (8)",
    statement=r"|m_s - \lceil 1/\varepsilon \rceil n_s / |P_f|| \le 1,\ \ldots,\ "
    r"|m_s / \sum m - n_s / |P_f|| \le \varepsilon",
)
def equations_five():
    """They hold; the sum in (7) is exact, so that (8) has the constant 1.

    All counts of three tokens from 1, 2, 5, 13, 40, all ways to attend, eps = 1/3 and 1/7.
    Control: a tenth of each right side.
    """
    return equation_check("5 each", "5 sum", "6 each", "6 sum", "7", "8")


@claim(
    "quantitative.thm4.1.eqs15-17",
    ref="App. A.2, eqs. (15) to (17)",
    statement=r"\sum_{A_g \setminus A_f} m_s \ge \lceil 1/\varepsilon^2 \rceil (1 - 2 \varepsilon),"
    r"\ \sum_s |m_s / \sum m - n_s / |P_g|| \le 4 \varepsilon + 2 |\Sigma| \varepsilon^2",
    assumptions=[r"\varepsilon \le 1 / |\Sigma|, \varepsilon \le 1/4"],
)
def equations_fifteen():
    """They hold where |P_f and P_g| <= eps |P_g|. Control: a tenth of each right side."""
    few = lambda: [m for m in instances() if m[2] == 7]
    return equation_check("15", "15 ratios", "17 shared", cases=few)


@claim(
    "quantitative.thm4.1.eqs18-29",
    ref="App. A.2, eqs. (18), (22), (26)",
    statement=r"|m_s - \tfrac{m_{s^*}}{n_{s^*}} n_s| \le 1,\ \sum_{A_g \setminus A_f} m_s \le "
    r"\lceil 1/\varepsilon \rceil / \varepsilon + |\Sigma|^2 / \varepsilon + 1,\ "
    r"|\tfrac{m_{s^*}}{n_{s^*}} |P_g| - \sum_{A_g} m_s| \le 2 + |\Sigma|",
)
def equations_eighteen():
    """They hold where both have one scale. Control: a tenth of each right side."""
    return equation_check("18 each", "18 sum", "22", "26")


@claim(
    "quantitative.thm4.1.eq27",
    ref="App. A.2, eq. (27)",
    statement=r"\frac{m_s}{\sum_{A_g} m} \ge \frac{\frac{m_{s^*}}{n_{s^*}} n_s - 1}"
    r"{\frac{m_{s^*}}{n_{s^*}} \sum_{A_g} n + 2 + |\Sigma|}",
)
def equation_twentyseven():
    """It holds, although for tokens of both (5) gives - 2 where (27) has - 1.

    The slack in the denominator covers that. Control: a tenth of the right side's ratio.
    """
    return equation_check("27")


@claim(
    "quantitative.thm4.1.eq29",
    ref="App. A.2, eq. (29)",
    statement=r"\sum_{A_g} \left| \frac{m_s}{\sum m} - \frac{n_s}{\sum n} \right| \le "
    r"10 |\Sigma| \varepsilon",
)
def equation_twentynine():
    """The proof sums |Sigma| terms O(|Sigma|^2 eps) to |Sigma|^3; the sum is O(|Sigma| eps).

    Since |P_g| >= |P_f|, sum m >= 1/eps - 2 |Sigma| - 2, without the factor 1/|Sigma| of m_{s*}.
    Theorem 4.1 then has |Sigma|^2 Delta^3 for |Sigma|^6 Delta^7. Control: 1/50 of it.
    """
    return equation_check("29", "29 sum", less=0.02)


@claim(
    "quantitative.thm4.1.eq21",
    ref="App. A.2, eqs. (20) to (21)",
    statement=r"\sum_{A_g \setminus A_f} "
    r"\frac{\frac{\lceil 1/\varepsilon \rceil}{|P_f|} n_{s^*} + 1}{n_{s^*}} n_s + 1 \le "
    r"\frac{\lceil 1/\varepsilon \rceil}{|P_f|} |P_g \setminus P_f| + "
    r"\frac{|\Sigma|}{n_{s^*}} + 1",
    expect="refuted",
)
def equation_twentyone():
    """|Sigma| stands where |P_g minus P_f| should: the step is wrong, (22) is right all the same.

    Integers and fractions. Control: without the term.
    """
    return exhaustive(
        predicate=step(lambda n, outside: len(n)),
        universe=instances(),
        control=dict(predicate=step(lambda n, outside: 0)),
    )


@claim(
    "quantitative.thm4.1.eq21.repaired",
    ref="App. A.2, eqs. (20) to (21)",
    statement=r"\ldots \le \frac{\lceil 1/\varepsilon \rceil}{|P_f|} |P_g \setminus P_f| + "
    r"\frac{|P_g \setminus P_f|}{n_{s^*}} + 1",
)
def equation_twentyone_repaired():
    """With |P_g minus P_f| it holds. Control: with |Sigma|."""
    return exhaustive(
        predicate=step(lambda n, outside: outside),
        universe=instances(),
        control=dict(predicate=step(lambda n, outside: len(n))),
    )


def step(term):
    """Return whether (20) is at most (21) with a term over n_{s*}."""

    def predicate(m):
        n, kinds, E = m
        if not with_one_scale(m):
            return True
        Pf = sum(v for v, a in zip(n, kinds, strict=True) if a & 1)
        outside = sum(v for v, a in zip(n, kinds, strict=True) if a == 2)
        top = max(v for v, a in zip(n, kinds, strict=True) if a & 1)
        left = Fraction(E * top + Pf, Pf * top) * outside
        return left <= Fraction(E * outside, Pf) + Fraction(term(n, outside), top)

    return predicate


@claim(
    "quantitative.thm4.1.eq24",
    ref="App. A.2, eq. (24)",
    statement=r"\left| \sum_{A_g \cap A_f} \tfrac{m_{s^*}}{n_{s^*}} n_s - \sum m_s \right| \le "
    r"\tfrac{m_{s^*}}{n_{s^*}} |P_g \cap P_f| - \tfrac{\lceil 1/\varepsilon \rceil}{|P_f|} "
    r"|P_g \cap P_f| + 1",
    expect="refuted",
)
def equation_twentyfour():
    """m_{s*} may be rounded down, and the right side is then too small, even negative.

    The absolute value was dropped; (26) is right. Fractions. Control: without + 1.
    """
    return exhaustive(
        predicate=lag(False, 1), universe=instances(), control=dict(predicate=lag(False, 0))
    )


@claim(
    "quantitative.thm4.1.eq24.repaired",
    ref="App. A.2, eq. (24)",
    statement=r"\ldots \le \left| \tfrac{m_{s^*}}{n_{s^*}} - "
    r"\tfrac{\lceil 1/\varepsilon \rceil}{|P_f|} \right| |P_g \cap P_f| + 1",
)
def equation_twentyfour_repaired():
    """With the absolute value it holds. Control: without + 1."""
    return exhaustive(
        predicate=lag(True, 1), universe=instances(), control=dict(predicate=lag(True, 0))
    )


def lag(absolute, one):
    """Return whether (24) holds."""

    def predicate(m):
        n, kinds, E = m
        if not with_one_scale(m):
            return True
        found, Pf = prefix_counts(n, kinds, E)
        top = max(range(3), key=lambda i: n[i] if kinds[i] & 1 else 0)
        scale, both = Fraction(found[top], n[top]), [i for i in range(3) if kinds[i] == 3]
        mass = sum(n[i] for i in both)
        left = abs(scale * mass - sum(found[i] for i in both))
        apart = scale - Fraction(E, Pf)
        return left <= (abs(apart) if absolute else apart) * mass + one

    return predicate
