"""Run many claims: several at a time, one folder, one list of results."""

import contextlib
import datetime
import os
import platform
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from theorykit.claims import Claim, select
from theorykit.common.version import __version__
from theorykit.results import Result
from theorykit.runs._asked import Asked
from theorykit.runs._fingerprint import fingerprint
from theorykit.runs._folder import RunFolder, remember

AT_A_TIME = 2
"""Claims that run at once: compilation leaves Python free, so two fill two cores."""

MOST_MEMORY = 1.5e9
"""Bytes of resident memory above which compiled functions are let go between claims."""


def verify(
    claims: str | Path | Claim | Iterable[str | Path | Claim] = (),
    *,
    seed: int = 0,
    tier: str = "fast",
    run: str | Path | None = None,
    on_result: Callable[[Result], None] | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> list[Result]:
    """Try to break claims, and return what was found, ordered by id.

    **Arguments:**

    - `claims`: claims, shell patterns over ids, and `.py` files of claims; the claims of all known
      papers if there are none.
    - `seed`: a claim's result is a function of it and of the claim, not of what else ran.
    - `tier`: "fast", "slow" or "all"; a warning says how many of those asked for it leaves out.
    - `run`: a folder to append results to; claims that have one there already are not run again.
    - `on_result`, `on_progress`: called in this thread with each result, and with a running
      claim's id and the share of it that is done.

    **Raises:** `ValueError` for a pattern without claims, a file that cannot be imported, two
    claims with one id, or a run folder that does not fit.
    """
    return run_selected(select(claims, tier), seed, run, on_result, on_progress)


def run_selected(
    claims: Sequence[Claim],
    seed: int = 0,
    run: str | Path | None = None,
    on_result: Callable[[Result], None] | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> list[Result]:
    """Run these claims; as `verify` otherwise."""
    results: list[Result] = []

    def keep(result: Result) -> None:
        results.append(result)
        if on_result is not None:
            on_result(result)

    head, marks = header(seed), {claim.id: fingerprint(claim) for claim in claims}
    with RunFolder(run, head) if run is not None else contextlib.nullcontext() as folder:
        if folder is not None:
            folder.plan([Asked.of(c).model_dump() for c in claims], machine())
        try:
            run_claims(claims, marks, seed, folder, keep, on_progress)
        finally:
            remember(results, head, marks)
    return sorted(results, key=lambda r: r.id)


def header(seed: int) -> dict[str, Any]:
    """Return what results depend on beside the claims."""
    import jax

    device = jax.devices()[0]
    return {
        "version": __version__,
        "seed": seed,
        "jax": jax.__version__,
        "device": f"{device.platform}: {device.device_kind}",
    }


def machine() -> dict[str, Any]:
    """Return what a reader may want to know of the machine; results do not depend on it."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def as_json(head: dict[str, Any], results: Iterable[Result]) -> dict[str, Any]:
    """Return a run as one JSON object, claims ordered by id."""
    return {**head, "claims": [r.json() for r in sorted(results, key=lambda r: r.id)]}


def run_claims(
    claims: Sequence[Claim],
    marks: Mapping[str, str],
    seed: int,
    folder: RunFolder | None,
    keep: Callable[[Result], None],
    on_progress: Callable[[str, float], None] | None = None,
    at_a_time: int = AT_A_TIME,
) -> None:
    """Run claims in threads; results arrive in this thread, in the order they are done.

    **Arguments:** `marks`: each claim's fingerprint, taken before anything ran.

    An exception in this thread (Ctrl-C, say) starts no further claim; what is running is left to
    itself and its result is dropped.
    """
    waiting: queue.SimpleQueue[Claim] = queue.SimpleQueue()
    events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    stop = threading.Event()
    left = 0
    for claim in claims:
        known = folder.result(claim.id, marks[claim.id]) if folder else None
        if known is not None:
            keep(known)
        else:
            waiting.put(claim)
            left += 1

    def work() -> None:
        while not stop.is_set():
            try:
                claim = waiting.get_nowait()
            except queue.Empty:
                return
            events.put((claim.id, 0.0))
            try:
                events.put((claim.id, claim.run(seed, _Seldom(claim.id, events.put))))
            except BaseException as error:  # handed to the thread that waits
                events.put((claim.id, error))
            _let_go()

    for _ in range(min(at_a_time, left)):
        threading.Thread(target=work, daemon=True).start()
    try:
        while left:
            try:
                id, event = events.get(timeout=0.2)  # short, so that Ctrl-C gets through
            except queue.Empty:
                continue
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, Result):
                left -= 1
                try:
                    if folder is not None:
                        folder.append(event, marks[id])
                finally:  # Ctrl-C while writing
                    keep(event)
            elif on_progress is not None:
                on_progress(id, event)
    finally:
        stop.set()


class _Seldom:
    """Hand progress on a few times a second at most."""

    def __init__(self, id: str, put: Callable[[tuple[str, float]], None]):
        self._id, self._put, self._next = id, put, 0.0

    def __call__(self, share: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.2
            self._put((self._id, float(share)))


def _let_go() -> None:
    """Drop compiled functions once they take much memory; they are of no use to other claims."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return
    if pages * 4096 > MOST_MEMORY:
        import jax

        jax.clear_caches()
