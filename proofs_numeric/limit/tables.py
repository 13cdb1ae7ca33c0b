"""Tables 1 and 2, appendix E.1: the languages, and a program for every `yes`.

The programs are text files in `theorykit/subjects/crasp/programs`; the automata are in
`theorykit.tasks`.
"""

import functools
import itertools
import re
from typing import NamedTuple

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.networks.tasks import LANGUAGES, in_ac0, star_free
from theorykit.proofs_numeric.limit import _tables
from theorykit.proofs_numeric.limit._tables import up_to
from theorykit.subjects import crasp

PLAIN = ["tomita1", "tomita2", "tomita7", "d2", "d3", "d4", "d12", "abcde", "ab_d_bc"]
"""The languages with a yes for programs without positions."""

PLACED = ["tomita4", "tomita7_bigrams", "aa_star", "aaaa_star", "abab_star"]
"""Programs with positions: for a yes in the second column only, and as sketched for Tomita 7."""


def of(program):
    """Return the language that a program is about."""
    return LANGUAGES[program.removesuffix("_bigrams")]


# Table 1 ---------------------------------------------------------------------------------------


def odd_runs_apart(word):
    """Whether no run of ones of odd length is followed by a run of zeros of odd length."""
    runs = [(symbol, len(list(run)) % 2) for symbol, run in itertools.groupby(word)]
    return all(pair != (("1", 1), ("0", 1)) for pair in itertools.pairwise(runs))


@claim(
    "limit.table1.tomita3",
    ref="Table 1",
    statement=r"\text{no odd run of 1 followed by an odd run of 0} \iff "
    r"\text{no } 0 1^{2n+1} 0^{2m+1} 1 \text{ substring}",
    expect="refuted",
    falls="wording",
    consequence="The words and the pattern after them define different languages; the proofs fit "
    "the words.",
    mathematics=True,
)
def tomita3():
    """Tomita 3 in words is the language without substrings 0 1^(2n+1) 0^(2m+1) 1, "i.e.".

    It is not: the substrings need a 0 before and a 1 after the two runs, and there is none at the
    ends of a word, as in 10. Control: the runs in the other order.
    """
    same = lambda pattern: lambda word: odd_runs_apart(word) == (not re.search(pattern, word))
    return exhaustive(
        predicate=same("01(11)*0(00)*1"),
        universe=up_to,
        control=dict(predicate=same("10(00)*1(11)*0")),
    )


@claim(
    "limit.table1.tomita3.repaired",
    ref="Table 1",
    statement=r"\text{no odd run of 1 followed by an odd run of 0} \iff "
    r"\text{no } 0 1^{2n+1} 0^{2m+1} 1 \text{ substring of } 0 w 1",
)
def tomita3_repaired():
    """With a 0 before the word and a 1 after it, it is, and it is the language as shipped.

    Control: as printed.
    """
    accepted = dict(zip(up_to(), LANGUAGES["tomita3"].accepts(up_to()).tolist(), strict=True))

    def same(before, behind):
        def predicate(word):
            found = not re.search("01(11)*0(00)*1", before + word + behind)
            return odd_runs_apart(word) == found == accepted[word]

        return predicate

    return exhaustive(
        predicate=same("0", "1"), universe=up_to, control=dict(predicate=same("", ""))
    )


def tomita7_is(pattern):
    """Return the predicate: the program that counts bigrams accepts what a pattern matches."""
    program = crasp.load("tomita7_bigrams")
    return lambda word: crasp.interpreted(program, word) == bool(re.fullmatch(pattern, word))


@claim(
    "limit.table1.tomita7",
    ref="Table 1, App. E.1.2",
    statement=r"\text{Tomita 7 is } 0^* 1^* 0^* 1",
    expect="refuted",
    falls="wording",
    consequence="A star: with 0*1*0*1* Table 1 has the language that the sketch of its program and "
    "the benchmark have.",
)
def tomita7():
    """Counting the bigrams 01 and 10, as the sketch says, recognises 0*1*0*1*.

    Words up to length 7. Control: 0*1*0*.
    """
    return exhaustive(
        predicate=tomita7_is("0*1*0*1"),
        universe=words("01", *range(8)),
        control=dict(predicate=tomita7_is("0*1*0*")),
    )


@claim(
    "limit.table1.tomita7.repaired",
    ref="Table 1, App. E.1.2",
    statement=r"\text{Tomita 7 is } 0^* 1^* 0^* 1^*",
)
def tomita7_repaired():
    """With the star it is what the sketched program accepts. Control: as printed."""
    return exhaustive(
        predicate=tomita7_is("0*1*0*1*"),
        universe=words("01", *range(8)),
        control=dict(predicate=tomita7_is("0*1*0*1")),
    )


# Table 2 ---------------------------------------------------------------------------------------


@claim(
    "limit.table2.complexity",
    ref="Table 2",
    statement=r"\text{the columns Star-Free? and } \mathrm{AC}^0",
)
def complexity():
    """Which languages are star-free and which in AC0, decided in their syntactic monoids.

    Aperiodic, by Schützenberger; no set of words of one length that acts as a nontrivial group, by
    Barrington, Compton, Straubing and Thérien. Dot-depth is not decided here. Control: the two
    columns exchanged.
    """
    printed = {row["task"]: row for row in crasp.table(2)}
    right = lambda first, second: (
        lambda name: (
            star_free(LANGUAGES[name]) == (printed[name][first] == "yes")
            and in_ac0(LANGUAGES[name]) == (printed[name][second] == "yes")
        )
    )
    return exhaustive(
        predicate=right("star_free", "ac0"),
        universe=list(printed),
        control=dict(predicate=right("ac0", "star_free")),
    )


class Tried(NamedTuple):
    """A program, and the first word at which it and its language differ."""

    differ: str | None
    positions: bool
    inside: float


def every_word(program, language=None):
    """Compare a program with an automaton on all words up to length 12.

    With more than two symbols, the limit is the longest length with at most two million words.
    """
    language, made = language or of(program), crasp.load(program)
    symbols = len(language.alphabet)
    most = 12 if symbols == 2 else int(np.log(2e6 * (1 - 1 / symbols)) / np.log(symbols))
    return tried(made, language, (words(language.alphabet, n) for n in range(most + 1)))


def long_words(program, language=None):
    """Compare a program with its language on 10,000 random words of length up to 300."""
    language = language or of(program)
    return tried(crasp.load(program), language, [_tables.long_words(language, 5_000, 300)])


def tried(made, language, blocks):
    """Return what a program does on blocks of words."""
    inside = total = 0
    for block in blocks:
        right = language.accepts(block)
        wrong = made.accepts(block) != right
        inside, total = inside + right.sum(), total + len(block)
        if wrong.any():
            return Tried(block[np.argmax(wrong)], made.periodic or made.local, inside / total)
    return Tried(None, made.periodic or made.local, inside / total)


AGREES = {"the automaton agrees on all words": lambda t: t.differ is None}


@claim(
    "limit.crasp.table2.no_positions",
    ref="Table 2, App. E.1.2",
    statement=r"L \in \text{C-RASP}[\emptyset] \text{ for each yes of its column}",
)
def without_positions():
    """A program without positional relations for each yes, compared with the automaton.

    On all words, to length 12 over two symbols and to 10 and 8 over four and five. For Tomita 7 the
    sketch counts bigrams, which takes a local relation; this one asks for 1, 0, 1, 0 as a scattered
    subword. Control: the program of D_4 compared with D_12.
    """
    return construction(
        build=every_word,
        has={**AGREES, "no positional relation": lambda t: not t.positions},
        cases=PLAIN,
        complete=True,
        control=dict(build=lambda name: every_word("d4", LANGUAGES["d12"]), cases=["d4"]),
    )


@claim(
    "limit.crasp.table2.positions",
    ref="Table 2, App. E.1.2",
    statement=r"L \in \text{C-RASP}[\text{periodic, local}] \text{ for each further yes}",
)
def with_positions():
    """A program with periodic or local relations for each other yes, on all words to length 12.

    The program that E.1.2 sketches for Tomita 7 is included. Control: (aaaa)* for (aa)*.
    """
    return construction(
        build=every_word,
        has={**AGREES, "positional relations": lambda t: t.positions},
        cases=PLACED,
        complete=True,
        control=dict(
            build=lambda name: every_word("aaaa_star", LANGUAGES["aa_star"]), cases=["aa_star"]
        ),
    )


@claim(
    "limit.crasp.table2.long",
    ref="Table 2, App. E.1.2",
    statement=r"w \in L \iff P \text{ accepts } w,\ |w| \le 300",
    tier="slow",
)
def long():
    """The same programs on 10,000 random words of length up to 300, half of them in the language.

    The others are words of the language with two symbols exchanged or one replaced. Control: D_3's
    program for D_4.
    """
    return construction(
        build=long_words,
        has={**AGREES, "half are in": lambda t: 0.3 < t.inside < 0.7},
        cases=PLAIN + PLACED,
        control=dict(build=lambda name: long_words("d3", LANGUAGES["d4"]), cases=["d4"]),
    )


# As E.1.2 has it: what holds at each position; the word ends wherever it ends.
TOMITA2 = """
alphabet: 0 1

C0(i)   := #[j <= i] Q_0(j)
C1(i)   := #[j <= i] Q_1(j)
zero(i) := Q_0(i) and C0(i) = C1(i)
one(i)  := Q_1(i) and C1(i) = C0(i) + 1
L(i)    := (#[j <= i] not zero(j) and not one(j)) = 0
"""


def agrees(text, name):
    """Return whether a program decides a word as the automaton does."""
    made = crasp.parse(text)
    return lambda word: made.accepts(word) == LANGUAGES[name].accepts(word)


@claim(
    "limit.crasp.table2.tomita2",
    ref="App. E.1.2",
    statement=r"w \in (10)^* \iff \forall i:\ w_i = 0 \wedge C_1(i) = C_0(i) \ \vee\ "
    r"w_i = 1 \wedge C_1(i) = C_0(i) + 1",
    expect="refuted",
    falls="wording",
    consequence="A sketch that leaves out the last symbol; the language has a program, as the "
    "table says.",
)
def tomita2():
    """At each position of a word of Tomita 2 counts are balanced after 0, one apart after 1.

    So they are in (10)*1, which is not in the language: the sketch does not say that the last
    symbol is a 0. Control: any 1 is enough.
    """
    return exhaustive(
        predicate=agrees(TOMITA2, "tomita2"),
        universe=functools.partial(up_to, most=8),
        control=dict(predicate=agrees(TOMITA2.replace("C1(i) = C0(i) + 1", "true"), "tomita2")),
    )


@claim(
    "limit.crasp.table2.tomita2.repaired",
    ref="App. E.1.2",
    statement=r"w \in (10)^* \iff \dots \wedge C_1(|w|) = C_0(|w|)",
)
def tomita2_repaired():
    """With balanced counts at the end, the program recognises (10)*. Control: without them."""
    return exhaustive(
        predicate=agrees(crasp.source("tomita2"), "tomita2"),
        universe=functools.partial(up_to, most=8),
        control=dict(predicate=agrees(TOMITA2, "tomita2")),
    )


@claim(
    "limit.crasp.table2.tomita6",
    ref="App. E.1.2",
    statement=r"h(w) \in L_{\text{Tomita 6}} \iff \#_1(w) \equiv 0 \bmod 3,\ "
    r"h(1) = 001,\ h(0) = 000",
)
def tomita6():
    """The morphism of the proof that Tomita 6 has no program. Control: h(0) = 00."""
    reduces = lambda zero: (
        lambda word: (
            LANGUAGES["tomita6"].accepts("".join({"1": "001", "0": zero}[a] for a in word))
            == (word.count("1") % 3 == 0)
        )
    )
    return exhaustive(
        predicate=reduces("000"), universe=up_to, control=dict(predicate=reduces("00"))
    )
