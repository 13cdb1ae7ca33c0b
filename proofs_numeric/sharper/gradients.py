"""Theorems 5, 13 and 14: the trace of the loss Hessian and the gradients of the construction."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import alternative, construction, rate
from theorykit.subjects import boolean, sharpness


def built(T, d, s, **options):
    """Return the construction of a random function."""
    return boolean.transformer(boolean.random(T, d, s, seed=1), **options)


@claim(
    "sharper.13.trace",
    ref="Theorems 5, 13",
    statement=r"L(\theta) = 0 \Rightarrow \mathrm{tr} \nabla^2 L = "
    r"2\, \mathbb{E}_x \|\nabla_\theta T_\theta(x)\|^2",
)
def trace():
    """The exact trace, one second derivative per parameter, is twice the squared gradient norm.

    At zero loss, over all inputs, at the construction and at random weights. In float64, to 1e-9.
    Control: targets that are 1/2 away.
    """

    def build(case, away=0.0):
        network, x = built(4, 2, 3), boolean.bits(4)
        if case == "random":
            rng = np.random.default_rng(0)
            shapes = {k: getattr(network, k).shape for k in boolean.BLOCKS}
            network.set_blocks(**{k: rng.standard_normal(n) for k, n in shapes.items()})
        y = jax.jit(jax.vmap(network))(x) + away
        twice = 2 * sum(g.mean() for g in sharpness.gradient_norms(network, x).values())
        return float(sharpness.trace(network, x, y).value / twice)

    return construction(
        build=build,
        has=lambda ratio: abs(ratio - 1) < 1e-9,
        cases=["random", "construction"],
        control=dict(build=lambda case: build(case, 0.5)),
    )


def largest(network, x):
    """Return the largest squared gradient norm over inputs, block by block."""
    return {k: float(g.max()) for k, g in sharpness.gradient_norms(network, x).items()}


@claim(
    "sharper.14.gradients",
    ref="Theorem 14",
    statement=r"\|\partial_B T_\theta(x)\|^2 \le G_B(T, d, s, C) \text{ for every block } B "
    r"\text{ and every } x",
)
def gradients():
    """The bounds of `boolean.gradient_bounds`, at all inputs; docs/sharper.md derives them.

    Control: one in ten less; the bounds of v2 are met.
    """

    def build(case):
        T, d, s = case
        f = boolean.random(T, d, s, seed=1)
        found = largest(boolean.transformer(f), boolean.bits(T))
        bounds = boolean.gradient_bounds(f)
        return max(found[k] / bounds[k] for k in bounds)

    return construction(
        build=build,
        has=lambda ratio: ratio < 1 + 1e-9,
        cases=[(6, 1, 3), (8, 3, 8)],
        control=dict(has=lambda ratio: ratio < 0.9),
    )


def value_gradient(T, scale=2.0):
    """Return the norm of the first value matrix's gradient at 0101..., for a parity of 3 bits."""
    network = boolean.transformer(boolean.parity(4, (0, 1, 2)), int(T), scale=scale)
    x = np.tile([0, 1], int(T) // 2)[None]
    return math.sqrt(sharpness.gradient_norms(network, x)["value1"][0])


@claim(
    "sharper.14.vanish",
    ref="Theorem 14, Sec. F.2",
    statement=r"\partial_{V_1} T_\theta = 0",
    expect="refuted",
    falls="wording",
    consequence="The gradient vanishes in the limit, like T^(1 - gamma); Theorem 5 keeps "
    "its order.",
)
def vanish():
    """Positions beyond s do not lie on a grid point, and softmax gives them some weight.

    So what the paper gives as zero is only small. Members are T. Control: it is below 10^-6
    everywhere.
    """
    return construction(
        build=value_gradient,
        has=lambda norm: norm == 0,
        cases=[8, 32, 128],
        control=dict(has=lambda norm: norm < 1e-6),
    )


@claim(
    "sharper.14.vanish.repaired",
    ref="Theorem 14, Sec. F.2",
    statement=r"\|\partial_{V_1} T_\theta\| \sim T^{1 - \gamma}, \quad "
    r"\text{the lookup being flat where } i \le s",
)
def vanish_repaired():
    """The blocks of the first attention vanish as the leakage does: like 1 / T at scale 2.

    Control: at scale 3.
    """
    return rate(
        measure=value_gradient, at=(32, 64, 128), exponent=-1.0,
        control=dict(measure=lambda T: value_gradient(T, 3.0)),
    )  # fmt: skip


def positional(n):
    """Return the squared gradient norm of the entries of F2 that write on positions, T = 2^n."""
    T = 2 ** int(n)
    network = boolean.transformer(boolean.tiling(2, 1), T, scale=2.0)
    x = jnp.zeros(T).at[0].set(1)

    def output(F2):
        X = network.tokens(x)
        h = network.activations(x)["hidden"]
        Y = X.at[:, -1].set(0) + h @ F2
        a = jax.nn.softmax(Y @ (Y[-1] @ network.score2[...]))
        return a @ (Y @ network.value2[...])

    g = jax.jit(jax.grad(output))(network.mlp_out[...])
    return float(jnp.sum(g[:, :-1] ** 2))


@claim(
    "sharper.14.length",
    ref="Sec. 1.1, Theorem 14",
    statement=r"\text{the trace does not depend on } T",
    expect="refuted",
    falls="statement",
    consequence="The unperturbed term of Theorem 2 gains a factor of order log^2 T at most; how it "
    "depends on degree and sparsity stands.",
)
def length():
    """F2 can write on the positions that the second attention reads: that gradient grows with T.

    Sec. F.1 follows its last column only. A column's slope is a score, of order log T as it has to
    be for the leakage to vanish. At s = 1 nothing is left to compete with. Here T = 2^n; in n the
    exponent would be 0. Control: had it been measured to grow like the root of n.
    """
    return rate(measure=positional, at=(4, 6, 8), exponent=0.0, control=alternative(0.5))


@claim(
    "sharper.14.length.repaired",
    ref="Sec. 1.1, Theorem 14",
    statement=r"\|\partial_{F_2} T_\theta\|^2 \sim \log^2 T \text{ for } s \ge 2",
    repairs="sharper.14.length",
)
def length_repaired():
    """The gradient grows like the square of log T = n log 2, for T from 256 to 2048.

    Control: like n^(3/2).
    """
    return rate(
        measure=positional, at=(8, 9, 10, 11), exponent=2.0, tolerance=0.2,
        control=alternative(1.5),
    )  # fmt: skip


def traced(T, d, s):
    """Return the trace at zero loss of a tiling-like function, over random inputs."""
    network = built(int(T), int(d), int(s))
    x = np.random.default_rng(0).integers(0, 2, (64, int(T)))
    return float(2 * sum(g.mean() for g in sharpness.gradient_norms(network, x).values()))


@claim(
    "sharper.13.degree",
    ref="Theorem 5, appendix G",
    statement=r"\mathrm{tr} \nabla^2 L \sim d^3",
    tier="slow",
)
def trace_in_degree():
    """The trace is cubic in the degree. Control: quadratic."""
    return rate(
        measure=lambda d: traced(32, d, 4), at=(6, 12, 24), exponent=3.0, tolerance=0.5,
        control=alternative(2.0),
    )  # fmt: skip


@claim(
    "sharper.13.sparsity",
    ref="Theorem 5",
    statement=r"\mathrm{tr} \nabla^2 L \sim C^2 \sim s \text{ at } \|c\| = 1",
    tier="slow",
)
def trace_in_sparsity():
    """The trace is linear in the sparsity, since C^2 is. Control: like the power 3/2."""
    return rate(
        measure=lambda s: traced(32, 4, s), at=(8, 16, 32), exponent=1.0, tolerance=0.3,
        control=alternative(1.5),
    )  # fmt: skip
