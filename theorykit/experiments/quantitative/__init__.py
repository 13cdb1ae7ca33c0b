"""Figures 1 to 4 of the quantitative paper: the error at inputs longer than those trained on."""

from theorykit.experiments.quantitative._counts import Counting as Counting
from theorykit.experiments.quantitative._counts import attention as attention
from theorykit.experiments.quantitative._counts import loss_beyond as loss_beyond
from theorykit.experiments.quantitative._counts import losses_beyond as losses_beyond
from theorykit.experiments.quantitative._figures import SMALL as SMALL
from theorykit.experiments.quantitative._figures import Sweep as Sweep
from theorykit.experiments.quantitative._figures import finding as finding
from theorykit.experiments.quantitative._figures import sweeps as sweeps
from theorykit.experiments.quantitative._trends import plateau as plateau
from theorykit.experiments.quantitative._trends import trend as trend
