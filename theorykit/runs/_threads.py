"""Claims that run in threads of this process, as those of a notebook must."""

import functools
import queue
import threading
from collections.abc import Sequence

from theorykit.claims import Claim
from theorykit.places import Said, Seldom, let_go

AT_A_TIME = 2
"""Claims that run at once in one process: compilation leaves Python free, so two fill two cores."""


class Threads:
    """Threads of this process. Claims that are running when they are closed are left running."""

    def __init__(self, at_a_time: int):
        self._at_a_time = at_a_time
        self._stop = threading.Event()

    def begin(self, claims: Sequence[Claim], seed: int, say: Said) -> None:
        """Start on claims."""
        waiting: queue.SimpleQueue[Claim] = queue.SimpleQueue()
        for claim in claims:
            waiting.put(claim)

        def work() -> None:
            while not self._stop.is_set():
                try:
                    claim = waiting.get_nowait()
                except queue.Empty:
                    return
                say(claim.id, 0.0)
                try:
                    say(claim.id, claim.run(seed, Seldom(functools.partial(say, claim.id))))
                except BaseException as error:  # handed to the thread that waits
                    say(claim.id, error)
                let_go()

        for _ in range(min(self._at_a_time, len(claims))):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """Start no further claim."""
        self._stop.set()
