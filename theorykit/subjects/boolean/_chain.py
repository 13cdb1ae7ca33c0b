"""Parity by chain of thought: one network of degree 2, applied T times."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from theorykit.common.arguments import affordable, as_array, whole
from theorykit.subjects.boolean._design import leakage, positive
from theorykit.subjects.boolean._lookup import slopes, thresholds
from theorykit.subjects.boolean._network import Bits, Transformer
from theorykit.subjects.boolean._walsh import refuse_other_than_bits


class ParityChain(Transformer):
    """Appendix G: encodings have period T, so position T + t sees bit t and the answer so far.

    A sequence is x_1 ... x_T, 0, y_1, y_2, ...; its last position attends to all positions with the
    same encoding, which are itself and bit t, and the degree-2 lookup says whether they are equal.
    Called with T bits it returns y: y_t is the parity of the first t.

    **Raises:** `ValueError` for a scale that is not finite and positive, or at which attention
    leaks more than the degree-2 lookup tolerates; when called, for an input that does not have T
    bits.

    Since one network serves all steps, it needs a score for each of the T encodings: W1 and W2 are
    scale log(T + 1) times the identity, with squared norms of order T log^2 T.
    """

    def __init__(self, T: int, *, scale: float = 2.0, dtype: Any = None):
        """Set all weights."""
        T = whole("T", T)
        affordable(f"the chain of {T} bits", 7 * T**2, 2**31)
        positive(scale)
        if not leakage(2, 2 * T - 2, T + 1, scale) < 1 / 8:
            raise ValueError(
                "the scale is so large that attention leaks less than 1/8; "
                f"{scale} is not at T = {T}."
            )
        super().__init__(T, hidden=12, encodings=np.eye(T), dtype=dtype, rngs=None)
        self.scale = float(scale)
        last = np.eye(T + 1)[-1]
        same = np.pad(scale * math.log(T + 1) * np.eye(T), (0, 1))
        self.set_blocks(
            score1=same,
            value1=np.outer(last, last),
            mlp_in=np.outer(last, np.ones(12)),
            bias=-np.array(thresholds(2), float),
            mlp_out=np.outer(slopes(2), last),
            score2=same,
            value2=last,
        )

    def tokens(self, x: Bits) -> Float[Array, "positions {self.T}+1"]:
        """Return X (L, T + 1) for a sequence of L bits, including the answers so far."""
        x, codes = jnp.asarray(as_array("a sequence", x)), self.encodings[...]
        if x.ndim != 1:
            raise ValueError(
                f"one sequence is a row of bits, got shape {x.shape}; use vmap for a batch."
            )
        codes = codes[jnp.arange(x.shape[0]) % self.T]
        return jnp.column_stack([codes, x.astype(codes.dtype)])

    def step(self, sequence: Bits) -> Float[Array, ""]:
        """Return the output () at the last position: near 1 if its two bits are equal, else 0."""
        return self.last(sequence)[0]

    def __call__(self, x: Bits) -> Int[Array, " {self.T}"]:
        """Return the chain (T,) of an input of T bits: each answer is rounded and appended."""
        x = jnp.asarray(as_array("an input", x))
        self.refuse_other_lengths(x)
        refuse_other_than_bits(x)
        sequence = jnp.append(x.astype(int), 0)
        for _ in range(self.T):
            odd = (self.step(sequence) < 0.5).astype(sequence.dtype)
            sequence = jnp.append(sequence, odd)
        return sequence[self.T + 1 :]
