"""A predicate at every member of a finite universe."""

import dataclasses
from collections.abc import Callable, Iterable, Sized
from typing import Any

from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._compile import unsteady
from theorykit.checks._exactness import Exactness
from theorykit.results import Certificate, Evidence, Outcome, Verdict, Witness


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exhaustive(Check):
    """`predicate(member)` for every member of a finite universe.

    **Arguments:** `predicate`: returns a truth value; `universe`: an iterable, or a function that
    returns one (so that it can be walked again for the control). The witness is the first member
    that fails: let the universe go from small to large.

    Where members are integers, fractions and text (or objects of the claim's package that are made
    of them), and the predicate works with nothing else, no float is involved and the evidence is
    `certified`. Otherwise the outcome says in which line a float comes in.
    """

    predicate: Callable[[Any], Any]
    universe: Iterable[Any] | Callable[[], Iterable[Any]]

    evidence = Evidence.exhaustive
    functions = ("predicate",)

    def test(self, trial: Trial) -> Outcome:
        """Walk the universe until a member fails."""
        members = self.universe() if callable(self.universe) else self.universe
        total = len(members) if isinstance(members, Sized) else None
        if iter(members) is members and not callable(self.universe):
            raise ClaimError(
                "the universe is an iterator, which can be walked once only; "
                "give a list, or a function that returns an iterable."
            )
        exactness = Exactness(self.predicate)
        with exactness.running():
            found = self._walk(members, total, exactness, trial)
        return _graded(found, exactness.reason)

    def _walk(
        self, members: Iterable[Any], total: int | None, exactness: Exactness, trial: Trial
    ) -> Outcome:
        count = 0
        for member in members:
            count += 1
            exactness.member(member, count)
            answer = self.predicate(member)
            if answer is None:
                raise ClaimError(f"the predicate returned None, not a truth value, at {member!r}.")
            if not bool(answer):
                if bool(self.predicate(member)):
                    how = f"at {member!r} it was False, then True"
                    raise ClaimError(unsteady("the predicate", how))
                witness = Witness(f"member = {member!r}")
                note = f"Member number {count} fails."
                return Outcome(Verdict.refuted, self.evidence, count, note, witness=witness)
            if total:
                trial.progress(count / total)
        if not count:
            raise ClaimError("the universe is empty, so nothing was checked.")
        return Outcome(Verdict.holds, self.evidence, count)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Walk the universe again."""
        return self.test(trial)

    def describe(self) -> str:
        """Return how large the universe is, where that is known."""
        size = f"{len(self.universe)} members" if isinstance(self.universe, Sized) else "universe"
        return f"exhaustive: every member of a finite universe ({size})"


def _graded(found: Outcome, rounds: str) -> Outcome:
    """Return the outcome graded `certified` if nothing in it rounds."""
    if rounds:
        return dataclasses.replace(found, unproved=f"Not certified: {rounds}.")
    how = "Every member was looked at, in integers and fractions only."
    if found.verdict == Verdict.refuted:
        how = "The member fails in integers and fractions only."
    where = f"{found.cases} members"
    return dataclasses.replace(
        found, evidence=Evidence.certified, certificate=Certificate(how=how, where=where)
    )
