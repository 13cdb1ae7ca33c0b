"""The last-token Gram matrix of every mechanism and position against one matrix product.

    python benchmarks/mechanisms.py [--inputs 2048] [--tokens 32] [--features 64] [--draws 256]

The product and `rate` are those of `benchmarks/gram.py`, which has a single kernel. What is exact
draws nothing, and is held against the same product. Scores take time in proportion to the inputs,
the product in proportion to their square. With RoPE a score is a sum over `waves` of its kind.
"""

import argparse
import itertools
from functools import partial

import jax
import jax.numpy as jnp
from _timing import alternate, report, spread
from gram import ATTENTIONS, POSITIONS, network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--draws", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--positions", nargs="+", choices=POSITIONS, default=list(POSITIONS))
    at = parser.parse_args()

    key = jax.random.key(0)
    x = jax.random.normal(key, (at.inputs, at.tokens, at.features), jnp.float32)
    a = jax.random.normal(key, (at.inputs, at.draws * at.features), jnp.float32)
    multiply = jax.jit(lambda a: a @ a.T)
    product = lambda: multiply(a)
    rows = []
    for (name, attends), where in itertools.product(ATTENTIONS.items(), at.positions):
        positions = POSITIONS[where]
        if positions is not None and attends.exact:
            continue  # it draws no scores that could have positions
        of = network(attends, positions, at.features)
        kernel = partial(of, x, key=key, draws=at.draws, replicates=1, get="nngp")
        seconds = alternate({"product": product, "kernel": kernel}, at.rounds)
        rates = [p / k for p, k in zip(seconds["product"], seconds["kernel"], strict=True)]
        rows.append(
            dict(
                attention=name,
                positions=where,
                waves=None if positions is None else positions.waves(at.tokens).shape[1],
                seconds={name: spread(values) for name, values in seconds.items()},
                rate=spread(rates),
            )
        )
    report("mechanisms", **vars(at), rows=rows)


if __name__ == "__main__":
    main()
