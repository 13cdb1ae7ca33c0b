"""The Walsh-Hadamard transform against a copy, and the exact Hessian trace of the construction.

    python benchmarks/boolean.py [--bits 22] [--length 20] [--degree 3] [--sparsity 10]

The transform takes ceil(bits / 2) passes over the table, two bits each; `share` is the time of as
many copies over its own, in float32. The copy is JAX's, into a new array, as each pass is. The
trace is over `--inputs` random inputs in float64, with targets f, compilation included.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread

from theorykit import boolean, sharpness


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bits", type=int, default=22)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--degree", type=int, default=3)
    parser.add_argument("--sparsity", type=int, default=10)
    parser.add_argument("--inputs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=11)
    at = parser.parse_args()

    table = jax.random.normal(jax.random.key(0), (2**at.bits,), jnp.float32)
    copy = jax.jit(jnp.copy)
    contestants = {"copy": lambda: copy(table), "transform": lambda: boolean.walsh_hadamard(table)}
    seconds = alternate(contestants, at.rounds)
    passes = (at.bits + 1) // 2
    pairs = zip(seconds["copy"], seconds["transform"], strict=True)

    with jax.enable_x64(True):
        f = boolean.random(at.length, at.degree, at.sparsity)
        network = boolean.transformer(f)
        x = np.random.default_rng(0).integers(0, 2, (at.inputs, at.length))
        start = time.perf_counter()
        trace = float(sharpness.trace(network, x, f(x)).value)
        first = time.perf_counter() - start
        start = time.perf_counter()
        jax.block_until_ready(sharpness.trace(network, x, f(x)))
        again = time.perf_counter() - start
    report(
        "boolean",
        **vars(at),
        passes=passes,
        seconds={name: spread(s) for name, s in seconds.items()},
        share=spread([passes * c / t for c, t in pairs]),
        parameters=network.parameters(),
        trace=trace,
        trace_seconds=first,
        trace_seconds_compiled=again,
    )


if __name__ == "__main__":
    main()
