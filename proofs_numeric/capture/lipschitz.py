"""Eq. (36) and appendix E.3: one attention step, and a whole network, as maps of covariances."""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import inequality
from theorykit.checks.domains import inputs, interval, psd, reals
from theorykit.kernels import attention, recursion
from theorykit.kernels.activations import Erf

ERF = Erf()
L_MLP = 6 / np.pi
"""Lipschitz constant of the erf dual in the max norm: |d/dk12| <= 4/pi, |d/dk11| <= 1/pi."""

size = lambda V: jnp.abs(V).max()
x, w = np.polynomial.hermite_e.hermegauss(10)
NODES = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
WEIGHTS = np.outer(w, w).ravel() / w.sum() ** 2


def attention_pair(S, a, b):
    """Return Sigma_ab after attention over the two tokens of one input, by quadrature.

    The score differences of rows a and b are Gaussian with covariance delta S[ab, ab], where
    delta = S_11 - 2 S_12 + S_22.
    """
    delta = S[0, 0] - 2 * S[0, 1] + S[1, 1]
    va, vb, cab = S[a, a], S[b, b], S[a, b]
    root = lambda v: jnp.sqrt(jnp.maximum(v, 1e-12))
    first = NODES[:, 0]
    second = cab / root(va) * first + root(vb - cab**2 / jnp.maximum(va, 1e-12)) * NODES[:, 1]
    p = jax.nn.sigmoid(root(delta) * root(va) * first)
    q = jax.nn.sigmoid(root(delta) * second)
    p, q = jnp.stack([p, 1 - p], -1), jnp.stack([q, 1 - q], -1)
    return WEIGHTS @ jnp.einsum("nc,ce,ne->n", p, S, q)


def attend(S):
    """Return the covariance of two tokens after one attention step."""
    a, b = jnp.indices((2, 2)).reshape(2, -1)
    return jax.vmap(lambda a, b: attention_pair(S, a, b))(a, b).reshape(2, 2)


def mlp(S):
    """Return the covariance after the erf MLP, sigma_w = 1, sigma_b = 0."""
    v = jnp.diagonal(S)
    return ERF.dual(v[:, None], S, v)


def moved_by(step, S, moved):
    """Return the max-norm distance of what a step makes of two covariances."""
    before, after = jax.vmap(step)(jnp.stack([S, moved]))
    return size(after - before)


def near(S, R, t):
    """Return Sigma' and a covariance no farther from it than M = ||Sigma'||."""
    R = R * jnp.minimum(1.0, size(S) / jnp.maximum(size(R), 1e-12))
    return dict(S=S, moved=S + t * (R - S))


TWO = inputs(S=psd(2, bound=2.0), R=psd(2, bound=2.0), t=interval(0.01, 0.5)).map(near)
SEARCH = dict(over=TWO, starts=8, steps=50, floor=1e-9)


@claim(
    "capture.E1.lipschitz",
    ref="App. E.1, eq. (36)",
    statement=r"\|\Delta \Sigma^{\mathrm{next}}\|_\infty \le (1 + 30 M^2) \|\Delta\|_\infty",
    assumptions=[r"\|\Sigma'\|_\infty \le M", r"\|\Delta\|_\infty \le M"],
)
def attention_lipschitz():
    """An attention step moves a covariance by at most 1 + 30 M^2 times what moved its input.

    By quadrature at T = 2. The claim is loose: the control says that 1 alone is too small.
    """
    return inequality(
        lhs=lambda S, moved: moved_by(attend, S, moved),
        rhs=lambda S, moved: (1 + 30 * size(S) ** 2) * size(moved - S),
        **SEARCH,
        control=dict(rhs=lambda S, moved: size(moved - S)),
    )


U = np.random.default_rng(0).standard_normal((64, 6, 6))


def sampled_step(F):
    """Return the covariance of one input's tokens after attention, over fixed score draws."""
    S = (F @ F.T)[None, :, None, :]
    step = recursion.attend(attention.Softmax(), S, None, U, tangent=False, factor=F[None])
    return step[0][0, :, 0]


@claim(
    "capture.E1.lipschitz.length",
    ref="App. E.1, after eq. (36)",
    statement=r"\|\Delta \Sigma^{\mathrm{next}}\|_\infty \le (1 + 30 M^2) \|\Delta\|_\infty "
    r"\text{ with a constant that does not depend on } T",
    assumptions=[r"\|\Sigma'\|_\infty \le M", r"\|\Delta\|_\infty \le M"],
)
def attention_lipschitz_any_length():
    """The same at 4 and 24 tokens: the same 64 draws for both covariances, of rank at most 6."""
    bounded = lambda F: F / jnp.maximum(1.0, jnp.linalg.norm(F, axis=-1, keepdims=True))
    both = lambda F, E, t: dict(F=bounded(F), G=bounded(F + t * E))
    distance = lambda F, G: size(G @ G.T - F @ F.T)
    return inequality(
        lhs=lambda F, G: moved_by(sampled_step, F, G),
        rhs=lambda F, G: (1 + 30 * size(F @ F.T) ** 2) * distance(F, G),
        over=inputs(F=reals("T 6"), E=reals("T 6"), t=interval(0.001, 0.1), T=(4, 24)).map(both),
        cases=16,
        starts=4,
        steps=20,
        batch=8,
        floor=1e-9,
        control=dict(rhs=lambda F, G: 0.9 * distance(F, G)),
    )


@claim(
    "capture.E3.depth",
    ref="App. E.3",
    statement=r"\epsilon_L \le (\mathcal L_{\mathrm{attn}} \mathcal L_{\mathrm{mlp}})^L \epsilon_0",
    assumptions=[
        r"\mathcal L_{\mathrm{attn}} = 1 + 30 M^2, M \text{ the largest covariance of any layer}",
        r"\mathcal L_{\mathrm{mlp}} = 6 / \pi \text{ (erf, } \sigma_w = 1)",
        r"\|\Delta\|_\infty \le M \text{ in every layer}",
    ],
)
def depth():
    """An error in the first covariance grows at most geometrically with depth, here two blocks.

    erf, for which the MLP has a Lipschitz constant; the ReLU MLP has none, see `E2`. An erf block
    contracts what it is given, so the control asks for a thousandth of the error.
    """
    block = lambda S: mlp(attend(S))
    network = lambda S: jax.lax.scan(lambda S, _: (block(S), S), S, length=2)[0]
    return inequality(
        lhs=lambda S, moved: moved_by(network, S, moved),
        # erf puts out less than 1, so M = max(||Sigma'||, 1) bounds every layer.
        rhs=lambda S, moved: (
            ((1 + 30 * jnp.maximum(size(S), 1.0) ** 2) * L_MLP) ** 2 * size(moved - S)
        ),
        **SEARCH,
        control=dict(rhs=lambda S, moved: 0.001 * size(moved - S)),
    )
