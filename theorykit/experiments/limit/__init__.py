"""Figure 1, G.2 and G.6 of the limit paper: who generalises to longer inputs, by which heads."""

from theorykit.experiments.limit._figures import algorithmic_plan as algorithmic_plan
from theorykit.experiments.limit._figures import language_plan as language_plan
from theorykit.experiments.limit._figures import trained as trained
from theorykit.experiments.limit._figures import variances as variances
