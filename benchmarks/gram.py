"""A symmetric last-token Gram matrix against one matrix product of the same size.

    python benchmarks/gram.py [--inputs 2048] [--tokens 32] [--features 64] [--draws 256]
        [--attention softmax] [--positions none] [--ntk]

The product is the (inputs, draws * features) x (draws * features, inputs) one of the feature form.
`rate` is its time over the kernel's: 1 means the kernel costs a matrix product.
`benchmarks/mechanisms.py` has all mechanisms and positions.
"""

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from _timing import alternate, report, spread

from theorykit import kernels
from theorykit.kernels import attention, layers

ATTENTIONS = {
    "softmax": attention.Softmax(),
    "sigmoid": attention.Sigmoid(),
    "relu": attention.NormalisedRelu(),
    "identity": attention.Identity(),
    "linear": attention.Linear(),
}
POSITIONS = {
    "none": None,
    "rope": layers.RoPE(),
    "alibi": layers.ALiBi(),
    "bias": layers.RelativeBias(),
}


def network(attends: Any, positions: Any, features: int) -> Any:
    """Return the kernel function of one layer of attention, a linear map and the last token."""
    if positions is None:
        return partial(kernels.InfiniteTransformer(attention=attends), draw="joint")
    return layers.serial(  # only descriptions have positions in their scores
        layers.Embed(features=features),
        layers.Attention(attends, positions=positions),
        layers.MLP(hidden=False),
        layers.Readout("last"),
    ).kernel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--draws", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--attention", choices=ATTENTIONS, default="softmax")
    parser.add_argument("--positions", choices=POSITIONS, default="none", help="in the scores")
    parser.add_argument("--ntk", action="store_true", help="time NNGP and NTK together")
    at = parser.parse_args()

    key = jax.random.key(0)
    x = jax.random.normal(key, (at.inputs, at.tokens, at.features), jnp.float32)
    a = jax.random.normal(key, (at.inputs, at.draws * at.features), jnp.float32)
    of = network(ATTENTIONS[at.attention], POSITIONS[at.positions], at.features)
    get = ("nngp", "ntk") if at.ntk else ("nngp",)
    product = jax.jit(lambda a: a @ a.T)
    kernel = lambda: of(x, key=key, draws=at.draws, replicates=1, get=get)
    seconds = alternate({"product": lambda: product(a), "kernel": lambda: kernel().nngp}, at.rounds)
    rates = [p / k for p, k in zip(seconds["product"], seconds["kernel"], strict=True)]
    flops = 2 * at.inputs**2 * at.draws * at.features
    report(
        "gram",
        **vars(at),
        seconds={name: spread(s) for name, s in seconds.items()},
        product_gflops=flops / min(seconds["product"]) / 1e9,
        rate=spread(rates),
    )


if __name__ == "__main__":
    main()
