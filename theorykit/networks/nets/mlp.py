"""A fully connected network on the flattened input."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Shaped

from theorykit.common.arguments import as_array, one_of, real, size
from theorykit.common.precision import promoting
from theorykit.common.spelling import spelt
from theorykit.networks.nets.scales import (
    PARAMETERISATIONS,
    Map,
    Source,
    as_function,
    checked_ids,
    count_parameters,
    sizes,
    source,
    weight_dtype,
)


class MLP(nnx.Module):
    """Dense layers with an activation between them.

    **Arguments:**

    - `features`: the size of a flattened input; or `vocabulary` and `tokens`: the input is `tokens`
      ids, each a one-hot vector.
    - `width`, `depth`: of the hidden layers. `outputs`: the number of outputs.
    - `activation`, `parameterisation`, `dtype`, `rngs`: as for `Transformer`.
    - `sigma_w`, `sigma_b`: the scales of weights and, in the NTK parameterisation, of biases.

    **Raises:** `ValueError` for an unknown option.
    """

    @spelt
    def __init__(
        self,
        *,
        width: int,
        features: int | None = None,
        vocabulary: int | None = None,
        tokens: int | None = None,
        depth: int = 2,
        activation: str = "relu",
        parameterisation: str = "ntk",
        outputs: int = 1,
        sigma_w: float = 1.0,
        sigma_b: float = 0.0,
        dtype: Any = None,
        rngs: Source = 0,
    ):
        """Draw all weights."""
        as_function(activation)
        one_of("parameterisation", parameterisation, PARAMETERISATIONS)
        width, outputs = size("width", width), size("outputs", outputs)
        features, vocabulary, tokens = sizes(
            features=features, vocabulary=vocabulary, tokens=tokens
        )
        depth = size("depth", depth, 0)
        real("sigma_w", sigma_w)
        real("sigma_b", sigma_b)
        if (features is None) == (vocabulary is None) or (vocabulary is None) != (tokens is None):
            raise ValueError("an MLP takes features=n, or vocabulary=V and tokens=T")
        rngs, dtype = source(rngs), weight_dtype(dtype)
        read = (vocabulary or 1) * (tokens or 1) if features is None else features
        widths = [read, *[width] * depth, outputs]
        self.vocabulary, self.activation = vocabulary, activation
        self.sigma_w = sigma_w
        self.sigma_b = sigma_b if parameterisation == "ntk" else 1.0
        self.random_offset = False
        self.layers = nnx.List(
            Map(rngs, (m, n), m, parameterisation, readout=i == depth, dtype=dtype)
            for i, (m, n) in enumerate(itertools.pairwise(widths))
        )
        noise = lambda n: jax.random.normal(rngs.params(), (n,), dtype)
        first = noise if parameterisation == "ntk" else lambda n: jnp.zeros(n, dtype)
        self.biases = nnx.List(nnx.Param(first(n)) for n in widths[1:])

    @promoting
    def __call__(
        self, x: Shaped[Array | np.ndarray, "..."], mask: Any = None
    ) -> Float[Array, " outputs"]:
        """Return the outputs of one input of any shape; a mask has no effect.

        **Raises:** `ValueError` for an input of the wrong size, or ids outside the vocabulary.
        """
        if self.vocabulary is not None:
            x = jax.nn.one_hot(checked_ids(x, self.vocabulary), self.vocabulary)
        z = jnp.ravel(as_array("an input", x))
        if z.size != (count := self.layers[0].weight.shape[0]):
            raise ValueError(
                f"one input has {count} numbers in all, got {z.size}; use vmap for a batch"
            )
        for i, (layer, bias) in enumerate(zip(self.layers, self.biases, strict=True)):
            z = as_function(self.activation)(z) if i else z
            z = self.sigma_w * z @ layer.effective() + self.sigma_b * bias[...]
        return z

    def parameters(self) -> int:
        """Return the number of trained parameters."""
        return count_parameters(self)

    def flops(self) -> int:
        """Return the floating-point operations of a forward pass, matrix products only."""
        return sum(2 * layer.weight.size for layer in self.layers)
