"""The figures of the template paper: what networks learn of relations between unseen symbols."""

from theorykit.experiments.templates._figures import BUDGETS as BUDGETS
from theorykit.experiments.templates._figures import learn as learn
from theorykit.experiments.templates._figures import regress as regress
