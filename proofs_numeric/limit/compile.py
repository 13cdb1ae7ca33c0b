"""Theorems 9 and 27: programs to Limit Transformers."""

import itertools
import re
from fractions import Fraction

import numpy as np

from theorykit import claim
from theorykit.checks import construction
from theorykit.common.words import words
from theorykit.proofs_numeric.limit._programs import PRINTED
from theorykit.subjects import crasp, limit


def mistakes(p, compiled, longest):
    """Return strings on which a program and a transformer differ, in exact arithmetic."""
    for n in range(longest + 1):
        strings = list(itertools.product(p.alphabet, repeat=n))  # symbols such as SOS are long
        same = compiled.accepts(strings) == p.accepts(strings)
        if not same.all():
            return [strings[int(np.flatnonzero(~same)[0])]]
    return []


@claim(
    "limit.crasp.compile",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w",
)
def theorem():
    """The paper's programs compile to Limit Transformers that accept the same strings.

    All strings up to length 7 over two symbols, 4 over three. Control: programs with > for >=.
    """
    return construction(**shipped(PRINTED, 2**8))


OPERATIONS = {
    "not": "L(i) := not Q_a(i)",
    "not, counted": "L(i) := (#[j <= i] not Q_a(j)) = 2",
    "and": "L(i) := Q_a(i) and i % 2 = 0",
    "true": "L(i) := (#[j <= i] true) = 3",
    "periodic": "L(i) := i % 3 in {1, 2}",
    "periodic, counted": "L(i) := (#[j <= i] j % 2 = 0) = 2",
    "comparison": "L(i) := A(i) <= B(i)",
    "local, 0": "L(i) := (#[j <= i, j = i] Q_a(j)) = 1",
    "local, 1": "L(i) := (#[j <= i, j = i - 1] Q_a(j)) = 1",
    "local, 3": "L(i) := (#[j <= i, j = i - 3] Q_a(j)) = 1",
    "local, counted": "C(i) := #[j <= i, j = i - 2] Q_a(j)\nL(i) := (#[j <= i] C(j) = 1) = 2",
    "two distances": "L(i) := (#[j <= i, i - j in {0, 2}] Q_a(j)) = 1",
    "addition": "L(i) := A(i) + A(i) = B(i) + 1",
    "subtraction": "L(i) := A(i) - B(i) = 0 - 1",
    "conditional": "L(i) := (Q_a(i) ? A(i) : B(i)) >= 2",
    "conditional, large": "L(i) := (Q_a(i) ? 3 + A(i) : 2) >= 5",
    "conditional, negative": "L(i) := (Q_a(i) ? 1 - 4 * A(i) : 0 - 5) < 0 - 6",
}
"""A program for each operation of Definition 8 and each way in which it enters the construction."""


@claim(
    "limit.crasp.compile.operations",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w,\ |w| \le 6,\ "
    r"P \text{ of one operation each}",
)
def operations():
    """Programs that rest on one operation each, on all strings up to length 6.

    None is constant. Control: a and b exchanged, or a residue or a constant.
    """

    def build(name, change=lambda text: text):
        counts = "A(i) := #[j <= i] Q_a(j)\nB(i) := #[j <= i] Q_b(j)"
        of = lambda text: crasp.parse(f"alphabet: a b\n{counts}\n{text}")
        p, other = of(OPERATIONS[name]), of(change(OPERATIONS[name]))
        verdicts = p.accepts(words("ab", *range(7)))
        return mistakes(p, crasp.compile(other), 6), 0 < verdicts.sum() < len(verdicts)

    near = {
        "Q_a": "Q_b",
        "A(i)": "B(i)",
        "B(i)": "A(i)",
        "% 2 = 0": "% 2 = 1",
        "{1, 2}": "{0, 1}",
        "= 3": "= 2",
    }
    exchanged = lambda text: re.sub(
        "|".join(map(re.escape, near)), lambda found: near[found[0]], text
    )
    return construction(
        build=build,
        has=lambda built: not built[0],
        telling=lambda built: built[1],
        cases=list(OPERATIONS),
        complete=True,
        control=dict(build=lambda name: build(name, exchanged)),
    )


@claim(
    "limit.crasp.compile.long",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w",
    tier="slow",
)
def theorem_long():
    """All shipped programs: to length 12 over two symbols, two million strings over others.

    Control: programs with > for >=.
    """
    return construction(**shipped(crasp.library(), 2_000_000))


def shipped(names, most):
    """Return the construction over programs, on up to `most` strings and to length 12."""

    def build(name, change=lambda text: text):
        p = crasp.load(name)
        other = crasp.parse(change(crasp.source(name)))
        symbols = len(p.alphabet)
        strings = lambda n: (symbols ** (n + 1) - 1) // (symbols - 1)
        longest = max(n for n in range(13) if strings(n) <= most)
        return mistakes(p, crasp.compile(other), longest)

    return dict(
        build=build,
        has=lambda wrong: not wrong,
        cases=names,
        control=dict(build=lambda name: build(name, lambda text: text.replace(">=", ">"))),
    )


def random_mistakes(seed, lines=6, longest=5, **options):
    """Return where a random program and its transformer differ, and whether it is not constant."""
    p = crasp.random_program(np.random.default_rng(seed), "ab", lines, **options)
    verdicts = p.accepts(words("ab", *range(longest + 1)))
    return mistakes(p, crasp.compile(p), longest), 0 < verdicts.sum() < len(verdicts)


VARYING = [2, 3, 4, 5, 10, 12, 15, 16, 18, 19]
"""Seeds of random programs that are not constant on strings up to length 5."""


@claim(
    "limit.crasp.compile.random",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w,\ |w| \le 5",
)
def random_programs():
    """10 random programs, none of them constant, also compile to equivalent transformers.

    Control: the transformer of a program without its last line.
    """

    def other(seed):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 6)
        q = crasp.random_program(np.random.default_rng(seed), "ab", 5)
        strings = words("ab", 4)
        return (crasp.compile(q).accepts(strings) != p.accepts(strings)).any(), True

    return construction(
        build=random_mistakes,
        has=lambda built: not built[0],
        telling=lambda built: built[1],
        cases=VARYING,
        control=dict(build=other),
    )


@claim(
    "limit.crasp.compile.many",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ accepts } w \iff T_\infty \text{ accepts } w,\ |w| \le 6",
    tier="slow",
)
def many_programs():
    """500 random programs also compile to equivalent transformers.

    Control: another seed's program.
    """

    def other(seed):
        draw = lambda s: crasp.random_program(np.random.default_rng(s), "ab", 8)
        strings = words("ab", 4)
        differ = crasp.compile(draw(seed)).accepts(strings) != draw(seed + 1).accepts(strings)
        return differ.any(), True

    return construction(
        build=lambda seed: random_mistakes(seed, 6, 6),
        has=lambda built: not built[0],
        telling=lambda built: built[1],
        cases=range(500),
        control=dict(build=other),
    )


@claim(
    "limit.crasp.compile.nope",
    ref="Theorem 9, Theorem 27",
    statement=r"P \text{ uses no local or periodic relations} \Rightarrow "
    r"p_i \equiv 0,\ \phi_{l,h} \equiv 0",
)
def nope():
    """Programs without positional relations compile to transformers without positions.

    Control: programs with one.
    """

    def build(seed, extra="true"):
        p = crasp.random_program(np.random.default_rng(seed), "ab", 6, periodic=False, local=False)
        return crasp.compile(crasp.parse(f"{p}Z(i) := {extra} and Q_a(i)")).transformer.nope

    return construction(
        build=build,
        has=bool,
        cases=range(60),
        control=dict(build=lambda seed: build(seed, "i % 2 = 0")),
    )


@claim(
    "limit.crasp.compile.simulates",
    ref="Appendix B.6",
    statement=r"T_\infty(\$w)_{i, d_k} = P_k(i) \text{ or } C_k(i) / (i + 1)",
)
def simulates():
    """Each operation has a dimension that holds its value, a truth or share, at each position.

    Positions of w count from 1 and `$` is position 0. Control: C / i.
    """

    def build(seed, below=1):
        rng = np.random.default_rng(seed)
        compiled = crasp.compile(crasp.random_program(rng, "ab", 5))
        string = "".join(rng.choice(["a", "b"], 5))
        last = limit.exact(compiled.transformer, [string]).layers[-1].fractions()[0]
        values = crasp.interpret(compiled.program, string)
        kinds = compiled.program.core.kinds
        return [
            (name, i)
            for name, place in compiled.places.items()
            for i in range(1, 6)
            if last[i, place.dimension]
            != Fraction(values[name][i], 1 if kinds[name] == "Boolean" else i + below)
        ][:1]

    return construction(
        build=build,
        has=lambda wrong: not wrong,
        cases=range(25),
        control=dict(build=lambda seed: build(seed, 0)),
    )
