"""Section 3: the model under both scalings of logits, and its three regimes."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, rate
from theorykit.subjects import limit, simulation

# 3.1 and eq. (1): the forward pass ---------------------------------------------------------------


def drawn(seed):
    """Return a two-layer transformer with encodings, and a string."""
    rng = np.random.default_rng(seed)
    t = simulation.random_two_layers(rng, "abc", tau=seed % 3)
    t = dataclasses.replace(t, positions=rng.standard_normal((1 + seed % 3, t.width)))
    return t, "".join(rng.choice(list("abc"), 9))


def by_definition(t, string, scaling):
    """Return T(x)_i by section 3.1, or by eq. (1), one position at a time."""
    x, n = t.encode(string), len(string)
    y = [t.E[s] + t.positions[i % len(t.positions)] for i, s in enumerate(x)]
    for layer in t.layers:
        Y = []
        for i in range(1, n + 1):
            total = y[i - 1]
            for h in layer.heads:
                a, top = [], math.log(n if scaling == "length" else i)
                for j in range(1, i + 1):
                    score = y[j - 1] @ h.K.T @ h.Q @ y[i - 1]
                    phi = float(h.phi(j, i)) if h.phi else 0.0
                    a.append(top * (score + phi) if scaling == "length" else score + top * phi)
                w = np.exp(a)
                total = total + sum(v * (h.V @ u) for v, u in zip(w, y, strict=False)) / w.sum()
            Y.append(total)
        y = [u + layer.B @ np.maximum(layer.A @ u + layer.b, 0) for u in Y]
    return np.stack([t.U @ u for u in y])


@claim(
    "quantitative.limit_transformer",
    ref="Sec. 3.1, eq. (1)",
    statement=r"y_i^{(0)} = E_{x_i} + p_i,\ \ldots,\ T(x)_i = U y_i^{(L)},\ "
    r"a_{ij} = y_j^\top K^\top Q y_i + \phi(j, i) \text{ or } + \log i \cdot \phi(j, i)",
)
def forward_pass():
    """The limit paper's transformer object is this paper's, under both scalings of logits.

    Two layers of two heads, periods 1 to 3, tau 0 to 2, nothing rounded. Control: the scalings
    exchanged.
    """

    def build(seed, swap=False):
        t, string = drawn(seed)
        gaps = []
        for scaling in ("length", "suffix"):
            run = dataclasses.replace(t, scaling=scaling)
            out = limit.forward(run, jnp.array(t.encode(string)))
            other = {"length": "suffix", "suffix": "length"}[scaling] if swap else scaling
            gaps.append(float(abs(out - by_definition(t, string, other)).max()))
        return max(gaps)

    return construction(
        build=build,
        has=lambda gap: gap < 1e-9,
        cases=range(3),
        control=dict(build=lambda seed: build(seed, True)),
    )


# 3.3: three regimes ------------------------------------------------------------------------------

SIZES = (10**4, 10**5, 10**6)


def suffix_share(phi):
    """Return the share of attention that the last of n tokens gets, eq. (1), for phi(i, i).

    The last token is the only a, and the first layer's state also has the share of a.
    """
    head = limit.Head(np.zeros((0, 3)), np.zeros((0, 3)), np.eye(3)[[2]].T @ np.eye(3)[[0]],
                      limit.Local((phi,)))  # fmt: skip
    layers = (limit.Layer((head,), *limit.mlp(3)),)
    t = limit.Transformer(
        ("a", "b"), np.eye(2, 3), np.zeros((1, 3)), layers, np.eye(3), precision=None,
        scaling="suffix",
    )  # fmt: skip

    def share(n):
        mu = np.array([1 / n, 1 - 1 / n])
        return float(simulation.first_layer(t, np.array([0]), mu, int(n))[2])

    return share


@claim(
    "quantitative.3.3.regimes",
    ref="Sec. 3.3",
    statement=r"\max \phi < 1: \text{ the suffix's share decays as } i^{\phi - 1}",
)
def token_dominant():
    """For max phi < 1 the suffix's share of attention vanishes, here as i^(-1/2).

    Control: phi = 0.6.
    """
    return rate(
        measure=suffix_share(0.5), at=SIZES, exponent=-0.5, tolerance=0.05,
        control=dict(measure=suffix_share(0.6)),
    )  # fmt: skip


@claim(
    "quantitative.3.3.regimes.balanced",
    ref="Sec. 3.3",
    statement=r"\max \phi = 1: \text{ the suffix's share tends to a constant in } (0, 1)",
)
def balanced():
    """For max phi = 1 the suffix's share tends to 1/2, at rate 1/i. Control: phi = 0.95."""
    return rate(
        measure=suffix_share(1.0), at=SIZES, exponent=-1.0, tolerance=0.05,
        limit=0.5, control=dict(measure=suffix_share(0.95)),
    )  # fmt: skip


@claim(
    "quantitative.3.3.regimes.position",
    ref="Sec. 3.3",
    statement=r"\max \phi > 1: \text{ the prefix's share decays as } i^{1 - \phi}",
)
def position_dominant():
    """For max phi > 1 the suffix gets all attention, here up to i^(-1/2). Control: phi = 1.4."""
    return rate(
        measure=suffix_share(1.5), at=SIZES, exponent=-0.5, tolerance=0.05,
        limit=1.0, control=dict(measure=suffix_share(1.4)),
    )  # fmt: skip
