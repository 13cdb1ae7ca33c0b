"""Appendix B.6: the operations of C-RASP as the paper prints them, and as they are compiled."""

import itertools
from fractions import Fraction

from theorykit import claim
from theorykit.checks import exhaustive
from theorykit.common.words import words
from theorykit.subjects import crasp, limit

relu = lambda v: max(v, 0)
step = lambda v: int(v >= 0)
SHARES = [Fraction(k, 4) for k in range(5)]
WORDS = words("ab", *range(1, 6))


def stored(text, name):
    """Return what the compiled program stores for an operation, as a function of the word.

    In exact arithmetic, at positions 1, 2, ...; and the operation's values.
    """
    p = crasp.parse(f"alphabet: a b\n{text}")
    compiled = crasp.compile(p)
    dimension = compiled.places[name].dimension
    found: dict[str, list] = {}
    for n in range(1, 6):
        strings = words("ab", n)
        last = limit.exact(compiled.transformer, strings).layers[-1].fractions()
        found |= dict(zip(strings, last[:, 1:, dimension].tolist(), strict=True))
    return lambda word: (found[word], crasp.interpret(p, word)[name][1:])


def shares(values, more=1):
    """Return the counts at positions 1, 2, ... over i + 1."""
    return [Fraction(c, i + more) for i, c in enumerate(values, 1)]


@claim(
    "limit.crasp.compile.index",
    ref="Appendix B.6",
    statement=r"T(\$w)_{i + 1, k} = \frac{C(i)}{i + 1} \text{ with positions from 0}",
    expect="refuted",
    falls="wording",
    consequence="An index: with positions from 1 and $ at position 0 the shares are as printed.",
    mathematics=True,
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
    """The compiled count of a is C(i) / (i + 1), on all words up to length 5. Control: over i."""
    at = stored("C(i) := #[j <= i] Q_a(j)\nL(i) := C(i) >= 1", "C")

    def holds(more):
        def predicate(word):
            found, counts = at(word)
            return found == shares(counts, more)

        return predicate

    return exhaustive(
        predicate=holds(1),
        universe=WORDS,
        telling=lambda word: "a" in word,
        control=dict(predicate=holds(0)),
    )


@claim(
    "limit.crasp.compile.sos",
    ref="Appendix B.6",
    statement=r"P(0) \text{ is false for every Boolean operation } P",
    assumptions=[r"\text{a first layer sets the vector at \$ to zero}"],
    expect="refuted",
    falls="proof",
    consequence="The proof masks $ before the first operation and not after a negation; masking "
    "what is counted anew each time repairs it, and the theorem stands.",
)
def sos():
    """A negation is true at `$` again, and a later count includes it.

    Members are Boolean operations over symbols, all false at `$`, by the interpreter. Control: any
    operation is false there, constants too.
    """
    false = lambda e: crasp.interpret(crasp.parse(f"alphabet: a b\nP(i) := {e}"), "")["P"] == [0]
    return exhaustive(
        predicate=false,
        universe=["Q_a(i)", "Q_a(i) and Q_b(i)", "not Q_a(i)"],
        control=dict(universe=["Q_a(i)", "true"]),
    )


@claim(
    "limit.crasp.compile.sos.repaired",
    ref="Appendix B.6",
    statement=r"\frac{1}{i + 1} \sum_{j \le i} \mathrm{ReLU}(1 - P(j) - [x_j = \$]) = "
    r"\frac{\#[j \le i]\, \neg P(j)}{i + 1}",
)
def sos_repaired():
    """Every counted Boolean is masked at `$`, so compiled counts of negations are right.

    Members are words up to length 5. Control: with `$` counted too.
    """
    at = stored("C(i) := #[j <= i] not Q_a(j)\nL(i) := C(i) >= 1", "C")

    def holds(more):
        def predicate(word):
            found, counts = at(word)
            return found == shares([c + more for c in counts])

        return predicate

    return exhaustive(predicate=holds(0), universe=WORDS, control=dict(predicate=holds(1)))


gate = lambda P, V, r=1: relu(V - r * P) - relu(-r * P)


@claim(
    "limit.crasp.compile.conditional",
    ref="Appendix B.6",
    statement=r"P\,?\,V_1 : V_2 = f(P, V_1) + f(-P, V_2),\ "
    r"f(P, V) = \mathrm{ReLU}(V - P) - \mathrm{ReLU}(-P),\ P \in \{-1, 1\}",
    expect="refuted",
    falls="wording",
    consequence="A sign: with the two branches exchanged the gate is right.",
    mathematics=True,
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


def branches(text):
    """Return the predicate for whether a compiled conditional stores the branch that P takes.

    The text has the conditional C of P, with branches U and V; the predicate is given a word and
    whether the branches are exchanged.
    """
    p = crasp.parse(f"alphabet: a b\n{text}")
    at = stored(text, "C")

    def holds(word, exchanged=False):
        values = crasp.interpret(p, word)
        taken = [
            u if bool(c) != exchanged else v
            for c, u, v in zip(*(values[k][1:] for k in ("P", "U", "V")), strict=True)
        ]
        return at(word)[0] == shares(taken)

    return holds


@claim(
    "limit.crasp.compile.conditional.repaired",
    ref="Appendix B.6",
    statement=r"P\,?\,V_1 : V_2 = f(-P, V_1) + f(P, V_2)",
)
def conditional_repaired():
    """With the branches exchanged, as compiled, the gate is right on words up to length 5.

    Both counts are within [0, 1]. Control: as printed.
    """
    holds = branches(
        "P(i) := Q_a(i)\nU(i) := #[j <= i] Q_a(j)\nV(i) := #[j <= i] Q_b(j)\n"
        "C(i) := P(i) ? U(i) : V(i)\nL(i) := C(i) >= 1"
    )
    return exhaustive(
        predicate=lambda word: holds(word),
        universe=WORDS,
        telling=lambda word: not holds(word, True),
        control=dict(predicate=lambda word: holds(word, True)),
    )


@claim(
    "limit.crasp.compile.range",
    ref="Appendix B.6",
    statement=r"V = \frac{C(i)}{i + 1} \in [0, 1] \text{ for every count } C",
    expect="refuted",
    falls="proof",
    consequence="The conditional's gate assumes V in [0, 1], and counts leave it by addition and "
    "subtraction; a gate scaled with a bound on the count, known beforehand, repairs it.",
)
def count_range():
    """The gate assumes V in [0, 1]; sums and differences of counts leave that interval.

    Members are counts by operations of Definition 8, the values those of the interpreter on bbb,
    aaa and aba. Control: below 1/2.
    """

    def within(most):
        def predicate(count):
            p = crasp.parse(f"alphabet: a b\nC(i) := {count}\nL(i) := C(i) >= 1")
            return all(
                0 <= v <= most for w in ("bbb", "aaa", "aba")
                for v in shares(crasp.interpret(p, w)["C"][1:])
            )  # fmt: skip

        return predicate

    counts = ["1", "#[j <= i] Q_a(j)", "1 - (#[j <= i] Q_a(j))", "2 + #[j <= i] Q_a(j)"]
    return exhaustive(
        predicate=within(1), universe=counts, control=dict(predicate=within(Fraction(1, 2)))
    )


@claim(
    "limit.crasp.compile.range.repaired",
    ref="Appendix B.6",
    statement=r"\mathrm{ReLU}(V - r P) - \mathrm{ReLU}(-r P) = V \text{ if } P = -1 \text{ else } "
    r"0,\ |V| \le r",
)
def count_range_repaired():
    """A gate scaled with a bound r on the count is exact; a program's bound is known beforehand.

    A compiled conditional of counts from -12 to 9, on words up to length 5. Control: with the
    branches exchanged.
    """
    holds = branches(
        "P(i) := Q_a(i)\nU(i) := 3 - 3 * #[j <= i] Q_a(j)\nV(i) := 4 + #[j <= i] Q_b(j)\n"
        "C(i) := P(i) ? U(i) : V(i)\nL(i) := C(i) >= 1"
    )
    return exhaustive(
        predicate=lambda word: holds(word),
        universe=WORDS,
        control=dict(predicate=lambda word: holds(word, True)),
    )


@claim(
    "limit.crasp.compile.comparison",
    ref="Appendix B.6",
    statement=r"(\mathrm{hs}(x_2 - x_1) + 1) / 2 = [x_1 \le x_2]",
    expect="refuted",
    falls="reading",
    consequence="The paper nowhere says which values Heaviside takes: read as 0 and 1 the formula "
    "needs no (. + 1) / 2, read as -1 and 1 it is right.",
    mathematics=True,
)
def comparison():
    """A Heaviside unit with values 0 and 1 gives 1/2 or 1 in this formula.

    The formula is meant for a sign, -1 or 1. Members are x_1 and x_2. Control: of x_1 - x_2.
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
    """The unit itself is the comparison, as compiled, if it is 1 at 0. Control: 0 at 0."""
    text = "U(i) := #[j <= i] Q_a(j)\nV(i) := #[j <= i] Q_b(j)\nL(i) := U(i) <= V(i)"
    at, p = stored(text, "L"), crasp.parse(f"alphabet: a b\n{text}")

    def holds(less):
        def predicate(word):
            values = crasp.interpret(p, word)
            pairs = zip(values["U"][1:], values["V"][1:], strict=True)
            return at(word)[0] == [int(u <= v - less) for u, v in pairs]

        return predicate

    return exhaustive(predicate=holds(0), universe=WORDS, control=dict(predicate=holds(1)))


def looked_up(P, i, distance, N):
    """Return c_i of appendix B.6: attention with logits log N psi, at position i of $ and P."""
    row = (0, *P)[: i + 1]
    weight = lambda j: N if j == i - distance else 1
    return Fraction(sum(weight(j) * p for j, p in enumerate(row)), sum(map(weight, range(i + 1))))


def printed_local(P, d):
    """Return whether c_i >= 1/2, at positions 1, 2, ..."""
    return [2 * looked_up(P, i, d, len(P) + 1) >= 1 for i in range(1, len(P) + 1)]


@claim(
    "limit.crasp.compile.local",
    ref="Appendix B.6",
    statement=r"P(i - \ell) \iff c_i \ge \tfrac12",
    expect="refuted",
    falls="proof",
    consequence="Near the start, where position i - l does not exist, the count is wrong; a "
    "further test of i > l repairs it.",
    mathematics=True,
)
def local():
    """Where position i - l does not exist, attention is uniform and may still exceed 1/2.

    With l = 2, position 1 and P true there, c = 1/2. Members are truth values of P and l. Control:
    c > 1/2.
    """
    there = lambda P, d: [i > d and P[i - d - 1] == 1 for i in range(1, len(P) + 1)]
    above = lambda P, d: [2 * looked_up(P, i, d, len(P) + 1) > 1 for i in range(1, len(P) + 1)]
    rows = [P for n in range(1, 6) for P in itertools.product((0, 1), repeat=n)]
    return exhaustive(
        predicate=lambda m: printed_local(*m) == there(*m),
        universe=list(itertools.product(rows, (0, 1, 2, 3))),
        control=dict(predicate=lambda m: above(*m) == there(*m)),
    )


@claim(
    "limit.crasp.compile.local.repaired",
    ref="Appendix B.6",
    statement=r"P(i - \ell) \iff c_i \ge \tfrac12 \land \tfrac{\ell + 2}{i + 1} \le 1",
)
def local_repaired():
    """A further test of i > l, by the share 1 / (i + 1) of `$`, makes it right.

    As compiled, for l up to 3, on words up to length 5. Control: as printed.
    """
    at = {
        d: stored(f"C(i) := #[j <= i, j = i - {d}] Q_a(j)\nL(i) := C(i) >= 1", "C")
        for d in range(4)
    }
    there = lambda word, d: [int(i > d and word[i - d - 1] == "a") for i in range(1, len(word) + 1)]
    printed = lambda word, d: printed_local(tuple(int(c == "a") for c in word), d)
    return exhaustive(
        predicate=lambda m: at[m[1]](m[0])[0] == shares(there(*m)),
        universe=list(itertools.product(WORDS, range(4))),
        telling=lambda m: printed(*m) != there(*m),
        control=dict(predicate=lambda m: at[m[1]](m[0])[0] == shares(printed(*m))),
    )
