"""Finite networks, in the parameterisation of the kernels and in those that are trained."""

from theorykit.nets.local import LocalTransformer as LocalTransformer
from theorykit.nets.mlp import MLP as MLP
from theorykit.nets.transformer import Transformer as Transformer

__all__ = ["MLP", "LocalTransformer", "Transformer"]
