"""Training lengths: what the theorems ask for, and what is really needed, by search."""

import dataclasses

import numpy as np

from theorykit.predict._task import Asked
from theorykit.subjects import crasp, limit, simulation

EPS = 0.1
"""How nearly two scores agree."""

BEYOND = 2
"""How many operations more than the task's program the rivals may have."""

MOST, EXPRESSIONS = 7, 3 * 10**7
"""Operations of rivals, and expressions that are compared, at most."""

FAR = (64, 32, 16, 8)
"""Lengths up to which a pair is compared, the first that can be afforded."""


@dataclasses.dataclass(frozen=True)
class Lengths:
    """Training lengths of a task with a program.

    **Fields:**

    - `needed`: what tells the task from all small programs, by search.
    - `asked`: Theorem 4.1's length for scores like the program's, or None where it is not of its
      kind; `why_not`: why it is not.
    - `pair`: the length that the pair of the score and a rival's needs, by search; `pair_longest`:
      up to which length it was looked for; `rival`: in words.
    """

    needed: crasp.Needed
    asked: float | None = None
    printed: float | None = None
    why_not: str = ""
    pair: int | None = None
    pair_longest: int = 0
    rival: str = ""


def lengths(task: Asked, found: crasp.Found, seed: int) -> Lengths:
    """Return the training lengths of a task for which a program was found."""
    assert found.program is not None
    most = min(max(part.operations or 0 for part in found.parts) + BEYOND, MOST)
    needed = crasp.needed(task.task, found.fragment, most=most, alphabet=task.alphabet,
                          expressions=EXPRESSIONS, seed=seed)  # fmt: skip
    if len(found.parts) > 1:
        return Lengths(needed, why_not="the task has several outputs, each with its own program")
    try:
        f = crasp.score(found.program)
        bound = simulation.training_length(f, f, EPS)
    except ValueError as error:
        return Lengths(needed, why_not=str(error))
    g, rival = _rival(needed, f)
    known = Lengths(needed, bound.length, bound.printed, rival=rival)
    for longest in FAR:
        try:
            pair = simulation.needed_length(f, g, EPS, longest)
        except ValueError:  # too many cases
            continue
        return dataclasses.replace(known, pair=pair.length, pair_longest=longest)
    return known


def _rival(needed: crasp.Needed, f: limit.Transformer) -> tuple[limit.Transformer, str]:
    """Return the score of the last program to fall, or that which is always 0."""
    try:
        if needed.rival is not None:
            return crasp.score(needed.rival), "the score of the last small program to fail"
    except ValueError:  # it is of another kind
        pass
    return dataclasses.replace(f, U=np.zeros_like(f.U)), "the score that is always 0"
