"""How far a fit has come: a bar on a terminal, lines elsewhere."""

import time
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from theorykit.common.progress import Bar

_SECONDS = 10.0  # between two lines


class Report:
    """A context manager whose display `show` advances.

    **Arguments:** `shown`: False for silence; `steps`: how many there are; `done`: already made.
    """

    def __init__(self, shown: bool, steps: int, done: int = 0):
        self.shown, self.steps = shown, steps
        self._bar = Bar(
            steps,
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[text]}"),
            shown=None if shown else False,
            done=done,
            fields={"text": "compiling"},
            refresh_per_second=4,
        )
        self._begun = time.monotonic()
        self._said = self._begun

    def show(
        self, step: int, metrics: Mapping[str, Float[np.ndarray, " seeds"]], running: int
    ) -> None:
        """Say what was measured at a step, and how many of the seeds are running."""
        if not self.shown:
            return
        parts = [f"{name} {value.mean():.4g}" for name, value in metrics.items()]
        if running < len(next(iter(metrics.values()))):
            parts.append(f"{running} running")
        text = "  ".join(parts)
        if self._bar.drawn:
            self._bar.update(step, text=text)
            return
        now = time.monotonic()
        if step >= self.steps or running == 0 or now - self._said >= _SECONDS:
            self._said = now
            self._bar.say(f"step {step} of {self.steps}  {text}  {now - self._begun:.1f} s")

    def __enter__(self) -> "Report":
        self._bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.__exit__()
