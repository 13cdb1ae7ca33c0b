"""Random subsets of a long string: the best of many, and its cost.

    python benchmarks/simulation.py [--length 1000000] [--sizes 1000 10000 100000] [--candidates 64]

`simulate_soft` on a string over four symbols with slowly changing shares, tau = 2, for a function
with five values; `first` is the first call, including compilation, `seconds` the second. `hard`:
seconds of `simulate_hard` on strings of 10,000 symbols, the mean over random pairs of transformers.
`peak_gib`: the largest resident set of the process.
"""

import argparse
import resource
import time

import jax
import jax.numpy as jnp
import numpy as np
from _timing import report

from theorykit.subjects import simulation

SYMBOLS, TAU = 4, 2


def statistic(w, mu):
    """Return a function of the suffix and the shares, like those that Theorem 5.2 averages."""
    weight = jnp.exp(mu[w[-1]] - mu[w[0]])
    return jnp.concatenate([weight[None], weight * mu])


def slowly_changing(length):
    """Return a string whose shares drift."""
    rng = np.random.default_rng(0)
    phase = np.linspace(0, 6 * np.pi, length)[:, None] + np.arange(SYMBOLS)
    odds = np.exp(np.sin(phase))
    odds /= odds.sum(1, keepdims=True)
    return (rng.random(length)[:, None] > odds.cumsum(1)[:, :-1]).sum(1)


def soft(length, sizes, candidates):
    """Time simulate_soft."""
    x, found = slowly_changing(length), {}
    for n in sizes:
        seconds = []
        for seed in range(2):
            start = time.perf_counter()
            z = simulation.simulate_soft(
                statistic, x, n, jax.random.key(seed), symbols=SYMBOLS, tau=TAU,
                candidates=candidates,
            )  # fmt: skip
            seconds.append(time.perf_counter() - start)
        found[str(n)] = {"first": seconds[0], "seconds": seconds[1], "error": z.error}
    return found


def hard(pairs):
    """Time simulate_hard."""
    total = 0.0
    for seed in range(pairs):
        rng = np.random.default_rng(seed)
        f, g = (simulation.random_one_layer(rng, "abc", 2, 2) for _ in range(2))
        x = "".join(rng.choice(list("abc"), 10_000, p=[0.7, 0.25, 0.05]))
        start = time.perf_counter()
        simulation.simulate_hard(f, g, x, 0.05)
        total += time.perf_counter() - start
    return total / pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=1_000_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--candidates", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=50)
    args = parser.parse_args()
    report(
        "simulation",
        soft=soft(args.length, args.sizes, args.candidates),
        hard=hard(args.pairs),
        length=args.length,
        candidates=args.candidates,
        peak_gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )


if __name__ == "__main__":
    main()
