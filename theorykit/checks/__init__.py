"""The kinds of check that a claim can carry, one file each."""

from theorykit.checks._base import Check as Check
from theorykit.checks._base import ClaimError as ClaimError
from theorykit.checks._base import Trial as Trial
from theorykit.checks._certificates import on_box as on_box
from theorykit.checks._construction import Construction as construction
from theorykit.checks._draws import normal as normal
from theorykit.checks._draws import uniform as uniform
from theorykit.checks._everywhere import everywhere as everywhere
from theorykit.checks._everywhere import lettered as lettered
from theorykit.checks._exhaustive import Exhaustive as exhaustive
from theorykit.checks._expectation import Expectation as expectation
from theorykit.checks._experiment import OverSeeds as experiment
from theorykit.checks._identity import Identity as identity
from theorykit.checks._inequality import Inequality as inequality
from theorykit.checks._lipschitz import Lipschitz as lipschitz
from theorykit.checks._rate import Rate as rate
from theorykit.checks._targets import alternative as alternative

__all__ = [
    "Check",
    "ClaimError",
    "Trial",
    "alternative",
    "construction",
    "everywhere",
    "exhaustive",
    "expectation",
    "experiment",
    "identity",
    "inequality",
    "lettered",
    "lipschitz",
    "normal",
    "on_box",
    "rate",
    "uniform",
]
