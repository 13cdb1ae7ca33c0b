"""The fast tier on all cores, cold and warm; and what a task costs beside its work.

    python benchmarks/cores.py [PATTERN ...] [--jobs N] [--rounds 2]
    python benchmarks/cores.py --tasks 200 [--on dask:ADDRESS] [--points 10000]

The first runs `theorykit verify` with a cache of compiled programs of its own: the first round has
nothing compiled yet, the others find what it kept. It takes about ten minutes on two cores; with
patterns it runs the claims that match. Wall seconds, processor seconds of all processes, and
whether the verdicts of all rounds are the same. `wanted` is met on two idle cores: 300 s cold and
150 s warm for the whole tier.

The second makes calls that do nothing, all at once: in processes of this machine and on a cluster
by `--on`, one that is warm, whose workers have done such calls before. `each` is the seconds of a
task beyond its work, `points` what so many tasks would cost in all: extrapolated, in proportion.
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
    """Return the seconds of a call that does nothing, when so many are made at once."""
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
    parser.add_argument("--tasks", type=int, help="measure the overhead of so many tasks instead")
    parser.add_argument("--on", help="a cluster, as `theorykit verify --on` has it")
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
    for name, place in (("processes", lambda executor: Processes(at.jobs)), ("on", Elsewhere)):
        if name == "on" and at.on is None:
            continue
        with connected(at.on if name == "on" else None, print) as executor:
            calls = Calls(place(executor))
            found[name] = overhead(calls, at.tasks, at.rounds, at.points)
            calls.close()
    report("tasks", **vars(at), **found)


if __name__ == "__main__":
    main()
