"""Section 4.1 and appendix D.2: the induction head, and the functions F_alpha."""

import itertools
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, rate
from theorykit.subjects import limit

# Section 4.1: the induction head -----------------------------------------------------------------


def induction_head(phi, thresholds=False):
    """Return the two-layer construction of section 4.1 over a, b, c, with this phi(j, j + 1).

    Logits of the second layer are 2 where the symbol before is the current one. With
    `thresholds`, an MLP after the first layer asks which symbol has half of its attention.
    """
    d, k = 15, 3  # a symbol, the symbol before, the output, what passed: three each, and $
    E = np.zeros((4, d))
    E[1:, :k] = np.eye(k)
    block = lambda to, of: sum(np.outer(np.eye(d)[to + s], np.eye(d)[of + s]) for s in range(k))
    none = np.zeros((0, d))
    first = limit.Head(none, none, block(k, 0), limit.Local((0.0, phi)))
    K, Q = np.zeros((k, d)), np.zeros((k, d))
    copied = 3 * k if thresholds else k
    K[:, copied : copied + k], Q[:, :k] = np.eye(k), 2 * np.eye(k)
    second = limit.Head(K, Q, block(2 * k, 0))
    U = np.zeros((k, d))
    U[:, 2 * k : 3 * k] = np.eye(k)
    units = [({k + s: 1.0}, -0.5, True, {3 * k + s: 1.0}) for s in range(k)]
    layers = (
        limit.Layer((first,), *limit.mlp(d, units if thresholds else ())),
        limit.Layer((second,), *limit.mlp(d)),
    )
    return limit.Transformer(("$", "a", "b", "c"), E, np.zeros((1, d)), layers, U, precision=3)


def induction_error(phi, thresholds=False):
    """Return the measure: the largest error of the last prediction, over strings of a length.

    On average, two thirds of the bigrams after a come early and the others late.
    """
    t = induction_head(phi, thresholds)

    def error(n):
        n = int(n)
        strings = ["ab" + "c" * (n - 4) + "a"]
        strings += ["abab" + "c" * (n - 8) + "aca", "ac" * (n // 4) + "ab" * (n // 4 - 1) + "a"]
        worst = 0.0
        for string in strings:
            pairs = [b for a, b in itertools.pairwise(string) if a == "a"]
            right = np.array([pairs.count(c) / len(pairs) for c in "abc"])
            out = limit.exact(t, [string]).outputs.floats()[0, -1]
            worst = max(worst, float(np.abs(out - right).max()))
        return worst

    return error


SIZES = (64, 128, 256)


@claim(
    "limit.induction_head",
    ref="Sec. 4.1, eq. (10)",
    statement=r"\phi(i, j) = [i + 1 = j] \Rightarrow |T(x)_{i,\sigma} - f(x)_{i,\sigma}| = "
    r"O(1/n)",
    assumptions=[r"\text{the first layer is attention alone}"],
    expect="refuted",
    falls="reading",
    consequence="The paper prints neither the second layer's logits nor an MLP: with phi = 2, or "
    "with a threshold after the first layer, the error is O(1/n) as it says.",
)
def induction_printed():
    """With phi = 1 the error does not vanish: late positions see half of the symbol before.

    exp(log n) = n on one position competes with up to n - 1 others with weight 1 each, so bigrams
    do not count equally. Control: O(1/n^2).
    """
    return rate(measure=induction_error(1.0), at=SIZES, at_most=-0.9, control=dict(at_most=-1.9))


@claim(
    "limit.induction_head.repaired",
    ref="Sec. 4.1, eq. (10)",
    statement=r"\phi(i, j) = 2 [i + 1 = j] \Rightarrow |T(x)_{i,\sigma} - f(x)_{i,\sigma}| = "
    r"O(1/n)",
)
def induction_repaired():
    """With phi = 2 the error vanishes, at this rate. Control: with phi = 1."""
    return rate(
        measure=induction_error(2.0),
        at=SIZES,
        exponent=-1,
        control=dict(measure=induction_error(1.0)),
    )


@claim(
    "limit.induction_head.threshold",
    ref="Sec. 4.1, eq. (10)",
    statement=r"\phi(i, j) = [i + 1 = j],\ \text{an MLP in between} \Rightarrow "
    r"|T(x)_{i,\sigma} - f(x)_{i,\sigma}| = O(1/n)",
)
def induction_threshold():
    """The printed phi is enough if an MLP detects which symbol has half of the attention.

    Control: without the MLP.
    """
    return rate(
        measure=induction_error(1.0, True),
        at=SIZES,
        exponent=-1,
        control=dict(measure=induction_error(1.0)),
    )


# Appendix D.2 ------------------------------------------------------------------------------------


def ratios(largest=7):
    """Return pairs alpha < beta of fractions with small denominators."""
    numbers = sorted({Fraction(a, b) for b in range(1, largest) for a in range(0, 2 * b + 1)})
    return list(itertools.combinations(numbers, 2))


def separates(pair, ones):
    """Whether some string with that many 1 is in F_beta's language and not in F_alpha's."""
    alpha, beta = pair
    return any(alpha * ones < zeros <= beta * ones for zeros in range(2 * ones + 1))


@claim(
    "limit.D2.uncountable",
    ref="Appendix D.2",
    statement=r"\alpha < \beta \Rightarrow \exists x: F_\alpha(x) \ne F_\beta(x),\ "
    r"\#_1(x) \le \lceil 1 / (\beta - \alpha) \rceil",
    mathematics=True,
)
def uncountable():
    """F_alpha and F_beta differ on a string with at most 1 / (beta - alpha) ones and some zeros.

    Control: half as many.
    """
    enough = lambda pair: -(-1 // (pair[1] - pair[0]))
    found = lambda pair, most: any(separates(pair, n) for n in range(1, most + 1))
    return exhaustive(
        predicate=lambda pair: found(pair, enough(pair)),
        universe=ratios(),
        control=dict(predicate=lambda pair: found(pair, enough(pair) // 2)),
    )


@claim(
    "limit.D2.one_layer",
    ref="Appendix D.2",
    statement=r"T(x) = [\alpha \#_1(x) \ge \#_0(x)] \text{ with one layer}",
)
def one_layer():
    """One uniform head and one Heaviside unit compute F_alpha. Control: another alpha."""

    def verdicts(alpha, other=0):
        E = np.zeros((3, 5))
        E[1, 0] = E[2, 1] = 1  # 0 and 1
        V = np.zeros((5, 5))
        V[2, 0] = V[3, 1] = 1
        none = np.zeros((0, 5))
        unit = ({2: -1.0, 3: alpha + other}, 0.0, True, {4: 1.0})
        layer = limit.Layer((limit.Head(none, none, V),), *limit.mlp(5, [unit]))
        t = limit.Transformer(("$", "0", "1"), E, np.zeros((1, 5)), (layer,), np.eye(5)[4:])
        words = ["".join(w) for n in range(9) for w in itertools.product("01", repeat=n)]
        right = [alpha * w.count("1") >= w.count("0") for w in words]
        return limit.accepts(t, words).tolist() == right

    return construction(
        build=verdicts,
        has=bool,
        cases=[0.0, 0.25, 0.5, 1.0, 1.75],
        complete=True,
        control=dict(build=lambda alpha: verdicts(alpha, 0.5)),
    )
