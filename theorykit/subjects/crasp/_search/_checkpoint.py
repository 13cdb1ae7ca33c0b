"""A search in a folder: what is done, so that a search that was killed goes on."""

import hashlib
import json
import os
from typing import Any

import numpy as np

from theorykit.common.folders import Folder, write_atomically
from theorykit.subjects.crasp._search._space import Space

STATE = "state.json"


class Checkpoint:
    """A folder, or nothing where none is wanted.

    **Raises:** `ValueError` for a folder of another search, or of something else.
    """

    def __init__(self, path: Any, header: dict[str, Any], most: int):
        self.folder = None
        if path is not None:
            own = [STATE, *(_level(size) for size in range(most + 1))]
            self.folder = Folder(path, ("search.json", header), own=own,
                                 work=("search", "searching"))  # fmt: skip

    def close(self) -> None:
        """Give the folder back."""
        if self.folder is not None:
            self.folder.close()

    def state(self) -> dict[str, Any] | None:
        """Return what was kept last."""
        file = self.folder.path / STATE if self.folder else None
        return json.loads(file.read_text()) if file and file.exists() else None

    def keep(self, state: dict[str, Any]) -> None:
        """Keep what is known."""
        if self.folder is not None:
            write_atomically(self.folder.path / STATE, json.dumps(state))

    def keep_level(self, space: Space, size: int) -> None:
        """Keep the expressions of a size."""
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
        """Put the expressions that were kept back into a space."""
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
    """Return a short name of what an array holds."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
