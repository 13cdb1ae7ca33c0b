"""Attention mechanisms, one file each; `mechanism` says what a new one must define.

Softmax and identity have names; the others are given as objects, and so are your own.
"""

from theorykit.kernels.attention.base import Elementwise as Elementwise
from theorykit.kernels.attention.base import Exact as Exact
from theorykit.kernels.attention.base import Mechanism as Mechanism
from theorykit.kernels.attention.base import Normalised as Normalised
from theorykit.kernels.attention.base import Settled as Settled
from theorykit.kernels.attention.concentrated import Concentrated as Concentrated
from theorykit.kernels.attention.identity import Identity as Identity
from theorykit.kernels.attention.linear import Linear as Linear
from theorykit.kernels.attention.names import NAMES as NAMES
from theorykit.kernels.attention.names import mechanism as mechanism
from theorykit.kernels.attention.relu import NormalisedRelu as NormalisedRelu
from theorykit.kernels.attention.rows import Tokens as Tokens
from theorykit.kernels.attention.sigmoid import Sigmoid as Sigmoid
from theorykit.kernels.attention.softmax import Softmax as Softmax
