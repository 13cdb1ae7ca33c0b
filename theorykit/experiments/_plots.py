"""Figures of findings: panels of curves, with the interval of a mean over runs."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theorykit.experiments._means import Mean


@dataclasses.dataclass(frozen=True)
class Line:
    """A curve.

    **Fields:** `x` (points,); `y` (points,), or (points, runs), of which the mean is drawn with its
    95% interval; `label`; `style`: what else matplotlib's `plot` takes, such as `color`.
    """

    x: Any
    y: Any
    label: str | None = None
    style: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def draw(self, axes: Any) -> None:
        """Draw the curve into axes of matplotlib."""
        style = {"marker": "o", "markersize": 4, "label": self.label, **self.style}
        y = np.asarray(self.y, float)
        if y.ndim == 1:
            axes.plot(self.x, y, **style)
            return
        mean, low, high = np.array([Mean.of(row) for row in y]).T
        (line,) = axes.plot(self.x, mean, **style)
        axes.fill_between(self.x, low, high, alpha=0.15, color=line.get_color(), linewidth=0)


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves in one frame.

    **Fields:** `lines`; `axes`: what matplotlib's `Axes.set` takes, such as `xscale` and `title`;
    `ticks`: where x is marked, if not where matplotlib would; `legend`: what `Axes.legend` takes,
    None for no legend.
    """

    lines: Sequence[Line]
    axes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ticks: Any = None
    legend: Mapping[str, Any] | None = dataclasses.field(default_factory=dict)

    def draw(self, axes: Any) -> None:
        """Draw all curves into axes of matplotlib."""
        for line in self.lines:
            line.draw(axes)
        axes.set(**self.axes)
        axes.title.set_fontsize("small")
        if self.ticks is not None:
            axes.set_xticks(self.ticks, [f"{tick:g}" for tick in self.ticks])
            axes.xaxis.minorticks_off()
        if self.legend is not None:
            axes.legend(**{"frameon": False, "fontsize": "small", **self.legend})


@dataclasses.dataclass(frozen=True)
class Plot:
    """Panels beside each other, at one scale of y; called with a file, it draws them into it.

    **Fields:** `panels`; `size` of each, in inches; `across`: how many stand in a row (6 at most);
    `below`: words under all of them.
    """

    panels: Sequence[Panel]
    size: tuple[float, float] = (5.0, 3.6)
    across: int = 6
    below: str | None = None

    def __call__(self, file: Path) -> None:
        """Draw into a file."""
        across = min(len(self.panels), self.across)
        down = -(-len(self.panels) // across)
        width, height = self.size
        with figure(file, width * across, height * down) as drawn:
            frames = drawn.subplots(down, across, sharey=True, squeeze=False).ravel()
            for panel, axes in zip(self.panels, frames, strict=False):
                panel.draw(axes)
            for axes in frames[len(self.panels) :]:
                axes.set_axis_off()
            if self.below is not None:
                drawn.supxlabel(self.below)


@contextlib.contextmanager
def figure(file: Path, width: float, height: float) -> Iterator[Any]:
    """Give a figure of matplotlib, so many inches large, and write it into the file at the end."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    yield drawn
    drawn.savefig(file, dpi=150)
