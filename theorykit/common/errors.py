"""Exceptions in one sentence, for users who do not see the traceback."""

import traceback
from pathlib import Path

TRACED = {
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "ConcretizationTypeError",
    "NonConcreteBooleanIndexError",
}
"""JAX's errors for functions that it cannot trace, by name: importing them would import JAX."""


def explain(
    error: BaseException, file: Path | None = None, *, place: str = "", untraced: str = ""
) -> str:
    """Return one sentence for an exception: its type, its message, and where it was raised.

    **Arguments:** `file`: if given, name the last line of the traceback inside this file; `place`:
    what to name if there is none; `untraced`: the option of a check, if any, that runs functions
    that JAX cannot trace.
    """
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if not f.filename.startswith("<frozen ")  # of Python's own import
    ]
    inside = [f for f in frames if file is not None and Path(f.filename).resolve() == file]
    near = inside or ([] if place else list(frames))
    where = f"{Path(near[-1].filename).name}:{near[-1].lineno}" if near else place
    message = " ".join(str(error).split()) or "no message"
    if isinstance(error, SyntaxError) and error.filename and error.msg:
        message, where = error.msg, f"{Path(error.filename).name}:{error.lineno}"
    if len(message) > 600:
        message = message[:600] + " ..."
    if type(error).__name__ in TRACED:
        message = "JAX cannot trace this; write it with jax.numpy (jnp.where instead of `if`)"
        message += f", or give the check {untraced}" if untraced else ""
    said = f"{type(error).__name__}: {message}"
    return f"{said.removesuffix('.')} ({where})" if where else said
