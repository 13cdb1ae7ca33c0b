"""Figure 1 of the capture paper: the cost of transferring a task to longer inputs."""

from theorykit.experiments.capture._adapt import Adaptation as Adaptation
from theorykit.experiments.capture._adapt import adapt as adapt
from theorykit.experiments.capture._adapt import growth as growth
from theorykit.experiments.capture._figures import PLANS as PLANS
from theorykit.experiments.capture._figures import carry_over as carry_over
from theorykit.experiments.capture._figures import network as network
