"""Clusters by name, as in `--on` on the command line: `dask:ADDRESS`, `slurm[:options]`.

Both use Dask: on Slurm, each submitted job is a Dask worker (dask-jobqueue), which imports
theorykit once and then runs one task after another.
"""

import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any

from theorykit.common.compiled import cache_home
from theorykit.common.node import ONE_THREAD

WAIT = 20.0
"""Seconds to wait for an answer from a scheduler."""

FORMS = "dask:ADDRESS, such as dask:tcp://10.0.0.1:8786, or slurm, or slurm:jobs=8,time=02:00:00"

SLURM = {"jobs": "4", "time": "01:00:00", "mem": "4G", "cpus-per-task": "1"}
"""Default options of a Slurm job; all except `jobs` are options of `sbatch`."""

UNWATCHED = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""Dask's profiler asks for all threads' frames every 10 ms, in which Python 3.11 may deadlock
(cpython issue 106883): a worker then hangs for ever."""


@contextlib.contextmanager
def connected(
    on: str | None, say: Callable[[str], None] = lambda line: None
) -> Iterator[Executor | None]:
    """Return a scope with the executor of a cluster, or with None if none is requested.

    **Arguments:** `on`: `"dask:ADDRESS"`, a running scheduler; or `"slurm"`, with options of
    `sbatch` after a colon, as in `"slurm:jobs=8,partition=short,time=02:00:00"`, where `jobs` is
    the number of jobs, each with one worker per CPU. They end with the scope. `say`: called with a
    sentence that says what is being waited for.

    **Raises:** `ValueError` for an unknown kind, options that Slurm refuses, no scheduler at the
    address, or if Dask is missing; `theorykit[cluster]` installs it.
    """
    if on is None:
        yield None
        return
    kind, _, rest = on.partition(":")
    if kind not in ("dask", "slurm") or (kind == "dask") > bool(rest):
        raise ValueError(f"--on is {FORMS}; not {on!r}.")
    try:
        import dask
        import distributed

        if kind == "slurm":
            _import_jobqueue()
    except ImportError as error:
        raise ValueError(
            f"--on {kind} needs {error.name}, which is not installed: "
            "pip install 'theorykit[cluster]'."
        ) from None
    options = slurm_options(rest) if kind == "slurm" else {}
    quiet = {"distributed.scheduler.allowed-failures": 1, "distributed.comm.timeouts.connect": WAIT}
    with contextlib.ExitStack() as stack:
        stack.enter_context(_silent("distributed"))
        stack.enter_context(dask.config.set(quiet))
        where: Any = rest
        try:
            if kind == "slurm":
                where = stack.enter_context(_slurm(options, say))
            else:  # a client that finds nobody would keep trying
                at = _place(rest)
                socket.create_connection(at, WAIT).close()
            client = distributed.Client(where, timeout=WAIT, set_as_default=False)
        except OSError as error:  # including time-outs
            why = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"no Dask scheduler answers at {rest or on}: {why}.") from None
        stack.enter_context(client)
        if kind == "dask" and not client.scheduler_info(n_workers=-1)["workers"]:
            say(f"The scheduler at {rest} has no worker yet; the work waits for one.")
        yield client.get_executor(pure=False)


def _place(address: str) -> tuple[str, int]:
    """Return host and port of a scheduler's address.

    **Raises:** `ValueError` for text that is none.
    """
    import distributed

    try:
        return distributed.comm.get_address_host_port(address)
    except (ValueError, TypeError):
        raise ValueError(f"--on is {FORMS}; {address!r} is no address with a port.") from None


def _import_jobqueue() -> None:
    """Import dask_jobqueue and restore signal handlers, since it makes Ctrl-C a silent exit."""
    before = {sign: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        import dask_jobqueue  # noqa: F401
    finally:
        for sign, handler in before.items():
            if signal.getsignal(sign) is not handler:
                signal.signal(sign, handler)


def slurm_options(text: str) -> dict[str, str]:
    """Return `SLURM` updated with options in text such as `jobs=8,time=02:00:00`.

    **Raises:** `ValueError` for text that is not options, or an invalid number of jobs or CPUs.
    """
    given = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not value or not re.fullmatch(r"[a-z][a-z-]*", name):
            raise ValueError(
                "options of slurm are name=value, separated by commas, as in "
                f"slurm:jobs=8,partition=short,time=02:00:00; not {part!r}."
            )
        given[name] = value
    options = SLURM | given
    for name in ("jobs", "cpus-per-task"):
        if not re.fullmatch(r"[1-9][0-9]{0,5}", options[name]):
            raise ValueError(
                f"{name} of slurm is a whole number of at least 1, not {options[name]!r}."
            )
    if not re.fullmatch(r"[1-9][0-9]*[KMGT]?", options["mem"]):
        raise ValueError(
            "mem of slurm is an amount of memory as sbatch takes it, such as 4G; not "
            f"{options['mem']!r}."
        )
    return options


@contextlib.contextmanager
def _slurm(options: Mapping[str, str], say: Callable[[str], None]) -> Iterator[Any]:
    """Return a scope with a Dask scheduler in this process whose workers are Slurm jobs."""
    from dask_jobqueue import SLURMCluster

    if shutil.which("sbatch") is None:
        raise ValueError(
            "--on slurm needs a machine that can submit jobs to Slurm; this one has no sbatch."
        )
    own = {"jobs", "cpus-per-task", "mem", "time", "partition", "account", "interface"}
    cpus, unit = int(options["cpus-per-task"]), options["mem"].lstrip("0123456789") or "M"
    environment = {
        **ONE_THREAD,
        **UNWATCHED,
        **{n: os.environ[n] for n in (*ONE_THREAD, "PYTHONPATH") if n in os.environ},
    }
    cluster = SLURMCluster(
        cores=cpus,
        processes=cpus,
        memory=f"{options['mem'].rstrip('KMGT')}{unit}iB",
        job_mem=options["mem"],
        walltime=options["time"],
        queue=options.get("partition"),
        account=options.get("account"),
        interface=options.get("interface"),
        job_extra_directives=[f"--{n}={v}" for n, v in options.items() if n not in own],
        job_script_prologue=[f"export {n}='{v}'" for n, v in environment.items()],
        job_name="theorykit",
        log_directory=str(cache_home() / "slurm"),
        worker_extra_args=["--preload", "theorykit.common.node"],
        python=sys.executable,
        scheduler_options={"dashboard_address": ":0"},
    )
    with cluster:
        tried = subprocess.run(
            ["sbatch", "--test-only"], input=cluster.job_script(), capture_output=True, text=True
        )
        if tried.returncode:
            why = " ".join(tried.stderr.split()).removesuffix(".")
            raise ValueError(f"Slurm rejects this job: {why}.")
        jobs = int(options["jobs"])
        # Not `scale`, so that a job that ends early is replaced.
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        say(f"{jobs} jobs were submitted to Slurm; their output is in {cache_home() / 'slurm'}.")
        yield cluster


@contextlib.contextmanager
def _silent(name: str) -> Iterator[None]:
    """Return a scope in which a library logs nothing; errors are reported in a sentence."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
