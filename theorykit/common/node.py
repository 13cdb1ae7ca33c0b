"""What a process does before its first task, so that it computes the bits that others compute.

Whoever starts Dask workers can have them do it before they import anything:
`dask worker ADDRESS --preload theorykit.common.node`.
"""

import os
from typing import Any

from theorykit.common.compiled import keep_compiled

ONE_THREAD = {"NPROC": "1"}
"""What XLA takes for the number of cores. With more it shares some sums among its threads."""


def one_thread() -> None:
    """Let XLA compute in one thread, unless the user has set another number of them.

    It takes effect if JAX has computed nothing yet.
    """
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)


def dask_setup(worker: Any) -> None:
    """Prepare a Dask worker, which calls this as it starts: one thread, and compiled code kept."""
    one_thread()
    keep_compiled()
