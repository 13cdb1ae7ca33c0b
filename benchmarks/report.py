"""The time and size of a report: `theorykit report RUN --html DIR`.

    python benchmarks/report.py [RUN] [--rounds 5]

RUN is the folder that `make evidence` leaves, if there is one; otherwise the claims `capture.E1.*`
are run first. Each round is a process of its own: `seconds` are for the whole command, imports
included, `cpu_seconds` its processor time, `page_mb` the size of the page.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _timing import report, spread

from theorykit.runs import read_run

COMMAND = [sys.executable, "-m", "theorykit.cli"]
EVIDENCE = Path(__file__).parents[1] / "build" / "verify"


def page(run: Path, folder: Path) -> tuple[float, float]:
    """Make the page, and return the seconds and the processor seconds that it took."""
    before, start = os.times(), time.perf_counter()
    command = [*COMMAND, "report", str(run), "--html", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN", help="a folder of a run")
    parser.add_argument("--rounds", type=int, default=5)
    at = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run, html = at.run or EVIDENCE, Path(folder, "page")
        if at.run is None and not run.exists():
            run = Path(folder, "run")
            verify = [*COMMAND, "verify", "capture.E1.*", "--run", str(run)]
            subprocess.run(verify, check=True, stdout=subprocess.DEVNULL)
        found = [page(run, html) for _ in range(at.rounds + 1)][1:]
        size = (html / "index.html").stat().st_size / 1e6
        claims = len(read_run(run).results)
    seconds, cpu = (list(column) for column in zip(*found, strict=True))
    report(
        "report",
        claims=claims,
        rounds=at.rounds,
        seconds=spread(seconds),
        cpu_seconds=spread(cpu),
        page_mb=size,
    )


if __name__ == "__main__":
    main()
