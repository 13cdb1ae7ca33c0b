"""A real Dask scheduler with two workers, one of which is killed in the middle."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from theorykit.claims import load
from theorykit.places import connected
from theorykit.results import Verdict
from theorykit.runs import verify
from theorykit.runs._runner import as_json

pytestmark = pytest.mark.slow

CLAIMS = '''
import os, signal, time
from pathlib import Path
from theorykit import claim
from theorykit.checks import exhaustive

HERE = Path(__file__).parent

def over(predicate):
    false = dict(predicate=lambda n: n > 0)
    return exhaustive(predicate=predicate, universe=range(3), control=false)

def waits(n):
    (HERE / "started").write_text(str(os.getpid()))
    while not (HERE / "go").exists():
        time.sleep(0.1)
    return n >= 0

@claim("my.first")
def first():
    """It waits until the test has killed the worker that runs it."""
    return over(waits)

@claim("my.second")
def second():
    """Nothing happens."""
    return over(lambda n: n >= 0)

@claim("my.deadly")
def deadly():
    """Its worker is killed each time."""
    return over(lambda n: os.kill(os.getpid(), n + signal.SIGKILL))
'''


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler, and a function that starts a worker with a nanny."""
    folder = tmp_path_factory.mktemp("dask")
    environment = dict(os.environ, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
    running = []

    def start(*command, **more):
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=folder,
                env=environment | more,
                stderr=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        )
        return running[-1]

    file = folder / "scheduler.json"
    alone = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    start("distributed.cli.dask_scheduler", *alone)
    for _ in range(1200):
        if file.exists() and file.read_text():
            break
        time.sleep(0.1)
    import json

    address = json.loads(file.read_text())["address"]
    worker = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    worker += ["--preload", "theorykit.common.node"]
    for name in ("one", "two"):
        start(*worker, "--name", name)
    yield address
    for process in reversed(running):
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()


def same(one, other):
    plain = lambda results: [{**r, "seconds": 0} for r in as_json({}, results)["claims"]]
    return plain(one) == plain(other)


def test_a_worker_that_is_killed_costs_nothing(scheduler, tmp_path, registry):
    (tmp_path / "mine.py").write_text(CLAIMS)
    claims = {claim.id: claim for claim in load(tmp_path / "mine.py")}
    killed = []

    def kill(id, share):
        pass

    import threading

    def watch():
        started = tmp_path / "started"
        while not started.exists() or not started.read_text():
            time.sleep(0.1)
        killed.append(int(started.read_text()))
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / "go").touch()

    threading.Thread(target=watch, daemon=True).start()
    asked = [claims["my.first"], claims["my.second"]]
    with connected(f"dask:{scheduler}") as executor:
        found = verify(asked, executor=executor, run=tmp_path / "run")
        assert [r.verdict for r in found] == [Verdict.holds] * 2
        assert len(killed) == 1
        assert same(found, verify(asked))
        (dead,) = verify([claims["my.deadly"]], executor=executor)
        assert dead.verdict == Verdict.error
        assert dead.note.startswith("The workers that ran it died: ")
        # The scheduler lives, and its workers come back.
        assert same(verify([claims["my.second"]], executor=executor), found[1:])


def test_the_plain_client_of_the_docs_does(scheduler, tmp_path, registry):
    from distributed import Client

    (tmp_path / "mine.py").write_text(CLAIMS)
    (tmp_path / "go").touch()
    with Client(scheduler) as client:
        found = verify(
            [tmp_path / "mine.py", "my.first", "my.second"], executor=client.get_executor()
        )
    assert [r.verdict for r in found] == [Verdict.holds] * 2


def test_the_command_line_goes_there(scheduler, command, tmp_path):
    (tmp_path / "mine.py").write_text(CLAIMS)
    code, _, said = command("verify", "mine.py", "my.second", "--on", f"dask:{scheduler}")
    assert code == 0, said
    assert "[1/1] my.second holds" in said
