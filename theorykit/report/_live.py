"""What a run shows on a terminal while it runs."""

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from theorykit.report._terminal import console
from theorykit.results import Result


class Live:
    """Progress on stderr: a bar with the time left, or a line a claim where that is no terminal."""

    def __init__(self, total: int):
        self.total = total
        self.console = console(stderr=True)
        self.shares: dict[str, float] = {}
        self.done = 0
        self.task: TaskID | None = None
        self.bar = Progress(
            BarColumn(30),
            TextColumn("{task.fields[done]}/{task.total:.0f}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[now]}"),
            console=self.console,
            transient=True,
            speed_estimate_period=300,
        )

    def __enter__(self) -> "Live":
        if self.console.is_terminal:
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total, done=0, now="")
        return self

    def __exit__(self, *_: object) -> None:
        if self.task is not None:
            self.bar.stop()

    def progress(self, id: str, share: float) -> None:
        """A claim got this far."""
        self.shares[id] = share
        self._draw()

    def finished(self, result: Result, count: int) -> None:
        """A claim is done."""
        self.done = count
        self.shares.pop(result.id, None)
        if self.task is None:
            line = f"[{count}/{self.total}] {result.id} {result.verdict} {result.seconds:.1f}s"
            self.console.print(line, markup=False)
        elif result.moved:
            self.console.print(f"{result.id}: {result.verdict}, not {result.expected} as recorded")
        self._draw()

    def _draw(self) -> None:
        if self.task is not None:
            self.bar.update(
                self.task,
                completed=min(self.done + sum(self.shares.values()), self.total),
                done=self.done,
                now=", ".join(self.shares),
            )
