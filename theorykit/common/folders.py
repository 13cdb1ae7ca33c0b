"""Folders that hold the files of one run, locked to one process at a time."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from theorykit.common.arguments import as_path

SHUT = (errno.EROFS, errno.EACCES, errno.EPERM)  # a file that can be read and not written


class Folder:
    """A folder locked to one process until it is closed.

    **Arguments:**

    - `path`: a new or empty folder, or one from an earlier run of the same kind.
    - `header`: the name of a file and the JSON object in it, on which everything else in the folder
      depends.
    - `own`: the names of all other files of such a run.
    - `work`: what runs here, as a noun ("run") and as a verb ("running"), for messages.
    - `differs`: the message for a header that differs from the one found, as a function of the
      name, the value in the folder and the value requested.
    - `readable`: whether a folder that has a header and cannot be written, on a read-only disk say,
      is opened without a lock. Then `locked` is False.

    **Raises:** `ValueError` if `path` is not a path, another process has the folder, its header
    differs, or it holds other files.
    """

    def __init__(
        self,
        path: str | Path,
        header: tuple[str, Mapping[str, Any]],
        *,
        own: Iterable[str] = (),
        work: tuple[str, str] = ("run", "running"),
        differs: Callable[[str, Any, Any], str | None] = lambda name, was, now: None,
        readable: bool = False,
    ):
        self.path = as_path("folder", path).absolute()
        self._noun, self._verb = work
        self._file, self._differs = self.path / header[0], differs
        known = {header[0], "lock", *own}
        half = tuple(
            f"{name}." for name in known
        )  # left behind by a kill during `write_atomically`
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            there = {p.name for p in self.path.iterdir()}
            # Not per thread: any thread may close the folder and release it.
            self._lock = FileLock(self.path / "lock", blocking=False, thread_local=False)
            self._lock.acquire()
        except Timeout:
            raise ValueError(
                f"another process is {self._verb} in {self.path}; wait for it, or use another "
                "folder."
            ) from None
        except OSError as error:
            if not (readable and error.errno in SHUT and self._file.exists()):
                raise ValueError(
                    f"{path} cannot be the folder of a {self._noun}: {error.strerror}."
                ) from error
        self.locked = self._lock.is_locked
        try:
            strange = any(n not in known and not n.startswith(half) for n in there)
            self._settle(json.loads(json.dumps(header[1], default=str)), strange, there & set(own))
        except BaseException:
            self._lock.release()
            if self.locked and "lock" not in there:  # leave a folder that is not ours as it was
                (self.path / "lock").unlink(missing_ok=True)
            raise

    def _settle(self, header: dict[str, Any], strange: bool, ours: set[str]) -> None:
        if not self._file.exists():
            if strange or ours:
                raise ValueError(
                    f"{self.path} holds other files, not a {self._noun}; use a new or empty folder."
                )
            with writing(self.path):
                write_atomically(self._file, json.dumps(header, indent=1) + "\n")
            return
        try:
            old = json.loads(self._file.read_text())
        except ValueError:
            raise ValueError(f"{self._file} cannot be read as JSON; use a new folder.") from None
        if not isinstance(old, dict):
            raise ValueError(f"{self._file} is not a header; use a new folder.")
        found = difference(old, header)
        if found is not None:
            name, was, now = found
            said = self._differs(*found) or f"with {name} {was}, this one has {name} {now}"
            raise ValueError(f"{self.path} belongs to a {self._noun} {said}; use another folder.")

    def close(self) -> None:
        """Release the folder."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def difference(old: Any, new: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Return the first difference of two configurations: the name and both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(old.keys() - new.keys())]:
            found = difference(old.get(key), new.get(key), f"{name}.{key}" if name else str(key))
            if found is not None:
                return found
        return None
    return None if old == new else (name, old, new)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Return a scope that reports a full or missing disk in one sentence.

    **Raises:** `ValueError` for any `OSError` inside.
    """
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror or error}); what is kept there stays, "
            "and the same command continues once there is room."
        ) from error


def write_atomically(file: Path, text: str) -> None:
    """Replace the contents of a file; a reader sees the old or the new text, never a part."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        with new.open("w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def from_here(file: str | Path) -> str:
    """Return the path of a file as it is written from the current folder.

    It is absolute where the two have no folder in common but the root.
    """
    whole = Path(file).absolute()
    try:
        near = os.path.commonpath([whole, Path.cwd()]) != whole.anchor
        return os.path.relpath(whole) if near else str(whole)
    except (ValueError, OSError):  # another drive; a current folder that is gone
        return str(whole)
