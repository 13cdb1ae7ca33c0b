"""Appendix B and section 5.1: norms of the ridge predictor, and the bound built from them."""

import jax.numpy as jnp

from theorykit import claim, kernels
from theorykit.checks import everywhere, identity, inequality
from theorykit.checks.domains import inputs, interval, psd, reals

norm = jnp.linalg.norm
spectrum = jnp.linalg.eigvalsh

# K and kappa may be scaled together; for smaller kappa / K the inverse is mostly rounding error.
RIDGE = interval(0.05, 20)
POINTS = inputs(K=psd("P"), kappa=RIDGE, P=(2,))
# The Gram matrix of P training points and of the test point, which comes last.
TESTED = inputs(G=psd("P+1"), y=reals("P"), kappa=RIDGE, P=(1, 2))
SEARCH = dict(starts=24, steps=100)


def regularised(K, kappa):
    """Return Kt = K + kappa I."""
    return K + kappa * jnp.eye(len(K))


def inverse(K, kappa):
    """Return Kt^-1."""
    return jnp.linalg.inv(regularised(K, kappa))


def sandwich(K, kappa):
    """Return Kt^-1 K Kt^-1, the matrix of eq. (10)."""
    return inverse(K, kappa) @ K @ inverse(K, kappa)


def weights(K, y, kappa):
    """Return yt = Kt^-1 y, the predictor's coefficients alpha of eq. (1)."""
    return jnp.linalg.solve(regularised(K, kappa), y)


def prediction(G, y, kappa):
    """Return f_K(X*) = K(X*, .) Kt^-1 y."""
    return G[-1, :-1] @ weights(G[:-1, :-1], y, kappa)


def largest(A):
    """Return the spectral norm of a positive semidefinite matrix."""
    return spectrum(A)[-1]


def rkhs_norm(K, alpha):
    """Return the norm of sum_nu alpha_nu K(., X_nu): the reproducing property gives its square."""
    return jnp.sqrt(jnp.maximum(alpha @ K @ alpha, 0.0))


@claim(
    "capture.B.inverse_entries",
    ref="App. B; Sec. 5.1",
    statement=r"|\tilde K^{-1}_{\mu\nu}| \le \|\tilde K^{-1}\|_2 \le 1/\kappa",
    assumptions=[r"K \succeq 0", r"\kappa > 0"],
    mathematics=True,
)
def inverse_entries():
    """No entry of the regularised inverse exceeds its spectral norm, which is at most 1 / ridge.

    Tight: with K = 0 all three are equal.
    """
    return inequality(
        lhs=lambda K, kappa: [jnp.abs(inverse(K, kappa)), largest(inverse(K, kappa))],
        rhs=lambda K, kappa: [largest(inverse(K, kappa)), 1 / kappa],
        over=POINTS,
        **SEARCH,
        control=dict(rhs=lambda K, kappa: [largest(inverse(K, kappa)), 0.9 / kappa]),
    )


@claim(
    "capture.B.spectrum",
    ref="App. B",
    statement=r"\mathrm{Spec}(\tilde K^{-1} K \tilde K^{-1}) = \{\lambda / (\lambda + \kappa)^2 : "
    r"\lambda \in \mathrm{Spec}(K)\}",
    assumptions=[r"K \succeq 0", r"\kappa > 0"],
    mathematics=True,
)
def spectrum_of_the_sandwich():
    """The matrix of the predictor's RKHS norm has the eigenvalues lambda / (lambda + kappa)^2."""
    image = lambda K, kappa, power: jnp.sort(spectrum(K) / (spectrum(K) + kappa) ** power)
    return identity(
        lhs=lambda K, kappa: spectrum(sandwich(K, kappa)),
        rhs=lambda K, kappa: image(K, kappa, 2),
        over=POINTS,
        control=dict(rhs=lambda K, kappa: image(K, kappa, 1)),
    )


@claim(
    "capture.B.spectrum.bound",
    ref="App. B",
    statement=r"\|\tilde K^{-1} K \tilde K^{-1}\|_2 \le 1 / (4 \kappa)",
    assumptions=[r"K \succeq 0", r"\kappa > 0"],
    mathematics=True,
)
def bound_of_the_sandwich():
    """The matrix of the RKHS norm is bounded by a quarter of the inverse ridge.

    Tight: equality where an eigenvalue of K equals kappa.
    """
    return inequality(
        lhs=lambda K, kappa: largest(sandwich(K, kappa)),
        rhs=lambda kappa: 1 / (4 * kappa),
        over=POINTS,
        **SEARCH,
        proof=everywhere(),
        control=dict(rhs=lambda kappa: 1 / (5 * kappa)),
    )


@claim(
    "capture.eq10.rkhs_norm",
    ref="Sec. 5.1, eq. (10)",
    statement=r"\|f_K\|^2_{\mathcal H_K} = y^\top (K + \kappa I)^{-1} K (K + \kappa I)^{-1} y",
    assumptions=[r"K \succeq 0", r"\kappa > 0"],
    mathematics=True,
)
def predictor_norm():
    """The squared RKHS norm of the ridge predictor is a quadratic form in the targets.

    The left side does not use the kernel trick: it is the norm of the feature-space weights
    w = argmin |Phi w - y|^2 + kappa |w|^2, for features Phi with Phi Phi^T = K.
    """
    primal = lambda Phi, y, kappa: weights(Phi.T @ Phi, Phi.T @ y, kappa)
    return identity(
        lhs=lambda Phi, y, kappa: primal(Phi, y, kappa) @ primal(Phi, y, kappa),
        rhs=lambda Phi, y, kappa: y @ sandwich(Phi @ Phi.T, kappa) @ y,
        over=inputs(Phi=reals("P 2"), y=reals("P"), kappa=RIDGE, P=(2,)),
        tol=1e-7,
        control=dict(rhs=lambda Phi, y, kappa: y @ inverse(Phi @ Phi.T, kappa) @ y),
    )


@claim(
    "capture.eq1.ridge",
    ref="Sec. 4.1, eq. (1) and footnote 3",
    statement=r"f_K(X_*) = \sum_\nu \alpha_\nu K(X_*, X_\nu), \quad "
    r"\alpha = (K + \kappa I_P)^{-1} y",
    assumptions=[r"K \succeq 0", r"\kappa > 0"],
)
def ridge_predictor():
    """`theorykit.kernels.ridge` is eq. (1) with the coefficients of footnote 3.

    The right side is in feature space: F w for w = argmin |Phi w - y|^2 + kappa |w|^2. Control:
    half the ridge.
    """
    shipped = lambda Phi, F, y, kappa: kernels.ridge(Phi @ Phi.T, y, F @ Phi.T, ridge=kappa).mean
    return identity(
        lhs=shipped,
        rhs=lambda Phi, F, y, kappa: F @ weights(Phi.T @ Phi, Phi.T @ y, kappa),
        over=inputs(Phi=reals("3 2"), F=reals("1 2"), y=reals("3"), kappa=RIDGE),
        tol=1e-7,
        control=dict(lhs=lambda Phi, F, y, kappa: shipped(Phi, F, y, kappa / 2)),
    )


@claim(
    "capture.B.posterior",
    ref="App. B",
    statement=r"z_T^{\mathrm{out}}(X_*) \mid \{X_\nu\}, y \sim "
    r"N(K^* \tilde K^{-1} y,\ k^* - K^* \tilde K^{-1} (K^*)^\top)",
    assumptions=[r"K \succeq 0 \text{ on training and test points}", r"\kappa > 0"],
)
def posterior():
    """`theorykit.kernels.gp_posterior` has the printed mean and variance.

    The right side uses neither K nor its inverse: the weights have posterior precision I + Phi' Phi
    / kappa. Control: the prior's variance.
    """

    def shipped(Phi, F, y, kappa):
        kernel = lambda A, B: A @ B.T
        found = kernels.gp_posterior(kernel(Phi, Phi), y, kernel(F, Phi), kernel(F, F), noise=kappa)
        return [found.mean, found.covariance]

    def by_weights(Phi, F, y, kappa):
        covariance = jnp.linalg.inv(jnp.eye(2) + Phi.T @ Phi / kappa)
        return [F @ covariance @ Phi.T @ y / kappa, F @ covariance @ F.T]

    return identity(
        lhs=shipped,
        rhs=by_weights,
        over=inputs(Phi=reals("3 2"), F=reals("1 2"), y=reals("3"), kappa=RIDGE),
        tol=1e-7,
        control=dict(rhs=lambda Phi, F, y, kappa: [by_weights(Phi, F, y, kappa)[0], F @ F.T]),
    )


@claim(
    "capture.5.1.reproducing_bound",
    ref="Sec. 5.1, before eq. (10)",
    statement=r"|g(X)| \le \|g\|_{\mathcal H_K} K(X, X)",
    assumptions=[r"g \in \mathcal H_K"],
    expect="refuted",
    falls="statement",
    consequence="The bound that eq. (11) starts from needs the root of K(X, X); the conclusion "
    "O(sqrt(P)) stands.",
    mathematics=True,
)
def reproducing_bound():
    """A function's value is at most its RKHS norm times the kernel's diagonal.

    False: |g(X)| <= |g| |K(X, .)| and |K(X, .)|^2 = <K(X, .), K(X, .)> = K(X, X), so the diagonal
    needs a square root. With g = K(X, .) the printed bound says k <= k^(3/2), false for k < 1.
    """
    return inequality(
        lhs=lambda K, alpha: jnp.abs(K[0] @ alpha),
        rhs=lambda K, alpha: rkhs_norm(K, alpha) * K[0, 0],
        over=inputs(K=psd("n"), alpha=reals("n"), n=(1, 2)),
        **SEARCH,
        control=dict(rhs=lambda K, alpha: rkhs_norm(K, alpha) * K[0, 0] / 2),
    )


@claim(
    "capture.5.1.reproducing_bound.repaired",
    ref="Sec. 5.1, before eq. (10)",
    statement=r"|g(X)| \le \|g\|_{\mathcal H_K} \sqrt{K(X, X)}",
    assumptions=[r"g \in \mathcal H_K"],
    mathematics=True,
)
def reproducing_bound_repaired():
    """A function's value is at most its RKHS norm times the root of the kernel's diagonal."""
    return inequality(
        lhs=lambda K, alpha: jnp.abs(K[0] @ alpha),
        rhs=lambda K, alpha: rkhs_norm(K, alpha) * jnp.sqrt(K[0, 0]),
        over=inputs(K=psd("n"), alpha=reals("n"), n=(3,)),
        floor=1e-7,
        **SEARCH,
        control=dict(rhs=lambda K, alpha: 0.9 * rkhs_norm(K, alpha) * jnp.sqrt(K[0, 0])),
    )


@claim(
    "capture.eq11.rkhs_bound",
    ref="Sec. 5.1, eq. (11)",
    statement=r"|f_K(X_*)| < \frac{\|y\|_2}{4 \kappa} K(X_*, X_*)",
    assumptions=[r"K \succeq 0 \text{ on training and test points}", r"\kappa > 0"],
    expect="refuted",
    falls="statement",
    consequence="Eq. (11) holds with sqrt(K(X*, X*)) and 1 / (2 sqrt(kappa)); the conclusion "
    "O(sqrt(P)) stands.",
    mathematics=True,
)
def rkhs_bound():
    """The predictor is below |y| / (4 kappa) times the kernel's diagonal at the test point.

    False: the squared norm of eq. (10) is at most |y|^2 / (4 kappa), and both its root and the
    root of K(X*, X*) were lost. One training point, tested on itself, with y = 1 and K = k gives
    k / (k + kappa) <= k / (4 kappa), which fails for every k < 3 kappa; so it does for a
    normalised kernel, k = 1, once kappa > 1/3.
    """
    return inequality(
        lhs=lambda G, y, kappa: jnp.abs(prediction(G, y, kappa)),
        rhs=lambda G, y, kappa: norm(y) / (4 * kappa) * G[-1, -1],
        over=TESTED,
        **SEARCH,
        control=dict(rhs=lambda G, y, kappa: norm(y) / (5 * kappa) * G[-1, -1]),
    )


@claim(
    "capture.eq11.rkhs_bound.repaired",
    ref="Sec. 5.1, eq. (11)",
    statement=r"|f_K(X_*)| \le \frac{\|y\|_2}{2 \sqrt\kappa} \sqrt{K(X_*, X_*)}",
    assumptions=[r"K \succeq 0 \text{ on training and test points}", r"\kappa > 0"],
    mathematics=True,
)
def rkhs_bound_repaired():
    """The predictor is at most |y| / (2 sqrt(kappa)) times the root of the kernel's diagonal.

    Tight: equality for one training point, tested on itself, with K = kappa. The growth with the
    number of points, sqrt(P) for bounded targets, is what the paper concludes.
    """
    return inequality(
        lhs=lambda G, y, kappa: jnp.abs(prediction(G, y, kappa)),
        rhs=lambda G, y, kappa: norm(y) / (2 * jnp.sqrt(kappa)) * jnp.sqrt(G[-1, -1]),
        over=TESTED,
        floor=1e-7,
        **SEARCH,
        proof=everywhere(),
        control=dict(
            rhs=lambda G, y, kappa: 0.9 * norm(y) / (2 * jnp.sqrt(kappa)) * jnp.sqrt(G[-1, -1])
        ),
    )
