"""Section 5.1: what enters the first correction to the predictor stays bounded in T."""

import jax.numpy as jnp

from theorykit import claim
from theorykit.checks import inequality, rate
from theorykit.checks.domains import inputs, positive, psd, reals
from theorykit.proofs_numeric.capture._noise import draws, normal, tokens

LENGTHS = dict(at=(8, 32, 128), at_most=0.0, replicates=8, batch=1)


def kernel(key, T):
    """Return K = Sigma_TT^out(X, X) of one input of T normalised tokens, over 512 draws."""
    F = tokens(1, T)[0]
    return draws(F, F, normal(key, (256, 4, 4))).mean()


def cumulant(key, T):
    """Return U = H times the fourth cumulant of the output of H heads.

    Given the attention weights the output is Gaussian with variance v = mean over heads of
    A Sigma' A', so the cumulant is 3 Var(v) = 3 Var(A Sigma' A') / H.
    """
    F = tokens(1, T)[0]
    return 3 * draws(F, F, normal(key, (256, 4, 4))).var()


@claim(
    "capture.5.1.bounded_in_T",
    ref="Sec. 5.1",
    statement=r"U_{\mu_1 \dots \mu_4} = O(1) \text{ in } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}", "finite heads, value weights Gaussian"],
)
def fourth_cumulant():
    """The fourth cumulant of the output, scaled by the number of heads, does not grow with T.

    K and y~ have claims of their own. Control: sums in place of averages.
    """
    return rate(measure=cumulant, **LENGTHS, control=dict(measure=lambda k, T: T * cumulant(k, T)))


@claim(
    "capture.5.1.bounded_in_T.kernel",
    ref="Sec. 5.1",
    statement=r"K_{\mu\nu} = O(1) \text{ in } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}"],
)
def kernel_entries():
    """The variance of the output does not grow with the number of tokens."""
    return rate(measure=kernel, **LENGTHS, control=dict(measure=lambda k, T: T * kernel(k, T)))


@claim(
    "capture.5.1.bounded_in_T.targets",
    ref="Sec. 5.1",
    statement=r"|\tilde y_\mu| = |\tilde K^{-1}_{\mu\nu} y_\nu| \le \|y\|_2 / \kappa",
)
def whitened_targets():
    """The whitened targets are bounded by the targets and the ridge: T does not enter."""
    solve = lambda K, kappa, y: jnp.linalg.solve(K + kappa * jnp.eye(len(y)), y)
    return inequality(
        lhs=lambda K, kappa, y: jnp.abs(solve(K, kappa, y)).max(),
        rhs=lambda kappa, y: jnp.linalg.norm(y) / kappa,
        over=inputs(K=psd("P"), kappa=positive(), y=reals("P"), P=(1, 4)),
        starts=16,
        steps=60,
        control=dict(rhs=lambda kappa, y: 0.5 * jnp.linalg.norm(y) / kappa),
    )
