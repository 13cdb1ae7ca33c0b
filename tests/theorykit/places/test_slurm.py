"""A sweep on a real Slurm: submitted, cancelled, gone on with, with a job lost on the way."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.cluster

FIGURES = '''
import functools
import jax, jax.numpy as jnp
import numpy as np
from flax import nnx
from theorykit.experiments import Adam, Curves, Plan, over_seeds, reproduces
from theorykit.networks.training import OnData

X = np.linspace(-1, 1, 8, dtype=np.float32)[:, None]

class Waves(nnx.Module):
    def __init__(self, width, rngs):
        self.weights = nnx.Param(jax.random.normal(rngs.params(), (2, width)))

    def __call__(self, x):
        return jnp.sin(x * self.weights[0]) @ self.weights[1:].T

def error(fit):
    return over_seeds(fit, lambda network: jnp.abs(network(X[0]) - 1).sum())()

def at(width, setting):
    make = functools.partial(Waves, width)
    plan = Plan(OnData(X, X**2, minibatch=4), make, Adam(1e-2), steps=240, every=4, seeds=2)
    return setting.call(error, plan.train(setting, f"width_{width}"))

@reproduces("slurm", "widths", ref="Fig. 1")
def widths(setting):
    """Errors against the width."""
    found = setting.each(at, [(w, setting) for w in (4, 8)])
    return Curves("width", (4, 8), {"waves": np.array(found)}, "error").finding("it falls")
'''

SWEEP = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
import slurm_figures
from theorykit.experiments import Setting, _training
from theorykit.places import connected
_training.LEG = 0.0  # each chunk is a task
say = lambda line: print(line, file=sys.stderr, flush=True)
with connected(sys.argv[2] if len(sys.argv) > 2 else None, say) as executor:
    setting = Setting(folder=Path(sys.argv[1]), say=say)
    slurm_figures.widths.run(setting, executor=executor)
"""


@pytest.fixture
def sweep(tmp_path):
    """Start a sweep with a run folder, and perhaps a cluster."""
    (tmp_path / "slurm_figures.py").write_text(FIGURES)
    (tmp_path / "sweep.py").write_text(SWEEP)
    environment = dict(
        os.environ, PYTHONPATH=str(tmp_path), NPROC="1", XDG_CACHE_HOME=str(tmp_path / "cache")
    )
    running = []

    def start(*arguments):
        command = [sys.executable, "sweep.py", *arguments]
        running.append(
            subprocess.Popen(
                command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
            )
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()


def queue():
    """Return the ids of jobs that Slurm has."""
    found = subprocess.run(["squeue", "-h", "-o", "%i"], capture_output=True, text=True, check=True)
    return found.stdout.split()


def until(process, word):
    """Read what it says until a line has this word."""
    said = []
    for line in process.stderr:
        said.append(line)
        if word in line:
            return line
    raise AssertionError(f"it ended without {word}: {''.join(said)}")


def empty():
    for _ in range(600):
        if not queue():
            return True
        time.sleep(0.1)
    return False


ON = "slurm:jobs=2,time=00:30:00,mem=1500M"


def test_a_sweep_is_cancelled_and_goes_on_to_the_same_numbers(sweep, tmp_path):
    assert not queue()
    first = sweep("away", ON)
    until(first, "2 jobs were submitted to Slurm")
    until(first, "step 8 of 240")
    assert len(queue()) == 2
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=240)[1]
    assert first.returncode != 0, said
    assert "KeyboardInterrupt" in said
    assert empty(), queue()  # its jobs are cancelled
    assert not (tmp_path / "away" / "finding.json").exists()
    kept = [int(p.name) for p in (tmp_path / "away").glob("width_*/checkpoints/*")]
    assert max(kept) >= 8

    second = sweep("away", ON)
    line = until(second, " of 240")
    assert int(line.split()[-3]) > 4  # no step is made twice
    subprocess.run(["scancel", queue()[0]], check=True)  # a job that is lost
    said = second.communicate(timeout=500)[1]
    assert second.returncode == 0, said
    assert empty(), queue()

    here = sweep("here")
    assert here.wait(300) == 0
    found = [json.loads((tmp_path / f / "finding.json").read_text()) for f in ("away", "here")]
    assert found[0] == found[1]


def test_what_slurm_refuses_is_said(sweep):
    refused = sweep("away", "slurm:partition=nowhere")
    said = refused.communicate(timeout=240)[1]
    assert "ValueError: Slurm refuses this job: " in said
    assert "invalid partition" in said.lower()


def test_claims_go_there_too(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "theorykit.cli", "verify", "capture.E1.value", "--on",
         "slurm:jobs=1,mem=1500M"],
        cwd=tmp_path, env=dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache")),
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[1/1] capture.E1.value holds" in done.stderr
    assert empty()
