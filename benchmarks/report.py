"""The time and size of a report: `theorykit report RUN --html DIR`.

    python benchmarks/report.py [RUN] [--rounds 5]

RUN is the folder that `make evidence` leaves, if there is one; otherwise the claims `capture.E1.*`
are run first. Each round is a process of its own: `seconds` are for the whole command, imports
included, `cpu_seconds` its processor time, `page_mb` the size of the page. With Chromium and
playwright, `opened_seconds` is the time for which the page keeps its own thread of the browser busy
until all is laid out.
"""

import argparse
import os
import shutil
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


def opened(page: Path, rounds: int) -> list[float]:
    """Open the page in headless Chromium, and return the seconds of its thread; [] without one."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if found is None:
        return []
    seconds = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for _ in range(rounds + 1):
            tab = browser.new_page()
            session = tab.context.new_cdp_session(tab)
            # The thread's own time, which other work on the machine does not stretch.
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(page.as_uri())
            tab.wait_for_timeout(500)
            metrics = session.send("Performance.getMetrics")["metrics"]
            seconds.append(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))
            tab.close()
        browser.close()
    return seconds[1:]


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
        busy = opened(html / "index.html", at.rounds)
        claims = len(read_run(run).results)
    seconds, cpu = (list(column) for column in zip(*found, strict=True))
    report(
        "report",
        claims=claims,
        rounds=at.rounds,
        seconds=spread(seconds),
        cpu_seconds=spread(cpu),
        page_mb=size,
        **({"opened_seconds": spread(busy)} if busy else {}),
    )


if __name__ == "__main__":
    main()
