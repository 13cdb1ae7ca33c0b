"""A fit under way: chunks are dispatched one ahead, and their metrics read as they end."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int

from theorykit.common.precision import in_force
from theorykit.networks.training._checkpoints import Checkpoints, Shared
from theorykit.networks.training._chunk import Metrics
from theorykit.networks.training._history import History
from theorykit.networks.training._program import Program, Train
from theorykit.networks.training._progress import Report
from theorykit.networks.training._result import Diverged, Fit, Paused, Seconds
from theorykit.networks.training._state import State
from theorykit.networks.training._together import agreed, is_first


class Sent(NamedTuple):
    """A chunk that was dispatched to the device.

    **Fields:** `at`: when; `end`: how many steps are made after it; `metrics`, `stopped_at`,
    `diverged_at`: its results; `saved`: a copy of its state, if checkpoints are kept; `ready`: when
    its metrics were there.
    """

    at: float
    end: int
    metrics: Metrics
    stopped_at: Int[Array, " seeds"]
    diverged_at: Int[Array, " seeds"]
    saved: State | None
    ready: "Future[float]"


class Run:
    """One call of `fit`: what has been trained and measured, from the newest checkpoint on.

    **Arguments:** `seeds`: their numbers; `steps`, `every`: as in `fit`; `kept`: an open folder.
    """

    def __init__(
        self,
        program: Program,
        seeds: list[int],
        steps: int,
        every: int,
        kept: Checkpoints | Shared | None,
    ):
        self.program, self.seeds, self.kept = program, seeds, kept
        self._several, self._copier = program.placement.several, program.placement.copier
        self.steps, self.every = steps, every
        self.ends: list[int] = []
        self.rows: dict[str, list[np.ndarray]] = {
            name: [] for name in ["loss", *sorted(program.metrics.keys() - {"loss"})]
        }
        self.total = self.inside = self.compiling = 0.0
        self.state: Any = None  # a State, from the first step on
        self.sent = 0  # steps that were sent off
        self._look: Callable[[Any], Any]
        self._copy: Callable[[Any], Any]
        if kept is not None and (found := kept.newest(program.shapes)) is not None:
            self.sent, state, past = found
            self.state = program.placement.put_seeds(state)
            self.ends = past[0].tolist()
            for rows, values in zip(self.rows.values(), past[1:], strict=True):
                rows.extend(values)

    def to_the_end(self, progress: bool, seconds: float | None = None) -> Fit:
        """Train until all steps are made or all seeds have stopped.

        **Raises:** `Diverged`; `Paused` after so many seconds, once there is a checkpoint.
        """
        begun = time.perf_counter()
        if self.state is None:
            self.state = self.program.first()
        self._look = self._copier(_marks(self.state))
        over = self._over(self.sent, np.asarray(self._look(_marks(self.state))[0]))
        if not over:
            train = self.program.compile(self.state)
            if self.kept is not None:
                self._copy = self._copier(self.state)
            jax.block_until_ready(self.state)
            self.compiling = time.perf_counter() - begun
            begun = time.perf_counter()
            shown = progress and (is_first() or not self._several)
            with Report(shown, self.steps, self.sent) as report:
                self._loop(train, report, begun, seconds)
        if self.kept is not None:
            self.kept.end(self.history())
        self.total = 0.0 if over else time.perf_counter() - begun
        return self.result()

    def history(self) -> History:
        """Return the history so far."""
        none = np.zeros((0, len(self.seeds)))
        values = {name: np.stack(rows) if rows else none for name, rows in self.rows.items()}
        return History(self.ends, values, self.seeds)

    def result(self) -> Fit:
        """Return everything so far."""
        seconds = Seconds(self.total, self.inside, self.compiling)
        state = self._copier(self.state)(self.state) if self._several else self.state
        return Fit(self.history(), state, seconds, self.program.graph, in_force())

    def _decided(self, decision: bool) -> bool:
        """Return the decision of this process, or of the first of those that train together."""
        return agreed(lambda: decision) if self._several else decision

    def _over(self, step: int, stopped_at: np.ndarray) -> bool:
        return step >= self.steps or bool((stopped_at >= 0).all())

    def _loop(self, train: Train, report: Report, begun: float, seconds: float | None) -> None:
        late = False
        # The next chunk waits on the device while the host reads the metrics of the last one.
        waiting: deque[Sent] = deque()
        watcher = ThreadPoolExecutor(1)
        ended = begun
        try:
            while waiting or (self.sent < self.steps and not late):
                while self.sent < self.steps and len(waiting) < 2 and not late:
                    waiting.append(self._send(train, watcher))
                chunk = waiting.popleft()
                ready = chunk.ready.result()
                self.inside += ready - max(chunk.at, ended)
                ended = ready
                late = late or (seconds is not None and self._decided(ready - begun >= seconds))
                if self._take_in(chunk, report, begun, last=late and not waiting):
                    return
            if self.sent < self.steps and self.kept is not None:
                self.kept.finish()
                raise Paused(self.sent)
        finally:
            watcher.shutdown(wait=False, cancel_futures=True)

    def _send(self, train: Train, watcher: ThreadPoolExecutor) -> Sent:
        """Dispatch the next chunk to the device, without waiting for it."""
        at, count = time.perf_counter(), min(self.every, self.steps - self.sent)
        self.state, metrics = train(self.state, self.sent, count)
        self.sent += count
        stopped_at, diverged_at = self._look(_marks(self.state))
        return Sent(
            at,
            self.sent,
            metrics,
            stopped_at,
            diverged_at,
            None if self.kept is None else self._copy(self.state),
            watcher.submit(_when_ready, metrics),
        )

    def _take_in(self, chunk: Sent, report: Report, begun: float, last: bool) -> bool:
        """Note what a chunk measured, keep its state, and return whether training is over.

        **Arguments:** `last`: whether no other chunk follows, so that its state has to be kept.
        """
        stopped, diverged = np.asarray(chunk.stopped_at), np.asarray(chunk.diverged_at)
        self.ends.append(chunk.end)
        for name, rows in self.rows.items():
            rows.append(np.array(chunk.metrics[name]))
        if (diverged >= 0).any():
            self.total = time.perf_counter() - begun
            raise Diverged(self._complaint(diverged), self.result())
        newest = {name: rows[-1] for name, rows in self.rows.items()}
        report.show(chunk.end, newest, int((stopped < 0).sum()))
        over = self._over(chunk.end, stopped)
        kept, saved = self.kept, chunk.saved
        if kept is not None and saved is not None and (over or last or not kept.busy()):
            past = [np.asarray(self.ends), *(np.stack(rows) for rows in self.rows.values())]
            kept.save(chunk.end, saved, past)
        return over

    def _complaint(self, diverged: Int[np.ndarray, " seeds"]) -> str:
        first = int(np.argmin(np.where(diverged >= 0, diverged, np.iinfo(diverged.dtype).max)))
        others = int((diverged >= 0).sum()) - 1
        more = f"{others} more seed{'s' * (others > 1)}"
        also = f", and {more} in the same chunk" if others else ""
        return (
            f"the loss or a parameter is not finite after step {diverged[first]} of seed "
            f"{self.seeds[first]}{also}; .fit holds what was trained until then."
        )


def _marks(state: State) -> tuple[Array, Array]:
    return state.stopped_at, state.diverged_at


def _when_ready(arrays: Any) -> float:
    jax.block_until_ready(arrays)
    return time.perf_counter()
