"""Runs the command line, and says what is wrong with a call in one sentence."""

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import typer

from theorykit.claims import TierWarning
from theorykit.cli._app import INTERRUPTED, app
from theorykit.cli._tools import message
from theorykit.common.interrupts import heard
from theorykit.drafts import DraftWarning
from theorykit.papers import PaperWarning


@contextlib.contextmanager
def _said_plainly() -> Iterator[None]:
    """Return a scope in which what is left out, papers and claims, is one sentence on stderr."""
    with warnings.catch_warnings():
        as_before = warnings.showwarning

        def show(warning: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, PaperWarning | TierWarning | DraftWarning):
                message(str(warning))
            else:
                as_before(warning, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _usage(error: Any) -> str:
    """Return what is wrong with the call, as the parser says it, in plain words."""
    said = error.format_message().replace("Value error, ", "")
    given = re.search(r"input_value=('[^']*')", str(error.__cause__))
    if given is not None:
        said = said.replace("Input should be", f"{given[1]} should be")
    said = re.sub(r"should be a valid (integer|number), unable to .*", r"is not a valid \1", said)
    said = re.sub(r" \(Possible options: (.*)\)", r". Did you mean \1?", said)
    where = getattr(getattr(error, "ctx", None), "command_path", "theorykit")
    stop = "" if said.endswith((".", "?")) else "."
    return f"{said}{stop} `{where} --help` shows what there is."


def main() -> None:
    """Run the command line; every usage error is one sentence and exit code 2."""
    status: Any
    try:
        with _said_plainly(), heard():
            status = app(standalone_mode=False, prog_name="theorykit")
    except (ValueError, OSError) as error:  # an OSError names its file
        message(str(error))
        status = 2
    except (KeyboardInterrupt, typer.Abort):  # the parser makes the one of the other
        message("interrupted")
        status = INTERRUPTED
    except Exception as error:
        # The command-line parser's own errors, whichever package they come from.
        if not hasattr(error, "format_message"):
            raise
        if error.format_message():  # nothing where the help has just been printed
            message(_usage(error))
        status = 2
    sys.stdout.flush()
    sys.stderr.flush()
    # A claim may still be computing in a thread after Ctrl-C; there is nothing to wait for.
    os._exit(status if isinstance(status, int) else 0)
