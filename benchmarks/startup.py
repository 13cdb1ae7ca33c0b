"""Time to `import theorykit` against `import jax`; first kernels; time and memory of `verify`.

    python benchmarks/startup.py [--rounds 7] [--verify [PATTERN ...]]

Every import runs in its own process, with the three alternated, after one round that is not counted
(it may have to write byte code). The seconds are for the import statement, without interpreter
startup; `ratio` is theorykit's over jax's within a round. `theorykit` alone imports its parts
lazily; `kernels` is `import theorykit.kernels`, which imports JAX.

`first` is the first kernel of a process, of two layers and a few inputs, as in the README, with
imports done before: once with nothing compiled, and then with a warm compilation cache
(`JAX_COMPILATION_CACHE_DIR`) that keeps whatever was compiled. Processor seconds are given too.

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

FIRST = """
import time
import jax
from theorykit import kernels
x = jax.block_until_ready(jax.random.normal(jax.random.key(0), (20, 8, 16)))
begun, used = time.perf_counter(), time.process_time()
net = kernels.InfiniteTransformer(depth=2, readout="last")
jax.block_until_ready(net(x, key=jax.random.key(0), draws=64, replicates=4).ntk)
print(time.perf_counter() - begun, time.process_time() - used)
"""


def first(rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return the seconds of the first kernel in fresh processes: the first, and those after it."""
    with tempfile.TemporaryDirectory() as folder:
        kept = dict(
            JAX_COMPILATION_CACHE_DIR=folder,
            JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
            JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0",
        )
        command, environment = [sys.executable, "-c", FIRST], os.environ | kept
        run = lambda: subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment
        )
        taken = [[float(v) for v in run().stdout.split()] for _ in range(rounds + 1)]
    named = {"cold": taken[:1], "warm": taken[1:]}
    return {
        name: {"seconds": spread([s for s, _ in runs]), "cpu_seconds": spread([c for _, c in runs])}
        for name, runs in named.items()
    }


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
        first=first(at.rounds),
        seconds={name: spread(s) for name, s in seconds.items()},
        ratio=over["theorykit"],
        ratio_kernels=over["kernels"],
    )


if __name__ == "__main__":
    main()
