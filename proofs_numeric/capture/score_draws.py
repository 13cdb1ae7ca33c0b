"""Appendix D: drawing the scores of two inputs at cubic cost.

All second moments here are exact. A draw is a linear map of standard normals U; with J its
Jacobian, the covariance of what is drawn is J J^T.
"""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import everywhere, identity, inequality
from theorykit.checks.domains import inputs, interval, positive, psd, reals
from theorykit.kernels import draws, recursion

cholesky, inv, kron = jnp.linalg.cholesky, jnp.linalg.inv, jnp.kron

# The covariance of the tokens of two inputs, well conditioned.
DEFINITE = inputs(S=psd("2*T", bound=1), T=(2,)).map(lambda S: dict(S=S + 0.1 * jnp.eye(len(S))))


def singular(g, h, c):
    """Return the covariance of two inputs, X1's of rank one along g; c^2 is what they share."""
    first = jnp.stack([g, jnp.zeros(2), jnp.zeros(2)], 1)
    second = jnp.concatenate([c * h[:, None], jnp.eye(2)], 1)
    F = jnp.concatenate([first, second])
    return dict(S=F @ F.T)


SINGULAR = inputs(g=positive("2"), h=reals("2"), c=interval(0, 1), T=(2,)).map(singular)


def blocks(S):
    """Return S11, S12, S21, S22."""
    T = len(S) // 2
    return S[:T, :T], S[:T, T:], S[T:, :T], S[T:, T:]


def covariance(draw, *shape):
    """Return the covariance of the flattened draw(U), U standard normal of this shape."""
    J = jax.jacobian(lambda U: draw(U).ravel())(jnp.zeros(shape)).reshape(-1, np.prod(shape))
    return J @ J.T


def score_law(S):
    """Return the covariance of (vec S(X1), vec S(X2)) that eq. (7) asks for."""
    S11, S12, S21, S22 = blocks(S)
    return jnp.block([[kron(S11, S11), kron(S12, S12)], [kron(S21, S21), kron(S22, S22)]])


def theta_cond(S):
    """Return the conditional covariance Theta22 - Theta21 Theta11^-1 Theta12."""
    S11, S12, S21, S22 = blocks(S)
    return kron(S22, S22) - kron(S21, S21) @ inv(kron(S11, S11)) @ kron(S12, S12)


def theta_cond_singular(S):
    """Return the same with the pseudo-inverse of S11 = g g^T, which is S11 / |g|^4."""
    S11, S12, S21, S22 = blocks(S)
    pseudo = S11 / jnp.trace(S11) ** 2
    return kron(S22, S22) - kron(S21, S21) @ kron(pseudo, pseudo) @ kron(S12, S12)


def regression(S):
    """Return B = S21 S11^-1."""
    S11, _, S21, _ = blocks(S)
    return S21 @ inv(S11)


def printed_H(S):
    """Return L2^-1 S21 S11^-1 S21 L2^-T, with S21 twice, as printed."""
    _, _, S21, S22 = blocks(S)
    L2 = cholesky(S22)
    return inv(L2) @ regression(S) @ S21 @ inv(L2.T)


def H(S):
    """Return L2^-1 S21 S11^-1 S12 L2^-T."""
    _, S12, _, S22 = blocks(S)
    L2 = cholesky(S22)
    return inv(L2) @ regression(S) @ S12 @ inv(L2.T)


def printed_whitening(S):
    """Return (L2^-T x L2^-1) Theta_cond (L2^-1 x L2^-T), as printed."""
    L2 = cholesky(blocks(S)[3])
    return kron(inv(L2.T), inv(L2)) @ theta_cond(S) @ kron(inv(L2), inv(L2.T))


def whitening(S):
    """Return (L2^-1 x L2^-1) Theta_cond (L2^-T x L2^-T)."""
    L2 = cholesky(blocks(S)[3])
    return kron(inv(L2), inv(L2)) @ theta_cond(S) @ kron(inv(L2.T), inv(L2.T))


def remainder(H):
    """Return I x I - H x H."""
    return jnp.eye(H.size) - kron(H, H)


@claim(
    "capture.D.kronecker_draw",
    ref="App. D",
    statement=r"S = L U L^\top,\ \Sigma' = L L^\top,\ U_{ab} \sim N(0, 1) "
    r"\ \Rightarrow\ \mathrm{Cov}(\mathrm{vec}\,S) = \Sigma' \otimes \Sigma'",
    assumptions=[r"\Sigma' \succeq 0"],
    mathematics=True,
)
def kronecker_draw():
    """L U L^T has the Kronecker covariance, for any factor L, singular ones included.

    Both sides are polynomials in L. Control: the right factor is not transposed.
    """
    law = lambda draw: lambda L, T: covariance(lambda U: draw(L, U), T, T)
    return identity(
        lhs=law(lambda L, U: L @ U @ L.T),
        rhs=lambda L: kron(L @ L.T, L @ L.T),
        over=inputs(L=reals("T T"), T=(3,)),
        proof=everywhere(),
        control=dict(lhs=law(lambda L, U: L @ U @ L)),
    )


@claim(
    "capture.D.conditional_mean",
    ref="App. D",
    statement=r"\Theta_{21} \Theta_{11}^{-1} \mathrm{vec}(S(X_1)) = \mathrm{vec}\left("
    r"\Sigma'_{21} \Sigma'^{-1}_{11} S(X_1) (\Sigma'_{21} \Sigma'^{-1}_{11})^\top\right)",
    assumptions=[r"\Sigma'_{11} \succ 0"],
    mathematics=True,
)
def conditional_mean():
    """The conditional mean of the scores is B S B^T with B = S21 S11^-1."""
    Theta = lambda S: [kron(block, block) for block in blocks(S)]
    by_blocks = lambda S, S1: Theta(S)[2] @ jnp.linalg.solve(Theta(S)[0], S1.ravel())
    return identity(
        lhs=by_blocks,
        rhs=lambda S, S1: (regression(S) @ S1 @ regression(S).T).ravel(),
        over=inputs(S=psd("2*T", bound=1), S1=reals("T T"), T=(2,)).map(
            lambda S, S1: dict(S=S + 0.1 * jnp.eye(len(S)), S1=S1)
        ),
        control=dict(rhs=lambda S, S1: (regression(S).T @ S1 @ regression(S)).ravel()),
    )


@claim(
    "capture.D.H",
    ref="App. D",
    statement=r"(L_2^{-\top} \otimes L_2^{-1})\, \Theta_{\mathrm{cond}}\, "
    r"(L_2^{-1} \otimes L_2^{-\top}) = I \otimes I - H \otimes H, \quad "
    r"H := L_2^{-1} \Sigma'_{21} \Sigma'^{-1}_{11} \Sigma'_{21} L_2^{-\top}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0", r"\Sigma'_{22} = L_2 L_2^\top"],
    expect="refuted",
    falls="wording",
    consequence="With Sigma_12 for the second Sigma_21, and the whitening L2^-1 x L2^-1, the "
    "identity and the sampler are right and cost O(T^3).",
    mathematics=True,
)
def printed_identity():
    """The whitened conditional covariance is I x I - H x H, whitening and H both as printed.

    False for T >= 2, for two reasons; each mistake alone is refuted below. At T = 1 it is true.
    """
    return identity(
        lhs=printed_whitening,
        rhs=lambda S: remainder(printed_H(S)),
        over=DEFINITE,
        control=dict(rhs=lambda S: remainder(-2 * printed_H(S))),
    )


@claim(
    "capture.D.H.repaired",
    ref="App. D",
    statement=r"(L_2^{-1} \otimes L_2^{-1})\, \Theta_{\mathrm{cond}}\, "
    r"(L_2^{-\top} \otimes L_2^{-\top}) = I \otimes I - H \otimes H, \quad "
    r"H := L_2^{-1} \Sigma'_{21} \Sigma'^{-1}_{11} \Sigma'_{12} L_2^{-\top}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0", r"\Sigma'_{22} = L_2 L_2^\top"],
    mathematics=True,
)
def repaired_identity():
    """The same with S12 for the second S21 and the whitening that undoes L2 x L2.

    Control: H as printed.
    """
    return identity(
        lhs=whitening,
        rhs=lambda S: remainder(H(S)),
        over=DEFINITE,
        control=dict(rhs=lambda S: remainder(printed_H(S))),
    )


@claim(
    "capture.D.H.whitening",
    ref="App. D",
    statement=r"(L_2^{-\top} \otimes L_2^{-1})\, \Theta_{\mathrm{cond}}\, "
    r"(L_2^{-1} \otimes L_2^{-\top}) = I \otimes I - H \otimes H, \quad "
    r"H := L_2^{-1} \Sigma'_{21} \Sigma'^{-1}_{11} \Sigma'_{12} L_2^{-\top}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0", r"\Sigma'_{22} = L_2 L_2^\top"],
    expect="refuted",
    falls="wording",
    consequence="The factors that undo L2 x L2 are L2^-1 x L2^-1; with them the identity is right.",
    mathematics=True,
)
def printed_whitening_alone():
    """The printed whitening, with H repaired, gives I x I - H x H.

    False: for S12 = 0 its first factor leaves L2^-T L2 L2^T L2^-1, which is I only for diagonal
    L2.
    """
    return identity(
        lhs=printed_whitening,
        rhs=lambda S: remainder(H(S)),
        over=DEFINITE,
        control=dict(rhs=lambda S: remainder(-2 * H(S))),
    )


@claim(
    "capture.D.H.whitening.repaired",
    ref="App. D",
    statement=r"(L_2^{-1} \otimes L_2^{-1})\, \Theta_{22}\, (L_2^{-\top} \otimes L_2^{-\top}) = "
    r"I \otimes I",
    assumptions=[r"\Sigma'_{22} = L_2 L_2^\top \succ 0"],
    mathematics=True,
)
def repaired_whitening_alone():
    """L2^-1 x L2^-1 whitens the scores of one input. Control: the printed factors."""
    apart = lambda S: S * kron(jnp.eye(2), jnp.ones((2, 2)))  # S12 = 0
    return identity(
        lhs=lambda S: whitening(apart(S)),
        rhs=lambda: jnp.eye(4),
        over=DEFINITE,
        control=dict(lhs=lambda S: printed_whitening(apart(S))),
    )


@claim(
    "capture.D.footnote7",
    ref="App. D, footnote 7",
    statement=r"\Sigma'_{11} \text{ singular} \ \Rightarrow\ \Theta_{\mathrm{cond}} = "
    r"\Theta_{22} - \Theta_{21} \Theta_{11}^+ \Theta_{12} \text{ is singular}",
    assumptions=[r"\Sigma' \succeq 0"],
    expect="refuted",
    falls="wording",
    consequence="It is the law of S(X1) that becomes degenerate, not the conditional one; the "
    "pseudo-inverse serves as the footnote says.",
    mathematics=True,
)
def printed_footnote():
    """Where Sigma_11 is singular the conditional law of S(X2) is degenerate.

    False: for independent inputs it is the law of S(X2), whatever S(X1) is; here with Sigma_22 = I
    and one direction of X1. Control: it is as far from degenerate as the law
    of S(X2).
    """
    smallest = lambda S: jnp.linalg.eigvalsh(theta_cond_singular(S))[0]
    return identity(
        lhs=smallest,
        rhs=lambda: 0.0,
        over=SINGULAR,
        control=dict(rhs=lambda S: jnp.linalg.eigvalsh(kron(blocks(S)[3], blocks(S)[3]))[0]),
    )


@claim(
    "capture.D.footnote7.repaired",
    ref="App. D, footnote 7",
    statement=r"\Sigma'_{11} \text{ singular}: \text{ with } \Sigma'^+_{11} \text{ for the inverse "
    r"the two-step draw has the covariance of eq. (7)}",
    assumptions=[r"\Sigma' \succeq 0"],
)
def repaired_footnote():
    """`theorykit.kernels.draws.conditional` is right for singular Sigma_11 too.

    Control: it is given S21 for S12.
    """
    law = lambda flip: lambda S, T: covariance(lambda U: two_steps(S, U, flip), 2, T, T)
    return identity(
        lhs=law(False),
        rhs=score_law,
        over=SINGULAR,
        tol=1e-6,
        control=dict(lhs=law(True)),
    )


@claim(
    "capture.D.H.bounded",
    ref="App. D",
    statement=r"I - H \succeq 0, \quad "
    r"H := L_2^{-1} \Sigma'_{21} \Sigma'^{-1}_{11} \Sigma'_{21} L_2^{-\top}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0", r"\Sigma'_{22} = L_2 L_2^\top"],
    expect="refuted",
    falls="wording",
    consequence="The bound holds for the H that is meant, with Sigma_12.",
    mathematics=True,
)
def printed_bound():
    """x^T H x <= x^T x, for the printed H, which is not symmetric.

    False: with W = L2^-1 S21 L1^-T, a contraction, the printed H is W (L1^-1 L2) W (L1^T L2^-T),
    and the factors between the W's are as large as L1 and L2 are different.
    """
    return largest_form(printed_H)


@claim(
    "capture.D.H.bounded.repaired",
    ref="App. D",
    statement=r"I - H \succeq 0, \quad "
    r"H := L_2^{-1} \Sigma'_{21} \Sigma'^{-1}_{11} \Sigma'_{12} L_2^{-\top}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0", r"\Sigma'_{22} = L_2 L_2^\top"],
    mathematics=True,
)
def repaired_bound():
    """x^T H x <= x^T x for H = W W^T, W = L2^-1 S21 L1^-T; tight when one input fixes the other."""
    return largest_form(H)


def largest_form(H):
    """Return the check that the quadratic form of H is at most one; control: at most a half."""
    form = lambda S: jnp.linalg.eigvalsh((H(S) + H(S).T) / 2)[-1]
    return inequality(
        lhs=form,
        rhs=lambda S: 1.0,
        over=DEFINITE,
        starts=16,
        steps=60,
        control=dict(rhs=lambda S: 0.5),
    )


def printed_root(H):
    """Return the map U -> Q (sqrt(11' - l l') o Q^-1 U Q^-T) Q^T on 2 x 2 matrices, H = Q l Q^-1.

    With the spectral projectors P_i of H it is the sum over i, j of sqrt(1 - l_i l_j) P_i x P_j.
    H is not symmetric in general, so the eigenvalues may be complex.
    """
    mean, half = jnp.trace(H) / 2, (H[0, 0] - H[1, 1]) / 2
    away = jnp.sqrt(half**2 + H[0, 1] * H[1, 0] + 0j)
    eigenvalues = mean + away, mean - away
    # Where H is a multiple of I every direction is an eigenvector.
    first = (H - eigenvalues[1] * jnp.eye(2)) / jnp.where(away == 0, 1, 2 * away)
    pairs = list(zip(eigenvalues, (first, jnp.eye(2) - first), strict=True))
    return sum(jnp.sqrt(1 - l * m) * kron(P, Q) for l, P in pairs for m, Q in pairs)


def printed_covariance(S):
    """Return the covariance (its real part) of both inputs' scores, drawn with H as printed."""
    L1, L2 = (cholesky(block) for block in (blocks(S)[0], blocks(S)[3]))
    B, first = regression(S), kron(L1, L1)
    second = kron(L2, L2) @ printed_root(printed_H(S))
    J = jnp.block([[first, 0 * second], [kron(B, B) @ first, second]])
    return (J @ J.T).real


@claim(
    "capture.D.joint_draw",
    ref="App. D",
    statement=r"S(X_2) | S(X_1) = M_{\mathrm{cond}} + L_2 Q \Delta Q^\top L_2^\top, \quad "
    r"\Delta = \sqrt{\mathbf 1 \mathbf 1^\top - \lambda \lambda^\top} \odot Q^{-1} U Q^{-\top}, "
    r"\quad H = Q \Lambda Q^{-1} \text{ as printed}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0"],
    expect="refuted",
    falls="wording",
    consequence="The sampler is right for the H that is meant, with Sigma_12; its cost is the "
    "same.",
    mathematics=True,
)
def printed_joint_draw():
    """The two-step draw, with H as printed, has the covariance of eq. (7).

    False from T = 2 on, since H is. The other steps are right once H is symmetric: Q is then
    orthogonal and I x I - H x H has the eigenvalues 1 - l l'.
    """
    return identity(
        lhs=printed_covariance,
        rhs=score_law,
        over=DEFINITE,
        cases=16,
        tol=1e-7,
        control=dict(rhs=lambda S: 2 * score_law(S)),
    )


@claim(
    "capture.D.joint_draw.repaired",
    ref="App. D",
    statement=r"S(X_1) = L_1 U_1 L_1^\top,\ S(X_2) = M_{\mathrm{cond}} + L_2 Q \Delta Q^\top "
    r"L_2^\top \text{ with } H = L_2^{-1} \Sigma'_{21} \Sigma'^{-1}_{11} \Sigma'_{12} L_2^{-\top} "
    r"\text{ have the covariance } (\Sigma'_{ij} \otimes \Sigma'_{ij})_{ij}",
    assumptions=[r"\Sigma'_{11}, \Sigma'_{22} \succ 0"],
)
def repaired_joint_draw():
    """`theorykit.kernels.draws.conditional` has the covariance of eq. (7).

    Control: it is given S21 for S12.
    """
    law = lambda flip: lambda S, T: covariance(lambda U: two_steps(S, U, flip), 2, T, T)
    return identity(
        lhs=law(False),
        rhs=score_law,
        over=DEFINITE,
        tol=1e-7,
        control=dict(lhs=law(True)),
    )


def two_steps(S, U, flip):
    """Return the scores of both inputs by the shipped two-step sampler."""
    S11, S12, S21, S22 = blocks(S)
    return draws.conditional(S11, S21 if flip else S12, S22, U)


@claim(
    "capture.joint_factor",
    ref="eq. (7)",
    statement=r"S_i = F_i U F_i^\top,\ \Sigma' = F F^\top \ \Rightarrow\ "
    r"\mathrm{Cov}(S_{ac}(X_i), S_{be}(X_j)) = \Sigma'_{ab}(X_i, X_j) \Sigma'_{ce}(X_i, X_j)",
    assumptions=[r"\Sigma' \succeq 0 \text{ over the tokens of the whole batch}"],
)
def joint_factor():
    """One U for a whole batch draws the scores of all its inputs with the law of eq. (7).

    For any factor F, of any rank: 1, 2, full. Both sides are polynomials in F. Control: every input
    has a U of its own.
    """
    alone = lambda P: jnp.eye(P)[:, None, None, :, None, None]

    def law(F, P, T):
        scores = lambda U: recursion.scores(F, F, U[None], 1.0)[:, :, 0]
        return covariance(scores, F.shape[-1], F.shape[-1]).reshape(P, T, T, P, T, T)

    def eq7(F):
        S = jnp.einsum("iar,jbr->iajb", F, F)
        return jnp.einsum("iajb,icje->iacjbe", S, S)

    return identity(
        lhs=law,
        rhs=eq7,
        over=inputs(F=reals("P T r"), P=(3,), T=(2,), r=(1, 2, 6)),
        proof=everywhere(),
        control=dict(lhs=lambda F, P, T: alone(P) * law(F, P, T)),
    )


@claim(
    "capture.joint_factor.shipped",
    ref="eq. (7)",
    statement=r"\Sigma' = F F^\top, \quad F = \texttt{kernels.draws.factor}(\Sigma')",
    assumptions=[r"\Sigma' \succeq 0"],
)
def shipped_factor():
    """The kernels draw with a factor of the covariance, whatever its rank.

    Control: the factor is symmetric.
    """
    F = lambda S: draws.factor(S)[0]
    return identity(
        lhs=lambda S: F(S) @ F(S).T,
        rhs=lambda S: S,
        over=inputs(S=psd(6, rank="r"), r=(1, 2, 6)),
        control=dict(lhs=lambda S: F(S) @ F(S)),
    )
