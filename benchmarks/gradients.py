"""Gradients of a Gram matrix in three hyperparameters, over the price of the Gram matrix.

    python benchmarks/gradients.py [--inputs 1024] [--tokens 32] [--features 64] [--draws 64]
        [--small 16] [--rounds 5]

The hyperparameters are the score scale, sigma_w and sigma_b. The gradient is that of a weighted sum
of the matrix' entries, by reverse mode, as a likelihood's is; value and gradient are one compiled
computation, and so is the matrix alone. `ratio` is the time of the first over that of the second;
`memory` is what each needs beside its inputs and outputs, in MiB, as the compiler lays it out. The
NNGP is read at the last token; the NTK at all tokens, of `small` inputs.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from _timing import alternate, report, spread

from theorykit import kernels


def measured(net: Any, get: str, x: Any, at: argparse.Namespace) -> dict[str, Any]:
    """Return the times of matrix and gradient, their ratio, and the memory of both."""

    def gram(scales: Any, x: Any) -> Any:
        scaled = replace(net, score_scale=scales[0], sigma_w=scales[1], sigma_b=scales[2])
        options = dict(key=jax.random.key(1), draws=at.draws, replicates=1, get=get, draw="joint")
        return getattr(scaled(x, **options), get)

    weights = jax.random.normal(jax.random.key(2), (len(x), len(x)))
    whole = jax.value_and_grad(lambda scales, x: jnp.sum(weights * gram(scales, x)))
    scales = jnp.array([1.0, 1.2, 0.3])
    made = {
        name: jax.jit(f).lower(scales, x).compile()
        for name, f in {"matrix": gram, "gradient": whole}.items()
    }
    run: Callable[[Any], Callable[[], Any]] = lambda of: lambda: of(scales, x)
    seconds = alternate({name: run(of) for name, of in made.items()}, at.rounds)
    pairs = zip(seconds["gradient"], seconds["matrix"], strict=True)
    return dict(
        inputs=len(x),
        seconds={name: spread(s) for name, s in seconds.items()},
        ratio=spread([g / m for g, m in pairs]),
        memory={name: of.memory_analysis().temp_size_in_bytes / 2**20 for name, of in made.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1024)
    parser.add_argument("--small", type=int, default=16, help="inputs read at all tokens")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--draws", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    at = parser.parse_args()

    x = jax.random.normal(jax.random.key(0), (at.inputs, at.tokens, at.features), jnp.float32)
    last = kernels.InfiniteTransformer()
    every = kernels.InfiniteTransformer(readout="mean")
    report(
        "gradients",
        **vars(at),
        last=measured(last, "nngp", x, at),
        mean=measured(every, "ntk", x[: at.small], at),
    )


if __name__ == "__main__":
    main()
