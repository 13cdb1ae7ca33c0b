"""Checks theory about transformers by computation."""

from pathlib import Path as _Path

# In a source checkout `kernels` and `proofs_numeric` lie beside this folder, not
# in it; an installed copy has them inside. With the line below `python` started
# at the top of a checkout imports what an installed copy would.
_checkout = _Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").exists() and (_checkout / "kernels").is_dir():
    __path__.append(str(_checkout))

__version__ = "0.1.0"
