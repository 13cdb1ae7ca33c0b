"""The Walsh-Hadamard transform against a copy, and the exact Hessian trace of the construction.

    python benchmarks/boolean.py [--bits 22] [--length 20] [--degree 3] [--sparsity 10]

The transform makes one pass over memory for the lowest six bits and one for every two others;
`share` is the time of as many copies over its own, in float32. The copy is JAX's, to a new array,
as in each pass. `cpu` is processor time, which other work on the machine disturbs less. The trace
is over `--inputs` random inputs in float64, with targets f; the first call includes compilation.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread

from theorykit.subjects import boolean, sharpness


def processor(run) -> float:
    """Return the processor time of one run."""
    start = time.process_time()
    jax.block_until_ready(run())
    return time.process_time() - start


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
    cpu = {name: min(processor(run) for _ in range(at.rounds)) for name, run in contestants.items()}
    passes = boolean.passes(at.bits)
    share = lambda times: passes * times["copy"] / times["transform"]

    with jax.enable_x64(True):
        f = boolean.random(at.length, at.degree, at.sparsity)
        network = boolean.transformer(f)
        x = np.random.default_rng(0).integers(0, 2, (at.inputs, at.length))
        measured = []
        for clock in (time.perf_counter, time.process_time, time.perf_counter):
            start = clock()
            trace = float(sharpness.trace(network, x, f(x)).value)
            measured.append(clock() - start)
    report(
        "boolean",
        **vars(at),
        passes=passes,
        seconds={name: spread(s) for name, s in seconds.items()},
        share=share({name: min(s) for name, s in seconds.items()}),
        cpu=cpu,
        cpu_share=share(cpu),
        parameters=network.parameters(),
        trace=trace,
        trace_seconds=dict(zip(("first", "cpu", "compiled"), measured, strict=True)),
    )


if __name__ == "__main__":
    main()
