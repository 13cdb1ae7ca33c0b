"""Time to `import theorykit` against `import jax`; and the time and memory of `theorykit verify`.

    python benchmarks/startup.py [--rounds 7] [--verify [PATTERN ...]]

Every import runs in its own process, with the three alternated, after one round that is not counted
(it may have to write byte code). The seconds are for the import statement, without interpreter
startup; `ratio` is theorykit's over jax's within a round. `theorykit` alone imports its parts
lazily; `kernels` is `import theorykit.kernels`, which imports JAX.

`--verify` runs the fast tier once (all of it, or the claims that match), in a fresh run folder:
wall seconds, and the peak memory of the largest process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from _timing import report, spread

IMPORTS = {"jax": "jax", "theorykit": "theorykit", "kernels": "theorykit.kernels"}
TIMED = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def imported(module: str) -> float:
    """Return the seconds that a fresh process takes to import a module."""
    run = [sys.executable, "-c", TIMED.format(module)]
    return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def verified(patterns: list[str]) -> dict[str, float]:
    """Run `theorykit verify` and return its exit status, seconds and peak memory."""
    verify = [sys.executable, "-m", "theorykit.cli", "verify", *patterns, "--run"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as said:
        start = time.perf_counter()
        child = subprocess.Popen([*verify, f"{folder}/run"], stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)  # already waited for
        if child.returncode not in (0, 1):
            said.seek(0)
            sys.exit(f"theorykit verify ended with {child.returncode}: {said.read()}")
    unit = 1 if sys.platform == "darwin" else 1024
    return dict(
        exit=child.returncode,
        seconds=seconds,
        cpu_seconds=used.ru_utime + used.ru_stime,
        peak_gib=used.ru_maxrss * unit / 2**30,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--verify", nargs="*", metavar="PATTERN", help="run `theorykit verify` too")
    at = parser.parse_args()

    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for round in range(at.rounds + 1):
        for name, module in IMPORTS.items():
            taken = imported(module)
            if round:
                seconds[name].append(taken)
    over = {
        name: spread([s / j for s, j in zip(seconds[name], seconds["jax"], strict=True)])
        for name in ("theorykit", "kernels")
    }
    report(
        "startup",
        **vars(at) | {"verify": None if at.verify is None else verified(at.verify)},
        patterns=at.verify,
        seconds={name: spread(s) for name, s in seconds.items()},
        ratio=over["theorykit"],
        ratio_kernels=over["kernels"],
    )


if __name__ == "__main__":
    main()
