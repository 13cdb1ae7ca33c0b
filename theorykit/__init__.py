"""Checks theory about transformers by computation."""

import importlib as _importlib
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

# In a source checkout `kernels` and `proofs_numeric` lie beside this folder, not
# in it; an installed copy has them inside. With the line below `python` started
# at the top of a checkout imports what an installed copy would.
_checkout = _Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").exists() and (_checkout / "kernels").is_dir():
    __path__.append(str(_checkout))

__version__ = "0.1.0"

if _TYPE_CHECKING:
    from theorykit.claims import Claim as Claim
    from theorykit.claims import claim as claim
    from theorykit.repeat import replay as replay
    from theorykit.results import Certificate as Certificate
    from theorykit.results import Evidence as Evidence
    from theorykit.results import Outcome as Outcome
    from theorykit.results import Result as Result
    from theorykit.results import Verdict as Verdict
    from theorykit.results import Witness as Witness
    from theorykit.runner import verify as verify

# Where each public name lives; it is imported when it is first asked for.
_HOME = {
    "Claim": "claims",
    "claim": "claims",
    "Certificate": "results",
    "Evidence": "results",
    "Outcome": "results",
    "Result": "results",
    "Verdict": "results",
    "Witness": "results",
    "replay": "repeat",
    "verify": "runner",
}
_MODULES = (
    "boolean",
    "certify",
    "checks",
    "compare",
    "domains",
    "experiments",
    "kernels",
    "nets",
    "proofs_numeric",
    "sharpness",
    "tasks",
    "templates",
    "training",
)

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(_importlib.import_module(f"theorykit.{_HOME[name]}"), name)
    if name in _MODULES:
        return _importlib.import_module(f"theorykit.{name}")
    raise AttributeError(f"module 'theorykit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
