"""The template attention kernel's Gram matrix against the dense product of its positional part.

    python benchmarks/templates.py [--strings 4096] [--tokens 8] [--symbols 4096] [--draws 512]

Strings are uniform over the symbols and end with [CLS]. The product is the (strings, draws *
tokens) x (draws * tokens, strings) one of the positional features alone; `rate` is its time over
the kernel's. `--replicates` splits the draws, for standard errors. Peak memory is reported before
the product is computed.
"""

import argparse
import resource

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread

from theorykit import kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strings", type=int, default=4096)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--symbols", type=int, default=4096)
    parser.add_argument("--draws", type=int, default=512)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    at = parser.parse_args()

    key = jax.random.key(0)
    rng = np.random.default_rng(0)
    x = rng.integers(1, at.symbols, (at.strings, at.tokens))
    x[:, -1] = 0
    each = at.draws // at.replicates
    kernel = lambda: kernels.template_attention(
        x, beta=1.0, gamma=1.0, key=key, draws=each, replicates=at.replicates
    )
    jax.block_until_ready(kernel().nngp)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    a = jax.random.normal(key, (at.strings, at.draws * at.tokens), jnp.float32)
    product = jax.jit(lambda a: a @ a.T)
    contestants = {"product": lambda: product(a), "kernel": lambda: kernel().nngp}
    seconds = alternate(contestants, at.rounds)
    rates = [p / k for p, k in zip(seconds["product"], seconds["kernel"], strict=True)]
    flops = 2 * at.strings**2 * at.draws * at.tokens
    report(
        "templates",
        **vars(at),
        seconds={name: spread(s) for name, s in seconds.items()},
        product_gflops=flops / min(seconds["product"]) / 1e9,
        rate=spread(rates),
        peak_gib=peak,
    )


if __name__ == "__main__":
    main()
