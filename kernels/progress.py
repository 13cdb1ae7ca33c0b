"""A progress bar that costs nothing where nobody looks."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Tick:
    """Called with each finished piece of work; passes it through."""

    def __init__(self, display: Any = None, task: Any = None):
        """Keep the rich progress display to update, if there is one."""
        self._display, self._task = display, task
        self._pieces, self._expected = 0, 0

    def __call__(self, piece: Any) -> Any:
        """Count a piece of the current replicate, once it is computed."""
        if self._display is not None:
            import jax

            jax.block_until_ready(piece)
            self._pieces += 1
            if self._expected:
                self._display.advance(self._task, 1 / self._expected)
        return piece

    def replicate(self) -> None:
        """Count a finished replicate; the first one tells how many pieces each has."""
        if self._display is not None:
            if not self._expected:
                self._expected = self._pieces
                self._display.advance(self._task, 1)
            elif not self._pieces:
                self._display.advance(self._task, 1)


@contextmanager
def bar(name: str, total: int, show: bool | None) -> Iterator[Tick]:
    """Show a bar with the time left on standard error.

    Args:
      name: what is being done.
      total: replicates to do.
      show: True, False, or None: if standard error is a terminal.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield Tick()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(name),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        (TimeRemainingColumn()),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        yield Tick(display, display.add_task(name, total=total))
