"""Appendix E.1, eqs. (16)-(24): how a perturbed covariance moves the attention step."""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import everywhere, identity, inequality
from theorykit.checks.domains import inputs, interval, psd, reals
from theorykit.proofs_numeric.capture._softmax import f, hessian_sum

size = lambda V: jnp.abs(V).max()


def gauss(dimension, points):
    """Return the nodes and weights of tensor Gauss-Hermite quadrature under N(0, I)."""
    x, w = np.polynomial.hermite_e.hermegauss(points)
    nodes = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    weights = np.stack(np.meshgrid(*[w] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    return nodes, weights.prod(-1) / weights.prod(-1).sum()


def representatives(C, points):
    """Return scores (s1, s2), nodes of N(0, C) up to shifts of s1 and of s2, and their weights.

    A softmax depends on differences only, so subtracting the last scores leaves 2 (T - 1)
    dimensions.
    """
    T = len(C) // 2
    shift = jnp.eye(T)[:-1] - jnp.eye(T)[-1]
    differences = jnp.kron(jnp.eye(2), shift)
    nodes, weights = gauss(2 * (T - 1), points)
    x = nodes @ jnp.linalg.cholesky(differences @ C @ differences.T).T
    return jnp.pad(x.reshape(-1, 2, T - 1), ((0, 0), (0, 0), (0, 1))), jnp.asarray(weights)


def mean(g, C, points):
    """Return E[g(s1, s2)] for (s1, s2) from N(0, C)."""
    s, weights = representatives(C, points)
    return jnp.tensordot(weights, jax.vmap(g)(s[:, 0], s[:, 1]), 1)


def hessian(V):
    """Return the function (s1, s2) -> the 2T x 2T Hessian of f."""
    blocks = jax.hessian(lambda s: f(s[: len(V)], s[len(V) :], V))
    return lambda s1, s2: blocks(jnp.concatenate([s1, s2]))


def path(C, dC, V, points):
    """Return phi(t) = E[f] under N(0, C + t dC), eqs. (18)-(19)."""
    return lambda t: mean(lambda s1, s2: f(s1, s2, V), C + t * dC, points)


# Two positive definite score covariances, the ends of the path, and any V = Sigma'(X1, X2).
ENDS = dict(C0=psd("2*T", bound=0.2), C1=psd("2*T", bound=0.2), V=interval(-1, 1, "T T"))
definite = lambda C0, C1, V: dict(C=C0 + 0.02 * jnp.eye(len(C0)), dC=C1 - C0, V=V)


@claim(
    "capture.E1.value",
    ref="App. E.1, eq. (16)",
    statement=r"e_{\mathrm{val}} = \left|\mathbb E_{\tilde s \sim N(0, C + \Delta C)} \left["
    r"\sum_{c,e} A_c(s_1) \Delta\Sigma'_{ce} A_e(s_2)\right]\right| \le \|\Delta\Sigma'\|_\infty",
    mathematics=True,
)
def value():
    """The direct effect of a perturbation is at most its largest entry, at any T.

    Tight, as the paper says: a constant perturbation is passed on unchanged. The expectation is
    by quadrature, over score covariances G G^T of rank 2.
    """
    nodes, weights = gauss(2, 6)
    scores = lambda G: (nodes @ G.T).reshape(len(nodes), 2, -1)
    means = lambda G, dV: weights @ jax.vmap(lambda s: f(s[0], s[1], dV))(scores(G))
    return inequality(
        lhs=lambda G, dV: jnp.abs(means(G, dV)),
        rhs=lambda dV: size(dV),
        over=inputs(G=reals("2*T 2"), dV=reals("T T"), T=(2, 12)),
        starts=16,
        steps=60,
        control=dict(rhs=lambda dV: 0.9 * size(dV)),
    )


def row_covariance(S, a, b):
    """Return C of eq. (17)'s preamble, for tokens a and b: (S_ij)_ab (S_ij)_ce, as (i, c, j, e)."""
    blocks = S.reshape(2, len(S) // 2, 2, len(S) // 2)
    return jnp.einsum("ij,icje->icje", blocks[:, a, :, b], blocks)


@claim(
    "capture.E1.row_covariance",
    ref="App. E.1, before eq. (17)",
    statement=r"C_{(i,c),(j,e)} = (\Sigma'_{ij})_{ab} (\Sigma'_{ij})_{ce}",
    assumptions=[r"\tilde s = (S_{a\bullet}(X_1), S_{b\bullet}(X_2))"],
    expect="refuted",
    falls="wording",
    consequence="The diagonal blocks carry indices of the wrong pair of tokens; eq. (17) and what "
    "follows hold for the right ones.",
    mathematics=True,
)
def printed_row_covariance():
    """The covariance of the two score rows has the factor (Sigma'_ij)_ab in all four blocks.

    False for a != b: both scores in a diagonal block come from the same row, so eq. (7) has
    (Sigma'_11)_aa and (Sigma'_22)_bb there. The printed C need not even be positive semidefinite.
    """
    return identity(
        lhs=rows_of_a_draw,
        rhs=lambda F: row_covariance(F @ F.T, 0, 1),
        over=inputs(F=reals("2*T r"), T=(2,), r=(1, 4)),
        control=dict(rhs=lambda F: -row_covariance(F @ F.T, 0, 1)),
    )


@claim(
    "capture.E1.row_covariance.repaired",
    ref="App. E.1, before eq. (17)",
    statement=r"C_{(i,c),(j,e)} = (\Sigma'_{ij})_{a_i a_j} (\Sigma'_{ij})_{ce}, "
    r"\quad (a_1, a_2) = (a, b)",
    assumptions=[r"\tilde s = (S_{a\bullet}(X_1), S_{b\bullet}(X_2))"],
    mathematics=True,
)
def repaired_row_covariance():
    """Each block of the covariance of the two score rows has its own query tokens as factor.

    Both sides are polynomials in the factor F of the tokens' covariance F F^T.
    """
    blocks = lambda S: S.reshape(2, len(S) // 2, 2, len(S) // 2)
    queries = lambda S: blocks(S)[[[0], [1]], [[0], [1]], [[0, 1]], [[0, 1]]]
    law = lambda S: jnp.einsum("ij,icje->icje", queries(S), blocks(S))
    return identity(
        lhs=rows_of_a_draw,
        rhs=lambda F: law(F @ F.T),
        over=inputs(F=reals("2*T r"), T=(2, 3), r=(1, 4)),
        proof=everywhere(),
        control=dict(rhs=lambda F: row_covariance(F @ F.T, 0, 1)),
    )


def rows_of_a_draw(F):
    """Return Cov of (row 0 of S(X1), row 1 of S(X2)), exactly, from the draw F U F^T."""
    T, r = len(F) // 2, F.shape[1]
    rows = lambda U: jnp.stack([(F @ U @ F.T)[0, :T], (F @ U @ F.T)[T + 1, T:]])
    J = jax.jacobian(rows)(jnp.zeros((r, r)))
    return jnp.einsum("icuv,jeuv->icje", J, J)


@claim(
    "capture.E1.delta_C",
    ref="App. E.1, eq. (17)",
    statement=r"\|\Delta C\|_\infty \le 2M \|\Delta\Sigma'\|_\infty + \|\Delta\Sigma'\|_\infty^2",
    assumptions=[r"\|\Sigma'\|_\infty \le M"],
    mathematics=True,
)
def delta_C():
    """A perturbed covariance moves the covariance of the scores by at most this much.

    Tight for equal entries. It makes no difference which of the two forms of C is meant.
    """
    change = lambda S, dS: row_covariance(S + dS, 0, -1) - row_covariance(S, 0, -1)
    return inequality(
        lhs=lambda S, dS: size(change(S, dS)),
        rhs=lambda S, dS: 2 * size(S) * size(dS) + size(dS) ** 2,
        over=inputs(S=psd("2*T", bound=1), dS=interval(-3, 3, "2*T 2*T"), T=(2,)),
        starts=8,
        steps=40,
        control=dict(rhs=lambda S, dS: 2 * size(S) * size(dS)),
    )


@claim(
    "capture.E1.price",
    ref="App. E.1, eq. (21)",
    statement=r"\varphi'(t) = \tfrac12 \sum_{i,j,c,e} \Delta C_{(i,c),(j,e)} \mathbb E\left["
    r"\frac{\partial^2 f}{\partial \tilde S_{(i,c)} \partial \tilde S_{(j,e)}}\right]",
    assumptions=[r"C + t \Delta C \succ 0 \text{ along the path}"],
    mathematics=True,
)
def price():
    """The derivative of a Gaussian mean along a path of covariances is half a mean Hessian.

    Left: the quadrature for E[f] under N(0, C + t dC), differentiated in t by autodiff, at the
    middle of the path. Right: quadrature of the Hessian. Both converge to rounding in the number of
    nodes while the scores stay of size one. Control: without the factor one half.
    """
    points = 6
    middle = lambda C, dC: C + dC / 2
    at_middle = lambda C, dC, V: jax.jvp(path(C, dC, V, points), (0.5,), (1.0,))[1]
    contracted = lambda C, dC, V: (dC * mean(hessian(V), middle(C, dC), points)).sum()
    return identity(
        lhs=at_middle,
        rhs=lambda C, dC, V: contracted(C, dC, V) / 2,
        over=inputs(**ENDS, T=(3,)).map(definite),
        tol=1e-3,
        floor=1e-2,
        cases=8,
        batch=16,
        control=dict(rhs=contracted),
    )


@claim(
    "capture.E1.measure",
    ref="App. E.1, eq. (24)",
    statement=r"e_{\mathrm{measure}} \le \tfrac12 \|\Delta C\|_\infty \sup_{\tilde S} "
    r"\sum_{i,j,c,e} \left|\frac{\partial^2 f}"
    r"{\partial \tilde S_{(i,c)} \partial \tilde S_{(j,e)}}\right|",
    assumptions=[r"C,\ C + \Delta C \succeq 0"],
    mathematics=True,
)
def measure():
    """The effect of a perturbed measure is at most half its size times the largest Hessian sum.

    A stronger form is tried: the supremum is only over the nodes at the middle of the path.
    Control: an eighth in place of one half.
    """
    ends = lambda C, dC, V: path(C, dC, V, 6)(1.0) - path(C, dC, V, 6)(0.0)
    return inequality(
        lhs=lambda C, dC, V: jnp.abs(ends(C, dC, V)),
        rhs=lambda C, dC, V: size(dC) / 2 * largest_hessian(C, dC, V),
        over=inputs(**ENDS, T=(2,)).map(definite),
        starts=0,
        cases=100,
        floor=1e-9,
        control=dict(rhs=lambda C, dC, V: size(dC) / 8 * largest_hessian(C, dC, V)),
    )


def largest_hessian(C, dC, V):
    """Return the largest Hessian sum over the nodes at the middle of the path."""
    sums = jax.vmap(lambda s: hessian_sum(s[0], s[1], V))
    return sums(representatives(C + dC / 2, 6)[0]).max()
