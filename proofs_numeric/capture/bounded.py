"""Section 5.1: the ingredients of the first correction to the predictor stay bounded in T."""

import jax.numpy as jnp

from theorykit import claim
from theorykit.checks import inequality, rate
from theorykit.checks.domains import inputs, positive, psd, reals
from theorykit.kernels import ridge
from theorykit.proofs_numeric.capture._noise import averages, normal, tokens

LENGTHS = dict(at=(8, 32, 128), at_most=0.0, replicates=8, batch=1)


def values(key, T):
    """Return A Sigma' A' of the last tokens, (4, 4, draws), for four inputs of T tokens."""
    found = averages(tokens(4, T), normal(key, (512, 4, 4)))
    return jnp.einsum("ind,jnd->ijn", found, found)


def kernel(key, T):
    """Return the largest |K_mu_nu| = |Sigma_TT^out(X_mu, X_nu)| of the four inputs."""
    return jnp.abs(values(key, T).mean(-1)).max()


def cumulant(key, T):
    """Return the largest |U| over any four of the inputs, coincident or not.

    U is H times the fourth cumulant of the outputs of H heads. Given the attention weights outputs
    are Gaussian with covariance v_ij, the mean over heads of A Sigma'_ij A', so the cumulant is the
    sum over the three pairings of Cov(v_ij, v_kl), each of order 1 / H.
    """
    v = values(key, T)
    v = v - v.mean(-1, keepdims=True)
    pairing = jnp.einsum("ijn,kln->ijkl", v, v) / v.shape[-1]
    U = pairing + pairing.transpose(0, 2, 1, 3) + pairing.transpose(0, 3, 2, 1)
    return jnp.abs(U).max()


def sums(measure):
    """Return the measure multiplied by T, as for sums in place of averages."""
    return lambda key, T: T * measure(key, T)


@claim(
    "capture.5.1.bounded_in_T",
    ref="Sec. 5.1",
    statement=r"U_{\mu_1 \dots \mu_4} = O(1) \text{ in } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}", "finite heads, value weights Gaussian"],
)
def fourth_cumulant():
    """The fourth cumulant of the output at any four points, equal or not, does not grow with T.

    Scaled by the number of heads. K and y~ have claims of their own. Control: T times as large.
    """
    return rate(measure=cumulant, **LENGTHS, control=dict(measure=sums(cumulant)))


@claim(
    "capture.5.1.bounded_in_T.kernel",
    ref="Sec. 5.1",
    statement=r"K_{\mu\nu} = O(1) \text{ in } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}"],
)
def kernel_entries():
    """Variances and covariances of outputs do not grow with T. Control: T times as large."""
    return rate(measure=kernel, **LENGTHS, control=dict(measure=sums(kernel)))


@claim(
    "capture.5.1.bounded_in_T.targets",
    ref="Sec. 5.1",
    statement=r"|\tilde y_\mu| = |\tilde K^{-1}_{\mu\nu} y_\nu| \le \|y\|_2 / \kappa",
)
def whitened_targets():
    """The whitened targets are bounded by the targets and the ridge: T does not enter."""
    solve = lambda K, kappa, y: ridge(K, y, K, ridge=kappa).alpha
    return inequality(
        lhs=lambda K, kappa, y: jnp.abs(solve(K, kappa, y)).max(),
        rhs=lambda kappa, y: jnp.linalg.norm(y) / kappa,
        over=inputs(K=psd("P"), kappa=positive(), y=reals("P"), P=(1, 4)),
        starts=16,
        steps=60,
        control=dict(rhs=lambda kappa, y: 0.5 * jnp.linalg.norm(y) / kappa),
    )
