"""Sections 4.1 and 4.3: the limits of finite networks as width and heads grow, eqs. (5)-(7)."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from theorykit import claim
from theorykit.checks import alternative, everywhere, expectation, identity, rate
from theorykit.checks.domains import inputs, reals
from theorykit.kernels import InfiniteTransformer, empirical, oracle
from theorykit.networks.nets import Transformer

X = np.array([[[1.0, 0.2], [-0.5, 0.8]], [[0.6, -1.1], [0.3, 0.9]]])  # 2 inputs, T = 2, d = 2
tokens = X.reshape(4, 2)
SIGMA = tokens @ tokens.T / 2  # Sigma' after the embedding, over both inputs
normal = jax.random.normal


def scores(z, W_Q, W_K):
    """Return S_ac of eq. (6), weights of variance 1 / d_model."""
    D, d_k = W_Q.shape
    return (z @ W_Q) @ (z @ W_K).T / d_k**0.5 / D


def kron(left, right):
    """Return the array left_ab right_ce with axes a, c, b, e."""
    return jnp.einsum("ab,ce->acbe", left, right)


def swapped(left, right):
    """Return left_ae right_cb with axes a, c, b, e: keys and queries exchanged in one input."""
    return jnp.einsum("ae,cb->acbe", left, right)


@claim(
    "capture.eq6.score_covariance",
    ref="Sec. 4.3, eq. (6)",
    statement=r"\mathbb E_{W_Q, W_K}[S_{ac} S_{be} \mid z'] = "
    r"(z'_a \cdot z'_b / d_{\mathrm{model}}) (z'_c \cdot z'_e / d_{\mathrm{model}})",
    mathematics=True,
)
def conditional_covariance():
    """Given the tokens, the scores have exactly the product covariance at any width.

    S is bilinear in the weights, so its second moment is the square of its mixed derivative. With
    d_k = 4, which has a rational square root, everything is polynomial in the tokens and is proved
    as such.
    """
    D, d_k = 5, 4

    def second_moment(z):
        bilinear = jax.jacobian(jax.jacobian(lambda q, k: scores(z, q, k), 0), 1)
        J = bilinear(jnp.zeros((D, d_k)), jnp.zeros((D, d_k))).reshape(3, 3, -1)
        return jnp.einsum("acw,bew->acbe", J, J)

    return identity(
        lhs=second_moment,
        rhs=lambda z: kron(z @ z.T / D, z @ z.T / D),
        over=inputs(z=reals("3 5")),
        proof=everywhere(),
        control=dict(rhs=lambda z: swapped(z @ z.T / D, z @ z.T / D)),
    )


@claim(
    "capture.eq7.score_covariance",
    ref="Sec. 4.3, eqs. (6)-(7)",
    statement=r"\lim_{d_{\mathrm{model}} \to \infty} \mathbb E[\mathbb E[S_{ac}(X_1) S_{be}(X_2) "
    r"\mid z']] = \Sigma'_{ab}(X_1, X_2) \Sigma'_{ce}(X_1, X_2)",
    mathematics=True,
)
def covariance_limit():
    """The covariance of the scores of wide networks tends to the product of the kernels, as 1/D.

    The weights are integrated out by eq. (6). The bias is exactly
    (Sigma_ac Sigma_be + Sigma_ae Sigma_bc) / D, by Wick's theorem.
    """
    a, c, b, e = 0, 1, 2, 3

    def covariance(key, width):
        z = tokens @ normal(key, (16384, 2, width)) / jnp.sqrt(2)
        K = z @ z.mT / width
        return (K[:, a, b] * K[:, c, e]).mean()

    return rate(
        measure=covariance,
        limit=SIGMA[a, b] * SIGMA[c, e],
        at=(4, 8, 16),
        exponent=-1.0,
        tolerance=0.3,
        replicates=8,
        batch=1,
        control=dict(limit=SIGMA[a, e] * SIGMA[c, b]),
    )


@claim(
    "capture.eq5.nngp_step",
    ref="Sec. 4.3, eq. (5)",
    statement=r"\Sigma(X_1, X_2) = \mathbb E[A(X_1) \Sigma'(X_1, X_2) A(X_2)^\top], "
    r"\quad d_{\mathrm{model}}, d_k, H \to \infty",
)
def nngp_step():
    """The covariance after a finite attention layer tends to E[A Sigma' A'] as 1/width.

    Value weights are integrated out as in eq. (5), which leaves the mean over heads of A (z'z'/D)
    A'. Given z', queries and keys are Gaussian with covariance z'z'/D in each of d_k directions,
    and are drawn as such. Uniform attention, whose mean is known exactly, serves as a control
    variate. The limit is from the quadrature oracle; at these widths the exponent is about -0.85.
    Control: the limit of uniform attention.
    """
    S = SIGMA.reshape(2, 2, 2, 2)
    limit = oracle.attention_step(S, S, order=30)[0][1, 0, 1, 1]
    even = S[1, :, 1].mean()

    def covariance(key, width):
        embedding, q, k = jnp.split(normal(key, (8192, 6, width)), 3, axis=1)
        z = tokens[2:] @ embedding / jnp.sqrt(2)
        K = z @ z.mT / width
        L = jnp.linalg.cholesky(K)
        A = jax.nn.softmax(L @ q @ k.mT @ L.mT / jnp.sqrt(width))
        return ((A @ K @ A.mT)[:, 0, 1] - K.mean((1, 2))).mean() + even

    return rate(
        measure=covariance,
        limit=limit,
        at=(4, 8, 16),
        exponent=-1.0,
        tolerance=0.3,
        replicates=16,
        batch=1,
        control=dict(limit=even),
    )


def attended(A, z, W):
    """Return z_a of eq. (3) for weights A (heads, T, T) and values W (heads, D, D)."""
    return jnp.einsum("hac,hij,cj->ai", A, W, z) / len(A) ** 0.5


def over_values(A, z):
    """Return E[z_a . z_b] over value weights of variance 1 / D, exactly, by the Jacobian."""
    H, D = len(A), z.shape[1]
    J = jax.jacobian(lambda W: attended(A, z, W))(jnp.zeros((H, D, D)))
    return jnp.einsum("aiw,biw->ab", *[J.reshape(len(z), D, -1)] * 2) / D


def head_average(A, z):
    """Return the right side of eq. (5): 1 / H D times the sum over h and j."""
    return jnp.einsum("hac,cj,hbe,ej->ab", A, z, A, z) / (len(A) * z.shape[1])


HEADS = inputs(A=reals("4 2 2"), z=reals("2 3"))  # four heads, since 4 has a rational square root


@claim(
    "capture.eq5.values",
    ref="Sec. 4.3, eq. (5)",
    statement=r"\mathbb E[z_a(X_1)^\top z_b(X_2) \mid z'] = \frac{1}{H d_{\mathrm{model}}} "
    r"\sum_{h,j} \mathbb E\left[\sum_{c,e} A^h_{ac} [z'_c]_j A^h_{be} [z'_e]_j\right]",
    assumptions=[r"(W_V)_{ij} \sim N(0, 1 / d_{\mathrm{model}}) \text{ (App. A.1)}"],
    expect="refuted",
    falls="wording",
    consequence="Eq. (5) lacks the factor 1 / d_model of eq. (2) on its left; what follows from "
    "it has the factor.",
    mathematics=True,
)
def printed_values():
    """Integrating the value weights out leaves the mean over heads and over the width.

    In fact it leaves the sum over the width: the right side is 1 / d_model times the left. Control:
    without the factor 1 / H as well.
    """
    return identity(
        lhs=over_values,
        rhs=head_average,
        over=HEADS,
        control=dict(rhs=lambda A, z: len(A) * head_average(A, z)),
    )


@claim(
    "capture.eq5.values.repaired",
    ref="Sec. 4.3, eqs. (2) and (5)",
    statement=r"\frac{1}{d_{\mathrm{model}}} \mathbb E[z_a(X_1)^\top z_b(X_2) \mid z'] = "
    r"\frac{1}{H d_{\mathrm{model}}} \sum_{h,j} \mathbb E\left[\sum_{c,e} "
    r"A^h_{ac} [z'_c]_j A^h_{be} [z'_e]_j\right]",
    assumptions=[r"(W_V)_{ij} \sim N(0, 1 / d_{\mathrm{model}}) \text{ (App. A.1)}"],
    mathematics=True,
)
def repaired_values():
    """With the factor of eq. (2) this holds for any weights A. Control: as printed."""
    return identity(
        lhs=lambda A, z: over_values(A, z) / z.shape[1],
        rhs=head_average,
        over=HEADS,
        proof=everywhere(),
        control=dict(lhs=over_values),
    )


NETWORK = dict(depth=1, activation="erf", score_scale=1.5)


def empirical_ntk(key, width, heads=8):
    """Return the NTK of one finite network between the two inputs, over all parameters."""
    network = Transformer(
        features=2, width=width, heads=heads, head_size=width, rngs=nnx.Rngs(key), **NETWORK
    )
    return empirical(network, X[:1], X[1:], get="ntk").ntk[0, 0]


def infinite_kernels():
    """Return NNGP and NTK between the two inputs, by quadrature."""
    nngp, ntk, *_ = oracle.kernel(InfiniteTransformer(**NETWORK), X[:1], X[1:], order=30)
    return np.asarray(nngp)[0, 0], np.asarray(ntk)[0, 0]


@claim(
    "capture.ntk_step",
    ref="Sec. 4.1",
    statement=r"\lim \langle \nabla_\theta f(X_1), \nabla_\theta f(X_2) \rangle = \Theta(X_1, X_2)"
    r", \quad \Theta_{\mathrm{out}} = \Sigma_{\mathrm{out}} + \mathbb E[A_1 \Theta A_2^\top] + "
    r"(2 \Sigma + \Theta) \circ \mathbb E[Q(\Sigma)] + \Sigma \circ \mathbb E[Q(\Theta)]",
    assumptions=["NTK parameterisation; Q as in kernels.attention.Softmax.step"],
)
def ntk_step():
    """The mean NTK of softmax transformers of width 16 is within a tenth of our kernel.

    The paper asserts that the limit exists (Sec. 4.1); the recursion is ours. The convergence is
    checked in `.spread` and `.bias`. The control is the kernel without its score terms.
    """
    nngp, ntk = infinite_kernels()
    return expectation(
        statistic=lambda key: empirical_ntk(key, 16),
        value=ntk,
        within=0.1 * abs(ntk),
        replicates=1024,
        batch=128,
        error=1e-4,
        control=dict(value=2 * nngp),
    )


@claim(
    "capture.ntk_step.spread",
    ref="Sec. 4.1",
    statement=r"\operatorname{sd}\, \langle \nabla_\theta f(X_1), \nabla_\theta f(X_2) \rangle = "
    r"O(n^{-1/2}), \quad D = d_k = H = n",
    tier="slow",
)
def ntk_spread():
    """The NTK of a network concentrates: its spread over random weights falls as n^(-1/2).

    Control: the value if it fell as 1/n.
    """

    def spread(key, width):
        keys = jax.random.split(key, 64)
        return jax.vmap(lambda k: empirical_ntk(k, width, heads=width))(keys).std()

    return rate(
        measure=spread,
        at=(4, 8, 16),
        between=(-0.7, -0.4),
        tolerance=0.1,
        replicates=24,
        batch=1,
        control=alternative(-1.0),
    )


@claim(
    "capture.ntk_step.bias",
    ref="Sec. 4.1",
    statement=r"|\mathbb E \langle \nabla_\theta f(X_1), \nabla_\theta f(X_2) \rangle - "
    r"\Theta(X_1, X_2)| = O(1/n), \quad D = d_k = n",
    tier="slow",
)
def ntk_bias():
    """The mean NTK of finite networks tends to the kernel as 1/width."""
    nngp, ntk = infinite_kernels()

    def mean(key, width):
        keys = jax.random.split(key, 2048)
        return jax.vmap(lambda k: empirical_ntk(k, width))(keys).mean()

    return rate(
        measure=mean,
        limit=ntk,
        at=(4, 8, 16),
        exponent=-1.0,
        tolerance=0.4,
        replicates=64,
        batch=1,
        control=dict(limit=2 * nngp),
    )
