"""Training of finite networks: many seeds at once, compiled, checkpointed, repeatable."""

from theorykit.networks.training._fit import fit as fit
from theorykit.networks.training._history import History as History
from theorykit.networks.training._on_data import OnData as OnData
from theorykit.networks.training._on_task import OnTask as OnTask
from theorykit.networks.training._result import Diverged as Diverged
from theorykit.networks.training._result import Fit as Fit
from theorykit.networks.training._result import Paused as Paused
from theorykit.networks.training._state import trainable as trainable
from theorykit.networks.training._step import gradient_step as gradient_step
from theorykit.networks.training._stop import reaches as reaches

__all__ = [
    "Diverged",
    "Fit",
    "History",
    "OnData",
    "OnTask",
    "Paused",
    "fit",
    "gradient_step",
    "reaches",
    "trainable",
]
