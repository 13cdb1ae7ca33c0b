"""A symmetric last-token Gram matrix against one matrix product of the same size.

    python benchmarks/gram.py [--inputs 2048] [--tokens 32] [--features 64] [--draws 256]
        [--attention softmax] [--positions none] [--ntk] [--every]

The product is the (inputs, draws * columns) x (draws * columns, inputs) one of the feature form,
with a column for each input feature and each feature that positions add to the tokens. `rate` is
its time over the kernel's: 1 means the kernel costs a matrix product. `--every` measures all
mechanisms with all positions that they take, in one run; identity and linear attention draw
nothing.
"""

import argparse
import itertools
from typing import Any

import jax
import jax.numpy as jnp
from _timing import alternate, report, spread

from theorykit.kernels import attention, layers

ATTENTIONS: dict[str, Any] = {
    "softmax": attention.Softmax(),
    "identity": attention.Identity(),
    "sigmoid": attention.Sigmoid(),
    "linear": attention.Linear(),
    "relu": attention.NormalisedRelu(),
}
ADDED: dict[str, Any] = {
    "none": None,
    "learned": layers.Positions(),
    "sinusoids": layers.Sinusoids(),
}
SCORED: dict[str, Any] = {
    "rope": layers.RoPE(),
    "alibi": layers.ALiBi(),
    "relative": layers.RelativeBias(),
}


def measured(at: argparse.Namespace, of: str, positions: str) -> dict[str, Any] | None:
    """Return the seconds and the rate of a mechanism with positions; None if it takes none."""
    mechanism = ATTENTIONS[of]
    if positions in SCORED and mechanism.exact:
        return None
    added = [ADDED[positions]] if ADDED.get(positions) else []
    layer = layers.Attention(mechanism, positions=SCORED.get(positions))
    net = layers.serial(
        layers.Embed(features=at.features), *added, layer, layers.MLP(), layers.Readout("last")
    )
    more = {"learned": at.tokens, "sinusoids": 2 * layers.Sinusoids().frequencies}
    columns = at.draws * (at.features + more.get(positions, 0))
    key = jax.random.key(0)
    x = jax.random.normal(key, (at.inputs, at.tokens, at.features), jnp.float32)
    a = jax.random.normal(key, (at.inputs, columns), jnp.float32)
    get = ("nngp", "ntk") if at.ntk else ("nngp",)
    product = jax.jit(lambda a: a @ a.T)
    kernel = lambda: net.kernel(x, key=key, draws=at.draws, replicates=1, get=get)
    seconds = alternate({"product": lambda: product(a), "kernel": lambda: kernel().nngp}, at.rounds)
    rates = [p / k for p, k in zip(seconds["product"], seconds["kernel"], strict=True)]
    return dict(
        seconds={name: spread(s) for name, s in seconds.items()},
        product_gflops=2 * at.inputs**2 * columns / min(seconds["product"]) / 1e9,
        rate=spread(rates),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--draws", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--attention", choices=ATTENTIONS, default="softmax")
    parser.add_argument("--positions", choices=ADDED | SCORED, default="none")
    parser.add_argument("--ntk", action="store_true", help="time NNGP and NTK together")
    parser.add_argument("--every", action="store_true", help="all mechanisms and positions")
    at = parser.parse_args()

    if not at.every:
        found = measured(at, at.attention, at.positions)
        if found is None:
            parser.error(f"{at.attention} draws no scores: {at.positions} cannot be in them")
        report("gram", **vars(at), **found)
        return
    cases = itertools.product(ATTENTIONS, ADDED | SCORED)
    every = {f"{of}, {positions}": measured(at, of, positions) for of, positions in cases}
    report("gram", **vars(at), every={name: row for name, row in every.items() if row})


if __name__ == "__main__":
    main()
