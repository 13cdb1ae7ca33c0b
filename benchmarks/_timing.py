"""Timing on a noisy machine: alternate the contestants and compare within a run."""

import json
import platform
import time
from collections.abc import Callable
from typing import Any

import jax


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
    """Print one JSON object with the results and the machine."""
    import theorykit

    print(
        json.dumps(
            {
                "benchmark": name,
                "theorykit": theorykit.__version__,
                "jax": jax.__version__,
                "device": str(jax.devices()[0]),
                "machine": platform.machine(),
                **results,
            },
            indent=2,
            default=float,
        )
    )
