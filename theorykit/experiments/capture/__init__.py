"""Figure 1 of the capture paper: what it costs to carry a task over to longer inputs."""

from theorykit.experiments.capture._figures import PLANS as PLANS
from theorykit.experiments.capture._figures import adapt as adapt
from theorykit.experiments.capture._figures import growth as growth
