"""Make the picture of the README: `python docs/kernel_picture.py`, two minutes.

16,384 networks a width, depth 1 and erf, two inputs of two tokens, against quadrature.
"""

from pathlib import Path

import jax
import numpy as np

from theorykit.kernels import InfiniteTransformer, Kernel, oracle
from theorykit.networks import compare, nets

X = np.array([[[1.0, 0.2], [-0.5, 0.8]], [[0.6, -1.1], [0.3, 0.9]]], np.float32)
OPTIONS = dict(depth=1, activation="erf", readout="mean")


def network(width: int, rngs) -> nets.Transformer:
    """Return the kernels' own network at D = d_k = H = width."""
    return nets.Transformer(
        features=2, width=width, heads=width, head_size=width, rngs=rngs, **OPTIONS
    )


def infinite(x1, x2=None) -> Kernel:
    """Return the kernels of infinite width by quadrature."""
    return Kernel(*oracle.kernel(InfiniteTransformer(**OPTIONS), x1, x2, order=24)[:2])


if __name__ == "__main__":
    gap = compare.kernels(
        network, infinite, X, widths=[4, 8, 16, 32], seeds=16384, key=jax.random.key(0)
    )
    gap.plot(Path(__file__).with_name("kernel.png"))
