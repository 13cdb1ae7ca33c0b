"""Run many claims: several at a time, one folder, one list of results."""

import concurrent.futures
import contextlib
import datetime
import os
import platform
import queue
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from theorykit.claims import Claim, Wanted, select
from theorykit.common.notebooks import in_notebook
from theorykit.common.spelling import spelt
from theorykit.common.version import __version__
from theorykit.places import Failure, Place, place_of
from theorykit.results import Result, Results, Verdict
from theorykit.runs._asked import Asked
from theorykit.runs._fingerprint import fingerprint
from theorykit.runs._folder import RunFolder, remember
from theorykit.runs._live import Live
from theorykit.runs._reach import KEPT
from theorykit.runs._task import ClaimTask
from theorykit.runs._threads import AT_A_TIME, Threads


@spelt
def verify(
    claims: Wanted | Iterable[Wanted] = (),
    *,
    seed: int = 0,
    tier: str = "fast",
    run: str | Path | None = None,
    jobs: int | None = None,
    executor: concurrent.futures.Executor | None = None,
    on_result: Callable[[Result], None] | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> Results:
    """Try to break claims, and return the results, ordered by id. In a notebook, a bar moves.

    **Arguments:**

    - `claims`: claims, modules that declare them, shell patterns over ids, and `.py` files of
      claims; the claims of all known papers if there are none.
    - `seed`: a claim's result is a function of it and of the claim, not of what else ran.
    - `tier`: "fast", "slow" or "all"; a warning says how many of the requested claims it leaves
      out.
    - `run`: a folder to append results to; claims that already have a result there that is not an
      error are not run again.
    - `jobs`: the number of processes of this machine to run them in; 1: one after another in this
      one; None: two at a time in this one. Results are the same. A claim of a notebook or script
      runs in this process all the same.
    - `executor`: an executor to run them with, on a cluster for example; its workers import
      theorykit and the claims' files, which have the same paths there.
    - `on_result`, `on_progress`: called in this thread with each result, and with a running
      claim's id and the share of it that is done.

    **Raises:** `ValueError` for a pattern without claims, a file that cannot be imported, two
    claims with one id, or a run folder that does not fit.
    """
    chosen = select(claims, tier)
    if not in_notebook():
        return run_selected(chosen, seed, run, on_result, on_progress, jobs, executor)
    done = 0
    with Live(len(chosen)) as live:

        def result(found: Result) -> None:
            nonlocal done
            done += 1
            live.finished(found, done)
            if on_result is not None:
                on_result(found)

        def progress(id: str, share: float) -> None:
            live.progress(id, share)
            if on_progress is not None:
                on_progress(id, share)

        return run_selected(chosen, seed, run, result, progress, jobs, executor)


def run_selected(
    claims: Sequence[Claim],
    seed: int = 0,
    run: str | Path | None = None,
    on_result: Callable[[Result], None] | None = None,
    on_progress: Callable[[str, float], None] | None = None,
    jobs: int | None = None,
    executor: concurrent.futures.Executor | None = None,
) -> Results:
    """Run these claims; otherwise like `verify`."""
    away = place_of(jobs, executor)
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
            here = Threads(1 if jobs == 1 else AT_A_TIME)
            run_claims(claims, marks, seed, folder, keep, here, away, on_progress)
        finally:
            remember(results, head, marks)
            KEPT.save()
    return Results(sorted(results, key=lambda r: r.id))


def header(seed: int) -> dict[str, Any]:
    """Return what results depend on besides the claims."""
    import jax

    device = jax.devices()[0]
    return {
        "version": __version__,
        "seed": seed,
        "jax": jax.__version__,
        "device": f"{device.platform}: {device.device_kind}",
    }


def machine() -> dict[str, Any]:
    """Return what a reader may want to know about the machine; results do not depend on it."""
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
    here: Threads | None = None,
    away: Place | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> None:
    """Run claims; results arrive in this thread, in the order they are done.

    **Arguments:** `marks`: each claim's fingerprint, taken before anything ran; `here`, `away`:
    where to run claims that only this process has, and all others.

    An exception in this thread (Ctrl-C, say) starts no further claim; what is running in this
    process or elsewhere is left running, and its result is dropped.
    """
    events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    say = lambda id, event: events.put((id, event))
    left: dict[str, Claim] = {}
    for claim in claims:
        known = folder.result(claim.id, marks[claim.id]) if folder else None
        if known is not None and known.verdict != Verdict.error:  # which may have been chance
            keep(claim.here(known))  # which may be of a run in another folder
        else:
            left[claim.id] = claim

    sent = [ClaimTask.of(c, marks[c.id], seed) for c in left.values()] if away is not None else []
    tasks = [task for task in sent if task is not None]
    gone = {task.id for task in tasks}
    here = Threads(AT_A_TIME) if here is None else here
    try:
        if away is not None:
            away.begin(tasks, say)
        here.begin([c for c in left.values() if c.id not in gone], seed, say)
        while left:
            try:
                id, event = events.get(timeout=0.2)  # short, so that Ctrl-C gets through
            except queue.Empty:
                continue
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, float):
                if on_progress is not None:
                    on_progress(id, event)
                continue
            result = _result(left.pop(id), event)
            try:
                if folder is not None:
                    folder.append(result, marks[id])
            finally:  # Ctrl-C while writing
                keep(result)
    finally:
        here.close()
        if away is not None:
            away.close()


def _result(claim: Claim, event: Any) -> Result:
    """Return the reported result, in whatever form it came."""
    if isinstance(event, Result):
        return event
    if isinstance(event, Failure):
        return claim.failed(event.why, event.seconds)
    return claim.here(Result.from_json(event))  # of a process that may be in another folder
