"""Lemmas 34, 40 and 42: programs on images of words."""

import itertools

import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.common.words import words
from theorykit.subjects import crasp

# Lemmas 34 and 40 --------------------------------------------------------------------------------


SIZE = 3
"""s of the blocks b^s a b^(s - 1)."""

LOCAL = [
    (d, c, A, n)
    for d in (-1, -2) for c in range(-SIZE, SIZE) for n in (1, 2)
    for A in ("Q_a(i)", "not Q_a(i)", "i % 2 = 0", "i % 2 = 1")
    if c + d >= -SIZE
]  # fmt: skip
"""d, a place c with c + d in the same block, A, and the number of blocks; s is SIZE."""


def place(at):
    """Return the predicate: #[j < i, j = i + d] A(j) at place c of the last block of h(a^n).

    `at(d, c)`: the place of the block whose A it should be, or None for 0. All values are the
    interpreter's.
    """

    def predicate(member):
        d, c, A, n = member
        p = crasp.parse(
            f"alphabet: a b\nA(i) := {A}\nC(i) := #[j < i, j = i - {-d}] A(j)\nL(i) := C(i) >= 1"
        )
        values = crasp.interpret(p, ("b" * SIZE + "a" + "b" * (SIZE - 1)) * n)
        zero = SIZE + 1 + 2 * SIZE * (n - 1)  # the position of the last a
        looked = at(d, c)
        found = 0 if looked is None or not -SIZE <= looked < SIZE else values["A"][zero + looked]
        return found == values["C"][zero + c]

    return predicate


@claim(
    "limit.40.unpadding.local",
    ref="Lemma 40",
    statement=r"C(i) = \#[j < i, j = i + d]\, A(j) \Rightarrow "
    r"\hat C^c(i) = (c = d \land \hat A^c(i))\,?\,1 : 0",
    expect="refuted",
    falls="proof",
    consequence="The formula for local countings looks at the wrong place of the block; at place "
    "c + d it is right, and the lemma stands.",
)
def unpadding_local():
    """The formula for local counting looks at place c, which must be d itself; it is c + d.

    Members are d < 0, a place c with c + d in the same block of h(a^n), A and n. Control: at place
    c for every c.
    """
    return exhaustive(
        predicate=place(lambda d, c: c if c == d else None),
        universe=LOCAL,
        control=dict(predicate=place(lambda d, c: c)),
    )


@claim(
    "limit.40.unpadding.local.repaired",
    ref="Lemma 40",
    statement=r"C(i) = \#[j < i, j = i + d]\, A(j) \Rightarrow "
    r"\hat C^c(i) = \hat A^{c + d}(i)\,?\,1 : 0",
)
def unpadding_local_repaired():
    """The formula for local counting looks at place c + d. Control: at place c - d."""
    return exhaustive(
        predicate=place(lambda d, c: c + d),
        universe=LOCAL,
        control=dict(predicate=place(lambda d, c: c - d)),
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
    """For a random program, one without positional relations says of a^n what it says of h.

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
    """An unpadded program says of every word over a, b, e what a random one says of its padding.

    Control: one more e at the end.
    """
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
    """A disjunction of implications holds as soon as one premise fails, and r does not occur in it.

    Control: their conjunction.
    """
    right = lambda i, c, m, r, n: (n * i + c) % m == r
    implied = lambda i, c, m, k: i % m != k or i % m == c * k % m
    return exhaustive(
        predicate=lambda b: any(implied(*b[:3], k) for k in range(b[2])) == right(*b),
        universe=BLOCKS,
        control=dict(predicate=lambda b: all(implied(*b[:3], k) for k in range(b[2])) == right(*b)),
    )


def pulled_back(of):
    """Return the predicate: the number of places of h(w) where P holds is what h^-1 of it says.

    `of(member)`: P as text, a morphism, and P as a function of a word and a place from 1. On all
    words up to length 3, by the inverse image of the program that asks for so many places.
    """

    def predicate(member):
        P, h, holds = of(member)
        for word in words("xy", *range(1, 4)):
            image = "".join(h[c] for c in word)
            right = sum(map(bool, (holds(image, i) for i in range(1, len(image) + 1))))
            for more in (0, 1):
                text = f"alphabet: a b\n{P}\nL(i) := (#[j <= i] P(j)) = {right + more}"
                q = crasp.inverse_image(crasp.parse(text), h)
                if crasp.interpreted(q, word) != (more == 0):
                    return False
        return True

    return predicate


ALTERNATING = {n: {"x": ("ab" * n)[:n], "y": ("ba" * n)[:n]} for n in (1, 2, 3)}


@claim(
    "limit.42.inverse_morphism.mod.repaired",
    ref="Lemma 42",
    statement=r"Mod_{m,r}(n i + c) \iff \bigvee_{k: nk + c \equiv r} Mod_{m,k}(i)",
)
def morphism_mod_repaired():
    """Position n i + c is r modulo m if i is one of the k with n k + c = r.

    By inverse images, where the symbol is a; members are n, m, r. Control: residue r + 1.
    """
    of = lambda more: (
        lambda m: (
            f"P(i) := i % {m[1]} = {m[2]} and Q_a(i)",
            ALTERNATING[m[0]],
            lambda image, i: i % m[1] == (m[2] + more) % m[1] and image[i - 1] == "a",
        )
    )
    members = [(n, m, r) for n in (1, 2, 3) for m in (2, 3) for r in range(m)]
    return exhaustive(
        predicate=pulled_back(of(0)),
        universe=members,
        control=dict(predicate=pulled_back(of(1))),
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
    """The symbols are those whose block has an a at place c.

    By inverse images; members are h and a. Control: the other symbol's.
    """
    blocks = ["".join(b) for b in itertools.product("ab", repeat=2)]
    of = lambda exchange: (
        lambda m: (
            f"P(i) := Q_{m[2]}(i)",
            dict(x=m[0], y=m[1]),
            lambda image, i: (image[i - 1] == m[2]) != exchange,
        )
    )
    return exhaustive(
        predicate=pulled_back(of(False)),
        universe=list(itertools.product(blocks, blocks, "ab")),
        control=dict(predicate=pulled_back(of(True))),
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
    """The place to look at is (c - d) mod n, in the block floor((c - d) / n) further on.

    By inverse images of local countings; members are n and d. Control: a distance of d + 1.
    """
    of = lambda more: (
        lambda m: (
            f"C(i) := #[j <= i, j = i - {m[1]}] Q_a(j)\nP(i) := C(i) >= 1",
            ALTERNATING[m[0]],
            lambda image, i: i > m[1] + more and image[i - 1 - m[1] - more] == "a",
        )
    )
    members = [(n, d) for n in (1, 2, 3) for d in (0, 1, 2, 3, 4)]
    return exhaustive(
        predicate=pulled_back(of(0)),
        universe=members,
        control=dict(predicate=pulled_back(of(1))),
    )
