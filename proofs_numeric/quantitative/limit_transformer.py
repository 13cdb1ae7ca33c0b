"""Section 3: the model, its logit margin, and when softmax is a hard maximum."""

import dataclasses
import itertools
import math

import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, rate
from theorykit.proofs_numeric.quantitative._powers import power
from theorykit.subjects import limit, simulation

# 3.1 and eq. (1): the forward pass ---------------------------------------------------------------


def drawn(seed):
    """Return a two-layer transformer with encodings, and a string."""
    rng = np.random.default_rng(seed)
    t = simulation.random_two_layers(rng, "abc", tau=seed % 3)
    t = dataclasses.replace(t, positions=rng.standard_normal((1 + seed % 3, t.width)))
    return t, "".join(rng.choice(list("abc"), 9))


def by_definition(t, string, scaling):
    """Return T(x)_i as section 3.1 writes it, or eq. (1), one position at a time."""
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


# 3.2: logits and the hard maximum ----------------------------------------------------------------


def small():
    """Return logits A[y][z], values phi(0) ... phi(tau), and strings, all of integers.

    Two symbols, Delta = 1, tau = 0 or 1, strings of 2 to 6 symbols.
    """
    tables = itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
    phis = [(0,), (1,), (0, 2), (1, 1)]
    strings = [w for n in range(2, 7) for w in itertools.product((0, 1), repeat=n)]
    return [(A, phi, x) for A in tables for phi in phis for x in strings]


def logit_set(A, phi, y, far):
    """Return the set of logits of query y: those at distance 0 ... tau, and those beyond."""
    near = {A[y][z] + v for z in (0, 1) for v in phi}
    return near | {A[y][z] for z in (0, 1)} if far else near


def seen_logits(A, phi, x):
    """Return the logits of the last token of x."""
    back = range(len(x))
    return [A[x[-1]][x[-1 - k]] + (phi[k] if k < len(phi) else 0) for k in back]


def contains(far):
    """Return whether the set holds what is seen."""
    return lambda m: set(seen_logits(*m)) <= logit_set(m[0], m[1], m[2][-1], far)


def gaps(values):
    """Return the positive differences."""
    return [a - b for a in values for b in values if a > b]


def rounds_away(far, bits, spare=0):
    """Return whether N >= 2^(p/gamma) rounds all terms below the largest to zero, p = bits.

    N^gamma >= 2^p in integers; a term N^(a - a*) is at most 2^-p where N^(a* - a) >= 2^p.
    """

    def predicate(m):
        A, phi, x = m
        found = [d for y in (0, 1) for d in gaps(logit_set(A, phi, y, far))]
        N, logits = len(x), seen_logits(A, phi, x)
        if found and power(N, min(found)) < power(2, bits - spare):
            return True  # the string is too short for the statement to speak of it
        return all(power(N, max(logits) - a) >= power(2, bits) for a in logits if a < max(logits))

    return predicate


@claim(
    "quantitative.3.2.margin",
    ref="Sec. 3.2",
    statement=r"\mathcal A_{(y,i)} = \{A_{(y,i),(z,i-k)} + \phi(1, k+1) : k = 0, \dots, \tau\} "
    r"\text{ contains all attention logits of a token } y \text{ at } i",
    expect="refuted",
)
def margin():
    """Tokens more than tau back have logits without phi, which are not in the set.

    Members are logits, phi and strings, in integers. Control: only the values of the first token.
    """
    only = lambda m: set(seen_logits(*m)) <= {m[0][m[2][-1]][0] + m[1][0]}
    return exhaustive(predicate=contains(False), universe=small(), control=dict(predicate=only))


@claim(
    "quantitative.3.2.margin.repaired",
    ref="Sec. 3.2",
    statement=r"\mathcal A_{(y,i)} \cup \{A_{(y,i),(z,j)} : j \in \mathbb Z / \Delta\} "
    r"\text{ contains them}",
)
def margin_repaired():
    """With the logits of tokens beyond tau it does. Control: without."""
    return exhaustive(
        predicate=contains(True), universe=small(), control=dict(predicate=contains(False))
    )


@claim(
    "quantitative.3.2.hardmax",
    ref="Sec. 3.2",
    statement=r"N \ge 2^{p/\gamma(f)} \Rightarrow \text{softmax at } p \text{ bits is a hardmax}",
    expect="refuted",
)
def hardmax():
    """With gamma from the set as printed, terms of tokens beyond tau survive the rounding.

    With phi(0) = 1 and A = 0 the set has one element and gamma is infinite; but the last token's
    logit is 1 and all others' are 0, so that 2^(-1) > 2^-p stays. Integers. Control: p + 4 bits
    are asked to vanish.
    """
    more = lambda m: rounds_away(False, 2)(m) and rounds_away(True, 6, 4)(m)
    return exhaustive(
        predicate=rounds_away(False, 2), universe=small(), control=dict(predicate=more)
    )


@claim(
    "quantitative.3.2.hardmax.repaired",
    ref="Sec. 3.2",
    statement=r"N \ge 2^{p/\gamma(f)} \Rightarrow \text{hardmax, with the repaired } \gamma",
)
def hardmax_repaired():
    """With the repaired margin it is, where values of at most 2^-p become 0.

    Control: N >= 2^((p - 1)/gamma).
    """
    return exhaustive(
        predicate=rounds_away(True, 2),
        universe=small(),
        control=dict(predicate=rounds_away(True, 2, 1)),
    )


@claim(
    "quantitative.3.2.hardmax.weights",
    ref="Sec. 3.2",
    statement=r"N > 2^{(p+1)/\gamma(f)} \Rightarrow f(x) = "
    r"U(Y + B \psi(A Y + b)),\ Y = y_T + \text{mean of } V y_j \text{ over the largest logits}",
)
def hardmax_weights():
    """Random transformers, with rounding to the nearest, compute the uniform average.

    1 to 3 residues, tau 0 to 3; strings of 64 symbols, which is enough. Control: 12 bits for
    logits and exponentials, where it is too short.
    """

    def build(seed, precision=1):
        rng = np.random.default_rng(seed)
        f = simulation.random_one_layer(rng, "abc", seed % 4, 1 + seed % 3)
        x = "".join(rng.choice(list("abc"), 64))
        run = dataclasses.replace(f, precision=precision)
        out = limit.forward(run, jnp.array(f.encode(x)))[-1]
        return float(abs(out - simulation.hard_output(f, x)).max())

    return construction(
        build=build,
        has=lambda gap: gap < 1e-9,
        cases=range(4),
        control=dict(build=lambda seed: build(seed, 12)),
    )


@claim(
    "quantitative.3.2.rounding",
    ref="Sec. 3.2",
    statement=r"\text{all quantities of absolute value} \le 2^{-p} \text{ are rounded to } 0 "
    r"\text{ during each intermediate computation}",
    expect="refuted",
)
def rounding():
    """Read literally the attention weights are such quantities: on 2^p equal logits all vanish.

    Each weight is 1/N <= 2^-p, so that attention returns 0 and no uniform average, at just the
    lengths of the theorems. Numerators and the denominator have to be kept apart. Members are
    (p, N); the average of ones should be 1. Control: the average should be 2.
    """

    def average(p, N):  # of N ones with equal logits, times N
        return sum(1 for _ in range(N) if power(2, p) > N)

    return exhaustive(
        predicate=lambda m: average(*m) == m[1],
        universe=[(p, N) for p in (1, 2, 3) for N in range(1, 10)],
        control=dict(predicate=lambda m: average(*m) == 2 * m[1]),
    )


@claim(
    "quantitative.A.eq2",
    ref="Definition A.1, eq. (2)",
    statement=r"\tilde f(x) = \frac{\sum_{A} n(s,i,x) V(E_s + p_i) + \sum_{A^\tau} V(E_s + p_i)}"
    r"{\sum_A n(s,i,x) + |A^\tau|},\ n \text{ counts positions } 1, \dots, |x| - \tau",
    expect="refuted",
)
def equation_two():
    """phi(j, i) may be nonzero at i = j + tau, but position |x| - tau is counted in the prefix.

    Whether it is attended to is then not a matter of (token, position mod Delta). Two symbols of
    values 0 and 1, uniform logits, phi(tau) = -1: that position is not attended to, and eq. (2)
    counts it. Members are (tau, string), in integers. Control: n counts one position more.
    """
    return exhaustive(
        predicate=lambda m: shares_agree(m, 0),
        universe=suffixes(),
        control=dict(predicate=lambda m: shares_agree(m, -1)),
    )


@claim(
    "quantitative.A.eq2.repaired",
    ref="Definition A.1, eq. (2)",
    statement=r"\text{eq. (2) with } n \text{ counting positions } 1, \dots, |x| - \tau - 1",
)
def equation_two_repaired():
    """With a suffix of tau + 1 tokens it holds. Control: of tau."""
    return exhaustive(
        predicate=lambda m: shares_agree(m, 1),
        universe=suffixes(),
        control=dict(predicate=lambda m: shares_agree(m, 0)),
    )


def suffixes():
    """Return (tau, string)."""
    return [
        (tau, x) for tau in (1, 2) for n in range(tau + 2, 7)
        for x in itertools.product((0, 1), repeat=n)
    ]  # fmt: skip


def shares_agree(member, more):
    """Whether eq. (2) with a suffix of tau + more tokens is the average over the largest logits."""
    tau, x = member
    T = len(x)
    attended = [j for j in range(1, T + 1) if T - j != tau]
    prefix = range(1, T - (tau + more) + 1)
    # Values are 0 and 1 and A holds both symbols, if they occur in the prefix where phi is 0.
    A = {x[j - 1] for j in prefix if j in attended}
    inside = [j for j in prefix if x[j - 1] in A]
    last = [j for j in attended if j not in prefix]
    ones = lambda places: sum(x[j - 1] for j in places)
    total, count = ones(inside) + ones(last), len(inside) + len(last)
    return total * len(attended) == ones(attended) * count


# 3.3: three regimes ------------------------------------------------------------------------------

SIZES = (10**4, 10**5, 10**6)


def suffix_share(phi):
    """Return the share of attention that the last of n tokens gets, eq. (1), for phi(i, i)."""

    def share(n):
        logits = np.zeros(int(n))
        logits[-1] = math.log(n) * phi
        return float(np.exp(logits[-1]) / np.exp(logits).sum())

    return share


@claim(
    "quantitative.3.3.regimes",
    ref="Sec. 3.3",
    statement=r"\max \phi < 1: \text{ the suffix's share decays as } i^{\phi - 1}",
)
def token_dominant():
    """Below 1 the suffix's share of attention vanishes, here as i^(-1/2). Control: not at all."""
    return rate(
        measure=suffix_share(0.5), at=SIZES, exponent=-0.5, tolerance=0.05,
        control=dict(exponent=0.0),
    )  # fmt: skip


@claim(
    "quantitative.3.3.regimes.balanced",
    ref="Sec. 3.3",
    statement=r"\max \phi = 1: \text{ the suffix's share tends to a constant in } (0, 1)",
)
def balanced():
    """At 1 it tends to 1/2, at rate 1/i. Control: to 1."""
    return rate(
        measure=suffix_share(1.0), at=SIZES, exponent=-1.0, tolerance=0.05,
        limit=0.5, control=dict(limit=1.0),
    )  # fmt: skip


@claim(
    "quantitative.3.3.regimes.position",
    ref="Sec. 3.3",
    statement=r"\max \phi > 1: \text{ the prefix's share decays as } i^{1 - \phi}",
)
def position_dominant():
    """Above 1 the suffix takes all, here up to i^(-1/2). Control: up to a constant."""
    return rate(
        measure=suffix_share(1.5), at=SIZES, exponent=-0.5, tolerance=0.05,
        limit=1.0, control=dict(limit=0.5),
    )  # fmt: skip
