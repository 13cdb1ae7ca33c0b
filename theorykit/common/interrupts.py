"""Make sure that Ctrl-C is noticed whenever it comes."""

import _thread
import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Return a scope in which an interrupt that Python ignores comes again a moment later.

    Python ignores whatever is raised in a finaliser or in a callback of its garbage collector, and
    JAX installs such a callback; an interrupt that comes there would be lost. It is for the main
    thread.
    """
    as_before = sys.unraisablehook

    def again(ignored: Any) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            as_before(ignored)
            return
        # Raised at once, it would still be inside what ignores it.
        later = threading.Timer(0.02, _thread.interrupt_main)
        later.daemon = True
        later.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = as_before
