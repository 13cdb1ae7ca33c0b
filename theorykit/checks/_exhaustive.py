"""A predicate at every member of a finite universe."""

import dataclasses
from collections.abc import Callable, Iterable, Sized
from typing import Any

from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.results import Evidence, Outcome, Verdict, Witness


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exhaustive(Check):
    """`predicate(member)` for every member of a finite universe.

    **Arguments:** `predicate`: returns a truth value; `universe`: an iterable, or a function that
    returns one (so that it can be walked again for the control). The witness is the first member
    that fails: let the universe go from small to large.
    """

    predicate: Callable[[Any], Any]
    universe: Iterable[Any] | Callable[[], Iterable[Any]]

    evidence = Evidence.exhaustive

    def test(self, trial: Trial) -> Outcome:
        """Walk the universe until a member fails."""
        members = self.universe() if callable(self.universe) else self.universe
        total = len(members) if isinstance(members, Sized) else None
        if iter(members) is members and not callable(self.universe):
            raise ClaimError(
                "the universe is an iterator, which can be walked once only; "
                "give a list, or a function that returns an iterable."
            )
        count = 0
        for member in members:
            count += 1
            answer = self.predicate(member)
            if answer is None:
                raise ClaimError(f"the predicate returned None, not a truth value, at {member!r}.")
            if not bool(answer):
                witness = Witness(f"member = {member!r}")
                note = f"Member number {count} fails."
                return Outcome(Verdict.refuted, self.evidence, count, note, witness=witness)
            if total:
                trial.progress(count / total)
        if not count:
            raise ClaimError("the universe is empty, so nothing was checked.")
        return Outcome(Verdict.holds, self.evidence, count)

    def describe(self) -> str:
        """Return how large the universe is, where that is known."""
        size = f"{len(self.universe)} members" if isinstance(self.universe, Sized) else "universe"
        return f"exhaustive: every member of a finite universe ({size})"
