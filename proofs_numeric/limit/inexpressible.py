"""Lemma 11 and appendices C.3.2 and C.3.3: what no program recognises."""

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.subjects import crasp

# Lemma 11 ----------------------------------------------------------------------------------------


def refuted(language, **options):
    """Return the build: a random program and the string found for it."""
    alphabet = {"parity": "ab", "aa*": "ab", "be*": "abe"}[language]

    def build(seed):
        rng = np.random.default_rng(seed)
        p = crasp.random_program(rng, alphabet, 2 + seed % 7, largest=9, **options)
        return p, crasp.refute(p, language)

    return build


def is_wrong(language):
    """Return the property: by the interpreter, the program errs on the string."""
    contains = crasp.LANGUAGES[language].contains

    def holds(found):
        p, example = found
        return crasp.interpreted(p, example.string) != contains(example.string)

    return holds


def inexpressible(language, cases, **options):
    """Return the construction for one language; its control says that two blocks are enough."""
    build = refuted(language, **options)
    short = lambda found: is_wrong(language)(found) and len(found[1].string) <= 2
    return dict(
        build=build, has=is_wrong(language), telling=varies, cases=range(cases),
        control=dict(has=short),
    )  # fmt: skip


def varies(found):
    """Whether the program is not constant on some short strings; a constant one errs soon."""
    p, _ = found
    letters = [a for a in p.alphabet if a != "e"]
    strings = [*words(letters, *range(3)), letters[0] * 3, letters[-1] * 4]
    return len({crasp.interpreted(p, w) for w in strings}) > 1


@claim(
    "limit.11.parity",
    ref="Lemma 11 (1), Lemma 41",
    statement=r"b^*(ab^*ab^*)^* \notin \text{C-RASP}[\text{periodic}, \text{local}]",
)
def parity():
    """Each of 150 random programs errs on some (b^s a b^(s-1))^n, which the refuter finds.

    That no program exists rests on the proof. Control: two symbols are always enough.
    """
    return construction(**inexpressible("parity", 150))


@claim(
    "limit.11.parity.many",
    ref="Lemma 11 (1), Lemma 41",
    statement=r"b^*(ab^*ab^*)^* \notin \text{C-RASP}[\text{periodic}, \text{local}]",
    tier="slow",
)
def parity_many():
    """The same for 2,000 programs. Control: two symbols are always enough."""
    return construction(**inexpressible("parity", 2000))


@claim(
    "limit.11.aa_star",
    ref="Lemma 11 (2), Lemma 38",
    statement=r"(aa)^* \notin \text{C-RASP}[\emptyset]",
)
def aa_star():
    """Each of 300 random programs without positions errs on some a^n.

    That no program exists rests on the proof. Control: the empty string is always enough.
    """
    parts = inexpressible("aa*", 300, periodic=False, local=False)
    empty = lambda found: found[1].string == ()
    return construction(**parts | dict(control=dict(has=empty)))


@claim(
    "limit.11.be_star",
    ref="Lemma 11 (3), Lemma 36",
    statement=r"\Sigma^* b e^* \notin \text{C-RASP}[\text{periodic}, \text{local}]",
)
def be_star():
    """Each of 100 random programs errs on h(u)^n h(be) or h(u)^n h(ae) for some u and n.

    The paper cites a theorem for its language L_bb; `crasp.refute` has a direct argument. That no
    program exists rests on it. Control: two symbols are always enough.
    """
    return construction(**inexpressible("be*", 100))


@claim(
    "limit.11.be_star.many",
    ref="Lemma 11 (3), Lemma 36",
    statement=r"\Sigma^* b e^* \notin \text{C-RASP}[\text{periodic}, \text{local}]",
    tier="slow",
)
def be_star_many():
    """The same for 2,000 programs. Control: two symbols are always enough."""
    return construction(**inexpressible("be*", 2000))


@claim(
    "limit.36.reduction",
    ref="Lemma 36",
    statement=r"w \in \Sigma^* b e^* b \Sigma^* \iff "
    r"\#[j \le |w|]\, (Q_b(j) \land \Phi(j - 1)) \ge 1",
    mathematics=True,
)
def reduction():
    """A program for Sigma* b e* makes one for L_bb. All strings up to length 7.

    Control: with Phi(j) in place of Phi(j - 1).
    """
    last_is_b = crasp.LANGUAGES["be*"].contains
    between = lambda w, j, k: w[j] == w[k] == "b" and set(w[j + 1 : k]) <= {"e"}
    right = lambda w: any(between(w, j, k) for k in range(len(w)) for j in range(k))
    counted = lambda w, own: any(w[j] == "b" and last_is_b(w[: j + own]) for j in range(len(w)))
    return exhaustive(
        predicate=lambda w: counted(w, 0) == right(w),
        universe=[w for n in range(8) for w in words("abe", n)],
        control=dict(predicate=lambda w: counted(w, 1) == right(w)),
    )


# Lemma 37 ----------------------------------------------------------------------------------------


@claim(
    "limit.37.eventually_constant",
    ref="Lemma 37",
    statement=r"\exists n: P(a^m) = P(a^n) \text{ for all } m \ge n",
)
def eventually_constant():
    """The computed threshold is exact: verdicts are constant from there on, and differ just before.

    100 random programs without positions over one symbol, checked on 40 more strings. Control: one
    less.
    """

    def build(seed):
        rng = np.random.default_rng(seed)
        p = crasp.random_program(rng, "a", 3 + seed % 6, periodic=False, local=False, largest=20)
        n = crasp.pump(p, "a").threshold
        return n, p.accepts(["a" * k for k in range(n + 40)])

    def exact(found, less=0):
        n, verdicts = found
        n -= less
        return n >= 0 and len(set(verdicts[n:])) == 1 and (n == 0 or verdicts[n - 1] != verdicts[n])

    return construction(
        build=build,
        has=exact,
        cases=range(100),
        control=dict(has=lambda found: exact(found, 1)),
    )


@claim(
    "limit.37.pumping",
    ref="Lemma 37, for words",
    statement=r"P(x u^m z) = P(x u^n z) \text{ for all } m \ge n,\ M \mid |u|",
)
def pumping():
    """The same holds for any word u with length a multiple of the moduli, and local relations.

    Not in the paper; PARITY and Sigma* b e* are refuted through it. Control: one less.
    """

    def build(seed):
        rng = np.random.default_rng(seed)
        p = crasp.random_program(rng, "ab", 3 + seed % 4, farthest=2)
        letters = lambda size: "".join(rng.choice(["a", "b"], size))
        u, x, z = letters(6 * (1 + seed % 2)), letters(seed % 4), letters(seed % 3)
        f = crasp.pump(p, u, x, z)
        n = f.threshold + 8
        return f, p.accepts([x + u * k + z for k in range(n)])

    agrees = lambda found, more=0: all(found[0](k + more) == v for k, v in enumerate(found[1]))
    return construction(
        build=build,
        has=agrees,
        cases=range(60),
        control=dict(has=lambda found: agrees(found, 1)),
    )
