"""Set up a process before its first task, so that all processes compute the same bits.

Dask workers can be told to do this before they import anything: `dask worker ADDRESS --preload
theorykit.common.node`.
"""

import os
from typing import Any

from theorykit.common.compiled import keep_compiled

ONE_THREAD = {"NPROC": "1"}
"""Tells XLA the number of cores; with more than one it splits some sums over threads."""


def one_thread() -> None:
    """Make XLA compute in one thread, unless the user has set another number.

    This takes effect only if JAX has computed nothing yet.
    """
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)


def dask_setup(worker: Any) -> None:
    """Prepare a Dask worker, which calls this on startup: one thread, and a compilation cache."""
    one_thread()
    keep_compiled()
