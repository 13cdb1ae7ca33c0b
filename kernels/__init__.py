"""Infinite-width kernels of transformers, and the predictors built on them."""

from theorykit.kernels.result import Kernel as Kernel
from theorykit.kernels.transformer import InfiniteTransformer as InfiniteTransformer
