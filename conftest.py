"""How the tests compile: plainly, and each program once.

Most of their time would go into making programs fast that run once. So XLA leaves out what costs it
most, which is less than a fifth of its usual time; `theorykit verify` and the notebooks run as
users have it. What was compiled is kept in .pytest_cache/d/jax for the other workers and the runs
that follow. JAX finds a program by what it is, how it is compiled and by which versions, so what a
change of the code touches is compiled anew. `pytest --cache-clear` empties the folder.
"""

import gc
import os
from pathlib import Path

import jax
import pytest

PLAINLY = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
ROOM = 256 * 2**20  # bytes that are kept; a run of all tests leaves less

# Tracing makes many objects and few cycles: Python would look for them too often.
gc.set_threshold(50_000, 20, 50)

# The variable reaches the processes that tests start: they have to agree to the last bit.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {PLAINLY}".strip()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have JAX keep what it compiles, if pytest keeps anything."""
    if not config.pluginmanager.has_plugin("cacheprovider"):
        return
    folder = config.cache.mkdir("jax")
    if not hasattr(config, "workerinput"):  # before there is a worker that reads or writes
        make_room(folder)
    # No variables: a process that a test kills could leave half a program behind.
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def make_room(folder: Path) -> None:
    """Delete the oldest programs of a folder that has grown too large."""
    stats = [(file.stat(), file) for file in folder.iterdir()]
    excess = sum(stat.st_size for stat, _ in stats) - ROOM
    for stat, file in sorted(stats, key=lambda pair: pair[0].st_mtime):
        if excess <= 0:
            break
        file.unlink()
        excess -= stat.st_size
