"""Appendix D and Theorem 3.4: kernel ridge regression on template data.

Where any token-symmetric kernel will do, it is one of incidences,
`K(x, y) = <XX', YY'> / k^2 + tr(XY') / k`, which is exact; else the transformer's.
"""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, identity, inequality, rate
from theorykit.checks.domains import inputs, interval, reals
from theorykit.kernels import activations, template_mlp, template_transformer
from theorykit.subjects.templates import Distribution, families

# Claim D.3: three samples of the second of two templates, two of the first ---------------------

SIZES = np.array([2, 3])
BLOCK = np.repeat([0, 1], SIZES)


def norm(x):
    """Return the Euclidean norm, with a slope at 0."""
    return jnp.sqrt(jnp.sum(x**2) + 1e-300)


def from_spectrum(turn, e):
    """Return a symmetric 2 x 2 matrix whose eigenvalues are away from 0."""
    e = jnp.where(e >= 0, e + 0.1, e - 0.1)
    Q = jnp.array([[jnp.cos(turn), -jnp.sin(turn)], [jnp.sin(turn), jnp.cos(turn)]])
    return dict(N=Q @ jnp.diag(e) @ Q.T, smallest=jnp.abs(e).min())


BLOCKS = inputs(turn=reals(), e=reals("2"), share=interval(0.01, 0.95)).map(
    lambda turn, e, share: dict(**from_spectrum(turn, e), share=share)
)


def solved(N, smallest, share):
    """Return (K_ideal + lambda)^-1 v_ideal for a string of the first template, and lambda, tau."""
    tau = 2 * smallest
    K = N[BLOCK][:, BLOCK]
    found = jnp.linalg.solve(K + share * tau * jnp.eye(5), K[:, 0])
    return found, share * tau, tau


@claim(
    "templates.D3.block",
    ref="Claim D.3",
    statement=r"\|(\hat K^{\mathrm{ideal}} + \lambda)^{-1} v^{\mathrm{ideal}}\| \le "
    r"\tfrac{1}{\sqrt{|I_a|}} \tfrac{\tau}{\tau - \lambda}, \quad "
    r"\|\tfrac{1_{I_a}}{|I_a|} - (\hat K^{\mathrm{ideal}} + \lambda)^{-1} v^{\mathrm{ideal}}\| "
    r"\le \tfrac{1}{\sqrt{|I_a|}} (\tfrac{\tau}{\tau - \lambda} - 1)",
    assumptions=[r"0 < \lambda < \tau = \min_j |I_j| / \|N^{-1}\|"],
)
def block_bounds():
    """Both norms, for any symmetric N. Control: the factor tau / (tau + lambda)."""

    def lhs(N, smallest, share):
        found, _, _ = solved(N, smallest, share)
        indicator = jnp.asarray(BLOCK == 0) / SIZES[0]
        return jnp.stack([norm(found), norm(indicator - found)])

    def rhs(sign):
        def bound(N, smallest, share):
            _, decay, tau = solved(N, smallest, share)
            factor = tau / (tau - sign * decay)
            return jnp.stack([factor, jnp.abs(factor - 1)]) / np.sqrt(SIZES[0])

        return bound

    return inequality(lhs=lhs, rhs=rhs(1), over=BLOCKS, tol=1e-7, control=dict(rhs=rhs(-1)))


@claim(
    "templates.D3.eigenvalues",
    ref="Claim D.3, proof",
    statement=r"M = \mathrm{diag}(\sqrt{|I_j|}) N \mathrm{diag}(\sqrt{|I_j|}) "
    r"\text{ has the nonzero eigenvalues of } \hat K^{\mathrm{ideal}}",
)
def block_eigenvalues():
    """The traces of the first two powers of K_ideal and of M agree: so do two eigenvalues each.

    Control: diag(|I_j|).
    """

    def powers(K):
        return jnp.stack([jnp.trace(K), jnp.trace(K @ K)])

    root = lambda p: SIZES**p
    weighted = lambda p: lambda N: powers(root(p)[:, None] * N * root(p))
    return identity(
        lhs=lambda N: powers(N[BLOCK][:, BLOCK]),
        rhs=weighted(0.5),
        over=BLOCKS,
        control=dict(rhs=weighted(1.0)),
    )


@claim(
    "templates.D5.difference",
    ref="Claim D.5",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - \hat f(x)| \le \tfrac{\|y\|}{\lambda} "
    r"(\|v^{\mathrm{ideal}} - v\| + \|\hat K - \hat K^{\mathrm{ideal}}\| "
    r"\|(\hat K^{\mathrm{ideal}} + \lambda)^{-1} v^{\mathrm{ideal}}\|)",
)
def difference():
    """Two ridge regressions differ by at most this, K psd. Control: half of it."""

    def lhs(F, G, v, w, y, decay):
        one, two = (jnp.linalg.solve(k + decay * jnp.eye(3), u) for k, u in ((F @ F.T, v), (G, w)))
        return jnp.abs(y @ (one - two))

    def rhs(factor):
        def bound(F, G, v, w, y, decay):
            ideal = jnp.linalg.solve(G + decay * jnp.eye(3), w)
            gap = jnp.sqrt(jnp.sum((F @ F.T - G) ** 2) + 1e-300)  # at least the spectral norm
            return factor * norm(y) / decay * (norm(v - w) + gap * norm(ideal))

        return bound

    return inequality(
        lhs=lhs,
        rhs=rhs(1.0),
        over=inputs(
            F=reals("3 3"), H=reals("3 3"), v=reals("3"), w=reals("3"), y=reals("3"),
            decay=interval(0.1, 2),
        ).map(lambda F, H, v, w, y, decay: dict(F=F, G=H @ H.T, v=v, w=w, y=y, decay=decay)),
        tol=1e-7,
        control=dict(rhs=rhs(0.5)),
    )  # fmt: skip


# Claims D.2 and D.4, Lemmas D.1 and D.6 --------------------------------------------------------


def incidence_kernel(x, y, shift=0.0):
    """Return <XX', YY'> / k^2 + tr(XY') / k between strings (n, k) and (m, k), plus a constant."""
    k = x.shape[1]
    flat = lambda z: (z[:, :, None] == z[:, None, :]).reshape(len(z), -1).astype(float)
    agree = (x[:, None, :] == y[None, :, :]).mean(2)
    return flat(x) @ flat(y).T / k**2 + agree + shift


def same_different(symbols):
    """Return the same/different task over an alphabet."""
    return Distribution(families.same_different(), symbols=symbols)


def idealised(key, n):
    """Return |f_ideal - f| at an unseen αα, root mean square over data sets, ridge n / 10.

    The alphabet has 2 n symbols, so rho = n.
    """
    d = same_different(2 * n)
    N = np.array([[1.0, 0.5], [0.5, 0.5]])  # of the incidences: <XX', YY'> / 4
    new = jnp.array([[4 * n, 4 * n]])

    def one(key):
        x, y, which = d.sample(key, n)
        ideal = jnp.asarray(N)[which][:, which]
        regress = lambda K, v: y @ jnp.linalg.solve(K + 0.1 * n * jnp.eye(n), v)
        found = regress(incidence_kernel(x, x), incidence_kernel(x, new)[:, 0])
        return (found - regress(ideal, jnp.asarray(N)[which, 0])) ** 2

    return jnp.sqrt(jax.lax.map(one, jax.random.split(key, 16)).mean())


@claim(
    "templates.D2.ideal",
    ref="Claim D.2",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - \hat f(x)| \le "
    r"C / \lambda + C n / (\lambda \sqrt\rho)",
)
def ideal_is_near():
    """With lambda and rho proportional to n the distance falls at least like n^(-1/2).

    It falls like 1 / n here: the bad pairs mostly cancel. Control: like n^(-2).
    """
    return rate(
        measure=idealised, at=(16, 32, 64, 128), at_most=-0.5, replicates=6, batch=1,
        control=dict(at_most=-2.0),
    )  # fmt: skip


@claim(
    "templates.D2.hoeffding",
    ref="Claim D.2, eq. (19)",
    statement=r"P_2 = |\{i : s_i(\mathcal W) \cap (\mathcal R \cup \{x_j\}) \ne \emptyset\}| \le "
    r"C n / \rho \text{ with probability} \ge 1 - \exp(-c n)",
    expect="refuted",
)
def few_bad_samples():
    """For the template α and rho = n^2 the probability of P_2 > 10 n / rho falls faster than n^-5.

    It falls like 1 / n: that of one sample with the token of x, which exceeds the bound as soon as
    rho > 10 n. Hoeffding's inequality has no multiplicative form at means below one. The conclusion
    of the claim does not need it. Control: faster than n^-6.
    """
    probability = lambda n: -float(np.expm1(n * np.log1p(-1.0 / n**2)))
    return rate(
        measure=probability, at=(16, 64, 256, 1024), at_most=-5.0, control=dict(at_most=-6.0)
    )


def binomial_tail(n, m, bound):
    """Return P[B > bound] for B of n trials with the probability 1 / m."""
    total = Fraction(0)
    for j in range(n + 1):
        if j > bound:
            ways = math.comb(n, j)
            for _ in range(n - j):
                ways *= m - 1
            total += ways
    below = 1
    for _ in range(n):
        below *= m
    return total * Fraction(1, below)


@claim(
    "templates.D2.hoeffding.repaired",
    ref="Claim D.2, eq. (19)",
    statement=r"P_2 \le C (n / \rho + \log(1 / \delta)) \text{ with probability} \ge 1 - \delta",
)
def few_bad_samples_repaired():
    """P_2 <= 8 n / rho + log2(1 / delta) with probability 1 - delta, by Chernoff.

    Exactly, for the template α, n up to 16 and delta = 2^-j. Control: n / rho + log2 / 8.
    """

    def bounded(times, share):
        def predicate(case):
            n, m, j = case
            return binomial_tail(n, m, Fraction(times * n, m) + j * share) <= Fraction(1, 1 << j)

        return predicate

    cases = [(n, m, j) for n in (4, 8, 16) for m in (2, 4, 16, 64, 256) for j in range(9)]
    return exhaustive(
        predicate=bounded(8, Fraction(1)),
        universe=cases,
        control=dict(predicate=bounded(1, Fraction(1, 8))),
    )


def diverse_error(n, ridge, shift=0.0, diagonal=1.0, scale=1.0):
    """Return the largest error over αα and αβ when no two samples share a symbol (rho = infinity).

    n / 2 samples of each template, without noise. K = K_ideal + diagonal I; N is that of the
    incidence kernel, its difference of templates scaled by `scale`.
    """
    N = np.array([[1.0, 0.5], [0.5, 0.5]])
    N = N.mean() + scale * (N - N.mean()) + shift
    which = np.arange(n) % 2
    y = 1.0 - 2 * which
    K = N[np.ix_(which, which)] + (diagonal + ridge) * np.eye(n)
    predicted = np.linalg.solve(K, y) @ N[which]
    return float(np.abs(predicted - [1, -1]).max())


SAMPLES = (128, 256, 512, 1024)


@claim(
    "templates.D1.ridge",
    ref="Lemma D.1",
    statement=r"\lambda \in [c' n, C' n]: \ |\hat f(x) - f_*(z)| \le "
    r"C \sqrt{\log(1/\delta) / n} + C \sqrt{1 / \rho}",
    expect="refuted",
)
def ridge_of_order_n():
    """With lambda = n / 4 and rho infinite the error falls at least like n^(-1/2).

    It does not fall: K_ideal has eigenvalues nu of order n, and the regression shrinks labels by
    nu / (nu + lambda), whatever the constant c'. The proof of Claim D.4 loses the factor |y|, of
    order sqrt(n), before tau / (tau - lambda) - 1. Control: at least like 1 / n.
    """
    return rate(
        measure=lambda n: diverse_error(n, n / 4),
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

    Control: like n^(-1/2).
    """
    return rate(
        measure=lambda n: diverse_error(n, 0.1), at=SAMPLES, exponent=-1.0,
        control=dict(exponent=-0.5),
    )  # fmt: skip


@claim(
    "templates.D4.ideal",
    ref="Claim D.4",
    statement=r"0 < \lambda < c n / \|N^{-1}\|: \ |\hat f^{\mathrm{ideal}}(x) - f_*(z)| \le "
    r"C \sqrt{\log(1/\delta) / n}",
    expect="refuted",
)
def ideal_estimator():
    """The idealised estimator's error falls like n^(-1/2) at every ridge of order n, here n / 4.

    It does not fall, as in Lemma D.1. Control: like 1 / n.
    """
    return rate(
        measure=lambda n: diverse_error(n, n / 4, diagonal=0.0),
        at=SAMPLES,
        at_most=-0.5,
        control=dict(at_most=-1.0),
    )


@claim(
    "templates.D4.ideal.repaired",
    ref="Claim D.4",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - f_*(z_a)| \le |\bar y_a - f_*(z_a)| + "
    r"\tfrac{\|y\|}{\sqrt{|I_a|}} \tfrac{\lambda}{\tau - \lambda}",
)
def ideal_estimator_repaired():
    """With the norm of the labels it holds, so that lambda = o(n) is what is needed.

    Control: without the norm, divided by sqrt(n).
    """

    def lhs(N, smallest, share, y):
        found, _, _ = solved(N, smallest, share)
        return jnp.abs(y @ found - y[:2].mean())

    def rhs(factor):
        def bound(N, smallest, share, y):
            return factor * norm(y) / np.sqrt(SIZES[0]) * share / (1 - share)

        return bound

    domain = inputs(turn=reals(), e=reals("2"), share=interval(0.01, 0.95), y=reals("5")).map(
        lambda turn, e, share, y: dict(**from_spectrum(turn, e), share=share, y=y)
    )
    return inequality(lhs=lhs, rhs=rhs(1.0), over=domain, tol=1e-7, control=dict(rhs=rhs(5**-0.5)))


@claim(
    "templates.D6.condition",
    ref="Lemma D.6",
    statement=r"\rho = \infty,\ \lambda = \Theta(n / \|N^{-1}\|): \ |\hat f(x) - f_*(z)| \le "
    r"C \sqrt{\log(1/\delta) / n} + C \|N^{-1}\| / n",
    expect="refuted",
)
def condition():
    """With lambda = n / (4 |N^-1|) the error falls at least like n^(-1/2).

    It does not fall, as in Lemma D.1. Control: at least like 1 / n.
    """
    inverse = 1 / np.linalg.eigvalsh([[1.0, 0.5], [0.5, 0.5]])[0]
    return rate(
        measure=lambda n: diverse_error(n, n / 4 / inverse),
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

    N is that of the incidence kernel with what distinguishes its templates made smaller, at 4,096
    samples. Control: at most like its root.
    """
    return rate(
        measure=lambda n: diverse_error(2048, 0.1, scale=1.0 / n),
        at=(1, 2, 4, 8),
        at_most=1.0,
        control=dict(at_most=0.5),
    )


# Theorem 3.4 with the transformer's kernel -----------------------------------------------------

KERNEL = dict(beta=30.0, gamma=1.0, activation=activations.Cos(1.0, 0.5), draws=2048, replicates=1)


def unseen_error(key, n, symbols, mlp=False, tests=64):
    """Return the root mean square error on unseen symbols of ridge regression on same/different."""
    d = same_different(int(symbols)).with_cls()
    for_train, for_test, for_kernel = jax.random.split(key, 3)
    train = jax.tree.map(np.asarray, d.sample(for_train, int(n)))
    test = jax.tree.map(np.asarray, d.held_out(2 * tests).sample(for_test, tests))
    x = np.concatenate([train.x, test.x])
    kernel = template_mlp(x) if mlp else template_transformer(x, key=for_kernel, **KERNEL)
    K = np.asarray(kernel.nngp, float)
    n = int(n)
    predicted = K[n:, :n] @ np.linalg.solve(K[:n, :n] + 0.01 * np.eye(n), train.y)
    return np.sqrt(np.mean((predicted - test.y) ** 2))


@claim(
    "templates.3.4.generalises",
    ref="Theorem 3.4",
    statement=r"|\hat f(x) - f_*(z)| \le C \sqrt{\log(1/\delta) / n} + C \sqrt{1 / \rho}, "
    r"\quad \rho = n / 2",
    tier="slow",
)
def generalises():
    """Ridge regression with K_trans on same/different: the error on unseen symbols falls.

    At least like n^(-1/2), with an alphabet of n symbols and a constant ridge. Control: an MLP's
    kernel, which stays at chance.
    """
    return rate(
        measure=lambda key, n: unseen_error(key, n, n),
        at=(128, 256, 512, 1024),
        at_most=-0.5,
        tolerance=0.05,
        replicates=6,
        vectorize=False,
        control=dict(measure=lambda key, n: unseen_error(key, n, n, mlp=True)),
    )


@claim(
    "templates.3.4.diversity",
    ref="Theorem 3.4",
    statement=r"|\hat f(x) - f_*(z)| \le C \sqrt{\log(1/\delta) / n} + C \sqrt{1 / \rho}, "
    r"\quad n \text{ fixed}",
    tier="slow",
)
def generalises_with_diversity():
    """At 512 samples the error falls with the alphabet, at least like rho^(-1/2), while n allows.

    Same/different over 8 to 64 symbols; from there on n limits it. Control: at least like 1 / rho.
    """
    return rate(
        measure=lambda key, m: unseen_error(key, 512, m),
        at=(8, 16, 32, 64),
        at_most=-0.5,
        tolerance=0.05,
        replicates=6,
        vectorize=False,
        control=dict(at_most=-1.0),
    )


@functools.cache
def learned(name, n=1024):
    """Return the mean squared errors on unseen symbols of K_trans and of an MLP's kernel.

    Over the variance of the labels, so that 1 is chance: majority has more labels -1.
    """
    tasks = {
        "same/different": families.same_different(),
        "programs": families.programs(),
        "majority": families.majority(3),
    }
    d = Distribution(tasks[name], symbols=n).with_cls()
    train, test = (
        jax.tree.map(np.asarray, e.sample(jax.random.key(seed), m))
        for e, seed, m in ((d, 0, n), (d.held_out(100), 1, 100))
    )
    x = np.concatenate([train.x, test.x])
    options = KERNEL | dict(draws=8192, activation=activations.Cos(0.5, 0.5))
    found = []
    for kernel in (template_transformer(x, key=jax.random.key(2), **options), template_mlp(x)):
        K = np.asarray(kernel.nngp, float)
        f = K[n:, :n] @ np.linalg.solve(K[:n, :n] + 1e-3 * np.eye(n), train.y)
        found.append(float(np.mean((f - test.y) ** 2) / np.var(test.y)))
    return found


@claim(
    "templates.3.4.tasks",
    ref="Theorem 3.4, remark I.6",
    statement=r"\mathbb E[(\hat f(x) - f_*(z))^2] < 0.05\, \mathrm{Var}\, y \text{ for } "
    r"K_{\mathrm{trans}},\ "
    r"\approx \mathrm{Var}\, y \text{ for an MLP's kernel}",
    tier="slow",
)
def learns_the_tasks():
    """With 1,024 samples ridge regression learns three tasks on unseen symbols, an MLP's does not.

    Same/different, the programs of Fig. 2, majority of length 3. Control: the MLP's kernel learns.
    """
    return exhaustive(
        predicate=lambda name: learned(name)[0] < 0.05 and learned(name)[1] > 0.9,
        universe=["same/different", "programs", "majority"],
        control=dict(predicate=lambda name: learned(name)[1] < 0.9),
    )
