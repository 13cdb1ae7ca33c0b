"""Appendix J: the tangent kernel of a transformer on strings of one token, block by block.

For strings of one token the network is f = W_E S z, z = W_E' x + gamma P, with S = sum_h (W_O' W_V
+ b I), eqs. (26) and (27).
"""

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, everywhere, identity, rate
from theorykit.checks.domains import inputs, reals
from theorykit.networks import nets
from theorykit.proofs_numeric.templates._one_token import (
    HEADS,
    RATE,
    SYMBOLS,
    network,
    weights,
)


def machine(seed):
    """Return the logits of the shipped transformer at strings of one token, and those by (27).

    Also eq. (26), which is (27) without b.
    """
    gamma, b = 0.7, 0.4
    net = nets.Transformer(
        vocabulary=5, width=6, heads=3, head_size=4, mlp=None, positions=gamma, max_tokens=1,
        tied=True, parameterisation="standard", scalars=(0.3, b), rngs=seed,
    )  # fmt: skip
    E, head = net.embedding.effective(), net.blocks[0].attention
    z = E + gamma * net.position_table[...]
    product = jnp.einsum("hde,hef->df", head.value.effective(), head.output.effective())
    found = jax.vmap(net)(jnp.arange(5)[:, None])
    found *= jnp.sqrt(6.0)  # the shipped readout is scaled by the root of the width
    return found, z @ (product + 3 * b * jnp.eye(6)) @ E.T, z @ product @ E.T


@claim(
    "templates.J.network",
    ref="Eqs. (26) and (27)",
    statement=r"k = 1:\ f'(X) = W_E (\textstyle\sum_h W_{O,h}^\top W_{V,h} + b_h I) "
    r"(W_E^\top X^\top + \gamma P^\top)",
)
def network_of_one_token():
    """The transformer with tied embeddings and a scalar b is this at strings of one token.

    Up to the scale of its readout, the root of the width. Five symbols, three heads, any a.
    Control: eq. (26), without b.
    """
    near = lambda f, g: bool(jnp.allclose(f, g, atol=1e-5))
    return construction(
        build=machine,
        has=lambda built: near(built[0], built[1]),
        cases=range(2),
        control=dict(has=lambda built: near(built[0], built[2])),
    )


def tangent(theta, group, gamma):
    """Return K_ij(X, X') of a group of weights for two tokens: (m, 2, m, 2)."""
    f = lambda w: jnp.stack([network(theta | {group: w}, x, gamma) for x in (0, 1)], 1)
    J = jax.jacrev(f)(theta[group]).reshape(2 * SYMBOLS, -1)
    return (J @ J.T).reshape(SYMBOLS, 2, SYMBOLS, 2)


def limits(gamma):
    """Return the printed limits, (m, 2, m, 2) each, without the factor H by which we read them."""
    outputs = np.eye(SYMBOLS)[:, None, :, None]
    tokens = np.eye(2)[None, :, None, :]
    hit = np.eye(SYMBOLS)[:, :2]  # delta_{i, x}
    return dict(
        O=outputs * (tokens + gamma**2),
        V=outputs * (tokens + gamma**2),
        E=outputs * (2 * tokens + gamma**2),
        b=hit[:, :, None, None] * hit[None, None],
    )


def distance(groups, wanted, gamma=0.7, networks=64):
    """Return the measure: the root mean square distance of kernels over H to limits."""

    def measure(key, n):
        def one(key):
            theta = weights(key, n)
            gaps = [tangent(theta, g, gamma) / HEADS - wanted[g] for g in groups]
            return jnp.stack(gaps) ** 2

        found = jax.lax.map(one, jax.random.split(key, networks))
        return jnp.sqrt(found.mean())

    return measure


@claim(
    "templates.J.ntk_blocks",
    ref="Appendix J.2",
    statement=r"K_O, K_V \to \delta_{ij} (\delta_{x x'} + \gamma^2),\ "
    r"K_E \to \delta_{ij} (2 \delta_{x x'} + \gamma^2),\ K_b \to \delta_{i x} \delta_{j x'}",
    assumptions=["up to the number of heads, a factor that is printed for K_O and K_b only"],
    mathematics=True,
    tier="slow",
)
def ntk_blocks():
    """Four blocks of the tangent kernel over H approach the printed limits like n^(-1/2).

    Control: no approach.
    """
    return rate(
        measure=distance("OVEb", limits(0.7)), exponent=-0.5, control=dict(exponent=0.0), **RATE
    )


def positions_kernel(E, S, gamma):
    """Return K_P: of f = E S (E' x + gamma P) in P, by autodiff."""
    J = jax.jacrev(lambda P: E @ S @ (E[0] + gamma * P))(jnp.zeros(len(S)))
    return J @ J.T


NETWORKS = inputs(E=reals("2 3"), S=reals("3 3"), gamma=reals())


@claim(
    "templates.J.ntk_blocks.P",
    ref="Appendix J.2",
    statement=r"K_{ij,P} = \gamma^2 w_{E,i}^\top w_{E,j}",
    expect="refuted",
    falls="proof",
    consequence="The product of the heads lies in between, which makes the limit H times what is "
    "printed; the sign of the test loss's slope stays.",
    mathematics=True,
)
def positions_block():
    """The block of the positions is gamma^2 W_E W_E'.

    It is not, because of the heads in between. Control: twice that.
    """
    return identity(
        lhs=positions_kernel,
        rhs=lambda E, gamma: gamma**2 * E @ E.T,
        over=NETWORKS,
        control=dict(rhs=lambda E, gamma: 2 * gamma**2 * E @ E.T),
    )


@claim(
    "templates.J.ntk_blocks.P.repaired",
    ref="Appendix J.2",
    statement=r"K_{ij,P} = \gamma^2 w_{E,i}^\top S S^\top w_{E,j},\ "
    r"S = \textstyle\sum_h W_O^\top W_V",
    mathematics=True,
)
def positions_block_repaired():
    """The block of the positions is gamma^2 W_E S S' W_E', and H gamma^2 delta_ij in the limit.

    Control: as printed.
    """
    return identity(
        lhs=positions_kernel,
        rhs=lambda E, S, gamma: gamma**2 * E @ S @ S.T @ E.T,
        over=NETWORKS,
        proof=everywhere(),
        control=dict(rhs=lambda E, gamma: gamma**2 * E @ E.T),
    )


def of_heads(group, width=48, networks=32):
    """Return the measure: the mean of the kernel of a group of weights at one entry, for heads."""

    def measure(key, heads):
        one = lambda key: tangent(weights(key, width, heads), group, 0.7)[0, 0, 0, 0]
        return jax.lax.map(one, jax.random.split(key, networks)).mean()

    return measure


@claim(
    "templates.J.ntk_blocks.heads",
    ref="Appendix J.2",
    statement=r"K_{ij,E}(X, X') \to \delta_{ij} (2 \delta_{x x'} + \gamma^2) "
    r"\text{ as } d_{\mathrm{emb}}, d_{\mathrm{head}}, H \to \infty",
    expect="refuted",
    falls="wording",
    consequence="The limit is H times this, as in the next display, so the rate of the "
    "embedding must be of order 1 / H.",
    tier="slow",
    mathematics=True,
)
def limit_with_heads():
    """At width 48 the kernel of the embedding stays bounded as heads are added, from 2 to 8.

    It grows in proportion to them. Control: it falls.
    """
    return rate(
        measure=of_heads("E"), at=(2, 4, 8), at_most=0.0, replicates=4, batch=1, tolerance=0.25,
        control=dict(at_most=-1.0),
    )  # fmt: skip


@claim(
    "templates.J.ntk_blocks.heads.repaired",
    ref="Appendix J.2",
    statement=r"K_{ij,E}(X, X') / H \to \delta_{ij} (2 \delta_{x x'} + \gamma^2)",
    tier="slow",
    mathematics=True,
)
def limit_with_heads_repaired():
    """The kernel of the embedding grows like H. Control: like its square root."""
    return rate(
        measure=of_heads("E"), at=(2, 4, 8), exponent=1.0, replicates=4, batch=1, tolerance=0.25,
        control=dict(exponent=0.5),
    )  # fmt: skip
