"""Theorems 7, 8 and 16: parity by a chain of thought, its construction."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, inequality
from theorykit.checks.domains import inputs, reals
from theorykit.subjects import boolean
from theorykit.subjects.boolean import lookup


def attend(T, row, values):
    """Return the mean of values under row's attention: (T + 1)^2 where encodings agree, else 1."""
    n = len(values)
    weights = [(T + 1) * (T + 1) if (row - j) % T == 0 else 1 for j in range(n)]
    total = sum(weights)
    return sum(Fraction(w, total) * v for w, v in zip(weights, values, strict=True))


def chain(x, cls=0):
    """Return the answers of the chain of thought, in exact arithmetic."""
    T = len(x)
    sequence = [*x, cls]
    for _ in range(T):
        mixed = [attend(T, i, sequence) for i in range(len(sequence))]
        found = [lookup(2, z) for z in mixed]
        even = attend(T, len(sequence) - 1, found)
        sequence.append(0 if 2 * even > 1 else 1)
    return sequence[T + 1 :]


def words(longest):
    """Return all words of bits up to a length."""
    return [w for T in range(1, longest + 1) for w in itertools.product((0, 1), repeat=T)]


@claim(
    "sharper.16.cot",
    ref="Theorem 16, appendix G",
    statement=r"y_t = x_t \oplus y_{t-1}, \quad t = 1, \dots, T,\ \text{by one degree-2 network "
    r"with encodings of period } T",
)
def parity():
    """The chain gives the parity of every prefix, at every input of up to 5 bits. Exact.

    Control: the bit at the output position starts as 1.
    """
    holds = lambda cls: lambda x: chain(x, cls) == [sum(x[: t + 1]) % 2 for t in range(len(x))]
    return exhaustive(predicate=holds(0), universe=words(5), control=dict(predicate=holds(1)))


@claim(
    "sharper.16.cot.network",
    ref="Theorem 16, appendix G",
    statement=r"\text{the network in floats makes the same chain}",
)
def network():
    """`boolean.ParityChain` gives the parity of every prefix, at all inputs of 2, 5 and 8 bits.

    Control: without the scores of the first attention.
    """

    def build(T, scores=1.0):
        chain = boolean.ParityChain(T)
        chain.set_blocks(score1=scores * chain.score1[...])
        x = boolean.bits(T)
        found = jax.jit(jax.vmap(chain))(jnp.asarray(x))
        return int((np.asarray(found) != np.cumsum(x, 1) % 2).sum())

    return construction(
        build=build,
        has=lambda wrong: wrong == 0,
        cases=[2, 5, 8],
        complete=True,
        control=dict(build=lambda T: build(T, 0.0)),
    )


@claim(
    "sharper.16.cot.norm",
    ref="Theorem 16, proof",
    statement=r"\|W_1^{CoT}\|^2 \le \|W_1(d = 2, s = 1)\|^2",
    expect="refuted",
    falls="proof",
    consequence="The chain is right, and its bound is polynomial with another power of T "
    "(sharper.16.cot.bound.repaired); the degree-2 norm holds for each step by itself.",
)
def norm():
    """One network for all T steps needs a score for each of T encodings: T l^2 against 2 l^2.

    The proof counts only the entry of the current position, so its weights would change with the
    step. Both sides are measured on the networks as built. Control: at most a quarter as much.
    """

    def build(T):
        step = boolean.transformer(boolean.parity(T, (0, 1)))
        return boolean.ParityChain(T).squared_norms()["score1"] / step.squared_norms()["score1"]

    return construction(
        build=build,
        has=lambda ratio: ratio <= 1 + 1e-6,
        cases=[2, 3, 4, 8],
        control=dict(has=lambda ratio: ratio <= 0.25),
    )


@claim(
    "sharper.16.cot.norm.repaired",
    ref="Theorem 16, proof",
    statement=r"W_{tt} - W_{tu} \ge \ell \text{ for all } t \ne u \Rightarrow "
    r"\|W\|^2 \ge (T - 1) \ell^2",
    repairs="sharper.16.cot.norm",
    mathematics=True,
)
def norm_repaired():
    """Other scores are better by at most one l^2, so the norm is linear in T.

    Row by row: the least norm of w_t - w_u >= l is l^2 (1 - 1/T), at w_t = l (1 - 1/T) and -l / T
    elsewhere. All such W are W_tu = W_tt - l - s_tu with l and s_tu squares. Control: l^2 a row.
    """

    def scores(d, s, m):
        others = d[:, None] - m**2 - s**2
        return dict(W=jnp.where(jnp.eye(len(d), dtype=bool), d[:, None], others), l=m**2)

    bound = lambda k: lambda W, l: (len(W) - k) * l**2
    return inequality(
        lhs=bound(1),
        rhs=lambda W: len(W) * (W**2).sum(1),
        over=inputs(d=reals("T"), s=reals("T T"), m=reals(), T=(2, 3, 5)).map(scores),
        cases=64,
        starts=24,
        steps=200,
        control=dict(lhs=bound(0)),
    )
