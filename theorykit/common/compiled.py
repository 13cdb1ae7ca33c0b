"""A cache on disk of what JAX compiled, so that the same claims run faster the next time.

This is JAX's persistent compilation cache; here we set its place and size. A key covers the
program, the versions and the flags, so an entry is never wrong. Several processes may read and
write at once: an entry that is half written, or torn by a kill, cannot be read and is compiled
again.
"""

import contextlib
import hashlib
import os
import platform
from collections.abc import MutableMapping
from pathlib import Path

from filelock import FileLock, Timeout

MOST = 2 * 2**30
"""The size in bytes; the least recently used entries are deleted first."""

ASKED = "JAX_COMPILATION_CACHE_DIR"
"""JAX's own variable for the folder; if the user sets it, it is respected."""


def keep_compiled(environment: MutableMapping[str, str] = os.environ) -> Path | None:
    """Make JAX cache compiled code in the user's cache folder, for this process and its children.

    It takes effect if JAX has not been imported yet.

    **Returns:** the folder, or None if the user has set JAX's own variable or the folder cannot be
    written.
    """
    if ASKED in environment:
        return None
    folder = cache_home() / "compiled" / _machine()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    prune(folder.parent)
    environment[ASKED] = str(folder)
    # Cache everything, since the programs of claims are many and small.
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    return folder


def cache_home() -> Path:
    """Return the cache folder of theorykit for this user; it can be deleted safely."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "theorykit"


def prune(folder: Path, most: int = MOST) -> None:
    """Delete the least recently used entries until at most `most` bytes are left.

    JAX can bound the folder itself, but then it scans the whole folder for each entry it writes.
    """
    with contextlib.suppress(OSError, Timeout), FileLock(folder / "lock", blocking=False):
        entries = []
        for file in folder.rglob("*-cache"):
            with contextlib.suppress(OSError):  # another process may have deleted it
                found = file.stat()
                entries.append((max(found.st_atime, found.st_mtime), found.st_size, file))
        size = sum(bytes_ for _, bytes_, _ in entries)
        for _, bytes_, file in sorted(entries):
            if size <= most:
                return
            with contextlib.suppress(OSError):
                file.unlink()
            size -= bytes_


def _machine() -> str:
    """Return what compiled code depends on besides JAX, for homes shared by several machines."""
    flags = ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                flags = line
                break
    said = f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"
    return hashlib.sha256(said.encode()).hexdigest()[:12]
