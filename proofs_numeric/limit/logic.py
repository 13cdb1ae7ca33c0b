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
    consequence="The formula for the first position has to be another one; the proposition stands.",
    mathematics=True,
)
def fst():
    """The printed formula for the first position holds everywhere: the sum is 2 i.

    Members are n and i. Control: with a false part for the true one.
    """
    first = lambda n, i, extra: majority(n, lambda j: j <= i, lambda j: extra) == (i == 1)
    return exhaustive(
        predicate=lambda m: first(*m, True),
        universe=PLACES,
        control=dict(predicate=lambda m: first(*m, False)),
    )


@claim(
    "limit.31.fst.repaired",
    ref="Proposition 31",
    statement=r"\mathrm{fst}(i) := \neg \exists j: j < i",
)
def fst_repaired():
    """The first position has none before it. Control: j <= i."""
    none = lambda n, i, own: not any(j < i + own for j in range(1, n + 1))
    return exhaustive(
        predicate=lambda m: none(*m, 0) == (m[1] == 1),
        universe=PLACES,
        control=dict(predicate=lambda m: none(*m, 1) == (m[1] == 1)),
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
    """The two variables take turns. Control: only one step."""
    right = lambda phi, i: i >= 3 and phi[i - 3]
    before = lambda phi, i, test: any(j + 1 == i and test(phi, j) for j in range(1, len(phi) + 1))
    at = lambda phi, j: phi[j - 1]
    twice = lambda phi, i: before(phi, i, lambda phi, j: before(phi, j, at))
    everywhere = lambda test: (
        lambda phi: all(test(phi, i) == right(phi, i) for i in range(1, len(phi) + 1))
    )
    members = [phi for n in range(1, 6) for phi in itertools.product((False, True), repeat=n)]
    return exhaustive(
        predicate=everywhere(twice),
        universe=members,
        control=dict(predicate=everywhere(lambda phi, i: before(phi, i, at))),
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


def decides(upto):
    """Return the predicate: at every i the majority says whether alpha #[j <= i] P(j) > 0."""

    def predicate(member):
        P, alpha = member
        right = lambda i: alpha * sum(P[:i]) > 0
        part = lambda i: lambda j: P[j - 1] and (j <= i or not upto)
        places = range(1, len(P) + 1)
        return all(weighted(len(P), part(i), alpha) == right(i) for i in places)

    return predicate


@claim(
    "limit.31.counting",
    ref="Proposition 31",
    statement=r"\sum_k \alpha_k \#[j \le i]\, P_k(j) > 0 \iff "
    r"\widehat{Maj}\, j \langle \hat P_k(j), \dots, \top, \dots \rangle",
    expect="refuted",
    falls="proof",
    consequence="What is counted has to be kept to j <= i; with that the proposition stands.",
    mathematics=True,
)
def counting():
    """The printed lists do not mention i: they count in the whole word.

    Members are truth values of P and alpha. Control: only those with alpha > 0.
    """
    return exhaustive(
        predicate=decides(False),
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
    """With j <= i in what is counted, it is right. Control: without."""
    return exhaustive(
        predicate=decides(True), universe=COUNTED, control=dict(predicate=decides(False))
    )
