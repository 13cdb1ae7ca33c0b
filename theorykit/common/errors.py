"""An exception in one sentence, for those who never see its traceback."""

import traceback
from pathlib import Path

TRACED = {"TracerArrayConversionError", "TracerBoolConversionError", "ConcretizationTypeError"}
"""JAX's errors for functions that it cannot trace, by name: importing them would import JAX."""


def explain(error: BaseException, file: Path | None = None) -> str:
    """Return one sentence for an exception: its type, its message, and where it was raised.

    **Arguments:** `file`: the last line inside this file is named rather than the last of all.
    """
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if file is not None and Path(f.filename).resolve() == file]
    near = inside or list(frames)
    frame = near[-1] if near else None
    message = " ".join(str(error).split()) or "no message"
    if len(message) > 600:
        message = message[:600] + " ..."
    if type(error).__name__ in TRACED:
        message = (
            "JAX cannot trace this; write it with jax.numpy (jnp.where instead of `if`), or give "
            "the check traceable=False"
        )
    where = f" ({Path(frame.filename).name}:{frame.lineno})" if frame else ""
    return f"{type(error).__name__}: {message}{where}"
