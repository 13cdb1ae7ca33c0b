"""Infinite-width kernels of transformers, and the predictors built on them.

`InfiniteTransformer` gives NNGP and NTK; `oracle` checks it in small cases; `ridge`,
`gp_posterior` and `gradient_flow` predict with kernels; `monte_carlo` estimates the kernels of
any finite network, `empirical` computes those of one; `template_attention`, `template_transformer`
and `template_mlp` are the kernels of strings of tokens, `template_matrix` and `template_expansion`
what the template paper reads off them; `tangents` is neural-tangents on today's
JAX (imported when it is asked for).
"""

from theorykit.kernels import activations as activations
from theorykit.kernels import attention as attention
from theorykit.kernels import draws as draws
from theorykit.kernels import oracle as oracle
from theorykit.kernels import recursion as recursion
from theorykit.kernels.empirical import empirical as empirical
from theorykit.kernels.predictors import Prediction as Prediction
from theorykit.kernels.predictors import gp_posterior as gp_posterior
from theorykit.kernels.predictors import gradient_flow as gradient_flow
from theorykit.kernels.predictors import ridge as ridge
from theorykit.kernels.result import Kernel as Kernel
from theorykit.kernels.template_derivatives import template_derivative as template_derivative
from theorykit.kernels.template_derivatives import template_expansion as template_expansion
from theorykit.kernels.template_kernels import TemplateMatrix as TemplateMatrix
from theorykit.kernels.template_kernels import template_attention as template_attention
from theorykit.kernels.template_kernels import template_matrix as template_matrix
from theorykit.kernels.template_kernels import template_mlp as template_mlp
from theorykit.kernels.template_kernels import template_transformer as template_transformer
from theorykit.kernels.transformer import InfiniteTransformer as InfiniteTransformer


def __getattr__(name: str):
    # neural-tangents takes seconds to import.
    if name == "monte_carlo":
        from theorykit.kernels.finite import monte_carlo

        return monte_carlo
    if name == "tangents":
        import importlib

        return importlib.import_module("theorykit.kernels.tangents")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
