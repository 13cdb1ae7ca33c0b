"""What files said when they were last read, kept in the user's cache under their contents.

Reading the toolkit's own files takes longer than running a small claim.
"""

import contextlib
import functools
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from theorykit.common.compiled import cache_home
from theorykit.common.folders import write_atomically

MOST = 4096
"""The number of entries kept; the most recently used ones stay."""


class Kept:
    """Facts about contents of files, as JSON objects; errors of the cache are ignored.

    **Arguments:** `name`: of the file in the cache; `code`: the code that finds the facts. Facts
    that other code found, or another Python, are not used.
    """

    def __init__(self, name: str, code: Path) -> None:
        self.name = name
        self._by = hashlib.sha256(sys.version.encode() + code.read_bytes()).hexdigest()
        self._used: dict[str, Any] = {}
        self._fresh = False

    def of(self, content: bytes, where: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the facts about a content at a place, `where`; find them if they are not known."""
        mark = hashlib.sha256(f"{self._by} {where}\n".encode() + content).hexdigest()
        if mark not in self._used:
            known = self._known.get(mark)
            self._used[mark] = known if isinstance(known, dict) else find()
            self._fresh |= mark not in self._known
        return self._used[mark]

    def save(self) -> None:
        """Write what was used, and what earlier runs used, the latest last."""
        if not self._fresh:
            return
        with contextlib.suppress(OSError, ValueError):
            earlier = {mark: facts for mark, facts in self._known.items() if mark not in self._used}
            kept = dict([*earlier.items(), *self._used.items()][-MOST:])
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps(kept, allow_nan=False))
            self._fresh = False

    @functools.cached_property
    def _known(self) -> dict[str, Any]:
        try:
            found = json.loads(self._file.read_text())
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def _file(self) -> Path:
        return cache_home() / f"{self.name}.json"
