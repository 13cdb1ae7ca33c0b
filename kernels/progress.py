"""A progress bar that costs nothing when it is not shown."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
from jaxtyping import PyTree

from theorykit.common.arguments import flag
from theorykit.common.notebooks import in_notebook

Piece = TypeVar("Piece", bound=PyTree)


class Tick:
    """Called with each finished piece of work; passes it through."""

    def __init__(self, display: Any = None):
        """Keep the bar to move, if there is one."""
        self._display = display
        self._pieces, self._expected = 0, 0

    def __call__(self, piece: Piece) -> Piece:
        """Count a piece of the current replicate, once it is computed."""
        if self._display is not None:
            jax.block_until_ready(piece)
            self._pieces += 1
            if self._expected:
                self._display.advance(1 / self._expected)
        return piece

    def replicate(self) -> None:
        """Count a finished replicate; the first one tells how many pieces each has."""
        if self._display is not None:
            if not self._expected:
                self._expected = self._pieces
                self._display.advance(1)
            elif not self._pieces:
                self._display.advance(1)


@contextmanager
def bar(name: str, total: int, show: bool | None) -> Iterator[Tick]:
    """Show a bar with the time left on standard error, or in a notebook.

    **Arguments:** `name`: what is being done; `total`: replicates to do; `show`: True, False, or
    None: only if standard error is a terminal, or in a notebook.

    **Raises:** `ValueError` for any other `show`.
    """
    if show is not None:
        flag("progress", show)
    if show is False or (show is None and not (sys.stderr.isatty() or in_notebook())):
        yield Tick()
        return
    # rich, which takes a moment to import, is needed for a bar alone.
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from theorykit.common.progress import Bar

    left = TextColumn("left"), TimeRemainingColumn()
    columns = TextColumn(name), BarColumn(), TimeElapsedColumn(), *left
    with Bar(total, *columns, shown=True, transient=True) as display:
        yield Tick(display)
