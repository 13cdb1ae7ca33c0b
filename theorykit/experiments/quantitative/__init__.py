"""Figures 1 to 4 of the quantitative paper: the error at inputs longer than those trained on."""

from theorykit.experiments.quantitative._counts import attention as attention
from theorykit.experiments.quantitative._counts import curves as curves
from theorykit.experiments.quantitative._figures import SMALL as SMALL
from theorykit.experiments.quantitative._figures import Panel as Panel
from theorykit.experiments.quantitative._figures import finding as finding
from theorykit.experiments.quantitative._figures import panels as panels
