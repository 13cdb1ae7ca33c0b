"""Appendix A.3: average error, Lemmas A.5 and A.10."""

import functools
import itertools
import math

import numpy as np

from theorykit import claim
from theorykit.checks import exhaustive, expectation
from theorykit.common.keys import generator
from theorykit.proofs_numeric.quantitative._strings import (
    attended,
    uniform,
)
from theorykit.subjects import limit, simulation

# Lemma A.5 ---------------------------------------------------------------------------------------

ODDS, PERIOD, DELTA, RHO = np.array([0.2, 0.3, 0.5]), 2, 0.1, 0.2
LENGTH = PERIOD * math.ceil(DELTA**-2 * math.log(2 * 3 * PERIOD / RHO))


def strings(key, length, tau=0, delta=DELTA):
    """Return the share of 50 random strings that are in the bulk."""
    rng = generator(key)
    x = rng.choice(3, (50, length), p=ODDS)
    return np.mean([simulation.in_bulk(row, ODDS, PERIOD, tau, delta) for row in x])


@claim(
    "quantitative.A5.bulk",
    ref="Lemma A.5",
    statement=r"T \ge \Delta \delta^{-2} \log \frac{2 |\Sigma| \Delta}{\rho} \Rightarrow "
    r"\mathbb P\left(\forall s, i: \left|\tfrac{n(s,i,x)}{T/\Delta} - p_s\right| \le "
    r"\delta\right) \ge 1 - \rho",
    assumptions=[r"\tau = 0,\ n \text{ counts all but the last token}"],
)
def bulk():
    """It holds with room: Hoeffding's inequality has exp(-2 c^2), the proof only exp(-c^2).

    Three symbols, Delta = 2, delta = 0.1, rho = 0.2. Control: a tenth of the length.
    """
    return expectation(
        statistic=lambda key: strings(key, LENGTH),
        at_least=1 - RHO,
        replicates=40,
        vectorize=False,
        control=dict(statistic=lambda key: strings(key, LENGTH // 10)),
    )


@claim(
    "quantitative.A5.bulk.suffix",
    ref="Lemma A.5, Definition A.1",
    statement=r"\text{the same for every } \tau < T",
    assumptions=[r"T \ge \Delta \delta^{-2} \log \tfrac{2 |\Sigma| \Delta}{\rho}"],
    expect="refuted",
    falls="wording",
    consequence="n counts a prefix and is divided by T, so that T >> tau / delta is needed too; "
    "that changes no exponent of Theorem 4.2.",
)
def bulk_suffix():
    """The suffix counts in T but not in n: with tau = T / 2, counts are half of p_s T.

    T is as the lemma requires. Control: with half of delta.
    """
    half = LENGTH // 2
    return expectation(
        statistic=lambda key: strings(key, LENGTH, half),
        at_least=1 - RHO,
        replicates=40,
        vectorize=False,
        control=dict(statistic=lambda key: strings(key, LENGTH, half, DELTA / 2)),
    )


@claim(
    "quantitative.A5.bulk.suffix.repaired",
    ref="Lemma A.5, Definition A.1",
    statement=r"\text{the same, for } \delta + \tau / T \text{ in place of } \delta",
    repairs="quantitative.A5.bulk.suffix",
)
def bulk_suffix_repaired():
    """The suffix costs at most tau / T, here 1/4. Control: delta alone."""
    tau = LENGTH // 4
    return expectation(
        statistic=lambda key: strings(key, LENGTH, tau, DELTA + tau / LENGTH),
        at_least=1 - RHO,
        replicates=40,
        vectorize=False,
        control=dict(statistic=lambda key: strings(key, LENGTH, tau)),
    )


# Lemma A.10 --------------------------------------------------------------------------------------


def one_and_distance():
    """Return f = 1 and g = |share of a - share of b|, as the first output."""
    V = np.zeros((4, 4))
    V[2, :2] = 1, -1
    units = [({2: s}, 0.0, False, {3: 1.0}) for s in (1.0, -1.0)]
    U = np.eye(4)[[3]]
    return uniform("ab", 4, 0 * V, [({}, 1.0, False, {3: 1.0})], U), uniform("ab", 4, V, units, U)


@claim(
    "quantitative.A10.average",
    ref="Lemma A.10, eq. (37)",
    statement=r"\|f - g\|_{T,\mathcal P} \le 2 \rho (M_f + M_g) + \|f - g\|_{N',\mathcal P} + "
    r"6 (M_f^V L_f^{MLP} + M_g^V L_g^{MLP}) \left(\frac{(|\Sigma|\Delta)^2 \delta}{\gamma} + "
    r"\frac{\tau \Delta}{(\gamma-\delta) N}\right)",
)
def transfer():
    """The difference of the averages at T and N' is at most the rest, as printed, at tau = 1.

    f = 1 and g = |share of a - share of b| differ by more at T, since g falls like T^(-1/2).
    delta = 0.1, rho = 0.2, p = 1/2, N = the lemma's, T = 4 N, with sim_N(x) for strings of length
    N'. Control: f and g differ by no more at T than at N'.
    """
    f, g = one_and_distance()
    N = math.ceil(DELTA**-2 * math.log(2 * 2 / RHO))

    def apart(x):
        return np.linalg.norm(simulation.hard_output(f, x) - simulation.hard_output(g, x))

    def difference(key):
        rows = generator(key).choice(list("ab"), (8, 4 * N))
        found = ["".join(row) for row in rows]
        return np.mean(
            [apart(x) - apart(simulation.simulate_average(f, g, x, N).string) for x in found]
        )

    M = simulation.output_bound(f) + simulation.output_bound(g)
    rest = sum(simulation.bulk_error(t, 2, 1, 0, 0.5, DELTA, N) for t in (f, g))
    return expectation(
        statistic=difference,
        at_most=2 * RHO * M + rest,
        replicates=24,
        vectorize=False,
        control=dict(at_most=0.0),
    )


# A member is a string and N.
ENDS = [
    ("".join(x), N) for n in range(3, 6) for x in itertools.product("ab", repeat=n)
    for N in range(2, n)
]  # fmt: skip


def prefers_a():
    """Return a transformer that attends to a, and to b where there is no a."""
    head = limit.Head(np.eye(1, 2), np.ones((1, 2)), np.eye(2))
    layer = limit.Layer((head,), *limit.mlp(2))
    return limit.Transformer(
        ("a", "b"), np.eye(2), np.zeros((1, 2)), (layer,), np.eye(2), precision=1, shift=True
    )


@functools.cache
def same_attended(m):
    """Whether the same symbols are attended to in x and in sim_N(x)."""
    f = prefers_a()
    z = simulation.simulate_average(f, f, *m).string
    return bool(((attended(f, m[0]) > 0) == (attended(f, z) > 0)).all())


def everything_in(x):
    """Whether the prefix of x has all symbols."""
    return {*x[:-1]} == {"a", "b"}


@claim(
    "quantitative.A10.attended",
    ref="Lemma A.10",
    statement=r"\text{equal suffixes and residues} \Rightarrow A(\mathrm{sim}_N(x)) = A(x)",
    expect="refuted",
    falls="proof",
    consequence="It holds where both strings are in the bulk and delta < gamma, and it is used "
    "only there: Lemma A.10 stands.",
)
def attended_alike():
    """Only if the same tokens occur in both: x = a b ... b, and the last tokens have no a.

    Hard attention prefers a. Members are strings and N. Control: only where x begins with a.
    """
    return exhaustive(
        predicate=same_attended,
        universe=ENDS,
        control=dict(predicate=lambda m: m[0][0] == "b" or same_attended(m)),
    )


@claim(
    "quantitative.A10.attended.repaired",
    ref="Lemma A.10",
    statement=r"\text{every (token, residue) in the prefix of both} \Rightarrow "
    r"A(\mathrm{sim}_N(x)) = A(x)",
)
def attended_repaired():
    """The same symbols are attended to where all symbols occur in both prefixes.

    Control: where all occur in that of x.
    """
    return exhaustive(
        predicate=same_attended,
        universe=[m for m in ENDS if everything_in(m[0]) and everything_in(m[0][-m[1] :])],
        control=dict(universe=[m for m in ENDS if everything_in(m[0])]),
    )
