"""Training of finite networks: many seeds at once, compiled, checkpointed, repeatable."""

from theorykit.training._fit import Diverged as Diverged
from theorykit.training._fit import Fit as Fit
from theorykit.training._fit import fit as fit
from theorykit.training._history import History as History
from theorykit.training._stop import reaches as reaches

__all__ = ["Diverged", "Fit", "History", "fit", "reaches"]
