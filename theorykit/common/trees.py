"""Python syntax trees, built by one thread at a time.

CPython 3.11 counts the depth of syntax trees per process: two threads that build trees at the same
time get a `SystemError`.
"""

import ast
import threading
from types import CodeType

_one_at_a_time = threading.RLock()


def parse(source: str | bytes, file: str = "<unknown>") -> ast.Module:
    """Return the tree of a file's text.

    **Raises:** `SyntaxError` for text that is not Python.
    """
    with _one_at_a_time:
        return ast.parse(source, file)


def compiled(tree: ast.Module, file: str) -> CodeType:
    """Return the code of a module's tree."""
    with _one_at_a_time:
        return compile(tree, file, "exec", dont_inherit=True)
