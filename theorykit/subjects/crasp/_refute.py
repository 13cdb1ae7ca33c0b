"""Counterexamples to programs, built by following the inexpressibility proofs."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from theorykit.common.arguments import affordable, instance, shown, whole
from theorykit.common.errors import explain
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._pump import pump
from theorykit.subjects.crasp._unpad import pad, padding

String = tuple[str, ...]

MOST_TRIED = 10**8
"""The most symbols in all strings of a search together."""


@dataclasses.dataclass(frozen=True)
class Language:
    """A language that no program of some class recognises (Lemma 11).

    **Fields:** `name`; `alphabet`: the symbols that a program must have; `contains`: the acceptor;
    `refute`: maps a program to a string on which it is wrong.
    """

    name: str
    alphabet: tuple[str, ...]
    contains: Callable[[Sequence[str]], bool]
    refute: Callable[[Program], String]


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """A string on which a program is wrong; `accepted` is the program's verdict."""

    string: String
    accepted: bool

    def __str__(self) -> str:
        """Return the string, the verdict and the truth."""
        apart = " " if any(len(s) > 1 for s in self.string) else ""
        shown = apart.join(self.string) or "the empty string"
        sides = "the program accepts" if self.accepted else "the program rejects"
        other = "is not" if self.accepted else "is"
        return f"{shown}: {sides} it, and it {other} in the language"


def refute(
    program: Program,
    language: str | Program | Callable[[Sequence[str]], bool],
    *,
    tries: int = 4000,
    longest: int = 60,
    seed: int = 0,
) -> Counterexample | None:
    """Return a string on which a program for a language is wrong, or None if none was found.

    `"parity"` (an even number of a), `"aa*"` or `"(aa)*"`, and `"be*"` or `"Sigma* b e*"` are
    refuted along the paper's proofs that they have no program (Lemmas 41, 38 and 36), and always:
    PARITY and Sigma* b e* for any program, (aa)* for one without positional relations. Any other
    language is given by its acceptor, a function or a program, and strings are tried: all short
    ones, random ones, and repeated words.

    **Arguments:** `tries`: the number of strings tried with an acceptor; `longest`: bounds their
    length; `seed`: for the random ones.

    **Raises:** `ValueError` for an unknown name, or a program that lacks a symbol of the language
    or, for (aa)*, uses positional relations; for one whose distances, moduli or changes of verdict
    take too long; for an acceptor that fails on a string.
    """
    instance("program", program, Program, "a Program")
    tries, longest, seed = whole("tries", tries), whole("longest", longest), whole("seed", seed, 0)
    if isinstance(language, Program) or callable(language):
        affordable("searching", tries * longest, MOST_TRIED, "symbols of strings to try")
        return _searched(program, language, tries, longest, np.random.default_rng(seed))
    language = ALIASES.get(language, language) if isinstance(language, str) else shown(language)
    if language not in LANGUAGES:
        names = ", ".join([*LANGUAGES, *ALIASES])
        raise ValueError(f"{language!r} is none of {names}; other languages need an acceptor.")
    known = LANGUAGES[language]
    program.encode(known.alphabet)
    string = known.refute(program)
    accepted = program.accepts(string)
    if accepted == known.contains(string):
        raise AssertionError(
            f"the program is right on the string found for {language}; this is a bug."
        )
    return Counterexample(string, accepted)


# The proofs -----------------------------------------------------------------------------------


def is_parity(string: Sequence[str]) -> bool:
    """Whether a string has an even number of a: b*(ab*ab*)*."""
    return string.count("a") % 2 == 0


def is_aa_star(string: Sequence[str]) -> bool:
    """Whether a string is (aa)*."""
    return len(string) % 2 == 0 and all(s == "a" for s in string)


def is_be_star(string: Sequence[str]) -> bool:
    """Whether the last symbol that is not e is a b: Sigma* b e*."""
    return next((s == "b" for s in reversed(string) if s != "e"), False)


def _parity(program: Program) -> String:
    """Lemma 41: for large n, a program accepts both h(a)^n and h(a)^(n + 1), or neither."""
    block = pad("a", padding(program), "b")
    n = pump(program, block).mistake(lambda n: n % 2 == 0)
    assert n is not None  # the verdict is eventually constant, the truth is not
    return block * n


def _aa_star(program: Program) -> String:
    """Lemma 38: for large n, a program accepts both a^n and a^(n + 1), or neither."""
    if program.periodic or program.local:
        raise ValueError(
            "(aa)* is refuted for programs without positional relations; with them there is one."
        )
    n = pump(program, "a").mistake(lambda n: n % 2 == 0)
    assert n is not None
    return ("a",) * n


def _be_star(program: Program) -> String:
    """No program tells u^n h(be) from u^n h(ae) for all n if u = h(v) and v is generic.

    The paper uses Lemma 36 and a theorem of Krebs that is not constructive. Here is a direct
    argument. With all words padded, local relations see only e, and periodic ones only the place in
    a block. By induction, for large n, a Boolean in the last blocks is a function of that place and
    of its block's symbol: a comparison there has the sign of g . (n v) plus bounded terms, for an
    integer vector g of the program, and if v is orthogonal to none of these vectors, the first term
    decides.
    """
    s = padding(program)
    h = lambda w: pad(w, s, "e")
    for word in _generic():
        for end in (h("be"), h("ae")):
            verdicts = pump(program, h(word), (), end)
            n = verdicts.mistake(_always if end[s] == "b" else _never)
            if n is not None:
                return h(word) * n + end
    raise AssertionError  # unreachable: for any program, some word is generic


def _always(n: int) -> bool:
    return True


def _never(n: int) -> bool:
    return False


def _generic() -> Iterator[str]:
    """Yield words a^i b^j e^k with (i, j, k) orthogonal to fewer and fewer integer vectors."""
    yield from ("abee", "aab", "abbbe", "aaaabe")
    for size in itertools.count(2):
        yield "a" + "b" * size + "e" * size**2
        yield "a" * size**2 + "b" * size + "e"


LANGUAGES = {
    found.name: found
    for found in (
        Language("parity", ("a", "b"), is_parity, _parity),
        Language("aa*", ("a",), is_aa_star, _aa_star),
        Language("be*", ("a", "b", "e"), is_be_star, _be_star),
    )
}
"""The languages of Lemmas 36, 38 and 41, by the names that `refute` accepts."""


ALIASES = {"PARITY": "parity", "(aa)*": "aa*", "Sigma* b e*": "be*"}
"""Names as in the paper."""


# Search ---------------------------------------------------------------------------------------


def _searched(
    program: Program,
    contains: Program | Callable[[Sequence[str]], bool],
    tries: int,
    longest: int,
    rng: np.random.Generator,
) -> Counterexample | None:
    """Try short strings in order, then random ones and powers of random words."""
    symbols = program.alphabet
    short = list(itertools.islice(_in_order(symbols), tries // 2))
    draw = lambda size: tuple(
        symbols[k] for k in np.asarray(rng.integers(len(symbols), size=size)).tolist()
    )
    drawn = []
    for k in range(tries - len(short)):
        length = int(rng.integers(1, longest + 1))
        u = draw(int(rng.integers(1, 6))) if k % 2 else draw(length)
        powers = u * (length // len(u))
        drawn.append(powers + draw(int(rng.integers(0, 4))) if k % 2 else powers)
    strings = sorted({*short, *drawn}, key=len)
    as_text = all(len(s) == 1 for s in symbols)
    verdicts = program.accepts(strings).tolist()
    if isinstance(contains, Program):
        right = iter(contains.accepts(strings).tolist())
    else:
        right = (asked(contains, "".join(s) if as_text else s) for s in strings)
    for string, accepted, truth in zip(strings, verdicts, right, strict=True):
        if truth != accepted:
            return Counterexample(string, accepted)
    return None


def asked(contains: Callable[[Sequence[str]], bool], string: Sequence[str]) -> bool:
    """Return the verdict of an acceptor on a string.

    **Raises:** `ValueError` for an acceptor that fails there or does not return a truth value.
    """
    try:
        return bool(contains(string))
    except Exception as error:
        raise ValueError(
            f"the acceptor fails on {string!r}: {explain(error)}; it is asked about every string, "
            "including the empty one."
        ) from error


def _in_order(symbols: Sequence[str]) -> Iterator[String]:
    return itertools.chain.from_iterable(
        itertools.product(symbols, repeat=n) for n in itertools.count()
    )
