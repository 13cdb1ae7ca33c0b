"""Progress bars on standard error, if that is a terminal."""

import sys
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class Bar:
    """A progress bar as a context manager; if it is not drawn, updates do nothing.

    **Arguments:**

    - `total`: the final value of `completed`, which starts at `done`.
    - `columns`: of the bar; a text column may refer to `fields`.
    - `shown`: whether to draw it; None means only if standard error is a terminal.
    - `console`: where to draw it; None means standard error.
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
        # Ask the stream itself: FORCE_COLOR, which Jupyter sets, does not make a pipe a terminal.
        self.drawn = sys.stderr.isatty() if shown is None else shown
        self._display = Progress(*columns, console=self.console, **options)
        self._task = self._display.add_task("", total=total, completed=done, **(fields or {}))

    def update(self, completed: float, **fields: Any) -> None:
        """Set how much is done, and the fields of the columns."""
        if self.drawn:
            self._display.update(self._task, completed=completed, **fields)

    def advance(self, share: float) -> None:
        """Add to the amount done."""
        if self.drawn:
            self._display.advance(self._task, share)

    def say(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> "Bar":
        if self.drawn:
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.drawn:
            self._display.stop()
