"""A worker process: it reads tasks and writes results.

It is started by `_processes`, not by `multiprocessing`, which would run the caller's script again
in each process. It communicates through standard input and output; what tasks print goes to
standard error.
"""

import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from theorykit.common.memory import bound, exhausted

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from theorykit.places._worker import serve; serve(int(sys.argv[2]))"
)


def serve(most_memory: int) -> None:
    """Run incoming tasks until there are no more; 0 means no bound on memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks handles Ctrl-C
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, tasks.put), daemon=True).start()
    if most_memory:
        bound(most_memory)
    from theorykit.places._task import Exhausted, Failure, Mismatch, Seldom, let_go, perform

    own = os.getpid()

    def say(what: Any) -> None:
        if os.getpid() != own:  # a claim has forked, and this is the child; it must not answer
            os._exit(0)
        pickle.dump(what, out)
        out.flush()

    while True:
        task, start = tasks.get(), time.monotonic()
        try:
            said: Any = perform(task, Seldom(say))
        except Mismatch as error:
            said = error
        except BaseException as error:
            why = str(error) or type(error).__name__
            said = Exhausted(why) if exhausted(error) else Failure(why, time.monotonic() - start)
        say(said)
        let_go()


def _read(source: IO[bytes], put: Callable[[Any], None]) -> None:
    """Forward incoming tasks; at the end of the input, nobody waits for this process."""
    while True:
        try:
            put(pickle.load(source))
        except Exception:
            os._exit(0)
