"""Where claims are kept as they are declared."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from theorykit.claims._claim import TIERS, Claim
from theorykit.common.arguments import one_of
from theorykit.common.spelling import spelt
from theorykit.results import Falls, Verdict

if TYPE_CHECKING:
    from theorykit.checks import Check


class ClashingIds(ValueError):
    """Two claims have one id."""


def clash(one: Claim, other: Claim) -> ClashingIds:
    """Return the error for two claims with one id."""
    return ClashingIds(
        f"two claims have the id {one.id}: {one.place} and {other.place}; rename one."
    )


def by_id(claims: Iterable[Claim]) -> dict[str, Claim]:
    """Return claims by their ids, ordered by id.

    **Raises:** `ClashingIds` if two of them, not written in one place, have the same.
    """
    found: dict[str, Claim] = {}
    for claim in claims:
        known = found.setdefault(claim.id, claim)
        if known.place != claim.place:
            raise clash(known, claim)
    return dict(sorted(found.items()))


class Registry:
    """Claims by file and id, in the order in which they were declared.

    Two files may have claims with one id: the clash is reported when both are run at once.
    """

    def __init__(self) -> None:
        self._claims: dict[tuple[Path | None, str], Claim] = {}

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def add(self, claim: Claim) -> None:
        """Add a claim, or put it in the place of the one that the same line declared before.

        One that is in no file, as in the cell of a notebook, takes the place of the one before.

        **Raises:** `ClashingIds` if another line of its file has its id.
        """
        where = claim.file if claim.file.is_file() else None
        known = self._claims.get((where, claim.id))
        # A module that is imported again registers the same place again.
        if known is not None and where is not None and known.place != claim.place:
            raise clash(known, claim)
        self._claims[where, claim.id] = claim

    def declared_in(self, file: Path) -> list[Claim]:
        """Return the claims that are written in a file, given by its resolved path."""
        return [c for c in self if c.file == file]

    def forget(self, file: Path) -> None:
        """Drop the claims that are written in a file."""
        for claim in self.declared_in(file):
            del self._claims[file, claim.id]


def _needed(parameter: inspect.Parameter) -> bool:
    several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not several


REGISTRY = Registry()
"""The registry that `@claim` writes to: the one place that knows what was declared."""


@spelt
def claim(
    id: str,
    *,
    ref: str = "",
    statement: str = "",
    assumptions: Iterable[str] = (),
    expect: str = "holds",
    tier: str = "fast",
    paper: str | None = None,
    repairs: str | None = None,
    falls: str | None = None,
    consequence: str = "",
    unrepaired: str = "",
    mathematics: bool = False,
) -> Callable[[Callable[[], "Check"]], Claim]:
    r"""Register a claim; decorates a function without arguments that returns its check.

    The function's docstring is the statement in words. It runs inside a float64 scope, and only
    when the claim does.

    **Arguments:** `id`: its first part names the paper unless `paper` does; `<id>.repaired`
    repairs `<id>` unless `repairs` says otherwise; `expect`: the recorded verdict, "holds",
    "refuted" or "inconclusive"; `tier`: "fast" or "slow". Of a claim that is expected to be
    refuted: `falls`, what falls: the "statement", its "proof", its "wording" or a "reading" of it;
    `consequence`, a sentence that says what this means for the paper, with which its author should
    be able to agree; `unrepaired`, why no repair is known, if there is none. `mathematics`: whether
    the statement is about mathematics alone, so that its check need not run anything that this
    project implements.

    **Raises:** `ValueError` if another claim has this id, or for an unknown `expect`, `tier`,
    `falls` or `mathematics`.
    """
    if not isinstance(id, str) or not id:
        raise ValueError(f"a claim's id is a string, as in @claim('my.lemma'), not {id!r}.")
    if re.search(r"[\s*?\[\]]|\.py$", id):
        raise ValueError(
            f"a claim's id has no spaces, *, ? or brackets, and does not end in .py, since it is "
            f"also a pattern on the command line: 'my.lemma', not {id!r}."
        )
    one_of(f"claim {id}: expect", expect, ("holds", "refuted", "inconclusive"))
    one_of(f"claim {id}: tier", tier, TIERS)
    one_of(f"claim {id}: falls", falls, (*map(str, Falls), None))
    if expect != "refuted" and (falls or consequence or unrepaired):
        raise ValueError(
            f"claim {id}: falls, consequence and unrepaired are for a claim that is expected to be "
            f"refuted; this one is expected to be {expect!r}."
        )
    if not isinstance(mathematics, bool):
        raise ValueError(f"claim {id}: mathematics is True or False, not {mathematics!r}.")
    if isinstance(assumptions, str):
        assumptions = (assumptions,)
    if repairs is None and id.endswith(".repaired"):
        repairs = id.removesuffix(".repaired")

    def register(build: Callable[[], "Check"]) -> Claim:
        if not hasattr(build, "__code__"):
            raise ValueError(f"claim {id} decorates {build!r}, which is not a function.")
        wanted = [p.name for p in inspect.signature(build).parameters.values() if _needed(p)]
        if wanted:
            raise ValueError(
                f"claim {id} decorates {build.__name__}({', '.join(wanted)}), but such a function "
                "takes no arguments: it returns a check, and over=inputs(...) names what varies."
            )
        made = Claim(
            id=id,
            paper=id.split(".")[0] if paper is None else paper,
            ref=ref,
            statement=statement,
            assumptions=tuple(assumptions),
            expect=Verdict(expect),
            tier=tier,
            words=" ".join((build.__doc__ or "").split()),
            repairs=repairs,
            falls=None if falls is None else Falls(falls),
            consequence=consequence,
            unrepaired=unrepaired,
            mathematics=mathematics,
            build=build,
        )
        REGISTRY.add(made)
        return made

    return register
