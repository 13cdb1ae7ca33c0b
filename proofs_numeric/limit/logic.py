"""Proposition 31: C-RASP in two-variable majority logic."""

import itertools

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.proofs_numeric.limit._programs import PRINTED
from theorykit.subjects import crasp

LONGEST = {2: 6, 3: 4}


@claim(
    "limit.31.majority_logic",
    ref="Proposition 31",
    statement=r"\text{C-RASP}[\text{periodic}, \text{local}] \subseteq "
    r"\widehat{MAJ}_2[<, +1, MOD]",
)
def majority_logic():
    """The paper's programs as sentences: the same nonempty words, by an evaluator of the logic.

    Up to length 6 over two symbols, 4 over three; with the repairs below. Control: the sentence
    of the program with > for >=.
    """

    def build(name, change=lambda text: text):
        p = crasp.load(name)
        sentence = crasp.formula(crasp.parse(change(crasp.source(name))))
        strings = [w for n in range(1, LONGEST[len(p.alphabet)] + 1) for w in words(p.alphabet, n)]
        verdicts = p.accepts(strings).tolist()
        return [
            w for w, v in zip(strings, verdicts, strict=True) if crasp.models(w, sentence) != v
        ][:1]

    return construction(
        build=build,
        has=lambda wrong: not wrong,
        cases=[n for n in PRINTED if n != "induction_argmax"],
        control=dict(build=lambda name: build(name, lambda text: text.replace(">=", ">"))),
    )


def majority(n, *parts):
    """Whether Maj j of these parts holds over positions 1, ..., n."""
    return sum(1 if part(j) else -1 for part in parts for j in range(1, n + 1)) > 0


PLACES = [(n, i) for n in range(1, 7) for i in range(1, n + 1)]


@claim(
    "limit.31.fst",
    ref="Proposition 31",
    statement=r"\mathrm{fst}(i) := \widehat{Maj}\, j \langle j \le i, \top \rangle",
    expect="refuted",
    falls="proof",
    consequence="The formula for the first position must be replaced; the proposition stands.",
    mathematics=True,
)
def fst():
    """The printed formula for the first position holds everywhere: the sum is 2 i.

    Members are n and i. Control: with a false part in place of the true one.
    """
    first = lambda n, i, extra: majority(n, lambda j: j <= i, lambda j: extra) == (i == 1)
    return exhaustive(
        predicate=lambda m: first(*m, True),
        universe=PLACES,
        control=dict(predicate=lambda m: first(*m, False)),
    )


def says(text):
    """Return the sentence of a program as a predicate of words."""
    sentence = crasp.formula(crasp.parse(f"alphabet: a b\n{text}"))
    return lambda word: crasp.models(word, sentence)


WORDS = words("ab", *range(1, 6))


@claim(
    "limit.31.fst.repaired",
    ref="Proposition 31",
    statement=r"\mathrm{fst}(i) := \neg \exists j: j < i",
)
def fst_repaired():
    """The first position has none before it; this is how sentences of programs express constants.

    The sentence for an a at a position to which one symbol is counted says that the word begins
    with a. Words up to length 5. Control: two symbols.
    """
    begins = lambda count: says(
        f"N(i) := #[j <= i] true\nL(i) := exists[j <= i] Q_a(j) and N(j) <= {count}"
    )
    one, two = begins(1), begins(2)
    return exhaustive(
        predicate=lambda word: one(word) == (word[0] == "a"),
        universe=WORDS,
        control=dict(predicate=lambda word: two(word) == (word[0] == "a")),
    )


@claim(
    "limit.31.shift",
    ref="Proposition 31",
    statement=r"\phi(i - 2) \equiv \exists i. (Succ(i, i) \land "
    r"\exists j. (Succ(j, i) \land \phi(j)))",
    expect="refuted",
    falls="wording",
    consequence="A variable: with Succ(j, i) outside and Succ(i, j) inside the two take turns, "
    "as meant.",
    mathematics=True,
)
def shift():
    """Succ(i, i) holds nowhere, so the printed shift is false. Members are truth values of phi.

    Control: true everywhere.
    """
    right = lambda phi, i: i >= 3 and phi[i - 3]
    printed = lambda phi, i: any(
        k + 1 == k and any(j + 1 == k and phi[j - 1] for j in range(1, len(phi) + 1))
        for k in range(1, len(phi) + 1)
    )
    everywhere = lambda test: lambda phi: all(test(phi, i) for i in range(1, len(phi) + 1))
    members = [phi for n in range(1, 6) for phi in itertools.product((False, True), repeat=n)]
    return exhaustive(
        predicate=everywhere(lambda phi, i: printed(phi, i) == right(phi, i)),
        universe=members,
        control=dict(predicate=everywhere(lambda phi, i: right(phi, i))),
    )


@claim(
    "limit.31.shift.repaired",
    ref="Proposition 31",
    statement=r"\phi(i - 2) \equiv \exists j. (Succ(j, i) \land "
    r"\exists i. (Succ(i, j) \land \phi(i)))",
)
def shift_repaired():
    """The two variables take turns: the sentence for an a two before the end, up to length 5.

    Also at two positions with an a two before. Control: only one step.
    """
    back = lambda d: "C(i) := #[j <= i, j = i - " + str(d) + "] Q_a(j)\nL(i) := "
    right = lambda word: (word[-3:-2] == "a", word[:-2].count("a") == 2)

    def found(d):
        end, twice = says(back(d) + "C(i) >= 1"), says(back(d) + "(#[j <= i] C(j) >= 1) = 2")
        return lambda word: (end(word), twice(word))

    two, one = found(2), found(1)
    return exhaustive(
        predicate=lambda word: two(word) == right(word),
        universe=WORDS,
        control=dict(predicate=lambda word: one(word) == right(word)),
    )


COUNTED = [
    (P, alpha)
    for n in range(1, 5)
    for P in itertools.product((False, True), repeat=n)
    for alpha in (-2, -1, 1, 2)
]


def weighted(n, part, alpha):
    """Return the printed list L_k for one count: copies of it, or of its negation, and padding."""
    copies = abs(alpha) * [part if alpha > 0 else lambda j: not part(j)]
    return majority(n, *copies, *(abs(alpha) * [lambda j: alpha > 0]))


def decides(member):
    """Whether at every i the majority says whether alpha #[j <= i] P(j) > 0."""
    P, alpha = member
    right = lambda i: alpha * sum(P[:i]) > 0
    told = weighted(len(P), lambda j: P[j - 1], alpha)
    return all(told == right(i) for i in range(1, len(P) + 1))


@claim(
    "limit.31.counting",
    ref="Proposition 31",
    statement=r"\sum_k \alpha_k \#[j \le i]\, P_k(j) > 0 \iff "
    r"\widehat{Maj}\, j \langle \hat P_k(j), \dots, \top, \dots \rangle",
    expect="refuted",
    falls="proof",
    consequence="Counting must be restricted to j <= i; with that the proposition stands.",
    mathematics=True,
)
def counting():
    """The printed lists do not mention i: they count in the whole word.

    Members are truth values of P and alpha. Control: only those with alpha > 0.
    """
    return exhaustive(
        predicate=decides,
        universe=COUNTED,
        control=dict(universe=[m for m in COUNTED if m[1] > 0]),
    )


@claim(
    "limit.31.counting.repaired",
    ref="Proposition 31",
    statement=r"\sum_k \alpha_k \#[j \le i]\, P_k(j) > 0 \iff "
    r"\widehat{Maj}\, j \langle j \le i \land \hat P_k(j), \dots, \top, \dots \rangle",
)
def counting_repaired():
    """With j <= i in the counting, sentences of sums are also right at positions before the end.

    The sentence for 2 A - 3 B + 1 > 0 at two positions, A and B counts, on words up to length 5.
    Control: counts in the whole word, as printed.
    """
    sentence = says(
        "A(i) := #[j <= i] Q_a(j)\nB(i) := #[j <= i] Q_b(j)\n"
        "P(i) := 2 * A(i) - 3 * B(i) + 1 > 0\nL(i) := (#[j <= i] P(j)) = 2"
    )
    positive = lambda w: 2 * w.count("a") - 3 * w.count("b") + 1 > 0
    places = lambda word: [word[: i + 1] for i in range(len(word))]
    return exhaustive(
        predicate=lambda word: sentence(word) == (sum(map(positive, places(word))) == 2),
        universe=WORDS,
        control=dict(
            predicate=lambda word: sentence(word) == (positive(word) * len(word) == 2),
        ),
    )
