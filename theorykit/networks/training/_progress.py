"""How far a fit has come: a bar on a terminal, lines elsewhere."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_SECONDS = 10.0  # between two lines


class Report:
    """A context manager that `show` moves on.

    **Arguments:** `shown`: False for silence; `steps`: how many there are; `done`: already made.
    """

    def __init__(self, shown: bool, steps: int, done: int = 0):
        self.shown, self.steps, self.done = shown, steps, done
        self._bar: Progress | None = None
        console = Console(stderr=True)
        if shown and console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            text = TextColumn("{task.fields[text]}")
            self._bar = Progress(*columns, text, console=console, refresh_per_second=4)
            self._task = self._bar.add_task("", total=steps, completed=done, text="compiling")
        self._begun = time.monotonic()
        self._said = self._begun

    def show(self, step: int, metrics: dict[str, Any], running: int) -> None:
        """Say what was measured at a step; `metrics` have an entry a seed."""
        if not self.shown:
            return
        parts = [f"{name} {value.mean():.4g}" for name, value in metrics.items()]
        if running < len(next(iter(metrics.values()))):
            parts.append(f"{running} running")
        text = "  ".join(parts)
        if self._bar is not None:
            self._bar.update(self._task, completed=step, text=text)
            return
        now = time.monotonic()
        if step >= self.steps or running == 0 or now - self._said >= _SECONDS:
            self._said = now
            line = f"step {step} of {self.steps}  {text}  {now - self._begun:.1f} s"
            print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> "Report":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
