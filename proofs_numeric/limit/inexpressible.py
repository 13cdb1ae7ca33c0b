"""Lemma 11 and appendix C.3.2-C.3.3, E.1.2: what no program recognises, and the transforms."""

import itertools

import numpy as np

from theorykit import claim, crasp
from theorykit.checks import construction, exhaustive
from theorykit.proofs_numeric.limit.programs import words

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
    return dict(build=build, has=is_wrong(language), cases=range(cases), control=dict(has=short))


@claim(
    "limit.11.parity",
    ref="Lemma 11 (1), Lemma 41",
    statement=r"b^*(ab^*ab^*)^* \notin \text{C-RASP}[\text{periodic}, \text{local}]",
)
def parity():
    """Every one of 150 random programs errs on some (b^s a b^(s-1))^n, and the refuter says which.

    That none exists rests on the proof. Control: two symbols are always enough.
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
    """Every one of 300 random programs without positions errs on some a^n.

    That none exists rests on the proof. Control: the empty string is always enough.
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
    """Every one of 100 random programs errs on h(u)^n h(be) or h(u)^n h(ae) for some u and n.

    The paper cites a theorem for its language L_bb; `crasp.refute` has a direct argument. That
    no program exists rests on it. Control: two symbols are always enough.
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
)
def reduction():
    """A program for Sigma* b e* makes one for L_bb. All strings up to length 7.

    Control: with Phi(j) in place of Phi(j - 1).
    """
    last_is_b = lambda w: w.rstrip("e")[-1:] == "b"
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
    """The computed threshold is exact: constant from there on, and another verdict just before.

    200 random programs without positions over one symbol, looked at for 40 strings beyond.
    Control: one less.
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
        cases=range(200),
        control=dict(has=lambda found: exact(found, 1)),
    )


@claim(
    "limit.37.pumping",
    ref="Lemma 37, for words",
    statement=r"P(x u^m z) = P(x u^n z) \text{ for all } m \ge n,\ M \mid |u|",
)
def pumping():
    """So it is for any word u whose length is a multiple of the moduli, and with local relations.

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
        cases=range(100),
        control=dict(has=lambda found: agrees(found, 1)),
    )


# Lemmas 34 and 40 --------------------------------------------------------------------------------


LOCAL = [
    (s, d, c, A)
    for s in (1, 2, 3) for d in range(0, -s, -1) for c in range(-s - d, s)
    for A in itertools.product((0, 1), repeat=2 * s)
]  # fmt: skip
"""s, d, c and the truth values of A on a block."""


def truly_local(s, d, c, A):
    """Return #[j <= i, j = i + d] A(j) at place c of a block: i = s + c, counted from 0."""
    i = s + c
    return sum(A[j] for j in range(i + 1) if j == i + d)


def printed_local(s, d, c, A):
    """Return (c = d and A^c) ? 1 : 0."""
    return A[s + c] if c == d else 0


@claim(
    "limit.40.unpadding.local",
    ref="Lemma 40",
    statement=r"C(i) = \#[j \le i, j = i + d]\, A(j) \Rightarrow "
    r"\hat C^c(i) = (c = d \land \hat A^c(i))\,?\,1 : 0",
    expect="refuted",
)
def unpadding_local():
    """The formula for local counting looks at place c, which must be d itself; it is c + d.

    Members are s, d <= 0, a place c with c + d in the same block, and A on that block from -s to
    s - 1. Control: the opposite.
    """
    return exhaustive(
        predicate=lambda m: printed_local(*m) == truly_local(*m),
        universe=LOCAL,
        control=dict(predicate=lambda m: printed_local(*m) != truly_local(*m)),
    )


@claim(
    "limit.40.unpadding.local.repaired",
    ref="Lemma 40",
    statement=r"C(i) = \#[j \le i, j = i + d]\, A(j) \Rightarrow "
    r"\hat C^c(i) = \hat A^{c + d}(i)\,?\,1 : 0",
)
def unpadding_local_repaired():
    """It looks at place c + d. Control: at place c - d, which is 0 outside of the block."""
    at = lambda s, d, c, A, sign: A[s + c + sign * d] if -s <= c + sign * d < s else 0
    return exhaustive(
        predicate=lambda m: at(*m, 1) == truly_local(*m),
        universe=LOCAL,
        control=dict(predicate=lambda m: at(*m, -1) == truly_local(*m)),
    )


def wrong_unpadded(keep, farthest=3):
    """Return the build: a string on which a program and its unpadded one differ, if any."""

    def build(seed, more=0):
        rng = np.random.default_rng(seed)
        p = crasp.random_program(rng, "abe", 4, farthest=farthest)
        found = crasp.unpad(p, "e", keep)
        strings = [w for n in range(1, 4) for w in words(keep, n)] + [keep * 3]
        padded = [found.pad(w) + ("e",) * more for w in strings]
        same = found.program.accepts(strings) == p.accepts(padded)
        wrong = [w for w, equal in zip(strings, same, strict=True) if not equal][:1]
        return wrong or ["positions"] * (found.program.periodic or found.program.local)

    return build


@claim(
    "limit.40.unpadding",
    ref="Lemma 40",
    statement=r"P \text{ accepts } h(w) \iff \hat P \text{ accepts } w,\ "
    r"h(a) = b^s a b^{s - 1},\ \hat P \in \text{C-RASP}[\emptyset]",
)
def unpadding():
    """Random programs have one without positional relations that says of a^n what they say of h.

    With local counting at c + d, in the block before where c + d < -s. Control: h with one more
    neutral symbol at the end.
    """
    build = wrong_unpadded("a")
    return construction(
        build=build,
        has=lambda wrong: not wrong,
        cases=range(40),
        control=dict(build=lambda seed: build(seed, 1)),
    )


@claim(
    "limit.34.unpadding",
    ref="Lemma 34, for programs",
    statement=r"P \text{ accepts } h(w) \iff \hat P \text{ accepts } w,\ "
    r"h(\sigma) = e^s \sigma e^{s - 1}",
)
def unpadding_words():
    """The same for all words over a, b and e. Control: one more e at the end."""
    build = wrong_unpadded("abe", farthest=2)
    return construction(
        build=build,
        has=lambda wrong: not wrong,
        cases=range(25),
        control=dict(build=lambda seed: build(seed, 1)),
    )


# Lemma 42 ----------------------------------------------------------------------------------------


@claim(
    "limit.42.inverse_morphism",
    ref="Lemma 42",
    statement=r"h: \Sigma_1 \to \Sigma_2^n,\ L \in \text{C-RASP}[\text{periodic}, \text{local}] "
    r"\Rightarrow h^{-1}(L) \in \text{C-RASP}[\text{periodic}, \text{local}]",
)
def inverse_morphism():
    """The inverse image of random programs under uniform morphisms, all words up to length 4.

    Control: the morphism with two symbols exchanged.
    """
    morphisms = [{"x": "ab", "y": "ba"}, {"x": "aab", "y": "bbb"}, {"x": "b", "y": "a"}]

    def build(seed, exchange=False):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 5)
        h = morphisms[seed % 3]
        q = crasp.inverse_image(p, h)
        strings = [w for n in range(1, 5) for w in words("xy", n)]
        used = dict(zip("xy", reversed(h.values()), strict=True)) if exchange else h
        images = ["".join(used[c] for c in w) for w in strings]
        same = q.accepts(strings) == p.accepts(images)
        return [w for w, equal in zip(strings, same, strict=True) if not equal][:1]

    return construction(
        build=build,
        has=lambda wrong: not wrong,
        cases=range(45),
        control=dict(build=lambda seed: build(seed, True)),
    )


BLOCKS = [
    (i, c, m, r, n)
    for n in range(1, 4) for m in range(1, 4) for r in range(m) for c in range(n) for i in range(6)
]  # fmt: skip
"""Block i, place c, modulus m, residue r, block length n; positions from 0."""


@claim(
    "limit.42.inverse_morphism.mod",
    ref="Lemma 42",
    statement=r"Mod_{m,r}(n i + c) \iff \bigvee_{k < m} (Mod_{m,k}(i) \to "
    r"Mod_{m, ck \bmod m}(i))",
    expect="refuted",
)
def morphism_mod():
    """A disjunction of implications holds as soon as one premise fails, and r is not in it.

    Control: a conjunction of them.
    """
    right = lambda i, c, m, r, n: (n * i + c) % m == r
    implied = lambda i, c, m, k: i % m != k or i % m == c * k % m
    return exhaustive(
        predicate=lambda b: any(implied(*b[:3], k) for k in range(b[2])) == right(*b),
        universe=BLOCKS,
        control=dict(predicate=lambda b: all(implied(*b[:3], k) for k in range(b[2])) == right(*b)),
    )


@claim(
    "limit.42.inverse_morphism.mod.repaired",
    ref="Lemma 42",
    statement=r"Mod_{m,r}(n i + c) \iff \bigvee_{k: nk + c \equiv r} Mod_{m,k}(i)",
)
def morphism_mod_repaired():
    """Position n i + c is r modulo m if i is one of the k with n k + c = r. Control: n i = r."""
    right = lambda i, c, m, r, n: (n * i + c) % m == r
    some = lambda i, c, m, r, n: any(i % m == k for k in range(m) if (n * k + c) % m == r)
    return exhaustive(
        predicate=lambda b: some(*b) == right(*b),
        universe=BLOCKS,
        control=dict(predicate=lambda b: some(b[0], 0, *b[2:]) == right(*b)),
    )


@claim(
    "limit.42.inverse_morphism.symbol",
    ref="Lemma 42",
    statement=r"Q_a(n i + c) \iff Q_{h(a)_c}(i)",
    expect="refuted",
)
def morphism_symbol():
    """The formula applies h to the symbol that is looked for, where h leads to it.

    Over one alphabet for both, so that it has a meaning. Members are w_i, a, h(a), h(b), n = 2 and
    c. Control: h applied backwards.
    """
    blocks = list(itertools.product("ab", repeat=2))
    members = list(itertools.product("ab", "ab", blocks, blocks, (0, 1)))
    image = lambda m, symbol: m[2 + "ab".index(symbol)][m[4]]
    return exhaustive(
        predicate=lambda m: (image(m, m[0]) == m[1]) == (m[0] == image(m, m[1])),
        universe=members,
        control=dict(predicate=lambda m: (image(m, m[0]) == m[1]) == (m[0] != image(m, m[1]))),
    )


@claim(
    "limit.42.inverse_morphism.symbol.repaired",
    ref="Lemma 42",
    statement=r"Q_a(n i + c) \iff \bigvee_{\sigma: h(\sigma)_c = a} Q_\sigma(i)",
)
def morphism_symbol_repaired():
    """It is the symbols whose block has an a at place c. Control: at the other place."""
    blocks = list(itertools.product("ab", repeat=2))
    members = list(itertools.product("ab", "ab", blocks, blocks, (0, 1)))
    image = lambda m, symbol, c: m[2 + "ab".index(symbol)][c]
    some = lambda m, c: any(m[0] == s for s in "ab" if image(m, s, c) == m[1])
    return exhaustive(
        predicate=lambda m: some(m, m[4]) == (image(m, m[0], m[4]) == m[1]),
        universe=members,
        control=dict(predicate=lambda m: some(m, 1 - m[4]) == (image(m, m[0], m[4]) == m[1])),
    )


DISTANCES = [(n, d, c) for n in range(1, 5) for d in range(1, 9) for c in range(n) if c <= d]


@claim(
    "limit.42.inverse_morphism.local",
    ref="Lemma 42",
    statement=r"n i + c - d = n i' + t,\ t = n - (d \bmod n)",
    expect="refuted",
)
def morphism_local():
    """The place to look at is printed without c, and is n, no place, where n divides d.

    Members are n, d and c <= d. Control: d mod n.
    """
    right = lambda n, d, c: (c - d) % n
    return exhaustive(
        predicate=lambda m: m[0] - m[1] % m[0] == right(*m),
        universe=DISTANCES,
        control=dict(predicate=lambda m: m[1] % m[0] == right(*m)),
    )


@claim(
    "limit.42.inverse_morphism.local.repaired",
    ref="Lemma 42",
    statement=r"n i + c - d = n (i + \lfloor (c - d) / n \rfloor) + ((c - d) \bmod n)",
)
def morphism_local_repaired():
    """It is place (c - d) mod n of the block floor((c - d) / n) further. Control: -floor(d / n)."""
    place = lambda m, back: m[0] * (5 + back) + (m[2] - m[1]) % m[0]
    right = lambda m: m[0] * 5 + m[2] - m[1]
    return exhaustive(
        predicate=lambda m: place(m, (m[2] - m[1]) // m[0]) == right(m),
        universe=DISTANCES,
        control=dict(predicate=lambda m: place(m, -(m[1] // m[0])) == right(m)),
    )
