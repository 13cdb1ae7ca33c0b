"""What JAX compiled is kept on disk, so that the same claims run faster the next time.

JAX keeps it (its persistent compilation cache); this says where, and how much of it. A key holds
the program, the versions and the flags, so that an entry is never wrong for what asks for it.
Several processes may read and write at once: an entry that is half written, or torn by a kill,
cannot be read, and is compiled anew.
"""

import contextlib
import hashlib
import os
import platform
from collections.abc import MutableMapping
from pathlib import Path

from filelock import FileLock, Timeout

MOST = 2 * 2**30
"""Bytes that are kept; what was used least lately goes first."""

ASKED = "JAX_COMPILATION_CACHE_DIR"
"""JAX's own name for the folder; whoever sets it has decided."""


def keep_compiled(environment: MutableMapping[str, str] = os.environ) -> Path | None:
    """Have JAX keep what it compiles in the user's cache folder, for this process and its children.

    It takes effect if JAX has not been imported yet.

    **Returns:** the folder, None where there is none: the user has set JAX's own variable, or the
    folder cannot be written.
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
    # All of it: the programs of claims are small and many.
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    return folder


def cache_home() -> Path:
    """Return the folder of what theorykit keeps for this user and can do without."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "theorykit"


def prune(folder: Path, most: int = MOST) -> None:
    """Delete what was used least lately, until what is left takes `most` bytes.

    JAX can bound the folder itself, but then goes through all of it for each entry that it writes.
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
    """Name what compiled code depends on beside JAX, for homes that several machines share."""
    flags = ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                flags = line
                break
    said = f"{platform.system()} {platform.machine()} {platform.processor()} {flags}"
    return hashlib.sha256(said.encode()).hexdigest()[:12]
