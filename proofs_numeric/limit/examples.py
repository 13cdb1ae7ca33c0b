"""Section 4.1 and appendix D.2: the induction head, and the functions F_alpha."""

import itertools
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, rate
from theorykit.subjects import limit

# Section 4.1: the induction head -----------------------------------------------------------------


def induction_head(sharpness):
    """Return the two-layer construction of section 4.1 over a, b, c, with logits of this size."""
    d, k = 12, 3  # a symbol, the symbol before, the output: three dimensions each, and $
    E = np.zeros((4, d))
    E[1:, :k] = np.eye(k)
    block = lambda to, of: sum(np.outer(np.eye(d)[to + s], np.eye(d)[of + s]) for s in range(k))
    none = np.zeros((0, d))
    first = limit.Head(none, none, block(k, 0), limit.Local((0.0, sharpness)))
    K, Q = np.zeros((k, d)), np.zeros((k, d))
    K[:, k : 2 * k], Q[:, :k] = np.eye(k), sharpness * np.eye(k)
    second = limit.Head(K, Q, block(2 * k, 0))
    U = np.zeros((k, d))
    U[:, 2 * k : 3 * k] = np.eye(k)
    layers = tuple(limit.Layer((h,), *limit.mlp(d)) for h in (first, second))
    return limit.Transformer(("$", "a", "b", "c"), E, np.zeros((1, d)), layers, U, precision=3)


def induction_error(sharpness):
    """Return the measure: how far the last prediction after a b c ... c a is from certain b."""
    t = induction_head(sharpness)

    def error(n):
        string = "ab" + "c" * (int(n) - 4) + "a"
        out = limit.exact(t, [string]).outputs.floats()[0, -1]
        return float(np.abs(out - np.array([0, 1, 0])).max())

    return error


@claim(
    "limit.induction_head",
    ref="Sec. 4.1, eq. (10)",
    statement=r"\phi(i, j) = [i + 1 = j] \Rightarrow |T(x)_{i,\sigma} - f(x)_{i,\sigma}| = "
    r"O(1/n)",
    expect="refuted",
    falls="reading",
    consequence="The second layer's logits are not printed; with attention alone phi has to be 2 "
    "rather than 1, and Theorem 7 applies to the head all the same.",
)
def induction_printed():
    """With logits of 1 the error does not vanish: half of the weight stays on other positions.

    exp(log n) = n on one position stands against n - 1 others with 1 each. Control: O(1/n^2).
    """
    return rate(
        measure=induction_error(1.0),
        at=(16, 32, 64, 128),
        at_most=-1,
        control=dict(at_most=-2),
    )


@claim(
    "limit.induction_head.repaired",
    ref="Sec. 4.1, eq. (10)",
    statement=r"\phi(i, j) = 2 [i + 1 = j] \Rightarrow |T(x)_{i,\sigma} - f(x)_{i,\sigma}| = "
    r"O(1/n)",
)
def induction_repaired():
    """With logits of 2 it does, at this rate. Control: O(1/n^2)."""
    return rate(
        measure=induction_error(2.0),
        at=(16, 32, 64, 128),
        exponent=-1,
        control=dict(exponent=-2),
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
    """Any two F_alpha differ, at the latest on 1 / (beta - alpha) ones and some zeros.

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
        control=dict(build=lambda alpha: verdicts(alpha, 0.5)),
    )
