"""Training over two processes: the numbers of one. What is compared stands in `together.py`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = [sys.executable, str(Path(__file__).with_name("together.py"))]


@pytest.mark.slow
def test_two_processes_give_the_numbers_of_one(tmp_path, two_processes, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    # The same programs are compiled many times.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    flags = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [*SCRIPT, str(tmp_path)],
        env=os.environ | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert not done.returncode, done.stderr
    for said in two_processes([*SCRIPT, str(tmp_path)], timeout=1200):
        assert "the same numbers" in said


LOST = """
import os, signal, sys
import jax
import numpy as np

jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
from problems import small

mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(-1, 1), ("data", "seed"))
train = lambda: small(seeds=1, batch=8, steps=2, every=1, mesh=mesh)
train()
if sys.argv[2] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
try:
    train()
except ValueError as error:
    print(error, flush=True)
os._exit(0)  # JAX would wait for the other one
"""


@pytest.mark.slow
def test_a_process_that_is_lost_is_a_sentence(two_processes, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    said, _ = two_processes([sys.executable, "-c", LOST], timeout=600, codes=(0, -signal.SIGKILL))
    assert "2 processes train together, and cannot go on (JaxRuntimeError: " in said
