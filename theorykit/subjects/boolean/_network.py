"""The paper's transformer: two position-aware attentions with an MLP between, scalar output."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, ArrayLike, Float, Shaped

from theorykit.common.arguments import affordable, as_array, as_floating, flag, reals, whole
from theorykit.networks.nets.scales import count_parameters, source

BLOCKS = ("score1", "value1", "mlp_in", "bias", "mlp_out", "score2", "value2")
"""The parameters, from the input to the output."""

Bits = Shaped[ArrayLike, " bits"] | Sequence[int]


class Transformer(nnx.Module):
    """Appendix B: X -> Z = A1 X V1 -> Y = P + relu(Z F1 + b) F2 -> softmax(y_out W2 Y') Y v2.

    A token is the encoding of its position and one bit; the last position is for the output and has
    bit 0. A1 = softmax(X W1 X'). P is X without the bits: the skip connection carries positions
    only, since the first attention has none. Encodings are fixed, by default unit vectors.

    **Parameters** (r is the size of an encoding, m the hidden width): `score1` W1 (r+1, r+1),
    `value1` V1 (r+1, r+1), `mlp_in` F1 (r+1, m), `bias` b (m,), `mlp_out` F2 (m, r+1), `score2` W2
    (r+1, r+1), `value2` v2 (r+1,). Weights are drawn with variance 1 / fan-in; the bias is 0.

    **Arguments:** `T`, bits per input; `hidden`, m; `encodings`, (T + 1, r), unit vectors if not
    given; longer inputs use them cyclically. `scale_scores`: scores are multiplied by log(T + 1),
    as in training (appendix A); `rngs` None: all zeros.
    """

    def __init__(
        self,
        T: int,
        *,
        hidden: int,
        encodings: Float[ArrayLike, "codes r"] | None = None,
        scale_scores: bool = False,
        dtype: Any = None,
        rngs: nnx.Rngs | int | None = 0,
    ):
        """Draw the weights."""
        self.T, hidden = whole("T", T), whole("hidden", hidden)
        codes = np.zeros((1, 0)) if encodings is None else reals("encodings", encodings)
        if codes.ndim != 2 or not len(codes):
            raise ValueError(f"encodings are rows of numbers, got shape {codes.shape}.")
        wide = self.T + 2 if encodings is None else codes.shape[1] + 1
        affordable(f"a network of {self.T} bits", 6 * wide**2 + 2 * wide * hidden, 2**31)
        dtype = as_floating("dtype", dtype)
        codes = np.eye(self.T + 1) if encodings is None else codes
        self.encodings = nnx.Variable(jnp.asarray(codes, dtype))
        self.temperature = math.log(self.T + 1) if flag("scale_scores", scale_scores) else 1.0
        r, rngs = codes.shape[1] + 1, None if rngs is None else source(rngs)

        def draw(*shape: int) -> nnx.Param:
            if rngs is None:
                return nnx.Param(jnp.asarray(np.zeros(shape), dtype))
            return nnx.Param(jax.random.normal(rngs.params(), shape, dtype) / shape[0] ** 0.5)

        self.score1, self.value1 = draw(r, r), draw(r, r)
        self.mlp_in, self.mlp_out = draw(r, hidden), draw(hidden, r)
        self.bias = nnx.Param(jnp.asarray(np.zeros(hidden), dtype))
        self.score2, self.value2 = draw(r, r), draw(r)

    def set_blocks(self, **values: Float[ArrayLike, "..."]) -> None:
        """Set parameters by name, in their dtype and shape."""
        for name, value in values.items():
            block = getattr(self, name)
            block[...] = jnp.asarray(value, block.dtype)

    def tokens(self, x: Bits) -> Float[Array, "positions width"]:
        """Return X (L + 1, r + 1) for L bits; encodings are used cyclically."""
        x = jnp.asarray(as_array("an input", x))
        if x.ndim != 1:
            raise ValueError(
                f"one input is a row of bits, got shape {x.shape}; use vmap for a batch."
            )
        codes = self.encodings[...]
        codes = codes[jnp.arange(x.shape[0] + 1) % codes.shape[0]]
        return jnp.column_stack([codes, jnp.append(x, 0).astype(codes.dtype)])

    def activations(self, x: Bits) -> dict[str, Float[Array, "..."]]:
        """Return `attention1` A1, `mixed` Z, `hidden`, `after` Y and `attention2`."""
        X = self.tokens(x)
        A = jax.nn.softmax(self.temperature * (X @ self.score1[...] @ X.T), -1)
        Z = A @ (X @ self.value1[...])
        h = jax.nn.relu(Z @ self.mlp_in[...] + self.bias[...])
        Y = X.at[:, -1].set(0) + h @ self.mlp_out[...]
        a = jax.nn.softmax(self.temperature * (Y @ (Y[-1] @ self.score2[...])))
        return dict(attention1=A, mixed=Z, hidden=h, after=Y, attention2=a)

    def __call__(self, x: Bits) -> Float[Array, "1"]:
        """Return the output (1,) at one input of T bits. Use `jax.vmap` for a batch.

        **Raises:** `ValueError` for another shape.
        """
        x = jnp.asarray(as_array("an input", x))
        self.refuse_other_lengths(x)
        return self.last(x)

    def refuse_other_lengths(self, x: Shaped[Array, "..."]) -> None:
        """Raise a `ValueError` unless x is a row of T numbers."""
        if x.shape != (self.T,):
            raise ValueError(
                f"one input is a row of {self.T} bits, got shape {x.shape}; use vmap for a batch."
            )

    def last(self, x: Bits) -> Float[Array, "1"]:
        """Return the output (1,) for an input of any length."""
        found = self.activations(x)
        return (found["attention2"] @ (found["after"] @ self.value2[...]))[None]

    def parameters(self) -> int:
        """Return the number of trained parameters."""
        return count_parameters(self)

    def squared_norms(self) -> dict[str, float]:
        """Return the squared Frobenius norm of each block, computed from its entries."""
        return {name: float(np.sum(np.asarray(getattr(self, name)[...]) ** 2)) for name in BLOCKS}
