"""The figures of the template paper: what networks learn about relations between unseen symbols."""

from theorykit.experiments.templates._figures import compared as compared
from theorykit.experiments.templates._figures import curves as curves
from theorykit.experiments.templates._losses import learn as learn
from theorykit.experiments.templates._losses import regress as regress
from theorykit.experiments.templates._networks import BUDGETS as BUDGETS
from theorykit.experiments.templates._networks import Budget as Budget
