"""A kernel and finite networks on the same data, over widths and seeds.

In all of them `make(width, rngs)` makes a network in the NTK parameterisation, with one seed's
weights: let heads and head size grow with the width too. `kernel(x1, x2)` returns the kernel of
infinite width, such as `functools.partial(InfiniteTransformer(), key=key)`. All products, those
of the networks and of their training included, have the full precision of their dtype.
"""

from theorykit.networks.compare._gaps import Curve as Curve
from theorykit.networks.compare._kernels import KernelGap as KernelGap
from theorykit.networks.compare._kernels import kernels as kernels
from theorykit.networks.compare._last_layer import LastLayerGap as LastLayerGap
from theorykit.networks.compare._last_layer import last_layer as last_layer
from theorykit.networks.compare._networks import trained as trained
from theorykit.networks.compare._training import TrainingGap as TrainingGap
from theorykit.networks.compare._training import gradient_descent as gradient_descent
from theorykit.networks.compare._training import two_stage as two_stage

__all__ = [
    "Curve",
    "KernelGap",
    "LastLayerGap",
    "TrainingGap",
    "gradient_descent",
    "kernels",
    "last_layer",
    "trained",
    "two_stage",
]
