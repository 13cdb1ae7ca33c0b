"""The figures of the sharper paper: what learned networks are beside the construction."""

from theorykit.experiments.sharper._figures import SAID as SAID
from theorykit.experiments.sharper._figures import analytic as analytic
from theorykit.experiments.sharper._figures import dominated as dominated
from theorykit.experiments.sharper._figures import slopes as slopes
