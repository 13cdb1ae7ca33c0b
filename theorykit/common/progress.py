"""How far long work has come: a bar on standard error where that is a terminal."""

import sys
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class Bar:
    """A bar while the context lasts; where none is drawn, its updates do nothing.

    **Arguments:**

    - `total`: what `completed` grows to, from `done`.
    - `columns`: what the bar shows; a text column may name `fields` of its own.
    - `shown`: whether to draw it; None: if standard error is a terminal.
    - `console`: where to; None: standard error.
    - `options`: of `rich.progress.Progress`.
    """

    def __init__(
        self,
        total: int,
        *columns: ProgressColumn,
        shown: bool | None = None,
        done: int = 0,
        console: Console | None = None,
        fields: dict[str, Any] | None = None,
        **options: Any,
    ):
        self.console = Console(stderr=True) if console is None else console
        # Asked of the stream: FORCE_COLOR, which Jupyter sets, makes no terminal of a pipe.
        self.drawn = sys.stderr.isatty() if shown is None else shown
        self._display = Progress(*columns, console=self.console, **options)
        self._task = self._display.add_task("", total=total, completed=done, **(fields or {}))

    def update(self, completed: float, **fields: Any) -> None:
        """Say how much is done by now, and what the columns' fields are."""
        if self.drawn:
            self._display.update(self._task, completed=completed, **fields)

    def advance(self, share: float) -> None:
        """Say that this much more is done."""
        if self.drawn:
            self._display.advance(self._task, share)

    def say(self, line: str) -> None:
        """Print a line: above the bar, where there is one."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> "Bar":
        if self.drawn:
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.drawn:
            self._display.stop()
