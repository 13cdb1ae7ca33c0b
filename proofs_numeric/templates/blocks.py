"""Claims D.3 and D.5: ridge regression with a kernel matrix that only knows the templates.

Claim D.3 is tried with three samples of the second of two templates, and two of the first.
"""

import jax.numpy as jnp

from theorykit import claim
from theorykit.certify import exact
from theorykit.checks import everywhere, identity, inequality
from theorykit.checks.domains import inputs, interval, reals
from theorykit.kernels import ridge
from theorykit.proofs_numeric.templates._ridge import BLOCK, SIZES, from_spectrum, solved


def norm(x):
    """Return the Euclidean norm, with a slope at 0."""
    return jnp.sqrt(jnp.sum(x**2) + 1e-300)


BLOCKS = inputs(turn=reals(), e=reals("2"), share=interval(0.01, 0.95)).map(
    lambda turn, e, share: dict(**from_spectrum(turn, e), share=share)
)


def residual(N, smallest, share):
    """Return the squared norm of 1_a / |I_a| - (K_ideal + lambda)^-1 v_ideal."""
    found, _, _ = solved(N, smallest, share)
    return jnp.sum((jnp.asarray(BLOCK == 0) / SIZES[0] - found) ** 2)


@claim(
    "templates.D3.block",
    ref="Claim D.3",
    statement=r"\|(\hat K^{\mathrm{ideal}} + \lambda)^{-1} v^{\mathrm{ideal}}\| \le "
    r"\tfrac{1}{\sqrt{|I_a|}} \tfrac{\tau}{\tau - \lambda}, \quad "
    r"\|\tfrac{1_{I_a}}{|I_a|} - (\hat K^{\mathrm{ideal}} + \lambda)^{-1} v^{\mathrm{ideal}}\| "
    r"\le \tfrac{1}{\sqrt{|I_a|}} (\tfrac{\tau}{\tau - \lambda} - 1)",
    assumptions=[r"0 < \lambda < \tau = \min_j |I_j| / \|N^{-1}\|"],
    mathematics=True,
)
def block_bounds():
    """Both norms squared have this bound squared, for any symmetric N.

    Control: the factor tau / (tau + lambda).
    """

    def lhs(N, smallest, share):
        found, _, _ = solved(N, smallest, share)
        return jnp.stack([jnp.sum(found**2), residual(N, smallest, share)])

    def rhs(sign):
        def bound(N, smallest, share):
            _, decay, tau = solved(N, smallest, share)
            factor = tau / (tau - sign * decay)
            return jnp.stack([factor**2, (factor - 1) ** 2]) / SIZES[0]

        return bound

    return inequality(
        lhs=lhs, rhs=rhs(1), over=BLOCKS, tol=1e-7, proof=everywhere(), control=dict(rhs=rhs(-1))
    )


@claim(
    "templates.D3.eigenvalues",
    ref="Claim D.3, proof",
    statement=r"M = \mathrm{diag}(\sqrt{|I_j|}) N \mathrm{diag}(\sqrt{|I_j|}) "
    r"\text{ has the nonzero eigenvalues of } \hat K^{\mathrm{ideal}}",
    mathematics=True,
)
def block_eigenvalues():
    """The traces of the first two powers of K_ideal and of M agree: so do two eigenvalues each.

    Control: diag(|I_j|).
    """

    def powers(K):
        return jnp.stack([jnp.trace(K), jnp.trace(K @ K)])

    root = lambda p: jnp.asarray(SIZES, float) ** p
    weighted = lambda p: lambda N: powers(root(p)[:, None] * N * root(p))
    return identity(
        lhs=lambda N: powers(N[BLOCK][:, BLOCK]),
        rhs=weighted(0.5),
        over=BLOCKS,
        control=dict(rhs=weighted(1.0)),
    )


def largest_factor(nu, smallest, share):
    """Return max (1 - nu / (nu + lambda))^2 / |I_a| over these eigenvalues nu."""
    return jnp.max((1 - nu / (nu + share * 2 * smallest)) ** 2) / SIZES[0]


def last_factor(N, smallest, share):
    """Return (1 - tau / (tau - lambda))^2 / |I_a|."""
    return (share / (1 - share)) ** 2 / SIZES[0]


@claim(
    "templates.D3.maximum",
    ref="Claim D.3, proof",
    statement=r"\max_{i \in [n]} (1 - \tfrac{\nu_i}{\nu_i + \lambda})^2 \tfrac{1}{|I_a|} \le "
    r"(1 - \tfrac{\tau}{\tau - \lambda})^2 \tfrac{1}{|I_a|}",
    assumptions=[r"0 < \lambda < \tau"],
    expect="refuted",
    falls="proof",
    consequence="The claim stands: 1_a lies in the span of the r eigenvectors whose eigenvalues "
    "are not 0, and the maximum is over those.",
    mathematics=True,
)
def all_eigenvalues():
    """The maximum over all eigenvalues of K_ideal, of which n - r are 0, is below that at -tau.

    It is 1, from an eigenvalue 0, and more than (lambda / (tau - lambda))^2 for lambda < tau / 2.
    Control: half of the right side.
    """
    return inequality(
        lhs=lambda N, smallest, share: largest_factor(
            jnp.linalg.eigvalsh(N[BLOCK][:, BLOCK]), smallest, share
        ),
        rhs=last_factor,
        over=BLOCKS,
        control=dict(rhs=lambda share: (share / (1 - share)) ** 2 / SIZES[0] / 2),
    )


@claim(
    "templates.D3.maximum.repaired",
    ref="Claim D.3, proof",
    statement=r"\max_{i : \nu_i \ne 0} (1 - \tfrac{\nu_i}{\nu_i + \lambda})^2 \tfrac{1}{|I_a|} \le "
    r"(1 - \tfrac{\tau}{\tau - \lambda})^2 \tfrac{1}{|I_a|}",
    assumptions=[r"0 < \lambda < \tau"],
    mathematics=True,
)
def nonzero_eigenvalues():
    """Over the two that are not 0 it holds, and it bounds the squared norm.

    The two are the eigenvalues of M = diag(|I_j|)^(1/2) N diag(|I_j|)^(1/2). Control: tau + lambda.
    """

    def two(N, smallest, share):
        root = jnp.sqrt(jnp.stack([exact(size) for size in SIZES.tolist()]))
        nu = jnp.linalg.eigvalsh(root[:, None] * N * root)
        return largest_factor(nu, smallest, share)

    def chain(N, smallest, share):
        return jnp.stack([residual(N, smallest, share), two(N, smallest, share)])

    def bounds(sign):
        def value(N, smallest, share):
            factor = (share / (1 - sign * share)) ** 2 / SIZES[0]
            return jnp.stack([two(N, smallest, share), factor])

        return value

    return inequality(
        lhs=chain, rhs=bounds(1), over=BLOCKS, tol=1e-6, proof=everywhere(),
        control=dict(rhs=bounds(-1)),
    )  # fmt: skip


@claim(
    "templates.D5.difference",
    ref="Claim D.5",
    statement=r"|\hat f^{\mathrm{ideal}}(x) - \hat f(x)| \le \tfrac{\|y\|}{\lambda} "
    r"(\|v^{\mathrm{ideal}} - v\| + \|\hat K - \hat K^{\mathrm{ideal}}\| "
    r"\|(\hat K^{\mathrm{ideal}} + \lambda)^{-1} v^{\mathrm{ideal}}\|)",
)
def difference():
    """Two ridge regressions differ by at most this, both matrices psd. Control: 0.9 of it.

    The norm of a matrix is the largest absolute eigenvalue.
    """

    def lhs(F, G, v, w, y, decay):
        regress = lambda k, u: ridge(k, y, u[None], ridge=decay).mean[0]
        return jnp.abs(regress(F @ F.T, v) - regress(G, w))

    def rhs(factor):
        def bound(F, G, v, w, y, decay):
            ideal = jnp.linalg.solve(G + decay * jnp.eye(3), w)
            gap = jnp.abs(jnp.linalg.eigvalsh(F @ F.T - G)).max()
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
        control=dict(rhs=rhs(0.9)),
    )  # fmt: skip
