"""Section 3.1, appendices G.1 and H: the kernels, by formula and by finite networks."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, everywhere, expectation, identity, normal, rate
from theorykit.checks.domains import inputs, reals
from theorykit.kernels import (
    InfiniteTransformer,
    activations,
    oracle,
    ridge,
    template_attention,
    template_transformer,
)

BETA, GAMMA = 1.3, 0.7
COS = activations.Cos(1.1, 0.4)
X = np.array([[1, 1, 0], [1, 2, 0], [3, 1, 0]])
Y = np.array([[2, 2, 0], [1, 4, 0]])
"""Token ids; [CLS] is 0."""


@functools.cache
def recursion(activation, rescaled=True):
    """Return the general recursion at the last token, by quadrature, of X with Y."""
    scale = 1 / np.sqrt(1 + GAMMA**2) if rescaled else 1.0
    one_hot = lambda x: np.sqrt(5) * np.eye(5)[x]
    net = InfiniteTransformer(
        activation=activation, positions=GAMMA, score_scale=float(BETA * scale)
    )
    return np.asarray(oracle.kernel(net, one_hot(X), one_hot(Y), order=10).nngp)


@claim(
    "templates.kernel",
    ref="Eq. (4), appendix H",
    statement=r"K_{\mathrm{attn}}(X, Y) = \mathbb E[s^\top (XY^\top + \gamma^2 I) s'] = "
    r"\text{the general recursion at } \beta / \sqrt{1 + \gamma^2}",
)
def kernel():
    """The attention kernel of strings is that of the general recursion, at the last one-hot token.

    Control: the recursion at the score scale beta, without appendix H's 1 + gamma^2.
    """
    return expectation(
        statistic=lambda key: (
            template_attention(X, Y, BETA, GAMMA, key=key, draws=1024, replicates=1).nngp
        ),
        value=recursion("identity"),
        replicates=64,
        within=1e-4,  # the quadrature's
        control=dict(value=recursion("identity", False)),
    )


@claim(
    "templates.kernel.transformer",
    ref="Eq. (4)",
    statement=r"K_{\mathrm{trans}} = \mathbb E_{u,v}[\phi(u) \phi(v)],\ "
    r"(u, v) \sim N(0, [K_{\mathrm{attn}}])",
)
def kernel_after_mlp():
    """With the MLP it is the recursion with a cosine, up to the bias of 1 / draws.

    Control: a cosine of another phase.
    """
    estimate = lambda key: (
        template_transformer(
            X, Y, BETA, GAMMA, activation=COS, key=key, draws=4096, replicates=1
        ).nngp
    )
    return expectation(
        statistic=estimate,
        value=recursion(COS),
        replicates=32,
        batch=8,
        within=3e-4,
        control=dict(value=recursion(activations.Cos(1.1, 0.5))),
    )


def network(x, beta, gamma, weights):
    """Return z_1 of appendix H.1 at the last token, (d_emb,), from weights N(0, 1)."""
    E, P, K, Q, V, O = weights
    d, (heads, size, _) = E.shape[1], K.shape
    z = E[x] + gamma * P
    # Only the last row of the attention is read.
    query = jnp.einsum("hed,d->he", K, z[-1])
    scores = jnp.einsum("he,hed,td->ht", query, Q, z)
    a = jax.nn.softmax(beta * scores / (d * np.sqrt(size)), axis=-1)
    values = jnp.einsum("ht,td,hed->he", a, z, V)
    return jnp.einsum("he,hed->d", values, O) / np.sqrt(size * d * heads)


def finite_kernel(key, n, x, y, beta, gamma):
    """Return z_1(X) z_1(Y) / d_emb of one network with d_emb = d_head = H = n."""
    keys = jax.random.split(key, 6)
    shapes = [(5, n), (len(x), n), *[(n, n, n)] * 4]
    weights = [jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]
    one, two = (network(z, beta, gamma, weights) for z in (x, y))
    return one @ two / n


@claim(
    "templates.kernel.width",
    ref="Appendix H",
    statement=r"\hat K_{\mathrm{attn}}(X, Y) - K_{\mathrm{attn}}(X, Y) = O(n^{-1/2}),\ "
    r"n = d_{\mathrm{emb}} = d_{\mathrm{head}} = H,\ m \sim N(0, (1 + \gamma^2) [\dots])",
    tier="slow",
)
def kernel_of_finite_networks():
    """One network of appendix H.1 is n^(-1/2) from the kernel, root mean square over networks.

    Control: no convergence.
    """
    exact = recursion("identity", False)[1, 1]  # at beta itself: the factor of appendix H

    def distance(key, n):
        one = lambda key: (finite_kernel(key, n, X[1], Y[1], BETA, GAMMA) - exact) ** 2
        return jnp.sqrt(jax.lax.map(one, jax.random.split(key, 128), batch_size=8).mean())

    return rate(
        measure=distance, at=(8, 16, 32, 64), exponent=-0.5, replicates=16, batch=1,
        tolerance=0.15, control=dict(exponent=0.0),
    )  # fmt: skip


@claim(
    "templates.kernel.factor",
    ref="Appendix H.2",
    statement=r"K_{\mathrm{attn}}^{H}(\beta) = K_{\mathrm{attn}}(\beta \sqrt{1 + \gamma^2}),\quad "
    r"\Sigma_H = (1 + \gamma^2)(XY^\top + \gamma^2 I)",
)
def kernel_factor():
    """The kernel of appendix H at beta is that of section 3.1 at beta sqrt(1 + gamma^2).

    The first is the general recursion at the last token, where 1 + gamma^2 is the variance of the
    [CLS] token; the second is drawn. Control: at beta (1 + gamma^2).
    """
    drawn = lambda factor: (
        lambda key: (
            template_attention(X, Y, BETA * factor, GAMMA, key=key, draws=1024, replicates=1).nngp
        )
    )
    return expectation(
        statistic=drawn(np.sqrt(1 + GAMMA**2)),
        value=recursion("identity", False),
        replicates=64,
        within=1e-4,  # the quadrature's
        control=dict(statistic=drawn(1 + GAMMA**2)),
    )


@claim(
    "templates.kernel.covariance",
    ref="Appendix H.3",
    statement=r"\Sigma(X, Y) \to (1 + \gamma^2)(XY^\top + \gamma^2 I)",
    mathematics=True,
)
def score_covariance():
    """The scores of a head at the last token have this covariance, at d = 4,096.

    The mean over W_K and W_Q is exact: Z(X) Z(Y)' times its own last entry, over d^2. Of the d^2
    pairs of coordinates, all alike and independent, d are of one coordinate with itself: so two
    coordinates have the mean. Control: gamma^2 I alone times 1 + gamma^2.
    """
    same = (X[1][:, None] == Y[1][None, :]).astype(float)
    d = 4096

    def covariance(E, P):
        x, y = E[X[1]] + GAMMA * P, E[Y[1]] + GAMMA * P
        last = x[-1] * y[-1]
        return (x * last / d) @ y.T / 2 + (x * last[::-1] * (1 - 1 / d)) @ y.T / 2

    place = GAMMA**2 * np.eye(3)
    return expectation(
        statistic=covariance,
        draws=dict(E=normal("5 2"), P=normal("3 2")),
        each=4096,
        value=(1 + GAMMA**2) * (same + place),
        within=5 / d,
        control=dict(value=same + (1 + GAMMA**2) * place),
    )


def eigenvalue(K):
    """Return the smallest eigenvalue over the largest."""
    values = np.linalg.eigvalsh(np.asarray(K))
    return values[0] / values[-1]


@claim(
    "templates.psd",
    ref="Eq. (4)",
    statement=r"[K(X_i, X_j)]_{ij} \succeq 0",
)
def positive_semidefinite():
    """Gram matrices are positive semidefinite with any number of draws, of K_attn and of K_trans.

    Strings of three to forty symbols, one to four draws. Control: every other entry from separate
    draws.
    """

    def strings(seed):
        rng = np.random.default_rng(seed)
        x = rng.integers(1, (4, 10, 40)[seed], (24, 5))
        x[:, -1] = 0
        return x

    def shared(case, shift=0):
        seed, draws, carried = case
        options = dict(key=jax.random.key(seed + shift), draws=draws, replicates=1)
        if carried:
            return template_transformer(
                strings(seed), None, 2.0, 0.5, activation=COS, **options
            ).nngp
        return template_attention(strings(seed), None, 2.0, 0.5, **options).nngp

    def apart(case):
        even = np.add.outer(range(24), range(24)) % 2
        return np.where(even, shared(case), np.asarray(shared(case, 3)))

    return construction(
        build=shared,
        has=lambda K: eigenvalue(K) > -1e-12,
        cases=[(0, 1, True), (1, 2, True), (1, 2, False), (2, 4, False)],
        control=dict(build=apart),
    )


@claim(
    "templates.3.1.ridge",
    ref="Proposition 3.1, eq. (5)",
    statement=r"\hat f(X) = y^\top (\hat K + \lambda I)^{-1} k(X)",
)
def ridge_flow():
    """Gradient flow on the squared loss with weight decay ends at kernel ridge regression.

    The flow of the weights of a model linear in them, from zero, as 2^30 Euler steps (a power of
    one step). Control: 0.99 of the weight decay in the formula.
    """

    def flow(F, f, y, decay):
        H = F.T @ F + decay * jnp.eye(F.shape[1])
        step = 1 / jnp.trace(H)
        map = jnp.block(
            [
                [jnp.eye(len(H)) - step * H, (step * F.T @ y)[:, None]],
                [jnp.zeros((1, len(H))), jnp.ones((1, 1))],
            ]
        )
        for _ in range(30):
            map = map @ map
        return f @ map[:-1, -1]

    def regression(factor):
        return lambda F, f, y, decay: ridge(F @ F.T, y, (F @ f)[None], ridge=factor * decay).mean[0]

    return identity(
        lhs=flow,
        rhs=regression(1.0),
        over=inputs(F=reals("n d"), f=reals("d"), y=reals("n"), n=(2, 4), d=(3,)).map(
            lambda F, f, y: dict(F=jnp.tanh(F), f=f, y=y, decay=0.5)
        ),
        tol=1e-6,
        control=dict(rhs=regression(0.99)),
    )


@claim(
    "templates.G1.representation",
    ref="Lemma G.1, proof",
    statement=r"m := X \zeta + \gamma p,\ \tilde m := \tilde X \tilde \zeta + \gamma p,\ "
    r"\zeta, \tilde \zeta \sim N(0, I_m),\ p \sim N(0, I_k) \text{ independent}",
    expect="refuted",
    falls="proof",
    consequence="The same zeta must be used for both strings; the bounds that follow do not use "
    "independence.",
    mathematics=True,
)
def representation():
    """With independent normals zeta and zeta~, (m, m~) has the covariance of eq. (4).

    It does not: the block between the two is gamma^2 I, without X X~'. Control: without positions.
    """
    return identity(**covariances(shared=False), control=dict(lhs=stacked(False, 0.0)))


def stacked(shared, positions=1.0):
    """Return the covariance of (m, m~) as a function of one-hot rows X, X~ and gamma."""

    def covariance(X, Z, gamma):
        nothing, eye = jnp.zeros_like(X), positions * gamma * jnp.eye(len(X))
        second = [Z, nothing] if shared else [nothing, Z]
        rows = jnp.block([[X, nothing, eye], [*second, eye]])
        return rows @ rows.T

    return covariance


def covariances(shared):
    """Return both sides of the representation and its domain."""

    def wanted(X, Z, gamma):
        g = gamma**2 * jnp.eye(len(X))
        return jnp.block([[X @ X.T + g, X @ Z.T + g], [Z @ X.T + g, Z @ Z.T + g]])

    return dict(
        lhs=stacked(shared),
        rhs=wanted,
        over=inputs(X=reals("2 3"), Z=reals("2 3"), gamma=reals()),
    )


@claim(
    "templates.G1.representation.repaired",
    ref="Lemma G.1, proof",
    statement=r"m := X \zeta + \gamma p,\ \tilde m := \tilde X \zeta + \gamma p",
    mathematics=True,
)
def representation_repaired():
    """With the same zeta for both it has that covariance, for any matrices X, X~.

    Control: independent ones.
    """
    return identity(
        **covariances(shared=True), proof=everywhere(), control=dict(lhs=stacked(False))
    )
