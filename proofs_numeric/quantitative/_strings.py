"""What a one-layer transformer does with a string, before its MLP: Definition A.1, eq. (2)."""

import dataclasses

import numpy as np

from theorykit.subjects import limit, simulation


def without_mlp(f):
    """Return a one-layer transformer whose output is its state after attention."""
    layer = limit.Layer(f.layers[0].heads, *limit.mlp(f.width))
    return dataclasses.replace(f, layers=(layer,), U=np.eye(f.width))


def state(f, x):
    """Return the attention layer's output at the last token, without its own state: eq. (2)."""
    token = f.E[f.encode(x)[-1]] + f.encodings(len(x))[-1]
    return simulation.hard_output(without_mlp(f), x) - token


def attended(f, x):
    """Return the share of every (symbol, residue) among the attended tokens of the prefix.

    All are 0 where the prefix is not attended to. The prefix is all but tau + 1 tokens.
    """
    return simulation.simulate_hard(f, f, x, 0.1).before[0]


def values(f):
    """Return V (E_s + p_i), (symbols, period, width)."""
    return (f.E[:, None] + f.encodings(f.period or 1)[None]) @ f.layers[0].heads[0].V.T


def away(f, seed, length):
    """Return the distance of f(x), exact, from the output of hard attention, x random."""
    x = "".join(np.random.default_rng(seed).choice(list("abc"), length))
    found = limit.exact(f, [x]).outputs.floats()[0, -1]
    return float(abs(found - simulation.hard_output(f, x)).max())


def silent(f):
    """Return the transformer whose output is 0."""
    return dataclasses.replace(f, U=0 * f.U)


def uniform(alphabet, width, V, unit=None, U=None, phi=None):
    """Return a transformer of uniform attention over one-hot symbols, tau = 0 but for phi."""
    K = np.zeros((0, width))
    layer = limit.Layer((limit.Head(K, K, V, phi),), *limit.mlp(width, unit or []))
    return limit.Transformer(
        tuple(alphabet), np.eye(len(alphabet), width), np.zeros((1, width)), (layer,),
        np.eye(width) if U is None else U, precision=1, shift=True,
    )  # fmt: skip
