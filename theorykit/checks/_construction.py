"""An object that is built and the property it must have."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from theorykit.checks._base import Check, ClaimError, Trial
from theorykit.checks._compile import unsteady
from theorykit.checks._exactness import Exactness
from theorykit.checks._exhaustive import certified, refuse_blind, resolved
from theorykit.common.arguments import flag, shown
from theorykit.results import Evidence, Outcome, Resolution, Verdict, Witness, of_members

LOOKED_AT = 100
"""The number of cases for which a false neighbour is still built once it has fallen."""

Property = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Construction(Check):
    """`has(build())`, or `has(build(case))` for every case.

    **Arguments:**

    - `build`: returns the object; takes a case if there are `cases`.
    - `has`: its property, a function to a truth value, or several with names: the first that
      fails is named.
    - `cases`: what to build it for, from small to large; `complete`: whether these are all the
      cases of the statement at the tested sizes, none of them drawn (the evidence is then
      `exhaustive`). Without cases there is one object, and it is complete.
    - `telling`: says whether a built object could tell the statement from a false one, as for
      `exhaustive`.

    Where every case was looked at, and `build` and `has` work with integers, fractions and text
    only, no float is involved and the evidence is `certified`. Otherwise the outcome says why not.
    """

    build: Callable[..., Any]
    has: Property | Mapping[str, Property]
    cases: Sequence[Any] | None = None
    complete: bool = False
    telling: Property | None = None

    evidence = Evidence.sampled
    functions = ("build", "telling")
    asked = (("complete", flag),)

    def __post_init__(self) -> None:
        super().__post_init__()
        properties = self.has.values() if isinstance(self.has, Mapping) else [self.has]
        if not properties or not all(map(callable, properties)):
            raise ClaimError(
                "has is a function that returns a truth value, or a dict of such functions by "
                f"name, not {shown(self.has)}."
            )
        named = self.has if isinstance(self.has, Mapping) else {"": self.has}
        blind = {f"property {name!r}" if name else "has": has for name, has in named.items()}
        refuse_blind({**blind, "telling": self.telling})
        if self.cases is not None and not isinstance(self.cases, Sequence):
            raise ClaimError(f"cases are a list, tuple or range, not {shown(self.cases)}.")

    def test(self, trial: Trial) -> Outcome:
        """Build and test, case by case."""
        properties = self.has if isinstance(self.has, Mapping) else {"": self.has}
        everything = self.complete or self.cases is None
        grade = Evidence.exhaustive if everything else Evidence.sampled
        cases: Sequence[Any] = [None] if self.cases is None else self.cases
        if not cases:
            raise ClaimError("there is no case to build for, so nothing was checked.")
        if trial.is_control:
            return self._neighbour(cases, properties)
        named = {f"property {name}".rstrip(): has for name, has in properties.items()}
        exactness = Exactness(construction=self.build, **named)
        with exactness.running():
            found = self._walk(cases, properties, grade, exactness, trial)
        if found.verdict is Verdict.holds and not everything:
            sample = "what is built is a sample of what the statement is about"
            return dataclasses.replace(found, unproved=f"Not certified: {sample}.")
        return certified(found, exactness.reason, "Everything that was built was checked")

    def _walk(
        self,
        cases: Sequence[Any],
        properties: Mapping[str, Property],
        grade: Evidence,
        exactness: Exactness,
        trial: Trial,
    ) -> Outcome:
        telling = 0
        for number, case in enumerate(cases, 1):
            exactness.member(case, number, "case")
            built = self._built(case)
            telling += self.telling is not None and bool(self.telling(built))
            for name, holds in properties.items():
                if not _holds(name, holds, built):
                    if bool(holds(self._built(case))):
                        how = f"{f'case {case!r}' if self.cases is not None else 'it'} failed once"
                        how += ", but not when it was built again"
                        raise ClaimError(unsteady("the construction", how))
                    what = f"property {name!r}" if name else "property"
                    code = "" if self.cases is None else f"case = {case!r}\n"
                    witness = Witness(f"{code}# built: {built!r}")
                    note = f"The {what} fails."
                    return Outcome(Verdict.refuted, grade, number, note, witness=witness)
            trial.progress(number / len(cases))
        told = None if self.telling is None else telling
        resolution = of_members(0, 0, told, len(cases))
        return Outcome(Verdict.holds, grade, len(cases), resolution=resolution)

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Build everything again."""
        return self.test(trial)

    def resolution(self, found: Outcome, fallen: Outcome) -> Resolution | None:
        """Return for how many cases the false neighbour falls, and how many could have told."""
        return resolved(found, fallen)

    def _neighbour(self, cases: Sequence[Any], properties: Mapping[str, Property]) -> Outcome:
        """Return for how many cases a false neighbour falls, of the first hundred or more."""
        tried = fell = 0
        for case in cases:
            tried += 1
            built = self._built(case)
            fell += not all(_holds(name, holds, built) for name, holds in properties.items())
            if fell and tried >= LOOKED_AT:
                break
        verdict = Verdict.refuted if fell else Verdict.holds
        return Outcome(verdict, cases=tried, resolution=of_members(fell, tried, None, tried))

    def _built(self, case: Any) -> Any:
        return self.build() if self.cases is None else self.build(case)

    def describe(self) -> str:
        """Return how many objects are built."""
        return f"construction: {'one object' if self.cases is None else f'{len(self.cases)} cases'}"


def _holds(name: str, holds: Property, built: Any) -> bool:
    answer = holds(built)
    if answer is None:
        raise ClaimError(f"the property {name} returned None, not a truth value.")
    return bool(answer)
