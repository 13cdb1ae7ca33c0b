"""Claims run in processes and executors as they do here, and what goes wrong there costs little."""

import concurrent.futures
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from theorykit.claims import load
from theorykit.places import TRIES, Failure, Gone, Mismatch, Processes, default_jobs, perform
from theorykit.results import Verdict
from theorykit.runs import fingerprint, verify
from theorykit.runs._runner import as_json
from theorykit.runs._task import ClaimTask

CLAIMS = '''
import functools, os, signal, time
import jax, jax.numpy as jnp
import numpy as np
from theorykit import claim
from theorykit.checks import exhaustive, identity
from theorykit.domains import inputs, reals

def over(predicate):
    false = dict(predicate=lambda n: n > 0)
    return exhaustive(predicate=predicate, universe=range(3), control=false)

@claim("my.holds")
def holds():
    """Random points are as anywhere."""
    return identity(
        lhs=lambda x: jnp.sin(2 * x),
        rhs=lambda x: 2 * jnp.sin(x) * jnp.cos(x),
        over=inputs(x=reals()),
        control=dict(rhs=lambda x: jnp.sin(x) + 0.1),
    )

@claim("my.killed")
def killed():
    """The process is killed."""
    return over(lambda n: os.kill(os.getpid(), n + signal.SIGKILL))

@claim("my.large")
def large():
    """More memory than there may be."""
    return over(lambda n: np.ones(10**12).sum() > n)

@claim("my.arrays")
def arrays():
    """The same with JAX."""
    return over(lambda n: jnp.ones(10**12).sum() > n)

@claim("my.endless")
def endless():
    """It hangs."""
    return over(lambda n: time.sleep(1000 + n))

def fork(n):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return n >= 0

@claim("my.forks")
def forks():
    """Its children go on as if they were the process."""
    return over(fork)
'''


@pytest.fixture
def claims(tmp_path, registry):
    """The claims of a file, by id."""
    file = tmp_path / "mine.py"
    file.write_text(CLAIMS)
    return {claim.id.removeprefix("my."): claim for claim in load(file)}


def same(one, other):
    """Whether two lists of results are the same but for the time that they took."""
    plain = lambda results: [{**r, "seconds": 0} for r in as_json({}, results)["claims"]]
    return plain(one) == plain(other)


def test_processes_find_what_this_one_finds_and_one_that_dies_costs_one_claim(claims, tmp_path):
    asked = [claims["holds"], claims["killed"], claims["large"], claims["arrays"]]
    heard = []
    found = verify(
        asked, jobs=2, run=tmp_path / "run", on_progress=lambda id, share: heard.append(id)
    )
    arrays, holds, killed, large = found  # by id
    assert holds.verdict == Verdict.holds
    assert same([holds], verify([claims["holds"]]))
    assert killed.verdict == large.verdict == arrays.verdict == Verdict.error
    assert "SIGKILL" in killed.note
    assert re.search(r"MemoryError: .*\(mine.py:\d+\), 2 times. It may use .* GiB", large.note)
    assert re.search(r"RESOURCE_EXHAUSTED.*, 2 times. It may use .* GiB", arrays.note)
    for name in ("killed", "large", "arrays"):
        assert heard.count(f"my.{name}") == TRIES
    lines = (tmp_path / "run" / "results.jsonl").read_text().splitlines()
    assert {json.loads(line)["result"]["id"] for line in lines} == {r.id for r in found}


def told(place, tasks):
    """Return what a place says of tasks, in the end."""
    said, done = {}, threading.Event()

    def say(id, event):
        said[id] = event
        if len(said) == len(tasks) and not any(isinstance(e, float) for e in said.values()):
            done.set()

    place.begin(tasks, say)
    assert done.wait(60)
    place.close()
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_child_that_a_claim_forks_has_nothing_to_say(claims):
    asked = [claims["forks"], claims["holds"]]
    heard = told(Processes(1), [ClaimTask.of(c, fingerprint(c), 0) for c in asked])
    assert {id: said["id"] for id, said in heard.items()} == {c.id: c.id for c in asked}
    assert {said["verdict"] for said in heard.values()} == {"holds"}


def test_a_claim_that_hangs_is_ended(claims):
    task = dataclasses.replace(ClaimTask.of(claims["endless"], "", 0), longest=0.2)
    (said,) = told(Processes(1), [task]).values()
    assert isinstance(said, Failure)
    assert "did not end within 0.00333 minutes, 2 times" in said.why


def test_the_executor_decides_where(claims):
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        assert same(verify([claims["holds"]], executor=executor), verify([claims["holds"]]))
    with pytest.raises(ValueError, match=r"accepts no more work: .*shutdown"):
        verify([claims["holds"]], executor=executor)  # which is shut down


def test_a_worker_with_other_code_ends_the_run(claims, monkeypatch):
    task = ClaimTask.of(claims["holds"], "another", 0)
    with pytest.raises(Mismatch, match="code that it reaches, differs"):
        perform(task)
    for name in ("theorykit", "jax"):
        others = task.versions | {name: "none"}
        with pytest.raises(Mismatch, match=f"has {name} .*, the one that asks none; install the"):
            perform(dataclasses.replace(task, versions=others))
    monkeypatch.setattr("theorykit.runs._runner.fingerprint", lambda claim: "another")
    with (
        concurrent.futures.ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match="edited in the meantime"),
    ):
        verify([claims["holds"]], executor=executor)


class Cancelling(concurrent.futures.Executor):
    """Takes claims, and gives them up."""

    def submit(self, function, *args, **options):
        future = concurrent.futures.Future()
        future.cancel()
        return future


def test_an_executor_that_gives_claims_up_ends_the_run(claims, tmp_path):
    """It is no fault of the claims: they have no result, and the same command goes on with them."""
    with pytest.raises(Gone, match="dropped work that it had accepted"):
        verify([claims["holds"]], executor=Cancelling(), run=tmp_path / "run")
    (found,) = verify([claims["holds"]], run=tmp_path / "run")
    assert found.verdict == Verdict.holds


def test_a_system_that_starts_no_process_ends_the_run(claims, monkeypatch):
    def full(*_):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("theorykit.places._processes._Process", full)
    with pytest.raises(OSError, match="temporarily unavailable"):
        verify([claims["holds"], claims["large"]], jobs=2)


class Dying(concurrent.futures.Executor):
    """Loses its worker the first `times` times."""

    def __init__(self, times, error=None):
        self.left, self.error = times, error or RuntimeError("the worker is gone")

    def submit(self, function, *args, **options):
        future = concurrent.futures.Future()
        self.left -= 1
        if self.left >= 0:
            future.set_exception(self.error)
        else:
            future.set_result(function(*args, **options))
        return future


@pytest.mark.parametrize(("times", "verdict"), [(1, "holds"), (2, "error")])
def test_an_executor_has_a_second_try(claims, times, verdict):
    (found,) = verify([claims["holds"]], executor=Dying(times))
    assert found.verdict == verdict


def test_an_executor_that_has_tried_again_itself_has_no_second_try(claims):
    killed = type("KilledWorker", (Exception,), {})("died 2 times")  # as Dask calls it
    (found,) = verify([claims["holds"]], executor=Dying(1, killed))
    assert found.verdict == Verdict.error
    assert found.note == "The workers that ran it died: died 2 times."


def test_workers_without_the_code_end_the_run(claims):
    with pytest.raises(Gone, match="cannot take the work: No module named 'mine'"):
        verify([claims["holds"]], executor=Dying(1, ModuleNotFoundError("No module named 'mine'")))


def test_a_full_disk_ends_the_run_and_loses_nothing(claims, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    first = verify([claims["holds"]], run=folder)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("theorykit.runs._folder.os.fsync", full)
        with pytest.raises(ValueError, match=r"run cannot be written \(No space left"):
            verify([claims["holds"], claims["large"]], run=folder)
    again = verify([claims["holds"], claims["large"]], run=folder)
    assert same([r for r in again if r.id == "my.holds"], first)
    assert len(again) == 2


def test_a_claim_of_a_notebook_runs_here(claims):
    namespace = {"__name__": "__main__"}
    exec(CLAIMS.replace('"my.', '"cell.'), namespace)
    (found,) = verify([namespace["holds"]], executor=Dying(99))
    assert found.verdict == Verdict.holds


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_processes_is_refused(claims, jobs):
    with pytest.raises(ValueError, match="jobs is a whole number"):
        verify([claims["holds"]], jobs=jobs)


def test_jobs_and_an_executor_are_two_answers_to_one_question(claims):
    with pytest.raises(ValueError, match="not both"):
        verify([claims["holds"]], jobs=1, executor=Dying(0))
    with pytest.raises(ValueError, match="Executor, got int"):
        verify([claims["holds"]], executor=3)
    assert default_jobs() >= 1


@pytest.mark.slow
def test_a_script_without_a_guard_may_ask_for_processes(claims, tmp_path):
    script = tmp_path / "script.py"
    ask = "print([r.verdict.value for r in verify(['mine.py', 'my.holds', 'my.large'], jobs=2)])"
    script.write_text(f"from theorykit import verify\n{ask}\n")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['holds', 'error']\n"


# A job in the background begins with the signal ignored.
HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from theorykit.cli import main
main()
"""


def test_ctrl_c_ends_the_processes(claims, tmp_path):
    asked = ["verify", "mine.py", "my.holds", "my.endless", "--jobs", "2", "--run", "run"]
    process = subprocess.Popen(
        [sys.executable, "-c", HEARING, *asked],
        cwd=tmp_path,
        env=dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache")),
        start_new_session=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    for line in process.stderr:
        if "my.holds" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)  # until the last child has let go of it
    assert process.returncode == 130
    assert "to continue: " in said
