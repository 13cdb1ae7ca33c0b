"""Section 5.1, eqs. (8)-(9): the first finite-width correction to the posterior mean.

The prior is a network of width N, f(x) = N^-1/2 sum_n a_n h_n(x), with Gaussian readout a and
hidden units that are one of two kinds, the first with probability p. Given that k units are of
the first kind, f is a Gaussian process with covariance (k A + (N - k) B) / N; so its posterior
mean is a sum over k, exact, and its cumulants are known at every N: K = p A + (1 - p) B, and
U / N with U = p (1 - p) (D D summed over the three pairings of four points), D = A - B.
"""

import numpy as np
from scipy.special import softmax
from scipy.stats import binom

from theorykit import claim
from theorykit.checks import rate

P, TESTS, PROBLEMS, KAPPA, SHARE = 4, 4, 16, 0.5, 0.3

# Axes: problem, point (P of training, then the tests), point.
_rng = np.random.default_rng(0)
_features = _rng.standard_normal((2, PROBLEMS, P + TESTS, 3))
A, B = np.einsum("kpxi,kpyi->kpxy", _features, _features) / 3
Y = _rng.standard_normal((PROBLEMS, P))
K, D = SHARE * A + (1 - SHARE) * B, A - B


def inverse(K):
    """Return Kt^-1 of the training points."""
    return np.linalg.inv(K[..., :P, :P] + KAPPA * np.eye(P))


def gaussian_mean(K):
    """Return f_K(X*) = K* Kt^-1 y at the tests."""
    return np.einsum("...xa,...ab,...b->...x", K[..., P:, :P], inverse(K), Y)


def log_evidence(K):
    """Return log N(y; 0, Kt), up to a constant."""
    Kti = inverse(K)
    return (np.linalg.slogdet(Kti)[1] - np.einsum("...a,...ab,...b->...", Y, Kti, Y)) / 2


def posterior_mean(width):
    """Return E[f(X*) | y] at this width: the mean over k of Gaussian posterior means, exactly."""
    k = np.arange(width + 1)[:, None]
    share = k[..., None, None] / width
    given = share * A + (1 - share) * B
    posterior = softmax(binom.logpmf(k, width, SHARE) + log_evidence(given), axis=0)
    return np.einsum("kp,kpx->px", posterior, gaussian_mean(given))


def correction(factor=1 / 6, trace=3.0, discrepancy=1.0):
    """Return f_U(X*) of eqs. (8)-(9), printed with 1/6, 3 and 1."""
    Kti = inverse(K)
    yt = np.einsum("pab,pb->pa", Kti, Y)
    pairs = [np.einsum(f"px{i},p{j}->pxabc", D[..., :P], D[:, :P, :P]) for i, j in PAIRINGS]
    U = SHARE * (1 - SHARE) * sum(pairs)  # the first of its four points may be a test
    Ut = U[:, P:] - discrepancy * np.einsum("pdabc,pde,pxe->pxabc", U[:, :P], Kti, K[:, P:, :P])
    cubic = np.einsum("pa,pb,pc->pabc", yt, yt, yt) - trace * np.einsum("pab,pc->pabc", Kti, yt)
    return factor * np.einsum("pxabc,pabc->px", Ut, cubic)


PAIRINGS = (("a", "bc"), ("b", "ac"), ("c", "ab"))


def remainder(width, **altered):
    """Return |f - f_K - f_U / N|, the norm over problems and tests."""
    away = posterior_mean(width) - gaussian_mean(K) - correction(**altered) / width
    return np.linalg.norm(away)


def second_order(**altered):
    """The remainder falls like N^-2; with `altered` in the formula it falls like N^-1."""
    return rate(
        measure=lambda width: remainder(width),
        at=(128, 256, 512, 1024),
        exponent=-2.0,
        tolerance=0.05,
        control=dict(measure=lambda width: remainder(width, **altered)),
    )


@claim(
    "capture.eq8.first_correction",
    ref="Sec. 5.1, eqs. (8)-(9)",
    statement=r"f = f_K + \tfrac1N f_U + O(N^{-2}), \quad "
    r"f_U = \tfrac16 \tilde U^*_{\mu_1\mu_2\mu_3}"
    r"(\tilde y_{\mu_1} \tilde y_{\mu_2} \tilde y_{\mu_3} "
    r"- 3 \tilde K^{-1}_{\mu_1\mu_2} \tilde y_{\mu_3}), \quad "
    r"\tilde U^* = U^* - U \tilde K^{-1} K^*",
    assumptions=["the prior's covariance is K and its fourth cumulant U/N, at every width N"],
    mathematics=True,
)
def first_correction():
    """The exact posterior mean of a width-N prior, less the printed first order, falls as N^-2.

    Signs and factor are right. With p = exp(U d^4 / 24 N) p_Gauss, integrating by parts over the
    value at the test leaves -(1 / 6N) Ut* d^3 p / p, and -d^3 p / p is the cubic of eq. (8). K in
    eq. (9) is the prior's own covariance. Control: the factor 3 of the trace term made 1.
    """
    return second_order(trace=1.0)


@claim(
    "capture.eq8.first_correction.factor",
    ref="Sec. 5.1, eq. (8)",
    statement=r"f_U = \tfrac16 \tilde U^* (\tilde y \tilde y \tilde y - 3 \tilde K^{-1} \tilde y)",
    assumptions=["the prior's covariance is K and its fourth cumulant U/N, at every width N"],
    mathematics=True,
)
def factor():
    """The prefactor of the correction is one sixth. Control: one fifth."""
    return second_order(factor=1 / 5)


@claim(
    "capture.eq9.discrepancy",
    ref="Sec. 5.1, eq. (9)",
    statement=r"\tilde U^*_{\mu_1\mu_2\mu_3} = U^*_{\mu_1\mu_2\mu_3} "
    r"- U_{\mu_1\mu_2\mu_3\mu_4} \tilde K^{-1}_{\mu_4\nu} K^*_\nu",
    assumptions=["the prior's covariance is K and its fourth cumulant U/N, at every width N"],
    mathematics=True,
)
def discrepancy():
    """The cumulant enters through its regression residual. Control: through its regression."""
    return second_order(discrepancy=-1.0)
