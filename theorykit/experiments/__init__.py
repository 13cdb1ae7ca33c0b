"""The papers' experiments, run again at the size of a laptop or as printed."""

from theorykit.experiments._base import Experiment as Experiment
from theorykit.experiments._base import Finding as Finding
from theorykit.experiments._base import Setting as Setting
from theorykit.experiments._base import experiment as experiment
from theorykit.experiments._base import experiments as experiments
from theorykit.experiments._base import find as find

__all__ = ["Experiment", "Finding", "Setting", "experiment", "experiments", "find"]
