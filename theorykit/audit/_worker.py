"""A program that runs tests and claims in fresh processes, with a fault planted in one file.

It reads one job per line from stdin and writes one answer per line to stdout. Slow imports are done
once; each job runs in a fork, which sees the file with the fault and the user's other files
unchanged. This file imports nothing from the toolkit, so each fork imports the toolkit afresh.
"""

import contextlib
import importlib
import io
import json
import os
import select
import signal
import sys
import time
from importlib.machinery import SourceFileLoader

HEAVY = (
    "numpy", "scipy.stats", "scipy.integrate", "jax", "jax.numpy", "jax.scipy.stats", "optax",
    "flax.nnx", "pydantic", "networkx", "flint", "pytest", "hypothesis", "jaxtyping",
    "beartype.door", "typer", "rich.table", "mpmath",
)  # fmt: skip


def plant(fault):
    """Make every import of the file see the version with the fault."""
    target = os.path.realpath(fault["file"])
    data, stats = SourceFileLoader.get_data, SourceFileLoader.path_stats
    is_it = lambda path: os.path.realpath(path) == target

    def get_data(self, path):
        found = data(self, path)
        if path.endswith(".py") and is_it(path):
            found = found[: fault["start"]] + fault["after"].encode() + found[fault["end"] :]
        return found

    def path_stats(self, path):
        found = stats(self, path)
        return {**found, "mtime": found["mtime"] + 1} if is_it(path) else found

    sys.dont_write_bytecode = True
    setattr(SourceFileLoader, "get_data", get_data)  # noqa: B010
    setattr(SourceFileLoader, "path_stats", path_stats)  # noqa: B010


class Watch:
    """A pytest plugin that records the result of each test and which functions it runs."""

    def __init__(self, roots):
        import pytest

        self.tests: dict = {}
        self.roots = tuple(roots)

        @pytest.hookimpl(wrapper=True)
        def protocol(item):
            if not self.roots:
                return (yield)
            with watched(self.roots) as ran:
                result = yield
            known = {"outcome": "passed", "seconds": 0.0}
            self.tests.setdefault(item.nodeid, known)["ran"] = ran()
            return result

        self.pytest_runtest_protocol = protocol

    def pytest_collectreport(self, report):
        if report.failed:
            self.tests[report.nodeid] = {"outcome": "failed", "seconds": 0, "ran": []}

    def pytest_runtest_logreport(self, report):
        known = self.tests.setdefault(
            report.nodeid, {"outcome": "passed", "seconds": 0.0, "ran": []}
        )
        known["seconds"] += report.duration
        if report.outcome != "passed":
            known["outcome"] = report.outcome


@contextlib.contextmanager
def watched(roots):
    """Yield a function that returns "file:line" for the functions in these folders that ran."""
    import jax

    jax.clear_caches()  # functions traced before would not run again
    seen: dict = {}
    real: dict = {}

    def hook(frame, event, arg):
        if event == "call":
            code = frame.f_code
            seen[id(code)] = code

    def ran():
        found = set()
        for code in seen.values():
            name = code.co_filename
            path = real.setdefault(name, os.path.realpath(name))
            if path.startswith(roots):
                found.add(f"{path}:{code.co_firstlineno}")
        return sorted(found)

    sys.setprofile(hook)
    try:
        yield ran
    finally:
        sys.setprofile(None)


def tests(job):
    """Run tests; stop at the first that fails, unless a fault is what they are not run with."""
    import pytest

    watch = Watch(job.get("roots", ()))
    first = ["-x"] if job.get("fault") else []
    quiet = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    code = pytest.main([*quiet, *first, *job["tests"]], plugins=[watch])
    return {"tests": watch.tests, "code": int(code)}


def claims(job):
    """Run claims and return their results; stop at the first whose verdict changes."""
    from theorykit.claims import one

    found, known = {}, job.get("known", {})
    for id in job["claims"]:
        result = one(id, job.get("files", ())).run(job["seed"]).json()
        seconds, _ = result.pop("seconds"), result.pop("ran")
        found[id] = {"result": result, "seconds": seconds}
        was = known.get(id)
        if was is not None and (result["verdict"], result["control"]) != (
            was["verdict"],
            was["control"],
        ):
            break
    return {"claims": found}


def child(job, out):
    """Do one job and write the result."""
    os.setsid()
    sys.path[:0] = job.get("path", [])
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        if job.get("fault"):
            plant(job["fault"])
        answer = {"tests": tests, "claims": claims}[job["do"]](job)
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    with os.fdopen(out, "w") as pipe:
        pipe.write(json.dumps(answer))
    os._exit(0)


def wait(pid, pipe, seconds):
    """Return the output of a child; on a timeout, kill it and everything it started."""
    end, said = time.monotonic() + seconds, b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        piece = os.read(pipe, 1 << 16) if ready else None
        if piece:
            said += piece
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if piece is None:
            return {"timeout": True}
        return json.loads(said) if said else {"error": "the process ended without an answer"}


def main():
    """Serve jobs until stdin ends."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        job = json.loads(line)
        came, out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(came)
            child(job, out)
        os.close(out)
        answer = wait(pid, came, job["seconds"])
        os.close(came)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, so that its modules are not found by short names
    main()
