"""Measurements along an axis, one curve per name, with table, plot and summary."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from theorykit.experiments._finding import Finding
from theorykit.experiments._means import Mean
from theorykit.experiments._plots import Line, Panel, Plot


@dataclasses.dataclass(frozen=True)
class Curves:
    """Numbers along an axis, with several independent runs at each point, one curve per name.

    **Fields:** `axis`, its name, and `at`, its points; `lines`: name -> (points, runs); `measured`:
    a description of the numbers; `runs`: the word for runs.
    """

    axis: str
    at: Sequence[Any]
    lines: Mapping[str, Shaped[np.ndarray, "points runs"]]
    measured: str
    runs: str = "seeds"

    def rows(self) -> list[dict[str, Any]]:
        """Return the table: one row per point, with the mean of each curve and its interval."""
        return [
            {self.axis: value, **{n: f"{Mean.of(y[i]):.3f}" for n, y in self.lines.items()}}
            for i, value in enumerate(self.at)
        ]

    def plot(self, **axes: Any) -> Plot:
        """Return the plot; `axes` are arguments of matplotlib's `Axes.set`, such as `xscale`."""
        lines = [Line(self.at, y, name) for name, y in self.lines.items()]
        labels = dict(xlabel=self.axis, ylabel=self.measured)
        return Plot([Panel(lines, labels | axes)], size=(5.5, 3.8))

    def summary(self) -> str:
        """Return a sentence with the means at the last point."""
        count = next(iter(self.lines.values())).shape[1]
        last = "; ".join(f"{name} {Mean.of(y[-1]):.3f}" for name, y in self.lines.items())
        return (
            f"{self.measured[0].upper()}{self.measured[1:]}, means of {count} {self.runs} with 95% "
            f"intervals; at {self.axis} = {self.at[-1]}: {last}."
        )

    def finding(self, printed: str | None = None, **axes: Any) -> Finding:
        """Return summary, table, numbers and plot.

        **Arguments:** `printed`: what the paper says about it; `axes`: as for `plot`.
        """
        paper = "" if printed is None else f" The paper: {printed}."
        numbers = {self.axis: list(self.at), **{n: y.tolist() for n, y in self.lines.items()}}
        return Finding(self.summary() + paper, self.rows(), numbers, self.plot(**axes))
