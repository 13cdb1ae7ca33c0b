"""PAC-Bayes bounds for Gaussian posteriors and sub-Gaussian losses.

The sharper paper's appendix E, in numpy and float64: `bound` and its optima, `semi_analytic` with a
measured perturbation, `sub_gaussian` for the constant, `covering` for comparison, and
`sample_size`, from which a bound is not vacuous.
"""

from theorykit.subjects.pacbayes._bounds import MESH as MESH
from theorykit.subjects.pacbayes._bounds import Bound as Bound
from theorykit.subjects.pacbayes._bounds import best_sigma as best_sigma
from theorykit.subjects.pacbayes._bounds import best_weight as best_weight
from theorykit.subjects.pacbayes._bounds import bound as bound
from theorykit.subjects.pacbayes._bounds import confidence as confidence
from theorykit.subjects.pacbayes._bounds import gaussian_kl as gaussian_kl
from theorykit.subjects.pacbayes._bounds import sample_size as sample_size
from theorykit.subjects.pacbayes._bounds import semi_analytic as semi_analytic
from theorykit.subjects.pacbayes._covering import Layer as Layer
from theorykit.subjects.pacbayes._covering import covering as covering
from theorykit.subjects.pacbayes._covering import covering_constant as covering_constant
from theorykit.subjects.pacbayes._measured import distance as distance
from theorykit.subjects.pacbayes._measured import perturbed_losses as perturbed_losses
from theorykit.subjects.pacbayes._measured import squared_losses as squared_losses
from theorykit.subjects.pacbayes._tails import Constant as Constant
from theorykit.subjects.pacbayes._tails import sub_gaussian as sub_gaussian

__all__ = [
    "MESH",
    "Bound",
    "Constant",
    "Layer",
    "best_sigma",
    "best_weight",
    "bound",
    "confidence",
    "covering",
    "covering_constant",
    "distance",
    "gaussian_kl",
    "perturbed_losses",
    "sample_size",
    "semi_analytic",
    "squared_losses",
    "sub_gaussian",
]
