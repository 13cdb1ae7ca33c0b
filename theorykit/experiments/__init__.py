"""The papers' experiments, reproduced at laptop size or as printed."""

from theorykit.experiments._curves import Curves as Curves
from theorykit.experiments._experiment import Experiment as Experiment
from theorykit.experiments._experiment import Setting as Setting
from theorykit.experiments._experiment import experiments as experiments
from theorykit.experiments._experiment import find as find
from theorykit.experiments._experiment import reproduces as reproduces
from theorykit.experiments._finding import Finding as Finding
from theorykit.experiments._judge import judged as judged
from theorykit.experiments._judge import over_seeds as over_seeds
from theorykit.experiments._means import Mean as Mean
from theorykit.experiments._plan import Adam as Adam
from theorykit.experiments._plan import Plan as Plan
from theorykit.experiments._plots import Line as Line
from theorykit.experiments._plots import Panel as Panel
from theorykit.experiments._plots import Plot as Plot

__all__ = [
    "Adam",
    "Curves",
    "Experiment",
    "Finding",
    "Line",
    "Mean",
    "Panel",
    "Plan",
    "Plot",
    "Setting",
    "experiments",
    "find",
    "judged",
    "over_seeds",
    "reproduces",
]
