"""Folders that a run keeps its files in: one process at a time, and nothing mixed up in them."""

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from theorykit.common.arguments import as_path


class Folder:
    """A folder taken for one process, until it is closed.

    **Arguments:**

    - `path`: a new or empty folder, or one that an earlier run of the same kind left.
    - `header`: the name of a file, and the JSON object to stand in it: what all else in the
      folder depends on.
    - `own`: the names of all other files that such a run keeps here.
    - `work`: what runs here, as a noun ("run") and as a verb ("running"), for what is said.
    - `differs`: the sentence for a header that is not the one found: called with the name, what
      the folder has there, and what is asked for.

    **Raises:** `ValueError` if `path` is no path, another process has the folder, its header is
    another one, or it holds something else.
    """

    def __init__(
        self,
        path: str | Path,
        header: tuple[str, Mapping[str, Any]],
        *,
        own: Iterable[str] = (),
        work: tuple[str, str] = ("run", "running"),
        differs: Callable[[str, Any, Any], str | None] = lambda name, was, now: None,
    ):
        self.path = as_path("folder", path).absolute()
        self._noun, self._verb = work
        self._file, self._differs = self.path / header[0], differs
        known = {header[0], "lock", *own}
        half = tuple(f"{name}." for name in known)  # what a kill left of `write_atomically`
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            there = {p.name for p in self.path.iterdir()}
            # Not by thread: whoever closes the folder gives it back.
            self._lock = FileLock(self.path / "lock", blocking=False, thread_local=False)
            self._lock.acquire()
        except Timeout:
            raise ValueError(
                f"another process is {self._verb} in {self.path}; wait for it, or use another "
                "folder."
            ) from None
        except OSError as error:
            raise ValueError(
                f"{path} cannot be the folder of a {self._noun}: {error.strerror}."
            ) from error
        try:
            strange = any(n not in known and not n.startswith(half) for n in there)
            self._settle(json.loads(json.dumps(header[1], default=str)), strange, there & set(own))
        except BaseException:
            self._lock.release()
            if "lock" not in there:  # a folder that is not ours stays as it was
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
        """Give the folder back."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def difference(old: Any, new: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Return where two configurations first differ: the name, and what each has there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(old.keys() - new.keys())]:
            found = difference(old.get(key), new.get(key), f"{name}.{key}" if name else str(key))
            if found is not None:
                return found
        return None
    return None if old == new else (name, old, new)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Return a scope in which a disk that is full, or gone, is one sentence.

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
    """Replace a file by this text: a reader sees the old or the new one, never half."""
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
