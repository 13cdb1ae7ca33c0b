"""Section 2, Definitions 2 and 3: the transformer and its limit."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.proofs_numeric.limit._drawn import drawn, each_head
from theorykit.subjects import crasp, limit

# Section 2: eqs. (1) to (4) ----------------------------------------------------------------------


def rounded(v, p):
    """Return v rounded to p fractional bits, ties upward."""
    return Fraction(math.floor(v * 2**p + Fraction(1, 2)), 2**p)


def powered(n, a, p):
    """Return n^a to p fractional bits, for a fraction a with p fractional bits."""
    target = lambda k: (Fraction(2 * k - 1, 2) / 2**p) ** (2**p)  # where rounding gives k
    value = Fraction(n) ** int(a * 2**p)
    low, high = 0, 1
    while target(high) <= value:
        low, high = high, 2 * high
    while high - low > 1:  # rounding gives low or more, and less than high
        middle = (low + high) // 2
        low, high = (middle, high) if target(middle) <= value else (low, middle)
    return Fraction(low, 2**p)


UNDEFINED = "all weights round to zero"


def by_definition(t, string, offset, key=True):
    """Return the outputs by eqs. (1) to (4) and (6), in fractions, one number at a time.

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
                top = max(a) if t.shift else 0
                w = [powered(n, v - top, p) for v in a]
                if not any(w):
                    return UNDEFINED
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
    """Return the build: exact outputs of a random transformer, and those by definition.

    A case is a seed, a string, an offset, and whether the largest logit is subtracted first.
    """

    def build(case):
        seed, string, offset, shift = case
        t = dataclasses.replace(drawn(seed), shift=shift)
        try:
            got = limit.exact(t, [string], offset).outputs.fractions()[0].tolist()
        except ValueError:  # all weights of some query round to zero
            got = UNDEFINED
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
    """The shipped transformer in exact arithmetic agrees with the definition, fraction by fraction.

    Logits and exponentials are rounded to p bits, with and without subtracting the largest logit
    first (`limit.transformer.denominator`). Where all weights round to zero, both say so. Control:
    eq. (2) as printed, with y_i for the key too.
    """
    cases = [
        (seed, "abba"[: seed % 5], seed % 3, shift) for seed in range(12) for shift in (False, True)
    ]
    return construction(
        build=runs(),
        has=lambda pair: pair[0] == pair[1],
        telling=lambda pair: pair[0] != UNDEFINED,
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


PRODUCTS = list(itertools.product(itertools.product((0, 1), repeat=2), repeat=2))


def same_logits(form):
    """Return the predicate: a matrix K^T Q and phi(j, i) = form(p, K^T Q, j, i) are equivalent.

    Encodings p alternate between two unit vectors; the value is whether the symbol is a.
    """

    def predicate(rows):
        M, d = np.array(rows, float), 4  # the position, whether a, the output
        p = np.eye(2)
        E, positions, V = np.zeros((3, d)), np.zeros((2, d)), np.zeros((d, d))
        E[1, 2] = V[3, 2] = 1
        positions[:, :2] = p
        wide = lambda a: np.pad(a, [(0, 0), (0, 2)])
        phi = np.vectorize(lambda j, i: form(p, M, (j - 1) % 2, (i - 1) % 2))
        none = np.zeros((0, d))
        heads = limit.Head(wide(np.eye(2)), wide(M), V), limit.Head(none, none, V, phi)
        outputs = []
        for head in heads:
            layers = (limit.Layer((head,), *limit.mlp(d)),)
            t = limit.Transformer(
                ("$", "a", "b"), E, positions, layers, np.eye(d)[3:], precision=2, shift=True
            )
            outputs.append(limit.exact(t, ["abba", "baab"]).outputs)
        return outputs[0] == outputs[1]

    return predicate


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

    Eq. (6), which differs from eq. (2) by phi alone, has the key y_j on the left. Members are
    K^T Q; a transformer with these K and Q runs beside one with the products as its phi, on
    positions of period 2. Control: y_j on both sides.
    """
    return exhaustive(
        predicate=same_logits(lambda p, M, j, i: p[i] @ M @ p[i]),
        universe=PRODUCTS,
        control=dict(predicate=same_logits(lambda p, M, j, i: p[j] @ M @ p[j])),
    )


@claim(
    "limit.transformer.eq2.repaired",
    ref="Sec. 2, eqs. (2) and (6)",
    statement=r"a_{ij} = y_j^T K^T Q y_i",
)
def eq2_repaired():
    """With the key on the left and the query on the right the two equations agree.

    Control: the two exchanged.
    """
    return exhaustive(
        predicate=same_logits(lambda p, M, j, i: p[j] @ M @ p[i]),
        universe=PRODUCTS,
        control=dict(predicate=same_logits(lambda p, M, j, i: p[i] @ M @ p[j])),
    )


def defined(shift):
    """Return the predicate: a head with the same logit -a everywhere runs on |x| symbols.

    Members are p, a and |x|.
    """

    def predicate(member):
        p, a, n = member
        unit = np.eye(2)[:1]
        E = np.array([[1.0, 0], [1, 0]])
        head = limit.Head(unit, -a * unit, np.eye(2))
        layers = (limit.Layer((head,), *limit.mlp(2)),)
        t = limit.Transformer(
            ("$", "a"), E, np.zeros((1, 2)), layers, np.eye(2), None, precision=p, shift=shift
        )
        try:
            limit.exact(t, ["a" * (n - 1)])
        except ValueError:
            return False
        return True

    return predicate


SIZES = [(p, a, n) for p in (1, 2) for a in (0, 1, 2) for n in (1, 2, 3, 4, 5, 8, 9, 12)]


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

    With logits -1, once |x| > 2^(p+1). Members are p, -a and |x|. Control: half as many weights,
    those with logits of -2 alone.
    """
    return exhaustive(
        predicate=defined(False),
        universe=SIZES,
        control=dict(universe=[m for m in SIZES if m[1] == 2]),
    )


@claim(
    "limit.transformer.denominator.repaired",
    ref="Sec. 2, eq. (3)",
    statement=r"\sum_{j \le i} \mathrm{Round}_p \exp(\log|x| (a_{ij} - \max_k a_{ik})) > 0",
)
def denominator_repaired():
    """With the largest logit subtracted first, one weight is 1.

    The quantitative paper does this (its section 3.2), and so does `Transformer(shift=True)`.
    Members are p, -a and |x|. Control: not subtracted.
    """
    return exhaustive(
        predicate=defined(True), universe=SIZES, control=dict(predicate=defined(False))
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
    "the counts.",
)
def order():
    """Definition 3 as printed does not bound what Definition 8's counting with psi can see.

    It asks f(i, j) = 0 for j > i + tau, and counting looks at psi(i, j) for j <= i only: then psi =
    1 is "local". Members are tau and i; counted is by the program, on a^i. Control: not even the
    difference is bounded by i - 1.
    """
    return exhaustive(
        predicate=lambda m: counted("j <= i", m[1]) <= m[0] + 1,
        universe=list(itertools.product(range(3), range(1, 9))),
        control=dict(predicate=lambda m: counted("j <= i", m[1]) < m[1]),
    )


def counted(mask, n):
    """Return the largest count of a program with this mask on a^n, by the interpreter."""
    p = crasp.parse(f"alphabet: a b\nC(i) := #[{mask}] Q_a(j)\nL(i) := C(i) >= 1")
    return max(crasp.interpret(p, "a" * n)["C"])


@claim(
    "limit.limit_transformer.order.repaired",
    ref="Definitions 3, 8",
    statement=r"\psi(i, j) = 0 \text{ for } i > j + \tau \Rightarrow "
    r"\#[j \le i, \psi(i, j)] \le \tau + 1",
)
def order_repaired():
    """With the arguments in the order of eq. (6), key first, a local counting is bounded.

    Members are tau and i. Control: by tau.
    """
    mask = lambda tau: f"j <= i, i - j in {{{', '.join(map(str, range(tau + 1)))}}}"
    return exhaustive(
        predicate=lambda m: counted(mask(m[0]), m[1]) <= m[0] + 1,
        universe=list(itertools.product(range(4), range(1, 9))),
        control=dict(predicate=lambda m: counted(mask(m[0]), m[1]) <= m[0]),
    )


def shortened(t, last, reach):
    """Return a Limit Transformer with phi(1, 1), ..., phi(1, reach) and p_1, ..., p_last alone.

    The rest is zero.
    """
    cut = lambda h: (
        h if h.phi is None else dataclasses.replace(h, phi=limit.Local(h.phi.values[:reach]))
    )
    positions = t.positions.copy()
    positions[last:] = 0
    return dataclasses.replace(each_head(t, cut), positions=positions)


SPECIFIED = ["L(i) := i % 2 = 0", "L(i) := i % 3 = 2", "L(i) := (#[j <= i, j = i - 2] Q_a(j)) >= 1"]


def specify(last, reach):
    """Return the build: whether these positional parameters suffice in place of all of them."""

    def build(text):
        t = crasp.compile(crasp.parse(f"alphabet: a b\n{text}")).transformer
        part = shortened(t, t.period + last, t.locality + reach)
        strings = words("ab", *range(6))
        return (limit.accepts(part, strings) == limit.accepts(t, strings)).all()

    return build


@claim(
    "limit.limit_transformer.parameters",
    ref="Sec. 3.3",
    statement=r"p_1, \dots, p_{\Delta - 1} \text{ and } \phi(1, 1), \dots, \phi(1, \tau) "
    r"\text{ specify all positional parameters}",
    expect="refuted",
    falls="wording",
    consequence="Two indices: it takes p_Delta and phi(1, 1 + tau) too; there are finitely many.",
)
def parameters():
    """The listed parameters leave out p_Delta and phi(1, 1 + tau), the one for distance tau.

    Compiled programs without these accept other strings. Control: one less of each.
    """
    return construction(
        build=specify(-1, 0),
        has=bool,
        cases=SPECIFIED,
        control=dict(build=specify(-2, -1)),
    )


@claim(
    "limit.limit_transformer.parameters.repaired",
    ref="Sec. 3.3",
    statement=r"p_1, \dots, p_\Delta \text{ and } \phi(1, 1), \dots, \phi(1, 1 + \tau) "
    r"\text{ specify all positional parameters}",
)
def parameters_repaired():
    """With p_Delta and phi(1, 1 + tau) added, they determine all. Control: as printed."""
    return construction(
        build=specify(0, 1), has=bool, cases=SPECIFIED, control=dict(build=specify(-1, 0))
    )
