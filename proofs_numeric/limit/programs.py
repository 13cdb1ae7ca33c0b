"""Definition 8, Theorem 10, appendices C.1 and C.2: C-RASP and the paper's programs."""

import itertools
import re

import jax
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.subjects import crasp


def against(right, program, longest, where=lambda w: True):
    """Return a construction: a program agrees with an acceptor on all strings up to a length.

    **Arguments:** `program`: the name of a shipped program, or its text; `where`: a filter on
    strings.
    """
    p = crasp.load(program) if program in crasp.library() else crasp.parse(program)

    def build(n):
        strings = [w for w in words(p.alphabet, n) if where(w)]
        verdicts = p.accepts(strings).tolist()
        return [w for w, v in zip(strings, verdicts, strict=True) if v != right(w)][:1]

    return dict(build=build, has=lambda wrong: not wrong, cases=range(longest + 1), complete=True)


# Definition 8 ------------------------------------------------------------------------------------


SEEDS = [1, 3, 6, 12]
"""Seeds of random programs that are not constant on strings of length 5."""


@claim(
    "limit.crasp.language",
    ref="Definition 8",
    statement=r"C(i) = \#[j \le i, \psi(i, j)]\, P(j),\ \dots \text{ evaluated at once} = "
    r"\text{ one by one}",
)
def language():
    """The vectorised evaluator agrees with a direct interpreter on random programs and strings.

    All operations, all positions, of programs that are not constant. Control: masks made strict.
    """

    def values(seed, strict=False):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 5)
        shown = str(p).replace("j <= i]", "j < i]") if strict else str(p)
        q, names = crasp.parse(shown), list(p.kinds)
        strings = words("ab", 5)
        x = np.array([p.encode(w) for w in strings])
        evaluate = jax.jit(
            lambda x: crasp.evaluate(q, x, names),
            compiler_options={"xla_backend_optimization_level": 0},
        )
        at_once = evaluate(x)
        right = [crasp.interpret(p, w) for w in strings]
        equal = all(
            (np.array([r[name] for r in right]) == np.asarray(at_once[name])).all()
            for name in names
        )
        return equal, len({r[p.output][-1] for r in right}) > 1

    return construction(
        build=values,
        has=lambda found: found[0],
        telling=lambda found: found[1],
        cases=SEEDS,
        control=dict(build=lambda seed: values(seed, True)),
    )


@claim(
    "limit.crasp.language.text",
    ref="Definition 8",
    statement=r"\mathrm{parse}(\mathrm{print}(P)) = P",
)
def text():
    """Random programs print as text that parses back, with sugar and without.

    Control: `and` read as `or`.
    """

    def build(seed, change=lambda t: t):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 8)
        return all(crasp.parse(change(str(q))) == q for q in (p, p.core))

    swapped = lambda t: t.replace(" and ", " or ")
    return construction(
        build=build,
        has=bool,
        cases=range(200),
        control=dict(build=lambda seed: build(seed, swapped)),
    )


def counts(lines):
    """Return C at positions 1, 2, ... of a word, by the interpreter, for a program's lines."""
    p = crasp.parse(f"alphabet: a b\n{lines}\nL(i) := C(i) >= 1")
    return lambda word: crasp.interpret(p, word)["C"][1:]


@claim(
    "limit.39.strict_mask",
    ref="Proposition 39",
    statement=r"\#[j < i]\, P(j) = \#[j \le i]\, P(j) - (P(i)\,?\,1 : 0)",
)
def strict_mask():
    """The strict mask is sugar: as in the printed program, only earlier positions count.

    Both are compared on all words up to length 7. Control: nothing subtracted.
    """
    strict = counts("C(i) := #[j < i] Q_a(j)")
    printed = counts("I(i) := Q_a(i) ? 1 : 0\nD(i) := #[j <= i] Q_a(j)\nC(i) := D(i) - I(i)")
    loose = counts("C(i) := #[j <= i] Q_a(j)")
    before = lambda w: [w[:i].count("a") for i in range(len(w))]
    return exhaustive(
        predicate=lambda w: strict(w) == before(w) == printed(w),
        universe=words("ab", *range(1, 8)),
        control=dict(predicate=lambda w: loose(w) == before(w)),
    )


# Theorem 10 and appendix C.1 ---------------------------------------------------------------------


def is_balanced(w):
    """Whether parentheses match."""
    heights = list(itertools.accumulate(1 if c == "(" else -1 for c in w))
    return min(heights, default=0) >= 0 and (not heights or heights[-1] == 0)


@claim(
    "limit.crasp.programs.majority",
    ref="Theorem 10 (1), appendix C.1.1",
    statement=r"C_1(i) := \#[j \le i]\, Q_1(i),\ C_0(i) := \#[j \le i]\, Q_0(i),\ "
    r"M(i) := C_1(i) \ge C_0(i)",
    expect="refuted",
    falls="wording",
    consequence="An index, i for j, in two lines of the listing.",
    mathematics=True,
)
def majority_printed():
    """The listing counts Q_1(i), at i instead of j. Read that way, the last symbol decides.

    Definition 8 has no such operation, and the parser refuses it. Control: with > for >=.
    """
    at_i = lambda w, strict: len(w) * (w[-1:] == "1") >= len(w) * (w[-1:] == "0") + strict
    right = lambda w: w.count("1") >= w.count("0")
    members = [w for n in range(8) for w in words("01", n)]
    return exhaustive(
        predicate=lambda w: at_i(w, 0) == right(w),
        universe=members,
        control=dict(predicate=lambda w: at_i(w, 1) == right(w)),
    )


@claim(
    "limit.crasp.programs.majority.repaired",
    ref="Theorem 10 (1), appendix C.1.1",
    statement=r"C_1(i) := \#[j \le i]\, Q_1(j),\ C_0(i) := \#[j \le i]\, Q_0(j),\ "
    r"M(i) := C_1(i) \ge C_0(i)",
)
def majority():
    """The program accepts MAJORITY, on all strings up to length 12. Control: more 1 than 0."""
    right = lambda w: w.count("1") >= w.count("0")
    more = lambda w: w.count("1") > w.count("0")
    return construction(
        **against(right, "majority", 12), control=dict(against(more, "majority", 12))
    )


@claim(
    "limit.crasp.programs.dyck1",
    ref="Appendix C.1.2",
    statement=r"\text{Dyck-1 is the language with at least as many ) as (}",
    expect="refuted",
    falls="wording",
    consequence="The sentence belongs to another section; the program is right.",
)
def dyck_printed():
    """The section describes Dyck-1 by MAJORITY's sentence; the program accepts another language.

    Control: the same with more.
    """
    right = lambda w: w.count(")") >= w.count("(")
    more = lambda w: w.count(")") > w.count("(")
    return construction(**against(right, "dyck1", 6), control=against(more, "dyck1", 6))


@claim(
    "limit.crasp.programs.dyck1.repaired",
    ref="Theorem 10 (2), appendix C.1.2",
    statement=r"D(i) := M(i) \land B(i) \text{ accepts the balanced strings}",
)
def dyck():
    """The program accepts the balanced strings, up to length 12. Control: B alone."""
    equal = lambda w: w.count(")") == w.count("(")
    return construction(**against(is_balanced, "dyck1", 12), control=against(equal, "dyck1", 12))


ANBNCN_PRINTED = """
alphabet: a b c

Ca(i)  := #[j <= i] Q_a(j)
Cb(i)  := #[j <= i] Q_b(j)
Cc(i)  := #[j <= i] Q_c(j)
A(i)   := Cb(i) + Cc(i) = 0
B(i)   := Cc(i) = 0
CA(i)  := #[j <= i] Q_a(j) and A(j)
CB(i)  := #[j <= i] Q_b(j) and B(j)
Ga(i)  := CA(i) = Ca(i)
Gb(i)  := Cb(i) = Cb(i)
Gabc(i) := Ca(i) = Cb(i)
L(i)   := Ga(i) and Gb(i) and Gabc(i)
"""


@claim(
    "limit.crasp.programs.anbncn.printed",
    ref="Theorem 10 (3), appendix C.1.3",
    statement=r"G_b(i) := C_b(i) = C_b(i),\ G_{abc}(i) := C_a(i) = C_b(i)",
    expect="refuted",
    falls="reading",
    consequence="As far as the listing can be read, it compares a count with itself and leaves "
    "out the c; with C_B in place of C_b and the second equality, it is the program "
    "that the theorem needs.",
)
def anbncn_printed():
    """The listing, as far as it can be read, accepts ab. Control: as many a as b."""
    right = lambda w: w == "".join(c * (len(w) // 3) for c in "abc")
    same = lambda w: w.count("a") == w.count("b")
    return construction(
        **against(right, ANBNCN_PRINTED, 5), control=against(same, ANBNCN_PRINTED, 5)
    )


@claim(
    "limit.crasp.programs.anbncn",
    ref="Theorem 10 (3), appendix C.1.3",
    statement=r"L(i) := G_a(i) \land G_b(i) \land G_{abc}(i) \text{ accepts } a^n b^n c^n",
    repairs="limit.crasp.programs.anbncn.printed",
)
def anbncn():
    """The repaired program accepts a^n b^n c^n for n >= 0, up to length 9.

    Control: equal numbers in any order.
    """
    right = lambda w: w == "".join(c * (len(w) // 3) for c in "abc")
    equal = lambda w: w.count("a") == w.count("b") == w.count("c")
    return construction(**against(right, "anbncn", 9), control=against(equal, "anbncn", 9))


@claim(
    "limit.crasp.programs.contains_ab",
    ref="Sec. 4.2",
    statement=r"L(i) := C_{ab}(i) \ge 1 \text{ accepts } \Sigma^* ab \Sigma^*",
)
def contains_ab():
    """The example of section 4.2 accepts the strings with ab, up to length 12.

    Control: an a before a b, not just before.
    """
    loose = lambda w: "b" in w and "a" in w[: w.rindex("b")]
    return construction(
        **against(lambda w: "ab" in w, "contains_ab", 12),
        control=against(lambda w: loose(w) and "aab" not in w, "contains_ab", 12),
    )


@claim(
    "limit.crasp.programs.existential",
    ref="Appendix C.1.4",
    statement=r"\overleftarrow\exists A(i) := (\#[j \le i]\, A(j)) \ge 1",
)
def existential():
    """Counting expresses existence to the left. Control: strictly to the left."""
    return construction(
        **against(lambda w: "a" in w, "exists_a", 12),
        control=against(lambda w: "a" in w[:-1], "exists_a", 12),
    )


def subsequence(letters):
    """Return the acceptor of Sigma* a_1 Sigma* ... a_n Sigma*."""

    def right(w):
        rest = iter(w)
        return all(letter in rest for letter in letters)

    return right


def piecewise(letters, strict):
    """Return the program of appendix C.1.5, with masks as printed or strict but for the last."""
    lines = ["alphabet: a b"]
    for k, letter in enumerate(letters):
        mask = "j < i" if strict and k + 1 < len(letters) else "j <= i"
        before = f" and L{k - 1}(j)" if k else ""
        lines.append(f"L{k}(i) := exists[{mask}] (Q_{letter}(j){before})")
    return "\n".join(lines)


PATTERNS = ["".join(w) for n in (2, 3) for w in itertools.product("ab", repeat=n)]


def all_patterns(strict, right=subsequence):
    """Return the build: the first string up to length 8 on which a pattern's program is wrong."""

    def build(letters):
        parts = against(right(letters), piecewise(letters, strict), 8)
        return [w for n in range(9) for w in parts["build"](n)][:1]

    return dict(build=build, has=lambda wrong: not wrong, cases=PATTERNS)


@claim(
    "limit.crasp.programs.piecewise",
    ref="Appendix C.1.5",
    statement=r"L_k(i) := \overleftarrow\exists (Q_{a_k}(i) \land L_{k-1}(i))",
    expect="refuted",
    falls="proof",
    consequence="The listing accepts too much where a letter repeats; with strict masks below "
    "the last it is right, and so is the lemma.",
)
def piecewise_printed():
    """With masks j <= i one position serves two equal letters: a is accepted for aa.

    Control: strings without the pattern.
    """
    other = lambda letters: lambda w: not subsequence(letters)(w)
    return construction(**all_patterns(False), control=all_patterns(False, other))


@claim(
    "limit.crasp.programs.piecewise.repaired",
    ref="Lemma 11 (4), appendix C.1.5",
    statement=r"L_k(i) := \overleftarrow\exists (Q_{a_k}(i) \land L_{k-1}^{<}(i))",
)
def piecewise_repaired():
    """With strict masks below the last, piecewise testable languages have programs.

    All patterns of two and three letters, all strings up to length 8. Control: the pattern as a
    contiguous substring.
    """
    return construction(
        **all_patterns(True),
        complete=True,
        control=all_patterns(True, lambda letters: lambda w: letters in w),
    )


# Appendix C.2 ------------------------------------------------------------------------------------


def follows(w, symbol):
    """Return how often each of a, b, c followed the given symbol in w."""
    pairs = list(itertools.pairwise(w))
    return {c: pairs.count((symbol, c)) for c in "abc"}


def is_most_frequent(w):
    """Whether a is among the symbols that most often followed the last one, eq. (10)."""
    counts = follows(w, w[-1:])
    return counts["a"] == max(counts.values())


def has_prediction(w):
    """Whether the last symbol occurred before, so that eq. (10) is not 0 / 0."""
    return len(w) > 1 and w[-1] in w[:-1]


ARGMAX_PRINTED = (
    crasp.source("induction_argmax").split("AFTERb")[0].replace("AFTERa(i) :=", "NEXTa(i)  :=")
)


@claim(
    "limit.crasp.programs.induction_argmax",
    ref="Appendix C.2.1",
    statement=r"\mathrm{NEXT}_a(i) := Q_a(i) \land C_{aa}(i) \ge C_{ab}(i) \land "
    r"C_{aa}(i) \ge C_{ac}(i)",
    expect="refuted",
    falls="wording",
    consequence="The listing is for the current symbol a only; the text before it asks for a "
    "case for every symbol.",
)
def argmax_printed():
    """The listing predicts a only after an a; other current symbols need their own counts.

    Control: strings that do not end in a.
    """
    return construction(
        **against(is_most_frequent, ARGMAX_PRINTED, 5, has_prediction),
        control=against(lambda w: not w.endswith("a"), ARGMAX_PRINTED, 5),
    )


@claim(
    "limit.crasp.programs.induction_argmax.repaired",
    ref="Appendix C.2.1",
    statement=r"\mathrm{NEXT}_a(i) := \bigvee_\sigma Q_\sigma(i) \land "
    r"C_{\sigma a}(i) \ge C_{\sigma b}(i) \land C_{\sigma a}(i) \ge C_{\sigma c}(i)",
)
def argmax():
    """With a case for each current symbol, it tests where eq. (10) is largest, up to length 8.

    Control: the last symbol left out.
    """
    return construction(
        **against(is_most_frequent, "induction_argmax", 8, has_prediction),
        control=against(lambda w: w.endswith("a"), "induction_argmax", 8, has_prediction),
    )


@claim(
    "limit.crasp.programs.induction_all",
    ref="Appendix C.2.2",
    statement=r"\mathrm{NEXT}_a(i) := \bigvee_\sigma Q_\sigma(i) \land "
    r"\mathrm{EXISTS}_{\sigma a}(i)",
)
def induction_all():
    """NEXT_a is true where eq. (10) is positive for a, up to length 8. Control: for b."""
    possible = lambda c: lambda w: follows(w, w[-1:])[c] > 0
    return construction(
        **against(possible("a"), "induction_all", 8),
        control=against(possible("b"), "induction_all", 8),
    )


def all_possible(symbols):
    """Return the program of appendix C.2.2 over some symbols, with NEXT for each."""
    names = {s: "Z" if s == "#" else s for s in symbols}
    lines = ["alphabet: " + " ".join(f'"{s}"' for s in symbols)]
    for a in symbols:
        lines.append(f'PRED_{names[a]}(i) := (#[j <= i, j = i - 1] Q_"{a}"(j)) >= 1')
    for a, b in itertools.product(symbols, repeat=2):
        pair = names[a] + names[b]
        lines.append(f'EX_{pair}(i) := (#[j <= i] Q_"{b}"(j) and PRED_{names[a]}(j)) >= 1')
    for b in symbols:
        either = " or ".join(f'(Q_"{a}"(i) and EX_{names[a]}{names[b]}(i))' for a in symbols)
        lines.append(f"NEXT_{names[b]}(i) := {either}")
    return crasp.parse("\n".join(lines)), {s: f"NEXT_{names[s]}" for s in symbols}


@claim(
    "limit.crasp.programs.unique_copy",
    ref="Appendix C.2.2",
    statement=r"\#x\# \to \#x\#x\# \text{ by NEXT, if each symbol occurs at most once in } x",
)
def unique_copy():
    """The program names the next symbol of the copy, and no other, if no symbol repeats.

    All arrangements of up to four symbols. Control: with a repeated symbol.
    """
    program, names = all_possible("#abcd")

    def copied(x):
        w, begin = f"#{x}#{x}#", len(x) + 2
        values = crasp.interpret(program, w)
        named = lambda i: [s for s, name in names.items() if values[name][i]]
        return all(named(i) == [w[i]] for i in range(begin, len(w)))

    distinct = ["".join(p) for n in range(1, 5) for p in itertools.permutations("abcd", n)]
    return exhaustive(
        predicate=copied,
        universe=distinct,
        control=dict(universe=[x + x[0] + "d" for x in distinct]),
    )


def accepts_as(pattern):
    """Return the predicate: NEXT_b of the program over a and b holds at the end of such words."""
    program, names = all_possible("ab")
    return lambda word: (
        bool(crasp.interpret(program, word)[names["b"]][-1]) == bool(re.fullmatch(pattern, word))
    )


@claim(
    "limit.crasp.programs.next_b",
    ref="Appendix C.2.2",
    statement=r"\mathrm{NEXT}_b \text{ defines } \Sigma^* ab \Sigma^* a \cup "
    r"\Sigma^* bb \Sigma^* b,\ \Sigma = \{a, b\}",
    expect="refuted",
    falls="wording",
    consequence="An excluded edge: words that end with their first bb are in the language too; the "
    "reduction to words with bb as a substring stands.",
)
def next_b():
    """After bb the program names b, since that bigram has just occurred; bb is not in the union.

    Words up to length 7. Control: bb at the end only.
    """
    return exhaustive(
        predicate=accepts_as("[ab]*ab[ab]*a|[ab]*bb[ab]*b"),
        universe=words("ab", *range(1, 8)),
        control=dict(predicate=accepts_as("[ab]*ab[ab]*a|[ab]*bb")),
    )


@claim(
    "limit.crasp.programs.next_b.repaired",
    ref="Appendix C.2.2",
    statement=r"\mathrm{NEXT}_b \text{ defines } \Sigma^* ab \Sigma^* a \cup "
    r"(\Sigma^* bb \Sigma^* \cap \Sigma^* b)",
)
def next_b_repaired():
    """With the words that end with bb, the program names b after bb. Control: as printed."""
    return exhaustive(
        predicate=accepts_as("[ab]*ab[ab]*a|[ab]*bb[ab]*b|[ab]*bb"),
        universe=words("ab", *range(1, 8)),
        telling=lambda word: "b" in word,
        control=dict(predicate=accepts_as("[ab]*ab[ab]*a|[ab]*bb[ab]*b")),
    )


@claim(
    "limit.crasp.programs.aa_star",
    ref="Lemma 11 (2), appendix C.2.3",
    statement=r"D(i) := (i \equiv 0 \bmod 2) \land \#[j \le i]\, \neg Q_a(j) = 0 "
    r"\text{ accepts } (aa)^*",
)
def aa_star():
    """The program accepts (aa)*, up to length 12 over a and b. Control: a*."""
    even = lambda w: len(w) % 2 == 0 and "b" not in w
    return construction(
        **against(even, "aa_star", 12), control=against(lambda w: "b" not in w, "aa_star", 12)
    )
