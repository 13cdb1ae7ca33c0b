"""The papers' experiments, run again at the size of a laptop or as printed."""

from theorykit.experiments._experiment import Experiment as Experiment
from theorykit.experiments._experiment import Finding as Finding
from theorykit.experiments._experiment import Setting as Setting
from theorykit.experiments._experiment import experiment as experiment
from theorykit.experiments._experiment import experiments as experiments
from theorykit.experiments._experiment import find as find

__all__ = ["Experiment", "Finding", "Setting", "experiment", "experiments", "find"]
