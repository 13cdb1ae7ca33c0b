"""Finite networks, in the parameterisation of the kernels and in those used for training."""

from theorykit.networks.nets.local import LocalTransformer as LocalTransformer
from theorykit.networks.nets.mlp import MLP as MLP
from theorykit.networks.nets.scales import Map as Map
from theorykit.networks.nets.transformer import Transformer as Transformer

__all__ = ["MLP", "LocalTransformer", "Map", "Transformer"]
