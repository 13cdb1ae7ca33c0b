"""Claims: what they are, how they are registered, and how one is run."""

import dataclasses
import hashlib
import inspect
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorykit.common.errors import explain
from theorykit.results import Outcome, Result, Verdict

if TYPE_CHECKING:
    from theorykit.checks import Check

Progress = Callable[[float], None]

TIERS = ("fast", "slow")

_registry: dict[str, "Claim"] = {}


@dataclasses.dataclass(frozen=True)
class Claim:
    """A mathematical statement and the check that tries to break it.

    **Fields:** `id`, such as `capture.E1.first_derivative`; `paper` and `ref`, where it is
    printed; `statement` in LaTeX, `words` in words; `assumptions`; `expect`, the recorded
    verdict; `tier`, "fast" or "slow"; `repairs`, the id of the printed claim that this one
    repairs; `build`, the function that makes the check.
    """

    id: str
    paper: str
    ref: str
    statement: str
    assumptions: tuple[str, ...]
    expect: Verdict
    tier: str
    words: str
    repairs: str | None
    build: Callable[[], "Check"]

    @property
    def place(self) -> str:
        """Where the claim is written, as file:line."""
        code = self.build.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def file(self) -> Path:
        """The file that the claim is written in."""
        return Path(self.build.__code__.co_filename).resolve()

    @property
    def is_shipped(self) -> bool:
        """Whether the claim is one of `theorykit.proofs_numeric`, not in a file of the user's."""
        return self.build.__module__.startswith("theorykit.proofs_numeric")

    def json(self) -> dict[str, Any]:
        """Return the claim without its check as a JSON object."""
        return {
            "id": self.id,
            "paper": self.paper,
            "ref": self.ref,
            "statement": self.statement,
            "words": self.words,
            "assumptions": list(self.assumptions),
            "expected": self.expect.value,
            "tier": self.tier,
            "repairs": self.repairs,
        }

    def source(self) -> str | None:
        """Return the claim as it is written in Python, None where that cannot be read."""
        try:
            return inspect.getsource(self.build)
        except (OSError, TypeError):
            return None

    def run(self, seed: int = 0, progress: Progress = lambda share: None) -> Result:
        """Try to break the claim, then its control, and weigh the two.

        The result depends on the claim and the seed only. Whatever goes wrong inside is a result
        with the verdict `error`.
        """
        import jax

        from theorykit.checks import Trial

        start = time.perf_counter()
        control: Verdict | None = None
        tried = ""
        with float64():
            try:
                check = _checked(self.id, self.build())
                tried = check.tried()
                key = jax.random.fold_in(
                    jax.random.key(seed, impl="threefry2x32"), stable_hash(self.id)
                )
                memory: dict = {}
                first = lambda share: progress(0.7 * share)
                second = lambda share: progress(0.7 + 0.3 * share)
                trial = Trial(jax.random.fold_in(key, 0), False, memory, first)
                outcome = self._signed(check.test(trial))
                false = check.controlled()
                if false is not None:
                    control = false.test(
                        Trial(jax.random.fold_in(key, 1), True, memory, second)
                    ).verdict
            # A claim that calls sys.exit must not end the run, least of all with exit code 0.
            except (Exception, SystemExit) as error:
                outcome = Outcome(Verdict.error, note=explain(error, self.file))
        verdict, note = _weigh(outcome, control)
        return Result(
            id=self.id,
            paper=self.paper,
            ref=self.ref,
            statement=self.statement,
            expected=self.expect,
            verdict=verdict,
            control=control,
            outcome=outcome,
            note=note,
            seconds=time.perf_counter() - start,
            check=tried,
        )

    def _signed(self, outcome: Outcome) -> Outcome:
        """Return the outcome with a certificate that says how to repeat it."""
        certificate = outcome.certificate
        if certificate is None:
            return outcome
        arguments = [repr(self.id), *([certificate.call] if certificate.call else [])]
        if not self.is_shipped:
            arguments.append(f"file={str(self.file)!r}")
        program = f"from theorykit import replay\nprint(replay({', '.join(arguments)}))"
        signed = dataclasses.replace(certificate, program=program)
        return dataclasses.replace(outcome, certificate=signed)


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
) -> Callable[[Callable[[], "Check"]], Claim]:
    r"""Register a claim; decorates a function without arguments that returns its check.

    The function's docstring is the statement in words. It runs inside a float64 scope, and only
    when the claim does.

    **Arguments:** `id`: its first part names the paper unless `paper` does; `<id>.repaired`
    repairs `<id>` unless `repairs` says otherwise; `expect`: the recorded verdict, "holds",
    "refuted" or "inconclusive"; `tier`: "fast" or "slow".

    **Raises:** `ValueError` if another claim has this id, or for an unknown `expect` or `tier`.
    """
    if not isinstance(id, str) or not id:
        raise ValueError(f"a claim's id is a string, as in @claim('my.lemma'), not {id!r}.")
    if expect not in ("holds", "refuted", "inconclusive"):
        raise ValueError(
            f"claim {id}: expect is 'holds', 'refuted' or 'inconclusive', not {expect!r}."
        )
    if tier not in TIERS:
        raise ValueError(f"claim {id}: tier is 'fast' or 'slow', not {tier!r}.")
    if isinstance(assumptions, str):
        assumptions = (assumptions,)
    if repairs is None and id.endswith(".repaired"):
        repairs = id.removesuffix(".repaired")

    def register(build: Callable[[], "Check"]) -> Claim:
        if not hasattr(build, "__code__"):
            raise ValueError(f"claim {id} decorates {build!r}, which is not a function.")
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
            build=build,
        )
        known = _registry.get(id)
        # A module that is imported again registers the same place again.
        if known is not None and known.place != made.place:
            raise ValueError(
                f"two claims have the id {id}: {known.place} and {made.place}; rename one."
            )
        _registry[id] = made
        return made

    return register


def float64() -> AbstractContextManager[Any]:
    """Return a scope, of this thread only, in which JAX computes in float64."""
    import jax

    return jax.enable_x64(True)


def stable_hash(text: str) -> int:
    """Return 32 bits of the text's SHA-256: the same in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _checked(id: str, check: Any) -> "Check":
    from theorykit.checks import Check, ClaimError

    if not isinstance(check, Check):
        raise ClaimError(f"{id} returns {type(check).__name__}, not a check.")
    return check


def _weigh(outcome: Outcome, control: Verdict | None) -> tuple[Verdict, str]:
    """A claim holds only if its check also saw through the control."""
    if outcome.verdict != Verdict.holds or control == Verdict.refuted:
        return outcome.verdict, outcome.note
    if control is None:
        why = (
            "There is no control, so nothing shows that the check could have failed; give a false "
            "neighbour, as in control=dict(rhs=...)."
        )
    else:
        why = (
            f"The control was not refuted ({control}), so nothing shows that this check finds what "
            "is false; if the control is true, choose a falser one."
        )
    return Verdict.inconclusive, f"{why} {outcome.note}".strip()
