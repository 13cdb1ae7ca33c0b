"""What a run shows while it runs."""

from typing import TYPE_CHECKING

from theorykit.common.notebooks import in_notebook
from theorykit.results import Result

if TYPE_CHECKING:
    from rich.console import Console


class Live:
    """A bar with the time left, or one line per claim where there is no terminal or notebook.

    **Arguments:** `total`: the number of claims; `console`: where to show it; None is stderr.
    """

    def __init__(self, total: int, console: "Console | None" = None):
        # rich, which takes a moment to import, is needed where runs are shown alone.
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        from theorykit.common.progress import Bar

        self.total = total
        self.shares: dict[str, float] = {}
        self.done = 0
        self.bar = Bar(
            total,
            BarColumn(30),
            TextColumn("{task.fields[done]}/{task.total:.0f}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[now]}"),
            console=console,
            fields={"done": 0, "now": ""},
            transient=True,
            speed_estimate_period=300,
        )

    def __enter__(self) -> "Live":
        self.bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.__exit__()

    def progress(self, id: str, share: float) -> None:
        """A claim got this far."""
        self.shares[id] = share
        self._draw()

    def finished(self, result: Result, count: int) -> None:
        """A claim is done."""
        self.done = count
        self.shares.pop(result.id, None)
        if not self.bar.drawn:
            line = f"[{count}/{self.total}] {result.id} {result.verdict} {result.seconds:.1f}s"
            self.bar.say(line)
        elif result.moved and not in_notebook():  # where the table that follows says so
            self.bar.say(f"{result.id}: {result.verdict}, but {result.expected} is recorded")
        self._draw()

    def _draw(self) -> None:
        completed = min(self.done + sum(self.shares.values()), self.total)
        self.bar.update(completed, done=self.done, now=", ".join(self.shares))
