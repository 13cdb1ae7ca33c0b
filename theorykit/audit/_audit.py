"""An audit: which planted faults are noticed, and by which test or claim."""

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from theorykit.audit import _worker
from theorykit.audit._faults import Fault, faults
from theorykit.audit._functions import Function, functions, short
from theorykit.common.folders import Folder
from theorykit.results import Result
from theorykit.runs import read_run, recall

PATIENCE = 30.0
"""Seconds added to ten times the usual run time before a fault counts as hung."""

ANY = "any"
"""Stands for the functions of a test that cannot be watched: it may have run any."""

MOST_CLAIMS = 6
"""The number of claims run for one fault, the fastest of those that run its package."""


@dataclasses.dataclass(frozen=True)
class Found:
    """The result for one fault.

    **Fields:** `fault`; `package`, under which it is counted; `by`, "test", "claim", "number" (a
    claim's numbers change but its verdict does not), "timeout", or "" if nothing noticed; `what`
    noticed it; `asked`, the number of tests and claims run; `seconds`.
    """

    fault: Fault
    package: str
    by: str
    what: str
    asked: int
    seconds: float

    def json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Found":
        """Return the object from its `json()`."""
        return cls(**{**fields, "fault": Fault(**fields["fault"])})


@dataclasses.dataclass(frozen=True)
class Audit:
    """The result of an audit.

    **Fields:** `found`, one entry per fault; `left`, the number of faults still to be planted;
    `possible`, the number that can be planted in the selected functions; `excused`, how many of
    these are listed as equivalent; `problems`, sentences.
    """

    found: list[Found]
    left: int
    possible: int
    excused: int
    problems: list[str]

    @property
    def missed(self) -> list[Found]:
        """The faults that nothing noticed."""
        return [f for f in self.found if not f.by]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table: one row per package, and one for the total."""
        packages = sorted({f.package for f in self.found})
        rows = [self._row(p, [f for f in self.found if f.package == p]) for p in packages]
        return [*rows, self._row("all", self.found)] if len(rows) != 1 else rows

    @staticmethod
    def _row(package: str, found: Sequence[Found]) -> dict[str, Any]:
        count = lambda *by: sum(f.by in by for f in found)
        noticed = sum(bool(f.by) for f in found)
        return {
            "package": package,
            "planted": len(found),
            "noticed": noticed,
            "share": f"{noticed / len(found):.0%}" if found else "",
            "by tests": count("test"),
            "by claims": count("claim"),
            "by numbers": count("number"),
            "hung": count("timeout"),
            "missed": len(found) - noticed,
        }

    def json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "possible": self.possible,
            "excused": self.excused,
            "left": self.left,
            "problems": self.problems,
            "packages": self.rows,
            "faults": [{**f.json(), "diff": f.fault.diff()} for f in self.found],
        }


def audit(
    patterns: Iterable[str] = ("theorykit.*",),
    *,
    sample: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    folder: str | Path,
    tests: str | Path = "tests",
    run: str | Path | None = None,
    files: Iterable[str | Path] = (),
    equivalent: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Audit:
    """Plant faults, one at a time, and see whether tests, and then claims, notice them.

    **Arguments:**

    - `patterns`: shell patterns for the dotted names of functions; the id of a claim stands for the
      functions that it ran.
    - `sample`: the number of faults to plant, drawn with `seed`; all if None. The order is random
      too, so a run cut short by the budget is still a sample.
    - `budget`: minutes.
    - `folder`: where to save results, one line per fault; a killed audit resumes.
    - `tests`: the folder of tests, laid out like the packages. For each fault, the tests that run
      its function are run, fastest first.
    - `run`: a run folder; its claims are run if they ran the function's package. Without one, the
      last results of this user are used. `files`: the user's files that contain such claims.
    - `equivalent`: a TOML file of equivalent mutants, which are not planted.

    **Raises:** `ValueError` for a pattern without functions, or a folder of another audit.
    """
    known = _claims(run)
    chosen = functions(_named(patterns, known))
    possible = [(fault, f) for f in chosen for fault in faults(f)]
    excused = _excused(equivalent)
    planted = [(x, f) for x, f in possible if (short(x.function), x.change) not in excused]
    drawn = lambda pair: hashlib.sha256(f"{seed} {pair[0].key}".encode()).hexdigest()
    wanted = sorted(planted, key=drawn)[:sample]
    end = time.monotonic() + 60 * budget if budget is not None else float("inf")
    with _Kept(folder, seed) as kept, _Worker(Path(tests), kept, say) as worker:
        for n, (fault, function) in enumerate(wanted, 1):
            mark = worker.mark(fault, function)
            if mark in kept.found:
                continue
            if time.monotonic() > end:
                break
            found = worker.judge(fault, function, _near(function, known), list(map(str, files)))
            kept.add(mark, found)
            say(
                f"{n}/{len(wanted)} {found.by or 'MISSED'} {found.seconds:.0f} s "
                f"{short(fault.function)}:{fault.line} {fault.change} {found.what}"
            )
        marks = [worker.mark(*pair) for pair in wanted]
        done = [kept.found[m] for m in marks if m in kept.found]
        problems = worker.problems
    left, spared = len(wanted) - len(done), len(possible) - len(planted)
    return Audit(done, left, len(possible), spared, problems)


def _claims(run: str | Path | None) -> dict[str, Result]:
    """Return results by claim, from a run folder or the user's last run."""
    if run is not None:
        return {r.id: r for r in read_run(run).results}
    found = {}
    for id, last in recall().items():
        try:
            found[id] = Result.from_json(last["result"])
        except (ValueError, LookupError, TypeError):
            continue
    return found


def _named(patterns: Iterable[str], known: Mapping[str, Result]) -> list[str]:
    """Return patterns of functions, replacing the id of a claim by the functions that it ran."""
    found: list[str] = []
    for pattern in patterns:
        found += known[pattern].ran if pattern in known else [pattern]
    return found


def _near(function: Function, known: Mapping[str, Result]) -> list[str]:
    """Return the claims that ran any function of this package, fastest first."""
    own = function.package + "."
    near = [r for r in known.values() if any(n.startswith(own) for n in r.ran)]
    exact = short(function.module).split("._")[0] + "." + function.name.rpartition(".")[2]
    near.sort(key=lambda r: (exact not in r.ran, r.seconds))
    return [r.id for r in near if r.verdict != "error"][:MOST_CLAIMS]


def _excused(file: str | Path | None) -> set[tuple[str, str]]:
    """Return the known equivalent mutants, by function and change.

    **Raises:** `ValueError` for an entry without a reason.
    """
    if file is None or not Path(file).is_file():
        return set()
    entries = tomllib.loads(Path(file).read_text()).get("equivalent", [])
    for entry in entries:
        if not {"function", "change", "reason"} <= set(entry):
            raise ValueError(
                f"{file}: every fault has a function, a change and a reason, but one is {entry}."
            )
    return {(e["function"], e["change"]) for e in entries}


class _Kept(Folder):
    """The folder of an audit: the result of each fault, and which tests run which functions."""

    def __init__(self, path: str | Path, seed: int):
        super().__init__(path, ("audit.json", {"audit": 1}), own=["faults.jsonl", "tests.jsonl"])
        self.found = {k: Found.from_json(v) for k, v in self._read("faults.jsonl")}
        self.tests: dict[str, dict[str, Any]] = dict(self._read("tests.jsonl"))

    def _read(self, name: str) -> Iterable[tuple[str, Any]]:
        file = self.path / name
        for line in file.read_text().splitlines() if file.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # cut short by a kill
            yield entry["key"], entry["value"]

    def _append(self, name: str, key: str, value: Any) -> None:
        with (self.path / name).open("a") as file:
            file.write(json.dumps({"key": key, "value": value}) + "\n")

    def add(self, mark: str, found: Found) -> None:
        """Save the result of a fault."""
        self.found[mark] = found
        self._append("faults.jsonl", mark, found.json())

    def add_tests(self, mark: str, value: dict[str, Any]) -> None:
        """Save which functions the tests of a file run."""
        self.tests[mark] = value
        self._append("tests.jsonl", mark, value)


class _Worker:
    """The process that runs tests and claims."""

    def __init__(self, tests: Path, kept: _Kept, say: Callable[[str], None]):
        self.tests, self.kept, self.say = tests.resolve(), kept, say
        self.problems: list[str] = []
        self._clean: dict[str, dict[str, Any]] = {}
        self._tests: dict[str, bytes] = {}  # the source of the tests of a function

    def __enter__(self) -> "_Worker":
        self._process = subprocess.Popen(
            [sys.executable, _worker.__file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.tests.parent,
        )  # fmt: skip
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        self._process.wait()

    def ask(self, do: str, seconds: float, fault: Fault | None = None, **job: Any) -> dict:
        """Return the answer to a job."""
        pipe = self._process
        assert pipe.stdin is not None
        assert pipe.stdout is not None
        job |= {"do": do, "seconds": seconds}
        job |= {"fault": dataclasses.asdict(fault)} if fault is not None else {}
        pipe.stdin.write(json.dumps(job) + "\n")
        pipe.stdin.flush()
        line = pipe.stdout.readline()
        if not line:
            raise RuntimeError("the process that runs tests ended.")
        return json.loads(line)

    def mark(self, fault: Fault, function: Function) -> str:
        """Return an identifier of a fault that changes when the code or its tests change."""
        text = Path(fault.file).read_bytes() + fault.key.encode()
        if function.name not in self._tests:
            files = [f.read_bytes() for f in self._beside(function)]
            self._tests[function.name] = hashlib.sha256(b"".join(files)).digest()
        return hashlib.sha256(text + self._tests[function.name]).hexdigest()[:16]

    def judge(self, fault: Fault, function: Function, claims: list[str], files: list[str]) -> Found:
        """Decide whether a fault is noticed, and by which test or claim."""
        start = time.perf_counter()
        by, what, asked, near = "", "", 0, self._files_of(function)
        for telling in (near, [f for f in self._beside(function) if f not in near]):
            if not by:
                tests = self._tests_of(function, telling)
                by, what = self._by_tests(fault, tests)
                asked += len(tests)
        if not by and claims:
            by, what, more = self._by_claims(fault, claims, files)
            asked += more
        seconds = time.perf_counter() - start
        return Found(fault, function.package, by, what, asked, seconds)

    def _by_tests(self, fault: Fault, tests: Mapping[str, float]) -> tuple[str, str]:
        if not tests:
            return "", ""
        patience = PATIENCE + 10 * sum(tests.values())
        answer = self.ask("tests", patience, fault, tests=list(tests))
        if answer.get("timeout"):
            return "timeout", "tests"
        if "error" in answer:
            return "test", answer["error"]
        failed = [id for id, t in answer["tests"].items() if t["outcome"] == "failed"]
        if failed or answer["code"] not in (0, 1):
            return "test", failed[0] if failed else "collection"
        return "", ""

    def _by_claims(self, fault: Fault, ids: list[str], files: list[str]) -> tuple[str, str, int]:
        for id in [i for i in ids if i not in self._clean]:
            answer = self.ask("claims", 600.0, claims=[id], files=files, seed=0)
            self._clean[id] = answer.get("claims", {}).get(id, {})
            if not self._clean[id]:
                self.problems.append(f"The claim {id} cannot be run: {answer}.")
        ids = [i for i in ids if self._clean[i]]
        clean = {i: self._clean[i]["result"] for i in ids}
        patience = PATIENCE + 10 * sum(self._clean[i]["seconds"] for i in ids)
        answer = self.ask("claims", patience, fault, claims=ids, files=files, seed=0, known=clean)
        if answer.get("timeout"):
            return "timeout", "claims", len(ids)
        if "error" in answer:
            return "claim", answer["error"], len(ids)
        moved = ""
        for id, now in answer["claims"].items():
            was, result = clean[id], now["result"]
            if (was["verdict"], was["control"]) != (result["verdict"], result["control"]):
                return "claim", id, len(ids)
            if was != result:
                moved = moved or id
        return ("number", moved, len(ids)) if moved else ("", "", len(ids))

    # Which tests run a function ------------------------------------------------------------

    def _tests_of(self, function: Function, files: Iterable[Path]) -> dict[str, float]:
        """Return the passing tests that run a function, with their seconds, fastest first."""
        first = min([function.node.lineno, *(d.lineno for d in function.node.decorator_list)])
        own = {f"{function.file}:{line}" for line in range(first, function.node.lineno + 1)}
        found: dict[str, float] = {}
        for file in files:
            for id, test in self._watched(file, function).items():
                if test["outcome"] == "passed" and (own | {ANY}) & set(test.get("ran", ())):
                    found[id] = test["seconds"]
        return dict(sorted(found.items(), key=lambda pair: pair[1]))

    def _files_of(self, function: Function) -> list[Path]:
        """Return the test files for a function: its file's namesake, and those that mention it."""
        stem = function.file.stem.lstrip("_")
        words = [w for w in function.name.removeprefix(function.module).split(".") if w]
        tells = re.compile(rf"\b({'|'.join(map(re.escape, words))}|{stem})\b")
        beside = self._beside(function)
        return [f for f in beside if f.stem == f"test_{stem}" or tells.search(f.read_text())]

    def _beside(self, function: Function) -> list[Path]:
        """Return the test files in the folder that mirrors that of the function's file."""
        root = self.tests.parent
        try:
            inside = function.file.relative_to(root).parts
        except ValueError:
            inside = (*function.module.split(".")[1:-1], function.file.name)
        folder = self.tests.joinpath(*inside[:-1])
        while not folder.is_dir():
            folder = folder.parent
        return sorted(folder.glob("test_*.py"))

    def _watched(self, file: Path, function: Function) -> dict[str, Any]:
        mark = hashlib.sha256(str(file).encode() + file.read_bytes()).hexdigest()[:16]
        root = str(_top(function))
        if (mark := f"{mark} {root}") not in self.kept.tests:
            self.say(f"watching {file.relative_to(self.tests.parent)}")
            answer = self.ask("tests", 1200.0, tests=[str(file)], roots=[root])
            tests = answer.get("tests", {})
            if failed := _failed(tests):  # some look at the profiler, or take it for themselves
                again = self.ask("tests", 1200.0, tests=failed).get("tests", {})
                passed = set(again) - set(_failed(again))
                tests |= {i: again[i] | {"ran": [ANY]} for i in passed}
            self.kept.add_tests(mark, tests)
            failed = _failed(tests)
            if failed or "tests" not in answer:
                self.problems.append(f"{failed or answer} in {file} already fail without a fault.")
        return self.kept.tests[mark]


def _failed(tests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [id for id, test in tests.items() if test["outcome"] == "failed"]


def _top(function: Function) -> Path:
    """Return the folder of a function's package; all its functions are watched."""
    depth = function.module.count(".")
    return function.file.parents[
        max(0, depth - 1 if function.file.name != "__init__.py" else depth)
    ]
