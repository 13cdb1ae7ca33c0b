"""The task families of the template paper: tuples of labelled templates.

Labels are +1 and -1, the number of an answer, or the symbol to predict.
"""

import itertools
from collections.abc import Iterator, Sequence

from theorykit.common.arguments import affordable, instance, whole
from theorykit.subjects.templates._template import WILDCARDS, Label, Template, disjoint, templates

Templates = tuple[Template, ...]


MOST = 2**20
"""The most templates in a family."""


def same_different() -> Templates:
    """Return αα versus αβ, section 1.1."""
    return templates("αα -> +1", "αβ -> -1")


def programs() -> Templates:
    """Return the two programs of Fig. 2, which print one of two numeric variables."""
    body = "α [=1;] β [=-1;] [print(] {} [)]"
    return templates(f"{body.format('α')} -> +1", f"{body.format('β')} -> -1")


def symbol_programs() -> Templates:
    """Return the two programs of Fig. 3, whose output is a symbol."""
    body = 'α [="] γ [";] β [="] δ [";] [print(] {} [)]'
    return templates(f"{body.format('α')} -> γ", f"{body.format('β')} -> δ")


def copying() -> Templates:
    """Return the copying task of section 4: α with the label α."""
    return templates("α -> α")


def aba_abb() -> Templates:
    """Return αβα versus αββ, appendix B."""
    return templates("αβα -> +1", "αββ -> -1")


def abab_aabb() -> Templates:
    """Return αβαβ versus ααββ, appendix B."""
    return templates("αβαβ -> +1", "ααββ -> -1")


def majority(k: int) -> Templates:
    """Return the length-k majority task, 2^(k-1) templates that begin with α, appendix B.

    The label is +1 if α occurs more than (k + 1) / 2 times, so that the first token has the
    majority among the others.
    """
    k = _length(k)
    affordable("all strings that begin with α", 2 ** (min(k, 99) - 1), MOST, "templates")
    words = itertools.product("αβ", repeat=k - 1)
    label = lambda w: 1.0 if 2 * (1 + w.count("α")) > k + 1 else -1.0
    return tuple(Template(("α", *w), label(w)) for w in words)


def majority_token(k: int) -> Templates:
    """Return the task of section 1.1: predict the majority of k tokens.

    **Raises:** `ValueError` for an even length, where ties occur.
    """
    k = _length(k)
    if not k % 2:
        raise ValueError(f"a string of length {k} may have no majority; use an odd length.")
    affordable("all strings", 2 ** min(k, 99), MOST, "templates")
    words = itertools.product("αβ", repeat=k)
    return tuple(Template(w, "α") for w in words if 2 * w.count("α") > k)


def random_templates(
    count: int,
    length: int,
    *,
    wildcards: int = 2,
    tokens: int = 0,
    labels: Sequence[Label] | None = None,
    seed: int = 0,
) -> Templates:
    """Return templates drawn uniformly, conditioned on being pairwise disjoint, appendix B.

    The paper says "distinct", but αβ and βα are distinct and match the same strings.

    **Arguments:** `wildcards`, `tokens`: the sizes of the two alphabets; `labels`: Gaussian if not
    given, centred and scaled so that predicting 0 has squared error 1.

    **Raises:** `ValueError` if there are too few disjoint templates, for alphabets that are empty
    or larger than the Greek and the Latin one, or for a wrong number of labels.
    """
    import numpy as np

    length, seed = _length(length), whole("seed", seed, 0)
    count, sizes = whole("count", count), {"wildcards": wildcards, "tokens": tokens}
    wildcards, tokens = (whole(name, size, 0) for name, size in sizes.items())
    if wildcards > len(WILDCARDS) or tokens > 26 or not wildcards + tokens:
        raise ValueError(
            f"templates have at most {len(WILDCARDS)} wildcards and 26 tokens, and at least one "
            f"symbol, not {wildcards} and {tokens}."
        )
    if labels is not None:
        instance("labels", labels, (tuple, list), "None or a list with one label per template")
    affordable("random templates", 1000 * count * length, 10**9, "symbols")
    if labels is not None and len(labels) != count:
        raise ValueError(f"{count} templates have {count} labels, not {len(labels)}.")
    rng = np.random.default_rng(seed)
    alphabet = [*WILDCARDS[:wildcards], *"abcdefghijklmnopqrstuvwxyz"[:tokens]]
    found: list[tuple[str, ...]] = []
    for _ in range(1000 * count):
        z = tuple(rng.choice(alphabet, length).tolist())
        if all(disjoint(z, other) for other in found):
            found.append(z)
        if len(found) == count:
            break
    else:
        raise ValueError(
            f"there are no {count} pairwise disjoint templates of length {length} over "
            f"{wildcards} wildcards and {tokens} tokens, or they are too rare to be drawn."
        )
    if labels is None:
        drawn = rng.standard_normal(count)
        drawn = drawn - drawn.mean() * (count > 1)
        labels = (drawn / np.sqrt((drawn**2).mean())).tolist()
    return tuple(Template(z, label) for z, label in zip(found, labels, strict=True))


def distribution_of_three() -> Templates:
    """Return the 144 templates of Fig. 1 (a): αβγ, a permutation with its last hidden, 4 answers.

    The label is the number of the answer, 1 to 4, that completes the second row.
    """
    found = []
    for row in itertools.permutations("αβγ"):
        for answers in itertools.permutations("αβγε"):
            z = (*"αβγ", *row[:2], "□", *answers)
            found.append(Template(z, 1.0 + answers.index(row[2])))
    return tuple(found)


def patterns(length: int, letters: str = WILDCARDS) -> Iterator[tuple[str, ...]]:
    """Yield each pattern of repetitions of a given length once: αα and αβ for length 2."""

    def grow(z: tuple[str, ...], used: int) -> Iterator[tuple[str, ...]]:
        if len(z) == length:
            yield z
            return
        for i in range(used + 1):
            yield from grow((*z, letters[i]), max(used, i + 1))

    yield from grow((), 0)


def match_to_sample() -> Templates:
    """Return the 40 templates of Fig. 1 (b): a pattern and two candidates, one of which matches it.

    The label is the number of the matching one, 1 or 2.
    """
    found = []
    for sample in patterns(3, "αβγ"):
        like = lambda z, letters: tuple(letters["αβγ".index(c)] for c in z)
        for other in patterns(3, "αβγ"):
            if other == sample:
                continue
            for right in (1, 2):
                first, second = (sample, other) if right == 1 else (other, sample)
                z = (*sample, *like(first, "δεζ"), *like(second, "ητκ"))
                found.append(Template(z, float(right)))
    return tuple(found)


def raven() -> Templates:
    """Return the 37 templates of one dimension of Fig. 1 (c): predict the last of three rows.

    Rows are permutations of one another, or each row is constant.
    """
    found = []
    for second in itertools.permutations("αβγ"):
        for third in itertools.permutations("αβγ"):
            found.append(Template((*"αβγ", *second, *third[:2], "?"), third[2]))
    return (*found, *templates("αααβββγγ? -> γ"))


def _length(k: int) -> int:
    return whole("the length of a template", k)
