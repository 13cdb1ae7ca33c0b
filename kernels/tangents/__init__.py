"""neural-tangents 0.6.5 on today's JAX, and softmax attention for it.

`tangents.nt` is the package `neural_tangents`, `tangents.stax` its layers, both complete but for
`neural_tangents.experimental`, the only part that needs tensorflow: that one is an empty module.
`tangents.SUPPORTED` states the JAX versions that are tested; any other raises `UnsupportedVersion`.
`tangents.SoftmaxAttention` is a layer for `stax.serial`.
"""

from theorykit.kernels.tangents.attention import SoftmaxAttention as SoftmaxAttention
from theorykit.kernels.tangents.loading import SUPPORTED as SUPPORTED
from theorykit.kernels.tangents.loading import UnsupportedVersion as UnsupportedVersion
from theorykit.kernels.tangents.loading import nt as nt
from theorykit.kernels.tangents.loading import stax as stax
