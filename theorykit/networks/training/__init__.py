"""Training of finite networks: many seeds at once, compiled, checkpointed, repeatable."""

from theorykit.networks.training._fit import Diverged as Diverged
from theorykit.networks.training._fit import Fit as Fit
from theorykit.networks.training._fit import fit as fit
from theorykit.networks.training._history import History as History
from theorykit.networks.training._stop import reaches as reaches

__all__ = ["Diverged", "Fit", "History", "fit", "reaches"]
