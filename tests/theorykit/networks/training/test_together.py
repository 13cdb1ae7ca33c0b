"""Training over two processes: the numbers of one. What is compared stands in `together.py`."""

import os
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
