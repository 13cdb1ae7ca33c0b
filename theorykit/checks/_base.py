"""What every check has: a control, a test under a budget, and a line that describes it."""

import abc
import dataclasses
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, TypeVar

import jax
import numpy as np

from theorykit.common.arguments import shown
from theorykit.common.keys import generator
from theorykit.common.spelling import Spelt
from theorykit.results import Evidence, Outcome, Resolution

T = TypeVar("T")


@dataclasses.dataclass
class Trial:
    """One test of one check: its randomness, what it has compiled, and where progress goes.

    **Fields:** `key`, the only source of randomness; `is_control`, whether only a refutation is
    wanted (nothing is then shrunk or maximised further); `memory`, kept between a check and its
    control, so that what they share is compiled once; `progress`, called with the share done and,
    for a check that counts, how many are done; `seed`, that of the run, for what several claims
    share; `unheard` opens a scope in which the claim's functions, all called before, are not noted
    again.
    """

    key: jax.Array
    is_control: bool = False
    memory: dict[Hashable, Any] = dataclasses.field(default_factory=dict)
    progress: Callable[[float], None] = lambda share: None
    seed: int = 0
    unheard: Callable[[], AbstractContextManager[None]] = lambda: nullcontext()

    def rng(self, *path: int) -> np.random.Generator:
        """Return a numpy generator that depends on the key and the path only."""
        return generator(self.key, *path)

    def remember(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for this key before, or make it."""
        if what not in self.memory:
            self.memory[what] = make()
        return self.memory[what]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check(Spelt, abc.ABC):
    """A way to try a claim.

    **Arguments:** `control`: the fields to replace to get the false neighbour, which the same
    check under the same budget must refute: `dict(rhs=lambda S: 2 * weight(S))`.
    """

    control: Any = None

    controls: ClassVar[Any] = Mapping | None
    """What the control may be."""

    evidence: ClassVar[Evidence]

    name: ClassVar[str] = ""
    """What it is called in sentences; by default the name of the class, in lower case."""

    untraced: ClassVar[str] = ""
    """The option, as it is written, that allows functions JAX cannot trace; "" if there is none."""

    functions: ClassVar[tuple[str, ...]] = ()
    """Fields that are functions, or None where that is the default."""

    asked: ClassVar[tuple[tuple[str, Callable[[str, Any], Any]], ...]] = ()
    """Fields that are numbers, or True or False, and what looks at the value of each."""

    alternatives: ClassVar[tuple[str, ...]] = ()
    """Fields of which a check has exactly one: a control that names one drops the other."""

    def __post_init__(self) -> None:
        """Refuse an invalid control, and a field of the wrong kind."""
        if not isinstance(self.control, self.controls):
            raise ClaimError(
                "a control is a dict of the fields that it replaces, as in control=dict(rhs=...), "
                f"not {shown(self.control)}."
            )
        for name in self.functions:
            value = getattr(self, name)
            left_out = value is None and getattr(type(self), name, name) is None
            if not (callable(value) or left_out):
                raise ClaimError(f"{name} is a function, not {shown(value)}.")
        for name, look in self.asked:
            look(name, getattr(self, name))

    @abc.abstractmethod
    def test(self, trial: Trial) -> Outcome:
        """Try the claim; called in a float64 scope."""

    def proof_alone(self, trial: Trial) -> Outcome | None:
        """Run only the part that certifies the evidence; None where the check has no such part."""
        return None

    def enclosed_at(self, point: Mapping[str, Any], bits: int) -> tuple[Any, Any]:
        """Return both sides at a point as `certify.Balls`, where a check has two sides.

        **Raises:** `ValueError` for a point that does not fit, or a check without sides;
        `certify.NotCertifiable` if the sides cannot be enclosed.
        """
        raise ValueError("only an identity or an inequality has two sides to enclose at a point.")

    def fallen(self, found: Outcome, trial: Trial) -> Outcome | None:
        """Return the outcome of the control, None where there is none.

        **Arguments:** `found`: what the check itself found.
        """
        false = self.controlled()
        return None if false is None else false.test(trial)

    def resolution(self, found: Outcome, fallen: Outcome) -> Resolution | None:
        """Return how small a change of the statement would have been noticed; None: not known.

        **Arguments:** what the check found, and what its control did.
        """
        return found.resolution

    @abc.abstractmethod
    def describe(self) -> str:
        """Return one line: what is tried, where, and under which budget."""

    def tried(self) -> str:
        """Return one line: what is tried, and what the control replaces in it."""
        given = isinstance(self.control, Mapping)
        control = ", ".join(self.control) if given else str(self.control or "none")
        return f"{self.describe()}; the control replaces {control}"

    def controlled(self) -> "Check | None":
        """Return the false neighbour, or None where there is no control.

        **Raises:** `ValueError` if the control names something that this check does not have.
        """
        if not isinstance(self.control, Mapping):
            return None
        fields = {f.name for f in dataclasses.fields(self)} - {"control"}
        unknown = set(self.control) - fields
        if unknown or not self.control:
            raise ValueError(
                f"a control replaces fields of its check ({', '.join(sorted(fields))}); "
                f"it cannot replace {', '.join(sorted(unknown)) or 'nothing'}."
            )
        same = [
            name for name, value in self.control.items() if _is_same(value, getattr(self, name))
        ]
        if len(same) == len(self.control):
            raise ClaimError(
                f"the control leaves {', '.join(same)} as it is, so it is the claim; give a "
                "false neighbour."
            )
        control = {**self.control, "control": None}
        if any(name in control for name in self.alternatives):
            control = {**dict.fromkeys(self.alternatives), **control}
        try:
            return dataclasses.replace(self, **control)
        except ClaimError as error:
            raise ClaimError(f"in the control, {error}") from None

    def chosen(self) -> str:
        """Return the name of the alternative that is given.

        **Raises:** `ValueError` unless it is exactly one.
        """
        given = [name for name in self.alternatives if getattr(self, name) is not None]
        if len(given) != 1:
            *others, last = self.alternatives
            called = self.name or type(self).__name__.lower()
            raise ValueError(
                f"{'an' if called[0] in 'aeiou' else 'a'} {called} needs exactly one of "
                f"{', '.join(others)} and {last}."
            )
        return given[0]


def _is_same(one: Any, other: Any) -> bool:
    try:
        return one is other or (not callable(one) and bool(one == other))
    except (TypeError, ValueError):  # of arrays, say, which have no one truth value
        return bool(np.array_equal(np.asarray(one), np.asarray(other)))


class ClaimError(ValueError):
    """A claim that cannot be tested as it is written; one sentence says why."""
