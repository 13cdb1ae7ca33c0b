"""Blocking function calls in the processes of a place."""

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import io
import itertools
import pickle
import pkgutil
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_EXCEPTION,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
    wait,
)
from pathlib import Path
from typing import Any

from theorykit.common.arguments import size
from theorykit.common.errors import explain
from theorykit.places._elsewhere import Elsewhere
from theorykit.places._processes import Processes
from theorykit.places._task import Failure, Mismatch, Place, Progress, Task

MOST = 1000
"""The number of calls of one `each` in flight at once."""

VERSIONED = {"builtins", "jax", "jaxlib", "numpy", "flax", "optax", "chex", "ml_dtypes"}
"""Packages whose code is not compared, since their versions are compared or suffice."""


class Closed(Exception):
    """The place accepts no more calls, since an earlier one failed or the run was aborted."""


class Lost(ValueError):
    """A call that never finished: its process was killed, or hung, on every try."""


def place_of(jobs: int | None, executor: Executor | None) -> Place | None:
    """Return the requested place, or None for this process.

    **Raises:** `ValueError` for both, a number of processes below 1, or anything but an executor.
    """
    if jobs is not None and executor is not None:
        raise ValueError("give jobs or an executor, not both.")
    if executor is not None:
        return Elsewhere(executor)
    return Processes(jobs) if jobs is not None and size("jobs", jobs) > 1 else None


@contextlib.contextmanager
def opened(
    jobs: int | None, executor: Executor | None, say: Callable[[str], None]
) -> Iterator["Calls | None"]:
    """Return a scope with a place for calls, or None if they are made in this process."""
    place = place_of(jobs, executor)
    if place is None:
        yield None
        return
    calls = Calls(place, say)
    try:
        yield calls
    finally:
        calls.close()


class Calls:
    """Calls functions in the processes of a place, from any thread.

    **Arguments:** `place`; `say`: called with a sentence if something must run in this process
    instead.
    """

    def __init__(self, place: Place, say: Callable[[str], None] = lambda line: None):
        self._place, self._say = place, say
        self._numbers = itertools.count()
        self._open: set[Future] = set()
        self._here = threading.Lock()
        self._stopped = self._told = False
        code_of("theorykit")  # slow the first time

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in another process; return its result or raise its exception.

        A function defined in a notebook or script, or with arguments that cannot be sent, is called
        in this process.

        **Raises:** `Lost` if its process is lost; `Mismatch` if that process has different code;
        `Closed`.
        """
        if self._stopped:
            raise Closed
        try:
            data, sources = packed((function, args))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            return self._call_here(function, args, error)
        asked: Future = Future()
        self._open.add(asked)
        family = f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', '')}"
        id, wide = str(next(self._numbers)), _wide()
        call = Call(id=id, family=family, data=data, sources=sources, wide=wide)
        self._place.begin([call], lambda id, event: _settle(asked, event))
        try:
            returned, answer = asked.result()
        finally:
            self._open.discard(asked)
        answer = pickle.loads(answer)
        if not returned:
            raise answer
        return answer

    def each(self, function: Callable[..., Any], points: Iterable[tuple]) -> list[Any]:
        """Call a function with each tuple of arguments, in threads; return the results in order.

        The function itself makes calls to this place. If one fails, those in flight finish, so that
        their results are saved, and then its exception is raised.
        """
        import jax

        points = list(points)
        wide = _wide()

        def one(*point: Any) -> Any:
            with jax.enable_x64(wide):
                return function(*point)

        with ThreadPoolExecutor(max(1, min(len(points), MOST))) as threads:
            asked = [threads.submit(one, *point) for point in points]
            try:
                done, _ = wait(asked, return_when=FIRST_EXCEPTION)
                if any(not future.cancelled() and future.exception() for future in done):
                    self.stop()
                    wait(asked)
            except BaseException:  # Ctrl-C
                self.close()
                raise
        failed = [error for future in asked if (error := future.exception()) is not None]
        for error in sorted(failed, key=lambda error: isinstance(error, Closed)):
            raise error
        return [future.result() for future in asked]

    def stop(self) -> None:
        """Accept no more calls; those in flight finish."""
        self._stopped = True

    def close(self) -> None:
        """Accept no more calls and abort those in flight, which raise `Closed`."""
        self.stop()
        self._place.close()
        for asked in self._open.copy():
            _settle(asked, Closed())

    def _call_here(self, function: Callable[..., Any], args: Any, error: Exception) -> Any:
        with self._here:  # one at a time, as if there were no place
            if not self._told:
                self._told = True
                self._say(
                    "The work is done in this process, since it cannot be sent to another: "
                    f"{error}."
                )
            return function(*args)


def _wide() -> bool:
    """Return whether JAX computes in 64 bits in this thread."""
    import jax

    return jax.dtypes.canonicalize_dtype(float).itemsize == 8


def _settle(asked: Future, event: Any) -> None:
    """Deliver an answer, unless nobody waits for it any more."""
    with contextlib.suppress(InvalidStateError):
        if isinstance(event, Failure):
            asked.set_exception(Lost(event.why))
        elif isinstance(event, BaseException):
            asked.set_exception(event)
        elif not isinstance(event, float):
            asked.set_result(event)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call(Task):
    """A function and its arguments, pickled.

    **Fields:** `data`; `sources`: a hash of the code of each package that it needs; `wide`: whether
    the caller's JAX computes in 64 bits.
    """

    data: bytes
    sources: Mapping[str, str]
    wide: bool = False

    def do(self, progress: Progress) -> tuple[bool, bytes]:
        """Return whether the function returned, and its pickled result or exception."""
        import jax

        for package, asked in self.sources.items():
            if code_of(package) != asked:
                raise Mismatch(
                    f"{package} differs in the process that does the work: it was edited in the "
                    "meantime, or another version is installed there."
                )
        with jax.enable_x64(self.wide):  # unpickling arrays depends on this too
            try:
                function, args = pickle.loads(self.data)
            except Exception as error:
                raise Mismatch(f"the process that does the work cannot do it: {error}.") from None
            try:
                return True, pickle.dumps(function(*args))
            except MemoryError:
                raise
            except Exception as error:
                return False, _portable(error)


def _portable(error: Exception) -> bytes:
    """Return a pickled exception, reduced to a sentence if it cannot be pickled itself."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(explain(error)))
    return data


def packed(value: Any) -> tuple[bytes, dict[str, str]]:
    """Return a pickled value, and a hash of the code of each package whose objects it contains.

    **Raises:** `pickle.PicklingError`, `AttributeError` or `TypeError` if it cannot be sent.
    """
    out = io.BytesIO()
    pickler = _Noting(out)
    pickler.dump(value)
    return out.getvalue(), {name: code_of(name) for name in sorted(pickler.packages)}


class _Noting(pickle.Pickler):
    """Records the top-level packages of all functions and classes that it pickles."""

    def __init__(self, out: io.BytesIO):
        super().__init__(out)
        self.packages = {"theorykit"}

    def reducer_override(self, value: Any) -> Any:
        named = isinstance(value, type | types.FunctionType)
        package = (value if named else type(value)).__module__.partition(".")[0]
        if package == "__main__":
            raise pickle.PicklingError(
                "it was defined in a notebook or script, which other processes do not have"
            )
        if package not in VERSIONED and package not in sys.stdlib_module_names:
            self.packages.add(package)
        return NotImplemented


@functools.cache
def code_of(package: str) -> str:
    """Return a hash of the Python files of a package or module, as of the first call.

    It does not depend on how the package is installed.
    """
    try:
        module = importlib.import_module(package)
    except ImportError:
        return "missing"
    files = {} if module.__file__ is None else {package: Path(module.__file__)}
    files |= modules(package, list(getattr(module, "__path__", [])))
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def modules(package: str, paths: Sequence[str]) -> dict[str, Path]:
    """Return the files of the modules in a package, by name, without importing anything."""
    found: dict[str, Path] = {}
    for finder, name, inner in pkgutil.iter_modules(paths):
        folder = Path(finder.path)  # type: ignore[union-attr]
        # A package may have further folders, as a checkout of theorykit does, in which there are
        # other things too: of these only packages are its own.
        if name == package or (str(folder) != paths[0] and not inner):
            continue
        file = folder / name / "__init__.py" if inner else folder / f"{name}.py"
        if file.is_file():  # not an extension module
            found[f"{package}.{name}"] = file
        if inner:
            found |= modules(f"{package}.{name}", [str(folder / name)])
    return found
