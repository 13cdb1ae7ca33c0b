"""Checks theory about transformers by computation."""

import importlib as _importlib
import sys as _sys
from importlib import abc as _abc
from importlib import machinery as _machinery
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

from theorykit.common import picture as _picture
from theorykit.common.version import __version__ as __version__

# In a source checkout `kernels` and `proofs_numeric` lie beside this folder, not
# in it; an installed copy has them inside. With the line below `python` started
# at the top of a checkout imports what an installed copy would.
_checkout = _Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").exists() and (_checkout / "kernels").is_dir():
    __path__.append(str(_checkout))

if _TYPE_CHECKING:
    from theorykit import certify as certify
    from theorykit import checks as checks
    from theorykit import claims as claims
    from theorykit import experiments as experiments
    from theorykit import kernels as kernels
    from theorykit import papers as papers
    from theorykit import predict as predict
    from theorykit import proofs_numeric as proofs_numeric
    from theorykit import report as report
    from theorykit import results as results
    from theorykit import runs as runs
    from theorykit.checks import domains as domains
    from theorykit.claims import Claim as Claim
    from theorykit.claims import claim as claim
    from theorykit.common import exponents as exponents
    from theorykit.networks import compare as compare
    from theorykit.networks import nets as nets
    from theorykit.networks import tasks as tasks
    from theorykit.networks import training as training
    from theorykit.papers import Paper as Paper
    from theorykit.results import Certificate as Certificate
    from theorykit.results import Evidence as Evidence
    from theorykit.results import Outcome as Outcome
    from theorykit.results import Result as Result
    from theorykit.results import Verdict as Verdict
    from theorykit.results import Witness as Witness
    from theorykit.runs import replay as replay
    from theorykit.runs import verify as verify
    from theorykit.subjects import boolean as boolean
    from theorykit.subjects import crasp as crasp
    from theorykit.subjects import limit as limit
    from theorykit.subjects import pacbayes as pacbayes
    from theorykit.subjects import sharpness as sharpness
    from theorykit.subjects import simulation as simulation
    from theorykit.subjects import templates as templates

# The public names, and the room of each. A name is imported when it is first asked for.
_NAMES = {
    "claims": ("Claim", "claim"),
    "papers": ("Paper",),
    "results": ("Certificate", "Evidence", "Outcome", "Result", "Verdict", "Witness"),
    "runs": ("replay", "verify"),
}
_HOME = {name: room for room, names in _NAMES.items() for name in names}
_ROOMS = (
    "certify", "checks", "claims", "experiments", "kernels", "papers", "predict", "proofs_numeric",
    "report", "results", "runs",
)  # fmt: skip
# Modules that have a short name: `theorykit.crasp` is `theorykit.subjects.crasp`.
_SHORT = {
    "checks": ("domains",),
    "common": ("exponents",),
    "networks": ("compare", "nets", "tasks", "training"),
    "subjects": (
        "boolean", "crasp", "limit", "pacbayes", "sharpness", "simulation", "templates",
    ),
}  # fmt: skip
_LONG = {
    f"{__name__}.{name}": f"{__name__}.{room}.{name}"
    for room, names in _SHORT.items()
    for name in names
}

__all__ = sorted([*_HOME, *_ROOMS, *(name for names in _SHORT.values() for name in names)])


class _Short(_abc.MetaPathFinder, _abc.Loader):
    """Lets `import theorykit.crasp` find `theorykit.subjects.crasp`: one module, two names."""

    def find_spec(self, name, path=None, target=None):
        return _machinery.ModuleSpec(name, self) if name in _LONG else None

    def create_module(self, spec):
        module = _importlib.import_module(_LONG[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state  # the import set the short name's


_sys.meta_path.append(_Short())

# What draws objects in notebooks is imported when one is first shown.
_picture.draw = lambda pieces: _importlib.import_module(f"{__name__}.report").fragment(pieces)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(_importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in __all__:
        return _importlib.import_module(f"{__name__}.{name}")
    from theorykit.common.spelling import nearest

    raise AttributeError(f"module 'theorykit' has no attribute {name!r}.{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
