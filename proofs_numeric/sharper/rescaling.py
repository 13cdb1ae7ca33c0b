"""Appendix D: does rescaling the MLP lower norm and sharpness at the same time?"""

from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.subjects import boolean, sharpness
from theorykit.subjects.boolean import slopes, thresholds


def same(factor, d, z, back):
    """Whether the lookup stays the same with its layers multiplied by a factor and `back`."""
    units = list(zip(thresholds(d), slopes(d), strict=True))
    scaled = sum(back * w * max(factor * (z - t), 0) for t, w in units)
    return scaled == sum(w * max(z - t, 0) for t, w in units)


@claim(
    "sharper.D.rescaling",
    ref="Appendix D (1)",
    statement=r"\mathrm{ReLU}(Z \lambda F_1 + \lambda b)\, \lambda^{-1} F_2 = "
    r"\mathrm{ReLU}(Z F_1 + b) F_2, \quad \lambda > 0",
)
def function():
    """Rescaling leaves the function unchanged; exact. Control: lambda < 0."""
    members = [
        (Fraction(p, q), d, Fraction(j, 24))
        for p, q in ((1, 2), (2, 1), (3, 7)) for d in (1, 2, 3, 5) for j in range(25)
    ]  # fmt: skip
    exactly = lambda sign: (
        lambda m: same(sign * m[0], m[1], m[2], Fraction(sign * m[0].denominator, m[0].numerator))
    )
    return exhaustive(predicate=exactly(1), universe=members, control=dict(predicate=exactly(-1)))


def parts(network):
    """Return A = |F1|^2 + |b|^2, B = |F2|^2, and the same of the mean squared gradients."""
    x = boolean.bits(network.T)
    norms = network.squared_norms()
    slopes = {k: float(g.mean()) for k, g in sharpness.gradient_norms(network, x).items()}
    first = lambda v: v["mlp_in"] + v["bias"]
    return first(norms), norms["mlp_out"], first(slopes), slopes["mlp_out"]


@claim(
    "sharper.D.norm",
    ref="Appendix D (1)",
    statement=r"\min_\lambda \lambda^2 A + \lambda^{-2} B = 2 \sqrt{A B} < A + B "
    r"\text{ for } A \ne B; \quad \lambda^4 = B / A",
)
def norm():
    """At this lambda the rescaled network has the least norm, and the same outputs.

    Control: lambda^2 = B / A.
    """

    def build(case, power=0.25):
        T, d, s = case
        network = boolean.transformer(boolean.random(T, d, s, seed=1))
        A, B, *_ = parts(network)
        other = boolean.rescaled(network, (B / A) ** power)
        a, b, *_ = parts(other)
        x = boolean.bits(T)[-1]
        apart = abs(float((network(x) - other(x))[0]))
        return abs((a + b) / (2 * np.sqrt(A * B)) - 1), (a + b) < A + B, apart

    return construction(
        build=build,
        has=lambda found: found[0] < 1e-9 and found[1] and found[2] < 1e-9,
        cases=[(4, 2, 3), (5, 3, 2)],
        control=dict(build=lambda case: build(case, 0.5)),
    )


@claim(
    "sharper.D.heavier",
    ref="Appendix D (1)",
    statement=r"\|\partial_{F_2} T\|^2 > \|\partial_{F_1} T\|^2 + \|\partial_b T\|^2",
    expect="refuted",
    falls="reading",
    consequence="The bounds of Theorem 14 that the sentence rests on are lost; measured, the first "
    "layer's gradients are the larger, and one factor still lowers both (sharper.D.both.repaired).",
)
def heavier():
    """The second layer contributes more to the norm, as printed; the first, more to the gradients.

    Were it so, lambda > 1 would lower the norm and raise the sharpness. Control: ten times.
    """

    def build(case, times=1.0):
        T, d, s = case
        *_, a, b = parts(boolean.transformer(boolean.random(T, d, s, seed=1)))
        return b / a, times

    return construction(
        build=build,
        has=lambda found: found[0] > found[1],
        cases=[(5, 2, 4), (5, 3, 5)],
        control=dict(build=lambda case: build(case, 10.0)),
    )


@claim(
    "sharper.D.heavier.repaired",
    ref="Appendix D (1)",
    statement=r"\|F_2\|^2 > \|F_1\|^2 + \|b\|^2, \quad \|\partial_{F_2} T\|^2 < "
    r"\|\partial_{F_1} T\|^2 + \|\partial_b T\|^2 \quad (d \ge 2)",
    repairs="sharper.D.heavier",
)
def heavier_repaired():
    """The second layer has the larger norm, the first the larger gradient.

    Control: in gradient too.
    """

    def build(case):
        T, d, s = case
        return parts(boolean.transformer(boolean.random(T, d, s, seed=1)))

    return construction(
        build=build,
        has=lambda found: found[1] > found[0] and found[3] < found[2],
        cases=[(5, 2, 4), (5, 3, 5), (8, 4, 8)],
        control=dict(has=lambda found: found[1] > found[0] and found[3] > found[2]),
    )


@claim(
    "sharper.D.both",
    ref="Appendix D (1)",
    statement=r"\exists \lambda:\ \|\theta_\lambda\| < \|\theta\| \text{ and } "
    r"\mathrm{tr} \nabla^2 L(\theta_\lambda) < \mathrm{tr} \nabla^2 L(\theta)",
    expect="refuted",
    falls="proof",
    consequence="At degree 1 one factor does not lower both; from degree 2 on it does, at "
    "the sizes "
    "tried, so that the construction is not optimal there.",
)
def both():
    """One lambda lowers both from degree 2 on; not at degree 1 with many parities.

    Near lambda = 1 the norm moves with A - B, the sharpness with b - a, and both are convex in
    log(lambda): one lambda serves both if and only if (B - A)(a - b) > 0. At T = s = 12, d = 1 the
    positional columns of F2 carry more gradient than F1 and b (`sharper.14.length`). Control: it
    serves neither.
    """

    def build(case, sign=1):
        A, B, a, b = parts(boolean.transformer(boolean.tiling(*case)))
        return sign * (B - A) * (a - b)

    return construction(
        build=build,
        has=lambda product: product > 0,
        cases=[(6, 2), (12, 1)],
        control=dict(build=lambda case: build(case, -1)),
    )


@claim(
    "sharper.D.both.repaired",
    ref="Appendix D (1)",
    statement=r"\text{one } \lambda > 1 \text{ lowers both for } d \ge 2,\ s \le T \le 8",
    repairs="sharper.D.both",
)
def both_repaired():
    """One lambda > 1 lowers both for degrees from 2 on, at the sizes tried. Control: lambda < 1."""

    def build(case, factor=1.1):
        T, d, s = case
        network = boolean.transformer(boolean.random(T, d, s, seed=1))
        before, after = parts(network), parts(boolean.rescaled(network, factor))
        return [v[0] + v[1] for v in (before, after)], [v[2] + v[3] for v in (before, after)]

    return construction(
        build=build,
        has=lambda found: all(after < before for before, after in found),
        cases=[(5, 2, 5), (6, 3, 6), (8, 4, 8)],
        control=dict(build=lambda case: build(case, 0.9)),
    )
