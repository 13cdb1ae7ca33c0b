"""A folder that a run writes to claim by claim, so that a kill loses at most one claim.

    header.json     version, seed, JAX version, device
    plan.json       the claims that were asked for, and the machines they ran on
    results.jsonl   one line per claim: its fingerprint and its result

A line is flushed and synced before the next claim's is written; a last line that a kill cut short
is dropped when the folder is opened again. Only one process at a time may open it; `read_run` only
reads.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from theorykit.common.compiled import cache_home
from theorykit.common.folders import Folder, write_atomically, writing
from theorykit.common.version import __version__
from theorykit.results import UNREADABLE, Result
from theorykit.runs._asked import Asked


class RunFolder(Folder):
    """An open run folder; a context manager.

    **Arguments:** `path`: a new or empty folder, or an earlier run's; `header`: what the results
    depend on besides the claims.

    **Raises:** `ValueError` if another process has the folder open, it belongs to a run with
    another header, or it holds something else.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any]):
        super().__init__(path, ("header.json", header), own=["plan.json", "results.jsonl"])
        self._done: dict[str, tuple[str, Result]] = {}
        self._out: TextIO | None = None
        try:
            self._read()
            self._out = self._results.open("a")
        except BaseException:
            super().close()
            raise

    @property
    def _results(self) -> Path:
        return self.path / "results.jsonl"

    def _read(self) -> None:
        self._done = kept(self.path)
        if not self._results.exists():
            return
        content = self._results.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with self._results.open("r+b") as file:
                file.truncate(whole)

    def plan(self, claims: Iterable[Mapping[str, Any]], machine: Mapping[str, Any]) -> None:
        """Write down what is asked for, in addition to what earlier runs in this folder asked for.

        **Arguments:** `claims`: JSON objects with an "id"; `machine`: what they run on.
        """
        file = self.path / "plan.json"
        known = _object(file)
        asked = {c["id"]: dict(c) for c in [*_claims(known), *claims]}
        machines = _objects(known.get("machines"))
        if machine not in machines:
            machines.append(dict(machine))
        plan = {"machines": machines, "claims": [asked[id] for id in sorted(asked)]}
        with writing(self.path):
            write_atomically(file, json.dumps(plan, allow_nan=False) + "\n")

    def result(self, id: str, fingerprint: str) -> Result | None:
        """Return the result of this claim as it is now, or None if there is none yet."""
        known, result = self._done.get(id, (None, None))
        return result if known == fingerprint else None

    def append(self, result: Result, fingerprint: str) -> None:
        """Write one result; it is on the disk when this returns.

        **Raises:** `ValueError` if it cannot be written.
        """
        if self._out is None:
            raise ValueError(f"the run folder {self.path} is closed.")
        line = json.dumps({"fingerprint": fingerprint, "result": result.json()}, allow_nan=False)
        with writing(self.path):
            self._out.write(line + "\n")
            self._out.flush()
            os.fsync(self._out.fileno())
        self._done[result.id] = (fingerprint, result)

    def close(self) -> None:
        """Release the folder."""
        out, self._out = self._out, None
        if out is not None:
            with contextlib.suppress(OSError):  # what could not be written has been said
                out.close()
        super().close()


def kept(path: str | Path) -> dict[str, tuple[str, Result]]:
    """Return what a run folder has of each claim: its fingerprint then, and its result.

    A last line that is still being written, or that a kill cut short, is left out.

    **Raises:** `ValueError` for a line that is not a result.
    """
    file, found = Path(path) / "results.jsonl", {}
    content = file.read_bytes() if file.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = json.loads(line)
            result = Result.from_json(entry["result"])
            found[result.id] = (entry["fingerprint"], result)
        except UNREADABLE:
            raise ValueError(
                f"line {number} of {file} is not a result; the file was changed by something "
                "else. Use a new folder."
            ) from None
    return found


# Runs, read without a lock ------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Run:
    """What a run folder holds.

    **Fields:** `name` of the folder; `header`; `machines`, what it ran on; `claims`, id -> what
    was asked for; `results`, ordered by id; `problems`, sentences on what is missing or cannot
    be read.
    """

    name: str
    header: dict[str, Any]
    machines: list[dict[str, Any]]
    claims: dict[str, Asked]
    results: list[Result]
    problems: list[str]

    @classmethod
    def of(cls, results: Iterable[Result], header: Mapping[str, Any]) -> "Run":
        """Return a run that was not kept in a folder."""
        return cls("", dict(header), [], {}, list(results), [])

    @property
    def unfinished(self) -> list[str]:
        """The ids of claims that were asked for and have no result."""
        return sorted(self.claims.keys() - {r.id for r in self.results})


def read_run(path: str | Path) -> Run:
    """Read a run folder as it is, finished or not, of any version; nothing is changed.

    **Raises:** `ValueError` if there is no such folder, or it holds something other than a run.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(
            f"there is no run folder {path}; `theorykit verify --run {path}` makes one."
        )
    names = {p.name for p in folder.iterdir()}
    if names and not names & {"header.json", "plan.json", "results.jsonl"}:
        raise ValueError(f"{path} is not a run folder: it holds other files.")
    header, plan = _object(folder / "header.json"), _object(folder / "plan.json")
    results, unread = _readable(folder / "results.jsonl")
    run = Run(
        name=folder.resolve().name,
        header=header,
        machines=_objects(plan.get("machines")),
        claims={c["id"]: Asked.model_validate(c) for c in _claims(plan)},
        results=results,
        problems=[],
    )
    run.problems.extend(_problems(run, unread))
    return run


def _readable(file: Path) -> tuple[list[Result], int]:
    """Return the last result of each claim, ordered by id, and how many lines are not results."""
    found, unread = {}, 0
    try:
        lines = file.read_bytes().splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            result = Result.from_json(json.loads(line)["result"])
            found[result.id] = result
        except UNREADABLE:
            unread += 1
    return [found[id] for id in sorted(found)], unread


def _problems(run: Run, unread: int) -> Iterable[str]:
    version = run.header.get("version")
    if not run.header:
        yield "The run has no header: version, seed and device are not known."
    elif version != __version__:
        yield (
            f"The run was made by version {version}, this report by {__version__}: "
            "fields that only one of them knows are left out."
        )
    if not run.results:
        yield "The run has no result yet."
    if unread:
        lines = "1 line is" if unread == 1 else f"{unread} lines are"
        yield f"{lines} not a result (cut off when the run was killed, or written by another "
        "version), and left out."
    if run.unfinished:
        what = "1 claim has" if len(run.unfinished) == 1 else f"{len(run.unfinished)} claims have"
        yield f"The run is unfinished: {what} no result; the same command continues it."
    strangers = [r.id for r in run.results if r.id not in run.claims]
    if strangers:
        yield (
            f"For {len(strangers)} of {len(run.results)} results, the run does not keep the "
            "claim itself: they are shown without words, assumptions, tier and source."
        )


def _object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if there is none."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _claims(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of a plan that can be read."""
    return [c for c in _objects(plan.get("claims")) if Asked.read(c) is not None]


# What was found last ------------------------------------------------------------------------


def _last_file() -> Path:
    return cache_home() / "last.json"


def remember(
    results: list[Result], header: Mapping[str, Any], fingerprints: Mapping[str, str]
) -> None:
    """Keep each claim's last result in the user's cache; errors of the cache are ignored."""
    with contextlib.suppress(OSError, ValueError):
        file = _last_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        known = recall()
        known |= {
            r.id: {
                "header": dict(header),
                "fingerprint": fingerprints.get(r.id),
                "result": r.json(),
            }
            for r in results
        }
        write_atomically(file, json.dumps(known, allow_nan=False))


def recall() -> dict[str, dict[str, Any]]:
    """Return what `remember` kept, by claim id: header of the run, fingerprint, result (JSON)."""
    return _object(_last_file())
