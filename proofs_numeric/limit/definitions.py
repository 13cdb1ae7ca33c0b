"""Section 2, Definitions 2 and 3: the transformer and its limit."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.proofs_numeric.limit._drawn import drawn
from theorykit.subjects import crasp, limit

# Section 2: eqs. (1) to (4) ----------------------------------------------------------------------


def rounded(v, p):
    """Return v rounded to p fractional bits, ties upward."""
    return Fraction(math.floor(v * 2**p + Fraction(1, 2)), 2**p)


def powered(n, a, p):
    """Return n^a to p fractional bits, for a fraction a with p fractional bits."""
    target = lambda k: (Fraction(2 * k - 1, 2) / 2**p) ** (2**p)  # where rounding gives k
    k = 0
    while target(k + 1) <= Fraction(n) ** int(a * 2**p):
        k += 1
    return Fraction(k, 2**p)


def by_definition(t, string, offset, key=True):
    """Return the outputs as eqs. (1) to (4) and (6) say them, in fractions, one number at a time.

    Without `key`, eq. (2) as printed: y_i on both sides.
    """
    exact = lambda a: [[Fraction(v) for v in row] for row in np.atleast_2d(a).tolist()]
    times = lambda M, v: [sum(m * u for m, u in zip(row, v, strict=True)) for row in M]
    dot = lambda u, v: sum(a * b for a, b in zip(u, v, strict=True))
    E, P, U, p = exact(t.E), exact(t.positions), exact(t.U), t.precision
    x = t.encode(string, offset)
    n = len(x)
    y = [[a + b for a, b in zip(E[s], P[i + offset], strict=True)] for i, s in enumerate(x)]
    for layer in t.layers:
        Y = [list(row) for row in y]
        for head in layer.heads:
            K, Q, V = exact(head.K), exact(head.Q), exact(head.V)
            for i in range(n):
                phi = lambda j, i=i, h=head: Fraction(float(h.phi(j + 1, i + 1)))
                query = times(Q, y[i])
                a = [
                    rounded(dot(times(K, y[j if key else i]), query) + phi(j), p)
                    for j in range(i + 1)
                ]
                w = [powered(n, v - max(a), p) for v in a]
                for j in range(i + 1):
                    share = w[j] / sum(w)
                    Y[i] = [u + share * v for u, v in zip(Y[i], times(V, y[j]), strict=True)]
        A, B, b = exact(layer.A), exact(layer.B), exact(layer.b)[0]
        for i in range(n):
            inside = [u + v for u, v in zip(times(A, Y[i]), b, strict=True)]
            hidden = [
                Fraction(u >= 0) if step else max(u, Fraction(0))
                for u, step in zip(inside, layer.heaviside, strict=True)
            ]
            y[i] = [u + v for u, v in zip(Y[i], times(B, hidden), strict=True)]
    return [times(U, row) for row in y]


def runs(key=True):
    """Return the build: exact outputs of a random transformer, and those by definition."""

    def build(case):
        seed, string, offset = case
        t = drawn(seed)
        got = limit.exact(t, [string], offset).outputs.fractions()[0].tolist()
        return got, by_definition(t, string, offset, key)

    return build


@claim(
    "limit.transformer",
    ref="Sec. 2, eqs. (1)-(4), (6)",
    statement=r"a_{ij} = y_j^T K^T Q y_i + \phi(j, i),\quad Y_i = y_i + \sum_h \frac{\sum_j "
    r"\exp(\log|x|\, a_{ij}) V y_j}{\sum_j \exp(\log|x|\, a_{ij})},\quad "
    r"y_i' = Y_i + B \psi(A Y_i + b)",
)
def transformer():
    """The shipped transformer in exact arithmetic is the definition, fraction by fraction.

    Logits and exponentials are rounded to p bits; the largest logit is subtracted first, see
    `limit.transformer.denominator`. Control: eq. (2) as printed, with y_i for the key too.
    """
    cases = [(seed, "abba"[: seed % 5], seed % 3) for seed in range(12)]
    return construction(
        build=runs(),
        has=lambda pair: pair[0] == pair[1],
        cases=cases,
        control=dict(build=runs(key=False)),
    )


@claim(
    "limit.transformer.floats",
    ref="Sec. 2, eqs. (1)-(4)",
    statement=r"T(x, o) \text{ in floats} = T(x, o) \text{ in fractions}",
)
def floats():
    """In JAX's float64 the same transformers give the same outputs, to 1e-9.

    Control: without rounding.
    """

    def build(case, precision=2):
        seed, string, offset = case
        t = drawn(seed, depth=1)
        x = np.array(t.encode(string, offset))
        got = limit.forward(dataclasses.replace(t, precision=precision), x, offset)
        return np.asarray(got), limit.exact(t, [string], offset).outputs.floats()[0]

    return construction(
        build=build,
        has=lambda pair: np.allclose(pair[0], pair[1], rtol=1e-9, atol=1e-9),
        cases=[(seed, "abba", seed) for seed in range(3)],
        control=dict(build=lambda case: build(case, None)),
    )


@claim(
    "limit.transformer.eq2",
    ref="Sec. 2, eq. (2)",
    statement=r"a_{ij} = y_i^T K^T Q y_i \text{ is eq. (6) with } \phi = 0",
    expect="refuted",
    falls="wording",
    consequence="An index: eq. (6) and everything after it have the key y_j on the left.",
)
def eq2():
    """Eq. (2) prints the query y_i on both sides, so that no logit depends on the key.

    Eq. (6), which differs from eq. (2) by phi alone, has the key y_j on the left. Width 1.
    Control: y_j on both sides.
    """
    same = lambda left, right: lambda m: m[left] * m[2] * m[right] == m[1] * m[2] * m[0]
    return exhaustive(
        predicate=same(0, 0),  # members are y_i, y_j and K^T Q
        universe=list(itertools.product((0, 1, -1), repeat=3)),
        control=dict(predicate=same(1, 1)),
    )


@claim(
    "limit.transformer.eq2.repaired",
    ref="Sec. 2, eqs. (2) and (6)",
    statement=r"a_{ij} = y_j^T K^T Q y_i",
)
def eq2_repaired():
    """With the key on the left and the query on the right the two equations agree.

    Control: the two exchanged, which width 1 hides: at width 2, K^T Q is not symmetric.
    """
    form = lambda u, M, v: sum(u[a] * M[a][b] * v[b] for a in (0, 1) for b in (0, 1))
    pairs = list(itertools.product((0, 1), repeat=2))
    members = list(itertools.product(pairs, pairs, itertools.product(pairs, repeat=2)))
    # K^T Q with K the identity and Q = M: K y_j is y_j.
    logit = lambda yi, yj, M: sum(yj[a] * sum(M[a][b] * yi[b] for b in (0, 1)) for a in (0, 1))
    return exhaustive(
        predicate=lambda m: logit(*m) == form(m[1], m[2], m[0]),
        universe=members,
        control=dict(predicate=lambda m: logit(*m) == form(m[0], m[2], m[1])),
    )


def weight(n, a, p):
    """Return 2^p times n^-a rounded to p fractional bits, for an integer a >= 0."""
    return (2 * math.prod([2] * p) + math.prod([n] * a)) // (2 * math.prod([n] * a))


@claim(
    "limit.transformer.denominator",
    ref="Sec. 2, eq. (3)",
    statement=r"\sum_{j \le i} \mathrm{Round}_p \exp(\log|x|\, a_{ij}) > 0",
    expect="refuted",
    falls="wording",
    consequence="An excluded edge: the model is undefined where all exponentials round to zero; "
    "subtracting the largest logit first repairs it.",
)
def denominator():
    """Where all logits of a query are negative, all weights round to zero: eq. (3) divides by zero.

    With logits -1, once |x| > 2^(p+1). Members are p, -a and |x|. Control: logits of -2.
    """
    members = list(itertools.product((1, 2, 3), (0, 1), range(1, 40)))
    return exhaustive(
        predicate=lambda m: weight(m[2], m[1], m[0]) > 0,
        universe=members,
        control=dict(predicate=lambda m: weight(m[2], 2 * m[1], m[0]) > 0),
    )


@claim(
    "limit.transformer.denominator.repaired",
    ref="Sec. 2, eq. (3)",
    statement=r"\sum_{j \le i} \mathrm{Round}_p \exp(\log|x| (a_{ij} - \max_k a_{ik})) > 0",
)
def denominator_repaired():
    """With the largest logit subtracted first, one weight is 1.

    So the quantitative paper has it (its section 3.2), and so has `Transformer(shift=True)`.
    Members are p, |x| and two logits. Control: not subtracted.
    """
    members = list(itertools.product((1, 2), (1, 2, 7, 30), (0, 1, 2), (0, 1, 2)))
    total = lambda p, n, a, b, top: weight(n, a - top, p) + weight(n, b - top, p)
    return exhaustive(
        predicate=lambda m: total(*m, min(m[2], m[3])) > 0,
        universe=members,
        control=dict(predicate=lambda m: total(*m, 0) > 0),
    )


# Definitions 2 and 3 -----------------------------------------------------------------------------


@claim(
    "limit.limit_transformer",
    ref="Definitions 2, 3",
    statement=r"p_i = p_{i + \Delta},\quad \phi(j, i) = \phi(1, 1 + i - j) = 0 \text{ for } "
    r"i > j + \tau",
)
def limit_transformer():
    """Period, locality and precision of compiled programs are those of their relations.

    Control: periods one larger.
    """
    programs = {
        "i % 4 in {0, 1} and (#[j <= i, j = i - 3] Q_a(j)) >= 1": (4, 3),
        "i % 2 = 0 and not i % 3 = 1": (6, 0),
        "exists[j <= i, i - j in {0, 2}] Q_a(j)": (1, 2),
        "Q_a(i)": (1, 0),
    }

    def build(text):
        t = crasp.compile(crasp.parse(f"alphabet: a b\nP(i) := {text}")).transformer
        return t, *programs[text]

    def positions(found, more=0):
        t, period, tau = found
        p = t.encodings(40)
        return (
            t.period == period + more
            and t.locality == tau
            and (p[period:] == p[:-period]).all()
            and t.bits <= 1
            and t.nope == (period == 1 and tau == 0)
        )

    return construction(
        build=build,
        has=positions,
        cases=list(programs),
        complete=True,
        control=dict(has=lambda found: positions(found, 1)),
    )


@claim(
    "limit.limit_transformer.order",
    ref="Definitions 3, 8",
    statement=r"\psi(i, j) \text{ local } \Rightarrow \#[j \le i, \psi(i, j)] \le \tau + 1",
    expect="refuted",
    falls="wording",
    consequence="The order of two arguments: with the key first, as in eq. (6), locality bounds "
    "what is counted.",
)
def order():
    """Definition 3 as printed puts no bound on what Definition 8's counting with psi can see.

    It asks f(i, j) = 0 for j > i + tau, and counting looks at psi(i, j) for j <= i only: then
    psi = 1 is "local". Members are tau and i. Control: not even the difference is bounded by i - 1.
    """
    count = lambda tau, i: sum(1 for j in range(1, i + 1) if j <= i + tau)
    return exhaustive(
        predicate=lambda m: count(*m) <= m[0] + 1,
        universe=list(itertools.product(range(3), range(1, 9))),
        control=dict(predicate=lambda m: count(*m) < m[1]),
    )


@claim(
    "limit.limit_transformer.order.repaired",
    ref="Definitions 3, 8",
    statement=r"\psi(i, j) = 0 \text{ for } i > j + \tau \Rightarrow "
    r"\#[j \le i, \psi(i, j)] \le \tau + 1",
)
def order_repaired():
    """With the arguments in the order of eq. (6), key first, a local counting is bounded.

    Control: by tau.
    """
    count = lambda tau, i: sum(1 for j in range(1, i + 1) if i <= j + tau)
    return exhaustive(
        predicate=lambda m: count(*m) <= m[0] + 1,
        universe=list(itertools.product(range(4), range(1, 9))),
        control=dict(predicate=lambda m: count(*m) <= m[0]),
    )
