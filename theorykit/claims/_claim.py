"""What a claim is."""

import dataclasses
import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorykit import papers
from theorykit.claims._attempt import Progress, attempt
from theorykit.common.folders import from_here
from theorykit.results import Falls, Outcome, Result, Verdict

if TYPE_CHECKING:
    from theorykit.checks import Check

TIERS = ("fast", "slow")


@dataclasses.dataclass(frozen=True)
class Claim:
    """A mathematical statement and the check that tries to break it.

    **Fields:** `id`, such as `capture.E1.first_derivative`; `paper` and `ref`, where it is printed;
    `statement` in LaTeX, `words` in words; `assumptions`; `expect`, the recorded verdict; `tier`,
    "fast" or "slow"; `repairs`, the id of the printed claim that this one repairs; `falls`,
    `consequence` and `unrepaired` of one that is refuted, as `claim` takes them; `mathematics`,
    whether it is about mathematics alone; `build`, the function that makes the check.
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
    falls: Falls | None
    consequence: str
    unrepaired: str
    mathematics: bool
    build: Callable[[], "Check"]

    def __str__(self) -> str:
        """Return it in a line."""
        where, said = f" ({self.ref})" if self.ref else "", self.words or self.statement
        return f"{self.id}{where}{': ' * bool(said)}{said}"

    @property
    def place(self) -> str:
        """Where the claim is written, as file:line."""
        code = self.build.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def file(self) -> Path:
        """The file that the claim is written in; there is none where it is a notebook's."""
        return Path(self.build.__code__.co_filename).resolve()

    @property
    def is_installed(self) -> bool:
        """Whether its id is enough to find it: a known paper has it, and no file of the user's."""
        return papers.holder(self.build.__module__) is not None

    @property
    def home(self) -> str:
        """The top-level package of the distribution that it belongs to, if that has a paper."""
        root = self.build.__module__.partition(".")[0]
        return root if self.is_installed else ""

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
            "falls": self.falls,
            "consequence": self.consequence,
            "unrepaired": self.unrepaired,
            "mathematics": self.mathematics,
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
        start = time.perf_counter()
        found = attempt(self.id, self.build, self.place, seed, progress, self.home)
        verdict, note = found.weighed()
        fallen = verdict == Verdict.refuted
        return self._result(
            outcome=self.signed(found.resolved()),
            verdict=verdict,
            note=note,
            seconds=time.perf_counter() - start,
            control=found.control,
            check=found.tried,
            falls=self.falls if fallen else None,
            consequence=self.consequence if fallen else "",
            ran=found.ran,
        )

    def failed(self, note: str, seconds: float = 0.0) -> Result:
        """Return the result, an error, of a run that did not finish."""
        outcome = Outcome(Verdict.error, note=note)
        return self._result(
            outcome=outcome, verdict=Verdict.error, note=note, seconds=seconds, control=None
        )

    def _result(self, **found: Any) -> Result:
        return Result(
            id=self.id,
            paper=self.paper,
            ref=self.ref,
            statement=self.statement,
            expected=self.expect,
            mathematics=self.mathematics,
            **found,
        )

    def signed(self, outcome: Outcome) -> Outcome:
        """Return the outcome with a certificate that says how to repeat it from this folder."""
        certificate = outcome.certificate
        if certificate is None:
            return outcome
        found = self.is_installed or self.file.is_file()  # else by the name that it is bound to
        arguments = [repr(self.id) if found else self.build.__name__]
        arguments += [certificate.call] if certificate.call else []
        if found and not self.is_installed:
            arguments.append(f"file={from_here(self.file)!r}")
        program = f"from theorykit import replay\nprint(replay({', '.join(arguments)}))"
        signed = dataclasses.replace(certificate, program=program)
        return dataclasses.replace(outcome, certificate=signed)

    def here(self, result: Result) -> Result:
        """Return a kept result, whose certificate is to be repeated from this folder."""
        return dataclasses.replace(result, outcome=self.signed(result.outcome))
