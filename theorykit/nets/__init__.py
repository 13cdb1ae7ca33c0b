"""Finite networks: the reference transformer of the kernels."""

from theorykit.nets.transformer import Transformer as Transformer
