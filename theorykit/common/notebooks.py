"""Whether this process is the kernel of a notebook."""

import sys


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook, whose cells can show what changes."""
    shells = sys.modules.get("IPython")
    shell = None if shells is None else shells.get_ipython()
    return getattr(shell, "kernel", None) is not None
