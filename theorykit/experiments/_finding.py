"""The result of an experiment: sentences, a table, numbers and a plot."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of an experiment.

    **Fields:** `summary`, in sentences; `rows`, the table; `numbers`, on which the summary rests;
    `plot`, which draws a figure to a file, such as a `Plot`.
    """

    summary: str
    rows: Sequence[Mapping[str, Any]]
    numbers: Mapping[str, Any]
    plot: Callable[[Path], None] | None = None

    def json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"summary": self.summary, "numbers": dict(self.numbers), "rows": list(self.rows)}
