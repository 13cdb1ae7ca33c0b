"""Claims as tests: a plugin that pytest finds by itself once theorykit is installed.

Each claim that a collected file declares or imports is a test of its own, which fails if the
verdict is not the recorded one. It bears the mark of its tier, `fast` or `slow`.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from theorykit.claims import Claim
    from theorykit.results import Result

KEPT = "theorykit"
"""The name under which a report carries a result, from a worker of pytest-xdist too."""

_SEEN = pytest.StashKey[set[str]]()
_FOUND = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("theorykit")
    group.addoption(
        "--theorykit-run",
        metavar="DIR",
        type=Path,
        help="keep the results of claims in this folder, and resume a run that stopped",
    )
    group.addoption(
        "--theorykit-seed",
        metavar="N",
        type=int,
        default=0,
        help="seed of all random numbers in claims",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks, and open the run folder in the process that writes it."""
    config.addinivalue_line("markers", "fast: a claim of the fast tier")
    config.addinivalue_line("markers", "slow: takes long, as claims of the slow tier do")
    seed, folder = config.getoption("theorykit_seed"), config.getoption("theorykit_run")
    if not 0 <= seed < 2**32:
        raise pytest.UsageError(f"--theorykit-seed is a number from 0 to 2^32 - 1, got {seed}")
    if folder is not None and not config.getoption("collectonly"):
        from theorykit.runs import kept

        try:
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Keeper(folder, seed), "theorykit-keeper")
            config.stash[_FOUND] = kept(folder)
        except (ValueError, OSError) as error:
            raise pytest.UsageError(f"--theorykit-run: {error}") from error


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> "ClaimItem | None":
    """Make a test of a claim, one for all the names that a module has for it."""
    claims = sys.modules.get("theorykit.claims")
    if claims is None or not isinstance(obj, claims.Claim):
        return None
    seen = collector.stash.setdefault(_SEEN, set())
    if obj.id in seen:
        return None
    seen.add(obj.id)
    return ClaimItem.from_parent(collector, name=obj.id, claim=obj)


class Moved(Exception):
    """The verdict is not the recorded one."""

    def __init__(self, result: "Result"):
        super().__init__(f"{result.id} is {result.verdict}, but {result.expected} was expected.")
        self.result = result


class ClaimItem(pytest.Item):
    """A claim as a test."""

    def __init__(self, *, claim: "Claim", **options: Any):
        """Take the claim, and the mark of its tier."""
        super().__init__(**options)
        self.claim = claim
        self.add_marker(claim.tier)

    def runtest(self) -> None:
        """Run the claim, unless the run folder has its result.

        **Raises:** `Moved` if the verdict is not the recorded one.
        """
        from theorykit.runs import Asked, fingerprint

        mark = fingerprint(self.claim)
        known, result = self.config.stash.get(_FOUND, {}).get(self.claim.id, (None, None))
        if known != mark or result.verdict == "error":  # which may have been chance
            with warnings.catch_warnings():  # which a test suite may have turned into errors
                warnings.simplefilter("default")
                result = self.claim.run(self.config.getoption("theorykit_seed"))
        asked = Asked.of(self.claim).model_dump(mode="json")
        content = {"fingerprint": mark, "result": result.json(), "asked": asked}
        self.user_properties.append((KEPT, json.dumps(content, allow_nan=False)))
        if result.moved:
            raise Moved(self.claim.here(result))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return one sentence, and what the command line prints."""
        if not isinstance(excinfo.value, Moved):
            return super().repr_failure(excinfo, style)
        from theorykit import report
        from theorykit.runs import Run, header

        head = header(self.config.getoption("theorykit_seed"))
        out = report.console()
        with out.capture() as captured:
            out.print(report.terminal(report.content(Run.of([excinfo.value.result], head))))
        return f"{excinfo.value}\n\n{captured.get()}"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the claim is written, and its id."""
        code = self.claim.build.__code__
        return Path(code.co_filename), code.co_firstlineno - 1, self.claim.id


class Keeper:
    """Writes results to the run folder as they come, from whichever process ran them.

    **Raises:** `ValueError` if the folder is another run's, or in use.
    """

    def __init__(self, path: Path, seed: int):
        """Open the folder."""
        from theorykit.runs import RunFolder, header

        self.folder = RunFolder(path, header(seed))
        self.asked: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the result that a report carries."""
        from theorykit.results import Result

        if report.when == "call":
            for content in results_of(report):
                self.asked.append(content["asked"])
                result, mark = Result.from_json(content["result"]), content["fingerprint"]
                if self.folder.result(result.id, mark) is None:
                    self.folder.append(result, mark)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write what was asked for, and give the folder back."""
        from theorykit.runs import machine

        self.folder.plan(self.asked, machine())
        self.folder.close()


def results_of(report: pytest.TestReport) -> Iterator[dict[str, Any]]:
    """Yield what a report carries: a fingerprint, a result, and what was asked for."""
    return (json.loads(str(value)) for name, value in report.user_properties if name == KEPT)
