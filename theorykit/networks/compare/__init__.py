"""Compare finite networks with their kernels on the same data, over widths and seeds.

In all of them, `make(width, rngs)` makes a network in the NTK parameterisation with the weights of
one seed; heads and head size should grow with the width. `kernel(x1, x2)` returns the
infinite-width kernel, such as `functools.partial(InfiniteTransformer(), key=key)`. All matrix
products, including those in the networks and their training, have the full precision of their
dtype.
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
