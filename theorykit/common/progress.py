"""Progress bars: on standard error if that is a terminal, and in the cells of a notebook."""

import io
import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn

from theorykit.common.notebooks import in_notebook

FIRST, BETWEEN = 1.0, 0.25
"""Seconds until a notebook shows a bar, and between two changes of it."""


class Bar:
    """A progress bar as a context manager; if it is not drawn, updates do nothing.

    **Arguments:**

    - `total`: the final value of `completed`, which starts at `done`.
    - `columns`: of the bar; a text column may refer to `fields`.
    - `shown`: whether to draw it; None means only if standard error is a terminal, or in a
      notebook.
    - `console`: where to draw it; None means standard error. A notebook draws it in its cell.
    - `transient`: whether it goes away at the end.
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
        transient: bool = False,
        **options: Any,
    ):
        self._cell = _Cell(transient) if console is None and in_notebook() else None
        if self._cell is not None:
            console = self._cell.console
        self.console = Console(stderr=True) if console is None else console
        # Ask the stream itself: FORCE_COLOR, which Jupyter sets, does not make a pipe a terminal.
        self.drawn = self._cell is not None or sys.stderr.isatty() if shown is None else shown
        self._display = Progress(*columns, console=self.console, transient=transient, **options)
        self._task = self._display.add_task("", total=total, completed=done, **(fields or {}))

    def update(self, completed: float, **fields: Any) -> None:
        """Set how much is done, and the fields of the columns."""
        if self.drawn:
            self._display.update(self._task, completed=completed, **fields)
            self._draw()

    def advance(self, share: float) -> None:
        """Add to the amount done."""
        if self.drawn:
            self._display.advance(self._task, share)
            self._draw()

    def say(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._cell is not None:
            print(line, file=sys.stderr)
        else:
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _draw(self) -> None:
        if self._cell is not None:
            self._cell.draw(self._display.get_renderable())

    def __enter__(self) -> "Bar":
        if self.drawn and self._cell is None:
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.drawn and self._cell is not None:
            self._cell.end(self._display.get_renderable())
        elif self.drawn:
            self._display.stop()


class _Cell:
    """The output of a notebook's cell that a bar is drawn in, as text."""

    def __init__(self, transient: bool):
        self.transient = transient
        self.console = Console(file=io.StringIO(), width=96, force_jupyter=False, no_color=True)
        self._next = time.monotonic() + FIRST
        self._shown: Any = None

    def draw(self, bar: Any, now: bool = False) -> None:
        """Draw the bar, unless it was drawn a moment ago or the work has only begun."""
        if now or time.monotonic() >= self._next:
            self._next = time.monotonic() + BETWEEN
            with self.console.capture() as captured:
                self.console.print(bar)
            self._show(captured.get().rstrip())

    def end(self, bar: Any) -> None:
        """Take the bar away, or draw it for the last time; one that was never seen stays so."""
        if self._shown is not None:
            self._show("", html="") if self.transient else self.draw(bar, now=True)

    def _show(self, text: str, **html: str) -> None:
        from IPython.display import DisplayHandle

        # Without HTML, however empty, pages that are made of notebooks have an empty box.
        content = {"text/plain": text, **{f"text/{key}": value for key, value in html.items()}}
        if self._shown is None:
            self._shown = DisplayHandle()
            self._shown.display(content, raw=True)
        else:
            self._shown.update(content, raw=True)
