"""The fast tier on all cores, cold and warm; and the overhead of a task.

    python benchmarks/cores.py [PATTERN ...] [--jobs N] [--rounds 2]
    python benchmarks/cores.py --tasks 200 [--on dask:ADDRESS] [--points 10000]

The first form runs `theorykit verify` with its own compilation cache: the first round starts cold,
the others use the cache. It takes about ten minutes on two cores; with patterns it runs the claims
that match. It reports wall seconds, processor seconds of all processes, and whether the verdicts of
all rounds are the same. `wanted` is met on two idle cores: 300 s cold and 150 s warm for the whole
tier.

The second form makes calls that do nothing, all at once, in local processes and on a cluster given
by `--on`, which is warm: its workers have done such calls before. `each` is the overhead of a task
in seconds; `points` is the total overhead of that many tasks, extrapolated in proportion.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _timing import report, spread

from theorykit.places import Calls, Elsewhere, Processes, connected, default_jobs

WANTED = {"cold": 300.0, "warm": 150.0}


def verified(patterns: list[str], jobs: int, cache: str) -> dict[str, Any]:
    """Run `theorykit verify`, and return its seconds and a hash of all verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        command = [sys.executable, "-m", "theorykit.cli", "verify", *patterns]
        command += ["--jobs", str(jobs), "--json", str(file)]
        before, start = os.times(), time.perf_counter()
        environment = dict(os.environ, XDG_CACHE_HOME=cache)
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        seconds, after = time.perf_counter() - start, os.times()
        if done.returncode not in (0, 1):
            sys.exit(f"theorykit verify ended with {done.returncode}: {done.stderr}")
        claims = json.loads(file.read_text())["claims"]
    verdicts = json.dumps([(c["id"], c["verdict"]) for c in claims])
    return dict(
        seconds=seconds,
        cpu_seconds=sum(after[2:4]) - sum(before[2:4]),
        claims=len(claims),
        moved=[c["id"] for c in claims if c["verdict"] != c["expected"]],
        verdicts=hashlib.sha256(verdicts.encode()).hexdigest()[:12],
    )


def overhead(calls: Calls, count: int, rounds: int, points: int) -> dict[str, Any]:
    """Return the seconds per call that does nothing, when `count` are made at once."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        calls.each(lambda n: calls.call(abs, n), [(n,) for n in range(count)])
        taken.append((time.perf_counter() - start) / count)
    each = spread(taken[1:])
    return dict(first=taken[0], each=each, points=each["median"] * points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tasks", type=int, help="measure the overhead of this many tasks instead")
    parser.add_argument("--on", help="a cluster, as for `theorykit verify --on`")
    parser.add_argument("--points", type=int, default=10_000)
    at = parser.parse_args()

    if at.tasks is None:
        with tempfile.TemporaryDirectory() as cache:
            runs = [verified(at.patterns, at.jobs, cache) for _ in range(at.rounds)]
        same = len({run["verdicts"] for run in runs}) == 1
        wanted = WANTED if not at.patterns else None
        report("cores", jobs=at.jobs, patterns=at.patterns, runs=runs, same=same, wanted=wanted)
        return
    found = {}
    for name, place in (("processes", lambda executor: Processes(at.jobs)), ("cluster", Elsewhere)):
        if name == "cluster" and at.on is None:
            continue
        with connected(at.on if name == "cluster" else None, print) as executor:
            calls = Calls(place(executor))
            found[name] = overhead(calls, at.tasks, at.rounds, at.points)
            calls.close()
    report("tasks", **vars(at), **found)


if __name__ == "__main__":
    main()
