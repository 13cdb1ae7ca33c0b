"""Figures of findings: panels of curves, with confidence intervals of means over runs."""

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

    **Fields:** `x` (points,); `y` (points,), or (points, runs), drawn as a mean with its 95%
    interval; `label`; `style`: further arguments of matplotlib's `plot`, such as `color`.
    """

    x: Any
    y: Any
    label: str | None = None
    style: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def draw(self, axes: Any) -> None:
        """Draw the curve on matplotlib axes."""
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

    **Fields:** `lines`; `axes`: arguments of matplotlib's `Axes.set`, such as `xscale` and `title`;
    `ticks`: x ticks, matplotlib's choice by default; `legend`: arguments of `Axes.legend`, None for
    no legend.
    """

    lines: Sequence[Line]
    axes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ticks: Any = None
    legend: Mapping[str, Any] | None = dataclasses.field(default_factory=dict)

    def draw(self, axes: Any) -> None:
        """Draw all curves on matplotlib axes."""
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
    """Panels side by side with a shared y scale; calling it with a file draws them to that file.

    **Fields:** `panels`; `size` of each, in inches; `across`: the number of panels per row (at most
    6); `below`: text under all of them.
    """

    panels: Sequence[Panel]
    size: tuple[float, float] = (5.0, 3.6)
    across: int = 6
    below: str | None = None

    def __call__(self, file: Path) -> None:
        """Draw to a file."""
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
    """Yield a matplotlib figure of a size in inches, and save it to the file at the end."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    yield drawn
    drawn.savefig(file, dpi=150)
