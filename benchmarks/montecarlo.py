"""Time to reach 1% relative RMS error of a small NNGP Gram matrix, by four estimators.

    python benchmarks/montecarlo.py [--inputs 8] [--tokens 8] [--features 8] [--target 0.01]

`joint` and `sobol` are ours (independent and Sobol draws), `conditional` the two-step sampler of
the capture paper's appendix D, and `networks` is `nt.monte_carlo_kernel_fn` on a finite network
with the same limit, built from stax: embedding, softmax attention, ReLU, two dense layers. Its
attention has an output projection that the reference network lacks; the NNGP is the same with it.
`networks` has as many outputs as it is wide, over which neural-tangents averages, which is to its
advantage; `scalar` is the same with one output, as the reference network has.

The error is |K - K*| / |K*| (Frobenius, root mean square over estimates); K* is a long Sobol run in
float64, whose own error is `truth_error`. For the first three, `error` is measured at `counts`
draws, `draws` is where the fitted power law `error ~ draws^-power` meets the target, and the time
is measured at that number, as is `error_there`. Networks are too slow for that: `variance` is the
relative variance of one network's kernel, `draws = variance / target^2` what their average needs
if it had no bias, and the time for so many is extrapolated from the measured seconds of a network.
`bias` is the distance of the mean network from K* beyond its noise (zero if it is within it), seen
no better than `bias_resolution`; where it exceeds the target no number of networks is enough.
`scale` is the mean network's component along K*, 1 without bias: that the limit is the same.
Narrower networks are cheaper for the same noise but further from the limit: vary `--width`,
`--heads` and `--head-size` to find what suits them best.

Compilation is outside every time. `against_joint` are the times of the others over `joint`'s
within a round, `against_sobol` over `sobol`'s.
"""

import argparse
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _timing import alternate, report, spread

from theorykit import kernels

OURS = {
    "joint": {"draw": "joint"},
    "sobol": {"draw": "joint", "sampler": "sobol"},
    "conditional": {"draw": "conditional"},
}


def stax_network(width: int, heads: int, head_size: int, outputs: int) -> tuple[Any, Any]:
    """Return `init_fn` and `apply_fn` of the reference network, one block, last token."""
    from theorykit.kernels.tangents import stax

    attend = stax.GlobalSelfAttention(width, head_size, width, heads, linear_scaling=False)
    tokens_init, tokens = stax.serial(stax.Dense(width), attend)[:2]
    last_init, last = stax.serial(stax.Relu(), stax.Dense(width), stax.Dense(outputs))[:2]

    # neural-tangents compiles what it does with a network, not how it draws one.
    @partial(jax.jit, static_argnums=1)
    def init(key, shape):
        one, two = jax.random.split(key)
        shape, below = tokens_init(one, shape)
        shape, above = last_init(two, (shape[0], shape[2]))
        return shape, (below, above)

    return init, lambda params, x, **kw: last(params[1], tokens(params[0], x, **kw)[:, -1], **kw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--target", type=float, default=0.01)
    parser.add_argument("--counts", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--repeats", type=int, default=32, help="estimates at each count")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--head-size", type=int, default=256)
    parser.add_argument("--networks", type=int, default=16, help="networks in a round")
    parser.add_argument("--rounds", type=int, default=5)
    at = parser.parse_args()

    key = jax.random.key(0)
    x = jax.random.normal(key, (at.inputs, at.tokens, at.features), jnp.float32)
    net = kernels.InfiniteTransformer()
    with jax.enable_x64(True):
        long = dict(draws=2**15, replicates=8, get="nngp", draw="joint", sampler="sobol")
        k = net(np.asarray(x, float), key=jax.random.key(1), progress=False, **long)
        truth, truth_error = np.asarray(k.nngp), np.asarray(k.nngp_stderr)
    size = np.linalg.norm(truth)

    def error(estimates: Any) -> float:
        off = np.asarray(estimates, float) - truth
        return float(np.sqrt((off**2).sum((-2, -1)).mean())) / size

    def ours(name: str, draws: int, seed: int) -> Any:
        how = dict(draws=draws, replicates=1, get="nngp", progress=False, **OURS[name])
        return net(x, key=jax.random.key(seed), **how).nngp

    results: dict[str, dict] = {}
    contestants: dict[str, Any] = {}
    for name in OURS:
        errors = [error([ours(name, n, 2 + seed) for seed in range(at.repeats)]) for n in at.counts]
        slope, offset = np.polyfit(np.log(at.counts), np.log(errors), 1)
        draws = max(1, math.ceil(math.exp((math.log(at.target) - offset) / slope)))
        there = error([ours(name, draws, 2 + seed) for seed in range(at.repeats)])
        results[name] = dict(error=errors, power=-slope, draws=draws, error_there=there)
        contestants[name] = partial(ours, name, draws, 0)

    from theorykit.kernels.tangents import nt

    drawn: dict[str, list] = {"networks": [], "scalar": []}

    def finite(name: str, network: tuple[Any, Any]) -> Any:
        last = jnp.zeros(())
        use = jax.random.key_data(jax.random.key(100 + len(drawn[name])))
        estimator = nt.monte_carlo_kernel_fn(*network, use, range(1, at.networks + 1))
        for n, mean in enumerate(estimator(x, None, "nngp"), 1):
            drawn[name].append(n * mean - last)
            last = n * mean
        return last

    for name, outputs in (("networks", at.width), ("scalar", 1)):
        network = stax_network(at.width, at.heads, at.head_size, outputs)
        contestants[name] = partial(finite, name, network)

    seconds = alternate(contestants, at.rounds)
    for name, each in drawn.items():
        k = np.asarray(each, float)
        variance = k.var(0, ddof=1).sum() / size**2
        noise = variance / len(k)
        bias2 = np.sum((k.mean(0) - truth) ** 2) / size**2 - noise
        along = np.sum(k * truth, (-2, -1)) / size**2
        draws = max(1, math.ceil(variance / at.target**2))
        groups = [2**p for p in range(8) if 2**p * 8 <= len(k)]
        means = {g: k[: len(k) // g * g].reshape(-1, g, *truth.shape).mean(1) for g in groups}
        results[name] = dict(
            measured=len(k),
            error={g: error(m) for g, m in means.items()},
            variance=variance,
            bias=math.sqrt(max(bias2, 0.0)),
            bias_resolution=math.sqrt(noise),
            scale=along.mean(),
            scale_stderr=along.std(ddof=1) / math.sqrt(len(k)),
            draws=draws,
            seconds_each=spread([s / at.networks for s in seconds[name]]),
            extrapolated_by=draws / at.networks,
        )
        seconds[name] = [s * draws / at.networks for s in seconds[name]]

    def against(name: str) -> dict:
        pairs = {other: zip(seconds[other], seconds[name], strict=True) for other in seconds}
        return {other: spread([o / s for o, s in p]) for other, p in pairs.items() if other != name}

    for name, s in seconds.items():
        results[name]["seconds_to_target"] = spread(s)
    report(
        "montecarlo",
        **vars(at),
        truth_error=np.linalg.norm(truth_error) / size,
        methods=results,
        against_joint=against("joint"),
        against_sobol=against("sobol"),
    )


if __name__ == "__main__":
    main()
