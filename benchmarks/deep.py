"""NNGP and NTK of a two-block transformer, all tokens, against this machine's matrix product.

    python benchmarks/deep.py [--inputs 64] [--tokens 32] [--features 64] [--draws 256]

`share` is the rate of the multiplications that are done (see `plan.forms`) over that of a large
matrix product in the same run. Pairs share the scores of their first input; `share_apart` counts
the recursion as it was before, with both inputs drawn for each pair. `against_conditional` is the
time of the capture paper's two-step sampler (appendix D) over ours, on fewer inputs.

What bounds it beside the products of the moments, which are narrow per draw: scores and their
exponentials, copies of the draws, and sums over draws. The products of variances are not counted.
"""

import argparse

import jax
import jax.numpy as jnp
from _timing import alternate, report, spread

from theorykit import kernels
from theorykit.kernels.plan import Plan, forms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--draws", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--few", type=int, default=8, help="inputs for the two-step sampler")
    at = parser.parse_args()

    key = jax.random.key(0)
    x = jax.random.normal(key, (at.inputs, at.tokens, at.features), jnp.float32)
    net = kernels.InfiniteTransformer(depth=2, readout="tokens")
    run = lambda x, draw: net(x, key=key, draws=at.draws, replicates=1, draw=draw)
    plan = Plan(at.draws, 1, True, "auto", "independent")
    pairs = at.inputs * (at.inputs + 1) // 2
    form, multiplications = forms(net, plan, at.inputs, pairs, at.tokens, at.features)

    side = 4096
    a = jax.random.normal(key, (side, side), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    seconds = alternate(
        {"product": lambda: product(a), "kernel": lambda: run(x, "auto").ntk}, at.rounds
    )
    few = x[: at.few]
    small = alternate(
        {"ours": lambda: run(few, "auto").ntk, "conditional": lambda: run(few, "conditional").ntk},
        at.rounds,
    )
    again = at.draws * pairs * at.tokens * 2 * at.tokens * 3 * at.tokens  # first inputs' scores

    def share(multiplications: float) -> dict[str, float]:
        rounds = zip(seconds["product"], seconds["kernel"], strict=True)
        return spread([multiplications / k / (side**3 / p) for p, k in rounds])

    report(
        "deep",
        **vars(at),
        form=form,
        multiplications=multiplications,
        seconds={name: spread(s) for name, s in seconds.items()},
        product_gflops=2 * side**3 / min(seconds["product"]) / 1e9,
        share=share(multiplications),
        share_apart=share(multiplications + again * form.count("pairwise")),
        few_inputs_seconds={name: spread(s) for name, s in small.items()},
        against_conditional=spread(
            [c / o for o, c in zip(small["ours"], small["conditional"], strict=True)]
        ),
    )


if __name__ == "__main__":
    main()
