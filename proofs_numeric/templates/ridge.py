"""Claim D.4, Lemmas D.1 and D.6: how the error of ridge regression depends on its ridge."""

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.certify import exact
from theorykit.checks import alternative, everywhere, inequality, rate
from theorykit.checks.domains import inputs, interval, reals
from theorykit.kernels import ridge
from theorykit.proofs_numeric.templates._ridge import IDEAL, from_spectrum, solved


def diverse_error(n, decay, diagonal=1.0, scale=1.0):
    """Return the largest error over αα and αβ when no two samples share a symbol (rho = infinity).

    n / 2 samples of each template, without noise. K = K_ideal + diagonal I; N is that of the
    incidence kernel, its difference of templates scaled by `scale`.
    """
    N = IDEAL.mean() + scale * (IDEAL - IDEAL.mean())
    which = np.arange(n) % 2
    y = 1.0 - 2 * which
    K = N[np.ix_(which, which)] + diagonal * np.eye(n)
    found = ridge(K, y, N[:, which], ridge=decay).mean
    return float(np.abs(np.asarray(found) - [1, -1]).max())


SMALLEST = float(np.linalg.eigvalsh(IDEAL)[0])
"""1 / |N^-1|; tau = SMALLEST n / 2."""

SAMPLES = (64, 128, 256, 512)


@claim(
    "templates.D1.ridge",
    ref="Lemma D.1",
    statement=r"\lambda \in [c' n, C' n]: \ |\hat f(x) - f_*(z)| \le "
    r"C \sqrt{\log(1/\delta) / n} + C \sqrt{1 / \rho}",
    expect="refuted",
    falls="statement",
    consequence="With a ridge of order n the error is of order one. Theorem 3.4 and Lemma C.3 "
    "speak of a ridge that does not depend on n and are not refuted, but their proof goes through "
    "this.",
)
def ridge_of_order_n():
    """With lambda = n / 20, about half of tau, and rho infinite the error falls like n^(-1/2).

    It does not fall: K_ideal has eigenvalues nu of order n, and the regression shrinks labels by
    nu / (nu + lambda), whatever the constant c'. The proof of Claim D.4 loses the factor |y|, of
    order sqrt(n), before tau / (tau - lambda) - 1. Control: at least like 1 / n.
    """
    return rate(
        measure=lambda n: diverse_error(n, n / 20),
        at=SAMPLES,
        at_most=-0.5,
        control=dict(at_most=-1.0),
    )


@claim(
    "templates.D1.ridge.repaired",
    ref="Theorem 3.4, Lemma D.1",
    statement=r"\lambda \text{ independent of } n:\ |\hat f(x) - f_*(z)| = "
    r"O((\lambda + \max_x K(x, x)) \|N^{-1}\| / n) \text{ at } \rho = \infty, \sigma = 0",
)
def ridge_of_order_one():
    """With a constant ridge, as Theorem 3.4 is worded, the error falls like 1 / n.

    Control: like n^(-1/2), the first term of the theorem.
    """
    return rate(
        measure=lambda n: diverse_error(n, 0.1), at=SAMPLES[1:], exponent=-1.0,
        control=alternative(-0.5),
    )  # fmt: skip


@claim(
    "templates.D4.ideal",
    ref="Claim D.4",
    statement=r"0 < \lambda < c n / \|N^{-1}\|: \ |\hat f^{\mathrm{ideal}}(x) - f_*(z)| \le "
    r"C \sqrt{\log(1/\delta) / n}",
    expect="refuted",
    falls="statement",
    consequence="The error has lambda / n as a second term, and vanishes for a ridge of lower "
    "order than n only.",
)
def ideal_estimator():
    """The idealised estimator's error falls like n^(-1/2) at every ridge of order n.

    The least error over lambda = c n / |N^-1| with c = 1/4, 1/40 and 1/400. It does not fall, as in
    Lemma D.1: it is about 2 c. Control: like 1 / n.
    """
    error = lambda n, c: diverse_error(n, c * n * SMALLEST, diagonal=0.0)
    return rate(
        measure=lambda n: min(error(n, c) for c in (1 / 4, 1 / 40, 1 / 400)),
        at=SAMPLES[:3],
        at_most=-0.5,
        control=dict(at_most=-1.0),
    )


@claim(
    "templates.D4.ideal.repaired",
    ref="Claim D.4",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - f_*(z_a)| \le |\bar y_a - f_*(z_a)| + "
    r"\tfrac{\|y\|}{\sqrt{|I_a|}} \tfrac{\lambda}{\tau - \lambda}",
    mathematics=True,
)
def ideal_estimator_repaired():
    """With the norm of the labels it holds, so lambda = o(n) is needed.

    Control: without the norm, divided by sqrt(n).
    """

    def lhs(N, smallest, share, y):
        found, _, _ = solved(N, smallest, share)
        return jnp.abs(y @ found - y[:2].mean())

    def rhs(factor):
        def bound(N, smallest, share, y):
            return factor * jnp.linalg.norm(y) / jnp.sqrt(exact(2)) * share / (1 - share)

        return bound

    domain = inputs(turn=reals(), e=reals("2"), share=interval(0.01, 0.95), y=reals("5")).map(
        lambda turn, e, share, y: dict(**from_spectrum(turn, e), share=share, y=y)
    )
    return inequality(
        lhs=lhs, rhs=rhs(1.0), over=domain, tol=1e-7, proof=everywhere(),
        control=dict(rhs=rhs(5**-0.5)),
    )  # fmt: skip


@claim(
    "templates.D6.condition",
    ref="Lemma D.6",
    statement=r"\rho = \infty,\ \lambda = \Theta(n / \|N^{-1}\|): \ |\hat f(x) - f_*(z)| \le "
    r"C \sqrt{\log(1/\delta) / n} + C \|N^{-1}\| / n",
    expect="refuted",
    falls="statement",
    consequence="The dependence on the norm of N^-1 is as stated at a constant ridge; at one of "
    "order n the error is of order one.",
)
def condition():
    """With lambda = n / (4 |N^-1|) the error falls at least like n^(-1/2).

    It does not fall, as in Lemma D.1. Control: at least like 1 / n.
    """
    return rate(
        measure=lambda n: diverse_error(n, n / 4 * SMALLEST),
        at=SAMPLES,
        at_most=-0.5,
        control=dict(at_most=-1.0),
    )


@claim(
    "templates.D6.condition.repaired",
    ref="Lemma D.6",
    statement=r"\lambda = \Theta(1): \ |\hat f(x) - f_*(z)| = O(\|N^{-1}\| / n)",
)
def condition_repaired():
    """At a constant ridge the error grows at most in proportion to the norm of N^-1.

    N is that of the incidence kernel with what distinguishes its templates made smaller, at 512
    samples. Control: at most like its root.
    """
    return rate(
        measure=lambda n: diverse_error(512, 0.1, scale=1.0 / n),
        at=(1, 2, 4, 8),
        at_most=1.0,
        control=dict(at_most=0.5),
    )
