"""A bound on the memory of this process, and what reaching it looks like."""

import contextlib

_bounded = False


def bound(most: int) -> None:
    """Bound the memory of this process to so many bytes, if the system supports it."""
    global _bounded
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        _bounded = True


def exhausted(error: BaseException) -> bool:
    """Return whether an error says that this process has reached its bound.

    Without a bound of its own, an allocation that fails asks for too much in any process.
    """
    return _bounded and (isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error))
