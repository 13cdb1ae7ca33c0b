"""The state of a search, kept in a folder so that a killed search can resume."""

import hashlib
import json
import os
from typing import Any

import numpy as np

from theorykit.common.folders import Folder, write_atomically
from theorykit.subjects.crasp._search._space import Space

STATE = "state.json"


class Checkpoint:
    """A folder, or nothing if no folder is given.

    **Raises:** `ValueError` for a folder that belongs to another search or to something else.
    """

    def __init__(self, path: Any, header: dict[str, Any], most: int):
        self.folder = None
        if path is not None:
            own = [STATE, *(_level(size) for size in range(most + 1))]
            self.folder = Folder(path, ("search.json", header), own=own,
                                 work=("search", "searching"))  # fmt: skip

    def close(self) -> None:
        """Release the folder."""
        if self.folder is not None:
            self.folder.close()

    def state(self) -> dict[str, Any] | None:
        """Return the state that was saved last."""
        file = self.folder.path / STATE if self.folder else None
        return json.loads(file.read_text()) if file and file.exists() else None

    def keep(self, state: dict[str, Any]) -> None:
        """Save the state."""
        if self.folder is not None:
            write_atomically(self.folder.path / STATE, json.dumps(state))

    def keep_level(self, space: Space, size: int) -> None:
        """Save the expressions of a size."""
        if self.folder is None:
            return
        content: dict[str, np.ndarray] = {}
        for depth in range(space.depths):
            level = space.levels[size, depth]
            for name, bank, rows in (
                ("booleans", space.booleans, level.booleans),
                ("counts", space.counts, level.counts),
            ):
                content[f"{name}{depth}"] = bank.rows.all[rows]
                content[f"{name}{depth}made"] = bank.made.all[rows]
        content["compared"] = np.array(space.compared)
        file = self.folder.path / _level(size)
        new = file.with_name(f"{file.name}.{os.getpid()}")
        with new.open("wb") as out:
            np.savez(out, **content)  # type: ignore[arg-type]
        new.replace(file)

    def restore(self, space: Space, sizes: int) -> None:
        """Load the saved expressions into a space."""
        if self.folder is None:
            return
        for size in range(sizes):
            with np.load(self.folder.path / _level(size)) as content:
                for depth in range(space.depths):
                    space.restore(size, depth, *(content[f"{name}{depth}{what}"] for name in
                                  ("booleans", "counts") for what in ("", "made")))  # fmt: skip
                space.compared = int(content["compared"])
            space.sizes = size + 1


def _level(size: int) -> str:
    return f"level-{size}.npz"


def digest(array: np.ndarray) -> str:
    """Return a digest of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
