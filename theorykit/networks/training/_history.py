"""Metrics recorded while networks train."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float, Int, Shaped

from theorykit.common import picture
from theorykit.common.arguments import as_array, as_path, shown, size, whole
from theorykit.common.folders import write_atomically


class History:
    """Metrics at the ends of chunks: `history["loss"]` is an array (chunks, seeds).

    **Arguments:** `steps`: how many steps had been made at each end; `values`: metric -> array;
    `seeds`: the seeds' numbers.
    """

    def __init__(
        self,
        steps: Sequence[int] | Int[np.ndarray, " chunks"],
        values: Mapping[str, Shaped[ArrayLike, "chunks seeds"]],
        seeds: Sequence[int],
    ):
        ends: list[int] = as_array("steps", steps).ravel().tolist()
        self.steps = np.array([size("a number of steps", s, 0) for s in ends], np.int64)
        if not isinstance(seeds, Sequence | np.ndarray) or isinstance(seeds, str | bytes):
            raise ValueError(f"seeds are numbers, such as (0, 1), got {shown(seeds)}.")
        self.seeds = tuple(whole("a seed", s, 0) for s in seeds)
        if not isinstance(values, Mapping):
            raise ValueError(f"values are a dictionary of arrays, got {shown(values)}.")
        self.values = {name: as_array(f"{name!r}", value) for name, value in values.items()}
        shape = (len(self.steps), len(self.seeds))
        for name, value in self.values.items():
            if value.shape != shape:
                raise ValueError(
                    f"{name!r} has a number for each of {shape[0]} chunks and {shape[1]} seeds, "
                    f"not the shape {value.shape}."
                )

    def __getitem__(self, name: str) -> Float[np.ndarray, "chunks seeds"]:
        """Return one metric.

        **Raises:** `ValueError` if there is no metric of this name.
        """
        if name not in self.values:
            known = ", ".join(map(repr, self.values))
            raise ValueError(f"the history has no metric {name!r}; it has {known}.")
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"History({len(self)} chunks, {len(self.seeds)} seeds, {', '.join(self.values)})"

    _repr_html_ = picture.html

    def save(self, file: str | Path) -> None:
        """Write everything as JSON; numbers that are not finite become strings."""
        values = {
            name: {
                "dtype": str(value.dtype),
                "values": [[_plain(v) for v in row] for row in value.tolist()],
            }
            for name, value in self.values.items()
        }
        all = {"steps": self.steps.tolist(), "seeds": list(self.seeds), "metrics": values}
        write_atomically(as_path("file", file), json.dumps(all, allow_nan=False) + "\n")

    @classmethod
    def load(cls, file: str | Path) -> "History":
        """Return what `save` wrote, to the last bit.

        **Raises:** `ValueError` if the file holds no history.
        """
        try:
            all = json.loads(as_path("file", file).read_text())
            seeds, values = all["seeds"], {}
            for name, of in all["metrics"].items():
                rows = [[float(v) for v in row] for row in of["values"]]
                values[name] = np.asarray(rows, of["dtype"]).reshape(len(rows), len(seeds))
            return cls(all["steps"], values, seeds)
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise ValueError(f"{file} does not hold a history.") from None

    def plot(self, file: str | Path) -> None:
        """Draw every metric against the steps, one line for each seed.

        **Arguments:** `file`: its extension gives the format.

        **Raises:** `ValueError` if matplotlib is missing.
        """
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise ValueError("plot needs matplotlib: pip install matplotlib.") from None
        figure = Figure(figsize=(5, 2.5 * len(self.values)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(self.values), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (name, value) in zip(panels, self.values.items(), strict=True):
            for column, seed in zip(value.T, self.seeds, strict=True):
                panel.plot(self.steps, column, label=f"seed {seed}", linewidth=1)
            panel.set_ylabel(name)
            if value.size and np.nanmin(value) > 0 and name.endswith("loss"):
                panel.set_yscale("log")
        panels[-1].set_xlabel("steps")
        if len(self.seeds) <= 8:
            panels[0].legend(fontsize="small")
        figure.savefig(as_path("file", file))


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)


@picture.pieces.register
def _(history: History) -> list[Any]:
    count = f"{len(history)} measurements of {len(history.seeds)} seeds."
    shown: list[Any] = [picture.Words(count)]
    steps = history.steps.tolist()
    for name, value in history.values.items():
        if not len(value):
            continue
        positive = name.endswith("loss") and bool(np.nanmin(value) > 0)
        lines = [list(zip(steps, column, strict=True)) for column in value.T.tolist()]
        caption = f"{name}, one line per seed; the mean at the end is {np.mean(value[-1]):.4g}."
        shown.append(picture.Lines(caption, "steps", lines, logarithmic=positive))
    return shown
