"""Timing on a noisy machine: alternate the contestants and compare within a run."""

import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

BEGUN = os.getloadavg()[0]
"""How many processes wanted a core in the minute before this one began."""


def alternate(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round, after one run of each to compile."""
    for run in contestants.values():
        jax.block_until_ready(run())
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            jax.block_until_ready(run())
            seconds[name].append(time.perf_counter() - start)
    return seconds


def spread(values: list[float]) -> dict[str, float]:
    """Return median, minimum and maximum."""
    ordered = sorted(values)
    return {"median": ordered[len(ordered) // 2], "min": ordered[0], "max": ordered[-1]}


def report(name: str, **results: Any) -> None:
    """Print one JSON object: the results, the versions, and under "run" how they were obtained.

    The load is the mean number of processes that wanted a core in the last minute, before the
    benchmark began and at its end, when it counts itself.
    """
    import theorykit
    from theorykit.runs import machine

    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    load = [round(value, 2) for value in (BEGUN, os.getloadavg()[0])]
    print(
        json.dumps(
            {
                "benchmark": name,
                "theorykit": theorykit.__version__,
                "jax": jax.__version__,
                "device": str(jax.devices()[0]),
                "machine": platform.machine(),
                "run": {"command": command, **machine(), "load": load},
                **results,
            },
            indent=2,
            default=float,
        )
    )
