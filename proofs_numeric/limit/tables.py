"""Tables 1 to 3 and appendix E: the languages, the tasks, and a program for every `yes`.

The programs are text files in `theorykit/subjects/crasp/programs`; the automata and the tasks are
in `theorykit.tasks`.
"""

import functools
import itertools
import re
from typing import NamedTuple

import jax
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.networks.tasks import ALGORITHMIC, LANGUAGES, Sort, UniqueCopy, in_ac0, star_free
from theorykit.proofs_numeric.limit import _tables
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


def up_to(most=10):
    """Return all words of zeros and ones up to a length, short ones first."""
    return words("01", *range(most + 1))


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


# Table 3 ---------------------------------------------------------------------------------------

NEXT = {
    "bin_majority": (ALGORITHMIC["bin_majority"], range(1, 13)),
    "bin_majority_interleave": (ALGORITHMIC["bin_majority_interleave"], range(3, 13, 3)),
    "majority": (_tables.Letters(), range(1, 9)),
    "sort": (Sort(5), range(1, 6)),
    "unique_copy": (UniqueCopy(4), range(1, 5)),
}
"""Each task with a yes, over an alphabet of the size of its program, and the lengths to try."""


def every_input(name, program=None):
    """Return the first input after which a program does not name each next symbol, or None.

    All inputs of the stated lengths that the task has an answer to.
    """
    task, lengths = NEXT[name]
    given = [ids for n in lengths for ids in _tables.inputs(task, n)]
    return _tables.first_wrong(crasp.load(f"next_{program or name}"), task, given)


@claim(
    "limit.crasp.table3",
    ref="Table 3, App. E.2.2",
    statement=r"\text{NEXT}_\sigma(i) \iff \sigma \text{ is the next symbol, from SEP to EOS}",
)
def next_symbols():
    """For each yes a program that names, from SEP on, exactly the symbol that follows.

    On all inputs: of up to 12 bits, of up to 8 of three letters, of up to five distinct numbers or
    four distinct letters; larger alphabets have more lines of the same kind. The program for
    interleaved majorities uses i mod 3, the one for copying uses the predecessor, and the others
    use no positions. Control: the first of three majorities compared with binary majority.
    """
    positions = {"bin_majority_interleave": (True, False), "unique_copy": (False, True)}
    uses = lambda name: (lambda p: (p.periodic, p.local))(crasp.load(f"next_{name}"))
    return construction(
        build=lambda name: (name, every_input(name)),
        has={
            "the next symbol": lambda built: built[1] is None,
            "positions as said": lambda built: (
                uses(built[0]) == positions.get(built[0], (False, False))
            ),
        },
        cases=list(NEXT),
        complete=True,
        control=dict(
            build=lambda name: (name, every_input(name, "bin_majority")),
            cases=["bin_majority_interleave"],
        ),
    )


@claim(
    "limit.crasp.table3.long",
    ref="Table 3, App. E.2.2",
    statement=r"\text{NEXT}_\sigma(i) \iff \sigma \text{ is the next symbol},\ |x| \le 300",
    tier="slow",
)
def long_inputs():
    """The same on random inputs of up to 300 symbols, and of up to 300 repetitions.

    Majorities on 2,000 inputs. The alphabet limits the number of distinct symbols, so sorting and
    copying are repeated as in E.2.2, SOS x SEP y SEP y ..., with EOS read as SEP. Control: the
    sorting program compared with copying.
    """
    task = lambda name: NEXT[name][0]
    program = lambda name: crasp.load(f"next_{name}")
    tests = {
        name: functools.partial(_tables.long_wrong, program(name), task(name))
        for name in ("bin_majority", "bin_majority_interleave", "majority")
    }
    tests |= {
        name: functools.partial(_tables.repeated_wrong, program(name), task(name))
        for name in ("sort", "unique_copy")
    }
    return construction(
        build=lambda name: tests[name](),
        has={"the next symbol": lambda wrong: wrong is None},
        cases=list(tests),
        control=dict(
            build=lambda name: _tables.repeated_wrong(program("sort"), UniqueCopy(5)),
            cases=["unique_copy"],
        ),
    )


def decided(word_length, counted):
    """Whether counts of symbols, with the last symbol, decide majority on words up to a length."""
    known: dict[tuple, bool] = {}
    for word in up_to(word_length)[1:]:
        key = (*(sum(a in set for a in word) for set in counted), word[-1])
        more = word.count("1") >= word.count("0")
        if known.setdefault(key, more) != more:
            return False
    return True


@claim(
    "limit.crasp.table3.single_count",
    ref="App. E.2.2",
    statement=r"\exists P:\ \text{MAJORITY}(w) = f(\#[j \le |w|]\, P(j),\ w_{|w|})",
    assumptions=[r"P \text{ a Boolean function of the symbol at } j"],
    expect="refuted",
    falls="reading",
    consequence="One count in a looser sense may be meant; Definition 8 takes two, and the "
    "table's yes stands.",
    mathematics=True,
)
def single_count():
    """One Counting operation is sufficient for binary majority.

    Not one in the sense of Definition 8: a count of ones (of zeros, of positions) and the last
    symbol do not say how many of the others there are. Two counts do, as in C.1.1. Control: no
    count.
    """
    choices = lambda count: list(itertools.product(["", "0", "1", "01"], repeat=count))
    decides = lambda count: lambda n: any(decided(n, chosen) for chosen in choices(count))
    return exhaustive(
        predicate=decides(1), universe=[1, 2, 3, 4, 5, 6], control=dict(predicate=decides(0))
    )


@claim(
    "limit.crasp.table3.single_count.repaired",
    ref="App. C.1.1",
    statement=r"\text{MAJORITY}(w) = f(\#[j \le |w|]\, Q_0(j),\ \#[j \le |w|]\, Q_1(j))",
    mathematics=True,
)
def two_counts():
    """Two counts decide binary majority, on words to length 10. Control: one of them."""
    return exhaustive(
        predicate=lambda n: decided(n, ("0", "1")),
        universe=range(1, 11),
        control=dict(predicate=lambda n: decided(n, ("0",))),
    )


# Appendix E.2 ----------------------------------------------------------------------------------


@claim(
    "limit.E2.addition",
    ref="App. E.2.1",
    statement=r"\ell_1 \in [1, \mathrm{LEN} - 2],\ \ell_2 = \mathrm{LEN} - 2 - \ell_1 \ge 1",
    expect="refuted",
    falls="wording",
    consequence="An excluded edge: the upper end of the range is LEN - 3.",
    mathematics=True,
)
def operands():
    """Both operands of an addition of total length LEN, with + and =, have a digit.

    A first operand of LEN - 2 digits leaves none for the second. Control: the upper end LEN - 1.
    """
    left = lambda end: lambda n: all(n - 2 - first >= 1 for first in range(1, n - end + 1))
    return exhaustive(predicate=left(2), universe=range(4, 51), control=dict(predicate=left(1)))


def first_operands(longest):
    """Return the lengths of the first operand that the sampler draws, by the length of all."""
    task = ALGORITHMIC["addition"]
    plus = task.symbols.index("+")
    lengths = np.resize(np.arange(4, longest + 1), 800)
    keys = jax.random.split(jax.random.key(0), len(lengths))
    draw = jax.jit(
        jax.vmap(lambda key, n: task.padded(key, n, longest)[0]),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    found: dict[int, set[int]] = {n: set() for n in lengths.tolist()}
    for n, row in zip(lengths.tolist(), np.asarray(draw(keys, lengths)).tolist(), strict=True):
        found[n].add(row.index(plus) - 1)
    return found


@claim(
    "limit.E2.addition.repaired",
    ref="App. E.2.1",
    statement=r"\ell_1 \in [1, \mathrm{LEN} - 3],\ \ell_2 = \mathrm{LEN} - 2 - \ell_1 \ge 1",
)
def operands_repaired():
    """With LEN - 3 they do, from the smallest length 4 on: the sampler draws all those lengths.

    Control: as printed.
    """
    found = first_operands(8)
    upto = lambda less: lambda n: found[n] == set(range(1, n - less + 1))
    return exhaustive(predicate=upto(3), universe=list(found), control=dict(predicate=upto(2)))


def samples(task, length=12, count=50):
    """Return inputs, answers and right answers of padded samples of mixed lengths."""
    lengths = np.resize(task.lengths(1, length), count)
    keys = jax.random.split(jax.random.key(0), count)
    draw = jax.jit(
        jax.vmap(lambda key, n: task.padded(key, n, length)),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    x, target, weight = map(np.asarray, draw(keys, lengths))
    for row, wanted, counts in zip(x, target, weight, strict=True):
        places = np.flatnonzero(counts)
        given = row[1 : places[0]].tolist()
        yield given, wanted[places].tolist(), [*task.solution(given), task.end]


@claim(
    "limit.E2.tasks",
    ref="App. E.2.1",
    statement=r"\text{SOS } x \text{ SEP } f(x) \text{ EOS, the loss on } f(x) \text{ EOS}",
    tier="slow",
)
def tasks():
    """The eight samplers give the answers of a plain program, at mixed and padded lengths.

    Control: copying compared with sorting.
    """
    return construction(
        build=lambda name: list(samples(ALGORITHMIC[name])),
        has=lambda built: all(answer == right for _, answer, right in built),
        cases=list(ALGORITHMIC),
        control=dict(
            build=lambda name: [(x, x, sorted(x)) for x, *_ in samples(UniqueCopy())],
            cases=["unique_copy"],
        ),
    )
