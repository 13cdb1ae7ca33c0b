"""Infinite-width kernels of transformers, and the predictors built on them.

`InfiniteTransformer` gives the NNGP and the NTK; `layers` gives those of any transformer, and its
networks of finite width, from one description. `joint` gives the kernels of training and test
inputs together, `gram` large ones, on disk (`Stored`) or over many devices; `oracle` checks them in
small cases. `ridge`, `gp_posterior` and `gradient_flow` predict with kernels, and `primal_ridge`
with features, in chunks of inputs. `monte_carlo` estimates the kernels of any finite network;
`empirical` computes those of one network. `template_attention`, `template_transformer` and
`template_mlp` are the kernels of strings of tokens; `template_matrix` and `template_expansion` are
what the template paper derives from them. `tangents` is neural-tangents on today's JAX (imported on
first use).

Kernels of a network take the network, then rows and columns, then options by keyword:
`InfiniteTransformer(...)(x1, x2)`, `oracle.kernel(network, x1, x2)`, `empirical(network, x1, x2)`,
`monte_carlo(network, x1, x2)`, all with `get`; kernels of strings take `(x, y)`, then `beta` and
`gamma` if there are scores, then options. `key`, `draws`, `replicates` and `progress` mean the same
everywhere. If only one set of inputs is given, it is both rows and columns.
"""

import importlib

from theorykit.kernels import activations as activations
from theorykit.kernels import attention as attention
from theorykit.kernels import draws as draws
from theorykit.kernels import layers as layers
from theorykit.kernels import oracle as oracle
from theorykit.kernels import recursion as recursion
from theorykit.kernels.empirical import empirical as empirical
from theorykit.kernels.flow import Ensemble as Ensemble
from theorykit.kernels.flow import gradient_flow as gradient_flow
from theorykit.kernels.gram import gram as gram
from theorykit.kernels.predictors import Prediction as Prediction
from theorykit.kernels.predictors import gp_posterior as gp_posterior
from theorykit.kernels.predictors import ridge as ridge
from theorykit.kernels.primal import Primal as Primal
from theorykit.kernels.primal import from_features as from_features
from theorykit.kernels.primal import primal_ridge as primal_ridge
from theorykit.kernels.result import Kernel as Kernel
from theorykit.kernels.stored import Stored as Stored
from theorykit.kernels.template_derivatives import template_derivative as template_derivative
from theorykit.kernels.template_derivatives import template_expansion as template_expansion
from theorykit.kernels.template_kernels import TemplateMatrix as TemplateMatrix
from theorykit.kernels.template_kernels import template_attention as template_attention
from theorykit.kernels.template_kernels import template_matrix as template_matrix
from theorykit.kernels.template_kernels import template_mlp as template_mlp
from theorykit.kernels.template_kernels import template_transformer as template_transformer
from theorykit.kernels.transformer import InfiniteTransformer as InfiniteTransformer
from theorykit.kernels.transformer import Joint as Joint
from theorykit.kernels.transformer import joint as joint

_LATER = {"monte_carlo": "finite", "tangents": "tangents"}
"""Names that are imported on first use, and their modules: neural-tangents takes seconds."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        from theorykit.common.spelling import nearest

        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}.{nearest(name, __dir__())}"
        )
    module = importlib.import_module(f"{__name__}.{_LATER[name]}")
    return module if name == _LATER[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
