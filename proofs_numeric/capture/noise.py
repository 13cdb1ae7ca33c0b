"""Section 4.4: the error of kernels and predictors that are Monte-Carlo averages."""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import alternative, expectation, inequality, rate
from theorykit.checks.domains import inputs, positive, psd, reals
from theorykit.kernels import oracle, recursion
from theorykit.kernels import ridge as ridge_predictor
from theorykit.proofs_numeric.capture._noise import averages, draws, normal, tokens, unit

F = tokens(2, 2)
SIGMA = np.einsum("iar,jbr->iajb", F, F)
EXACT = oracle.attention_step(SIGMA, SIGMA, order=30)[0][0, -1, 1, -1]


@claim(
    "capture.4.4.mc_noise",
    ref="Sec. 4.4",
    statement=r"|\Sigma^{\mathrm{MC}}_{ab} - \Sigma_{ab}| = O(N_{\mathrm{MC}}^{-1/2})",
)
def noise_in_draws():
    """The error of a kernel entry falls as the square root of the number of draws.

    Root mean square over 64 kernels; the exact entry is the quadrature oracle's. Control: held
    against the entry before attention.
    """

    def error(key, N, exact=EXACT):
        layer = lambda U: recursion.attend("softmax", SIGMA, None, U, tangent=False, factor=F)[0]
        estimates = jax.vmap(layer)(normal(key, (64, N, 4, 4)))[:, 0, -1, 1, -1]
        return jnp.sqrt(((estimates - exact) ** 2).mean())

    return rate(
        measure=error,
        at=(8, 32, 128),
        exponent=-0.5,
        tolerance=0.15,
        replicates=12,
        batch=1,
        control=dict(measure=lambda key, N: error(key, N, SIGMA[0, -1, 1, -1])),
    )


@claim(
    "capture.4.4.mc_noise.length",
    ref="Sec. 4.4, App. E.3",
    statement=r"\operatorname{sd}[A_a \Sigma' A_b^\top] = O(1) \text{ in } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}"],
)
def noise_in_length():
    """The spread of one draw of a kernel entry does not grow with the number of tokens.

    For random tokens it falls, since attention averages more of them; it can never exceed max
    |Sigma'| = 1. Control: the entry without attention's normalisation, which grows like T.
    """

    def spread(key, T):
        return draws(*tokens(2, T), normal(key, (256, 4, 4))).std()

    return rate(
        measure=spread,
        at=(8, 32, 128),
        at_most=0.0,
        replicates=8,
        batch=1,
        control=dict(measure=lambda key, T: T * spread(key, T)),
    )


def opposed(P):
    """Return the factors of X* and P identical inputs with two opposite normalised tokens each."""
    first = np.array([1.0, 0.0]) + 0.1 * np.random.default_rng(0).standard_normal((P + 1, 2))
    return unit(np.stack([first, -first], 1))


def estimate(key, F, N, shared):
    """Return sum_nu K(X*, X_nu) over the inputs of these factors, K averaged over N draws.

    X* comes first. Draws are separate for every nu, or `shared`.
    """
    P, _, r = np.shape(F[1:])
    U = normal(key, (1 if shared else P, N, r, r))
    one = lambda G, U: draws(F[0], G, U).mean()
    if shared:
        return jax.vmap(lambda G: one(G, U[0]))(F[1:]).sum()
    return jax.vmap(one)(F[1:], U).sum()


def noise(P, N, shared=False, inputs=lambda P: tokens(P + 1, 2)):
    """Return the measure: the standard deviation of 64 such predictors at (P(n), N(n))."""

    def measure(key, n):
        F, keys = inputs(P(n)), jax.random.split(key, 64)
        return jax.vmap(lambda k: estimate(k, F, N(n), shared))(keys).std()

    return measure


def exactly(F):
    """Return mean and variance of a draw of each K(X*, X_nu), by quadrature over U."""
    x, w = np.polynomial.hermite_e.hermegauss(12)
    nodes = np.stack(np.meshgrid(x, x, x, x, indexing="ij"), -1).reshape(-1, 2, 2)
    weights = np.prod(np.meshgrid(w, w, w, w, indexing="ij"), 0).ravel() / w.sum() ** 4
    found = np.asarray(averages(F, nodes))
    values = (found[0] * found[1:]).sum(-1)
    return values @ weights, values**2 @ weights - (values @ weights) ** 2


few = lambda n: 4
itself = lambda n: n
FIT = dict(at=(4, 16, 64), tolerance=0.15, replicates=12, batch=1)


@claim(
    "capture.4.4.predictor_noise",
    ref="Sec. 4.4, Table 1",
    statement=r"|f^{\mathrm{MC}} - f| = O(\sqrt{P / N_{\mathrm{MC}}}), \quad \alpha = O(1)",
    assumptions=["every kernel value K(X*, X_nu) is estimated from draws of its own"],
)
def predictor_noise():
    """The noise of the predictor grows as the square root of the number of training inputs.

    True for the paper's sampler, which draws the scores of each pair separately (App. D), and only
    because the errors are then independent. Control: one set of draws for all pairs.
    """
    return rate(
        measure=noise(itself, few),
        exponent=0.5,
        **FIT,
        control=dict(measure=noise(itself, few, shared=True, inputs=opposed)),
    )


@claim(
    "capture.4.4.predictor_noise.shared",
    ref="Sec. 4.4, Table 1",
    statement=r"|f^{\mathrm{MC}} - f| = \Theta(P / \sqrt{N_{\mathrm{MC}}}), \quad \alpha = 1",
    assumptions=["one set of draws serves all K(X*, X_nu), of inputs that are alike"],
)
def predictor_noise_shared():
    """With shared draws, which save a factor P of the cost, the noise grows like P.

    This is not in the paper, where each pair has its own draws. For coefficients of one sign,
    errors add up instead of averaging out, and N must grow like P^2. Control: separate draws for
    each pair.
    """
    return rate(
        measure=noise(itself, few, shared=True, inputs=opposed),
        exponent=1.0,
        **FIT,
        control=dict(measure=noise(itself, few, inputs=opposed)),
    )


@claim(
    "capture.4.4.predictor_noise.draws",
    ref="Sec. 4.4, Table 1",
    statement=r"|f^{\mathrm{MC}} - f| = O(\sqrt{P / N_{\mathrm{MC}}}), \quad \alpha = O(1)",
)
def predictor_noise_in_draws():
    """The noise of the predictor falls as the square root of the number of draws.

    Control: the value if it fell as the fourth root.
    """
    return rate(
        measure=noise(few, itself),
        exponent=-0.5,
        **FIT,
        control=alternative(-0.25),
    )


@claim(
    "capture.4.1.footnote4",
    ref="Sec. 4.1, footnote 4",
    statement=r"|\alpha_\nu| = O(\sqrt P),\ N_{\mathrm{MC}} \propto P \cdot \sqrt P "
    r"\ \Rightarrow\ |f^{\mathrm{MC}} - f| = O(1)",
    expect="refuted",
    falls="statement",
    consequence="Coefficients as large as sqrt(P) need a factor of P more draws, not sqrt(P); "
    "the class O(T^(3 + epsilon)) stands, since P = O(log T).",
)
def printed_footnote():
    """A factor of sqrt(P) in the number of draws makes up for coefficients of size sqrt(P).

    It does not: the noise is sqrt(P) sqrt(P / N) = P / sqrt(N), so at N = P^(3/2) it grows like
    P^(1/4). All coefficients are sqrt(P) here. Control: N = P, without the factor.
    """
    return scaled(1.5, other=1.0)


@claim(
    "capture.4.1.footnote4.repaired",
    ref="Sec. 4.1, footnote 4",
    statement=r"|\alpha_\nu| = O(\sqrt P),\ N_{\mathrm{MC}} \propto P \cdot P "
    r"\ \Rightarrow\ |f^{\mathrm{MC}} - f| = O(1)",
)
def repaired_footnote():
    """A factor of P in the number of draws makes up for them. Control: sqrt(P), as printed."""
    return scaled(2.0, other=1.5)


def scaled(power, other):
    """Return the check that noise stays bounded with alpha = sqrt(P), N = P^power.

    Its variance is exact, as draws are independent. Control: the value with `other` in place of the
    power.
    """
    spread = lambda P: float(P * exactly(opposed(P))[1].sum() / P**power) ** 0.5
    return rate(measure=spread, at=(4, 16, 64), at_most=0.0, control=alternative(1 - other / 2))


@claim(
    "capture.4.1.footnote4.ridge",
    ref="Sec. 4.1, footnotes 3 and 4",
    statement=r"\alpha = (K + \kappa I)^{-1} y \ \Rightarrow\ "
    r"\sum_\nu \alpha_\nu^2 \le \frac{P}{\kappa^2} \max_\nu y_\nu^2",
    assumptions=[r"K \succeq 0", r"\kappa > 0"],
    repairs="capture.4.1.footnote4",
)
def ridge_footnote():
    """Ridge regression needs no more draws, since its coefficients cannot all be that large.

    This is not in the paper. With separate draws for each pair, the variance of the noise is a
    multiple of the sum of alpha^2 / N, so at most P / (kappa^2 N). Control: nine tenths of it.
    """
    alpha = lambda K, y, kappa: ridge_predictor(K, y, K, ridge=kappa).alpha
    most = lambda y, kappa: len(y) * (y**2).max() / kappa**2
    return inequality(
        lhs=lambda K, y, kappa: (alpha(K, y, kappa) ** 2).sum(),
        rhs=most,
        over=inputs(K=psd("P"), y=reals("P"), kappa=positive(), P=(1, 4)),
        starts=8,
        steps=40,
        control=dict(rhs=lambda y, kappa: 0.9 * most(y, kappa)),
    )


@claim(
    "capture.4.4.tail",
    ref="Sec. 4.4",
    statement=r"\Pr[|f^{\mathrm{MC}} - f| \ge \Delta / 6] \le "
    r"2 e^{-c \Delta^2 N_{\mathrm{MC}} / P}",
    assumptions=[
        r"|\alpha_\nu| \le 1, |\Sigma'| \le M = 1",
        r"c = 1 / (72 \sigma^2 + 8 M \Delta / P), "
        r"\sigma^2 \text{ the largest variance of a draw}",
    ],
)
def tail():
    """The predictor's noise has a sub-Gaussian tail, with the constant of Bernstein's bound.

    Each of the N P terms is within 2 M of its mean and has weight 1/N; c depends on Delta / P only
    weakly. Frequencies over 256 predictors at four values of Delta, from 1.5 to 3 standard
    deviations. Control: c three times as large.
    """
    P, N = 16, 16
    F = opposed(P)  # attention in a draw is far from uniform: values spread over most of [0, 1]
    means, variances = exactly(F)
    delta = np.array([9.0, 12.0, 15.0, 18.0]) * variances.max() ** 0.5

    def frequencies(key):
        estimates = jax.vmap(lambda k: estimate(k, F, N, False))(jax.random.split(key, 256))
        return (jnp.abs(estimates - means.sum())[:, None] >= delta / 6).mean(0)

    def bound(factor):
        c = factor / (72 * variances.max() + 8 * delta / P)
        return np.minimum(1.0, 2 * np.exp(-c * delta**2 * N / P))

    return expectation(
        statistic=frequencies,
        at_most=bound(1),
        replicates=32,
        batch=8,
        control=dict(at_most=bound(3)),
    )
