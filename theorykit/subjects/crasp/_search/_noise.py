"""Noisy labels: programs of increasing size with fewer and fewer errors."""

from theorykit.subjects.crasp._search import _write
from theorykit.subjects.crasp._search._asked import Labelled
from theorykit.subjects.crasp._search._bank import ClashError
from theorykit.subjects.crasp._search._found import Found, Part, Traded
from theorykit.subjects.crasp._search._fragment import Fragment
from theorykit.subjects.crasp._search._maker import level
from theorykit.subjects.crasp._search._sample import Sample
from theorykit.subjects.crasp._search._seek import Tally
from theorykit.subjects.crasp._search._space import Space, negated

NODES = 4096
"""The most prefixes of all labelled strings together."""


def noisy(asked: Labelled, fragment: Fragment, most: int, agree: float) -> Found:
    """Return the smallest program that gets a share of the labels right, and larger ones."""
    sample = Sample(asked.strings)
    if sample.size > NODES:
        raise ValueError(
            f"the labelled strings have {sample.size:,} prefixes, which is too many to search with "
            f"errors; give strings with at most {NODES:,}."
        )
    yes, no = ([counts.get(s, 0) for s in sample.strings] for counts in (asked.yes, asked.no))
    total, seed = sum(yes) + sum(no), 0
    while True:
        space, tally = Space(fragment, asked.alphabet, sample, most, seed), Tally(sample, yes, no)
        try:
            traded, done = _traded(space, tally, most)
            break
        except ClashError:
            seed += 1
    part = Part("L", None, None, done)
    enough = [t for t in traded if t.errors <= (1 - agree) * total + 1e-9]
    if enough:
        part = Part("L", enough[0].program, enough[0].operations, enough[0].operations - 1)
    return Found(
        name=asked.name,
        fragment=fragment,
        parts=(part,),
        program=part.program,
        compared=space.compared,
        distinct=len(space.booleans) + len(space.counts),
        tried=f"{total - enough[0].errors if enough else 0:,} of {total:,} labels",
        strings=sample.strings,
        traded=tuple(traded),
    )


def _traded(space: Space, tally: Tally, most: int) -> tuple[list[Traded], int]:
    """Return one program for each size that reduces the errors, and the last size."""
    traded = list[Traded]()
    for size in range(most + 1):
        if space.too_large(size):
            return traded, size - 1
        before = tally.errors
        level(space, size, tally.see, keep=size < most)
        if tally.errors < before and tally.made is not None:
            e = space.written(tally.made)
            e = negated(e) if tally.negate else e
            program = _write.program(space.alphabet, {"L": e})
            traded.append(Traded(program, size, tally.errors))
        if tally.errors == tally.floor:
            return traded, most  # no program of any size has fewer errors
    return traded, most
