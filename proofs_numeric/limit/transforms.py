"""Lemmas 34, 40 and 42: programs on images of words."""

import itertools

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.subjects import crasp

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
    falls="proof",
    consequence="The formula for local countings looks at the wrong place of the block; at place "
    "c + d it is right, and the lemma stands.",
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
    falls="proof",
    consequence="The formula for Mod is another one; the lemma stands.",
    mathematics=True,
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
    falls="proof",
    consequence="The formula for symbols is a disjunction over those that h maps to the symbol; "
    "the lemma stands.",
    mathematics=True,
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
    falls="proof",
    consequence="The place to look at is (c - d) mod n of another block; with that the lemma "
    "stands.",
    mathematics=True,
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
