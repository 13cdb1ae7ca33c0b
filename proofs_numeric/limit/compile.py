"""Theorems 9 and 27, appendix B.6: programs to Limit Transformers, operation by operation."""

import itertools
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.proofs_numeric.limit._programs import PRINTED
from theorykit.subjects import crasp, limit

relu = lambda v: max(v, 0)
step = lambda v: int(v >= 0)
HALVES = [Fraction(k, 2) for k in range(-4, 5)]
SHARES = [Fraction(k, 4) for k in range(5)]

# The theorem -------------------------------------------------------------------------------------


def mistakes(p, compiled, longest):
    """Return strings on which a program and a transformer differ, in exact arithmetic."""
    for n in range(longest + 1):
        strings = list(itertools.product(p.alphabet, repeat=n))  # symbols such as SOS are long
        same = compiled.accepts(strings) == p.accepts(strings)
        if not same.all():
            return [strings[int(np.flatnonzero(~same)[0])]]
    return []


@claim(
    "limit.crasp.compile",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w",
)
def theorem():
    """The paper's programs compile to Limit Transformers that accept the same strings.

    All strings up to length 7 over two symbols, 4 over three. Control: programs with > for >=.
    """
    return construction(**shipped(PRINTED, 2**8))


@claim(
    "limit.crasp.compile.long",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w",
    tier="slow",
)
def theorem_long():
    """All shipped programs: to length 12 over two symbols, two million strings over others.

    Control: programs with > for >=.
    """
    return construction(**shipped(crasp.library(), 2_000_000))


def shipped(names, most):
    """Return the construction over programs, on up to so many strings and to length 12."""

    def build(name, change=lambda text: text):
        p = crasp.load(name)
        other = crasp.parse(change(crasp.source(name)))
        symbols = len(p.alphabet)
        strings = lambda n: (symbols ** (n + 1) - 1) // (symbols - 1)
        longest = max(n for n in range(13) if strings(n) <= most)
        return mistakes(p, crasp.compile(other), longest)

    return dict(
        build=build,
        has=lambda wrong: not wrong,
        cases=names,
        control=dict(build=lambda name: build(name, lambda text: text.replace(">=", ">"))),
    )


def random_mistakes(seed, lines=6, longest=5, **options):
    """Return where a random program and its transformer differ."""
    p = crasp.random_program(np.random.default_rng(seed), "ab", lines, **options)
    return mistakes(p, crasp.compile(p), longest)


@claim(
    "limit.crasp.compile.random",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w,\ |w| \le 5",
)
def random_programs():
    """So do 10 random programs. Control: the transformer of a program without its last line."""

    def other(seed):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 6)
        q = crasp.random_program(np.random.default_rng(seed), "ab", 5)
        strings = words("ab", 4)
        return (crasp.compile(q).accepts(strings) != p.accepts(strings)).any()

    return construction(
        build=random_mistakes,
        has=lambda wrong: not wrong,
        cases=range(10),
        control=dict(build=other),
    )


@claim(
    "limit.crasp.compile.many",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w,\ |w| \le 6",
    tier="slow",
)
def many_programs():
    """So do 500 random programs. Control: another seed's program."""

    def other(seed):
        draw = lambda s: crasp.random_program(np.random.default_rng(s), "ab", 8)
        strings = words("ab", 4)
        return (crasp.compile(draw(seed)).accepts(strings) != draw(seed + 1).accepts(strings)).any()

    return construction(
        build=lambda seed: random_mistakes(seed, 6, 6),
        has=lambda wrong: not wrong,
        cases=range(500),
        control=dict(build=other),
    )


@claim(
    "limit.crasp.compile.nope",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ uses no local or periodic relations} \Rightarrow "
    r"p_i \equiv 0,\ \phi_{l,h} \equiv 0",
)
def nope():
    """Programs without positional relations compile to transformers without positions.

    Control: programs with one.
    """

    def build(seed, extra="true"):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 6, periodic=False, local=False)
        return crasp.compile(crasp.parse(f"{p}Z(i) := {extra} and Q_a(i)")).transformer.nope

    return construction(
        build=build,
        has=bool,
        cases=range(60),
        control=dict(build=lambda seed: build(seed, "i % 2 = 0")),
    )


@claim(
    "limit.crasp.compile.simulates",
    ref="Appendix B.6",
    statement=r"T_\infty(\$w)_{i, d_k} = P_k(i) \text{ or } C_k(i) / (i + 1)",
)
def simulates():
    """Every operation of a program is in its dimension at every position, as truth or as share.

    Positions of w count from 1 and `$` is position 0. Control: C / i.
    """

    def build(seed, below=1):
        rng = np.random.default_rng(seed)
        compiled = crasp.compile(crasp.random_program(rng, "ab", 5))
        string = "".join(rng.choice(["a", "b"], 5))
        last = limit.exact(compiled.transformer, [string]).layers[-1].fractions()[0]
        values = crasp.interpret(compiled.program, string)
        kinds = compiled.program.core.kinds
        return [
            (name, i)
            for name, place in compiled.places.items()
            for i in range(1, 6)
            if last[i, place.dimension]
            != Fraction(values[name][i], 1 if kinds[name] == "Boolean" else i + below)
        ][:1]

    return construction(
        build=build,
        has=lambda wrong: not wrong,
        cases=range(25),
        control=dict(build=lambda seed: build(seed, 0)),
    )


# The printed operations --------------------------------------------------------------------------


@claim(
    "limit.crasp.compile.index",
    ref="Appendix B.6",
    statement=r"T(\$w)_{i + 1, k} = \frac{C(i)}{i + 1} \text{ with positions from 0}",
    expect="refuted",
)
def index():
    """With positions counted from 0, as the proof says, uniform attention divides by i + 2.

    The symbol at position i stands at i + 1 after `$`, and looks at i + 2 positions. Members are
    truth values of P. Control: over i + 3.
    """
    share = lambda P, i, more: Fraction(sum(P[: i + 1]), i + more)
    attended = lambda P, i: Fraction(sum((0, *P)[: i + 2]), len((0, *P)[: i + 2]))
    agrees = lambda more: lambda P: all(share(P, i, more) == attended(P, i) for i in range(len(P)))
    members = [P for n in range(1, 6) for P in itertools.product((0, 1), repeat=n)]
    return exhaustive(predicate=agrees(1), universe=members, control=dict(predicate=agrees(3)))


@claim(
    "limit.crasp.compile.index.repaired",
    ref="Appendix B.6",
    statement=r"T(\$w)_{i, k} = \frac{C(i)}{i + 1} \text{ with positions from 1, \$ at 0}",
)
def index_repaired():
    """With positions from 1 and `$` at position 0 the share is C(i) / (i + 1). Control: over i."""
    attended = lambda P, i: Fraction(sum((0, *P)[: i + 1]), i + 1)
    agrees = lambda more: (
        lambda P: all(
            Fraction(sum(P[:i]), i + more) == attended(P, i) for i in range(1, len(P) + 1)
        )
    )
    members = [P for n in range(1, 6) for P in itertools.product((0, 1), repeat=n)]
    return exhaustive(predicate=agrees(1), universe=members, control=dict(predicate=agrees(0)))


@claim(
    "limit.crasp.compile.sos",
    ref="Appendix B.6",
    statement=r"\text{zeroing } \$ \text{ once: } \frac{1}{i + 1} \sum_{j \le i} \neg P(j) = "
    r"\frac{\#[j \le i]\, \neg P(j)}{i + 1}",
    expect="refuted",
)
def sos():
    """Where `$` was set to zero once, a negation makes it true again, and counting counts it.

    Members are truth values of P at positions 1, 2, ... Control: `$` counted twice.
    """
    at = lambda P, i, sos: sum((sos, *(1 - p for p in P[:i]))) == sum(1 - p for p in P[:i])
    holds = lambda sos: lambda P: all(at(P, i, sos) for i in range(1, len(P) + 1))
    members = [P for n in range(1, 6) for P in itertools.product((0, 1), repeat=n)]
    return exhaustive(predicate=holds(1), universe=members, control=dict(predicate=holds(2)))


@claim(
    "limit.crasp.compile.sos.repaired",
    ref="Appendix B.6",
    statement=r"\sum_{j \le i} \mathrm{ReLU}(1 - P(j) - [x_j = \$]) = \#[j \le i]\, \neg P(j)",
)
def sos_repaired():
    """What is counted is masked at `$` anew, by the same hidden unit. Control: not masked."""
    unit = lambda p, sos, mask: relu(1 - p - mask * sos)
    total = lambda P, mask: unit(0, 1, mask) + sum(unit(p, 0, mask) for p in P)
    members = [P for n in range(1, 6) for P in itertools.product((0, 1), repeat=n)]
    return exhaustive(
        predicate=lambda P: total(P, 1) == sum(1 - p for p in P),
        universe=members,
        control=dict(predicate=lambda P: total(P, 0) == sum(1 - p for p in P)),
    )


gate = lambda P, V, r=1: relu(V - r * P) - relu(-r * P)


@claim(
    "limit.crasp.compile.conditional",
    ref="Appendix B.6",
    statement=r"P\,?\,V_1 : V_2 = f(P, V_1) + f(-P, V_2),\ "
    r"f(P, V) = \mathrm{ReLU}(V - P) - \mathrm{ReLU}(-P),\ P \in \{-1, 1\}",
    expect="refuted",
)
def conditional():
    """The branches are exchanged: f(P, V) is V at P = -1, so V_1 comes where P does not hold.

    Members are P, V_1 and V_2 in [0, 1]. Control: one branch alone.
    """
    right = lambda m: m[1] if m[0] == 1 else m[2]
    return exhaustive(
        predicate=lambda m: gate(m[0], m[1]) + gate(-m[0], m[2]) == right(m),
        universe=list(itertools.product((-1, 1), SHARES, SHARES)),
        control=dict(predicate=lambda m: gate(m[0], m[1]) == right(m)),
    )


@claim(
    "limit.crasp.compile.conditional.repaired",
    ref="Appendix B.6",
    statement=r"P\,?\,V_1 : V_2 = f(-P, V_1) + f(P, V_2)",
)
def conditional_repaired():
    """With the branches exchanged it holds for shares in [0, 1]. Control: as printed."""
    right = lambda m: m[1] if m[0] == 1 else m[2]
    return exhaustive(
        predicate=lambda m: gate(-m[0], m[1]) + gate(m[0], m[2]) == right(m),
        universe=list(itertools.product((-1, 1), SHARES, SHARES)),
        control=dict(predicate=lambda m: gate(m[0], m[1]) + gate(-m[0], m[2]) == right(m)),
    )


@claim(
    "limit.crasp.compile.range",
    ref="Appendix B.6",
    statement=r"f(P, V) = V \text{ if } P = -1 \text{ else } 0,\ V = C(i) / (i + 1)",
    expect="refuted",
)
def count_range():
    """Sums and differences of counts leave [0, 1], and there the gate leaks or clips.

    Members are P and V in [-2, 2]: 1 - C and C + C are such counts. Control: V exchanged with -V.
    """
    right = lambda m: m[1] if m[0] == -1 else 0
    return exhaustive(
        predicate=lambda m: gate(*m) == right(m),
        universe=list(itertools.product((-1, 1), HALVES)),
        control=dict(predicate=lambda m: gate(m[0], -m[1]) == right(m)),
    )


@claim(
    "limit.crasp.compile.range.repaired",
    ref="Appendix B.6",
    statement=r"\mathrm{ReLU}(V - r P) - \mathrm{ReLU}(-r P) = V \text{ if } P = -1 \text{ else } "
    r"0,\ |V| \le r",
)
def count_range_repaired():
    """A gate scaled with a bound r on the count is exact; a program's bound is known beforehand.

    Control: half the bound.
    """
    right = lambda m: m[1] if m[0] == -1 else 0
    return exhaustive(
        predicate=lambda m: gate(*m, 2) == right(m),
        universe=list(itertools.product((-1, 1), HALVES)),
        control=dict(predicate=lambda m: gate(*m, 1) == right(m)),
    )


@claim(
    "limit.crasp.compile.comparison",
    ref="Appendix B.6",
    statement=r"(\mathrm{hs}(x_2 - x_1) + 1) / 2 = [x_1 \le x_2]",
    expect="refuted",
)
def comparison():
    """A Heaviside unit, 0 or 1 (section 2), gives 1/2 or 1 in this formula.

    It is written for a sign, -1 or 1. Members are x_1 and x_2. Control: of x_1 - x_2.
    """
    value = lambda v: Fraction(step(v) + 1, 2)
    return exhaustive(
        predicate=lambda m: value(m[1] - m[0]) == (m[0] <= m[1]),
        universe=list(itertools.product(SHARES, repeat=2)),
        control=dict(predicate=lambda m: value(m[0] - m[1]) == (m[0] <= m[1])),
    )


@claim(
    "limit.crasp.compile.comparison.repaired",
    ref="Appendix B.6",
    statement=r"\mathrm{hs}(x_2 - x_1) = [x_1 \le x_2],\ \mathrm{hs}(0) = 1",
)
def comparison_repaired():
    """The unit itself is the comparison, if it is 1 at 0. Control: 0 at 0."""
    return exhaustive(
        predicate=lambda m: step(m[1] - m[0]) == (m[0] <= m[1]),
        universe=list(itertools.product(SHARES, repeat=2)),
        control=dict(predicate=lambda m: int(m[1] - m[0] > 0) == (m[0] <= m[1])),
    )


def looked_up(P, i, distance, N):
    """Return c_i of appendix B.6: attention with logits log N psi, at position i of $ and P."""
    row = (0, *P)[: i + 1]
    weight = lambda j: N if j == i - distance else 1
    return Fraction(sum(weight(j) * p for j, p in enumerate(row)), sum(map(weight, range(i + 1))))


def local_members(longest=5):
    """Return truth values of P, and distances."""
    rows = [P for n in range(1, longest + 1) for P in itertools.product((0, 1), repeat=n)]
    return list(itertools.product(rows, (0, 1, 2, 3)))


def counts_right(holds):
    """Return the predicate: at every position, `holds` says whether P is true a distance before."""

    def predicate(member):
        P, d = member
        N = len(P) + 1
        there = lambda i: i - d >= 1 and P[i - d - 1] == 1
        return all(holds(P, i, d, N) == there(i) for i in range(1, len(P) + 1))

    return predicate


@claim(
    "limit.crasp.compile.local",
    ref="Appendix B.6",
    statement=r"P(i - \ell) \iff c_i \ge \tfrac12",
    expect="refuted",
)
def local():
    """Where position i - l does not exist, attention is uniform and may pass 1/2 all the same.

    With l = 2, position 1 and P true there, c = 1/2. Members are P and l. Control: c > 1/2.
    """
    half = lambda P, i, d, N: 2 * looked_up(P, i, d, N) >= 1
    above = lambda P, i, d, N: 2 * looked_up(P, i, d, N) > 1
    return exhaustive(
        predicate=counts_right(half),
        universe=local_members(),
        control=dict(predicate=counts_right(above)),
    )


@claim(
    "limit.crasp.compile.local.repaired",
    ref="Appendix B.6",
    statement=r"P(i - \ell) \iff c_i \ge \tfrac12 \land \tfrac{\ell + 2}{i + 1} \le 1",
)
def local_repaired():
    """Asking also whether i > l, by the share 1 / (i + 1) of `$`, makes it right.

    Control: whether i >= l - 1.
    """
    both = lambda slack: (
        lambda P, i, d, N: 2 * looked_up(P, i, d, N) >= 1 and Fraction(d + 2 - slack, i + 1) <= 1
    )
    return exhaustive(
        predicate=counts_right(both(0)),
        universe=local_members(),
        control=dict(predicate=counts_right(both(2))),
    )
