"""A predicate at every member of a finite universe."""

import dataclasses
import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._compile import unsteady
from theorykit.checks._exactness import Exactness
from theorykit.common.arguments import flag, shown
from theorykit.results import (
    Certificate,
    Evidence,
    Outcome,
    Resolution,
    Scope,
    Verdict,
    Witness,
    of_members,
)

LOOKED_AT = 1_000
"""The number of members at which a false neighbour is still evaluated once it has fallen."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exhaustive(Check):
    """`predicate(member)` for every member of a finite universe.

    **Arguments:** `predicate`: returns a truth value; `universe`: an iterable, or a function that
    returns one (so that it can be walked again for the control). The witness is the first member
    that fails: let the universe go from small to large.

    `telling`: says of a member whether it could tell the statement from a false one (a program that
    is not constant, a string that is not a palindrome): where too few can, the claim is
    inconclusive. `whole`: whether the universe is everything that the statement is about, so that a
    certificate covers all of it; else it covers the tested sizes.

    Where members are integers, fractions and text (or objects of the claim's package that are made
    of them), and the predicate works with nothing else, no float is involved and the evidence is
    `certified`. Otherwise the outcome names the line where a float comes in.
    """

    predicate: Callable[[Any], Any]
    universe: Iterable[Any] | Callable[[], Iterable[Any]]
    telling: Callable[[Any], Any] | None = None
    whole: bool = False

    evidence = Evidence.exhaustive
    functions = ("predicate", "telling")
    asked = (("whole", flag),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.universe, Iterable) and not callable(self.universe):
            raise ClaimError(
                f"a universe is an iterable, or a function that returns one, not "
                f"{shown(self.universe)}."
            )
        refuse_blind({"the predicate": self.predicate, "telling": self.telling})

    def test(self, trial: Trial) -> Outcome:
        """Walk the universe until a member fails."""
        members = self.universe() if callable(self.universe) else self.universe
        total = len(members) if isinstance(members, Sized) else None
        if iter(members) is members and not callable(self.universe):
            raise ClaimError(
                "the universe is an iterator, which can be used only once; give a list, or a "
                "function that returns an iterable."
            )
        if trial.is_control:
            return self._neighbour(members)
        exactness = Exactness(predicate=self.predicate)
        with exactness.running():
            found = self._walk(members, total, exactness, trial)
        scope = Scope.whole if self.whole else Scope.sizes
        return certified(found, exactness.reason, "Every member was checked", "member", scope)

    def _walk(
        self, members: Iterable[Any], total: int | None, exactness: Exactness, trial: Trial
    ) -> Outcome:
        count = telling = 0
        for member in members:
            count += 1
            exactness.member(member, count)
            telling += self.telling is not None and bool(self.telling(member))
            if not self._holds(member):
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
        told = None if self.telling is None else telling
        resolution = of_members(0, 0, told, count)
        return Outcome(Verdict.holds, self.evidence, count, resolution=resolution)

    def resolution(self, found: Outcome, fallen: Outcome) -> Resolution | None:
        """Return at how many members the false neighbour falls, and how many could have told."""
        return resolved(found, fallen)

    def _neighbour(self, members: Iterable[Any]) -> Outcome:
        """Return at how many members a false neighbour falls, of the first thousand or more."""
        tried = fell = 0
        for member in members:
            tried += 1
            fell += not self._holds(member)
            if fell and tried >= LOOKED_AT:
                break
        verdict = Verdict.refuted if fell else Verdict.holds
        return Outcome(verdict, cases=tried, resolution=of_members(fell, tried, None, tried))

    def _holds(self, member: Any) -> bool:
        answer = self.predicate(member)
        if answer is None:
            raise ClaimError(f"the predicate returned None, not a truth value, at {member!r}.")
        return bool(answer)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Walk the universe again."""
        return self.test(trial)

    def describe(self) -> str:
        """Return how large the universe is, where that is known."""
        size = f"{len(self.universe)} members" if isinstance(self.universe, Sized) else "universe"
        return f"exhaustive: every member of a finite universe ({size})"


def certified(
    found: Outcome, rounds: str, how: str, one: str = "case", scope: Scope = Scope.sizes
) -> Outcome:
    """Return what was found by checking all members, graded `certified` if nothing rounds.

    **Arguments:** `rounds`: what rounds, "" if nothing does; `how` it was checked, and at how many
    of what.
    """
    if rounds:
        return dataclasses.replace(found, unproved=f"Not certified: {rounds}.")
    how = f"{how}, in integers and fractions only."
    if found.verdict is Verdict.refuted:
        how, scope = f"The {one} fails, computed in integers and fractions only.", Scope.point
    where = f"{found.cases} {one}{'s' * (found.cases != 1)}"
    certificate = Certificate(how=how, where=where, scope=scope)
    return dataclasses.replace(found, evidence=Evidence.certified, certificate=certificate)


def ignores_its_argument(function: Any) -> bool:
    """Whether a Python function, called with one argument, never reads it."""
    given = 0  # arguments that come before it
    while not isinstance(function, types.FunctionType):
        if isinstance(function, functools.partial):
            function, given = function.func, given + len(function.args)
        elif isinstance(function, types.MethodType):
            function, given = function.__func__, given + 1
        elif isinstance(function, functools._lru_cache_wrapper):
            function = function.__wrapped__
        else:  # an object that can be called
            call = vars(type(function)).get("__call__")
            if not isinstance(call, types.FunctionType):
                return False
            function, given = call, given + 1
    code = function.__code__
    named = [*code.co_varnames[: code.co_argcount]]
    if code.co_flags & inspect.CO_VARARGS:
        named.append(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    if not named or {"locals", "vars", "eval", "exec"} & {*code.co_names}:
        return False
    return not _reads(code, named[min(given, len(named) - 1)])


def _reads(code: types.CodeType, name: str) -> bool:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    used = any(name in _read_by(step) for step in dis.get_instructions(code))
    return used or any(name in c.co_freevars for c in inner)


def _read_by(step: dis.Instruction) -> tuple[Any, ...]:
    """Return the names that an instruction reads; from Python 3.13 on, one may read or set two."""
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    if step.opname == "STORE_FAST_LOAD_FAST":
        return names[1:]
    return () if step.opname.startswith(("DELETE", "STORE", "MAKE_CELL")) else names


def refuse_blind(functions: Mapping[str, Callable[..., Any] | None]) -> None:
    """Raise a `ClaimError` for a function that never reads its argument."""
    for name, function in functions.items():
        if function is not None and ignores_its_argument(function):
            raise ClaimError(
                f"{name} ignores its argument, so it says the same of every member; make it "
                "depend on its argument."
            )


def resolved(found: Outcome, fallen: Outcome) -> Resolution | None:
    """Return the resolution of a check that counts, given where its control falls."""
    own, other = found.resolution, fallen.resolution
    if own is None or other is None:
        return own
    return dataclasses.replace(own, value=other.value, of=other.of)
