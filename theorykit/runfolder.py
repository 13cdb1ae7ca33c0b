"""A folder that a run writes to claim by claim, so that a kill loses one claim at most.

    header.json     version, seed, JAX version, device
    results.jsonl   a line a claim: its fingerprint and its result

A line is flushed and synced before the next claim's is written; a last line that a kill tore is
dropped when the folder is opened again. One process at a time.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from theorykit.folders import Folder, write_atomically
from theorykit.results import Result


class RunFolder(Folder):
    """An open run folder; a context manager.

    **Arguments:** `path`: a new or empty folder, or an earlier run's; `header`: what the results
    depend on beside the claims.

    **Raises:** `ValueError` if another process has the folder open, it belongs to a run with
    another header, or it holds something else.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any]):
        super().__init__(path, ("header.json", header), own=["results.jsonl"])
        self._done: dict[str, tuple[str, Result]] = {}
        self._out: TextIO | None = None
        try:
            self._read()
            self._out = self._results.open("a")
        except BaseException:
            super().close()
            raise

    @property
    def _results(self) -> Path:
        return self.path / "results.jsonl"

    def _read(self) -> None:
        if not self._results.exists():
            return
        content = self._results.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                result = Result.from_json(entry["result"])
                self._done[result.id] = (entry["fingerprint"], result)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ValueError(
                    f"line {number} of {self._results} is not a result; "
                    "the file was changed from outside. Take a new folder."
                ) from None
        if len(whole) < len(content):
            with self._results.open("r+b") as file:
                file.truncate(len(whole))

    def result(self, id: str, fingerprint: str) -> Result | None:
        """Return the result of this claim as it is now, or None if there is none yet."""
        known, result = self._done.get(id, (None, None))
        return result if known == fingerprint else None

    def append(self, result: Result, fingerprint: str) -> None:
        """Write one result; it is on the disk when this returns."""
        if self._out is None:
            raise ValueError(f"the run folder {self.path} is closed.")
        line = json.dumps({"fingerprint": fingerprint, "result": result.json()}, allow_nan=False)
        self._out.write(line + "\n")
        self._out.flush()
        os.fsync(self._out.fileno())
        self._done[result.id] = (fingerprint, result)

    def close(self) -> None:
        """Give the folder back."""
        if self._out is not None:
            self._out.close()
            self._out = None
        super().close()


# What was found last ------------------------------------------------------------------------


def _last_file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "theorykit" / "last.json"


def remember(results: list[Result], header: Mapping[str, Any]) -> None:
    """Keep each claim's last result in the user's cache; a cache that fails is no failure."""
    with contextlib.suppress(OSError, ValueError):
        file = _last_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        known = recall()
        known.update({r.id: {"header": dict(header), "result": r.json()} for r in results})
        write_atomically(file, json.dumps(known, allow_nan=False))


def recall() -> dict[str, dict[str, Any]]:
    """Return what `remember` kept: claim id -> its run's header and its result's JSON."""
    try:
        known = json.loads(_last_file().read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
