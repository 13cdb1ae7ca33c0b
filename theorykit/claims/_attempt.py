"""How a claim is run: its check, then its control, and what the two say together."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorykit.claims._ran import Recording
from theorykit.common.errors import explain
from theorykit.common.memory import exhausted
from theorykit.results import Outcome, Resolution, Scope, Verdict

if TYPE_CHECKING:
    from theorykit.checks import Check

Progress = Callable[[float], None]
"""Called with the share of a claim's run that is done, from 0 to 1."""


@dataclasses.dataclass(frozen=True)
class Attempt:
    """The result of an attempt to break a claim.

    **Fields:** `outcome` of its check; `fallen`, that of its control, None if it has none or the
    check failed before; `tried`, one line that says what was tried; `failed`, why the control could
    not be tried; `resolution`, how small a change of the statement the two would have noticed;
    `ran`, the project's public functions that the check ran.
    """

    outcome: Outcome
    fallen: Outcome | None = None
    tried: str = ""
    failed: str = ""
    resolution: Resolution | None = None
    ran: tuple[str, ...] = ()

    @property
    def control(self) -> Verdict | None:
        """The verdict of the control, None if there is none."""
        return None if self.fallen is None else self.fallen.verdict

    def resolved(self) -> Outcome:
        """Return the outcome with its resolution, which only a claim that holds has."""
        holds = self.outcome.verdict == Verdict.holds
        return dataclasses.replace(self.outcome, resolution=self.resolution if holds else None)

    def weighed(self) -> tuple[Verdict, str]:
        """Return the claim's verdict and a note.

        It holds only if its control was refuted, and if the check would have noticed a change of
        the statement small enough for the verdict to say something. A proof of the whole statement
        always does.
        """
        found, control = self.outcome, self.control
        if self.failed:
            said = f"The control could not be tried: {self.failed}. {found.note}".strip()
            return (Verdict.error if found.verdict == Verdict.holds else found.verdict), said
        if found.verdict != Verdict.holds:
            return found.verdict, found.note
        certificate, resolution = found.certificate, self.resolution
        whole = certificate is not None and certificate.scope is Scope.whole
        if control == Verdict.refuted and resolution is not None and resolution.poor and not whole:
            return Verdict.inconclusive, f"{resolution.poor} {found.note}".strip()
        if control == Verdict.refuted:
            return found.verdict, found.note
        if control is None:
            why = (
                "There is no control, so nothing shows that the check could have failed; "
                "give it a control, a false neighbour, as in control=dict(rhs=...)."
            )
        else:
            why = (
                f"The control was not refuted ({control}), so nothing shows that this check "
                "can find what is false; if the control is true, choose one that is clearly false."
            )
        return Verdict.inconclusive, f"{why} {found.note}".strip()


def attempt(
    id: str, build: Callable[[], "Check"], place: str, seed: int, progress: Progress, home: str = ""
) -> Attempt:
    """Try to break a claim, then its control.

    Random numbers depend on `id` and `seed` only. Whatever goes wrong inside is an outcome with the
    verdict `error`, whose note names a line of the claim's file, or `place`, where it is written
    (file:line). What was found before a control fails is kept. `home` is the top-level package of
    another distribution that the claim belongs to: its functions count as the project's.
    """
    import jax

    from theorykit.checks import Trial

    fallen: Outcome | None = None
    resolution: Resolution | None = None
    tried = failed = untraced = ""
    file, line = place.rsplit(":", 1)

    def said(error: BaseException) -> str:
        own = f"{Path(file).name}:{line}"
        return explain(error, Path(file).resolve(), place=own, untraced=untraced)

    recording = Recording(home)
    with float64():
        try:
            with recording:
                check = _checked(id, build())
            tried, untraced = check.tried(), check.untraced
            check.controlled()  # so that an invalid control is refused before anything is tried
            key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), stable_hash(id))
            memory: dict = {}
            first = lambda share: progress(0.7 * share)
            second = lambda share: progress(0.7 + 0.3 * share)
            trial = Trial(jax.random.fold_in(key, 0), False, memory, first, seed, recording.paused)
            with recording:
                outcome = check.test(trial)
        # A claim that calls sys.exit must not end the run, least of all with exit code 0.
        except (Exception, SystemExit) as error:
            if exhausted(error):  # it is tried again, in a process that holds nothing yet
                raise MemoryError(said(error)) from error
            outcome = Outcome(Verdict.error, note=said(error))
            return Attempt(outcome, None, tried, ran=recording.names)
        if check.control is not None:
            trial = Trial(jax.random.fold_in(key, 1), True, memory, second, seed)
            try:
                fallen = check.fallen(outcome, trial)
                resolution = None if fallen is None else check.resolution(outcome, fallen)
            except (Exception, SystemExit) as error:
                fallen, failed = Outcome(Verdict.error), said(error)
    return Attempt(outcome, fallen, tried, failed, resolution, recording.names)


@contextlib.contextmanager
def float64() -> Iterator[None]:
    """Open a scope, of this thread only, in which JAX computes in float64 on the CPU.

    GPUs are slow at it and TPUs do not have it; and so a claim has one result on all machines.
    """
    import jax

    from theorykit.common.devices import on_cpu

    with jax.enable_x64(True), on_cpu():
        yield


def stable_hash(text: str) -> int:
    """Return 32 bits of the text's SHA-256: the same in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _checked(id: str, check: Any) -> "Check":
    from theorykit.checks import Check, ClaimError

    if not isinstance(check, Check):
        what = "nothing" if check is None else type(check).__name__
        hint = "; it needs a `return`" if check is None else ""
        raise ClaimError(f"{id} returns {what}, not a check{hint}.")
    return check
