"""Figure 1, G.2 and G.6 of the limit paper: which tasks generalise to longer inputs, and how."""

from theorykit.experiments.limit._extrapolate import Decoder as Decoder
from theorykit.experiments.limit._extrapolate import Extrapolation as Extrapolation
from theorykit.experiments.limit._extrapolate import accuracy as accuracy
from theorykit.experiments.limit._extrapolate import trained as trained
from theorykit.experiments.limit._figure1 import averaged as averaged
from theorykit.experiments.limit._figure1 import figure as figure
from theorykit.experiments.limit._figure1 import published as published
from theorykit.experiments.limit._offset import head_products as head_products
from theorykit.experiments.limit._offset import offset_variance as offset_variance
from theorykit.experiments.limit._offset import variances as variances
from theorykit.experiments.limit._plans import algorithmic_plan as algorithmic_plan
from theorykit.experiments.limit._plans import language_plan as language_plan
from theorykit.experiments.limit._products import Products as Products
from theorykit.experiments.limit._products import Window as Window
from theorykit.experiments.limit._products import fit_function as fit_function
