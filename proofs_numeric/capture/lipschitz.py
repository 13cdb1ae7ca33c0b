"""Eq. (36) and appendix E.3: one attention step, and a whole network, as maps of covariances."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm, qmc

from theorykit import claim
from theorykit.checks import alternative, inequality, rate
from theorykit.checks.domains import inputs, interval, psd, reals
from theorykit.kernels import recursion
from theorykit.kernels.activations import Erf

ERF = Erf()
L_MLP = 6 / np.pi
"""Lipschitz constant of the erf dual in the max norm: |d/dk12| <= 4/pi, |d/dk11| <= 1/pi."""

size = lambda V: jnp.abs(V).max()
SOBOL = norm.ppf(qmc.Sobol(4, rng=0).random(128)).reshape(128, 2, 2)


def attend(S):
    """Return the covariance of one input's two tokens after attention, over fixed score draws."""
    return recursion.attend("softmax", S[None, :, None], None, SOBOL, tangent=False)[0][0, :, 0]


def mlp(S):
    """Return the covariance after the erf MLP, sigma_w = 1, sigma_b = 0."""
    v = jnp.diagonal(S)
    return recursion.mlp(recursion.State(S, None, v[:, None], v), ERF, 1.0, 0.0).nngp


def moved_by(step, S, moved):
    """Return the max-norm distance between the images of two covariances under a step."""
    before, after = jax.vmap(step)(jnp.stack([S, moved]))
    return size(after - before)


def near(S, R, t):
    """Return Sigma' and a covariance no farther from it than M = ||Sigma'||."""
    R = R * jnp.minimum(1.0, size(S) / jnp.maximum(size(R), 1e-12))
    return dict(S=S, moved=S + t * (R - S))


TWO = inputs(S=psd(2, bound=2.0), R=psd(2, bound=2.0), t=interval(0.01, 0.5)).map(near)
SEARCH = dict(over=TWO, starts=8, steps=40, batch=16, floor=1e-9)


@claim(
    "capture.E1.lipschitz",
    ref="App. E.1, eq. (36)",
    statement=r"\|\Delta \Sigma^{\mathrm{next}}\|_\infty \le (1 + 30 M^2) \|\Delta\|_\infty",
    assumptions=[r"\|\Sigma'\|_\infty \le M", r"\|\Delta\|_\infty \le M"],
)
def attention_lipschitz():
    """An attention step moves a covariance by at most 1 + 30 M^2 times the change of its input.

    At T = 2, over 128 Sobol draws of the scores. Nearly tight for small M, where attention only
    averages; the control says that 1 alone is too small.
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
    step = recursion.attend("softmax", S, None, U, tangent=False, factor=F[None])
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
    scales covariances up by at most 4 / pi, so M is that of the last layer or the first. Tight
    within a factor of three for small covariances. Control: without L_mlp.
    """
    block = lambda S: mlp(attend(S))
    network = lambda S: block(block(S))
    small = lambda S, moved, x: dict(S=S * jnp.exp(-x), moved=moved * jnp.exp(-x))
    largest = lambda S: jnp.maximum(size(S), size(block(S)))
    grown = lambda L_mlp: (
        lambda S, moved: ((1 + 30 * largest(S) ** 2) * L_mlp) ** 2 * size(moved - S)
    )
    domain = inputs(
        S=psd(2, bound=2.0), R=psd(2, bound=2.0), t=interval(0.01, 0.5), x=interval(0, 8)
    )
    return inequality(
        lhs=lambda S, moved: moved_by(network, S, moved),
        rhs=grown(L_MLP),
        **SEARCH | dict(over=domain.map(lambda S, R, t, x: near(S, R, t) | dict(x=x)).map(small)),
        control=dict(rhs=grown(1.0)),
    )


# What appendix E leaves out: the number of entries, T^2, and layer norms.


def positioned(T):
    """Return the factor of T normalised tokens: a feature of +-1, and a position of its own."""
    sign = jnp.where(jnp.arange(T) % 2, -1.0, 1.0)
    return jnp.concatenate([sign[:, None], jnp.eye(T)], 1)[None] / jnp.sqrt(2.0)


def largest_error(key, logT):
    """Return the largest entry of the difference of two kernels of T tokens, 8 draws each.

    It is the mean of 4 such errors, with T = 2^logT.
    """
    F = positioned(2**logT)
    S, r = jnp.einsum("iar,jbr->iajb", F, F), F.shape[-1]
    layer = lambda U: recursion.attend("softmax", S, None, U, tangent=False, factor=F)[0]
    kernels = jax.vmap(layer)(jax.random.normal(key, (8, 8, r, r)))
    return jax.vmap(size)(kernels[::2] - kernels[1::2]).mean()


ENTRIES = dict(at=(2, 4, 7), tolerance=0.05, replicates=12, batch=1)


@claim(
    "capture.E3.draws",
    ref="App. E.3; Sec. 4.4",
    statement=r"N_{\mathrm{MC}} \propto 1 / \epsilon^2 \ \Rightarrow\ "
    r"\|\Sigma^{\mathrm{MC}} - \Sigma\|_\infty \le \epsilon \text{, agnostic of } T",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}"],
    expect="refuted",
    falls="proof",
    consequence="The number of draws that keeps the largest of T^2 entries accurate grows like "
    "log T; the class O(T^(3 + epsilon)) stands.",
)
def draws_for_all_entries():
    """The error in max norm, which appendix E carries from layer to layer, is bounded in T.

    It grows like the root of log T for tokens with a feature and a position: given U, the attention
    of a token depends on a score of its own position, so T entries have independent errors. Fitted
    against log T. Control: the value for growth like log T.
    """
    return rate(measure=largest_error, at_most=0.0, **ENTRIES, control=alternative(1.0))


@claim(
    "capture.E3.draws.repaired",
    ref="App. E.3; Sec. 4.4",
    statement=r"\mathbb E \|\Sigma^{\mathrm{MC}} - \Sigma\|_\infty "
    r"= O(\sqrt{\log T / N_{\mathrm{MC}}})",
    assumptions=[r"\Sigma'_{aa} = 1 \text{ (layer norm)}"],
)
def draws_for_all_entries_repaired():
    """Entries are bounded, so the largest error is at most of the order of the root of log T.

    Control: what a law of log T would give.
    """
    return rate(measure=largest_error, at_most=0.5, **ENTRIES, control=alternative(1.0))


def magnified(normed):
    """Return the measure: the change of Sigma_12 per change of all entries of Sigma' = I.

    With or without a layer norm. Sigma' + e 1 1' has the factor I + e 1 1' / 2 + O(e^2).
    """

    def correlation(F, U):
        S = jnp.einsum("iar,jbr->iajb", F, F)
        S = recursion.attend("softmax", S, None, U, tangent=False, factor=F)[0][0, :, 0]
        v = jnp.diagonal(S)
        state = recursion.State(S, None, v[:, None], v)
        return (recursion.layer_norm(state) if normed else state).nngp[0, 1]

    def measure(key, T):
        U = jax.random.normal(key, (256, T, T))
        moved = lambda e: correlation((jnp.eye(T) + e / 2)[None], U)
        return jnp.abs(jax.jvp(moved, (0.0,), (1.0,))[1])

    return measure


LAYER = dict(at=(8, 16, 32), at_most=0.0, replicates=8, batch=1)


@claim(
    "capture.E3.layer_norm",
    ref="App. E",
    statement=r"\text{the recursion of a transformer with LayerNorm has a Lipschitz constant } "
    r"O(1) \text{ in } T",
    assumptions=["a layer norm follows the attention, as in standard architectures"],
    expect="refuted",
    falls="proof",
    consequence="Appendix E takes M = O(1) from LayerNorm and leaves the norm itself out of the "
    "recursion; with it the constant grows like T. Without it M is still bounded.",
)
def layer_norm_step():
    """Attention and a layer norm magnify a perturbation of Sigma' by a factor independent of T.

    For T orthogonal tokens attention averages variances down to order 1 / T; the norm divides by
    them, and so magnifies by T what attention passes on unchanged. Control: the value for T^(1/2).
    """
    return rate(measure=magnified(True), **LAYER, control=alternative(0.5))


@claim(
    "capture.E3.layer_norm.repaired",
    ref="App. E",
    statement=r"\left|\frac{d}{d\epsilon} \Sigma_{12}(I + \epsilon 1 1^\top)\right| "
    r"= O(1) \text{ in } T",
)
def no_layer_norm_step():
    """Without a layer norm, attention passes a constant perturbation on unchanged.

    Control: with the norm.
    """
    return rate(measure=magnified(False), **LAYER, control=dict(measure=magnified(True)))


@claim(
    "capture.E3.layer_norm.bounded",
    ref="App. E",
    statement=r"\|\Sigma^{\mathrm{next}}\|_\infty \le \|\Sigma'\|_\infty "
    r"\text{ after attention}",
    repairs="capture.E3.layer_norm",
)
def attention_keeps_M():
    """A bounded M needs no layer norm: attention averages, so no entry grows. Control: 0.9 of it.

    What the MLP adds is a factor for each layer, whatever T is.
    """
    return inequality(
        lhs=lambda S: size(attend(S)),
        rhs=lambda S: size(S),
        over=inputs(S=psd(2)),
        starts=4,
        steps=20,
        batch=16,
        control=dict(rhs=lambda S: 0.9 * size(S)),
    )
